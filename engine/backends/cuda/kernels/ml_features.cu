#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/indices.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/uploaded.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/ml_schema.h"

#include <algorithm>
#include <cmath>
#include <limits>

// The ops of ai.onnx.ml that prepare features for a model.

namespace twb::cuda {
namespace {

std::int64_t featuresOf(const Shape& shape) { return shape.rank() == 0 ? 1 : columnsOf(shape); }

/// A list with one entry per feature, or a single entry for all.
template <class T> struct PerFeature {
    const T* values; ///< null: `otherwise`
    std::int64_t count;
    T otherwise;
    Divide columns;

    PerFeature(const Uploaded<T>& list, T standard, const Shape& shape)
        : values(list.data()), count(list.size()), otherwise(standard),
          columns(std::max<std::int64_t>(featuresOf(shape), 1), shape.elementCount()) {}
    /// The entry for element `i`.
    TWB_HOST_DEVICE T operator[](std::int64_t i) const {
        if (!values) return otherwise;
        return values[count == 1 ? 0 : i - columns(i) * columns.divisor()];
    }
};

/// x > threshold is equivalent to x > ⌊threshold⌋ for integers, which may be out of T's range.
template <class T> struct IsAbove {
    T least;
    bool all;
    TWB_HOST_DEVICE T operator()(T x) const { return T(all || x > least); }
};

void binarizerKernel(const KernelCall& call) {
    const double threshold = call.attributes.number("threshold");
    withMatrixType(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        IsAbove<T> isAbove{element::cast<T>(threshold), false};
        if constexpr (std::is_integral_v<T>) {
            // Nothing is greater than NaN.
            const double whole =
                std::isnan(threshold) ? std::numeric_limits<double>::infinity() : std::floor(threshold);
            isAbove = {element::cast<T>(whole), whole < static_cast<double>(std::numeric_limits<T>::min())};
        }
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], isAbove);
    });
}

template <class T> struct Scale {
    const T* x;
    float* y;
    PerFeature<double> offset, scale;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        y[i] = element::cast<float>((static_cast<double>(x[i]) - offset[i]) * scale[i]);
    }
};

void scalerKernel(const KernelCall& call) {
    const DenseView in(call.queue, call.inputs[0]);
    const Shape& shape = call.outputs[0].shape;
    const Uploaded<double> offset(call.queue, numbersOrNone(call.attributes, "offset"));
    const Uploaded<double> scale(call.queue, numbersOrNone(call.attributes, "scale"));
    withMatrixType(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, shape.elementCount(),
                Scale<T>{in.as<T>(), call.outputs[0].as<float>(), {offset, 0, shape}, {scale, 1, shape}});
    });
}

enum class RowNorm : std::uint8_t { most, l1, l2 };

/// NaN compares false with everything and stays.
struct KeepMost {
    TWB_HOST_DEVICE void merge(double& state, double x) const { state = x > state || x != x ? x : state; }
};

template <class T> struct NormalizeRow {
    const T* x;
    float* y;
    std::int64_t columns;
    RowNorm norm;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const T* const from = x + row * columns;
        double state = norm == RowNorm::most ? -std::numeric_limits<double>::infinity() : 0;
        for (std::int64_t c = team.index(); c < columns; c += team.size()) {
            const auto value = static_cast<double>(from[c]);
            if (norm == RowNorm::most)
                KeepMost{}.merge(state, value);
            else
                state += norm == RowNorm::l1 ? std::fabs(value) : value * value;
        }
        state = norm == RowNorm::most ? team.merged(KeepMost{}, state) : team.merged(AddStates{}, state);
        const double by = norm == RowNorm::l2 ? std::sqrt(state) : state;
        for (std::int64_t c = team.index(); c < columns; c += team.size())
            y[row * columns + c] = element::cast<float>(static_cast<double>(from[c]) / (by == 0 ? 1 : by));
    }
};

void normalizerKernel(const KernelCall& call) {
    const DenseView in(call.queue, call.inputs[0]);
    const TensorView& out = call.outputs[0];
    const std::int64_t columns = columnsOf(out.shape);
    const std::string& name = call.attributes.text("norm");
    const RowNorm norm = name == "MAX" ? RowNorm::most : name == "L1" ? RowNorm::l1 : RowNorm::l2;
    withMatrixType(in.view().dtype, [&](auto zero) {
        using T = decltype(zero);
        forEachRow(call.queue, rowsOf(out.shape), columns,
                   NormalizeRow<T>{in.as<T>(), out.as<float>(), columns, norm});
    });
}

template <class T> struct Impute {
    const T* x;
    T* y;
    T replaced;
    PerFeature<T> imputed;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const bool isReplaced = x[i] == replaced || (x[i] != x[i] && replaced != replaced);
        y[i] = isReplaced ? imputed[i] : x[i];
    }
};

void imputerKernel(const KernelCall& call) {
    const DenseView in(call.queue, call.inputs[0]);
    const TensorView& out = call.outputs[0];
    withMatrixType(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto run = [&](const auto& values, T replaced) {
            std::vector<T> list;
            for (const auto value : values) list.push_back(static_cast<T>(value));
            const Uploaded<T> imputed(call.queue, list);
            forEach(call.queue, out.elementCount(),
                    Impute<T>{in.as<T>(), out.as<T>(), replaced, {imputed, T{}, out.shape}});
        };
        if constexpr (std::is_floating_point_v<T>) {
            run(call.attributes.numbers("imputed_value_floats"),
                element::cast<T>(call.attributes.number("replaced_value_float")));
        } else {
            const std::int64_t replaced = call.attributes.integer("replaced_value_int64");
            // A value out of T's range does not occur in the input.
            if (static_cast<std::int64_t>(static_cast<T>(replaced)) != replaced)
                return copyView(call.queue, in.view(), out);
            run(call.attributes.integers("imputed_value_int64s"), static_cast<T>(replaced));
        }
    });
}

/// Copies the rows of one input into the result, truncated or padded with zeros.
template <class T> struct PlaceFeatures {
    const T* x;
    float* y; ///< starts at the input's first column
    std::int64_t own, width, columns;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / width;
        const std::int64_t c = i - row * width;
        y[row * columns + c] = c < own ? element::cast<float>(x[row * own + c]) : 0.0F;
    }
};

void featureVectorizerKernel(const KernelCall& call) {
    const std::vector<std::int64_t> wanted = integersOrNone(call.attributes, "inputdimensions");
    const TensorView& out = call.outputs[0];
    float* to = out.as<float>();
    for (std::size_t port = 0; port < call.inputs.size(); ++port) {
        const DenseView in(call.queue, call.inputs[port]);
        const std::int64_t own = columnsOf(in.shape());
        const std::int64_t width = wanted.empty() ? own : wanted[port];
        withMatrixType(in.view().dtype, [&](auto zero) {
            using T = decltype(zero);
            forEach(call.queue, out.shape[0] * width,
                    PlaceFeatures<T>{in.as<T>(), to, own, width, out.shape[1]});
        });
        to += width;
    }
}

template <class T> struct TakeFeatures {
    const T* x;
    T* out;
    IndexView<std::int64_t> at;
    std::int64_t count, size;
    int axis;
    Fault* fault;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / count;
        const std::int64_t index = at.checked(i - row * count, size, axis, fault);
        if (index >= 0) out[i] = x[row * size + index];
    }
};

void arrayFeatureExtractorKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const int axis = in.shape.rank() - 1;
    if (out.elementCount() == 0) return checkIndices(call.queue, call.inputs[1], axis, in.shape[axis]);
    const DenseView x(call.queue, in);
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                TakeFeatures<T>{x.as<T>(),
                                out.as<T>(),
                                {walkOf(call.inputs[1]), call.inputs[1].as<const std::int64_t>()},
                                call.inputs[1].elementCount(),
                                in.shape[axis],
                                axis,
                                call.queue.fault()});
    });
}

} // namespace

void addMlFeatureKernels(KernelMap& table) {
    add(table, "Binarizer", binarizerKernel);
    add(table, "Scaler", scalerKernel);
    add(table, "Normalizer", normalizerKernel);
    add(table, "Imputer", imputerKernel);
    add(table, "FeatureVectorizer", featureVectorizerKernel);
    add(table, "ArrayFeatureExtractor", arrayFeatureExtractorKernel);
}

} // namespace twb::cuda
