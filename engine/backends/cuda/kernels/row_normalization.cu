#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/row_moments.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace twb::cuda {
namespace {

// LayerNormalization and RMSNormalization. A row is all elements behind one index of the axes before `axis`.

/// The axes of `view`, which broadcasts to `rank` axes, from axis `first` on; with `before`, the axes before
/// it.
TensorView axesOf(const TensorView& view, int rank, int first, bool before) {
    const int own = view.shape.rank();
    const int cut = std::max(own - (rank - first), 0);
    const auto part = [&](const auto& all) {
        return std::vector<std::int64_t>(all.begin() + (before ? 0 : cut),
                                         before ? all.begin() + cut : all.end());
    };
    return {view.data, view.dtype, Shape(part(view.shape.dims())), part(view.strides)};
}

/// The indices of the factors among the tensors of a Rows.
constexpr int kScale = 1;
constexpr int kBias = 2;

/// `scale` and `bias` may be empty.
template <class T, class V>
Rows<T, V, 4> rowsOf(const KernelCall& call, const TensorView& scale, const TensorView& bias) {
    const TensorView& x = call.inputs[0];
    const TensorView& y = call.outputs[0];
    const int rank = x.shape.rank();
    const int first = *normalizeAxis(call.attributes.integer("axis"), std::max(rank, 1));
    const auto walk = [&](bool before) {
        const auto part = [&](const TensorView& view) { return axesOf(view, rank, first, before); };
        const TensorView all[] = {part(x), part(scale.data ? scale : x), part(bias.data ? bias : x), part(y)};
        return walkOf<4>(all[0].shape, {&all[0], &all[1], &all[2], &all[3]});
    };
    return {x.as<const T>(), y.as<V>(), walk(true), walk(false)};
}

/// Stores LayerNormalization's moments of each row as f32 or bf16, if they are requested.
struct Stash {
    void* data;
    bool isShort;
    TWB_HOST_DEVICE void operator()(std::int64_t i, double value) const {
        const auto x = static_cast<float>(value);
        if (data && isShort)
            static_cast<BFloat16*>(data)[i] = BFloat16(x);
        else if (data)
            static_cast<float*>(data)[i] = x;
    }
};

template <class T> struct LayerNormalize : MeasureMoments {
    using W = Wide<T>;
    const T *scale, *bias; ///< may be null
    double epsilon;
    Stash means, inverses;

    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group& team, Elements& elements, const Place& place,
                                 const Moments& m) const {
        const double inverse = 1 / std::sqrt(m.variance() + epsilon);
        if (team.isFirst() && elements.begin() == 0) {
            means(place.index, m.mean);
            inverses(place.index, inverse);
        }
        const FromMean<W> fromMean(m.mean);
        const auto factor = static_cast<W>(inverse);
        const bool isScaled = scale != nullptr;
        elements.rewrite(
            [&](W x, std::int64_t, W times, W plus) {
                const W normalized = fromMean(x) * factor;
                return (isScaled ? normalized * times : normalized) + plus;
            },
            place.factor(scale, kScale), place.factor(bias, kBias));
    }
};

template <class T, class V> struct RmsNormalize {
    using W = Wide<T>;
    using State = double; ///< the sum of squares
    const V* scale;
    std::int64_t length;
    double epsilon;

    TWB_HOST_DEVICE void merge(double& state, double other) const { state += other; }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE double measure(const Group& team, Elements& elements, const Place&) const {
        double squares = 0;
        elements.each([&](const auto& part, std::int64_t) {
            for (const W x : part) squares += static_cast<double>(x) * static_cast<double>(x);
        });
        return team.merged(AddStates{}, squares);
    }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place& place, double squares) const {
        const auto factor = static_cast<W>(1 / std::sqrt(squares / static_cast<double>(length) + epsilon));
        elements.rewrite(
            [&](W x, std::int64_t, Wide<V> times) { return static_cast<Wide<V>>(x * factor) * times; },
            place.factor(scale, kScale));
    }
};

void layerNormalizationKernel(const KernelCall& call) {
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const TensorView scale = call.input(1);
        const TensorView bias = call.input(2);
        const auto stash = [&](std::size_t i) {
            return call.isAsked(i) ? Stash{call.outputs[i].data, call.outputs[i].dtype == DType::bf16}
                                   : Stash{};
        };
        rewriteRows(call.queue, rowsOf<T, T>(call, scale, bias),
                    LayerNormalize<T>{{},
                                      scale.as<const T>(),
                                      bias.as<const T>(),
                                      call.attributes.number("epsilon"),
                                      stash(1),
                                      stash(2)});
    });
}

void rmsNormalizationKernel(const KernelCall& call) {
    withStoredFloat(call.inputs[0].dtype, [&](auto x) {
        withStoredFloat(call.outputs[0].dtype, [&](auto y) {
            using T = decltype(x);
            using V = decltype(y);
            const auto rows = rowsOf<T, V>(call, call.inputs[1], TensorView{});
            rewriteRows(call.queue, rows,
                        RmsNormalize<T, V>{call.inputs[1].as<const V>(), rows.length(),
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
