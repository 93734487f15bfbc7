#include "graph/module_names.h"
#include "profile/report.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/scene.h"
#include "widgets/price.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>

#include <algorithm>
#include <bit>

namespace twb {
namespace {

constexpr std::size_t kMostCards =
    4096; ///< limit of cached texts; beyond it, texts outside the view are dropped
constexpr double kLegibleZoom = 0.75; ///< of labels
constexpr double kTextLeft = 16;
constexpr double kTextRight = 12;

QString toQt(const std::string& text) { return QString::fromStdString(text); }

QString tr(const char* text) { return QCoreApplication::translate("Canvas", text); }

double widthOf(const QString& words, TextRole role) {
    return QFontMetricsF(font(role)).horizontalAdvance(words);
}

/// The contents of a label before layout.
struct Words {
    QString figures;
    QString remark;
    bool isError = false;
};

std::uint64_t signatureOf(double bytes, double ns, double rate, bool modelled, bool predicted) {
    const std::uint64_t s = std::bit_cast<std::uint64_t>(bytes) * 3 + std::bit_cast<std::uint64_t>(ns) * 7 +
                            std::bit_cast<std::uint64_t>(rate) * 31;
    // The lowest bit is set: 0 means a label without text.
    return s << 3 | (modelled ? 4U : 0U) | (predicted ? 2U : 0U) | 1U;
}

Words priceWords(const EdgeRun& price, bool isKnown) {
    Words words;
    if (!isKnown) {
        words.figures = QStringLiteral("size known at run time");
        return words;
    }
    words.figures = priceFigures(price.bytes, price.ns);
    const QString kind = priceKind(price.predicted, price.modelled);
    if (!price.predicted && price.gbPerSecond > 0) words.remark = toQt(formatRate(price.gbPerSecond));
    if (!words.remark.isEmpty() && !kind.isEmpty()) words.remark += QStringLiteral(" · ");
    words.remark += kind;
    return words;
}

void layOut(PriceLabel& label, const Words& words, std::uint64_t signature) {
    label.signature = signature;
    label.placed = 0;
    label.isError = words.isError;
    const TextRole role = words.isError ? TextRole::small : TextRole::smallFigure;
    label.figuresWidth = widthOf(words.figures, role);
    label.remarkWidth = words.remark.isEmpty() ? 0 : widthOf(words.remark, TextRole::small);
    setText(label.figures, words.figures, role);
    setText(label.remark, words.remark, TextRole::small);
    const double width = std::max(label.figuresWidth + (words.isError ? 18 : 0), label.remarkWidth) + 16;
    label.size = QSizeF(std::ceil(width), words.remark.isEmpty() ? 18 : 32);
}

const EdgeRun* runOf(const RunState* run, const Edge& edge) {
    if (!run) return nullptr;
    const auto found = run->edges.find(edge);
    return found == run->edges.end() ? nullptr : &found->second;
}

} // namespace

const NodeCard* Scene::card(std::uint32_t slot) const noexcept {
    const auto found = m_cards.find(slot);
    return found == m_cards.end() ? nullptr : &found->second;
}

const PriceLabel* Scene::nodeLabel(std::uint32_t slot) const noexcept {
    const auto found = m_nodeLabels.find(slot);
    return found == m_nodeLabels.end() || found->second.signature == 0 ? nullptr : &found->second;
}

const PriceLabel* Scene::wireLabel(std::uint32_t slot) const noexcept {
    const auto found = m_wireLabels.find(slot);
    return found == m_wireLabels.end() || found->second.signature == 0 ? nullptr : &found->second;
}

const PriceLabel* Scene::ghostLabel(std::size_t ghost) const noexcept {
    return ghost < m_ghostLabels.size() && m_ghostLabels[ghost].signature != 0 ? &m_ghostLabels[ghost]
                                                                               : nullptr;
}

void Scene::prepare(const SceneSource& source, const QRectF& viewport, double zoom, const RunState* run) {
    if (const double near = std::min(zoom, 1.0); near != m_titleZoom) {
        m_titleZoom = near;
        placeTitles();
    }
    const Detail detail = detailFor(zoom, m_slotOf.size());
    if (detail < Detail::titles) return;
    if (m_cards.size() > kMostCards) {
        m_cards.clear();
        m_nodeLabels.clear();
        m_wireLabels.clear();
    }
    // Prices stay legible at a zoom at which small text on cards is hidden.
    m_labelScale = std::clamp(kLegibleZoom / zoom, 1.0, 1.6);
    const bool hasLabels = zoom >= kReadableZoom;
    const QRectF around = viewport.adjusted(-48, -48, 48, 48);
    visitNodes(around, [&](std::uint32_t slot) {
        prepareCard(source, slot, run);
        if (!hasLabels) return;
        if (m_nodes[slot].kind == NodeShape::Kind::pill)
            prepareNodeLabel(source, slot, run);
        else if (m_nodes[slot].isStaged)
            prepareStagingLabel(source, slot, run);
    });
    if (!hasLabels) return;
    visitWires(around, [&](std::uint32_t slot) {
        if (m_wires[slot].mismatch || m_wires[slot].crosses) prepareWireLabel(source, slot, run);
    });
    for (std::size_t i = 0; i < m_ghosts.size(); ++i) {
        if (m_ghosts[i].rect.intersects(around)) prepareGhostLabel(source, i, run);
    }
}

void Scene::prepareCard(const SceneSource& source, std::uint32_t slot, const RunState* run) {
    const NodeShape& shape = m_nodes[slot];
    const auto [at, isNew] = m_cards.try_emplace(slot);
    NodeCard& card = at->second;
    if (shape.kind == NodeShape::Kind::module) return prepareModule(source, shape, card, run, isNew);
    double ns = 0;
    bool modelled = false;
    bool once = false;
    QString value;
    if (run) {
        if (const auto known = run->nodes.find(shape.id); known != run->nodes.end()) {
            value = known->second.value;
            ns = known->second.ns;
            modelled = known->second.modelled;
            once = known->second.once;
        }
    }
    const bool timeChanged =
        ns != card.timeNs || modelled != card.isModelled || once != card.isOnce || value != card.value;
    if (!isNew && !timeChanged) return;
    const Node* node = source.graph.find(shape.id);
    if (!node) return;
    const bool isPill = shape.kind == NodeShape::Kind::pill;
    if (timeChanged && !isPill) {
        const double before = card.timeWidth;
        const double wordBefore = card.remarkWidth;
        card.timeNs = ns;
        card.isModelled = modelled;
        card.isOnce = once;
        card.value = value;
        const QString time = ns > 0 ? cardTime(ns) : QString();
        card.timeWidth = time.isEmpty() ? 0 : widthOf(time, TextRole::smallFigure);
        setText(card.time, time, TextRole::smallFigure);
        // A modelled time is labelled on cards, too.
        const QString word = ns > 0 ? timeRemark(modelled, once) : value;
        card.remarkWidth = word.isEmpty() ? 0 : widthOf(word, TextRole::small);
        setText(card.remark, word, TextRole::small);
        // The title and the caption keep their room.
        if (!isNew && card.timeWidth <= before && card.remarkWidth == wordBefore) return;
    }
    if (shape.kind == NodeShape::Kind::row) return prepareRow(source, *node, shape, card);
    const NodeFacts* facts = source.analysis.find(shape.id);
    const double room = shape.rect.width() - kTextLeft - kTextRight;
    if (isPill) {
        card.timeNs = ns;
        setText(card.title, elided(pillTitle(*node, shape.device), TextRole::strong, shape.rect.width() - 24),
                TextRole::strong);
    } else {
        const QString name = toQt(shortNameOf(source.graph, *node));
        const double titleRoom = room - (card.timeWidth > 0 ? card.timeWidth + 8 : 0);
        setText(card.title, elided(name, TextRole::nodeTitle, titleRoom), TextRole::nodeTitle);
        setText(card.shortTitle, elided(name, TextRole::nodeTitle, room / kShortTitleScale),
                TextRole::nodeTitle);
        const double captionRoom = room - (card.remarkWidth > 0 ? card.remarkWidth + 8 : 0);
        setText(card.subtitle, elided(captionOf(*node, facts), TextRole::body, captionRoom), TextRole::body);
        const QString chip = elided(typeCaption(facts, source.analysis), TextRole::smallFigure, room - 34);
        card.chipWidth = chip.isEmpty() ? 0 : widthOf(chip, TextRole::smallFigure);
        setText(card.chip, chip, TextRole::smallFigure);
    }

    card.inputs.assign(shape.inputs, {});
    const auto& links = source.graph.inputs(shape.id);
    const Op* op = facts ? facts->op : nullptr;
    for (int port = 0; port < shape.inputs; ++port) {
        PortLook& look = card.inputs[static_cast<std::size_t>(port)];
        const auto i = static_cast<std::size_t>(port);
        if (i < links.size() && links[i]) {
            look.kind = wireClassOf(source.analysis.typeOf(*links[i]));
            continue;
        }
        const bool isRequired = op && port < op->minimumInputs() && !op->inputAt(port).optional;
        look.state = isRequired ? PortLook::State::missing : PortLook::State::optional;
    }
    card.outputs.assign(shape.outputs, {});
    for (std::size_t port = 0; port < card.outputs.size(); ++port) {
        if (facts && port < facts->outputs.size())
            card.outputs[port].kind = wireClassOf(facts->outputs[port]);
    }
}

void Scene::prepareNodeLabel(const SceneSource& source, std::uint32_t slot, const RunState* run) {
    const NodeShape& shape = m_nodes[slot];
    PriceLabel& label = m_nodeLabels[slot];
    const auto from = source.graph.sourceOf({shape.id, 0});
    const NodeShape* sender = from ? node(from->node) : nullptr;
    if (!sender) {
        label = {};
        return;
    }
    const EdgeRun* known = runOf(run, {*from, {shape.id, 0}});
    if (!known) {
        for (const Edge& edge : source.graph.outgoing(shape.id)) {
            known = runOf(run, edge);
            if (known) break;
        }
    }
    EdgeRun price;
    bool isKnown = true;
    Words words;
    if (known) {
        price = *known;
    } else if (sender->device == shape.device) {
        words.figures = QStringLiteral("already on %1").arg(toQt(shape.device.toString()));
    } else {
        const auto& type = source.analysis.typeOf(*from);
        const AttributeValue* pin = source.graph.find(shape.id)->attributes.find("pin_memory");
        const bool* pinned = pin ? std::get_if<bool>(pin) : nullptr;
        Price predicted;
        if (type)
            predicted =
                priceOfTransfer(*type, sender->device, shape.device, pinned && *pinned, source.devices);
        isKnown = predicted.isKnown;
        price.bytes = static_cast<double>(predicted.bytes);
        price.ns = predicted.ns;
    }
    const bool isHere = !words.figures.isEmpty();
    const std::uint64_t signature = isHere ? ~std::uint64_t{0}
                                           : signatureOf(isKnown ? price.bytes : -1, price.ns,
                                                         price.gbPerSecond, price.modelled, price.predicted);
    if (label.signature != signature) layOut(label, isHere ? words : priceWords(price, isKnown), signature);
    if (!mustPlace(label, m_labelScale)) return;
    placeLabel(label, shape.rect, slot);
}

void Scene::prepareStagingLabel(const SceneSource& source, std::uint32_t slot, const RunState* run) {
    const NodeShape& shape = m_nodes[slot];
    PriceLabel& label = m_nodeLabels[slot];
    EdgeRun price;
    bool isKnown = true;
    if (const EdgeRun* known = runOf(run, stagingOf(shape.id))) {
        price = *known;
    } else {
        Price predicted;
        if (const auto& type = source.analysis.typeOf({shape.id, 0}))
            predicted = priceOfTransfer(*type, Device::cpu(), shape.device, false, source.devices);
        isKnown = predicted.isKnown;
        price.bytes = static_cast<double>(predicted.bytes);
        price.ns = predicted.ns;
    }
    const std::uint64_t signature =
        signatureOf(isKnown ? price.bytes : -1, price.ns, price.gbPerSecond, price.modelled, price.predicted);
    if (label.signature != signature) {
        Words words = priceWords(price, isKnown);
        words.remark = words.remark.isEmpty() ? tr("staging") : tr("staging · %1").arg(words.remark);
        layOut(label, words, signature);
    }
    if (mustPlace(label, 1)) placeLabel(label, shape.rect, slot); // the lane has room for it at this size
}

void Scene::prepareWireLabel(const SceneSource& source, std::uint32_t slot, const RunState* run) {
    const WireShape& wire = m_wires[slot];
    PriceLabel& label = m_wireLabels[slot];
    const NodeShape& target = m_nodes[wire.to];
    // Below a To and on a ghost, the price has a fixed position.
    if (!wire.mismatch && (target.kind == NodeShape::Kind::pill || wire.ghost >= 0)) {
        label = {};
        return;
    }
    if (label.signature == 0) {
        Words words;
        if (wire.mismatch) {
            const std::string& code = m_mismatches.at(wire.edge.to);
            words.isError = true;
            if (code == "device-mismatch")
                words.figures =
                    QStringLiteral("on %1, needed on %2")
                        .arg(toQt(m_nodes[wire.from].device.toString()), toQt(target.device.toString()));
            else if (code == "shape-mismatch")
                words.figures = QStringLiteral("shapes do not match");
            else if (code == "dtype-mismatch")
                words.figures = QStringLiteral("dtypes do not match");
            else
                words.figures = toQt(code);
        } else if (const EdgeRun* known = runOf(run, wire.edge)) {
            words = priceWords(*known, true);
        } else {
            const auto& type = source.analysis.typeOf(wire.edge.from);
            words.figures = type && type->shape.rank() == 0 ? QStringLiteral("passed by value")
                                                            : QStringLiteral("read on the host");
        }
        layOut(label, words, 1);
    }
    if (!mustPlace(label, m_labelScale)) return;
    placeOnWire(label, slot);
}

void Scene::prepareGhostLabel(const SceneSource& source, std::size_t index, const RunState* run) {
    const GhostShape& ghost = m_ghosts[index];
    PriceLabel& label = m_ghostLabels[index];
    const EdgeRun* known = nullptr;
    for (const Edge& edge : source.graph.outgoing(ghost.from.node)) {
        const auto at = m_ghostOf.find(edge.to);
        if (at != m_ghostOf.end() && static_cast<std::size_t>(at->second) == index) known = runOf(run, edge);
        if (known) break;
    }
    EdgeRun price;
    if (known) {
        price = *known;
    } else {
        price.bytes = static_cast<double>(ghost.price.bytes);
        price.ns = ghost.price.ns;
    }
    const bool isKnown = known || ghost.price.isKnown;
    const std::uint64_t signature =
        signatureOf(isKnown ? price.bytes : -1, price.ns, price.gbPerSecond, price.modelled, price.predicted);
    if (label.signature != signature) {
        Words words = priceWords(price, isKnown);
        words.remark = words.remark.isEmpty() ? QStringLiteral("implicit")
                                              : QStringLiteral("implicit · ") + words.remark;
        if (ghost.hoisted) words.remark += QStringLiteral(" · once");
        layOut(label, words, signature);
    }
    if (!mustPlace(label, m_labelScale)) return;
    placeLabel(label, ghost.rect, kNoSlot);
}

} // namespace twb
