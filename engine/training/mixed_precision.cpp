#include "training/mixed_precision.h"

#include "graph/bodies.h"
#include "graph/constant_node.h"
#include "graph/free_places.h"
#include "graph/rewrite.h"
#include "graph/unique_names.h"
#include "ops/cast.h"
#include "ops/op_table.h"
#include "training/backward.h"
#include "training/fixed_tensors.h"
#include "training/training.h"
#include "training/training_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>

namespace twb {
namespace {

/// The ops of torch.autocast's lists for CUDA (ATen/autocast_mode.h), sorted: those that it computes in the
/// lower precision, and those that it computes in f32. All others run in the dtypes of their inputs.
constexpr std::array<std::string_view, 11> kLow{"Attention", "Conv", "ConvTranspose", "DeformConv", "Einsum",
                                                "GRU",       "Gemm", "LSTM",          "MatMul",     "PRelu",
                                                "RNN"};
constexpr std::array<std::string_view, 28> kFull{"Acos",
                                                 "Asin",
                                                 "Cosh",
                                                 "CumProd",
                                                 "CumSum",
                                                 "Exp",
                                                 "GroupNormalization",
                                                 "LayerNormalization",
                                                 "Log",
                                                 "LogSoftmax",
                                                 "LpNormalization",
                                                 "MeanVarianceNormalization",
                                                 "NegativeLogLikelihoodLoss",
                                                 "Pow",
                                                 "RMSNormalization",
                                                 "Reciprocal",
                                                 "ReduceL1",
                                                 "ReduceL2",
                                                 "ReduceLogSum",
                                                 "ReduceLogSumExp",
                                                 "ReduceProd",
                                                 "ReduceSum",
                                                 "ReduceSumSquare",
                                                 "Sinh",
                                                 "Softmax",
                                                 "SoftmaxCrossEntropyLoss",
                                                 "Softplus",
                                                 "Tan"};

/// For inference on the cpu, where the other ops of kLow have no kernels of their own for bf16. Sorted.
constexpr std::array<std::string_view, 3> kLowInference{"Conv", "Gemm", "MatMul"};

/// Inserts the casts, from the sources to the loss or, without a loss, in the whole graph.
class Autocast {
public:
    Autocast(DeltaBuilder& builder, const Analysis& analysis, const DeviceMap& devices,
             const TensorFiles* files, DType low)
        : m_analysis(analysis), m_devices(devices), m_files(files), m_low(low), m_names(builder.graph()),
          m_places(builder.graph()), m_builder(builder) {}

    /// False if nothing changes.
    bool write(NodeId loss) {
        const std::unordered_set<NodeId> forward = upstreamOf(m_analysis, loss);
        std::vector<const NodeFacts*> order;
        for (const NodeFacts& facts : m_analysis.nodes)
            if (facts.op && !facts.disabled && forward.contains(facts.id)) order.push_back(&facts);
        std::ranges::sort(order, {}, &NodeFacts::rank);
        for (const NodeFacts* facts : order) convert(*facts);
        return !m_casts.empty();
    }

    /// Products and convolutions with fixed weights compute in `low`, all other ops as before. Weights are
    /// held in `low`.
    void writeInference(const FixedTensors& fixed, const HoldTensor& hold, LowerPrecision& out) {
        const Bodies bodies(m_builder.graph());
        std::vector<const NodeFacts*> order;
        for (const NodeFacts& facts : m_analysis.nodes)
            if (facts.op && !facts.disabled && std::ranges::binary_search(kLowInference, facts.op->name))
                order.push_back(&facts);
        std::ranges::sort(order, {}, &NodeFacts::rank);
        for (const NodeFacts* facts : order) {
            const auto isF32 = [&](const std::optional<PortRef>& from) {
                return !from || (m_analysis.typeOf(*from) && m_analysis.typeOf(*from)->dtype == DType::f32);
            };
            std::vector<TensorType> outputs;
            Types low;
            for (const auto& from : facts->inputs)
                low.push_back(from && m_analysis.typeOf(*from)
                                  ? TensorType{m_low, m_analysis.typeOf(*from)->shape}
                                  : TensorType{});
            const bool mayChange =
                facts->fine && !bodies.around(facts->id) && facts->inputs.size() > 1 && facts->inputs[1] &&
                fixed.isFixed(*facts->inputs[1]) && std::ranges::all_of(facts->inputs, isF32) &&
                m_builder.graph().find(facts->id)->breakpoints.empty() && takes(*facts, low, outputs);
            if (!mayChange) {
                ++out.skipped;
                continue;
            }
            lower(*facts, low, fixed, hold, out);
            ++(facts->op->name == "Conv" ? out.convolutions : out.products);
        }
    }

private:
    using Types = std::vector<TensorType>; ///< by input; of an unconnected one empty and f32

    /// The node becomes a Cast to f32 of a new node that computes in `low`, so that its consumers stay.
    void lower(const NodeFacts& facts, const Types& low, const FixedTensors& fixed, const HoldTensor& hold,
               LowerPrecision& out) {
        const Node node = *m_builder.graph().find(facts.id);
        for (std::size_t port = 0; port < low.size(); ++port) {
            if (!facts.inputs[port]) continue;
            const PortRef from = *facts.inputs[port];
            if (fixed.isFixed(from) && port > 0) {
                const auto held = m_casts.find({from, m_low});
                if (held == m_casts.end() || m_builder.graph().find(held->second.node)->lane != node.lane)
                    holdLow(from, node, fixed, hold, out);
                m_builder.connect({m_casts.at({from, m_low}), {facts.id, static_cast<std::int32_t>(port)}});
            } else {
                cast(facts, port, low[port]);
            }
        }
        Node product = node;
        product.name = m_names.take(fmt::format("{} in {}", node.name, name(m_low)));
        product.id = m_builder.addNode(product);
        for (std::size_t port = 0; port < low.size(); ++port) {
            const PortRef to{facts.id, static_cast<std::int32_t>(port)};
            const auto from = m_builder.graph().sourceOf(to);
            if (!from) continue;
            m_builder.disconnect({*from, to});
            m_builder.connect({*from, {product.id, to.port}});
        }
        Node last = *m_builder.graph().find(facts.id);
        last.op = "Cast";
        last.attributes = {{"to", std::string(name(DType::f32))}};
        m_builder.change(last);
        m_builder.connect({{product.id, 0}, {facts.id, 0}});
    }

    /// Adds a source with the elements of a fixed tensor.
    void holdLow(PortRef from, const Node& reader, const FixedTensors& fixed, const HoldTensor& hold,
                 LowerPrecision& out) {
        const Tensor full = fixed.read(from);
        const Tensor low = Tensor::onHost({m_low, full.shape()});
        convertElements(full.view(), low.view());
        Node source;
        source.name =
            m_names.take(fmt::format("{} as {}", m_builder.graph().find(from.node)->name, name(m_low)));
        source.lane = reader.lane;
        source.frame = reader.frame;
        source.position = reader.position;
        source.folded = true;
        if (fitsConstant(low))
            makeConstant(source, low);
        else
            hold(source, low);
        m_casts[{from, m_low}] = {m_builder.addNode(source), 0};
        out.bytesBefore += static_cast<double>(full.byteCount());
        out.bytesAfter += static_cast<double>(low.byteCount());
    }

    TensorType typeOf(PortRef tensor) const {
        const auto changed = m_types.find(tensor);
        return changed == m_types.end() ? *m_analysis.typeOf(tensor) : changed->second;
    }

    void convert(const NodeFacts& facts) {
        Types now;
        for (const auto& from : facts.inputs) now.push_back(from ? typeOf(*from) : TensorType{});
        const bool isPlain = facts.op->role == OpRole::compute || facts.op->role == OpRole::transfer;
        const bool isLow = std::ranges::binary_search(kLow, facts.op->name);
        const bool isFull = !isPlain || std::ranges::binary_search(kFull, facts.op->name);
        const Types full = with(facts, now, m_low, DType::f32);
        std::vector<TensorType> outputs;
        for (const Types& wanted : {isLow    ? with(facts, now, DType::f32, m_low)
                                    : isFull ? full
                                             : now,
                                    full}) {
            if (!takes(facts, wanted, outputs)) continue;
            for (std::size_t port = 0; port < now.size(); ++port)
                if (wanted[port].dtype != now[port].dtype) cast(facts, port, wanted[port]);
            break;
        }
        for (std::size_t port = 0; port < outputs.size(); ++port)
            m_types[{facts.id, static_cast<std::int32_t>(port)}] = outputs[port];
    }

    /// The types with one dtype replaced by another.
    static Types with(const NodeFacts& facts, Types types, DType before, DType after) {
        for (std::size_t port = 0; port < types.size(); ++port)
            if (facts.inputs[port] && types[port].dtype == before) types[port].dtype = after;
        return types;
    }

    /// Whether the op has a kernel for these types; sets `outputs`.
    bool takes(const NodeFacts& facts, const Types& types, std::vector<TensorType>& outputs) const {
        const bool isControl = facts.op->role == OpRole::control; // its bodies were checked with f32
        std::vector<const TensorType*> pointers;
        std::vector<const Tensor*> values;
        std::vector<DType> dtypes;
        for (std::size_t port = 0; port < types.size(); ++port) {
            const auto& from = facts.inputs[port];
            pointers.push_back(from ? &types[port] : nullptr);
            const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
            values.push_back(source && source->value && from->port == 0 ? &source->value : nullptr);
            dtypes.push_back(types[port].dtype);
        }
        outputs.clear();
        if (isControl || facts.inputs.empty()) return true;
        const Op& op = *facts.op;
        const Backend* backend = m_devices.find(facts.device);
        if (op.kernel && backend && !backend->supports(op.name.c_str(), op.kernel, dtypes)) return false;
        try {
            outputs.resize(facts.outputs.size());
            InferContext infer(op, facts.attributes, pointers, values, m_files, outputs);
            op.infer(infer);
            return true;
        } catch (const InferError&) {
            outputs.clear();
            return false;
        }
    }

    /// Casts an input by a new Cast or by an existing one. A cast to fewer bytes is on the tensor's lane, so
    /// that a copy becomes smaller, too.
    void cast(const NodeFacts& reader, std::size_t port, const TensorType& wanted) {
        const PortRef to{reader.id, static_cast<std::int32_t>(port)};
        const PortRef from = m_builder.graph().sourceOf(to).value();
        const auto [known, isNew] = m_casts.try_emplace({from, wanted.dtype});
        if (!isNew) return m_builder.connect({known->second, to});
        const Node source = *m_builder.graph().find(from.node);
        const Node target = *m_builder.graph().find(reader.id);
        Node node;
        node.op = "Cast";
        node.name = m_names.take(fmt::format("{} as {}", source.name, name(wanted.dtype)));
        node.lane = wanted.dtype == m_low ? source.lane : target.lane;
        node.frame = target.frame;
        node.attributes = {{"to", std::string(name(wanted.dtype))}};
        node.id = m_builder.addNode(node);
        known->second = {node.id, 0};
        m_builder.connect({from, {node.id, 0}});
        m_builder.connect({known->second, to});
        // A parameter is now folded into the Cast, which makes its card higher.
        const CardSize size = cardSizeOf(m_builder.graph(), node);
        node.position =
            m_places.below(node.lane, {(source.position.x + target.position.x) / 2, target.position.y}, size);
        m_places.put(node.lane, node.position, size);
        m_builder.change(node);
    }

    const Analysis& m_analysis;
    const DeviceMap& m_devices;
    const TensorFiles* const m_files;
    const DType m_low;
    UniqueNames m_names;
    FreePlaces m_places;
    DeltaBuilder& m_builder;
    std::map<PortRef, TensorType> m_types; ///< after the casts
    std::map<std::pair<PortRef, DType>, PortRef> m_casts;
};

/// Adds a loss scale to a training module.
class LossScale {
public:
    LossScale(DeltaBuilder& builder, const Analysis& analysis, const Training& training)
        : m_builder(builder), m_analysis(analysis), m_training(training), m_nodes(builder, training.frame) {}

    void write() {
        const Graph before = m_builder.graph();
        const Node& loss = *before.find(m_training.loss);
        const LaneId home = loss.lane;
        const PortRef scale = m_nodes.add(
            "Full", "loss scale", home, {{"shape", std::vector<std::int64_t>{}}, {"value", kFirstScale}}, {});
        const PortRef tracker = m_nodes.add("Zeros", "good steps", home,
                                            {{"shape", std::vector<std::int64_t>{}}, {"dtype", "i32"}}, {});
        const PortRef inverse = m_nodes.add("Reciprocal", "1 / loss scale", home, {}, {scale});
        const PortRef zero = m_nodes.add("Constant", "zero", home, {{"value", 0.0}}, {});
        std::vector<std::optional<PortRef>> checks;
        for (const auto& [gradient, readers] : gradients(before)) {
            const Node& parameter = *before.find(before.find(readers.front().node)->forward);
            const std::string& name = parameter.name;
            const DType dtype = m_analysis.typeOf({parameter.id, 0})->dtype;
            const PortRef unscaled =
                m_nodes.add("Mul", name + " gradient unscaled", parameter.lane, {},
                            {gradient, on(parameter.lane, inverse, DType::f32, dtype)}, parameter.id);
            for (const PortRef to : readers) m_builder.connect({unscaled, to});
            // 0 times a number that is not finite is NaN, and so is the sum.
            const PortRef product =
                m_nodes.add("Mul", name + " gradient times 0", parameter.lane, {},
                            {unscaled, on(parameter.lane, zero, DType::f32, dtype)}, parameter.id);
            const PortRef sum = m_nodes.add("ReduceSum", name + " gradient is finite", parameter.lane,
                                            {{"keepdims", false}}, {product}, parameter.id);
            checks.push_back(on(home, sum, dtype, DType::f32));
        }
        const PortRef all = m_nodes.add("Sum", "gradients are finite", home, {}, checks);
        const PortRef overflow = m_nodes.add("IsNaN", "overflow", home, {}, {all});
        for (const NodeId id : m_training.nodes) skip(id, overflow);
        m_nodes.add("ScaleUpdate", "next loss scale", home, {}, {scale, tracker, overflow});
        place();
    }

private:
    static constexpr double kFirstScale = 65536; // 2^16, as torch.amp.GradScaler

    /// A position below the nodes of the optimizer, which are right of the forward nodes.
    void place() {
        Position origin = besideForward(m_builder.graph());
        for (const NodeId id : m_training.nodes) {
            const Node& node = *m_builder.graph().find(id);
            if (!node.folded) origin.y = std::max(origin.y, node.position.y + TrainingNodes::kBelow);
        }
        m_nodes.place(origin);
    }

    /// The gradients that the optimizer reads, with its inputs that read them.
    std::map<PortRef, std::vector<PortRef>> gradients(const Graph& graph) const {
        std::map<PortRef, std::vector<PortRef>> out;
        for (const NodeId id : m_training.nodes) {
            if (graph.find(id)->frame == m_training.backward) continue;
            const auto& inputs = graph.inputs(id);
            for (std::size_t port = 0; port < inputs.size(); ++port)
                if (inputs[port] && graph.find(inputs[port]->node)->frame == m_training.backward)
                    out[*inputs[port]].push_back({id, static_cast<std::int32_t>(port)});
        }
        return out;
    }

    /// After an overflow, optimizer steps and their counters are skipped. Running statistics (Assign) and the
    /// parameters' moving averages (AverageUpdate) are still updated, as in PyTorch.
    void skip(NodeId id, PortRef overflow) {
        const Node& node = *m_builder.graph().find(id);
        const Op& op = *findOp(node.op);
        if (node.op == "Assign" || node.op == "AverageUpdate") return;
        const auto port = std::ranges::find(op.inputs, "skip", &PortSpec::name);
        if (port == op.inputs.end()) return;
        const LaneId lane = node.lane;
        m_builder.connect({on(lane, overflow, DType::boolean, DType::boolean),
                           {id, static_cast<std::int32_t>(port - op.inputs.begin())}});
    }

    /// The number `tensor`, of dtype `now`, on this lane and with this dtype. Adds a To if needed.
    PortRef on(LaneId lane, PortRef tensor, DType now, DType dtype) {
        const Graph& graph = m_builder.graph();
        const LaneId from = graph.find(tensor.node)->lane;
        if (graph.find(from)->device == graph.find(lane)->device && now == dtype) return tensor;
        const auto [known, isNew] = m_there.try_emplace({lane, tensor, dtype});
        if (isNew)
            known->second = m_nodes.add(
                "To",
                fmt::format("{} on {}", graph.find(tensor.node)->name, graph.find(lane)->device.toString()),
                lane, {{"dtype", std::string(name(dtype))}}, {tensor});
        return known->second;
    }

    DeltaBuilder& m_builder;
    const Analysis& m_analysis;
    const Training& m_training;
    TrainingNodes m_nodes;
    std::map<std::tuple<LaneId, PortRef, DType>, PortRef> m_there;
};

} // namespace

LowerPrecision castToBFloat16(const Graph& graph, const RunSetup& setup, const HoldTensor& hold) {
    if (trainingOf(graph)) throw Error(ErrorCode::badGraph, kNeedsNoTraining);
    LowerPrecision out;
    DeltaBuilder builder(graph, "Cast to bf16");
    const Analysis analysis = analyze(graph, setup.devices, setup.policy, setup.files.get());
    const FixedTensors fixed(graph, analysis, setup.files.get());
    Autocast(builder, analysis, setup.devices, setup.files.get(), DType::bf16)
        .writeInference(fixed, hold, out);
    if (out.products + out.convolutions == 0) return out;
    Graph after = builder.graph();
    removeUnread(after, graph);
    out.delta = arrangedDifference(graph, std::move(after), "Cast to bf16");
    return out;
}

Delta makeMixedPrecision(const Graph& graph, const DeviceMap& devices, const TensorFiles* files, NodeId loss,
                         DType low) {
    if (low != DType::f16 && low != DType::bf16)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("mixed precision computes in f16 or bf16, not in {}", name(low)));
    DeltaBuilder builder(graph, fmt::format("Mixed precision with {}", name(low)));
    const Analysis analysis = analyze(graph, devices, graph.info().policy, files);
    const bool casts = Autocast(builder, analysis, devices, files, low).write(loss);
    const std::optional<Training> training = trainingOf(builder.graph());
    const bool scales = training && low == DType::f16 && !lossScaleOf(builder.graph(), *training);
    if (scales) LossScale(builder, analysis, *training).write();
    if (training && (casts || scales)) addBackwardAgain(builder, devices, files);
    return builder.take();
}

} // namespace twb
