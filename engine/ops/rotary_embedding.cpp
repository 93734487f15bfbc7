#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "ops/attention_heads.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace twb {
namespace {

struct Rotation {
    std::int64_t batch, heads, length, size, rotated;
    bool flat;
};

Rotation rotationOf(const Attributes& attributes, const Shape& x) {
    const Heads heads = headsOf(x, attributes, "num_heads", 0);
    const std::int64_t given = attributes.integer("rotary_embedding_dim");
    return {x[0], heads.count, heads.length, heads.size, given == 0 ? heads.size : given, x.rank() == 3};
}

void inferRotary(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() != 3 && x.shape.rank() != 4)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("the input must have three or four axes, but has size {}", x.shape.toTorchString()));
    const Rotation r = rotationOf(ctx.attributes(), x.shape);
    if (r.rotated != kUnknownDim && (r.rotated % 2 != 0 || (r.size != kUnknownDim && r.rotated > r.size)))
        ctx.fail("attribute", -1,
                 fmt::format("the number of rotated elements per head must be even and at most the head "
                             "size, {1}, but is {0}",
                             r.rotated, r.size));
    const std::int64_t half = r.rotated == kUnknownDim ? kUnknownDim : r.rotated / 2;
    const TensorType* positions = ctx.input(3);
    if (positions && (positions->shape.rank() != 2 || !meets(positions->shape[0], r.batch) ||
                      !meets(positions->shape[1], r.length)))
        ctx.fail("shape-mismatch", 3,
                 fmt::format("position_ids must have size {}, but has {}",
                             Shape{r.batch, r.length}.toTorchString(), positions->shape.toTorchString()));
    for (int port : {1, 2}) {
        const Shape& cache = ctx.input(port)->shape;
        const bool fits = positions ? cache.rank() == 2 && meets(cache[1], half)
                                    : cache.rank() == 3 && meets(cache[0], r.batch) &&
                                          meets(cache[1], r.length) && meets(cache[2], half);
        if (!fits)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must have size {}, but has {}", ctx.op().inputAt(port).name,
                                 positions ? fmt::format("[positions, {}]", half)
                                           : Shape{r.batch, r.length, half}.toTorchString(),
                                 cache.toTorchString()));
        if (!meets(cache[0], ctx.input(1)->shape[0]))
            ctx.fail("shape-mismatch", port, "cos_cache and sin_cache must have the same size");
    }
    ctx.output(0, x);
}

template <class T> void rotate(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const DenseInput cosines(ctx.inputs[1]);
    const DenseInput sines(ctx.inputs[2]);
    const DenseInput positions = denseInput(ctx.inputs, 3);
    const Rotation r = rotationOf(ctx.attributes, x.shape());
    const std::int64_t half = r.rotated / 2;
    const bool interleaved = ctx.attributes.flag("interleaved");
    std::vector<std::int64_t> rows(static_cast<std::size_t>(r.batch * r.length));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = positions ? positions.as<std::int64_t>()[i] : static_cast<std::int64_t>(i);
        if (rows[i] < 0 || rows[i] >= (positions ? cosines.shape()[0] : r.batch * r.length))
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("position_ids has the position {}, but the caches hold {} positions",
                                    rows[i], cosines.shape()[0]));
    }
    T* const y = ctx.outputs[0].as<T>();
    const std::int64_t heads = r.batch * r.heads * r.length;
    parallelRanges(heads, heads * r.size * 4, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            // The order of head and step differs between three and four axes; the elements of a head are
            // contiguous.
            const std::int64_t b = i / (r.heads * r.length);
            const std::int64_t step = r.flat ? i / r.heads % r.length : i % r.length;
            const std::int64_t row = rows[static_cast<std::size_t>(b * r.length + step)];
            const T* const from = x.as<T>() + i * r.size;
            T* const to = y + i * r.size;
            for (std::int64_t p = 0; p < half; ++p) {
                const std::int64_t first = interleaved ? 2 * p : p;
                const std::int64_t second = interleaved ? 2 * p + 1 : half + p;
                const T c = cosines.as<T>()[row * half + p];
                const T s = sines.as<T>()[row * half + p];
                const T a = from[first];
                const T z = from[second];
                to[first] = c * a - s * z;
                to[second] = s * a + c * z;
            }
            std::copy(from + r.rotated, from + r.size, to + r.rotated);
        }
    });
}

void rotaryKernel(const KernelContext& ctx) {
    if (ctx.outputs[0].elementCount() == 0) return;
    withFloat(ctx.outputs[0].dtype, [&](auto zero) { rotate<decltype(zero)>(ctx); });
}

/// A rotation by the opposite angle.
void rotaryGradient(GradientContext& g) {
    if (g.isWanted(1) || g.isWanted(2))
        g.refuse("its caches of cosines and sines have no gradient in this version");
    const GraphTensor inputs[] = {g.gradient(), g.input(1), -g.input(2), g.input(3)};
    const std::size_t count = g.input(3) ? 4 : 3;
    g.give(0, g.add("RotaryEmbedding", std::span(inputs, count), g.attributes()));
}

} // namespace

void addRotaryEmbedding(std::vector<Op>& table) {
    Op rotary = makeOp("RotaryEmbedding", "Attention", 23,
                       "Rotates pairs of a head's elements by an angle that depends on their position",
                       "Y = (cos · a − sin · b, sin · a + cos · b)");
    rotary.inputs = {port("X", "input", kFloats, "T"), port("cos_cache", "", kFloats, "T"),
                     port("sin_cache", "", kFloats, "T"),
                     optionalPort("position_ids", "", DTypeSet{DType::i64})};
    rotary.outputs = {port("Y", "", kFloats, "T")};
    rotary.attributes = {
        flagAttribute("interleaved", false,
                      "Rotate neighbouring elements; otherwise rotate elements of the two halves of a head"),
        countAttribute("num_heads", "Number of heads if X has three axes"),
        countAttribute("rotary_embedding_dim", "Number of rotated elements per head; 0: all")};
    rotary.tolerance = {1e-6, 1e-6};
    rotary.infer = inferRotary;
    rotary.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                     const Attributes&) { return streamingCost(inputs, outputs, 3); };
    rotary.kernel = viaFloat<rotaryKernel>;
    rotary.gradient = rotaryGradient;
    table.push_back(std::move(rotary));

    describe(table, "RotaryEmbedding",
             "X [n, heads, t, d] · cos_cache and sin_cache [n, t, d / 2], or [positions, d / 2] with "
             "position_ids [n, t] → Y has the shape of X",
             {operand({1, 2, 3, 4}), operand({1, 3, 2}), operand({1, 3, 2})});
}

} // namespace twb
