#include "formats/pytorch/aten_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

/// Of vectors, matrices and batches.
Value product(Mapping& m, const Value& a, const Value& b) { return m.make("MatMul", {a, b}); }

/// The operand in the result's dtype: autocast's products have half-width operands already.
Value typed(Mapping& m, std::string_view name) { return m.cast(m.tensor(name), m.dtype()); }

std::optional<Value> optionalTyped(Mapping& m, std::string_view name) {
    auto value = m.optionalTensor(name);
    return value ? std::optional(m.cast(*value, m.dtype())) : std::nullopt;
}

void linear(Mapping& m) {
    const Value x = typed(m, "input");
    const Value weight = typed(m, "weight");
    const auto bias = optionalTyped(m, "bias");
    const Shape& in = x.type.shape;
    if (weight.type.shape.rank() != 2) return m.give(product(m, x, weight));
    const Value rows = in.rank() > 1 ? x : m.reshape(x, Shape{1, in[0]});
    m.give(m.reshape(m.make("Gemm", {rows, weight, bias}, {{"transB", true}}), m.shape()));
}

void addmm(Mapping& m) {
    m.give(m.make("Gemm", {typed(m, "mat1"), typed(m, "mat2"), typed(m, "self")},
                  {{"alpha", m.number("alpha", 1)}, {"beta", m.number("beta", 1)}}));
}

void addProduct(Mapping& m, const char* first, const char* second) {
    const Value xy = m.scaled(product(m, typed(m, first), typed(m, second)), m.number("alpha", 1));
    const double beta = m.number("beta", 1);
    m.give(beta == 0 ? xy : m.add(m.scaled(typed(m, "self"), beta), xy));
}

void outer(Mapping& m) {
    const char* second = m.has("vec2") ? "vec2" : "other";
    m.give(m.mul(m.unsqueeze(typed(m, "self"), 1), typed(m, second)));
}

void einsum(Mapping& m) {
    Mapping::Inputs operands;
    for (const Value& value : m.tensors("tensors")) operands.emplace_back(m.cast(value, m.dtype()));
    m.give(m.make("Einsum", operands, {{"equation", m.text("equation", "")}}));
}

/// A setting with one number for each of `rank` dimensions.
Ints spread(Mapping& m, std::string_view name, std::size_t rank, std::int64_t absent) {
    Ints out = m.integers(name, Ints{absent});
    if (out.size() == 1) out.resize(rank, out[0]);
    if (out.size() != rank)
        Mapping::refuse(fmt::format("its argument \"{}\" must have one number per dimension", name));
    return out;
}

Ints twice(const Ints& padding) {
    Ints pads = padding;
    pads.insert(pads.end(), padding.begin(), padding.end());
    return pads;
}

void convolve(Mapping& m, bool isTransposed) {
    Value x = typed(m, m.has("input") ? "input" : "self");
    const Value weight = typed(m, "weight");
    const auto bias = optionalTyped(m, "bias");
    const int rank = weight.type.shape.rank() - 2;
    if (rank < 1) Mapping::refuse("its weight has too few dimensions");
    const auto n = static_cast<std::size_t>(rank);
    const bool isBatch = x.type.shape.rank() == rank + 2;
    if (!isBatch) x = m.unsqueeze(x, 0);
    const Ints dilations = spread(m, "dilation", n, 1);
    Attributes attributes{
        {"strides", spread(m, "stride", n, 1)}, {"dilations", dilations}, {"group", m.integer("groups", 1)}};
    Ints pads(2 * n, 0);
    if (!m.isText("padding")) {
        pads = twice(spread(m, "padding", n, 0));
    } else if (m.text("padding", "") == "same") {
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t total = dilations[i] * (weight.type.shape[static_cast<int>(i) + 2] - 1);
            pads[i] = total / 2;
            pads[n + i] = total - total / 2;
        }
    }
    attributes.set("pads", pads);
    if (isTransposed) attributes.set("output_padding", spread(m, "output_padding", n, 0));
    const Value y = m.make(isTransposed ? "ConvTranspose" : "Conv", {x, weight, bias}, attributes);
    m.give(isBatch ? y : m.reshape(y, m.shape()));
}

void convolution(Mapping& m) { convolve(m, m.flag("transposed", false)); }

Value orFilled(Mapping& m, std::string_view name, double value, std::int64_t channels, DType dtype) {
    const auto given = m.optionalTensor(name);
    return given ? m.cast(*given, dtype) : m.filled(value, {dtype, Shape{channels}});
}

void batchNorm(Mapping& m, bool training) {
    const Value x = m.tensor("input");
    const DType dtype = x.type.dtype;
    if (x.type.shape.rank() < 2) Mapping::refuse("its operand has no channels");
    const std::int64_t channels = x.type.shape[1];
    Attributes attributes{{"epsilon", m.number("eps", m.number("epsilon", 1e-5))}};
    if (training) {
        attributes.set("training_mode", true);
        attributes.set("momentum", 1 - m.number("momentum", 0.1));
    }
    // Each pair has a dtype of its own: autocast keeps the statistics of half-width images in f32.
    const auto dtypeOf = [&](std::string_view first, std::string_view second) {
        const auto a = m.optionalTensor(first);
        const auto b = m.optionalTensor(second);
        return a ? a->type.dtype : b ? b->type.dtype : dtype;
    };
    const DType affine = dtypeOf("weight", "bias");
    const DType statistics = dtypeOf("running_mean", "running_var");
    const auto made =
        m.makeAll("BatchNormalization",
                  {x, orFilled(m, "weight", 1, channels, affine), orFilled(m, "bias", 0, channels, affine),
                   orFilled(m, "running_mean", 0, channels, statistics),
                   orFilled(m, "running_var", 1, channels, statistics)},
                  attributes);
    m.give(0, made[0]);
}

void layerNorm(Mapping& m) {
    const Value x = m.tensor("input");
    const Ints normalized = m.integers("normalized_shape");
    const auto made = m.makeAll(
        "LayerNormalization", {x, optionalTyped(m, "weight"), optionalTyped(m, "bias")},
        {{"axis", -static_cast<std::int64_t>(normalized.size())}, {"epsilon", m.number("eps", 1e-5)}});
    m.give(0, made[0]);
    if (m.resultCount() < 3) return;
    m.give(1, made[1]);
    m.give(2, made[2]);
}

void groupNorm(Mapping& m) {
    const Value x = m.tensor("input");
    if (x.type.shape.rank() < 2) Mapping::refuse("its operand has no channels");
    const std::int64_t channels = x.type.shape[1];
    m.give(0, m.make("GroupNormalization",
                     {x, orFilled(m, "weight", 1, channels, x.type.dtype),
                      orFilled(m, "bias", 0, channels, x.type.dtype)},
                     {{"num_groups", m.integer(m.has("num_groups") ? "num_groups" : "group")},
                      {"epsilon", m.number("eps", 1e-5)}}));
}

void instanceNorm(Mapping& m) {
    const Value x = m.tensor("input");
    if (!m.flag("use_input_stats", true)) return batchNorm(m, false);
    const std::int64_t channels = x.type.shape[1];
    m.give(m.make(
        "InstanceNormalization",
        {x, orFilled(m, "weight", 1, channels, x.type.dtype), orFilled(m, "bias", 0, channels, x.type.dtype)},
        {{"epsilon", m.number("eps", 1e-5)}}));
}

void rmsNorm(Mapping& m) {
    const Value x = m.tensor("input");
    const Ints normalized = m.integers("normalized_shape");
    const auto weight = m.optionalTensor("weight");
    const double least = x.type.dtype == DType::f64    ? std::numeric_limits<double>::epsilon()
                         : x.type.dtype == DType::f16  ? 0x1p-10
                         : x.type.dtype == DType::bf16 ? 0x1p-7
                                                       : std::numeric_limits<float>::epsilon();
    m.give(0, m.make("RMSNormalization",
                     {x, weight ? *weight
                                : m.filled(1, {x.type.dtype, Shape(std::vector<std::int64_t>(normalized))})},
                     {{"axis", -static_cast<std::int64_t>(normalized.size())},
                      {"epsilon", m.number("eps", least)}}));
}

void attention(Mapping& m) {
    if (m.number("dropout_p", 0) != 0) Mapping::refuse("it drops elements at random");
    Value q = m.tensor("query");
    Value k = m.tensor("key");
    Value v = m.tensor("value");
    auto mask = m.optionalTensor(m.has("attn_mask") ? "attn_mask" : "attn_bias");
    // Attention has a batch and heads.
    const auto withHeads = [&](const Value& value) {
        if (value.type.shape.rank() == 4) return value;
        std::vector<std::int64_t> dims = value.type.shape.dims();
        if (dims.size() < 2) Mapping::refuse("its operands have too few dimensions");
        while (dims.size() < 4) dims.insert(dims.begin(), 1);
        if (dims.size() > 4) Mapping::refuse("its operands have more than four dimensions");
        return m.reshape(value, Shape(dims));
    };
    // Of three dimensions, the batch serves as heads, so that a mask broadcasts alike.
    q = withHeads(q);
    k = withHeads(k);
    v = withHeads(v);
    if (mask && mask->type.dtype != DType::boolean) mask = m.cast(*mask, q.type.dtype);
    // Attention takes a mask with fewer keys for one that hides the others.
    if (mask && mask->type.shape.rank() > 0) {
        Shape whole = mask->type.shape;
        std::int64_t& keys = whole[whole.rank() - 1];
        if (keys == 1 && k.type.shape[2] != 1) {
            keys = k.type.shape[2];
            mask = m.expand(*mask, whole);
        }
    }
    Attributes attributes{{"is_causal", m.flag("is_causal", false)}};
    if (m.has("scale")) attributes.set("scale", m.number("scale"));
    const Value y = m.make("Attention", {q, k, v, mask}, attributes);
    m.give(0, m.reshape(y, m.shape()));
}

/// input, output: sizes along the spatial dimensions.
void upsample(Mapping& m, const char* mode, int spatial, bool isNearest) {
    const Value x = m.tensor(m.has("input") ? "input" : "self");
    const Shape& in = x.type.shape;
    if (in.rank() != spatial + 2) Mapping::refuse("its operand is not a batch of images");
    // A factor other than the quotient of the sizes would shift the samples.
    std::vector<double> factors;
    if (m.has("scale_factors")) factors = m.numbers("scale_factors");
    for (const char* name : {"scales_d", "scales_h", "scales_w", "scales"})
        if (m.has(name)) factors.push_back(m.number(name));
    const int first = spatial + 2 - static_cast<int>(factors.size());
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const int axis = first + static_cast<int>(i);
        if (factors[i] * static_cast<double>(in[axis]) != static_cast<double>(m.shape()[axis]))
            Mapping::refuse("its factor is not the quotient of its sizes");
    }
    std::string place = "asymmetric";
    if (!isNearest) place = m.flag("align_corners", false) ? "align_corners" : "half_pixel";
    m.give(m.make("Resize", {x},
                  {{"sizes", m.shape().dims()},
                   {"mode", std::string(mode)},
                   {"coordinate_transformation_mode", place},
                   {"nearest_mode", std::string("floor")}}));
}

void gridSample(Mapping& m) {
    static constexpr std::array<const char*, 3> kModes{"linear", "nearest", "cubic"};
    static constexpr std::array<const char*, 3> kPaddings{"zeros", "border", "reflection"};
    const auto of = [](const auto& names, std::int64_t i) {
        if (i < 0 || i >= 3) Mapping::refuse("its mode is unknown");
        return std::string(names[static_cast<std::size_t>(i)]);
    };
    m.give(m.make("GridSample", {m.tensor("input"), m.tensor("grid")},
                  {{"mode", of(kModes, m.integer("interpolation_mode"))},
                   {"padding_mode", of(kPaddings, m.integer("padding_mode"))},
                   {"align_corners", m.flag("align_corners", false)}}));
}

void dropout(Mapping& m) {
    const Value x = m.tensor("input");
    const double p = m.number("p", 0.5);
    if (!m.flag("train", true) || p == 0) return m.give(0, x);
    const auto made = m.makeAll("Dropout", {x}, {{"ratio", p}, {"training_mode", true}, {"seed", m.seed()}});
    m.give(0, made[0]);
    if (m.resultCount() > 1) m.give(1, made[1]);
}

/// One slope for all elements, or one per channel.
void prelu(Mapping& m) {
    const Value x = m.tensor("self");
    const Value slopes = m.tensor("weight");
    const int rank = x.type.shape.rank();
    if (rank < 2 && slopes.type.shape.elementCount() != 1) Mapping::refuse("its operand has no channels");
    m.give(m.make("PRelu", {x, m.alongChannels(slopes, rank)}));
}

void glu(Mapping& m) {
    const Value x = m.tensor("self");
    const int axis = m.axis("dim", x, -1);
    const auto halves =
        m.makeAll("Split", {x}, {{"axis", std::int64_t{axis}}, {"num_outputs", std::int64_t{2}}});
    m.give(m.mul(halves[0], m.make("Sigmoid", {halves[1]})));
}

} // namespace

void addLayers(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    row("linear", linear);
    row("addmm", addmm);
    row("mm", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "mat2"))); });
    row("bmm", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "mat2"))); });
    row("mv", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "vec"))); });
    row("matmul", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "other"))); });
    row("dot", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "tensor"))); });
    row("vdot", [](Mapping& m) { m.give(product(m, typed(m, "self"), typed(m, "other"))); });
    row("baddbmm", [](Mapping& m) { addProduct(m, "batch1", "batch2"); });
    row("addmv", [](Mapping& m) { addProduct(m, "mat", "vec"); });
    row("outer", outer);
    row("ger", outer);
    row("einsum", einsum);
    row("det", [](Mapping& m) { m.give(m.make("Det", {m.tensor("self")})); });
    row("linalg_det", [](Mapping& m) { m.give(m.make("Det", {m.tensor("A")})); });
    for (const char* name :
         {"convolution", "_convolution", "convolution_overrideable", "conv1d", "conv2d", "conv3d",
          "cudnn_convolution", "mkldnn_convolution", "thnn_conv2d", "_slow_conv2d_forward"})
        row(name, convolution);
    for (const char* name : {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"})
        row(name, [](Mapping& m) { convolve(m, true); });
    for (const char* name : {"batch_norm", "native_batch_norm", "_native_batch_norm_legit",
                             "cudnn_batch_norm", "miopen_batch_norm"})
        row(name, [](Mapping& m) { batchNorm(m, m.flag("training", false)); });
    row("_native_batch_norm_legit_no_training", [](Mapping& m) { batchNorm(m, false); });
    row("layer_norm", layerNorm);
    row("native_layer_norm", layerNorm);
    row("group_norm", groupNorm);
    row("native_group_norm", groupNorm);
    row("instance_norm", instanceNorm);
    row("rms_norm", rmsNorm);
    for (const char* name :
         {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
          "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention",
          "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_attention_math"})
        row(name, attention);
    row("upsample_nearest1d", [](Mapping& m) { upsample(m, "nearest", 1, true); });
    row("upsample_nearest2d", [](Mapping& m) { upsample(m, "nearest", 2, true); });
    row("upsample_nearest3d", [](Mapping& m) { upsample(m, "nearest", 3, true); });
    row("upsample_linear1d", [](Mapping& m) { upsample(m, "linear", 1, false); });
    row("upsample_bilinear2d", [](Mapping& m) { upsample(m, "linear", 2, false); });
    row("upsample_bicubic2d", [](Mapping& m) { upsample(m, "cubic", 2, false); });
    row("grid_sampler", gridSample);
    row("grid_sampler_2d", gridSample);
    row("affine_grid_generator", [](Mapping& m) {
        m.give(m.make("AffineGrid", {m.tensor("theta")},
                      {{"size", m.integers("size")}, {"align_corners", m.flag("align_corners", false)}}));
    });
    row("dropout", dropout);
    row("native_dropout", dropout);
    row("feature_dropout", [](Mapping& m) {
        if (m.flag("train", true) && m.number("p", 0.5) != 0) Mapping::refuse("it drops whole channels");
        m.give(m.tensor("input"));
    });
    row("glu", glu);
    row("prelu", prelu);
    row("_prelu_kernel", [](Mapping& m) { m.give(m.make("PRelu", {m.tensor("self"), m.tensor("weight")})); });
}

} // namespace twb::aten
