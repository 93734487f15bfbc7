#include "formats/pytorch/aten_mapping.h"

#include <algorithm>
#include <optional>

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

Value grad(Mapping& m) { return m.tensor(m.has("grad_output") ? "grad_output" : "grad"); }

/// The gradient where the condition is true, else 0.
Value passed(Mapping& m, const Value& condition, const Value& gradient) {
    return m.make("Where", {condition, gradient, m.constant(0, gradient.type.dtype)});
}

Value one(Mapping& m) { return m.constant(1, m.dtype()); }

void thresholdBackward(Mapping& m) {
    const Value isAbove = m.make("Greater", {m.tensor("self"), m.operand("threshold", m.dtype())});
    m.give(passed(m, isAbove, grad(m)));
}

void hardtanhBackward(Mapping& m) {
    const Value x = m.tensor("self");
    const Value isInside = m.make("And", {m.make("Greater", {x, m.operand("min_val", m.dtype())}),
                                          m.make("Less", {x, m.operand("max_val", m.dtype())})});
    m.give(passed(m, isInside, grad(m)));
}

Value compared(Mapping& m, const char* op, double limit) {
    return m.make(op, {m.tensor("self"), m.constant(limit, m.dtype())});
}

void hardsigmoidBackward(Mapping& m) {
    const Value isInside = m.make("And", {compared(m, "Greater", -3), compared(m, "Less", 3)});
    m.give(passed(m, isInside, m.scaled(grad(m), 1.0 / 6)));
}

void softmaxBackward(Mapping& m) {
    const Value y = m.tensor("output");
    const Value product = m.mul(grad(m), y);
    m.give(m.sub(product, m.mul(y, m.reduce("ReduceSum", product, {m.axis("dim", y)}, true))));
}

void logSoftmaxBackward(Mapping& m) {
    const Value y = m.tensor("output");
    const Value sum = m.reduce("ReduceSum", grad(m), {m.axis("dim", y)}, true);
    m.give(m.sub(grad(m), m.mul(m.make("Exp", {y}), sum)));
}

void dropoutBackward(Mapping& m) {
    m.give(m.scaled(m.mul(grad(m), m.cast(m.tensor("mask"), m.dtype())), m.number("scale")));
}

/// The gradient of a normalized value: rstd · (g − mean(g) − x̂ · mean(g · x̂)), means over `axes`.
Value normBackward(Mapping& m, const Value& g, const Value& normalized, const Value& rstd, const Ints& axes) {
    const Value centre = m.reduce("ReduceMean", g, axes, true);
    const Value along = m.reduce("ReduceMean", m.mul(g, normalized), axes, true);
    return m.mul(rstd, m.sub(m.sub(g, centre), m.mul(normalized, along)));
}

void layerNormBackward(Mapping& m) {
    const Value g = m.tensor("grad_out");
    const Value x = m.tensor("input");
    const Value rstd = m.tensor("rstd");
    const Value normalized = m.mul(m.sub(x, m.tensor("mean")), rstd);
    const int rank = x.type.shape.rank();
    const int first = rank - static_cast<int>(m.integers("normalized_shape").size());
    Ints inner;
    Ints outer;
    for (int i = 0; i < rank; ++i) (i < first ? outer : inner).push_back(i);
    const auto weight = m.optionalTensor("weight");
    if (const auto at = m.placeOf(0))
        m.give(*at, normBackward(m, weight ? m.mul(g, *weight) : g, normalized, rstd, inner));
    const auto summed = [&](const Value& value) {
        return outer.empty() ? value : m.reduce("ReduceSum", value, outer, false);
    };
    if (const auto at = m.placeOf(1)) m.give(*at, summed(m.mul(g, normalized)));
    if (const auto at = m.placeOf(2)) m.give(*at, summed(g));
}

Ints allButChannels(int rank) {
    Ints axes{0};
    for (int i = 2; i < rank; ++i) axes.push_back(i);
    return axes;
}

/// The channels of a group are normalized together.
void groupNormBackward(Mapping& m) {
    const Value g = m.tensor("grad_out");
    const Value x = m.tensor("input");
    const Shape& shape = x.type.shape;
    if (shape.rank() < 2) Mapping::refuse("its operand has no channels");
    const std::int64_t groups = m.integer("group");
    if (groups <= 0 || shape[0] == 0 || shape[1] == 0 || shape[1] % groups != 0)
        Mapping::refuse("its groups have different numbers of channels");
    const Shape grouped{shape[0], groups, shape.elementCount() / (shape[0] * groups)};
    const auto statistic = [&](const char* name) {
        return m.cast(m.reshape(m.tensor(name), Shape{shape[0], groups, 1}), x.type.dtype);
    };
    const Value rstd = statistic("rstd");
    const Value normalized = m.mul(m.sub(m.reshape(x, grouped), statistic("mean")), rstd);
    if (const auto at = m.placeOf(0)) {
        const auto weight = m.optionalTensor("weight");
        const Value scaled = weight ? m.mul(g, m.alongChannels(*weight, shape.rank())) : g;
        m.give(*at, m.reshape(normBackward(m, m.reshape(scaled, grouped), normalized, rstd, {2}), shape));
    }
    const Ints axes = allButChannels(shape.rank());
    if (const auto at = m.placeOf(1))
        m.give(*at, m.reduce("ReduceSum", m.mul(g, m.reshape(normalized, shape)), axes, false));
    if (const auto at = m.placeOf(2)) m.give(*at, m.reduce("ReduceSum", g, axes, false));
}

void batchNormBackward(Mapping& m) {
    const Value g = m.tensor(m.has("grad_out") ? "grad_out" : "grad_output");
    const Value x = m.tensor("input");
    const int rank = x.type.shape.rank();
    if (rank < 2) Mapping::refuse("its operand has no channels");
    const Ints axes = allButChannels(rank);
    const bool training = m.flag("train", m.flag("training", true));
    const double epsilon = m.number("eps", m.number("epsilon", 1e-5));
    Value mean =
        training ? m.reduce("ReduceMean", x, axes, true) : m.alongChannels(m.tensor("running_mean"), rank);
    const Value centred = m.sub(x, mean);
    const Value variance = training ? m.reduce("ReduceMean", m.mul(centred, centred), axes, true)
                                    : m.alongChannels(m.tensor("running_var"), rank);
    const Value rstd =
        m.make("Reciprocal", {m.make("Sqrt", {m.add(variance, m.constant(epsilon, x.type.dtype))})});
    const Value normalized = m.mul(centred, rstd);
    const auto weight = m.optionalTensor("weight");
    const Value scaled = weight ? m.mul(g, m.alongChannels(*weight, rank)) : g;
    if (const auto at = m.placeOf(0))
        m.give(*at, training ? normBackward(m, scaled, normalized, rstd, axes) : m.mul(scaled, rstd));
    if (const auto at = m.placeOf(1)) m.give(*at, m.reduce("ReduceSum", m.mul(g, normalized), axes, false));
    if (const auto at = m.placeOf(2)) m.give(*at, m.reduce("ReduceSum", g, axes, false));
}

/// The gradient of the input is a transposed convolution.
void convolutionBackward(Mapping& m) {
    const Value g = m.tensor("grad_output");
    const Value x = m.tensor("input");
    const Value weight = m.tensor("weight");
    if (m.flag("transposed", false)) Mapping::refuse("its convolution is transposed");
    const int spatial = weight.type.shape.rank() - 2;
    const auto n = static_cast<std::size_t>(spatial);
    const auto spread = [&](const char* name, std::int64_t absent) {
        Ints out = m.integers(name, Ints{absent});
        if (out.size() == 1) out.resize(n, out[0]);
        if (out.size() != n) Mapping::refuse("its arguments must have one number per dimension");
        return out;
    };
    const Ints stride = spread("stride", 1);
    const Ints padding = spread("padding", 0);
    const Ints dilation = spread("dilation", 1);
    const std::int64_t groups = m.integer("groups", 1);
    Ints pads = padding;
    pads.insert(pads.end(), padding.begin(), padding.end());
    const Attributes window{{"strides", stride}, {"pads", pads}, {"dilations", dilation}, {"group", groups}};
    if (const auto at = m.placeOf(0)) {
        Ints more;
        for (std::size_t i = 0; i < n; ++i) {
            const int axis = static_cast<int>(i) + 2;
            const std::int64_t reached = (g.type.shape[axis] - 1) * stride[i] - 2 * padding[i] +
                                         dilation[i] * (weight.type.shape[axis] - 1) + 1;
            more.push_back(x.type.shape[axis] - reached);
        }
        Attributes spread = window;
        spread.set("output_padding", more);
        m.give(*at, m.make("ConvTranspose", {g, weight}, spread));
    }
    if (const auto at = m.placeOf(1)) {
        Attributes sizes = window;
        sizes.set("kernel_shape", Ints(weight.type.shape.begin() + 2, weight.type.shape.end()));
        m.give(*at, m.make("ConvWeightGrad", {g, x}, sizes));
    }
    if (const auto at = m.placeOf(2))
        m.give(*at, m.reduce("ReduceSum", g, allButChannels(spatial + 2), false));
}

void maxPoolBackward(Mapping& m) {
    const Shape& in = m.shape();
    if (in.rank() != 4) Mapping::refuse("its operand has no batch");
    const Value g = grad(m);
    const Shape& out = g.type.shape;
    const Shape flat{in[0], in[1], in[2] * in[3]};
    const Shape each{out[0], out[1], out[2] * out[3]};
    const Value sums =
        m.make("ScatterElements",
               {m.filled(0, {m.dtype(), flat}), m.reshape(m.tensor("indices"), each), m.reshape(g, each)},
               {{"axis", std::int64_t{2}}, {"reduction", std::string("add")}});
    m.give(m.reshape(sums, in));
}

void embeddingBackward(Mapping& m) {
    const Value g = grad(m);
    const Value at = m.tensor("indices");
    if (m.flag("scale_grad_by_freq", false)) Mapping::refuse("its scale_grad_by_freq is true");
    Value kept = g;
    if (const std::int64_t padding = m.integer("padding_idx", -1); padding >= 0) {
        const Value isPadding =
            m.make("Equal", {at, m.constant(static_cast<double>(padding), at.type.dtype)});
        kept =
            m.make("Where", {m.unsqueeze(isPadding, at.type.shape.rank()), m.constant(0, g.type.dtype), g});
    }
    const Value rows = m.unsqueeze(m.cast(at, DType::i64), at.type.shape.rank());
    m.give(m.make("ScatterND", {m.filled(0, m.type()), rows, kept}, {{"reduction", std::string("add")}}));
}

/// Zeros around the gradient of a slice, and between its elements for a step above 1.
void sliceBackward(Mapping& m) {
    Value g = grad(m);
    const Shape& in = m.shape();
    const auto axis = normalizeAxis(m.integer("dim"), in.rank());
    const std::int64_t step = m.integer("step", 1);
    if (!axis) Mapping::refuse("its dim is out of range for its result");
    const auto at = static_cast<std::size_t>(*axis);
    const std::int64_t size = in[*axis];
    std::int64_t start = m.integer("start", 0);
    start = std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
    const auto padded = [&](const Value& value, std::size_t along, std::int64_t before, std::int64_t after) {
        const auto rank = static_cast<std::size_t>(value.type.shape.rank());
        Ints pads(2 * rank, 0);
        pads[along] = before;
        pads[rank + along] = after;
        return m.make("Pad", {value}, {{"pads", pads}});
    };
    if (step > 1) {
        Shape spread = g.type.shape;
        spread[*axis] *= step;
        g = m.reshape(padded(m.unsqueeze(g, *axis + 1), at + 1, 0, step - 1), spread);
        g = m.slice(g, *axis, 0, size - start);
    }
    m.give(padded(g, at, start, size - start - g.type.shape[*axis]));
}

void selectBackward(Mapping& m) {
    const Shape& in = m.shape();
    const auto axis = normalizeAxis(m.integer("dim"), in.rank());
    if (!axis) Mapping::refuse("its dim is out of range for its result");
    const Value g = m.unsqueeze(grad(m), *axis);
    const auto rank = static_cast<std::size_t>(in.rank());
    const auto at = static_cast<std::size_t>(*axis);
    std::int64_t index = m.integer("index");
    if (index < 0) index += in[*axis];
    Ints pads(2 * rank, 0);
    pads[at] = index;
    pads[rank + at] = in[*axis] - index - 1;
    m.give(m.make("Pad", {g}, {{"pads", pads}}));
}

/// scale · (x > 0 ? 1 : input_scale · alpha · e ^ (input_scale · x)).
void eluBackward(Mapping& m) {
    if (m.flag("is_result", false)) Mapping::refuse("it reads the result of the forward call");
    const Value x = m.tensor("self_or_result");
    const double inner = m.number("input_scale", 1);
    const Value slope = m.scaled(m.make("Exp", {m.scaled(x, inner)}), inner * m.number("alpha", 1));
    const Value isPositive = m.make("Greater", {x, m.constant(0, m.dtype())});
    m.give(m.scaled(m.make("Where", {isPositive, grad(m), m.mul(grad(m), slope)}), m.number("scale", 1)));
}

/// The gradients of these operands of a forward op.
template <Name forward, Name... operands> void gradientsOf(Mapping& m) {
    m.giveGradients(forward.chars, {operands.chars...});
}

} // namespace

void addBackward(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&), bool pointwise = false) {
        rows.push_back({name, map, pointwise});
    };
    row("threshold_backward", thresholdBackward, true);
    row("hardtanh_backward", hardtanhBackward, true);
    row("leaky_relu_backward", gradientsOf<"leaky_relu", "self">, true);
    row("hardswish_backward", gradientsOf<"hardswish", "self">, true);
    row("hardsigmoid_backward", hardsigmoidBackward, true);
    row("silu_backward", gradientsOf<"silu", "self">, true);
    row("gelu_backward", gradientsOf<"gelu", "self">, true);
    row(
        "tanh_backward",
        [](Mapping& m) {
            const Value y = m.tensor("output");
            m.give(m.mul(grad(m), m.sub(one(m), m.mul(y, y))));
        },
        true);
    row(
        "sigmoid_backward",
        [](Mapping& m) {
            const Value y = m.tensor("output");
            m.give(m.mul(grad(m), m.mul(y, m.sub(one(m), y))));
        },
        true);
    row("_softmax_backward_data", softmaxBackward);
    row("_log_softmax_backward_data", logSoftmaxBackward);
    row("native_dropout_backward", dropoutBackward);
    row("native_layer_norm_backward", layerNormBackward);
    row("native_batch_norm_backward", batchNormBackward);
    row("cudnn_batch_norm_backward", batchNormBackward);
    row("convolution_backward", convolutionBackward);
    row("max_pool2d_with_indices_backward", maxPoolBackward);
    row("_adaptive_avg_pool2d_backward", gradientsOf<"_adaptive_avg_pool2d", "self">);
    row("_adaptive_avg_pool3d_backward", gradientsOf<"_adaptive_avg_pool3d", "self">);
    row("avg_pool2d_backward", gradientsOf<"avg_pool2d", "self">);
    row("avg_pool3d_backward", gradientsOf<"avg_pool3d", "self">);
    row("upsample_nearest1d_backward", gradientsOf<"upsample_nearest1d", "self">);
    row("upsample_nearest2d_backward", gradientsOf<"upsample_nearest2d", "self">);
    row("upsample_nearest3d_backward", gradientsOf<"upsample_nearest3d", "self">);
    row("upsample_linear1d_backward", gradientsOf<"upsample_linear1d", "self">);
    row("upsample_bilinear2d_backward", gradientsOf<"upsample_bilinear2d", "self">);
    row("upsample_bicubic2d_backward", gradientsOf<"upsample_bicubic2d", "self">);
    row("grid_sampler_2d_backward", gradientsOf<"grid_sampler_2d", "input", "grid">);
    row("native_group_norm_backward", groupNormBackward);
    row("_scaled_dot_product_flash_attention_for_cpu_backward",
        gradientsOf<"_scaled_dot_product_flash_attention_for_cpu", "query", "key", "value">);
    row("_scaled_dot_product_flash_attention_backward",
        gradientsOf<"_scaled_dot_product_flash_attention", "query", "key", "value">);
    row("_scaled_dot_product_efficient_attention_backward",
        gradientsOf<"_scaled_dot_product_efficient_attention", "query", "key", "value", "attn_bias">);
    for (const char* name :
         {"reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward"})
        row(name, gradientsOf<"reflection_pad2d", "self">);
    for (const char* name :
         {"replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward"})
        row(name, gradientsOf<"replication_pad2d", "self">);
    row("glu_backward", gradientsOf<"glu", "self">);
    row("elu_backward", eluBackward, true);
    row("softplus_backward", gradientsOf<"softplus", "self">, true);
    row("mish_backward", gradientsOf<"mish", "self">, true);
    row("log_sigmoid_backward", gradientsOf<"log_sigmoid", "self">, true);
    row("prelu_backward", gradientsOf<"prelu", "self", "weight">);
    row("_prelu_kernel_backward", gradientsOf<"_prelu_kernel", "self", "weight">);
    row("embedding_dense_backward", embeddingBackward);
    row("slice_backward", sliceBackward);
    row("select_backward", selectBackward);
}

} // namespace twb::aten
