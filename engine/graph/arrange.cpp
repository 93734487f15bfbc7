#include "graph/arrange.h"

#include "graph/card_size.h"
#include "graph/folding.h"
#include "graph/layered_layout.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace twb {

namespace {

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

/// Places nodes, and collapsed modules as the single cards that they are.
class Arrangement {
public:
    Arrangement(const Graph& graph, int mostPassed) : m_graph(graph), m_mostPassed(mostPassed) {}

    /// The positions of nodes that are all inside `root` (none: of any), from (0, 0) on.
    void place(const std::vector<NodeId>& nodes, FrameId root) {
        std::vector<Unit> units;
        std::unordered_map<NodeId, std::size_t> unitOf;
        std::unordered_map<FrameId, std::size_t> unitOfFrame;
        for (const NodeId id : nodes) {
            const Node& node = *m_graph.find(id);
            const FrameId card = cardOf(node, root);
            std::size_t unit = units.size();
            if (card != FrameId::none) unit = unitOfFrame.emplace(card, unit).first->second;
            if (unit == units.size()) {
                const Frame* frame = m_graph.find(card);
                units.push_back({card, {}, frame ? frame->parent : node.frame});
            }
            units[unit].nodes.push_back(id);
            unitOf.emplace(id, unit);
        }
        std::vector<LayoutLink> links;
        for (const NodeId id : nodes)
            for (const Edge& edge : m_graph.outgoing(id))
                if (const auto to = unitOf.find(edge.to.node);
                    to != unitOf.end() && to->second != unitOf.at(id))
                    links.push_back({unitOf.at(id), to->second});
        std::unordered_map<FrameId, int> groups;
        for (const Frame& frame : m_graph.frames()) groups.emplace(frame.id, static_cast<int>(groups.size()));
        std::vector<LayoutBox> boxes;
        for (const Unit& unit : units) {
            const auto group = groups.find(unit.around);
            boxes.push_back(boxOf(unit));
            boxes.back().group = group == groups.end() ? -1 : group->second;
            // A module's card is on the lane of its first node.
            const NodeId first = *std::min_element(unit.nodes.begin(), unit.nodes.end());
            if (const Lane* lane = m_graph.find(m_graph.find(first)->lane)) boxes.back().lane = lane->order;
        }
        const std::vector<Position> places = layeredLayout(boxes, links, parentsOf(groups), m_mostPassed);
        for (std::size_t i = 0; i < units.size(); ++i) {
            if (units[i].card == FrameId::none)
                m_positions[units[i].nodes.front()] = places[i];
            else
                placeInside(units[i], places[i]);
        }
    }

    Position at(NodeId id) const { return m_positions.at(id); }

private:
    struct Unit {
        FrameId card = FrameId::none; ///< none: a single node
        std::vector<NodeId> nodes;
        FrameId around = FrameId::none;
    };

    /// The outermost collapsed module around a node inside `root`.
    FrameId cardOf(const Node& node, FrameId root) const {
        FrameId card = FrameId::none;
        for (const FrameId id : framesAround(m_graph, node.frame)) {
            if (id == root) break;
            const Frame* frame = m_graph.find(id);
            if (frame && frame->collapsed) card = id;
        }
        return card;
    }

    /// A module's card has a port for each input and output that an outer edge uses.
    LayoutBox boxOf(const Unit& unit) const {
        if (unit.card == FrameId::none) {
            const CardSize size = cardSizeOf(m_graph, *m_graph.find(unit.nodes.front()));
            return {size.width, size.height, size.anchor};
        }
        const std::set<NodeId> inside(unit.nodes.begin(), unit.nodes.end());
        std::set<PortRef> inputs, outputs;
        for (const NodeId id : unit.nodes) {
            const auto& sources = m_graph.inputs(id);
            for (std::size_t port = 0; port < sources.size(); ++port)
                if (sources[port] && !inside.contains(sources[port]->node))
                    inputs.insert({id, static_cast<std::int32_t>(port)});
            for (const Edge& edge : m_graph.outgoing(id))
                if (!inside.contains(edge.to.node)) outputs.insert(edge.from);
        }
        const std::size_t ports = std::max(inputs.size(), outputs.size());
        const double height = cardHeightFor(static_cast<int>(std::min<std::size_t>(ports, card::mostSpread)));
        return {card::maxWidth, height, height / 2};
    }

    /// The top left of a module's content on each lane is where its card is.
    void placeInside(const Unit& unit, Position corner) {
        place(unit.nodes, unit.card);
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

    std::vector<int> parentsOf(const std::unordered_map<FrameId, int>& groups) const {
        std::vector<int> parents(groups.size(), -1);
        for (const Frame& frame : m_graph.frames()) {
            const auto parent = groups.find(frame.parent);
            if (parent == groups.end()) continue;
            const std::vector<FrameId> around = framesAround(m_graph, frame.parent);
            if (std::find(around.begin(), around.end(), frame.id) == around.end() &&
                around.size() <= groups.size())
                parents[static_cast<std::size_t>(groups.at(frame.id))] = parent->second;
        }
        return parents;
    }

    const Graph& m_graph;
    const int m_mostPassed;
    std::unordered_map<NodeId, Position> m_positions;
};

} // namespace

Delta arrange(const Graph& graph, const std::vector<NodeId>& nodes, Position origin, int mostPassed) {
    std::vector<NodeId> placed;
    std::set<NodeId> moved;
    for (const NodeId id : nodes) {
        const Node* node = graph.find(id);
        if (node && !foldedInto(graph, *node) && moved.insert(id).second) placed.push_back(id);
    }
    Arrangement arrangement(graph, mostPassed);
    arrangement.place(placed, FrameId::none);
    Delta delta;
    delta.title = "Arrange";
    for (const NodeId id : placed) {
        const Node& before = *graph.find(id);
        Node after = before;
        after.position = {origin.x + arrangement.at(id).x, origin.y + arrangement.at(id).y};
        if (after.position != before.position) delta.nodes.push_back({before, std::move(after)});
    }
    // The dots belonged to the old positions.
    for (const Route& route : graph.routes()) {
        if (moved.contains(graph.sourceOf(route.id)->node) && moved.contains(route.id.node))
            delta.routes.push_back({route, std::nullopt});
    }
    return delta;
}

} // namespace twb
