#include "backends/cpu/dense_input.h"
#include "backends/cpu/elementwise.h"
#include "backends/cpu/parallel.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/ml_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

// The ops of ai.onnx.ml that prepare features for a model.

namespace twb {
namespace {

constexpr DTypeSet kFloat{DType::f32};

/// Calls f(i, c) for each element with its index i and its index c along the last axis.
template <class F> void eachFeature(const Shape& shape, const F& f) {
    const std::int64_t columns = shape.rank() == 0 ? 1 : columnsOf(shape);
    const std::int64_t total = shape.elementCount();
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        auto c = static_cast<std::size_t>(begin % columns);
        for (std::int64_t i = begin; i < end; ++i) {
            f(i, c);
            if (++c == static_cast<std::size_t>(columns)) c = 0;
        }
    });
}

/// The list for eachFeature. A list of one entry applies to all features.
template <class V> std::vector<V> perFeature(std::vector<V> list, V otherwise, const Shape& shape) {
    const std::int64_t columns = shape.rank() == 0 ? 1 : columnsOf(shape);
    if (list.size() <= 1)
        list.assign(static_cast<std::size_t>(columns), list.empty() ? otherwise : list.front());
    return list;
}

// Binarizer

void binarizerKernel(const KernelContext& ctx) {
    const double threshold = ctx.attributes.number("threshold");
    withMatrixType(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T>) {
            // x > threshold is equivalent to x > ⌊threshold⌋, which may be out of T's range. Nothing is
            // greater than NaN.
            const double whole =
                std::isnan(threshold) ? std::numeric_limits<double>::infinity() : std::floor(threshold);
            const bool all = whole < static_cast<double>(std::numeric_limits<T>::min());
            const T least = element::cast<T>(whole);
            mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], [=](T x) { return T(all || x > least); });
        } else {
            const auto least = element::cast<T>(threshold);
            mapElements<T, T>(ctx.inputs[0], ctx.outputs[0], [=](T x) { return T(x > least); });
        }
    });
}

// Scaler

void inferScaler(InferContext& ctx) {
    const std::size_t offsets = numbersOrNone(ctx.attributes(), "offset").size();
    const std::size_t scales = numbersOrNone(ctx.attributes(), "scale").size();
    needPerFeature(ctx, "offset", offsets);
    needPerFeature(ctx, "scale", scales);
    if (offsets != scales && offsets > 0 && scales > 0)
        ctx.fail("attribute", -1,
                 fmt::format("offset and scale must have the same number of entries, but have {} and {}",
                             offsets, scales));
    ctx.output(0, {DType::f32, ctx.input(0)->shape});
}

void scalerKernel(const KernelContext& ctx) {
    const DenseInput in(ctx.inputs[0]);
    const TensorView& out = ctx.outputs[0];
    const std::vector<double> offset = perFeature(numbersOrNone(ctx.attributes, "offset"), 0.0, out.shape);
    const std::vector<double> scale = perFeature(numbersOrNone(ctx.attributes, "scale"), 1.0, out.shape);
    withMatrixType(in.view().dtype, [&](auto zero) {
        const auto* const x = in.as<decltype(zero)>();
        auto* const y = out.as<float>();
        eachFeature(out.shape, [&](std::int64_t i, std::size_t c) {
            y[i] = element::cast<float>((static_cast<double>(x[i]) - offset[c]) * scale[c]);
        });
    });
}

void scalerGradient(GradientContext& g) {
    const std::vector<double> scale = numbersOrNone(g.attributes(), "scale");
    const auto count = static_cast<std::int64_t>(scale.size());
    const GraphTensor dx = scale.empty()
                               ? g.gradient()
                               : g.gradient() * constant(g, g.gradient().type().dtype,
                                                         count == 1 ? Shape() : Shape{count}, scale);
    g.give(0, cast(dx, g.input().type().dtype));
}

// Normalizer

/// The divisor of a row. For L1, ONNX's document sums X, but all implementations sum |X|, which is the L1
/// norm. For MAX, the document takes the largest X with its sign.
template <class T> double normOf(const T* row, std::int64_t columns, const std::string& norm) {
    double most = -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
        const auto x = static_cast<double>(row[c]);
        if (norm == "MAX")
            most = x > most || std::isnan(x) ? x : most; // NaN compares false with everything and stays
        else
            sum += norm == "L1" ? std::abs(x) : x * x;
    }
    return norm == "MAX" ? most : norm == "L1" ? sum : std::sqrt(sum);
}

void inferNormalizer(InferContext& ctx) {
    needRows(ctx);
    ctx.output(0, {DType::f32, ctx.input(0)->shape});
}

void normalizerKernel(const KernelContext& ctx) {
    const DenseInput in(ctx.inputs[0]);
    const TensorView& out = ctx.outputs[0];
    const std::int64_t columns = columnsOf(out.shape);
    const std::string& norm = ctx.attributes.text("norm");
    withMatrixType(in.view().dtype, [&](auto zero) {
        const auto* const x = in.as<decltype(zero)>();
        auto* const y = out.as<float>();
        parallelRanges(
            rowsOf(out.shape), 2 * out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                    const double by = normOf(x + row * columns, columns, norm);
                    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i)
                        y[i] = element::cast<float>(static_cast<double>(x[i]) / (by == 0 ? 1 : by));
                }
            });
    });
}

/// Normalizer by simpler ops.
std::vector<GraphTensor> normalized(GradientContext& g) {
    const GraphTensor x = g.input();
    const std::string& norm = g.attributes().text("norm");
    const GraphTensor by = apply(norm == "MAX"  ? "ReduceMax"
                                 : norm == "L1" ? "ReduceL1"
                                                : "ReduceL2",
                                 {x}, {{"axes", std::vector<std::int64_t>{-1}}, {"keepdims", true}});
    return {cast(x / where(isEqual(by, 0), 1, by), DType::f32)};
}

// Imputer

void inferImputer(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    const bool floats = needOneOf(ctx, "imputed_value_floats", "imputed_value_int64s");
    if (floats != isFloating(x.dtype))
        ctx.fail("attribute", -1,
                 fmt::format("X holds {}, so give the imputed values in {}", name(x.dtype),
                             floats ? "imputed_value_int64s" : "imputed_value_floats"));
    if (floats)
        needPerFeature(ctx, "imputed_value_floats", ctx.attributes().numbers("imputed_value_floats").size());
    else {
        const std::vector<std::int64_t> values = ctx.attributes().integers("imputed_value_int64s");
        needPerFeature(ctx, "imputed_value_int64s", values.size());
        for (const std::int64_t value : values)
            if (x.dtype == DType::i32 && static_cast<std::int32_t>(value) != value)
                ctx.fail("attribute", -1,
                         fmt::format("imputed_value_int64s has {}, which does not fit in i32", value));
    }
    ctx.output(0, x);
}

void imputerKernel(const KernelContext& ctx) {
    const DenseInput in(ctx.inputs[0]);
    const TensorView& out = ctx.outputs[0];
    const auto replace = [&](auto zero, const auto& values, const auto& isReplaced) {
        using T = decltype(zero);
        const T* const x = in.as<T>();
        T* const y = out.as<T>();
        eachFeature(out.shape, [&](std::int64_t i, std::size_t c) {
            y[i] = isReplaced(x[i]) ? static_cast<T>(values[c]) : x[i];
        });
    };
    withMatrixType(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            const auto replaced = element::cast<T>(ctx.attributes.number("replaced_value_float"));
            replace(zero, perFeature(ctx.attributes.numbers("imputed_value_floats"), 0.0, out.shape),
                    [=](T x) { return x == replaced || (std::isnan(x) && std::isnan(replaced)); });
        } else {
            const std::int64_t replaced = ctx.attributes.integer("replaced_value_int64");
            replace(zero,
                    perFeature(ctx.attributes.integers("imputed_value_int64s"), std::int64_t{0}, out.shape),
                    [=](T x) { return static_cast<std::int64_t>(x) == replaced; });
        }
    });
}

/// A replaced element has no influence.
void imputerGradient(GradientContext& g) {
    const double replaced = g.attributes().number("replaced_value_float");
    const GraphTensor x = g.input();
    g.give(0, where(std::isnan(replaced) ? apply("IsNaN", {x}) : isEqual(x, replaced), 0, g.gradient()));
}

// FeatureVectorizer

void inferFeatureVectorizer(InferContext& ctx) {
    const std::vector<std::int64_t> wanted = integersOrNone(ctx.attributes(), "inputdimensions");
    if (!wanted.empty() && wanted.size() != static_cast<std::size_t>(ctx.inputCount()))
        ctx.fail(
            "attribute", -1,
            fmt::format("inputdimensions has {} entries for {} inputs", wanted.size(), ctx.inputCount()));
    std::int64_t rows = kUnknownDim;
    std::int64_t columns = 0;
    for (int port = 0; port < ctx.inputCount(); ++port) {
        const Shape& shape = ctx.input(port)->shape;
        if (shape.rank() < 1 || shape.rank() > 2)
            ctx.fail("shape-mismatch", port,
                     fmt::format("FeatureVectorizer needs rows of features, [N, C], or one row, [C], but "
                                 "this input has the shape {}",
                                 shape.toTorchString()));
        const std::int64_t own = rowsOf(shape);
        if (rows != kUnknownDim && own != kUnknownDim && own != rows)
            ctx.fail(
                "shape-mismatch", port,
                fmt::format("all inputs must have the same number of rows, but one has {} and this one {}",
                            rows, own));
        if (rows == kUnknownDim) rows = own;
        const std::int64_t width = wanted.empty() ? columnsOf(shape) : wanted[static_cast<std::size_t>(port)];
        if (width == kUnknownDim || columns == kUnknownDim)
            columns = kUnknownDim;
        else if (__builtin_add_overflow(columns, width, &columns))
            ctx.fail("too-large", -1, "the inputs have more features than 64 bits can count");
    }
    ctx.output(0, {DType::f32, {rows, columns}});
}

/// Inputs wider than their entry of inputdimensions are truncated; narrower ones are padded with zeros.
void featureVectorizerKernel(const KernelContext& ctx) {
    const std::vector<std::int64_t> wanted = integersOrNone(ctx.attributes, "inputdimensions");
    const TensorView& out = ctx.outputs[0];
    const std::int64_t columns = out.shape[1];
    std::int64_t first = 0;
    for (std::size_t port = 0; port < ctx.inputs.size(); ++port) {
        const DenseInput in(ctx.inputs[port]);
        const std::int64_t own = columnsOf(in.shape());
        const std::int64_t width = wanted.empty() ? own : wanted[port];
        const std::int64_t taken = std::min(own, width);
        withMatrixType(in.view().dtype, [&](auto zero) {
            const auto* const x = in.as<decltype(zero)>();
            for (std::int64_t row = 0; row < out.shape[0]; ++row) {
                const auto* const from = x + row * own;
                float* const to = out.as<float>() + row * columns + first;
                std::transform(from, from + taken, to, [](auto v) { return element::cast<float>(v); });
                std::fill(to + taken, to + width, 0.0F);
            }
        });
        first += width;
    }
}

void featureVectorizerGradient(GradientContext& g) {
    const std::vector<std::int64_t> wanted = integersOrNone(g.attributes(), "inputdimensions");
    std::int64_t first = 0;
    for (int port = 0; port < g.inputCount(); ++port) {
        const TensorType& type = g.input(port).type();
        const std::int64_t own = columnsOf(type.shape);
        const std::int64_t width = wanted.empty() ? own : wanted[static_cast<std::size_t>(port)];
        GraphTensor part = slice(g.gradient(), 1, first, first + std::min(own, width));
        if (width < own) // features that are not taken
            part = apply("Pad", {part}, {{"pads", std::vector<std::int64_t>{0, 0, 0, own - width}}});
        g.give(port, reshape(cast(part, type.dtype), type.shape));
        first += width;
    }
}

// ArrayFeatureExtractor

void inferArrayFeatureExtractor(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (x.shape.rank() == 0)
        ctx.fail("shape-mismatch", 0, "ArrayFeatureExtractor needs X with an axis to choose along");
    const Shape& indices = ctx.input(1)->shape;
    const std::int64_t count = indices.isKnown() ? indices.elementCount() : kUnknownDim;
    std::vector<std::int64_t> dims(x.shape.begin(), x.shape.end());
    dims.back() = count;
    if (dims.size() == 1) dims.insert(dims.begin(), 1); // one row, as in ONNX's implementations
    ctx.output(0, {x.dtype, Shape(std::move(dims))});
}

void arrayFeatureExtractorKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    const TensorView& out = ctx.outputs[0];
    const int axis = in.shape.rank() - 1;
    const CheckedIndices at(ctx.inputs[1], axis, in.shape[axis]);
    if (out.elementCount() == 0) return;
    const DenseInput dense(in);
    gatherBlocks(dense.as<std::byte>(), out.as<std::byte>(), at.data(), out.elementCount() / at.count(),
                 at.count(), in.shape[axis], 1, sizeOf(in.dtype));
}

/// ArrayFeatureExtractor by simpler ops.
std::vector<GraphTensor> featuresOf(GradientContext& g) {
    const GraphTensor at = g.input(1);
    return {reshape(gather(g.input(0), reshape(at, {at.shape().elementCount()}), -1), g.output().shape())};
}

} // namespace

void addMlFeatures(std::vector<Op>& table) {
    Op binarizer = makeUnary("Binarizer", "Classic ML", 1, "1 where an element is above a threshold, else 0",
                             "Y = X > threshold", kMlTypes, 1, binarizerKernel);
    binarizer.domain = kMlDomain;
    binarizer.attributes = {numberAttribute("threshold", 0, "Threshold")};
    binarizer.gradient = passNoGradient;
    table.push_back(std::move(binarizer));

    Op scaler = makeMlOp("Scaler", 1, "Each feature, less its offset, times its scale",
                         "Y = (X − offset) · scale", kMlTypes, kFloat);
    scaler.attributes = {
        numbersAttribute("offset",
                         "Subtracted first: one per element of the last axis, or one for all; absent: 0"),
        numbersAttribute("scale", "Factor after the subtraction: as many as offset; absent: 1")};
    scaler.tolerance = {1e-6, 1e-30};
    scaler.infer = inferScaler;
    scaler.kernel = scalerKernel;
    scaler.gradient = scalerGradient;
    table.push_back(std::move(scaler));

    Op normalizer = makeMlOp("Normalizer", 1, "Rows divided by their norm; a row of norm 0 stays as it is",
                             "Y = X / ‖X‖", kMlTypes, kFloat);
    normalizer.attributes = {choiceAttribute("norm", "MAX", {"MAX", "L1", "L2"},
                                             "MAX: the largest element; L1: Σ |X|; L2: √ Σ X²")};
    normalizer.tolerance = {1e-6, 1e-30};
    normalizer.infer = inferNormalizer;
    normalizer.kernel = normalizerKernel;
    normalizer.gradient = [](GradientContext& g) { differentiate(g, normalized); };
    table.push_back(std::move(normalizer));

    Op imputer = makeMlOp("Imputer", 1, "Replaces the value that means \"missing\"",
                          "Y = X = replaced ? imputed : X", kMlTypes, kMlTypes);
    imputer.inputs[0].typeVariable = imputer.outputs[0].typeVariable = "T";
    imputer.attributes = {
        numbersAttribute("imputed_value_floats",
                         "Replacements in floats: one per element of the last axis, or one for all"),
        integersAttribute("imputed_value_int64s",
                          "Replacements in integers: one per element of the last axis, or one for all"),
        numberAttribute("replaced_value_float", 0, "Value to replace in floats; NaN replaces NaNs"),
        integerAttribute("replaced_value_int64", 0, "Value to replace in integers")};
    imputer.infer = inferImputer;
    imputer.kernel = imputerKernel;
    imputer.gradient = imputerGradient;
    table.push_back(std::move(imputer));

    Op vectorizer = makeMlOp("FeatureVectorizer", 1, "The features of all inputs side by side, as f32",
                             "Y = [X₀ X₁ …]", kMlTypes, kFloat);
    vectorizer.inputs = {variadicPort("X", "inputs", kMlTypes, "T1")};
    vectorizer.attributes = {integersAttribute(
        "inputdimensions", "Features to take of each input, missing ones as 0; absent: all")};
    vectorizer.attributes[0].minimum = 0;
    vectorizer.infer = inferFeatureVectorizer;
    vectorizer.kernel = featureVectorizerKernel;
    vectorizer.gradient = featureVectorizerGradient;
    table.push_back(std::move(vectorizer));

    Op extractor = makeMlOp("ArrayFeatureExtractor", 1, "Chosen features: elements along the last axis",
                            "Zᵢ = X[…, Yᵢ]", kMlTypes, kMlTypes);
    extractor.inputs[0].typeVariable = extractor.outputs[0].typeVariable = "T";
    extractor.inputs.push_back(port("Y", "index", DTypeSet{DType::i64}));
    extractor.outputs[0].name = "Z";
    extractor.infer = inferArrayFeatureExtractor;
    extractor.cost = gatherCost;
    extractor.kernel = arrayFeatureExtractorKernel;
    extractor.gradient = [](GradientContext& g) { differentiate(g, featuresOf); };
    table.push_back(std::move(extractor));

    describe(table, "Binarizer", "Y has the shape of X");
    describe(table, "Scaler", "Y has the shape of X; offset and scale have one entry, or one per feature", {},
             {{"offset", Doubles{0.5}}, {"scale", Doubles{2.0}}});
    describe(table, "Normalizer", "X [n, features] → Y [n, features]", {}, {{"norm", std::string("L2")}});
    describe(table, "Imputer", "Y has the shape of X; one imputed value, or one per feature",
             {operand({4}, {1.0, 0.0, 2.0, 0.0})}, {{"imputed_value_floats", Doubles{9.0}}});
    describe(table, "FeatureVectorizer", "X₀ [n, a], X₁ [n, b], … → Y [n, a + b + …]",
             {operand({3, 2}), operand({3, 1})}, {{"inputdimensions", Integers{2, 1}}});
    describe(table, "ArrayFeatureExtractor", "X […, f] · Y [k] → Z […, k]",
             {operand({3, 4}), operand({2}, {0, 2}, DType::i64)});
}

} // namespace twb
