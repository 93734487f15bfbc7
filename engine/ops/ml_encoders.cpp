#include "backends/cpu/dense_input.h"
#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/ml_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

// The ops of ai.onnx.ml that look up elements in a list.

namespace twb {
namespace {

/// The index of each entry in a list; for equal entries, the last index.
using Places = std::unordered_map<std::int64_t, std::size_t>;

Places placesOf(const std::vector<std::int64_t>& list) {
    Places places;
    for (std::size_t i = 0; i < list.size(); ++i) places[list[i]] = i;
    return places;
}

// OneHotEncoder

void inferOneHotEncoder(InferContext& ctx) {
    std::vector<std::int64_t> dims = ctx.input(0)->shape.dims();
    dims.push_back(static_cast<std::int64_t>(ctx.attributes().integers("cats_int64s").size()));
    ctx.output(0, {DType::f32, Shape(std::move(dims))});
}

/// A number without its fraction; nothing if an i64 cannot represent it.
template <class T> std::optional<std::int64_t> wholeOf(T x) {
    if constexpr (std::is_floating_point_v<T>)
        if (!(std::abs(x) < static_cast<T>(0x1p63))) return std::nullopt;
    return static_cast<std::int64_t>(x);
}

void oneHotEncoderKernel(const KernelContext& ctx) {
    const std::vector<std::int64_t> categories = ctx.attributes.integers("cats_int64s");
    const Places places = placesOf(categories);
    const bool zeros = ctx.attributes.flag("zeros");
    const DenseInput in(ctx.inputs[0]);
    const TensorView& out = ctx.outputs[0];
    float* const y = out.as<float>();
    std::fill_n(y, out.elementCount(), 0.0F);
    withMatrixType(in.view().dtype, [&](auto zero) {
        const auto* const x = in.as<decltype(zero)>();
        const std::int64_t total = in.shape().elementCount();
        parallelRangesThrowing(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto whole = wholeOf(x[i]);
                const auto place = whole ? places.find(*whole) : places.end();
                if (place != places.end())
                    y[i * static_cast<std::int64_t>(categories.size()) +
                      static_cast<std::int64_t>(place->second)] = 1;
                else if (!zeros)
                    throw Error(
                        ErrorCode::invalidArgument,
                        fmt::format(
                            "{} is not one of the {} categories; set zeros to 1 to encode it as zeros", x[i],
                            categories.size()));
            }
        });
    });
}

// LabelEncoder

/// The bits of a float. Keys are compared by bits, so NaN can be a key; −0 and 0 are one key.
std::int64_t keyOf(float x) {
    if (x == 0) return 0;
    return std::bit_cast<std::uint32_t>(std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x);
}
std::int64_t keyOf(std::int64_t x) { return x; }

void inferLabelEncoder(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const Attributes& attributes = ctx.attributes();
    const bool floatKeys = needOneOf(ctx, "keys_floats", "keys_int64s");
    const bool floatValues = needOneOf(ctx, "values_floats", "values_int64s");
    if (floatKeys != isFloating(x.dtype))
        ctx.fail("attribute", -1,
                 fmt::format("X holds {}, so give its keys in the attribute {}", name(x.dtype),
                             floatKeys ? "keys_int64s" : "keys_floats"));
    const std::size_t keys = attributes.numbers(floatKeys ? "keys_floats" : "keys_int64s").size();
    const std::size_t values = attributes.numbers(floatValues ? "values_floats" : "values_int64s").size();
    if (keys != values)
        ctx.fail("attribute", -1, fmt::format("there are {} keys, but {} values", keys, values));
    ctx.output(0, {floatValues ? DType::f32 : DType::i64, x.shape});
}

void labelEncoderKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    std::vector<std::int64_t> keys = integersOrNone(ctx.attributes, "keys_int64s");
    for (const double key : numbersOrNone(ctx.attributes, "keys_floats"))
        keys.push_back(keyOf(element::cast<float>(key)));
    const Places places = placesOf(keys);
    const auto map = [&](auto from, const auto& values, auto otherwise) {
        using In = decltype(from);
        using Out = decltype(otherwise);
        mapElements<In, Out>(in, out, [&](In x) {
            const auto place = places.find(keyOf(x));
            return place == places.end() ? otherwise : element::cast<Out>(values[place->second]);
        });
    };
    const auto mapTo = [&](const auto& values, auto otherwise) {
        if (in.dtype == DType::f32)
            map(float{}, values, otherwise);
        else
            map(std::int64_t{}, values, otherwise);
    };
    if (out.dtype == DType::f32)
        mapTo(ctx.attributes.numbers("values_floats"),
              element::cast<float>(ctx.attributes.number("default_float")));
    else
        mapTo(ctx.attributes.integers("values_int64s"), ctx.attributes.integer("default_int64"));
}

} // namespace

void addMlEncoders(std::vector<Op>& table) {
    Op oneHot = makeMlOp("OneHotEncoder", 1, "One-hot vector of each element's category",
                         "Yᵢⱼ = [Xᵢ = categoryⱼ]", kMlTypes, DTypeSet{DType::f32});
    oneHot.attributes = {
        integersAttribute("cats_int64s", "The categories; floats are truncated before the lookup"),
        flagAttribute("zeros", true, "Encode unknown values as zeros; otherwise they are an error")};
    oneHot.attributes[0].required = true;
    oneHot.infer = inferOneHotEncoder;
    oneHot.kernel = oneHotEncoderKernel;
    oneHot.noGradient = "compares its input with categories";
    table.push_back(std::move(oneHot));

    constexpr DTypeSet kLabels{DType::f32, DType::i64};
    Op label = makeMlOp("LabelEncoder", 2, "Replaces each element by the value of its key",
                        "Yᵢ = values[keys⁻¹[Xᵢ]]", kLabels, kLabels);
    label.attributes = {integersAttribute("keys_int64s", "Keys for an X of i64"),
                        numbersAttribute("keys_floats", "Keys for an X of f32; NaN may be a key"),
                        integersAttribute("values_int64s", "One value per key, for an i64 result"),
                        numbersAttribute("values_floats", "One value per key, for an f32 result"),
                        integerAttribute("default_int64", -1, "Value for unknown keys in an i64 result"),
                        numberAttribute("default_float", -0.0, "Value for unknown keys in an f32 result")};
    label.infer = inferLabelEncoder;
    label.kernel = labelEncoderKernel;
    label.noGradient = "looks up labels";
    table.push_back(std::move(label));

    describe(table, "OneHotEncoder", "X [x…] → Y [x…, categories]", {operand({3}, {0, 1, 2}, DType::i64)},
             {{"cats_int64s", Integers{0, 1, 2}}});
    describe(table, "LabelEncoder", "Y has the shape of X", {operand({4}, {1, 2, 3, 1}, DType::i64)},
             {{"keys_int64s", Integers{1, 2, 3}}, {"values_int64s", Integers{10, 20, 30}}});
}

} // namespace twb
