#include "backends/cpu/dense_input.h"
#include "backends/cpu/lane_sum.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/vector_math.h"
#include "ops/cast.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace twb {
namespace {

// LayerNormalization and RMSNormalization. A row is all elements behind one index of the axes before `axis`.

/// Fails unless input `port` broadcasts to the shape of input X.
void requireBroadcast(const InferContext& ctx, int port) {
    if (!ctx.input(port)) return;
    const Shape& x = ctx.input(0)->shape;
    const Shape& own = ctx.input(port)->shape;
    const auto both = broadcast(x, own);
    bool fits = both && both->rank() == x.rank();
    for (int axis = 0; fits && axis < x.rank(); ++axis)
        fits = (*both)[axis] == x[axis] || x[axis] == kUnknownDim || (*both)[axis] == kUnknownDim;
    if (!fits)
        ctx.fail("shape-mismatch", port,
                 fmt::format("{} of shape {} does not broadcast to the input's shape {}",
                             ctx.op().inputAt(port).argument, own.toTorchString(), x.toTorchString()));
}

int rowAxis(const InferContext& ctx) {
    return axisOrFail(ctx, ctx.attributes().integer("axis"), ctx.input(0)->shape.rank(), -1);
}

void inferLayerNormalization(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const int axis = rowAxis(ctx);
    for (int port : {1, 2}) requireBroadcast(ctx, port);
    ctx.output(0, x);
    Shape moments = x.shape;
    for (int i = axis; i < moments.rank(); ++i) moments[i] = 1;
    const DType stash = ctx.attributes().integer("stash_type") == 16 ? DType::bf16 : DType::f32;
    ctx.output(1, {stash, moments});
    ctx.output(2, {stash, moments});
}

void inferRmsNormalization(InferContext& ctx) {
    rowAxis(ctx);
    requireBroadcast(ctx, 1);
    ctx.output(0, {ctx.input(1)->dtype, ctx.input(0)->shape});
}

/// The rows of the input and of a factor that broadcasts to it.
class Rows {
public:
    Rows(const Shape& shape, int axis) : m_shape(shape) {
        for (int i = 0; i < shape.rank(); ++i) (i < axis ? count : length) *= shape[i];
        for (int i = axis; i < shape.rank(); ++i) m_row.push_back(shape[i]);
    }

    std::int64_t count = 1;
    std::int64_t length = 1;

    /// A factor in the given dtype: expanded to one row if all rows have the same, otherwise to all rows.
    class Factor {
    public:
        template <class T> const T* of(std::int64_t row) const noexcept {
            return static_cast<const T*>(m_values.data()) + row * m_step;
        }
        explicit operator bool() const noexcept { return static_cast<bool>(m_values); }
        bool isSameInAll() const noexcept { return m_step == 0; }

    private:
        friend class Rows;
        Tensor m_values;
        std::int64_t m_step = 0;
    };

    Factor spread(const TensorView& factor, DType as) const {
        Factor out;
        if (!factor.data) return out;
        bool sameInAll = true;
        const int lead = factor.shape.rank() - static_cast<int>(m_row.size());
        for (int i = 0; i < lead; ++i) sameInAll = sameInAll && factor.shape[i] == 1;
        TensorView view = factor;
        if (sameInAll && lead > 0) {
            view.shape = Shape(std::vector<std::int64_t>(factor.shape.begin() + lead, factor.shape.end()));
            view.strides.erase(view.strides.begin(), view.strides.begin() + lead);
        }
        const Shape target = sameInAll ? Shape(m_row) : m_shape;
        TensorView wide{view.data, view.dtype, target, Strides(static_cast<std::size_t>(target.rank()), 0)};
        for (int i = 0; i < view.shape.rank(); ++i) {
            const auto at = static_cast<std::size_t>(target.rank() - view.shape.rank() + i);
            if (view.shape[i] != 1) wide.strides[at] = view.strides[static_cast<std::size_t>(i)];
        }
        out.m_values = Tensor::onHost({as, target});
        convertElements(wide, out.m_values.view());
        out.m_step = sameInAll ? 0 : length;
        return out;
    }

    template <class One> void each(const One& one) const {
        if (count * length == 0) return;
        parallelRanges(count, count * length * 4, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) one(row);
        });
    }

private:
    const Shape& m_shape;
    std::vector<std::int64_t> m_row;
};

int rowAxis(const KernelContext& ctx) {
    return *normalizeAxis(ctx.attributes.integer("axis"), std::max(ctx.inputs[0].shape.rank(), 1));
}

void layerNormalizationLoops(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const Rows rows(x.shape(), rowAxis(ctx));
    const auto factorAt = [&](std::size_t port) {
        return rows.spread(port < ctx.inputs.size() ? ctx.inputs[port] : TensorView{}, ctx.outputs[0].dtype);
    };
    const Rows::Factor scale = factorAt(1);
    const Rows::Factor bias = factorAt(2);
    const double epsilon = ctx.attributes.number("epsilon");
    const auto moments = [&](std::size_t i) {
        return ctx.outputs.size() > i ? ctx.outputs[i].as<float>() : nullptr;
    };
    float* const means = moments(1);
    float* const inverses = moments(2);
    withFloat(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        rows.each([&](std::int64_t row) {
            const T* const from = x.as<T>() + row * rows.length;
            T* const to = ctx.outputs[0].as<T>() + row * rows.length;
            const auto n = static_cast<double>(rows.length);
            const double mean = laneSum(from, rows.length, [](double v) { return v; }) / n;
            const double variance =
                laneSum(from, rows.length, [mean](double v) { return (v - mean) * (v - mean); }) / n;
            const double inverse = 1 / std::sqrt(variance + epsilon);
            if (means) means[row] = static_cast<float>(mean);
            if (inverses) inverses[row] = static_cast<float>(inverse);
            const T m = static_cast<T>(mean);
            const T f = static_cast<T>(inverse);
            for (std::int64_t i = 0; i < rows.length; ++i) to[i] = (from[i] - m) * f;
            if (scale) {
                const T* const factor = scale.of<T>(row);
                for (std::int64_t i = 0; i < rows.length; ++i) to[i] *= factor[i];
            }
            if (bias) {
                const T* const added = bias.of<T>(row);
                for (std::int64_t i = 0; i < rows.length; ++i) to[i] += added[i];
            }
        });
    });
}

/// f32 and bf16, if the moments have no consumer and all rows share their factors.
bool normalizedNatively(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    for (std::size_t i = 1; i < ctx.outputs.size(); ++i)
        if (ctx.outputs[i].data) return false;
    const DenseInput x(ctx.inputs[0]);
    const Rows rows(x.shape(), rowAxis(ctx));
    const auto factor = [&](std::size_t port) {
        return rows.spread(port < ctx.inputs.size() ? ctx.inputs[port] : TensorView{}, DType::f32);
    };
    const Rows::Factor scale = factor(1);
    const Rows::Factor bias = factor(2);
    if (!scale.isSameInAll() || !bias.isSameInAll()) return false;
    return onednn::normalizeRows(y.dtype, rows.count, rows.length, x.view().data,
                                 scale ? scale.of<float>(0) : nullptr, bias ? bias.of<float>(0) : nullptr,
                                 ctx.attributes.number("epsilon"), y.data);
}

void layerNormalizationKernel(const KernelContext& ctx) {
    const DType dtype = ctx.outputs[0].dtype;
    if ((dtype == DType::f32 || dtype == DType::bf16) && ctx.outputs[0].elementCount() > 0 &&
        normalizedNatively(ctx))
        return;
    viaFloat<layerNormalizationLoops>(ctx);
}

template <class T, class V> void rmsRows(const KernelContext& ctx) {
    const DenseInput x(ctx.inputs[0]);
    const Rows rows(x.shape(), rowAxis(ctx));
    const Rows::Factor scale = rows.spread(ctx.inputs[1], ctx.inputs[1].dtype);
    const double epsilon = ctx.attributes.number("epsilon");
    rows.each([&](std::int64_t row) {
        const T* const from = x.as<T>() + row * rows.length;
        V* const to = ctx.outputs[0].as<V>() + row * rows.length;
        const V* const factor = scale.of<V>(row);
        double squares = 0;
        reduction::addRow(SumRule<T, Square>{}, squares, from, 1, rows.length, 0);
        const double mean = squares / static_cast<double>(rows.length);
        const T f = static_cast<T>(1 / std::sqrt(mean + epsilon));
        if constexpr (std::is_same_v<T, float> && std::is_same_v<V, float>)
            vectorScaleEach(from, f, factor, to, rows.length);
        else
            for (std::int64_t i = 0; i < rows.length; ++i) to[i] = static_cast<V>(from[i] * f) * factor[i];
    });
}

void rmsNormalizationKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto x) {
        withFloat(ctx.outputs[0].dtype, [&](auto y) { rmsRows<decltype(x), decltype(y)>(ctx); });
    });
}

AttributeSpec stashAttribute() {
    AttributeSpec spec = integerAttribute(
        "stash_type", 1,
        "ONNX's code of the dtype of mean and deviation: 1: f32; 16: bf16; sums are kept in f64");
    spec.minimum = 1;
    return spec;
}

Op makeRows(std::string name, int opset, std::string doc, std::string formula) {
    Op op = makeOp(std::move(name), "Normalization", opset, std::move(doc), std::move(formula));
    op.attributes = {integerAttribute("axis", -1, "The first of the axes that are normalised together"),
                     numberAttribute("epsilon", 1e-5, "Added to the variance to avoid a division by 0"),
                     stashAttribute()};
    op.tolerance = {1e-5, 1e-5};
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
        return streamingCost(inputs, outputs, 8);
    };
    return op;
}

std::vector<std::int64_t> axesFrom(const GradientContext& g, int rank) {
    const std::int64_t given = g.attributes().integer("axis");
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = given < 0 ? given + rank : given; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

/// The outputs of LayerNormalization, with the statistics.
std::vector<GraphTensor> layerNormalized(GradientContext& g) {
    const GraphTensor x = g.input(0);
    const std::vector<std::int64_t> axes = axesFrom(g, x.shape().rank());
    const GraphTensor mean = meanOver(x, axes);
    const GraphTensor centred = x - mean;
    const GraphTensor inverse =
        1 / apply("Sqrt", {meanOver(centred * centred, axes) + g.attributes().number("epsilon")});
    GraphTensor y = centred * inverse;
    if (g.input(1)) y = y * g.input(1);
    if (g.input(2)) y = y + g.input(2);
    return {y, cast(mean, g.output(1).type().dtype), cast(inverse, g.output(2).type().dtype)};
}

void layerNormalizationGradient(GradientContext& g) {
    if (!g.gradient(0) || g.gradient(1) || g.gradient(2)) return differentiate(g, layerNormalized);
    const GraphTensor dy = g.gradient();
    const Standardized rows(g.input(0), axesFrom(g, dy.shape().rank()), g.attributes().number("epsilon"));
    if (g.isWanted(0)) g.give(0, rows.back(g.input(1) ? dy * g.input(1) : dy));
    if (g.isWanted(1)) g.give(1, dy * rows.result());
    g.give(2, dy);
}

void rmsNormalizationGradient(GradientContext& g) {
    const DType dtype = g.input(0).type().dtype;
    const GraphTensor x = g.input(0);
    const GraphTensor dy = cast(g.gradient(), dtype);
    const std::vector<std::int64_t> axes = axesFrom(g, x.shape().rank());
    const GraphTensor inverse = 1 / apply("Sqrt", {meanOver(x * x, axes) + g.attributes().number("epsilon")});
    const GraphTensor result = x * inverse;
    const GraphTensor scaled = dy * cast(g.input(1), dtype);
    if (g.isWanted(0)) g.give(0, inverse * (scaled - result * meanOver(scaled * result, axes)));
    if (g.isWanted(1)) g.give(1, cast(dy * result, g.input(1).type().dtype));
}

} // namespace

void addRowNormalizations(std::vector<Op>& table) {
    Op layer =
        makeRows("LayerNormalization", 17, "Normalises the elements from an axis on to mean 0 and variance 1",
                 "Y = (X − mean) / √(var + ε) · Scale + B");
    // Without Scale, as in PyTorch's layer_norm; ONNX has no such form.
    layer.inputs = {port("X", "input", kFloats, "T"), optionalPort("Scale", "weight", kFloats, "T"),
                    optionalPort("B", "bias", kFloats, "T")};
    const DTypeSet stash{DType::f32, DType::bf16};
    layer.outputs = {port("Y", "", kFloats, "T"), port("Mean", "", stash), port("InvStdDev", "", stash)};
    layer.outputs[1].optional = layer.outputs[2].optional = true;
    layer.infer = inferLayerNormalization;
    layer.kernel = layerNormalizationKernel;
    layer.gradient = layerNormalizationGradient;
    table.push_back(std::move(layer));

    Op rms =
        makeRows("RMSNormalization", 23, "Divides the elements from an axis on by their root mean square",
                 "Y = X / √(mean X² + ε) · scale");
    rms.inputs = {port("X", "input", kFloats, "T"), port("scale", "weight", kFloats, "V")};
    rms.outputs = {port("Y", "", kFloats, "V")};
    rms.infer = inferRmsNormalization;
    rms.kernel = viaFloat<rmsNormalizationKernel>;
    rms.gradient = rmsNormalizationGradient;
    table.push_back(std::move(rms));

    describe(table, "LayerNormalization",
             "Scale and B broadcast to X from axis on and may be left out; Y has the shape of X",
             {operand({3, 4}), operand({4}), operand({4})});
    describe(table, "RMSNormalization", "scale broadcasts to X from axis on; Y has the shape of X",
             {operand({3, 4}), operand({4})});
}

} // namespace twb
