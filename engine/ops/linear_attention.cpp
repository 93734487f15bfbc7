#include "ops/linear_attention.h"

#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/attention_heads.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace twb {
namespace {

using Sizes = LinearAttentionSizes;

void inferLinearAttention(InferContext& ctx) {
    for (const int port : {0, 1, 2, 4, 5})
        if (ctx.input(port) && ctx.input(port)->shape.rank() != 3)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have three axes, but has size {}", ctx.op().inputAt(port).name,
                                 ctx.input(port)->shape.toTorchString()));
    const Shape& query = ctx.input(0)->shape;
    const Sizes s = linearAttentionSizes(ctx.attributes(), query, ctx.input(2)->shape);
    const auto times = [](std::int64_t a, std::int64_t b) {
        return a == kUnknownDim || b == kUnknownDim ? kUnknownDim : a * b;
    };
    const auto require = [&](int port, std::int64_t last, std::int64_t otherLast) {
        const Shape& shape = ctx.input(port)->shape;
        if (!meets(shape[0], s.batch) || !meets(shape[1], s.steps) ||
            (!meets(shape[2], last) && !meets(shape[2], otherLast)))
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have size {}{}, but has {}", ctx.op().inputAt(port).name,
                                 Shape{s.batch, s.steps, last}.toTorchString(),
                                 last == otherLast ? "" : fmt::format(" or end with {}", otherLast),
                                 shape.toTorchString()));
    };
    require(1, times(s.keyHeads, s.keySize), times(s.keyHeads, s.keySize));
    require(2, times(s.keyHeads, s.valueSize), times(s.keyHeads, s.valueSize));
    const LinearAttentionRule rule = linearAttentionRule(ctx.attributes());
    const auto agree = [&](int port, bool isNeeded) {
        if (!ctx.input(port) == !isNeeded) return;
        ctx.fail(isNeeded ? "missing-input" : "attribute", isNeeded ? port : -1,
                 fmt::format("the update rule \"{}\" {} the input {}", ctx.attributes().text("update_rule"),
                             isNeeded ? "needs" : "does not use", ctx.op().inputAt(port).name));
    };
    agree(4, rule.decays);
    agree(5, rule.corrects);
    if (rule.decays) require(4, s.keyHeads, times(s.keyHeads, s.keySize));
    if (rule.corrects) require(5, s.keyHeads, 1);
    const Shape state{s.batch, s.keyHeads, s.keySize, s.valueSize};
    DType ofState = ctx.input(0)->dtype;
    if (const TensorType* past = ctx.input(3)) {
        ofState = past->dtype;
        bool fits = past->shape.rank() == 4;
        for (int i = 0; fits && i < 4; ++i) fits = meets(past->shape[i], state[i]);
        if (!fits)
            ctx.fail("shape-mismatch", 3,
                     fmt::format("past_state must have size {}, but has {}", state.toTorchString(),
                                 past->shape.toTorchString()));
    }
    const DType dtype = ctx.input(0)->dtype;
    std::int64_t hidden = kUnknownDim;
    if (s.valueSize != kUnknownDim && __builtin_mul_overflow(s.valueSize, s.queryHeads, &hidden))
        ctx.fail("too-large", 2, "the result has more elements than 64 bits can count");
    ctx.output(0, {dtype, Shape{s.batch, s.steps, hidden}});
    ctx.output(1, {ofState, state});
}

Cost linearAttentionCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                         const Attributes& attributes) {
    Cost cost = streamingCost(inputs, outputs, 0);
    const Sizes s = linearAttentionSizes(attributes, inputs[0].shape, inputs[2].shape);
    const LinearAttentionRule rule = linearAttentionRule(attributes);
    // Per element of a state and step: its change, its decay, the value that it holds, and its reading.
    const double each =
        2 + (rule.decays ? 1 : 0) + (rule.corrects ? 2 : 0) + 2 * static_cast<double>(s.group());
    cost.flops = each * countOf({s.batch, s.steps, s.keyHeads, s.keySize, s.valueSize});
    return cost;
}

template <class T> void attendLinearly(const KernelContext& ctx) {
    const DenseInput query(ctx.inputs[0]);
    const DenseInput key(ctx.inputs[1]);
    const DenseInput value(ctx.inputs[2]);
    const DenseInput decay = denseInput(ctx.inputs, 4);
    const DenseInput beta = denseInput(ctx.inputs, 5);
    const Sizes s = linearAttentionSizes(ctx.attributes, query.shape(), value.shape());
    const LinearAttentionRule rule = linearAttentionRule(ctx.attributes);
    const T scale = static_cast<T>(linearAttentionScale(ctx.attributes, s.keySize));
    const std::int64_t decays = decay ? decay.shape()[2] / s.keyHeads : 0; // per head and step
    const std::int64_t betas = beta ? beta.shape()[2] : 0;                 // per step
    constexpr DType dtype = DTypeOf<T>::value;
    Tensor room;
    const bool hasPast = ctx.inputs.size() > 3 && ctx.inputs[3].data;
    const T* const past = hasPast ? denseAs(dtype, ctx.inputs[3], room).template as<const T>() : nullptr;
    const TensorView present = ctx.outputs.size() > 1 ? ctx.outputs[1] : TensorView{};
    Tensor kept;
    if (present.data && present.dtype != dtype) kept = Tensor::onHost({dtype, present.shape});
    T* const last = kept ? static_cast<T*>(kept.data()) : present.as<T>();
    T* const y = ctx.outputs[0].as<T>();
    const std::int64_t size = s.keySize * s.valueSize;
    const std::int64_t heads = s.batch * s.keyHeads;
    parallelRanges(
        heads, heads * s.steps * size * (4 + s.group()), 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> state(static_cast<std::size_t>(size)); // keySize × valueSize
            std::vector<T> change(static_cast<std::size_t>(s.valueSize));
            for (std::int64_t head = begin; head < end; ++head) {
                const std::int64_t b = head / s.keyHeads;
                const std::int64_t h = head % s.keyHeads;
                if (past)
                    std::copy_n(past + head * size, size, state.data());
                else
                    std::fill(state.begin(), state.end(), T{0});
                for (std::int64_t t = 0; t < s.steps; ++t) {
                    const std::int64_t step = b * s.steps + t;
                    const T* const k = key.as<T>() + (step * s.keyHeads + h) * s.keySize;
                    const T* const v = value.as<T>() + (step * s.keyHeads + h) * s.valueSize;
                    const auto row = [&](std::int64_t d) { return state.data() + d * s.valueSize; };
                    for (std::int64_t d = 0; rule.decays && d < s.keySize; ++d) {
                        const T factor =
                            std::exp(decay.as<T>()[(step * s.keyHeads + h) * decays + (decays == 1 ? 0 : d)]);
                        T* const own = row(d);
                        for (std::int64_t m = 0; m < s.valueSize; ++m) own[m] *= factor;
                    }
                    std::copy_n(v, s.valueSize, change.data());
                    for (std::int64_t d = 0; rule.corrects && d < s.keySize; ++d)
                        for (std::int64_t m = 0; m < s.valueSize; ++m)
                            change[static_cast<std::size_t>(m)] -= row(d)[m] * k[d];
                    if (rule.corrects) {
                        const T share = beta.as<T>()[step * betas + (betas == 1 ? 0 : h)];
                        for (T& each : change) each *= share;
                    }
                    for (std::int64_t d = 0; d < s.keySize; ++d) {
                        T* const own = row(d);
                        for (std::int64_t m = 0; m < s.valueSize; ++m)
                            own[m] += k[d] * change[static_cast<std::size_t>(m)];
                    }
                    for (std::int64_t g = 0; y && g < s.group(); ++g) {
                        const std::int64_t reader = step * s.queryHeads + h * s.group() + g;
                        const T* const q = query.as<T>() + reader * s.keySize;
                        T* const to = y + reader * s.valueSize;
                        std::fill_n(to, s.valueSize, T{0});
                        for (std::int64_t d = 0; d < s.keySize; ++d) {
                            const T factor = scale * q[d];
                            for (std::int64_t m = 0; m < s.valueSize; ++m) to[m] += factor * row(d)[m];
                        }
                    }
                }
                if (last) std::copy_n(state.data(), size, last + head * size);
            }
        });
    if (kept) convertElements(kept.view(), present);
}

void linearAttentionKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { attendLinearly<decltype(zero)>(ctx); });
}

/// Unrolled, step by step. 16-bit floats are computed in f32, as in the kernel.
std::vector<GraphTensor> linearAttentionOf(GradientContext& g) {
    const Sizes s = linearAttentionSizes(g.attributes(), g.input(0).shape(), g.input(2).shape());
    const LinearAttentionRule rule = linearAttentionRule(g.attributes());
    const DType own = g.input(0).type().dtype;
    const DType dtype = isHalfWidth(own) ? DType::f32 : own;
    const DType ofState = g.input(3) ? g.input(3).type().dtype : own;
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(s.steps), 1);
    // The parts of an input for each step.
    const auto steps = [&](int port, const Shape& each) {
        std::vector<GraphTensor> parts = split(cast(g.input(port), dtype), 1, ones);
        for (GraphTensor& part : parts) part = reshape(part, each);
        return parts;
    };
    const Shape whole{s.batch, s.keyHeads, s.keySize, s.valueSize};
    GraphTensor state = g.input(3) ? cast(g.input(3), dtype) : full(g, {dtype, whole}, 0);
    if (s.steps == 0) return {g.input(0), cast(state, ofState)};
    const auto queries = steps(0, {s.batch, s.keyHeads, s.group(), s.keySize});
    const auto keys = steps(1, {s.batch, s.keyHeads, s.keySize, 1});
    const auto values = steps(2, {s.batch, s.keyHeads, 1, s.valueSize});
    std::vector<GraphTensor> decays;
    std::vector<GraphTensor> betas;
    if (rule.decays) decays = steps(4, {s.batch, s.keyHeads, g.input(4).shape()[2] / s.keyHeads, 1});
    if (rule.corrects) betas = steps(5, {s.batch, g.input(5).shape()[2], 1, 1});
    std::vector<GraphTensor> results;
    for (std::size_t t = 0; t < keys.size(); ++t) {
        if (rule.decays) state = state * apply("Exp", {decays[t]});
        GraphTensor change = values[t];
        if (rule.corrects) change = betas[t] * (change - sumOver(state * keys[t], {2}));
        state = state + keys[t] * change;
        results.push_back(
            reshape(apply("MatMul", {queries[t], state}), {s.batch, 1, s.queryHeads * s.valueSize}));
    }
    const GraphTensor y = concat(g, results, 1) * linearAttentionScale(g.attributes(), s.keySize);
    return {cast(y, own), cast(state, ofState)};
}

} // namespace

LinearAttentionSizes linearAttentionSizes(const Attributes& attributes, const Shape& query,
                                          const Shape& value) {
    const Heads queries = headsOf(query, attributes, "q_num_heads", 0);
    const Heads values = headsOf(value, attributes, "kv_num_heads", 2);
    if (queries.count % values.count != 0)
        throw InferError(
            "attribute", -1,
            fmt::format("q_num_heads must be a multiple of kv_num_heads, but {} is not one of {}",
                        queries.count, values.count));
    return {query[0], query[1], queries.count, values.count, queries.size, values.size};
}

LinearAttentionRule linearAttentionRule(const Attributes& attributes) {
    const std::string& rule = attributes.text("update_rule");
    return {rule.starts_with("gated"), rule.ends_with("delta")};
}

double linearAttentionScale(const Attributes& attributes, std::int64_t keySize) {
    const double given = attributes.number("scale");
    return given == 0 ? 1 / std::sqrt(static_cast<double>(keySize)) : given;
}

void addLinearAttention(std::vector<Op>& table) {
    Op op = makeOp("LinearAttention", "Attention", 27,
                   "Attention through a state that each step changes by its key and value",
                   "S = e ^ decay · S + key ⊗ change; Y = scale · query · S");
    op.inputs = {
        port("query", "query", kFloats, "T"),         port("key", "key", kFloats, "T"),
        port("value", "value", kFloats, "T"),         optionalPort("past_state", "past_state", kFloats, "S"),
        optionalPort("decay", "decay", kFloats, "T"), optionalPort("beta", "beta", kFloats, "T")};
    op.outputs = {port("output", "", kFloats, "T"), port("present_state", "", kFloats, "S")};
    op.outputs[1].optional = true;
    AttributeSpec queryHeads = countAttribute("q_num_heads", "Number of heads of the query");
    AttributeSpec keyHeads = countAttribute("kv_num_heads", "Number of heads of key and value");
    for (AttributeSpec* spec : {&queryHeads, &keyHeads}) {
        spec->minimum = 1;
        spec->defaultValue = std::int64_t{1};
    }
    AttributeSpec chunk =
        countAttribute("chunk_size", "A hint that does not change the result; not used here");
    chunk.defaultValue = std::int64_t{64};
    op.attributes = {
        std::move(queryHeads), std::move(keyHeads),
        choiceAttribute("update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"},
                        "gated: the state decays; delta: the value replaces the state's entry for the key; "
                        "otherwise the value is added to the entry"),
        numberAttribute("scale", 0, "Factor of the result; 0: 1 / √(size of a key)"), std::move(chunk)};
    op.tolerance = {1e-4, 1e-5};
    op.infer = inferLinearAttention;
    op.cost = linearAttentionCost;
    op.kernel = viaFloat<linearAttentionKernel>;
    op.gradient = [](GradientContext& g) { differentiate(g, linearAttentionOf); };
    table.push_back(std::move(op));

    describe(table, "LinearAttention",
             "query [n, t, heads · d] · key [n, t, kv_heads · d] · value [n, t, kv_heads · v] → output [n, "
             "t, heads · v]",
             {operand({1, 3, 4}), operand({1, 3, 4}), operand({1, 3, 4})},
             {{"update_rule", std::string("linear")}});
}

} // namespace twb
