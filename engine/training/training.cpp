#include "training/training.h"

#include "backends/world.h"
#include "graph/folding.h"
#include "graph/rank_lanes.h"
#include "graph/unique_names.h"
#include "ops/op_table.h"
#include "placement/device_rule.h"
#include "placement/update_rule.h"
#include "training/backward.h"
#include "training/gradient_sums.h"
#include "training/training_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

namespace twb {
namespace {

/// Added to the norm before the division, as in torch.nn.utils.clip_grad_norm_.
constexpr double kNormEpsilon = 1e-6;

constexpr std::array<OptimizerName, 6> kOptimizers{{{"sgd", "SGD", "SGDUpdate"},
                                                    {"adam", "Adam", "AdamUpdate"},
                                                    {"adamw", "AdamW", "AdamWUpdate"},
                                                    {"rmsprop", "RMSprop", "RMSpropUpdate"},
                                                    {"adagrad", "Adagrad", "AdagradUpdate"},
                                                    {"lion", "Lion", "LionUpdate"}}};

/// Adds the nodes of an optimizer.
class OptimizerWriter {
public:
    OptimizerWriter(DeltaBuilder& builder, const Analysis& analysis, const Optimizer& optimizer,
                    FrameId frame)
        : m_builder(builder), m_analysis(analysis), m_optimizer(optimizer), m_op(*findOp(optimizer.op)),
          m_nodes(builder, frame) {}

    void write(std::span<const NodeId> parameters, std::vector<PortRef> gradients) {
        const double most = m_optimizer.clipValue; // as in torch.nn.utils.clip_grad_value_
        for (std::size_t i = 0; most > 0 && i < parameters.size(); ++i)
            gradients[i] = {add("Clip", nodeOf(parameters[i]).name + " gradient clipped",
                                nodeOf(parameters[i]).lane, {{"min", -most}, {"max", most}}, {gradients[i]},
                                parameters[i]),
                            0};
        if (m_optimizer.clipNorm > 0) addClipping(parameters, gradients);
        for (std::size_t i = 0; i < parameters.size(); ++i) addStep(parameters[i], gradients[i]);
    }
    void place(Position origin) { m_nodes.place(origin); }

    /// Keeps the running mean and variance of each BatchNormalization among these nodes, if they are sources.
    void addStatistics(const std::unordered_set<NodeId>& nodes) {
        constexpr std::int32_t mean = 3; // input; the new value is output 1
        for (const NodeFacts& facts : m_analysis.nodes) {
            const bool trains = facts.op && facts.op->name == "BatchNormalization" &&
                                nodes.contains(facts.id) && facts.attributes.flag("training_mode");
            for (std::int32_t i = 0; trains && i < 2; ++i) {
                const auto& from = facts.inputs.at(static_cast<std::size_t>(mean + i));
                const NodeFacts* source = from ? m_analysis.find(from->node) : nullptr;
                const bool isOwn = source && source->op && source->op->role == OpRole::source &&
                                   source->device == facts.device && !isUpdated(m_builder.graph(), *from);
                if (isOwn)
                    add("Assign", nodeOf(from->node).name + " update", nodeOf(facts.id).lane, {},
                        {from, PortRef{facts.id, 1 + i}}, from->node);
            }
        }
    }

private:
    /// The numbers that all steps on a lane share.
    struct Shared {
        PortRef step; ///< the number of the step, from 1
        PortRef rate;
        std::optional<PortRef> scale; ///< factor of the gradients
    };

    const Node& nodeOf(NodeId id) const { return *m_builder.graph().find(id); }
    const TensorType& typeOf(NodeId parameter) const { return *m_analysis.typeOf({parameter, 0}); }

    NodeId add(std::string op, const std::string& name, LaneId lane, Attributes attributes,
               std::span<const std::optional<PortRef>> inputs, NodeId parameter = NodeId::none) {
        return m_nodes.add(std::move(op), name, lane, std::move(attributes), inputs, parameter).node;
    }
    NodeId add(std::string op, const std::string& name, LaneId lane, Attributes attributes,
               std::initializer_list<std::optional<PortRef>> inputs, NodeId parameter = NodeId::none) {
        return m_nodes.add(std::move(op), name, lane, std::move(attributes), inputs, parameter).node;
    }

    /// The step counter and the learning rate stand on the lane of the parameters that they serve, so that
    /// nothing is copied in an iteration.
    Shared& sharedOn(LaneId lane, DType dtype) {
        const auto [known, isNew] = m_shared.try_emplace({lane, dtype});
        if (!isNew) return known->second;
        const auto [counted, isFirst] = m_steps.try_emplace(lane);
        if (isFirst) {
            const NodeId count =
                add("Zeros", "step", lane, {{"shape", std::vector<std::int64_t>{}}, {"dtype", "i64"}}, {});
            counted->second = {count, add("StepUpdate", "next step", lane, {}, {PortRef{count, 0}})};
        }
        Attributes rate = m_optimizer.rate;
        rate.set("dtype", std::string(name(dtype)));
        const NodeId rateNode =
            add("LearningRate", "learning rate", lane, std::move(rate), {PortRef{counted->second.first, 0}});
        known->second.step = {counted->second.second, 0};
        known->second.rate = {rateNode, 0};
        return known->second;
    }

    void addStep(NodeId parameter, PortRef gradient) {
        const LaneId lane = nodeOf(parameter).lane;
        const std::string name = nodeOf(parameter).name;
        const TensorType& type = typeOf(parameter);
        const Shared& shared = sharedOn(lane, type.dtype);
        std::vector<std::optional<PortRef>> inputs;
        for (std::size_t port = 0; port < m_op.inputs.size(); ++port) {
            const std::string& input = m_op.inputs[port].name;
            if (input == "parameter")
                inputs.emplace_back(PortRef{parameter, 0});
            else if (input == "gradient")
                inputs.emplace_back(gradient);
            else if (input == "lr")
                inputs.emplace_back(shared.rate);
            else if (input == "step")
                inputs.emplace_back(shared.step);
            else if (input == "grad_scale")
                inputs.push_back(scaleOn(lane, m_analysis.find(parameter)->device, type.dtype));
            else if (input != "skip" && needsState(input))
                inputs.emplace_back(
                    PortRef{add("Zeros", name + " " + input, lane,
                                {{"shape", type.shape.dims()}, {"dtype", std::string(twb::name(type.dtype))}},
                                {}, parameter),
                            0});
            else
                inputs.emplace_back();
        }
        const NodeId step =
            add(m_optimizer.op, name + " update", lane, m_optimizer.attributes, inputs, parameter);
        if (m_optimizer.averageDecay > 0) addAverage(parameter, step);
    }

    bool needsState(const std::string& input) const {
        if (input == "momentum_buffer") {
            const AttributeValue* momentum = m_optimizer.attributes.find("momentum");
            return momentum && m_optimizer.attributes.number("momentum") != 0;
        }
        if (input == "grad_avg")
            return m_optimizer.attributes.has("centered") && m_optimizer.attributes.flag("centered");
        return true;
    }

    /// The average starts from a source like the parameter's own.
    void addAverage(NodeId parameter, NodeId step) {
        Node start = nodeOf(parameter);
        const NodeId average =
            add(start.op, start.name + " average", start.lane, start.attributes, {}, parameter);
        add("AverageUpdate", start.name + " average update", start.lane,
            {{"decay", m_optimizer.averageDecay}}, {PortRef{average, 0}, PortRef{step, 0}}, parameter);
    }

    /// The factor min(1, clipNorm / norm), as in torch.nn.utils.clip_grad_norm_. Norms on other lanes are
    /// copied to the first, and the factor back.
    void addClipping(std::span<const NodeId> parameters, std::span<const PortRef> gradients) {
        const LaneId lane = nodeOf(parameters[0]).lane;
        const Device home = m_analysis.find(parameters[0])->device;
        const DType dtype = typeOf(parameters[0]).dtype;
        std::vector<std::optional<PortRef>> squares;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const NodeId parameter = parameters[i];
            const std::string name = nodeOf(parameter).name + " gradient";
            PortRef square{add("ReduceSumSquare", name + " squared norm", nodeOf(parameter).lane,
                               {{"keepdims", false}}, {gradients[i]}, parameter),
                           0};
            if (m_analysis.find(parameter)->device != home || typeOf(parameter).dtype != dtype)
                square = {add("To", fmt::format("{} squared norm on {}", name, home.toString()), lane,
                              {{"dtype", std::string(twb::name(dtype))}}, {square}, parameter),
                          0};
            squares.emplace_back(square);
        }
        const NodeId sum = add("Sum", "gradient squared norm", lane, {}, squares);
        const NodeId norm = add("Sqrt", "gradient norm", lane, {}, {PortRef{sum, 0}});
        const auto number = [&](const char* called, double value) {
            return PortRef{add("Constant", called, lane,
                               {{"value", value}, {"dtype", std::string(twb::name(dtype))}}, {}),
                           0};
        };
        const NodeId divisor = add("Add", "gradient norm plus epsilon", lane, {},
                                   {PortRef{norm, 0}, number("norm epsilon", kNormEpsilon)});
        const NodeId ratio =
            add("Div", "clip ratio", lane, {},
                {number("largest gradient norm", m_optimizer.clipNorm), PortRef{divisor, 0}});
        const NodeId factor = add("Min", "clip factor", lane, {}, {PortRef{ratio, 0}, number("one", 1)});
        m_clipHome = lane;
        m_clipFactor = PortRef{factor, 0};
    }

    std::optional<PortRef> scaleOn(LaneId lane, Device device, DType dtype) {
        if (!m_clipFactor) return std::nullopt;
        if (lane == m_clipHome) return m_clipFactor;
        std::optional<PortRef>& scale = m_shared[{lane, dtype}].scale;
        if (!scale)
            scale = PortRef{
                add("To", fmt::format("clip factor on {}", device.toString()), lane, {}, {m_clipFactor}), 0};
        return scale;
    }

    DeltaBuilder& m_builder;
    const Analysis& m_analysis;
    const Optimizer& m_optimizer;
    const Op& m_op;
    TrainingNodes m_nodes;
    std::map<std::pair<LaneId, DType>, Shared> m_shared;
    std::map<LaneId, std::pair<NodeId, NodeId>> m_steps; ///< the counter and its update
    LaneId m_clipHome = LaneId::none;
    std::optional<PortRef> m_clipFactor;
};

/// The nodes of a frame and of the frames inside it, sorted.
std::vector<NodeId> nodesIn(const Graph& graph, FrameId frame) {
    std::vector<NodeId> out;
    for (const Node& node : graph.nodes())
        for (FrameId at = node.frame; at != FrameId::none; at = graph.find(at)->parent)
            if (at == frame) {
                out.push_back(node.id);
                break;
            }
    std::ranges::sort(out);
    return out;
}

bool hasTrainingMode(const Node& node) {
    return (node.op == "Dropout" || node.op == "BatchNormalization") && !node.disabled;
}

/// The edge into the input training_mode, which wins over the attribute of the same name.
std::optional<Edge> trainingModeEdge(const Graph& graph, const Node& node) {
    const Op& op = *findOp(node.op);
    const auto named = std::ranges::find(op.inputs, "training_mode", &PortSpec::name);
    if (named == op.inputs.end()) return std::nullopt;
    const PortRef input{node.id, static_cast<std::int32_t>(named - op.inputs.begin())};
    const auto from = graph.sourceOf(input);
    return from ? std::optional(Edge{*from, input}) : std::nullopt;
}

/// Sets the attribute, and disconnects the input of the same name. False if nothing changes.
bool setTrainingMode(DeltaBuilder& builder, const Node& node, bool isOn) {
    const std::optional<Edge> edge = trainingModeEdge(builder.graph(), node);
    const AttributeValue* before = node.attributes.find("training_mode");
    const bool wasOn = before && node.attributes.flag("training_mode");
    if (!edge && wasOn == isOn) return false;
    if (edge) builder.disconnect(*edge);
    Node after = node;
    after.attributes.set("training_mode", isOn);
    builder.change(after);
    return true;
}

/// Turns on the training mode of the nodes for which no tensor decides it. False if nothing changes.
bool setTraining(DeltaBuilder& builder, const std::unordered_set<NodeId>& nodes) {
    const Graph before = builder.graph(); // changes invalidate the nodes of the builder's graph
    bool changes = false;
    for (const Node& node : before.nodes()) {
        if (!hasTrainingMode(node) || !nodes.contains(node.id)) continue;
        if (trainingModeEdge(builder.graph(), node)) continue;
        changes = setTrainingMode(builder, node, true) || changes;
    }
    return changes;
}

void requireParameters(const Graph& graph, const Analysis& analysis, std::span<const NodeId> parameters) {
    if (parameters.empty())
        throw Error(ErrorCode::badGraph,
                    "the graph has no parameters: add Parameter nodes, or name the sources that "
                    "training changes");
    for (const NodeId id : parameters) {
        const NodeFacts* facts = analysis.find(id);
        const std::optional<TensorType>& type = analysis.typeOf({id, 0});
        const std::string name = quoted(*graph.find(id));
        if (!facts->op || facts->op->role != OpRole::source)
            throw Error(
                ErrorCode::badGraph,
                fmt::format("{} cannot be a parameter: it is not a source node such as Parameter or File",
                            name));
        if (!type || !type->isKnown() || !isFloating(type->dtype))
            throw Error(
                ErrorCode::badGraph,
                fmt::format("{} cannot be a parameter: a parameter must be f32 or f64, but the type of "
                            "this node is {}",
                            name, type ? type->toString() : "not known"));
        if (type->dtype != DType::f32 && type->dtype != DType::f64)
            throw Error(
                ErrorCode::badGraph,
                fmt::format("{} cannot be a parameter: a parameter must be f32 or f64, but the dtype of this "
                            "node is {}; make it f32 and insert a Cast to {} after it",
                            name, twb::name(type->dtype), twb::name(type->dtype)));
        if (isUpdated(graph, {id, 0}))
            throw Error(
                ErrorCode::badGraph,
                fmt::format("another node already updates {}; remove that update, or choose other parameters",
                            name));
    }
}

} // namespace

std::span<const OptimizerName> optimizerNames() noexcept { return kOptimizers; }

std::string_view optimizerOp(std::string_view name) {
    std::vector<std::string_view> names;
    for (const OptimizerName& known : kOptimizers) {
        if (known.name == name) return known.op;
        names.push_back(known.name);
    }
    throw Error(ErrorCode::invalidArgument,
                fmt::format("\"{}\" is not an optimizer; choose one of {}", name, fmt::join(names, ", ")));
}

void setSchedule(Attributes& rate, const std::string& schedule, std::int64_t steps, std::int64_t warmup) {
    if (warmup != 0) rate.set("warmup_steps", warmup);
    if (schedule == "constant") return;
    rate.set("schedule", schedule);
    const std::int64_t least = std::max<std::int64_t>(1, steps);
    if (schedule == "cosine" || schedule == "one_cycle") rate.set("total_steps", steps + warmup);
    if (schedule == "step") rate.set("step_size", std::max<std::int64_t>(1, least / 3));
    if (schedule == "exponential") rate.set("gamma", std::pow(0.01, 1 / static_cast<double>(least)));
}

std::string optimizerText(const Graph& graph, const Training& training) {
    std::string name;
    std::string rate;
    for (const NodeId id : training.nodes) {
        const Node& node = *graph.find(id);
        const auto known = std::ranges::find(kOptimizers, node.op, &OptimizerName::op);
        if (known != kOptimizers.end()) name = known->name;
        if (node.op != "LearningRate") continue;
        const Attributes attributes = completeAttributes(*findOp(node.op), node.attributes);
        rate = fmt::format("lr {:g}", attributes.number("lr"));
        if (const std::string schedule = attributes.text("schedule"); schedule != "constant")
            rate += " " + schedule;
    }
    return name + " " + rate;
}

std::optional<Training> trainingOf(const Graph& graph) {
    for (const Frame& frame : graph.frames()) {
        if (frame.loss == NodeId::none || frame.parent == FrameId::none || !graph.find(frame.loss)) continue;
        Training training{frame.parent, frame.id, frame.loss, nodesIn(graph, frame.parent)};
        if (!std::ranges::binary_search(training.nodes, frame.loss)) return training;
    }
    return std::nullopt;
}

std::optional<PortRef> gradientOf(const Graph& graph, NodeId parameter) {
    for (const Edge& edge : graph.outgoing(parameter)) {
        const Node& reader = *graph.find(edge.to.node);
        const Op* op = reader.forward == parameter ? findOp(reader.op) : nullptr;
        if (!op) continue;
        const auto port = std::ranges::find(op->inputs, "gradient", &PortSpec::name);
        if (port == op->inputs.end()) continue;
        const auto gradient =
            graph.sourceOf({reader.id, static_cast<std::int32_t>(port - op->inputs.begin())});
        const Node* clip = gradient ? graph.find(gradient->node) : nullptr;
        const bool isClipped = clip && clip->op == "Clip" && clip->forward == parameter;
        return isClipped ? graph.sourceOf({clip->id, 0}) : gradient;
    }
    return std::nullopt;
}

std::vector<NodeId> parametersOf(const Graph& graph, const Analysis& analysis, NodeId loss) {
    std::vector<NodeId> out;
    std::vector<NodeId> weights;
    for (const NodeId id : upstreamOf(analysis, loss)) {
        const NodeFacts* facts = analysis.find(id);
        const std::optional<TensorType>& type = analysis.typeOf({id, 0});
        if (!facts->op || facts->op->role != OpRole::source || !type || !isFloating(type->dtype)) continue;
        const Node& node = *graph.find(id);
        if (node.op == "Parameter") out.push_back(id);
        if (type->shape.rank() > 0 && foldedInto(graph, node)) weights.push_back(id);
    }
    if (out.empty()) out = std::move(weights);
    std::ranges::sort(out);
    return out;
}

Delta makeTraining(const Graph& graph, const DeviceMap& devices, const TensorFiles* files, NodeId loss,
                   std::span<const NodeId> parameters, const Optimizer& optimizer) {
    if (trainingOf(graph))
        throw Error(ErrorCode::badGraph, "the graph already has a training module; remove it first");
    DeltaBuilder builder(graph, "Add training");
    const auto analyzed = [&] { return analyze(builder.graph(), devices, graph.info().policy, files); };
    Analysis analysis = analyzed();
    requireParameters(graph, analysis, parameters);
    const std::unordered_set<NodeId> upstream = upstreamOf(analysis, loss);
    if (setTraining(builder, upstream)) analysis = analyzed();
    Frame outer;
    outer.title = "Training";
    outer.collapsed = true;
    const FrameId frame = builder.addFrame(outer);
    Frame inner;
    inner.title = "Backward";
    inner.collapsed = true;
    inner.parent = frame;
    inner.loss = loss;
    const FrameId backward = builder.addFrame(inner);
    const std::vector<PortRef> gradients =
        sumOverRanks(builder, analysis, devices,
                     addBackward(builder, analysis, {loss, 0}, parameters, backward), parameters, backward);
    OptimizerWriter writer(builder, analysis, optimizer, frame);
    writer.write(parameters, gradients);
    writer.addStatistics(upstream);
    Position origin = besideForward(graph);
    origin.y += TrainingNodes::kBelow;
    writer.place(origin);
    return builder.take();
}

void setInference(DeltaBuilder& builder) {
    const Graph before = builder.graph(); // changes invalidate the nodes of the builder's graph
    for (const Node& node : before.nodes())
        if (hasTrainingMode(node)) setTrainingMode(builder, node, false);
}

namespace {

/// Moves the inputs of a variadic op to its first ports.
void closeGaps(DeltaBuilder& builder, NodeId id) {
    const std::vector<std::optional<PortRef>> before = builder.graph().inputs(id);
    std::int32_t next = 0;
    for (std::size_t port = 0; port < before.size(); ++port) {
        const PortRef to{id, static_cast<std::int32_t>(port)};
        if (!before[port]) continue;
        if (next != to.port) {
            builder.disconnect({*before[port], to});
            builder.connect({*before[port], {id, next}});
        }
        ++next;
    }
}

} // namespace

bool touchesForward(const Graph& graph, const Delta& delta) {
    const std::optional<Training> training = trainingOf(graph);
    if (!training) return false;
    const auto isForward = [&](NodeId id) {
        return graph.find(id) && !std::ranges::binary_search(training->nodes, id);
    };
    const auto matters = [&](const Change<Node>& change) {
        if (!change.after) return change.before->forward == NodeId::none;
        if (!isForward(change.after->id)) return false;
        if (!change.before) return false; // its edges count
        const Node &before = *change.before, &after = *change.after;
        return before.op != after.op || before.lane != after.lane || before.disabled != after.disabled ||
               !(before.attributes == after.attributes);
    };
    const auto joinsForward = [&](const Edge& edge) { return isForward(edge.to.node); };
    return std::ranges::any_of(delta.nodes, matters) || std::ranges::any_of(delta.edgesAdded, joinsForward) ||
           std::ranges::any_of(delta.edgesRemoved, joinsForward);
}

void addBackwardAgain(DeltaBuilder& builder, const DeviceMap& devices, const TensorFiles* files,
                      double share) {
    const Graph graph = builder.graph();
    const std::optional<Training> training = trainingOf(graph);
    if (!training) return;
    const std::vector<NodeId> old = nodesIn(graph, training->backward);
    std::vector<Edge> leaving;
    for (const NodeId id : old)
        for (const Edge& edge : graph.outgoing(id))
            if (graph.find(edge.to.node)->frame != training->backward) leaving.push_back(edge);
    std::map<PortRef, NodeId> parameterOf; // by gradient
    for (const Edge& edge : leaving) {
        const Node& reader = *graph.find(edge.to.node);
        if (reader.forward != NodeId::none && std::ranges::binary_search(training->nodes, reader.id))
            parameterOf.emplace(edge.from, reader.forward);
    }
    // The readers of each gradient, by parameter, and those of other nodes.
    std::map<NodeId, std::vector<PortRef>> readers;
    std::vector<Edge> others;
    for (const Edge& edge : leaving) {
        const auto parameter = parameterOf.find(edge.from);
        if (parameter != parameterOf.end())
            readers[parameter->second].push_back(edge.to);
        else
            others.push_back(edge);
    }
    for (const NodeId id : old) builder.removeNode(id);
    const Analysis analysis = analyze(builder.graph(), devices, graph.info().policy, files);
    const std::unordered_set<NodeId> upstream = upstreamOf(analysis, training->loss);
    std::vector<NodeId> parameters;
    for (const auto& [parameter, ports] : readers)
        if (upstream.contains(parameter)) parameters.push_back(parameter);
    // Parameters that no longer reach the loss leave their optimizer's nodes behind.
    for (const NodeId id : nodesIn(builder.graph(), training->frame)) {
        const Node& node = *builder.graph().find(id);
        const bool isIdle = node.op == "Assign" && !builder.graph().sourceOf({id, 1}); // its node was removed
        const bool isLeft = node.forward != NodeId::none && readers.contains(node.forward) &&
                            !upstream.contains(node.forward);
        if (isIdle || isLeft) builder.removeNode(id);
    }
    for (const NodeId id : nodesIn(builder.graph(), training->frame))
        if (findOp(builder.graph().find(id)->op)->isVariadic()) closeGaps(builder, id);
    const std::vector<PortRef> own = addBackward(builder, analysis, {training->loss, 0}, parameters,
                                                 training->backward, lossScaleOf(graph, *training), share);
    const std::vector<PortRef> gradients =
        sumOverRanks(builder, analysis, devices, own, parameters, training->backward);
    for (std::size_t i = 0; i < parameters.size(); ++i)
        for (const PortRef to : readers[parameters[i]])
            if (builder.graph().find(to.node)) builder.connect({gradients[i], to});
    std::map<std::string_view, NodeId> made;
    for (const NodeId id : nodesIn(builder.graph(), training->backward))
        made.emplace(builder.graph().find(id)->name, id);
    for (const Edge& edge : others) { // a node with the same name and op computes the same
        const Node& was = *graph.find(edge.from.node);
        const auto now = made.find(was.name);
        if (now != made.end() && builder.graph().find(now->second)->op == was.op)
            builder.connect({{now->second, edge.from.port}, edge.to});
    }
}

Delta remakeBackward(const Graph& graph, const DeviceMap& devices, const TensorFiles* files, double share) {
    DeltaBuilder builder(graph, "Rebuild the backward pass");
    addBackwardAgain(builder, devices, files, share);
    return builder.take();
}

void averageOverRanks(Graph& graph, const DeviceMap& devices, const TensorFiles* files) {
    const int ranks = devices.world().size();
    if (ranks > 1 && !dividesNodes(graph) && trainingOf(graph))
        graph.apply(remakeBackward(graph, devices, files, 1.0 / ranks));
}

std::optional<PortRef> lossScaleOf(const Graph& graph, const Training& training) {
    for (const NodeId id : training.nodes)
        if (graph.find(id)->op == "ScaleUpdate") return graph.sourceOf({id, 0});
    return std::nullopt;
}

Delta removeTraining(const Graph& graph) {
    DeltaBuilder builder(graph, "Remove training");
    if (const std::optional<Training> training = trainingOf(graph)) {
        // Readers of gradients, such as Probes, would have no input.
        std::vector<NodeId> removed = training->nodes;
        std::set<NodeId> seen(removed.begin(), removed.end());
        for (std::size_t i = 0; i < removed.size(); ++i)
            for (const Edge& edge : graph.outgoing(removed[i]))
                if (seen.insert(edge.to.node).second) removed.push_back(edge.to.node);
        for (const NodeId id : removed) builder.removeNode(id);
        builder.removeFrame(training->backward);
        builder.removeFrame(training->frame);
    }
    return builder.take();
}

Graph inferenceGraph(const Graph& graph, const TensorFiles* files) {
    Graph out = graph;
    out.apply(removeTraining(graph));
    DeltaBuilder builder(out, {});
    if (trainingOf(graph)) setInference(builder);
    UniqueNames names(out);
    for (const Node& node : out.nodes()) {
        if (node.op != "Batches" || !files) continue;
        const Attributes attributes = completeAttributes(*findOp(node.op), node.attributes);
        std::map<std::int32_t, NodeId> inputs; // by output of the Batches
        for (const Edge& edge : out.outgoing(node.id)) {
            const char* path = edge.from.port == 0 ? "path" : "labels";
            if (!attributes.has(path)) continue;
            const auto [known, isNew] = inputs.try_emplace(edge.from.port);
            if (isNew) {
                const TensorType type = files->typeOf(attributes.text(path));
                std::vector<std::int64_t> sizes = type.shape.dims();
                sizes.at(0) = attributes.integer("batch_size");
                Node input = node;
                input.op = "Input";
                input.name = edge.from.port == 0 ? node.name : names.take(node.name + " labels");
                input.attributes = {{"shape", std::move(sizes)}, {"dtype", std::string(name(type.dtype))}};
                known->second = builder.addNode(std::move(input));
            }
            builder.connect({{known->second, 0}, edge.to});
        }
        builder.removeNode(node.id);
    }
    out.apply(builder.take());
    return out;
}

} // namespace twb
