#include "widgets/canvas/card_texts.h"

#include "graph/module_names.h"
#include "ops/op_table.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/node_looks.h"
#include "widgets/canvas/scene.h"
#include "widgets/text.h"

#include <QFontMetricsF>

#include <algorithm>
#include <iterator>

namespace twb {
namespace {

constexpr double kTextSides = 28; ///< left and right of a card's text
constexpr double kChipRoom = 34;  ///< right of the chip
/// The least scale of a short title. One that is too wide is drawn smaller first, and elided only then.
constexpr double kLeastShortTitleScale = 1.2;

/// Lays out words, elided if they are too wide; returns their width.
double layOut(QStaticText& text, const QString& words, TextRole role) {
    setText(text, words, role);
    return words.isEmpty() ? 0 : QFontMetricsF(font(role)).horizontalAdvance(words);
}

/// The room that is left beside a figure.
double beside(double figure, double room) { return room - (figure > 0 ? figure + 8 : 0); }

/// The combined run state of a module's nodes.
struct ModuleRun {
    NodeRun run;             ///< the time is the sum
    bool isMeasured = false; ///< a part of the time is measured
    double progress = 0;
};

ModuleRun sumOf(const ModuleShape& module, const RunState* run) {
    ModuleRun sum;
    if (!run) return sum;
    std::size_t known = 0;
    std::size_t through = 0;
    double onceNs = 0;
    const auto has = [&](StepState state) {
        // Failed before running, running before done.
        constexpr StepState kRank[] = {StepState::pending,  StepState::done,    StepState::cached,
                                       StepState::skipped,  StepState::running, StepState::cancelled,
                                       StepState::poisoned, StepState::failed};
        const auto place = [&](StepState s) { return std::find(std::begin(kRank), std::end(kRank), s); };
        if (place(state) > place(sum.run.state)) sum.run.state = state;
    };
    for (const NodeId id : module.nodes) {
        const auto at = run->nodes.find(id);
        if (at == run->nodes.end()) continue;
        const NodeRun& node = at->second;
        ++known;
        if (node.state != StepState::pending && node.state != StepState::running) ++through;
        has(node.state);
        if (node.once) {
            onceNs += node.ns;
            continue;
        }
        sum.run.ns += node.ns;
        sum.run.modelledNs += node.modelledNs;
        if (node.ns > 0) (node.modelled ? sum.run.modelled : sum.isMeasured) = true;
    }
    if (sum.run.modelled) sum.run.modelledNs = 0; // a part has no measured time
    if (known > 0) sum.progress = double(through) / double(known);
    if (through < known && through > 0 && run->running) has(StepState::running);
    // Times outside the iterations count only if there are no others.
    if (sum.run.ns > 0 || onceNs <= 0) return sum;
    sum.run.ns = onceNs;
    sum.run.once = true;
    for (const NodeId id : module.nodes)
        if (const auto at = run->nodes.find(id); at != run->nodes.end() && at->second.ns > 0)
            (at->second.modelled ? sum.run.modelled : sum.isMeasured) = true;
    return sum;
}

bool hasTimeOf(const NodeCard& card, const NodeRun& run) {
    return run.ns == card.timeNs && run.modelled == card.isModelled && run.once == card.isOnce &&
           run.modelledNs == card.modelledNs && run.value == card.value;
}

/// A modelled time is labelled on cards, too; `remark` is written below the time.
void setTime(NodeCard& card, const NodeRun& run, const QString& remark) {
    card.timeNs = run.ns;
    card.isModelled = run.modelled;
    card.isOnce = run.once;
    card.modelledNs = run.modelledNs;
    card.value = run.value;
    card.timeWidth = layOut(card.time, run.ns > 0 ? cardTime(run.ns) : QString(), TextRole::smallFigure);
    const QString beside = run.modelledNs > 0 ? besideRemark(run.modelledNs) : remark;
    card.remarkWidth = layOut(card.remark, run.ns > 0 ? beside : run.value, TextRole::small);
}

/// The title, the line below it and the chip, beside the time and its remark.
void setWords(NodeCard& card, double room, const QString& name, const QString& caption, const QString& type) {
    setText(card.title, elided(name, TextRole::nodeTitle, beside(card.timeWidth, room)), TextRole::nodeTitle);
    setText(card.shortTitle, elided(name, TextRole::nodeTitle, room / kLeastShortTitleScale),
            TextRole::nodeTitle);
    setText(card.subtitle, elided(caption, TextRole::body, beside(card.remarkWidth, room)), TextRole::body);
    card.chipWidth =
        layOut(card.chip, elided(type, TextRole::smallFigure, room - kChipRoom), TextRole::smallFigure);
}

void prepareModule(const SceneSource& source, const ModuleShape& module, double width, const RunState* run,
                   NodeCard& card, bool isNew) {
    const ModuleRun sum = sumOf(module, run);
    card.moduleRun = sum.run;
    card.progress = sum.progress;
    const bool hasTime = hasTimeOf(card, sum.run);
    if (!isNew && hasTime) return;
    if (!hasTime) setTime(card, sum.run, moduleTimeRemark(sum.run.modelled, sum.isMeasured, sum.run.once));
    const ModuleWords words = moduleWords(module, source.graph, source.analysis);
    setWords(card, width - kTextSides, words.title, words.caption, words.chip);
    setText(card.size, elided(words.size, TextRole::body, width - kTextSides), TextRole::body);
    const auto look = [&](PortRef port, bool isConnected) {
        return PortLook{wireClassOf(source.analysis.typeOf(port)),
                        isConnected ? PortLook::State::connected : PortLook::State::missing};
    };
    card.inputs.clear();
    for (const std::vector<PortRef>& ports : module.inputs) {
        const auto from = source.graph.sourceOf(ports.front());
        card.inputs.push_back(look(from.value_or(PortRef{}), from.has_value()));
    }
    card.outputs.clear();
    for (const std::vector<PortRef>& ports : module.outputs)
        card.outputs.push_back(look(ports.front(), true));
}

/// `isElsewhere`: on another device than its card.
void prepareRow(const SceneSource& source, const NodeShape& shape, bool isElsewhere, NodeCard& card) {
    RowWords words = rowWords(source.graph, source.analysis, shape.id);
    const double room = shape.rect.width() - 3 * kRowPadding;
    // The device is more important than the type.
    if (isElsewhere) words.value = toQt(shape.device.toString());
    const QFontMetricsF figures(font(TextRole::smallFigure));
    const double value = std::min(figures.horizontalAdvance(words.value), room * 0.75);
    const QString text = elided(words.value, TextRole::smallFigure, value + 0.5);
    card.deviceWidth = isElsewhere ? value : 0;
    card.chipWidth = isElsewhere ? 0 : value;
    setText(isElsewhere ? card.deviceWord : card.chip, text, TextRole::smallFigure);
    setText(card.title, elided(words.name, TextRole::small, room - value), TextRole::small);
}

void setPorts(const SceneSource& source, const NodeShape& shape, NodeCard& card) {
    const NodeFacts* facts = source.analysis.find(shape.id);
    const Op* op = facts ? facts->op : nullptr;
    const auto& links = source.graph.inputs(shape.id);
    card.inputs.assign(shape.inputs, {});
    for (int port = 0; port < shape.inputs; ++port) {
        const auto i = static_cast<std::size_t>(port);
        PortLook& look = card.inputs[i];
        if (i < links.size() && links[i]) {
            look.kind = wireClassOf(source.analysis.typeOf(*links[i]));
            continue;
        }
        look.state = isInputRequired(op, port) ? PortLook::State::missing : PortLook::State::optional;
    }
    card.outputs.assign(shape.outputs, {});
    for (std::size_t port = 0; port < card.outputs.size(); ++port) {
        if (facts && port < facts->outputs.size())
            card.outputs[port].kind = wireClassOf(facts->outputs[port]);
    }
}

} // namespace

const NodeCard* CardTexts::find(std::uint32_t slot) const noexcept {
    const auto found = m_cards.find(slot);
    return found == m_cards.end() ? nullptr : &found->second;
}

void CardTexts::prepare(const Scene& scene, const SceneSource& source, const RunState* run,
                        std::uint32_t slot) {
    const NodeShape& shape = scene.nodes()[slot];
    const auto [at, isNew] = m_cards.try_emplace(slot);
    NodeCard& card = at->second;
    if (shape.kind == NodeShape::Kind::module) {
        if (const ModuleShape* module = scene.modules().of(shape))
            prepareModule(source, *module, shape.rect.width(), run, card, isNew);
        return;
    }
    static const NodeRun none;
    const auto known = run ? run->nodes.find(shape.id) : decltype(run->nodes.end())();
    const NodeRun& own = run && known != run->nodes.end() ? known->second : none;
    const bool isPill = shape.kind == NodeShape::Kind::pill; // its time is on its price
    const bool hasTime = isPill || hasTimeOf(card, own);
    if (!isNew && hasTime) return;
    const Node* node = source.graph.find(shape.id);
    if (!node) return;
    if (isPill) {
        setText(card.title, elided(pillTitle(*node, shape.device), TextRole::strong, shape.rect.width() - 24),
                TextRole::strong);
        return setPorts(source, shape, card);
    }
    if (!hasTime) {
        const double before = card.timeWidth;
        const double remarkBefore = card.remarkWidth;
        setTime(card, own, timeRemark(own.modelled, own.once));
        // The title and the caption keep their room.
        if (!isNew && card.timeWidth <= before && card.remarkWidth == remarkBefore) return;
    }
    if (shape.kind == NodeShape::Kind::row)
        return prepareRow(source, shape, shape.device != scene.nodes()[shape.card].device, card);
    const NodeFacts* facts = source.analysis.find(shape.id);
    setWords(card, shape.rect.width() - kTextSides, toQt(shortNameOf(source.graph, *node)),
             captionOf(*node, facts), typeCaption(facts, source.analysis));
    setPorts(source, shape, card);
}

} // namespace twb
