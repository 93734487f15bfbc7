#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/rows.h"

#include <cmath>

namespace twb::cuda {
namespace {

// LayerNormalization and RMSNormalization: rows are what stands behind one index of the axes before `axis`.

struct RowSizes {
    std::int64_t count = 1, length = 1;
    RowSizes(const Shape& shape, std::int64_t axis) {
        const int first = *normalizeAxis(axis, std::max(shape.rank(), 1));
        for (int i = 0; i < shape.rank(); ++i) (i < first ? count : length) *= shape[i];
    }
};

/// The result, an input and factors of its shape or broadcast to it, by their row-major index.
template <class T, class V> struct RowTensors {
    Walk<3> walk; ///< x, scale, bias
    const T* x;
    const V *scale, *bias; ///< bias may be null
    V* y;
    std::int64_t length;

    TWB_HOST_DEVICE auto at(std::int64_t row, std::int64_t i) const {
        return widened(x[walk.at(row * length + i)[0]]);
    }
};

TWB_HOST_DEVICE inline void store(float* to, std::int64_t i, float value) { to[i] = value; }
TWB_HOST_DEVICE inline void store(BFloat16* to, std::int64_t i, float value) { to[i] = BFloat16(value); }

template <class T, class Stash> struct LayerNormalize {
    RowTensors<T, T> t;
    double epsilon;
    Stash *means, *inverses; ///< each may be null
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        using W = Wide<T>;
        const Moments m = momentsOf(team, t.length, [&](std::int64_t i) { return t.at(row, i); });
        const double inverse = 1 / std::sqrt(m.variance + epsilon);
        if (team.isFirst() && means) store(means, row, static_cast<float>(m.mean));
        if (team.isFirst() && inverses) store(inverses, row, static_cast<float>(inverse));
        const W mean = static_cast<W>(m.mean);
        const W factor = static_cast<W>(inverse);
        for (std::int64_t i = team.index(); i < t.length; i += team.size()) {
            const auto place = t.walk.at(row * t.length + i);
            W y = (widened(t.x[place[0]]) - mean) * factor * widened(t.scale[place[1]]);
            if (t.bias) y += widened(t.bias[place[2]]);
            t.y[row * t.length + i] = stored<T>(y);
        }
    }
};

template <class T, class V> struct RmsNormalize {
    RowTensors<T, V> t;
    double epsilon;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        double squares = 0;
        for (std::int64_t i = team.index(); i < t.length; i += team.size()) {
            const auto x = static_cast<double>(t.at(row, i));
            squares += x * x;
        }
        const double mean = team.merged(AddStates{}, squares) / static_cast<double>(t.length);
        const auto factor = static_cast<Wide<T>>(1 / std::sqrt(mean + epsilon));
        for (std::int64_t i = team.index(); i < t.length; i += team.size()) {
            const auto place = t.walk.at(row * t.length + i);
            t.y[row * t.length + i] =
                stored<V>(static_cast<Wide<V>>(widened(t.x[place[0]]) * factor) * widened(t.scale[place[1]]));
        }
    }
};

template <class T, class V>
RowTensors<T, V> tensorsOf(const KernelCall& call, const TensorView& bias, std::int64_t length) {
    const TensorView& x = call.inputs[0];
    const TensorView& scale = call.inputs[1];
    return {walkOf<3>(x.shape, {&x, &scale, bias.data ? &bias : &scale}),
            x.as<const T>(),
            scale.as<const V>(),
            bias.as<const V>(),
            call.outputs[0].as<V>(),
            length};
}

void layerNormalizationKernel(const KernelCall& call) {
    const RowSizes rows(call.inputs[0].shape, call.attributes.integer("axis"));
    const double epsilon = call.attributes.number("epsilon");
    if (rows.length == 0) return;
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const auto tensors = tensorsOf<T, T>(call, call.input(2), rows.length);
        const auto stash = [&](std::size_t i) { return call.isAsked(i) ? call.outputs[i].data : nullptr; };
        const bool isShort = (call.isAsked(1) && call.outputs[1].dtype == DType::bf16) ||
                             (call.isAsked(2) && call.outputs[2].dtype == DType::bf16);
        if (isShort)
            forEachRow(call.queue, rows.count, rows.length,
                       LayerNormalize<T, BFloat16>{tensors, epsilon, static_cast<BFloat16*>(stash(1)),
                                                   static_cast<BFloat16*>(stash(2))});
        else
            forEachRow(call.queue, rows.count, rows.length,
                       LayerNormalize<T, float>{tensors, epsilon, static_cast<float*>(stash(1)),
                                                static_cast<float*>(stash(2))});
    });
}

void rmsNormalizationKernel(const KernelCall& call) {
    const RowSizes rows(call.inputs[0].shape, call.attributes.integer("axis"));
    if (rows.length == 0) return;
    withStoredFloat(call.inputs[0].dtype, [&](auto x) {
        withStoredFloat(call.outputs[0].dtype, [&](auto y) {
            using T = decltype(x);
            using V = decltype(y);
            forEachRow(call.queue, rows.count, rows.length,
                       RmsNormalize<T, V>{tensorsOf<T, V>(call, TensorView{}, rows.length),
                                          call.attributes.number("epsilon")});
        });
    });
}

} // namespace

void addRowNormalizationKernels(KernelMap& table) {
    add(table, "LayerNormalization", layerNormalizationKernel);
    add(table, "RMSNormalization", rmsNormalizationKernel);
}

} // namespace twb::cuda
