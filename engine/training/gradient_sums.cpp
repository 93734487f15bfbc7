#include "training/gradient_sums.h"

#include "backends/world.h"
#include "graph/unique_names.h"
#include "ops/op_table.h"
#include "runtime/joined_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace twb {
namespace {

constexpr std::int64_t kFirstBucket = std::int64_t{1} << 20;
constexpr std::int64_t kBucket = 25 * kFirstBucket;

/// Gradients of one lane and dtype, which one call sums.
struct Bucket {
    LaneId lane = LaneId::none;
    DType dtype = DType::f32;
    std::int64_t bytes = 0;
    std::vector<std::size_t> members; ///< indices of gradients
};

/// The open buckets are few, so a search among the last ones finds them.
std::vector<Bucket> bucketsOf(const Graph& graph, const Analysis& analysis,
                              std::span<const PortRef> gradients, std::span<const NodeId> parameters) {
    std::vector<std::size_t> order(gradients.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    // The backward pass adds its nodes in the order in which it computes them.
    std::ranges::sort(order, {}, [&](std::size_t i) { return gradients[i]; });
    std::vector<Bucket> out;
    for (const std::size_t i : order) {
        const TensorType& type = *analysis.typeOf({parameters[i], 0});
        const LaneId lane = graph.find(parameters[i])->lane;
        const auto fits = [&](const Bucket& bucket) {
            const std::int64_t most = &bucket == out.data() ? kFirstBucket : kBucket;
            return bucket.lane == lane && bucket.dtype == type.dtype &&
                   bucket.bytes + type.byteCount() <= most;
        };
        // Only the last bucket of a lane and dtype is open, so that the order stays.
        const auto last = std::find_if(out.rbegin(), out.rend(), [&](const Bucket& bucket) {
            return bucket.lane == lane && bucket.dtype == type.dtype;
        });
        const bool joins = last != out.rend() && fits(*last);
        Bucket& bucket = joins ? *last : out.emplace_back(Bucket{lane, type.dtype, 0, {}});
        bucket.bytes += type.byteCount();
        bucket.members.push_back(i);
    }
    return out;
}

class SumWriter {
public:
    SumWriter(DeltaBuilder& builder, std::span<const NodeId> parameters, FrameId frame)
        : m_builder(builder), m_parameters(parameters), m_frame(frame), m_names(builder.graph()) {}

    NodeId add(const char* op, const std::string& name, LaneId lane, Attributes attributes,
               std::size_t member, Position position) {
        Node node;
        node.op = op;
        node.name = m_names.take(name);
        node.lane = lane;
        node.frame = m_frame;
        node.forward = m_parameters[member];
        node.attributes = std::move(attributes);
        node.position = position;
        return m_builder.addNode(std::move(node));
    }

    PortRef copy(PortRef from, LaneId lane, std::size_t member) {
        const Node& source = *m_builder.graph().find(from.node);
        const NodeId id = add("To", source.name + " copy", lane, {}, member, source.position);
        m_builder.connect({from, {id, 0}});
        return {id, 0};
    }

private:
    DeltaBuilder& m_builder;
    const std::span<const NodeId> m_parameters;
    const FrameId m_frame;
    UniqueNames m_names;
};

} // namespace

LaneId laneForRanks(const Graph& graph, const DeviceMap& devices, LaneId own, std::string_view op,
                    DType dtype) {
    const Backend* backend = devices.find(graph.find(own)->device);
    const Op& called = *findOp(op);
    if (!backend) return own;
    if (backend->supports(called.name.c_str(), called.kernel, std::span(&dtype, 1)) &&
        !callsByHost(devices, graph.find(own)->device))
        return own;
    for (const Lane& lane : graph.lanes())
        if (lane.device == graph.find(own)->device.host()) return lane.id;
    return own; // the analysis says that it cannot run there
}

std::vector<PortRef> sumOverRanks(DeltaBuilder& builder, const Analysis& analysis, const DeviceMap& devices,
                                  std::span<const PortRef> gradients, std::span<const NodeId> parameters,
                                  FrameId frame) {
    std::vector<PortRef> out(gradients.begin(), gradients.end());
    if (devices.world().size() == 1) return out;
    SumWriter writer(builder, parameters, frame);
    std::size_t number = 0;
    for (const Bucket& bucket : bucketsOf(builder.graph(), analysis, gradients, parameters)) {
        const LaneId lane = laneForRanks(builder.graph(), devices, bucket.lane, "AllReduce", bucket.dtype);
        std::vector<PortRef> summands;
        for (const std::size_t i : bucket.members)
            summands.push_back(lane == bucket.lane ? gradients[i] : writer.copy(gradients[i], lane, i));
        constexpr double below = 80;
        Position position = builder.graph().find(gradients[bucket.members.back()].node)->position;
        position.y += below;
        const NodeId sum = writer.add("AllReduce", fmt::format("sum of gradients {}", ++number), lane,
                                      {{"num_outputs", static_cast<std::int64_t>(summands.size())}},
                                      bucket.members[0], position);
        for (std::size_t k = 0; k < summands.size(); ++k) {
            const auto port = static_cast<std::int32_t>(k);
            builder.connect({summands[k], {sum, port}});
            const std::size_t i = bucket.members[k];
            out[i] = lane == bucket.lane ? PortRef{sum, port} : writer.copy({sum, port}, bucket.lane, i);
        }
    }
    return out;
}

} // namespace twb
