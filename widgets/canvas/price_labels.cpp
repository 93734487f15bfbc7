#include "widgets/canvas/price_labels.h"

#include "backends/world.h"
#include "profile/report.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/label_places.h"
#include "widgets/canvas/scene.h"
#include "widgets/price.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QStringList>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>

namespace twb {
namespace {

constexpr double kLegibleZoom = 0.75;

/// For translators.
struct LabelWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

double widthOf(const QString& words, TextRole role) {
    return words.isEmpty() ? 0 : QFontMetricsF(font(role)).horizontalAdvance(words);
}

/// The contents of a label before layout.
struct PriceWords {
    QString figures;
    QString remark;
    bool isError = false;
};

/// The price of a copy; with a negative size if that is known only at run time.
struct LabelPrice : EdgeRun {
    LabelPrice() = default;
    explicit LabelPrice(const EdgeRun& run) : EdgeRun(run) {}
    explicit LabelPrice(const Price& predicted) {
        bytes = predicted.isKnown ? static_cast<double>(predicted.bytes) : -1;
        ns = predicted.ns;
    }

    std::uint64_t signature() const {
        const std::uint64_t s =
            std::bit_cast<std::uint64_t>(bytes) * 3 + std::bit_cast<std::uint64_t>(ns) * 7 +
            std::bit_cast<std::uint64_t>(gbPerSecond) * 31 + std::bit_cast<std::uint64_t>(modelledNs) * 127;
        // The lowest bit is set: 0 means a label without text.
        return (s + 511 * std::hash<std::string>()(link)) << 3 | (modelled ? 4U : 0U) |
               (predicted ? 2U : 0U) | 1U;
    }
    PriceWords words() const {
        if (bytes < 0) return {LabelWords::tr("size known at run time"), {}};
        QStringList remarks;
        if (!predicted && gbPerSecond > 0) remarks << localized(formatRate(gbPerSecond));
        if (modelledNs > 0) remarks << besideRemark(modelledNs);
        if (const QString kind = priceKind(predicted, modelled); !kind.isEmpty()) remarks << kind;
        return {priceFigures(bytes, ns), remarks.join(QStringLiteral(" · "))};
    }
};

void layOut(PriceLabel& label, const PriceWords& words, std::uint64_t signature) {
    label.signature = signature;
    label.placed = 0;
    label.isError = words.isError;
    const TextRole role = words.isError ? TextRole::small : TextRole::smallFigure;
    label.figuresWidth = widthOf(words.figures, role);
    label.remarkWidth = widthOf(words.remark, TextRole::small);
    setText(label.figures, words.figures, role);
    setText(label.remark, words.remark, TextRole::small);
    const double width = std::max(label.figuresWidth + (words.isError ? 18 : 0), label.remarkWidth) + 16;
    label.size = QSizeF(std::ceil(width), words.remark.isEmpty() ? 18 : 32);
}

/// Lays out a price if it is new, with words around its remark.
void layOut(PriceLabel& label, const LabelPrice& price, const QString& before = {},
            const QString& after = {}) {
    if (label.signature == price.signature()) return;
    PriceWords words = price.words();
    QStringList remarks{before, words.remark, after};
    remarks.removeAll(QString());
    words.remark = remarks.join(QStringLiteral(" · "));
    layOut(label, words, price.signature());
}

QString mismatchWords(const std::string& code, Device from, Device to) {
    if (code == "device-mismatch")
        return LabelWords::tr("on %1, needed on %2").arg(toQt(from.toString()), toQt(to.toString()));
    if (code == "shape-mismatch") return LabelWords::tr("shapes do not match");
    if (code == "dtype-mismatch") return LabelWords::tr("dtypes do not match");
    return toQt(code);
}

template <class Map> const PriceLabel* written(const Map& labels, std::uint32_t slot) {
    const auto found = labels.find(slot);
    return found == labels.end() || found->second.signature == 0 ? nullptr : &found->second;
}

} // namespace

struct PriceLabels::Source {
    const Scene& scene;
    const Graph& graph;
    const Analysis& analysis;
    const DeviceMap& devices;
    const RunState* run;
    double scale;

    const EdgeRun* runOf(const Edge& edge) const {
        if (!run) return nullptr;
        const auto found = run->edges.find(edge);
        return found == run->edges.end() ? nullptr : &found->second;
    }
    /// A predicted price.
    LabelPrice priceOf(PortRef tensor, Device from, Device to, bool isPinned) const {
        const auto& type = analysis.typeOf(tensor);
        return LabelPrice(type ? priceOfTransfer(*type, from, to, isPinned, devices) : Price());
    }
    bool mustPlace(PriceLabel& label, double labelScale) const {
        if (label.placed == scene.version() && label.scale == labelScale) return false;
        label.placed = scene.version();
        label.scale = labelScale;
        label.rect.setSize(label.size * labelScale);
        return true;
    }
};

const PriceLabel* PriceLabels::ofNode(std::uint32_t slot) const noexcept { return written(m_nodes, slot); }
const PriceLabel* PriceLabels::ofWire(std::uint32_t slot) const noexcept { return written(m_wires, slot); }
const PriceLabel* PriceLabels::ofGhost(std::size_t ghost) const noexcept {
    return ghost < m_ghosts.size() && m_ghosts[ghost].signature != 0 ? &m_ghosts[ghost] : nullptr;
}

void PriceLabels::clear() {
    m_nodes.clear();
    m_wires.clear();
}

void PriceLabels::prepare(const Scene& scene, const SceneSource& source, const RunState* run,
                          const QRectF& area, double zoom) {
    // Prices stay legible at a zoom at which small text on cards is hidden.
    const double scale = std::clamp(kLegibleZoom / zoom, 1.0, 1.6);
    const Source all{scene, source.graph, source.analysis, source.devices, run, scale};
    scene.nodes().visit(area, [&](std::uint32_t slot) {
        if (scene.nodes()[slot].kind == NodeShape::Kind::pill)
            prepareNode(all, slot);
        else if (scene.nodes()[slot].isStaged)
            prepareStaging(all, slot);
    });
    scene.wires().visit(area, [&](std::uint32_t slot) {
        if (scene.wires()[slot].mismatch || scene.wires()[slot].crosses) prepareWire(all, slot);
    });
    m_ghosts.resize(scene.ghosts().shapes().size());
    for (std::size_t i = 0; i < m_ghosts.size(); ++i) {
        if (scene.ghosts().shapes()[i].rect.intersects(area)) prepareGhost(all, i);
    }
}

void PriceLabels::prepareNode(const Source& source, std::uint32_t slot) {
    const NodeShape& shape = source.scene.nodes()[slot];
    PriceLabel& label = m_nodes[slot];
    const auto from = source.graph.sourceOf({shape.id, 0});
    const NodeShape* sender = from ? source.scene.nodes().find(from->node) : nullptr;
    if (!sender) {
        label = {};
        return;
    }
    const EdgeRun* known = source.runOf({*from, {shape.id, 0}});
    for (const Edge& edge : source.graph.outgoing(shape.id)) {
        if (known) break;
        known = source.runOf(edge);
    }
    // Beside the price of a copy to another rank, the link that it takes.
    if (known) {
        layOut(label, LabelPrice(*known), toQt(known->link));
    } else if (sender->device == shape.device) {
        constexpr std::uint64_t kIsHere = ~std::uint64_t{0};
        if (label.signature != kIsHere)
            layOut(label, {LabelWords::tr("already on %1").arg(toQt(shape.device.toString())), {}}, kIsHere);
    } else {
        const AttributeValue* pin = source.graph.find(shape.id)->attributes.find("pin_memory");
        const bool* pinned = pin ? std::get_if<bool>(pin) : nullptr;
        const QString link =
            sender->device.sharesRankWith(shape.device) ? QString() : toQt(source.devices.link().name);
        layOut(label, source.priceOf(*from, sender->device, shape.device, pinned && *pinned), link);
    }
    if (source.mustPlace(label, source.scale))
        placeBeside(label, source.scene, shape.rect, slot, source.scale);
}

void PriceLabels::prepareStaging(const Source& source, std::uint32_t slot) {
    const NodeShape& shape = source.scene.nodes()[slot];
    PriceLabel& label = m_nodes[slot];
    const EdgeRun* known = source.runOf(stagingOf(shape.id));
    layOut(label,
           known ? LabelPrice(*known)
                 : source.priceOf({shape.id, 0}, shape.device.host(), shape.device, false),
           LabelWords::tr("staging"));
    // The lane has room for it at this size.
    if (source.mustPlace(label, 1)) placeBeside(label, source.scene, shape.rect, slot, source.scale);
}

void PriceLabels::prepareWire(const Source& source, std::uint32_t slot) {
    const WireShape& wire = source.scene.wires()[slot];
    PriceLabel& label = m_wires[slot];
    const NodeShape& target = source.scene.nodes()[wire.to];
    // Below a To and on a ghost, the price has a fixed position.
    if (!wire.mismatch && (target.kind == NodeShape::Kind::pill || wire.ghost >= 0)) {
        label = {};
        return;
    }
    if (label.signature == 0) {
        PriceWords words;
        if (wire.mismatch) {
            words.isError = true;
            words.figures = mismatchWords(*source.scene.marks().mismatchInto(wire.edge.to),
                                          source.scene.nodes()[wire.from].device, target.device);
        } else if (const EdgeRun* known = source.runOf(wire.edge)) {
            words = LabelPrice(*known).words();
        } else {
            const auto& type = source.analysis.typeOf(wire.edge.from);
            words.figures = type && type->shape.rank() == 0 ? LabelWords::tr("passed by value")
                                                            : LabelWords::tr("read on the host");
        }
        layOut(label, words, 1);
    }
    if (source.mustPlace(label, source.scale)) placeOnWire(label, source.scene, slot, source.scale);
}

void PriceLabels::prepareGhost(const Source& source, std::size_t index) {
    const GhostShape& ghost = source.scene.ghosts().shapes()[index];
    PriceLabel& label = m_ghosts[index];
    const EdgeRun* known = nullptr;
    for (const Edge& edge : source.graph.outgoing(ghost.from.node)) {
        if (source.scene.ghosts().on(edge.to) == static_cast<std::int32_t>(index)) known = source.runOf(edge);
        if (known) break;
    }
    layOut(label, known ? LabelPrice(*known) : LabelPrice(ghost.price), LabelWords::tr("implicit"),
           ghost.hoisted ? LabelWords::tr("once") : QString());
    if (source.mustPlace(label, source.scale))
        placeBeside(label, source.scene, ghost.rect, kNoSlot, source.scale);
}

} // namespace twb
