#include "ops/composition.h"

#include "ops/op.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace twb {
namespace {

/// Records ops without adding them to the graph, differentiates what it has recorded, and then adds the ops
/// that the result depends on.
class Recorder final : public GradientContext {
public:
    explicit Recorder(GradientContext& outside) : m_outside(outside) {}

    void differentiate(const Composition& composition);

    const Attributes& attributes() const override {
        return m_step ? m_step->attributes : m_outside.attributes();
    }
    int inputCount() const override {
        return m_step ? static_cast<int>(m_step->inputs.size()) : m_outside.inputCount();
    }
    GraphTensor input(int port) override;
    GraphTensor output(int port) override;
    int outputCount() const override { return m_step ? m_step->outputCount : m_outside.outputCount(); }
    GraphTensor gradient(int port) override;
    bool isWanted(int port) const override;
    void give(int port, GraphTensor gradient) override;
    std::optional<std::vector<std::int64_t>> integers(int port) const override;
    std::optional<std::vector<double>> numbers(int port) const override;
    GraphTensor add(std::string_view op, std::span<const GraphTensor> inputs,
                    const Attributes& attributes) override;
    const TensorType& typeOf(GraphTensor tensor) const override { return m_steps[tensor.id()].type; }
    [[noreturn]] void refuse(std::string_view why) const override {
        m_outside.refuse(why);
        __builtin_unreachable(); // GCC forgets that the call does not return
    }

private:
    /// An entry is the first output of a recorded op, one of its further outputs (`port` > 0, stored right
    /// after it), or a tensor of the graph (`outside`).
    struct Step {
        TensorType type;
        bool isWanted = false; ///< depends on an input whose gradient is wanted
        GraphTensor outside;   ///< once it is in the graph
        int port = 0;          ///< output of the op whose entry is `port` positions earlier
        const Op* op = nullptr;
        Attributes given, attributes; ///< without and with defaults
        std::vector<std::optional<std::uint32_t>> inputs;
        int outputCount = 0;
    };

    GraphTensor put(Step step) {
        m_steps.push_back(std::move(step));
        return {*this, static_cast<std::uint32_t>(m_steps.size() - 1)};
    }
    GraphTensor imported(GraphTensor tensor, bool isWanted);
    GraphTensor sumAt(std::uint32_t id);
    /// The id of the current step's input; nothing if it is unconnected.
    const std::optional<std::uint32_t>& inputOf(int port) const;
    const std::string& portName(int port) const { return m_step->op->inputAt(port).name; }
    /// Adds the steps that `results` need to the graph.
    void release(const std::vector<std::uint32_t>& results);

    GradientContext& m_outside;
    std::deque<Step> m_steps; ///< in this order, each reads only earlier ones; references stay valid
    std::map<int, std::uint32_t> m_inputs; ///< by port of the whole op
    std::vector<std::uint32_t> m_sources;
    std::map<std::uint32_t, std::vector<GraphTensor>> m_sums;
    const Step* m_step =
        nullptr;            ///< the step whose gradient is being made; null while the composition is recorded
    std::uint32_t m_at = 0; ///< its index
};

void Recorder::differentiate(const Composition& composition) {
    const std::vector<GraphTensor> outputs = composition(*this);
    const auto end = static_cast<std::uint32_t>(m_steps.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (const GraphTensor given = m_outside.gradient(static_cast<int>(i)); given && outputs[i])
            m_sums[outputs[i].id()].push_back(imported(given, false));
    for (m_at = end; m_at-- > 0;) {
        const Step& step = m_steps[m_at];
        bool isReached = false;
        for (int port = 0; port < step.outputCount; ++port)
            isReached = isReached || m_sums.contains(m_at + static_cast<std::uint32_t>(port));
        if (!step.op || !step.isWanted || !isReached) continue;
        m_step = &step;
        if (!step.op->gradient) refuse(fmt::format("the op {}", step.op->noGradient));
        step.op->gradient(*this);
    }
    std::vector<std::pair<int, std::uint32_t>> results;
    std::vector<std::uint32_t> ids;
    for (const auto& [port, id] : m_inputs)
        if (m_steps[id].isWanted && m_sums.contains(id)) results.emplace_back(port, sumAt(id).id());
    for (const auto& result : results) ids.push_back(result.second);
    release(ids);
    for (const auto& [port, id] : results) m_outside.give(port, m_steps[id].outside);
}

void Recorder::release(const std::vector<std::uint32_t>& results) {
    std::vector<bool> isNeeded(m_steps.size());
    for (const std::uint32_t id : results) isNeeded[id] = true;
    for (std::size_t i = m_steps.size(); i-- > 0;) {
        if (!isNeeded[i]) continue;
        isNeeded[i - static_cast<std::size_t>(m_steps[i].port)] = true;
        for (const auto& from : m_steps[i].inputs)
            if (from) isNeeded[*from] = true;
    }
    for (std::size_t i = 0; i < m_steps.size(); ++i) {
        const Step& step = m_steps[i];
        if (!isNeeded[i] || !step.op) continue;
        std::vector<GraphTensor> inputs;
        for (const auto& from : step.inputs) inputs.push_back(from ? m_steps[*from].outside : GraphTensor());
        const GraphTensor first = m_outside.add(step.op->name, inputs, step.given);
        for (int port = 0; port < step.outputCount; ++port)
            m_steps[i + static_cast<std::size_t>(port)].outside = outputOf(first, port);
    }
}

GraphTensor Recorder::imported(GraphTensor tensor, bool isWanted) {
    return put({tensor.type(), isWanted, tensor, 0, nullptr, {}, {}, {}, 0});
}

GraphTensor Recorder::input(int port) {
    if (m_step) {
        const auto& from = inputOf(port);
        return from ? GraphTensor(*this, *from) : GraphTensor();
    }
    if (const auto known = m_inputs.find(port); known != m_inputs.end()) return {*this, known->second};
    const GraphTensor tensor = m_outside.input(port);
    if (!tensor) return {};
    const GraphTensor in = imported(tensor, m_outside.isWanted(port));
    m_inputs[port] = in.id();
    return in;
}

GraphTensor Recorder::output(int port) {
    if (!m_step) return imported(m_outside.output(port), false);
    return {*this, m_at + static_cast<std::uint32_t>(port)};
}

GraphTensor Recorder::gradient(int port) {
    if (m_step) return sumAt(m_at + static_cast<std::uint32_t>(port));
    const GraphTensor given = m_outside.gradient(port);
    return given ? imported(given, false) : GraphTensor();
}

GraphTensor Recorder::sumAt(std::uint32_t id) {
    const auto known = m_sums.find(id);
    if (known == m_sums.end()) return {};
    std::vector<GraphTensor>& summands = known->second;
    if (summands.size() > 1) summands = {add("Sum", summands, {})};
    return summands.front();
}

const std::optional<std::uint32_t>& Recorder::inputOf(int port) const {
    static const std::optional<std::uint32_t> none;
    const auto p = static_cast<std::size_t>(port);
    return p < m_step->inputs.size() ? m_step->inputs[p] : none;
}

bool Recorder::isWanted(int port) const {
    if (!m_step) return m_outside.isWanted(port);
    const auto& from = inputOf(port);
    return from && m_steps[*from].isWanted;
}

void Recorder::give(int port, GraphTensor gradient) {
    if (!m_step) return m_outside.give(port, gradient);
    if (!isWanted(port)) return;
    const std::uint32_t from = *inputOf(port);
    m_sums[from].push_back(sumTo(gradient, m_steps[from].type.shape));
}

std::optional<std::vector<std::int64_t>> Recorder::integers(int port) const {
    if (!m_step) return m_outside.integers(port);
    const std::string& name = portName(port);
    if (!m_step->attributes.has(name)) return std::nullopt;
    return m_step->attributes.integers(name);
}

std::optional<std::vector<double>> Recorder::numbers(int port) const {
    if (!m_step) return m_outside.numbers(port);
    const std::string& name = portName(port);
    if (!m_step->attributes.has(name)) return std::nullopt;
    return m_step->attributes.numbers(name);
}

GraphTensor Recorder::add(std::string_view name, std::span<const GraphTensor> inputs,
                          const Attributes& attributes) {
    const Op& op = *findOp(name);
    Attributes complete = completeAttributes(op, attributes);
    // Equal sources are recorded once: unrolled loops repeat their constants.
    if (inputs.empty())
        for (const std::uint32_t id : m_sources)
            if (m_steps[id].op == &op && m_steps[id].attributes == complete) return {*this, id};
    std::vector<std::optional<std::uint32_t>> from;
    std::vector<const TensorType*> types;
    bool isWanted = false;
    for (const GraphTensor& input : inputs) {
        from.push_back(input ? std::optional(input.id()) : std::nullopt);
        types.push_back(input ? &typeOf(input) : nullptr);
        isWanted = isWanted || (input && m_steps[input.id()].isWanted);
    }
    const int count = op.outputCount(complete);
    std::vector<TensorType> outputs(static_cast<std::size_t>(count));
    InferContext infer(op, complete, types, {}, nullptr, outputs);
    op.infer(infer);
    const GraphTensor first = put({outputs[0],
                                   isWanted && isFloating(outputs[0].dtype),
                                   {},
                                   0,
                                   &op,
                                   attributes,
                                   std::move(complete),
                                   std::move(from),
                                   count});
    for (int port = 1; port < count; ++port) {
        const TensorType& type = outputs[static_cast<std::size_t>(port)];
        put({type, isWanted && isFloating(type.dtype), {}, port, nullptr, {}, {}, {}, 0});
    }
    if (inputs.empty()) m_sources.push_back(first.id());
    return first;
}

} // namespace

void differentiate(GradientContext& g, const Composition& composition) {
    Recorder(g).differentiate(composition);
}

GraphTensor constant(GradientContext& context, DType dtype, const Shape& shape,
                     const std::vector<double>& values) {
    Attributes attributes{{"shape", shape.dims()}, {"dtype", std::string(name(dtype))}};
    attributes.set("value", isFloating(dtype)
                                ? AttributeValue(values)
                                : AttributeValue(std::vector<std::int64_t>(values.begin(), values.end())));
    return context.add("Constant", {}, attributes);
}

GraphTensor progression(GradientContext& context, DType dtype, std::int64_t count, double start, double delta,
                        int behind) {
    const GraphTensor whole =
        cast(context.add(
                 "Arange", {},
                 {{"start", 0.0}, {"limit", static_cast<double>(count)}, {"delta", 1.0}, {"dtype", "i64"}}),
             dtype);
    GraphTensor line = delta == 1 ? whole : whole * delta;
    if (start != 0) line = line + start;
    Shape shape(std::vector<std::int64_t>(static_cast<std::size_t>(behind) + 1, 1));
    shape[0] = count;
    return reshape(line, shape);
}

std::vector<GraphTensor> split(GraphTensor tensor, std::int64_t axis,
                               const std::vector<std::int64_t>& sizes) {
    const auto count = static_cast<std::int64_t>(sizes.size());
    const GraphTensor first =
        apply("Split", {tensor}, {{"axis", axis}, {"num_outputs", count}, {"split", sizes}});
    std::vector<GraphTensor> out;
    for (int port = 0; port < static_cast<int>(count); ++port) out.push_back(outputOf(first, port));
    return out;
}

GraphTensor concat(GradientContext& context, const std::vector<GraphTensor>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts.front() : context.add("Concat", parts, {{"axis", axis}});
}

GraphTensor gather(GraphTensor data, GraphTensor indices, std::int64_t axis) {
    return apply("Gather", {data, indices}, {{"axis", axis}});
}

GraphTensor floor(GraphTensor x) { return apply("Floor", {x}); }

GraphTensor within(GraphTensor x, double low, double high) {
    return apply("Clip", {x}, {{"min", low}, {"max", high}});
}

DType forPositions(DType dtype) { return dtype == DType::f64 ? dtype : DType::f32; }

} // namespace twb
