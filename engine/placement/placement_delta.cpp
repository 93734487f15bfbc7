#include "placement/placement_delta.h"

#include "placement/fix_writer.h"
#include "placement/fixes.h"

#include <map>
#include <set>
#include <utility>

namespace twb {
namespace {

/// Replaces the To nodes of a graph with moved nodes by the necessary ones: one for each tensor and each
/// other device of its consumers.
class Rewiring {
public:
    Rewiring(DeltaBuilder& builder, const PlacementModel& model, const Analysis& before,
             const std::vector<int>& at)
        : m_builder(builder), m_model(model), m_before(before), m_at(at) {}

    void run() {
        std::set<PortRef> done;
        for (const PortRef tensor : m_model.tensors())
            if (done.insert(tensor).second) rewire(tensor);
    }

private:
    Device deviceOf(NodeId node) const {
        return m_model.devices()[static_cast<std::size_t>(m_at[m_model.itemOf(node)])];
    }
    bool isLookedThrough(NodeId node) const {
        const NodeFacts* facts = m_before.find(node);
        return facts && m_model.isLookedThrough(*facts);
    }
    void rewire(PortRef tensor) {
        std::vector<NodeId> transfers; // that provide it now
        std::vector<Edge> reads;
        std::vector<PortRef> open{tensor};
        while (!open.empty()) {
            const PortRef from = open.back();
            open.pop_back();
            for (const Edge& edge : m_builder.graph().outgoing(from.node)) {
                if (edge.from != from) continue;
                if (isLookedThrough(edge.to.node)) {
                    transfers.push_back(edge.to.node);
                    open.push_back({edge.to.node, 0});
                } else {
                    reads.push_back(edge);
                }
            }
        }
        if (transfers.empty()) return;
        const Device home = deviceOf(tensor.node);
        std::map<Device, NodeId> carrier;
        for (const NodeId to : transfers) {
            const NodeFacts& facts = *m_before.find(to);
            if (facts.device == home) continue;
            const auto [known, isFirst] = carrier.try_emplace(facts.device, to);
            const bool isFaster = facts.attributes.flag("pin_memory") &&
                                  !m_before.find(known->second)->attributes.flag("pin_memory");
            if (isFaster) known->second = to;
        }
        std::set<NodeId> used;
        for (const Edge& edge : reads) {
            const NodeFacts& reader = *m_before.find(edge.to.node);
            const Device own = deviceOf(reader.id);
            const Device wanted = reader.op && reader.op->inputAt(edge.to.port).hostValue ? own.host() : own;
            PortRef from = tensor;
            const bool isScalar = home.isCpu() && m_model.isHostScalar(reader, edge.to.port);
            if (const auto by = carrier.find(wanted); wanted != home && by != carrier.end() && !isScalar) {
                from = {by->second, 0};
                used.insert(by->second);
            }
            if (from != edge.from) m_builder.connect({from, edge.to});
        }
        for (const NodeId to : used)
            if (m_builder.graph().sourceOf({to, 0}) != tensor) m_builder.connect({tensor, {to, 0}});
        for (const NodeId to : transfers)
            if (!used.contains(to)) m_builder.removeNode(to);
    }

    DeltaBuilder& m_builder;
    const PlacementModel& m_model;
    const Analysis& m_before;
    const std::vector<int>& m_at;
};

} // namespace

Delta placementDelta(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                     const TensorFiles* files, const PlacementModel& model, const std::vector<int>& at,
                     std::string title) {
    std::map<Device, std::vector<NodeId>> arriving;
    for (std::size_t i = 0; i < at.size(); ++i)
        if (at[i] != model.problem().items[i].now)
            arriving[model.devices()[static_cast<std::size_t>(at[i])]].push_back(model.nodes()[i]);
    DeltaBuilder builder(graph, std::move(title));
    for (const auto& [device, nodes] : arriving) moveToDevice(builder, nodes, device);
    Rewiring(builder, model, analysis, at).run();
    const Analysis left = analyze(builder.graph(), devices, analysis.policy, files);
    FixWriter writer(builder, &devices);
    for (const Diagnostic& d : left.diagnostics) {
        if (d.code != "device-mismatch") continue;
        Fix fix;
        fix.kind = Fix::Kind::insertTo;
        fix.edge = *d.edge;
        const Device own = left.find(d.node)->device;
        fix.device = left.find(d.node)->op->inputAt(d.port).hostValue ? own.host() : own;
        writer.apply(fix);
    }
    writer.finish();
    return builder.take();
}

} // namespace twb
