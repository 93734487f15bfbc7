#include "widgets/canvas/scene.h"

#include "graph/folding.h"
#include "graph/module_names.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene_rows.h"
#include "widgets/theme.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace twb {
namespace {

/// Multiples of the grid, so that cards align on both sides.
double cardWidth(const Node& node, const NodeFacts* facts, const SceneSource& source, std::uint64_t folded) {
    const double title = 16 + roughWidth(shortNameOf(source.graph, node), TextRole::nodeTitle) + 10 +
                         roughWidth("<0.001 ms", TextRole::smallFigure) + 12;
    double caption = 16 + roughWidth(captionOf(node, facts).toStdString(), TextRole::body) + 14;
    // The kind of time is beside it.
    if (facts) {
        const bool modelled = !isStaged(*facts) && source.devices.isSimulated(facts->device);
        const QString remark = timeRemark(modelled, facts->op && facts->op->role == OpRole::source);
        if (!remark.isEmpty()) caption += roughWidth(remark.toStdString(), TextRole::small) + 8;
    }
    const double chip =
        16 + 14 + roughWidth(typeCaption(facts, source.analysis).toStdString(), TextRole::smallFigure) + 34;
    double row = 0;
    for (std::uint64_t rest = folded; rest; rest &= rest - 1) {
        const auto at = source.graph.sourceOf({node.id, std::countr_zero(rest)});
        if (!at) continue;
        const RowWords words = rowWords(source.graph, source.analysis, at->node);
        row = std::max(row, 2 * kRowInset + 3 * kRowPadding +
                                roughWidth(words.name.toStdString(), TextRole::small) +
                                roughWidth(words.value.toStdString(), TextRole::smallFigure));
    }
    const double wanted = std::ceil(std::max({title, caption, chip, row}) / 8) * 8;
    return std::clamp(wanted, card::minWidth, card::maxWidth);
}

} // namespace

WireClass wireClassOf(const std::optional<TensorType>& type) noexcept {
    if (!type) return WireClass::unknown;
    if (type->dtype == DType::boolean) return WireClass::boolean;
    return isFloating(type->dtype) ? WireClass::floating : WireClass::integer;
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
    return {x, bodyOf(shape).center().y() + (place - (count - 1) / 2.0) * card::portSpacing};
}

void Scene::rebuild(const SceneSource& source) {
    const std::uint64_t version = m_version;
    *this = Scene();
    m_version = version;
    m_nodes.reserve(source.graph.nodes().size());
    m_slotOf.reserve(source.graph.nodes().size());
    m_wires.reserve(source.graph.edgeCount());
    m_wireInto.reserve(source.graph.edgeCount());
    std::vector<NodeId> nodes;
    nodes.reserve(source.graph.nodes().size());
    for (const Node& node : source.graph.nodes()) {
        const std::uint32_t slot = addNode(node);
        ask(slot);
        touch(slot);
        nodes.push_back(node.id);
    }
    for (const Node& node : source.graph.nodes())
        for (const Edge& edge : source.graph.outgoing(node.id)) addWire(edge);
    for (const Route& route : source.graph.routes()) takeRoute({std::nullopt, route});
    readFolds(source.graph, nodes);
    finish(source);
}

std::uint32_t Scene::addNode(const Node& node) {
    std::uint32_t slot = 0;
    if (m_freeNodes.empty()) {
        slot = static_cast<std::uint32_t>(m_nodes.size());
        m_nodes.emplace_back();
        m_isAsked.push_back(false);
        m_isTouched.push_back(false);
    } else {
        slot = m_freeNodes.back();
        m_freeNodes.pop_back();
        m_nodes[slot] = {};
    }
    NodeShape& shape = m_nodes[slot];
    shape.id = node.id;
    shape.lane = node.lane;
    shape.frame = node.frame;
    shape.at = node.position;
    m_slotOf[node.id] = slot;
    return slot;
}

void Scene::removeNode(NodeId id) {
    const auto found = m_slotOf.find(id);
    if (found == m_slotOf.end()) return;
    const std::uint32_t slot = found->second;
    lift(slot);
    leaveColumn(slot);
    m_nodes[slot].id = NodeId::none;
    countContent(slot);
    if (m_nodes[slot].frame != FrameId::none) m_framesAreOld = true;
    m_nodes[slot] = {};
    m_rowsOf.erase(slot);
    m_cards.erase(slot);
    m_nodeLabels.erase(slot);
    m_freeNodes.push_back(slot);
    m_slotOf.erase(found);
}

void Scene::ask(std::uint32_t slot) {
    if (m_isAsked[slot]) return;
    m_isAsked[slot] = true;
    m_asked.push_back(slot);
}

/// Forces the node's appearance to be recomputed.
void Scene::measure(std::uint32_t slot) {
    m_nodes[slot].signature = 0;
    ask(slot);
}

void Scene::touch(std::uint32_t slot) {
    if (m_nodes[slot].frame != FrameId::none) m_framesAreOld = true;
    if (m_isTouched[slot]) return;
    m_isTouched[slot] = true;
    m_touched.push_back(slot);
}

void Scene::readFacts(const SceneSource& source, const Node& node, NodeShape& shape) const {
    if (shape.isHidden && shape.module == kNoSlot) {
        shape.kind = NodeShape::Kind::hidden;
        shape.isStaged = false;
        shape.inputs = shape.outputs = 0;
        shape.rect = {};
        return;
    }
    if (shape.module != kNoSlot) {
        const bool isCard = &m_nodes[shape.module] == &shape && !shape.isHidden;
        shape.kind = isCard ? NodeShape::Kind::module : NodeShape::Kind::hidden;
        shape.isStaged = false;
        shape.inputs = shape.outputs = 0;
        shape.rect = {};
        const ModuleShape* module = moduleOf(shape);
        if (!module) return;
        constexpr std::size_t kMostPorts = 1000;
        shape.inputs = static_cast<std::uint16_t>(std::min(module->inputs.size(), kMostPorts));
        shape.outputs = static_cast<std::uint16_t>(std::min(module->outputs.size(), kMostPorts));
        shape.folded = 0;
        const ModuleWords words = moduleWords(*module, source.analysis);
        // There is room for a time, as on any card.
        const double time = roughWidth("<0.001 ms", TextRole::smallFigure) + 8;
        const double remark = roughWidth("partly modelled", TextRole::small) + 8;
        const double widest = std::max({roughWidth(module->title.toStdString(), TextRole::nodeTitle) + time,
                                        roughWidth(words.caption.toStdString(), TextRole::body) + remark,
                                        roughWidth(words.chip.toStdString(), TextRole::smallFigure) + 34});
        const int most = std::max<int>(shape.inputs, shape.outputs);
        shape.rect = {0, 0, std::clamp(std::ceil((widest + 36) / 8) * 8, card::minWidth, card::maxWidth),
                      card::height + std::max(0, most - 3) * card::portSpacing};
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
    if (shape.card != kNoSlot) {
        // Its position, size and ports are those of its card.
        shape.kind = NodeShape::Kind::row;
        shape.inputs = shape.outputs = 0;
        shape.isStaged = false;
        return;
    }
    shape.inputs = static_cast<std::uint16_t>(std::min<std::size_t>(inputs, 1000));
    shape.outputs = static_cast<std::uint16_t>(std::min<std::size_t>(outputs, 1000));
    shape.kind = node.op == "To" ? NodeShape::Kind::pill : NodeShape::Kind::card;
    shape.isStaged = facts && isStaged(*facts);

    const double x = shape.rect.x();
    const double y = shape.rect.y();
    if (shape.kind == NodeShape::Kind::pill) {
        const double text = roughWidth(pillTitle(node, shape.device).toStdString(), TextRole::strong);
        shape.rect = {x, y, std::max(80.0, std::ceil((text + 32) / 8) * 8), card::pillHeight};
        return;
    }
    const int folded = std::popcount(shape.folded);
    const int ports = std::max<int>(shape.inputs - folded, shape.outputs);
    shape.ownWidth = cardWidth(node, facts, source, shape.folded);
    shape.rect = {x, y, shape.ownWidth,
                  card::height + std::max(0, ports - 3) * card::portSpacing + rowsHeight(folded)};
}

} // namespace twb
