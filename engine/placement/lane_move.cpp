#include "placement/lane_move.h"

#include "graph/folding.h"
#include "graph/unique_names.h"
#include "ops/op_table.h"
#include "placement/fix_writer.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace twb {
namespace {

class LaneMove {
public:
    LaneMove(DeltaBuilder& builder, const std::map<NodeId, LaneId>& wanted)
        : m_builder(builder), m_graph(builder.graph()) {
        for (const auto& [id, lane] : wanted) {
            const Node* node = m_graph.find(id);
            const Lane* to = m_graph.find(lane);
            if (!node || !to) continue;
            const std::vector<NodeId> folded = foldedIn(m_graph, id);
            m_going[id] = lane;
            for (const NodeId parameter : folded)
                if (!wanted.contains(parameter)) m_going[parameter] = lane;
        }
        std::erase_if(m_going,
                      [this](const auto& entry) { return m_graph.find(entry.first)->lane == entry.second; });
    }

    std::set<NodeId> run() {
        const std::set<NodeId> stays = staying();
        std::set<NodeId> moved;
        for (const auto& [id, lane] : m_going)
            if (stays.size() == m_going.size() || !stays.contains(id)) moved.insert(id);
        if (stays.size() < m_going.size()) duplicateSources(moved);
        for (const NodeId id : moved) {
            Node node = *m_builder.graph().find(id);
            node.lane = m_going.at(id);
            m_builder.change(node);
        }
        if (stays.size() < m_going.size()) {
            for (const NodeId id : stays) takeToHost(id);
            bringBack(moved);
        }
        return moved;
    }

private:
    /// The host that reads values for the device of the lane to which a node goes.
    Device hostFor(NodeId id) const { return m_graph.find(m_going.at(id))->device.host(); }
    bool isOfOtherRank(NodeId id) const {
        return !hostFor(id).sharesRankWith(m_graph.deviceOf(*m_graph.find(id)));
    }
    /// A host value for a GPU of another rank is read on that rank's cpu.
    void takeToHost(NodeId id) {
        if (!isOfOtherRank(id)) return;
        Node node = *m_builder.graph().find(id);
        node.lane = laneOf(m_builder, hostFor(id));
        m_builder.change(node);
    }
    bool goesToGpu(NodeId id) const {
        const auto lane = m_going.find(id);
        return lane != m_going.end() && !m_graph.find(lane->second)->device.isCpu();
    }
    Device deviceAfter(NodeId id) const { return m_builder.graph().deviceOf(*m_builder.graph().find(id)); }
    bool isOnHost(NodeId id) const { return m_graph.deviceOf(*m_graph.find(id)).isCpu(); }
    bool isHostRead(PortRef input) const {
        const Op* op = findOp(m_graph.find(input.node)->op);
        return op && op->inputAt(input.port).hostValue;
    }
    /// A Save writes on the host.
    bool isSave(NodeId id) const {
        const Op* op = findOp(m_graph.find(id)->op);
        return op && op->role == OpRole::sink && op->attribute("path");
    }
    template <class Visit> void eachOperand(NodeId id, const Visit& visit) const {
        const auto& inputs = m_graph.inputs(id);
        for (std::size_t port = 0; port < inputs.size(); ++port)
            if (inputs[port] && !isHostRead({id, static_cast<std::int32_t>(port)})) visit(inputs[port]->node);
    }

    /// For a move from the host to a GPU: the host values among the nodes, which stay, except values computed
    /// from tensors on the GPU and the other operands of these computations.
    std::set<NodeId> staying() const {
        std::set<NodeId> forHost;
        std::vector<NodeId> open;
        for (const auto& [id, lane] : m_going) {
            if (!goesToGpu(id) || !isOnHost(id) || m_graph.outgoing(id).empty()) continue;
            forHost.insert(id);
            open.push_back(id);
        }
        while (!open.empty()) {
            const NodeId id = open.back();
            open.pop_back();
            if (!forHost.contains(id)) continue;
            const auto& readers = m_graph.outgoing(id);
            const bool isRead = std::all_of(readers.begin(), readers.end(), [&](const Edge& edge) {
                return isHostRead(edge.to) || forHost.contains(edge.to.node);
            });
            if (isRead) continue;
            forHost.erase(id);
            eachOperand(id, [&](NodeId source) { open.push_back(source); });
        }
        std::set<NodeId> stays = forHost;
        for (const NodeId id : forHost)
            eachOperand(id, [&](NodeId source) {
                const bool isOnGpu = goesToGpu(source) || !isOnHost(source);
                if (m_graph.find(id)->op == "To") return; // reads a tensor on any device
                if (isOnGpu && !forHost.contains(source)) open.push_back(id);
            });
        while (!open.empty()) {
            const NodeId id = open.back();
            open.pop_back();
            if (stays.erase(id) > 0) eachOperand(id, [&](NodeId source) { open.push_back(source); });
        }
        for (const auto& [id, lane] : m_going)
            if (goesToGpu(id) && isOnHost(id) && isSave(id)) stays.insert(id);
        return stays;
    }

    /// The edges from moved nodes to host inputs.
    std::vector<Edge> hostReads(NodeId id, const std::set<NodeId>& moved) const {
        std::vector<Edge> out;
        for (const Edge& edge : m_builder.graph().outgoing(id)) {
            const bool staysBehind = m_going.contains(edge.to.node) && !moved.contains(edge.to.node);
            if (isHostRead(edge.to) || staysBehind) out.push_back(edge);
        }
        return out;
    }

    /// A source runs before the first iteration: created on both devices, it is never copied.
    void duplicateSources(const std::set<NodeId>& moved) {
        for (const NodeId id : moved) {
            const Op* op = findOp(m_graph.find(id)->op);
            const bool isSource = op && op->role == OpRole::source && op->name != "Input";
            if (!isSource || !goesToGpu(id) || !isOnHost(id)) continue;
            const std::vector<Edge> reads = hostReads(id, moved);
            if (reads.empty()) continue;
            Node onHost = *m_graph.find(id);
            onHost.name = m_builder.graph().uniqueName(fmt::format("{} on cpu", onHost.name));
            onHost.folded = true;
            if (isOfOtherRank(id)) onHost.lane = laneOf(m_builder, hostFor(id));
            const NodeId copy = m_builder.addNode(std::move(onHost));
            for (const Edge& edge : reads) m_builder.connect({{copy, edge.from.port}, edge.to});
        }
    }

    void bringBack(const std::set<NodeId>& moved) {
        FixWriter writer(m_builder);
        for (const NodeId id : moved) {
            if (!goesToGpu(id) || !isOnHost(id)) continue;
            if (m_graph.find(id)->disabled) continue;
            for (const Edge& edge : hostReads(id, moved)) {
                Fix fix;
                fix.kind = Fix::Kind::insertTo;
                fix.edge = edge;
                fix.device = deviceAfter(edge.to.node).host();
                writer.apply(fix);
            }
        }
        writer.finish();
    }

    DeltaBuilder& m_builder;
    const Graph m_graph; ///< before
    std::map<NodeId, LaneId> m_going;
};

} // namespace

std::set<NodeId> moveToLanes(DeltaBuilder& builder, const std::map<NodeId, LaneId>& wanted) {
    return LaneMove(builder, wanted).run();
}

} // namespace twb
