#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/row_moments.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/planes.h"

#include <cmath>
#include <limits>

namespace twb::cuda {
namespace {

// BatchNormalization

/// A factor and a summand for each channel.
template <class W> struct ChannelFactors {
    const double *scale, *bias, *mean, *variance;
    double epsilon;
    W *factor, *added;
    TWB_HOST_DEVICE void operator()(std::int64_t c) const {
        const double times = scale[c] / std::sqrt(variance[c] + epsilon);
        factor[c] = static_cast<W>(times);
        added[c] = static_cast<W>(bias[c] - mean[c] * times);
    }
};

/// Each thread computes one pack of the result, which is dense.
template <class T> struct ScaleChannels {
    static constexpr int V = kPackOf<T>;
    using W = Wide<T>;
    Walk<1> walk;
    const T* in;
    T* out;
    const W *factor, *added;
    Divide size, channels;

    /// The factors of consecutive elements.
    struct Factors {
        const ScaleChannels* all;
        std::int64_t place, c;
        W times, plus;
        TWB_HOST_DEVICE Factors(const ScaleChannels& of, std::int64_t i) : all(&of) {
            const std::int64_t plane = of.size(i);
            place = i - plane * of.size.divisor();
            c = plane - of.channels(plane) * of.channels.divisor();
            load();
        }
        TWB_HOST_DEVICE void load() {
            times = all->factor[c];
            plus = all->added[c];
        }
        TWB_HOST_DEVICE void next() {
            if (++place < all->size.divisor()) return;
            place = 0;
            c = c + 1 < all->channels.divisor() ? c + 1 : 0;
            load();
        }
    };

    TWB_HOST_DEVICE void operator()(std::int64_t pack) const {
        const std::int64_t first = pack * V;
        Factors factors(*this, first);
        if (isOneRow<V>(walk, first)) {
            const auto x = loadPack<T, V>(in + walk.at(first)[0], walk.innerStride(0));
            Pack<T, V> y;
            TWB_UNROLLED
            for (int v = 0; v < V; ++v, factors.next())
                y.values[v] = stored<T>(widened(x.values[v]) * factors.times + factors.plus);
            if (isPackAligned<T, V>(out + first))
                storeAtOnce(out + first, y);
            else
                storePack<T, V>(out + first, 1, y);
            return;
        }
        TWB_ROLLED
        for (std::int64_t i = first; i < first + V && i < walk.total; ++i, factors.next())
            out[i] = stored<T>(widened(in[walk.at(i)[0]]) * factors.times + factors.plus);
    }
};

/// The moments of this batch, and the updated running moments.
struct ChannelMoments {
    const Moments* parts; ///< `count` parts per channel, `channels` apart
    std::int64_t count, channels;
    double momentum;
    double *mean, *variance, *runningMean, *runningVariance;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t c) const {
        Moments m;
        for (std::int64_t i = team.index(); i < count; i += team.size())
            MergeMoments{}.merge(m, parts[i * channels + c]);
        m = team.merged(MergeMoments{}, m);
        if (!team.isFirst()) return;
        mean[c] = m.count > 0 ? m.mean : std::numeric_limits<double>::quiet_NaN();
        variance[c] = m.variance();
        runningMean[c] = runningMean[c] * momentum + mean[c] * (1 - momentum);
        runningVariance[c] = runningVariance[c] * momentum + variance[c] * (1 - momentum);
    }
};

/// `means` has space for the mean, variance and running moments of each channel.
template <class T> void measureChannels(const KernelCall& call, const Planes& p, double* means) {
    const TensorView& x = call.inputs[0];
    std::array<bool, kMaxRank> along{};
    for (int axis = 0; axis < x.shape.rank(); ++axis) along[static_cast<std::size_t>(axis)] = axis != 1;
    Rows<T> rows = rowsAlong<T>(x, x, along);
    // Measures planes separately if those of a channel are not contiguous, unless they are small.
    const bool byPlane = rows.row.rank > 1 && p.size >= 64;
    if (byPlane) {
        along[0] = false;
        rows = rowsAlong<T>(x, x, along);
    }
    const RowCut cut(call.queue, rows);
    const Scratch parts(call.queue, static_cast<std::size_t>(rows.kept.total) * sizeof(Moments));
    measureRows(call.queue, rows, cut, MeasureMoments{}, parts.as<Moments>());
    const std::int64_t count = byPlane ? p.batch : 1;
    forEachRow(call.queue, p.channels, count,
               ChannelMoments{parts.as<Moments>(), count, p.channels, call.attributes.number("momentum"),
                              means, means + p.channels, means + 2 * p.channels, means + 3 * p.channels});
}

void batchNormalizationKernel(const KernelCall& call) {
    const TensorView& x = call.inputs[0];
    const TensorView& y = call.outputs[0];
    const Planes p(x.shape);
    const auto count = static_cast<std::size_t>(p.channels);
    // Mean, variance, running mean, running variance, factor and summand, each in the space of doubles.
    const Scratch memory(call.queue, 6 * count * sizeof(double));
    const auto part = [&](std::size_t i) { return memory.as<double>() + i * count; };
    const auto view = [&](std::size_t i) { return TensorView{part(i), DType::f64, Shape{p.channels}, {1}}; };
    for (std::size_t i : {0, 1}) {
        convertView(call.queue, call.inputs[3 + i], view(i));
        convertView(call.queue, call.inputs[3 + i], view(2 + i));
    }
    const ConvertedView scale(call.queue, DType::f64, call.inputs[1]);
    const ConvertedView bias(call.queue, DType::f64, call.inputs[2]);
    withStoredFloat(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        using W = Wide<T>;
        if (call.attributes.flag("training_mode")) measureChannels<T>(call, p, part(0));
        auto* const factor = reinterpret_cast<W*>(part(4));
        auto* const added = reinterpret_cast<W*>(part(5));
        forEach(call.queue, p.channels,
                ChannelFactors<W>{scale.as<double>(), bias.as<double>(), part(0), part(1),
                                  call.attributes.number("epsilon"), factor, added});
        using Scale = ScaleChannels<T>;
        const std::int64_t total = y.elementCount();
        forEach(call.queue, (total + Scale::V - 1) / Scale::V,
                Scale{walkOf(x), x.as<const T>(), y.as<T>(), factor, added, Divide(p.size, total),
                      Divide(p.channels, total)});
    });
    for (std::size_t i : {1, 2})
        if (call.isAsked(i)) convertView(call.queue, view(1 + i), call.outputs[i]);
}

// InstanceNormalization and GroupNormalization

/// One number per channel, for the elements of a group that starts with channel `first`.
template <class T> struct ChannelFactor {
    const T* first;
    Divide size;
    template <int V> TWB_HOST_DEVICE Pack<T, V> at(std::int64_t i) const {
        Pack<T, V> out;
        const std::int64_t c = size(i);
        const bool isOne = i + V <= (c + 1) * size.divisor();
        const T value = first[c];
        TWB_UNROLLED
        for (int v = 0; v < V; ++v) out.values[v] = isOne ? value : first[size(i + v)];
        return out;
    }
};

template <class T> struct NormalizeGroups : MeasureMoments {
    using W = Wide<T>;
    const T *scale, *bias;
    std::int64_t groups, channelsOfGroup;
    Divide size;
    double epsilon;

    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place& place,
                                 const Moments& m) const {
        const FromMean<W> fromMean(m.mean);
        const auto inverse = static_cast<W>(1 / std::sqrt(m.variance() + epsilon));
        const std::int64_t first = place.index % groups * channelsOfGroup;
        elements.rewrite(
            [&](W x, std::int64_t, W times, W plus) { return fromMean(x) * inverse * times + plus; },
            ChannelFactor<T>{scale + first, size}, ChannelFactor<T>{bias + first, size});
    }
};

void normalizeGroups(const KernelCall& call, std::int64_t groups) {
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView scale(call.queue, call.inputs[1]);
    const DenseView bias(call.queue, call.inputs[2]);
    const Planes p(x.shape());
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t length = p.channels / groups * p.size;
    const auto asRows = [&](const TensorView& view) {
        return TensorView{view.data, view.dtype, Shape{p.batch * groups, length}, {length, 1}};
    };
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        rewriteRows(call.queue, rowsAlong<T>(asRows(x.view()), asRows(out), onlyAxis(1, 2)),
                    NormalizeGroups<T>{{},
                                       scale.as<T>(),
                                       bias.as<T>(),
                                       groups,
                                       p.channels / groups,
                                       Divide(p.size, length),
                                       call.attributes.number("epsilon")});
    });
}

void instanceNormalizationKernel(const KernelCall& call) {
    normalizeGroups(call, Planes(call.inputs[0].shape).channels);
}

void groupNormalizationKernel(const KernelCall& call) {
    normalizeGroups(call, call.attributes.integer("num_groups"));
}

// LpNormalization and MeanVarianceNormalization

template <class T> struct DivideByNorm {
    using W = Wide<T>;
    using State = double;
    bool squares;
    TWB_HOST_DEVICE void merge(double& state, double other) const { state += other; }

    template <class Group, class Elements>
    TWB_HOST_DEVICE double measure(const Group& team, Elements& elements) const {
        double sum = 0;
        elements.each([&](const auto& part, std::int64_t) {
            for (const W given : part) {
                const auto x = static_cast<double>(given);
                sum += squares ? x * x : std::fabs(x);
            }
        });
        return team.merged(AddStates{}, sum);
    }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place&, double sum) const {
        const double norm = squares ? std::sqrt(sum) : sum;
        // Scales by a power of two first if W cannot represent the norm or its reciprocal.
        constexpr double large = 0x1p64;
        const double power = norm > large ? 1 / large : norm < 1 / large ? large : 1;
        const auto first = static_cast<W>(power);
        // A row of norm 0 stays 0.
        const auto inverse = norm == 0 ? W{0} : static_cast<W>(1 / (norm * power));
        elements.rewrite([&](W x, std::int64_t) { return x * first * inverse; });
    }
};

void lpNormalizationKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        rewriteRows(
            call.queue,
            rowsAlong<T>(call.inputs[0], out, onlyAxis(call.attributes.integer("axis"), out.shape.rank())),
            DivideByNorm<T>{call.attributes.integer("p") == 2});
    });
}

template <class T> struct Standardize : MeasureMoments {
    using W = Wide<T>;
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place&, const Moments& m) const {
        const FromMean<W> fromMean(m.mean);
        // As in ONNX's function, the lower bound applies to the standard deviation, not to the variance.
        const auto inverse = static_cast<W>(1 / (std::sqrt(m.variance()) + 1e-9));
        elements.rewrite([&](W x, std::int64_t) { return fromMean(x) * inverse; });
    }
};

void meanVarianceKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    std::array<bool, kMaxRank> along{};
    for (std::int64_t axis : call.attributes.integers("axes"))
        along[static_cast<std::size_t>(*normalizeAxis(axis, std::max(out.shape.rank(), 1)))] = true;
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        rewriteRows(call.queue, rowsAlong<T>(call.inputs[0], out, along), Standardize<T>{});
    });
}

// LRN

template <class T> struct DivideByNeighbours {
    const T* in;
    T* out;
    std::int64_t channels, plane, size;
    double alpha, beta, bias;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t c = i / plane % channels;
        const std::int64_t below = (size - 1) / 2 < c ? (size - 1) / 2 : c;
        const std::int64_t above = size / 2 < channels - 1 - c ? size / 2 : channels - 1 - c;
        double squares = 0;
        for (std::int64_t k = -below; k <= above; ++k) {
            const auto x = static_cast<double>(widened(in[i + k * plane]));
            squares += x * x;
        }
        out[i] = stored<T>(static_cast<Wide<T>>(widened(in[i]) / std::pow(bias + alpha * squares, beta)));
    }
};

void lrnKernel(const KernelCall& call) {
    const DenseView x(call.queue, call.inputs[0]);
    const Planes p(x.shape());
    const std::int64_t size = call.attributes.integer("size");
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, call.outputs[0].elementCount(),
                DivideByNeighbours<T>{x.as<T>(), call.outputs[0].as<T>(), p.channels, p.size, size,
                                      call.attributes.number("alpha") / static_cast<double>(size),
                                      call.attributes.number("beta"), call.attributes.number("bias")});
    });
}

} // namespace

void addNormalizationKernels(KernelMap& table) {
    add(table, "BatchNormalization", batchNormalizationKernel);
    add(table, "InstanceNormalization", instanceNormalizationKernel);
    add(table, "GroupNormalization", groupNormalizationKernel);
    add(table, "LpNormalization", lpNormalizationKernel);
    add(table, "MeanVarianceNormalization", meanVarianceKernel);
    add(table, "LRN", lrnKernel);
}

} // namespace twb::cuda
