#include "training/sync_batch_norm.h"

#include "core/error.h"
#include "graph/bodies.h"
#include "placement/device_rule.h"
#include "training/gradient_sums.h"
#include "training/training_nodes.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace twb {
namespace {

using Ints = std::vector<std::int64_t>;
using Inputs = std::initializer_list<std::optional<PortRef>>;

/// The inputs of a BatchNormalization from its running mean on, and its outputs but the result.
constexpr std::int32_t kMeanInput = 3;
constexpr std::int32_t kMeanOutput = 1;

/// Adds the nodes for one BatchNormalization.
class Statistics {
public:
    Statistics(DeltaBuilder& builder, const Analysis& analysis, const DeviceMap& devices,
               const NodeFacts& facts)
        : m_builder(builder), m_devices(devices), m_facts(facts), m_node(*builder.graph().find(facts.id)),
          m_x(*analysis.typeOf(*facts.inputs[0])), m_type(*analysis.typeOf(*facts.inputs[kMeanInput])),
          m_nodes(builder, m_node.frame) {}

    /// Returns the node with the weight.
    NodeId write() {
        const auto [local, weight] = addLocal();
        const auto [mean, variance] = addCombined(addGathered(local));
        for (const std::int32_t i : {0, 1}) replaceRunning(i, i == 0 ? mean : variance);
        Node normalize = m_node;
        normalize.attributes.set("training_mode", false);
        m_builder.change(normalize);
        m_builder.connect({mean, {m_node.id, kMeanInput}});
        m_builder.connect({variance, {m_node.id, kMeanInput + 1}});
        return weight;
    }

private:
    PortRef add(const char* op, const std::string& what, Attributes attributes, Inputs inputs,
                LaneId lane = LaneId::none) {
        return m_nodes.add(op, m_node.name + " " + what, lane == LaneId::none ? m_node.lane : lane,
                           std::move(attributes), inputs);
    }
    std::string dtype() const { return std::string(name(m_type.dtype)); }

    struct Local {
        PortRef statistics; ///< of shape [1, 2C + 1, 1, …]: means, variances, the weight
        NodeId weight = NodeId::none;
    };
    Local addLocal() {
        PortRef x = *m_facts.inputs[0];
        int rank = m_x.shape.rank();
        if (rank == 1) { // a batch of one axis has one channel
            x = add("Unsqueeze", "with channel", {{"axes", Ints{1}}}, {x});
            rank = 2;
        }
        if (m_x.dtype != m_type.dtype) x = add("Cast", "input as " + dtype(), {{"to", dtype()}}, {x});
        Ints others{0};
        for (int axis = 2; axis < rank; ++axis) others.push_back(axis);
        const Attributes overOthers{{"axes", others}, {"keepdims", true}};
        const PortRef mean = add("ReduceMean", "mean of rank", overOthers, {x});
        const PortRef centred = add("Sub", "centred", {}, {x, mean});
        const PortRef square = add("Mul", "squares", {}, {centred, centred});
        const PortRef variance = add("ReduceMean", "variance of rank", overOthers, {square});
        const PortRef weight =
            add("Full", "weight of rank",
                {{"shape", Ints(static_cast<std::size_t>(rank), 1)}, {"value", 1.0}, {"dtype", dtype()}}, {});
        return {add("Concat", "statistics of rank", {{"axis", std::int64_t{1}}}, {mean, variance, weight}),
                weight.node};
    }

    /// Of shape [ranks, 2C + 1, 1, …].
    PortRef addGathered(PortRef local) {
        const LaneId lane =
            laneForRanks(m_builder.graph(), m_devices, m_node.lane, "AllGather", m_type.dtype);
        if (lane == m_node.lane) return add("AllGather", "statistics", {}, {local});
        const PortRef there = add("To", "statistics copy", {}, {local}, lane);
        return add("To", "statistics back", {}, {add("AllGather", "statistics", {}, {there}, lane)});
    }

    /// Mean and variance of shape [C].
    std::array<PortRef, 2> addCombined(PortRef all) {
        const std::int64_t channels = m_type.shape[0];
        const NodeId parts = add("Split", "parts",
                                 {{"axis", std::int64_t{1}},
                                  {"num_outputs", std::int64_t{3}},
                                  {"split", Ints{channels, channels, 1}}},
                                 {all})
                                 .node;
        const PortRef weights{parts, 2};
        const Attributes overRanks{{"axes", Ints{0}}, {"keepdims", true}};
        const auto averaged = [&](const std::string& what, PortRef of) {
            return add("ReduceSum", what, overRanks, {add("Mul", what + " weighted", {}, {of, weights})});
        };
        const auto flat = [&](const std::string& what, PortRef of) {
            return add("Reshape", what, {{"shape", Ints{channels}}}, {of});
        };
        const PortRef mean = averaged("mean of ranks", {parts, 0});
        const PortRef distance = add("Sub", "distance of means", {}, {PortRef{parts, 0}, mean});
        const PortRef between = add("Mul", "squared distance", {}, {distance, distance});
        const PortRef spread = add("Add", "spread", {}, {PortRef{parts, 1}, between});
        return {flat("mean", mean), flat("variance", averaged("variance of ranks", spread))};
    }

    /// In training, outputs 1 and 2 are the new running mean and variance.
    void replaceRunning(std::int32_t i, PortRef batch) {
        const PortRef before{m_node.id, kMeanOutput + i};
        std::vector<Edge> readers;
        for (const Edge& edge : m_builder.graph().outgoing(m_node.id))
            if (edge.from == before) readers.push_back(edge);
        if (readers.empty()) return;
        const std::string what = i == 0 ? "running mean" : "running variance";
        const double momentum = m_facts.attributes.number("momentum");
        const auto share = [&](const std::string& part, PortRef of, double factor) {
            const PortRef by = add("Constant", part + " factor", {{"value", factor}, {"dtype", dtype()}}, {});
            return add("Mul", part, {}, {of, by});
        };
        const std::int32_t running = kMeanInput + i;
        const PortRef kept =
            share("kept " + what, *m_facts.inputs[static_cast<std::size_t>(running)], momentum);
        const PortRef after = add("Add", what, {}, {kept, share("new " + what, batch, 1 - momentum)});
        for (const Edge& edge : readers) m_builder.connect({after, edge.to});
    }

    DeltaBuilder& m_builder;
    const DeviceMap& m_devices;
    const NodeFacts& m_facts;
    const Node m_node; ///< a copy, since changes invalidate the builder's nodes
    const TensorType& m_x;
    const TensorType& m_type; ///< of the running mean
    TrainingNodes m_nodes;
};

} // namespace

SyncBatchNorms synchronizeBatchNorms(const Graph& graph, const Analysis& analysis, const DeviceMap& devices) {
    DeltaBuilder builder(graph, "Synchronize BatchNormalization");
    const Bodies bodies(graph);
    SyncBatchNorms out;
    for (const NodeFacts& facts : analysis.nodes) {
        if (!facts.op || facts.op->name != "BatchNormalization" || !facts.attributes.flag("training_mode"))
            continue;
        if (const Body* body = bodies.around(facts.id))
            throw Error(ErrorCode::badGraph,
                        fmt::format("the statistics of {} cannot be synchronized, because it is in a body of "
                                    "{}: move it out of the body, or train without --sync-batch-norm",
                                    quoted(*graph.find(facts.id)), quoted(*graph.find(body->owner))));
        out.weights.push_back(Statistics(builder, analysis, devices, facts).write());
    }
    out.delta = builder.take();
    return out;
}

} // namespace twb
