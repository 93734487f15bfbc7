#include "graph/arrange.h"

#include "core/error.h"
#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/layered_layout.h"
#include "graph/module_levels.h"
#include "graph/module_tree.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace twb {

namespace {

/// More units than these are laid out module by module: the time of Graphviz grows faster than their number.
constexpr std::size_t kMostAtOnce = 500;
constexpr double kFrameSide = 18; ///< between the border of an expanded module and its content
constexpr double kFrameTop = 34;  ///< with its title

/// The frames around a node, from the inside out.
std::vector<FrameId> framesAround(const Graph& graph, FrameId frame) {
    std::vector<FrameId> out;
    // A frame is not its own parent.
    while (frame != FrameId::none && out.size() <= graph.frames().size()) {
        out.push_back(frame);
        const Frame* at = graph.find(frame);
        frame = at ? at->parent : FrameId::none;
    }
    return out;
}

/// The innermost frame that contains all nodes.
FrameId commonFrame(const Graph& graph, const std::vector<NodeId>& nodes) {
    if (nodes.empty()) return FrameId::none;
    std::vector<FrameId> common = framesAround(graph, graph.find(nodes.front())->frame);
    for (const NodeId id : nodes) {
        if (common.empty()) break;
        const FrameId frame = graph.find(id)->frame;
        if (frame == common.front()) continue;
        const std::vector<FrameId> around = framesAround(graph, frame);
        while (!common.empty() && std::find(around.begin(), around.end(), common.front()) == around.end())
            common.erase(common.begin());
    }
    return common.empty() ? FrameId::none : common.front();
}

/// Places nodes, and collapsed modules as the single cards that they are.
class Arrangement {
public:
    Arrangement(const Graph& graph, const ArrangeOptions& options) : m_graph(graph), m_options(options) {}

    struct Size {
        double width = 0;
        double height = 0;
    };

    /// The positions of nodes that are all inside `root` (none: of any), from (0, 0) on. Returns their size.
    Size place(const std::vector<NodeId>& nodes, FrameId root) {
        throwIfCancelled(m_options.isCancelled);
        const std::vector<Unit> units = unitsOf(nodes, root);
        std::unordered_map<NodeId, std::size_t> unitOf;
        for (std::size_t i = 0; i < units.size(); ++i)
            for (const NodeId id : units[i].nodes) unitOf.emplace(id, i);
        std::vector<LayoutLink> links;
        for (const NodeId id : nodes)
            for (const Edge& edge : m_graph.outgoing(id))
                if (const auto to = unitOf.find(edge.to.node);
                    to != unitOf.end() && to->second != unitOf.at(id))
                    links.push_back({unitOf.at(id), to->second});
        // The expanded modules around units, each with the index of its parent.
        std::unordered_map<FrameId, int> groups;
        std::vector<int> parents;
        const std::function<int(FrameId)> groupOf = [&](FrameId id) {
            const Frame* frame = id == root ? nullptr : m_graph.find(id);
            if (!frame) return -1;
            if (const auto known = groups.find(id); known != groups.end()) return known->second;
            const int parent = groupOf(frame->parent);
            parents.push_back(parent);
            return groups[id] = static_cast<int>(parents.size()) - 1;
        };
        std::vector<LayoutBox> boxes;
        for (const Unit& unit : units) {
            boxes.push_back(boxOf(unit));
            boxes.back().group = groupOf(unit.around);
            // A module's card is on the lane of its first node.
            const NodeId first = *std::min_element(unit.nodes.begin(), unit.nodes.end());
            if (const Lane* lane = m_graph.find(m_graph.find(first)->lane)) boxes.back().lane = lane->order;
        }
        const std::vector<Position> places = layeredLayout(boxes, links, parents, m_options.mostPassed);
        Size size;
        std::unordered_map<int, double> heights; // by lane
        for (std::size_t i = 0; i < units.size(); ++i) {
            size.width = std::max(size.width, places[i].x + boxes[i].width);
            double& height = heights[boxes[i].lane];
            height = std::max(height, places[i].y + boxes[i].height);
            if (units[i].module == FrameId::none)
                m_positions[units[i].nodes.front()] = places[i];
            else if (units[i].isOpen)
                for (const NodeId id : units[i].nodes)
                    m_positions[id] = {m_positions[id].x + places[i].x + kFrameSide,
                                       m_positions[id].y + places[i].y + kFrameTop};
            else
                placeInside(units[i], places[i]);
        }
        for (const auto& [lane, height] : heights) size.height += height;
        return size;
    }

    Position at(NodeId id) const { return m_positions.at(id); }

private:
    struct Unit {
        FrameId module = FrameId::none; ///< none: a single node
        std::vector<NodeId> nodes;
        FrameId around = FrameId::none;
        bool isOpen = false; ///< an expanded module, which is arranged by itself
    };

    /// Single nodes and collapsed modules; if these are many, expanded modules on one lane, too.
    std::vector<Unit> unitsOf(const std::vector<NodeId>& nodes, FrameId root) const {
        std::vector<Unit> units;
        std::unordered_map<FrameId, std::size_t> known;
        const auto add = [&](NodeId id, FrameId module) {
            std::size_t unit = units.size();
            if (module != FrameId::none) unit = known.emplace(module, unit).first->second;
            if (unit == units.size()) {
                const Frame* frame = m_graph.find(module);
                units.push_back({module, {}, frame ? frame->parent : m_graph.find(id)->frame});
            }
            units[unit].nodes.push_back(id);
        };
        for (const NodeId id : nodes) add(id, cardOf(*m_graph.find(id), root));
        if (units.size() <= kMostAtOnce) return units;

        const std::unordered_map<FrameId, LaneId> lanes = lanesOf(nodes);
        units.clear();
        known.clear();
        for (const NodeId id : nodes) {
            const Node& node = *m_graph.find(id);
            FrameId module = cardOf(node, root);
            for (const FrameId frame : framesAround(m_graph, node.frame)) {
                if (frame == root) break;
                if (lanes.at(frame) != LaneId::none) module = frame;
            }
            add(id, module);
        }
        for (Unit& unit : units) unit.isOpen = unit.module != FrameId::none && !isCard(unit.module, root);
        return units;
    }

    /// By frame: the lane of all nodes in it; none if they are on several.
    std::unordered_map<FrameId, LaneId> lanesOf(const std::vector<NodeId>& nodes) const {
        std::unordered_map<FrameId, LaneId> lanes;
        for (const NodeId id : nodes) {
            const Node& node = *m_graph.find(id);
            for (const FrameId frame : framesAround(m_graph, node.frame)) {
                const auto [at, isNew] = lanes.emplace(frame, node.lane);
                if (!isNew && at->second != node.lane) at->second = LaneId::none;
            }
        }
        return lanes;
    }

    /// Whether a frame inside `root` is collapsed, or inside a collapsed one.
    bool isCard(FrameId frame, FrameId root) const {
        for (const FrameId id : framesAround(m_graph, frame)) {
            if (id == root) break;
            if (m_graph.find(id)->collapsed) return true;
        }
        return false;
    }

    /// The outermost collapsed module around a node inside `root`.
    FrameId cardOf(const Node& node, FrameId root) const {
        FrameId card = FrameId::none;
        for (const FrameId id : framesAround(m_graph, node.frame)) {
            if (id == root) break;
            if (m_graph.find(id)->collapsed) card = id;
        }
        return card;
    }

    LayoutBox boxOf(const Unit& unit) {
        if (unit.module == FrameId::none) {
            const CardSize size = cardSizeOf(m_graph, *m_graph.find(unit.nodes.front()));
            return {size.width, size.height, size.anchor};
        }
        if (unit.isOpen) {
            const Size content = place(unit.nodes, unit.module);
            const double height = content.height + kFrameTop + kFrameSide;
            return {content.width + 2 * kFrameSide, height, height / 2};
        }
        const CardSize size = cardSizeOfModule(m_graph, unit.nodes);
        return {size.width, size.height, size.anchor};
    }

    /// The top left of a module's content on each lane is where its card is.
    void placeInside(const Unit& unit, Position corner) {
        place(unit.nodes, unit.module);
        std::unordered_map<LaneId, Position> least;
        for (const NodeId id : unit.nodes) {
            const Position at = m_positions.at(id);
            const auto [lane, isNew] = least.emplace(m_graph.find(id)->lane, at);
            if (!isNew) lane->second = {std::min(lane->second.x, at.x), std::min(lane->second.y, at.y)};
        }
        for (const NodeId id : unit.nodes) {
            Position& at = m_positions.at(id);
            const Position from = least.at(m_graph.find(id)->lane);
            at = {at.x - from.x + corner.x, at.y - from.y + corner.y};
        }
    }

    const Graph& m_graph;
    const ArrangeOptions& m_options;
    std::unordered_map<NodeId, Position> m_positions;
};

} // namespace

Arranged arrange(const Graph& graph, const std::vector<NodeId>& nodes, const ArrangeOptions& options) {
    std::vector<NodeId> placed;
    std::set<NodeId> moved;
    for (const NodeId id : nodes) {
        const Node* node = graph.find(id);
        if (node && !foldedInto(graph, *node) && moved.insert(id).second) placed.push_back(id);
    }
    Arrangement arrangement(graph, options);
    const auto [width, height] = arrangement.place(placed, commonFrame(graph, placed));
    Position origin = options.origin;
    if (options.keepsCorner && !placed.empty()) {
        const NodeId first = *std::min_element(placed.begin(), placed.end());
        const auto corner = [&](const auto& positionOf) {
            Position least = positionOf(first);
            for (const NodeId id : placed) {
                if (graph.find(id)->lane != graph.find(first)->lane) continue;
                least = {std::min(least.x, positionOf(id).x), std::min(least.y, positionOf(id).y)};
            }
            return least;
        };
        const Position before = corner([&](NodeId id) { return graph.find(id)->position; });
        const Position after = corner([&](NodeId id) { return arrangement.at(id); });
        origin = {before.x - after.x, before.y - after.y};
    }
    Arranged out{{}, width, height};
    out.delta.title = "Arrange";
    for (const NodeId id : placed) {
        const Node& before = *graph.find(id);
        Node after = before;
        after.position = {origin.x + arrangement.at(id).x, origin.y + arrangement.at(id).y};
        if (after.position != before.position) out.delta.nodes.push_back({before, std::move(after)});
    }
    // The dots belonged to the old positions.
    for (const Route& route : graph.routes()) {
        if (moved.contains(graph.sourceOf(route.id)->node) && moved.contains(route.id.node))
            out.delta.routes.push_back({route, std::nullopt});
    }
    return out;
}

Arranged arrangeAll(const Graph& graph, FrameId inside, const IsCancelled& isCancelled) {
    constexpr double kMargin = 24; // between the lane's border and the first card
    const double frames = kFrameSide * openLevels(graph, inside);
    ArrangeOptions options;
    options.origin = {kMargin + frames, kMargin + frames};
    options.keepsCorner = inside != FrameId::none; // the place of its card
    options.isCancelled = isCancelled;
    return arrange(graph, ModuleTree(graph).allNodesIn(inside), options);
}

void arrangeUnplaced(Graph& graph, const IsCancelled& isCancelled) {
    const auto& nodes = graph.nodes();
    const auto isAtFirst = [&](const Node& node) { return node.position == nodes.begin()->position; };
    if (nodes.size() > 1 && std::ranges::all_of(nodes, isAtFirst))
        graph.apply(arrangeAll(graph, FrameId::none, isCancelled).delta);
}

} // namespace twb
