#include "widgets/canvas/node_looks.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/module_names.h"
#include "widgets/canvas/caption.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace twb {
namespace {

constexpr std::size_t kMostPorts = 1000;

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
    return (seed ^ value) * 0x9E3779B97F4A7C15ULL + (seed >> 29);
}

std::uint64_t mixed(std::uint64_t seed, const std::optional<TensorType>& type) {
    if (!type) return mixed(seed, 77);
    seed = mixed(seed, static_cast<std::uint64_t>(type->dtype) + 1);
    for (std::int64_t d : type->shape) seed = mixed(seed, static_cast<std::uint64_t>(d) + 3);
    return seed;
}

double roughWidth(const QString& text, TextRole role) { return twb::roughWidth(text.toStdString(), role); }

/// Multiples of the grid, so that cards align on both sides.
double onGrid(double width) { return std::ceil(width / 8) * 8; }

std::uint16_t ports(std::size_t count) { return static_cast<std::uint16_t>(std::min(count, kMostPorts)); }

double cardWidth(const Node& node, const NodeFacts* facts, const SceneSource& source, std::uint64_t folded) {
    const double title = 16 + twb::roughWidth(shortNameOf(source.graph, node), TextRole::nodeTitle) + 10 +
                         twb::roughWidth("<0.001 ms", TextRole::smallFigure) + 12;
    double caption = 16 + roughWidth(captionOf(node, facts), TextRole::body) + 14;
    // The kind of time is beside it.
    if (facts) {
        const bool modelled = !isStaged(*facts) && source.devices.isSimulated(facts->device);
        const QString remark = timeRemark(modelled, facts->op && facts->op->role == OpRole::source);
        if (!remark.isEmpty()) caption += roughWidth(remark, TextRole::small) + 8;
    }
    const double chip = 16 + 14 + roughWidth(typeCaption(facts, source.analysis), TextRole::smallFigure) + 34;
    double row = 0;
    for (std::uint64_t rest = folded; rest; rest &= rest - 1) {
        const auto at = source.graph.sourceOf({node.id, std::countr_zero(rest)});
        if (!at) continue;
        const RowWords words = rowWords(source.graph, source.analysis, at->node);
        row = std::max(row, 2 * kRowInset + 3 * kRowPadding + roughWidth(words.name, TextRole::small) +
                                roughWidth(words.value, TextRole::smallFigure));
    }
    return std::clamp(onGrid(std::max({title, caption, chip, row})), card::minWidth, card::maxWidth);
}

void readModule(const SceneSource& source, const ModuleShape& module, NodeShape& shape) {
    shape.inputs = ports(module.inputs.size());
    shape.outputs = ports(module.outputs.size());
    shape.folded = 0;
    const ModuleWords words = moduleWords(module, source.graph, source.analysis);
    shape.repeats = module.repeats;
    // There is room for a time, as on any card.
    const double time = twb::roughWidth("<0.001 ms", TextRole::smallFigure) + 8;
    const double remark = roughWidth(moduleTimeRemark(true, true, false), TextRole::small) + 8;
    const double widest =
        std::max({roughWidth(words.title, TextRole::nodeTitle) + time,
                  roughWidth(words.caption, TextRole::body) + remark, roughWidth(words.size, TextRole::body),
                  roughWidth(words.chip, TextRole::smallFigure) + 34});
    shape.rect = {0, 0, std::clamp(onGrid(widest + 36), card::minWidth, card::maxWidth),
                  cardHeightFor(std::max<int>(shape.inputs, shape.outputs)) + card::moduleLine};
}

} // namespace

WireClass wireClassOf(const std::optional<TensorType>& type) noexcept {
    if (!type) return WireClass::unknown;
    if (type->dtype == DType::boolean) return WireClass::boolean;
    return holdsFractions(type->dtype) ? WireClass::floating : WireClass::integer;
}

double rowsHeight(int rows) noexcept { return rows ? rows * card::rowHeight + card::rowsBottom : 0.0; }

QRectF rowRect(const NodeShape& shape, int row) noexcept {
    constexpr double kBetweenRows = 3;
    const double top = shape.rect.bottom() - rowsHeight(std::popcount(shape.folded)) + row * card::rowHeight;
    return {shape.rect.left() + kRowInset, top, shape.rect.width() - 2 * kRowInset,
            card::rowHeight - kBetweenRows};
}

QRectF bodyOf(const NodeShape& shape) noexcept {
    return shape.rect.adjusted(0, 0, 0, -rowsHeight(std::popcount(shape.folded)));
}

bool isFolded(const NodeShape& shape, int input) noexcept {
    return input < kMostFoldedPorts && (shape.folded >> static_cast<unsigned>(input) & 1U);
}

QPointF portPosition(const NodeShape& shape, PortSide side, int port) noexcept {
    const double x = side == PortSide::input ? shape.rect.left() : shape.rect.right();
    int count = side == PortSide::input ? shape.inputs : shape.outputs;
    int place = port;
    if (side == PortSide::input && shape.folded) {
        const int rows = std::popcount(shape.folded);
        const int above =
            port >= kMostFoldedPorts ? rows : std::popcount(shape.folded & ((std::uint64_t{1} << port) - 1));
        if (isFolded(shape, port)) return {x, rowRect(shape, above).center().y()};
        count -= rows;
        place -= above;
    }
    return {x, bodyOf(shape).center().y() + (place - (count - 1) / 2.0) * portSpacingFor(count)};
}

double portRadius(const NodeShape& shape, PortSide side) noexcept {
    constexpr double kSmallest = 1.5;
    const int count = side == PortSide::input ? shape.inputs - std::popcount(shape.folded) : shape.outputs;
    return std::clamp(portSpacingFor(count) / 2 - 0.5, kSmallest, metrics::portRadius);
}

void StopMarks::add(const Breakpoints& breakpoints) noexcept {
    for (const Breakpoint& one : breakpoints) {
        const Mark mark = one.kind == Breakpoint::Kind::before  ? before
                          : one.kind == Breakpoint::Kind::after ? after
                                                                : looks;
        present |= mark;
        if (one.enabled) enabled |= mark;
    }
}

void readMarks(const Graph& graph, const Node& node, const ModuleShape* module, NodeShape& shape) {
    shape.isPinned = node.pinned;
    shape.isDisabled = node.disabled;
    shape.stops = {};
    shape.stops.add(node.breakpoints);
    if (!module) return;
    shape.isDisabled = std::all_of(module->nodes.begin(), module->nodes.end(),
                                   [&](NodeId id) { return graph.find(id)->disabled; });
    for (const NodeId id : module->nodes) shape.stops.add(graph.find(id)->breakpoints);
}

std::uint64_t signatureOf(const SceneSource& source, const NodeShape& shape) {
    const NodeFacts* facts = source.analysis.find(shape.id);
    std::uint64_t signature = mixed(1, std::hash<Device>()(shape.device));
    signature = mixed(
        signature, (facts && facts->op ? 2U : 0U) + (shape.hasError ? 4U : 0U) +
                       (shape.hasWarning ? 8U : 0U) + (source.devices.isSimulated(shape.device) ? 16U : 0U) +
                       (shape.isDisabled ? 32U : 0U) + 64U * source.graph.outgoing(shape.id).size());
    if (facts)
        for (const auto& type : facts->outputs) signature = mixed(signature, type);
    for (const auto& input : source.graph.inputs(shape.id)) {
        signature = mixed(signature, input ? value(input->node) + 5 : 9);
        if (input) signature = mixed(signature, source.analysis.typeOf(*input));
    }
    return signature;
}

void readFacts(const SceneSource& source, const Node& node, const ModuleShape* module, NodeShape& shape) {
    const bool isInModule = shape.module != kNoSlot;
    const bool isRow = !isInModule && !shape.isHidden && shape.card != kNoSlot;
    if (isInModule || shape.isHidden || isRow) {
        shape.isStaged = false;
        shape.inputs = shape.outputs = 0;
    }
    if (isInModule || shape.isHidden) {
        shape.kind = module && !shape.isHidden ? NodeShape::Kind::module : NodeShape::Kind::hidden;
        shape.rect = {};
        if (shape.kind == NodeShape::Kind::module) readModule(source, *module, shape);
        return;
    }
    if (isRow) { // its position, size and ports are those of its card
        shape.kind = NodeShape::Kind::row;
        return;
    }
    const NodeFacts* facts = source.analysis.find(node.id);
    const Op* op = facts ? facts->op : nullptr;
    const auto& links = source.graph.inputs(node.id);
    std::size_t inputs = links.size();
    std::size_t outputs = 0;
    if (op) {
        // A variadic op always shows one more input.
        const std::size_t own =
            op->isVariadic()
                ? std::max<std::size_t>(static_cast<std::size_t>(op->minimumInputs()), links.size() + 1)
                : op->inputs.size();
        inputs = std::max(inputs, own);
        outputs = op->outputs.size();
    }
    for (const Edge& edge : source.graph.outgoing(node.id))
        outputs = std::max(outputs, static_cast<std::size_t>(edge.from.port) + 1);
    shape.inputs = ports(inputs);
    shape.outputs = ports(outputs);
    shape.kind = node.op == "To" ? NodeShape::Kind::pill : NodeShape::Kind::card;
    shape.isStaged = facts && isStaged(*facts);
    if (shape.kind == NodeShape::Kind::pill) {
        const double text = roughWidth(pillTitle(node, shape.device), TextRole::strong);
        shape.rect.setSize({std::max(80.0, onGrid(text + 32)), card::pillHeight});
        return;
    }
    const int folded = std::popcount(shape.folded);
    shape.ownWidth = cardWidth(node, facts, source, shape.folded);
    shape.rect.setSize({shape.ownWidth, cardHeightFor(std::max<int>(shape.inputs - folded, shape.outputs)) +
                                            rowsHeight(folded)});
}

bool isInputRequired(const Op* op, int port) {
    return op && port < op->minimumInputs() && !op->inputAt(port).optional;
}

} // namespace twb
