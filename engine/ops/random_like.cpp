#include "backends/cpu/parallel.h"
#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/philox.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace twb {
namespace {

/// The cost of ten Philox rounds, in plain operations.
constexpr std::int64_t kWorkPerElement = 20;

/// The attribute "dtype", or else the input's dtype.
void inferLike(InferContext& ctx) {
    const TensorType& input = *ctx.input(0);
    const DType dtype = ctx.attributes().has("dtype") ? dtypeOf(ctx.attributes(), "dtype") : input.dtype;
    if (!ctx.op().outputs[0].types.contains(dtype))
        ctx.fail(
            "attribute", -1,
            fmt::format("{} creates floating-point numbers, but its input is {}: set the attribute \"dtype\"",
                        ctx.op().name, name(dtype)));
    ctx.output(0, {dtype, input.shape});
}

template <class T, class Value> void fillRandom(const KernelContext& ctx, const Value& value) {
    const auto seed = static_cast<std::uint64_t>(ctx.attributes.integer("seed"));
    T* const out = ctx.outputs[0].as<T>();
    const std::int64_t total = ctx.outputs[0].elementCount();
    parallelRanges(total, kWorkPerElement * total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            out[i] = value(i, randomWords(seed, static_cast<std::uint64_t>(i)));
    });
}

void normalLikeKernel(const KernelContext& ctx) {
    const double mean = ctx.attributes.number("mean");
    const double scale = ctx.attributes.number("scale");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [=](std::int64_t, PhiloxWords words) {
            return static_cast<T>(mean + scale * standardNormal(words));
        });
    });
}

void uniformLikeKernel(const KernelContext& ctx) {
    const double low = ctx.attributes.number("low");
    const double high = ctx.attributes.number("high");
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [=](std::int64_t, PhiloxWords words) {
            return static_cast<T>(low + static_cast<double>(uniform01<T>(words)) * (high - low));
        });
    });
}

void bernoulliKernel(const KernelContext& ctx) {
    Tensor keep;
    const auto* const p = denseAs(DType::f64, ctx.inputs[0], keep).as<const double>();
    withAny(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [p](std::int64_t i, PhiloxWords words) {
            return element::cast<T>(uniform01<double>(words) < p[i] ? 1 : 0);
        });
    });
}

void inferMultinomial(InferContext& ctx) {
    const Shape& input = ctx.input(0)->shape;
    if (input.rank() != 2)
        ctx.fail(
            "shape-mismatch", 0,
            fmt::format("prob_dist must be (batch, classes), but has the shape {}", input.toTorchString()));
    if (input[1] == 0)
        ctx.fail("shape-mismatch", 0, "prob_dist has no classes to sample from; it needs at least one");
    ctx.output(
        0, {dtypeOf(ctx.attributes(), "dtype"), Shape{input[0], ctx.attributes().integer("sample_size")}});
}

/// Samples from the running sums of e ^ (x − max x): takes the first class whose sum exceeds u · total.
void multinomialKernel(const KernelContext& ctx) {
    Tensor keep;
    const TensorView in = denseAs(DType::f64, ctx.inputs[0], keep);
    const std::int64_t rows = in.shape[0];
    const std::int64_t classes = in.shape[1];
    const std::int64_t samples = ctx.outputs[0].shape[1];
    if (rows * classes == 0) return;
    std::vector<double> sums(static_cast<std::size_t>(rows * classes));
    for (std::int64_t row = 0; row < rows; ++row) {
        const double* const x = in.as<const double>() + row * classes;
        const double most = *std::max_element(x, x + classes);
        double sum = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
            sum += x[c] == most ? 1 : std::exp(x[c] - most);
            sums[static_cast<std::size_t>(row * classes + c)] = sum;
        }
        if (!std::isfinite(sum))
            throw Error(ErrorCode::invalidArgument,
                        "probability tensor contains either `inf`, `nan` or element < 0");
    }
    const auto draw = [&](auto zero) {
        using T = decltype(zero);
        fillRandom<T>(ctx, [&](std::int64_t i, PhiloxWords words) {
            const double* const first = sums.data() + i / samples * classes;
            const double wanted = uniform01<double>(words) * first[classes - 1];
            const auto at = std::upper_bound(first, first + classes, wanted) - first;
            return static_cast<T>(std::min<std::int64_t>(at, classes - 1));
        });
    };
    if (ctx.outputs[0].dtype == DType::i32)
        draw(std::int32_t{});
    else
        draw(std::int64_t{});
}

Op makeLike(std::string name, std::string doc, std::string formula, DTypeSet inputs, DTypeSet outputs,
            HostKernel kernel) {
    Op op = makeOp(std::move(name), "Random", 22, std::move(doc), std::move(formula));
    op.inputs = {port("input", "self", inputs)};
    op.outputs = {port("output", "", outputs)};
    op.attributes = {dtypeAttribute("dtype", "", outputs, "Type of the elements; absent: the input's"),
                     integerAttribute("seed", 0, "The same seed gives the same numbers on every device")};
    op.tolerance = {1.2e-7, 1e-30};
    op.infer = inferLike;
    op.cost = [](std::span<const TensorType>, std::span<const TensorType> types, const Attributes&) {
        return streamingCost({}, types, 100);
    };
    op.kernel = kernel;
    op.noGradient = "draws random numbers";
    return op;
}

} // namespace

void addRandomLike(std::vector<Op>& table) {
    Op normal =
        makeLike("RandomNormalLike", "Normally distributed numbers in the shape of a tensor",
                 "Y = mean + scale · √(−2 ln u₁) · cos(2π u₂)", kAll, kFloats, viaFloat<normalLikeKernel>);
    AttributeSpec scale = numberAttribute("scale", 1, "Standard deviation");
    scale.minimum = 0;
    normal.readsTypesOnly = true;
    normal.attributes.push_back(numberAttribute("mean", 0, "Mean"));
    normal.attributes.push_back(std::move(scale));
    table.push_back(std::move(normal));

    Op uniform = makeLike("RandomUniformLike", "Uniformly distributed numbers in the shape of a tensor",
                          "Y = low + u · (high − low)", kAll, kFloats, viaFloat<uniformLikeKernel>);
    uniform.readsTypesOnly = true;
    uniform.attributes.push_back(numberAttribute("low", 0, "Least value"));
    uniform.attributes.push_back(numberAttribute("high", 1, "Upper bound; reached only by rounding"));
    table.push_back(std::move(uniform));

    Op bernoulli = makeLike("Bernoulli", "1 with the input's probability, else 0", "Y = (u < X) ? 1 : 0",
                            kFloats, kAll, bernoulliKernel);
    bernoulli.cost = nullptr;
    bernoulli.tolerance = {};
    table.push_back(std::move(bernoulli));

    Op multinomial = makeLike("Multinomial", "Draws classes from unnormalised log-probabilities",
                              "P(Y = i) = softmax(X)ᵢ", kFloats, kIndices, multinomialKernel);
    AttributeSpec size = integerAttribute("sample_size", 1, "Number of draws per row");
    size.minimum = 0;
    multinomial.attributes[0] = dtypeAttribute("dtype", "i32", kIndices, "Dtype of the class indices");
    multinomial.attributes.push_back(std::move(size));
    multinomial.infer = inferMultinomial;
    multinomial.cost = nullptr;
    multinomial.tolerance = {};
    table.push_back(std::move(multinomial));

    describe(table, "RandomNormalLike", "output has the shape of input");
    describe(table, "RandomUniformLike", "output has the shape of input");
    describe(table, "Bernoulli", "output has the shape of input", {operand({4}, {0, 0.25, 0.75, 1})});
    describe(table, "Multinomial", "input [n, classes] → output [n, sample_size]", {operand({2, 4})},
             {{"sample_size", std::int64_t{5}}});
}

} // namespace twb
