#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/row_moments.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/planes.h"

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace twb::cuda {
namespace {

// BatchNormalization

/// The function of one channel's elements.
template <class W> struct ScaleChannel {
    W times, plus;
    TWB_HOST_DEVICE W operator()(W x) const { return x * times + plus; }
};

template <class W> struct ScaleOfChannel {
    const double *scale, *bias, *mean, *variance;
    double epsilon;
    ScaleChannel<W>* functions;
    TWB_HOST_DEVICE void operator()(std::int64_t c) const {
        const double times = scale[c] / std::sqrt(variance[c] + epsilon);
        functions[c] = {static_cast<W>(times), static_cast<W>(bias[c] - mean[c] * times)};
    }
};

/// Applies to each element of N tensors the function of its channel. Each thread computes one pack of the
/// result, which is dense.
template <class T, class F, int N> struct MapChannels {
    static constexpr int V = kPackOf<T>;
    Walk<N> walk;
    std::array<const T*, N> in;
    T* out;
    const F* functions;
    Divide size, channels;

    /// The functions of consecutive elements.
    struct Functions {
        const MapChannels* all;
        std::int64_t place, c;
        F now;
        TWB_HOST_DEVICE Functions(const MapChannels& of, std::int64_t i) : all(&of) {
            const std::int64_t plane = of.size(i);
            place = i - plane * of.size.divisor();
            c = plane - of.channels(plane) * of.channels.divisor();
            now = of.functions[c];
        }
        TWB_HOST_DEVICE void next() {
            if (++place < all->size.divisor()) return;
            place = 0;
            c = c + 1 < all->channels.divisor() ? c + 1 : 0;
            now = all->functions[c];
        }
    };
    TWB_HOST_DEVICE static T applied(const F& f, const std::array<T, N>& x) {
        if constexpr (N == 1)
            return stored<T>(f(widened(x[0])));
        else
            return stored<T>(f(widened(x[0]), widened(x[1])));
    }

    TWB_HOST_DEVICE void operator()(std::int64_t pack) const {
        const std::int64_t first = pack * V;
        Functions of(*this, first);
        if (isOneRow<V>(walk, first)) {
            const auto at = walk.at(first);
            Pack<T, V> x[N];
            TWB_UNROLLED
            for (int k = 0; k < N; ++k) x[k] = loadPack<T, V>(in[k] + at[k], walk.innerStride(k));
            Pack<T, V> y;
            TWB_UNROLLED
            for (int v = 0; v < V; ++v, of.next()) {
                std::array<T, N> elements;
                for (int k = 0; k < N; ++k) elements[k] = x[k].values[v];
                y.values[v] = applied(of.now, elements);
            }
            if (isPackAligned<T, V>(out + first))
                storeAtOnce(out + first, y);
            else
                storePack<T, V>(out + first, 1, y);
            return;
        }
        TWB_ROLLED
        for (std::int64_t i = first; i < first + V && i < walk.total; ++i, of.next()) {
            const auto at = walk.at(i);
            std::array<T, N> elements;
            for (int k = 0; k < N; ++k) elements[k] = in[k][at[k]];
            out[i] = applied(of.now, elements);
        }
    }
};

/// `out` is dense, and may be the memory of an input.
template <class T, class F, int N>
void mapChannels(Queue& queue, const std::array<const TensorView*, N>& in, const TensorView& out,
                 const F* functions) {
    using Map = MapChannels<T, F, N>;
    const Planes p(out.shape);
    const std::int64_t total = out.elementCount();
    Map map{walkOf<N>(out.shape, in), {}, out.as<T>(), functions, Divide(p.size, total),
            Divide(p.channels, total)};
    for (std::size_t k = 0; k < N; ++k) map.in[k] = in[k]->template as<const T>();
    forEach(queue, (total + Map::V - 1) / Map::V, map);
}

/// The memory that measureChannels() needs for its states, in bytes.
template <class State> std::size_t sizeOfParts(const Planes& p) {
    return static_cast<std::size_t>(std::max<std::int64_t>(p.batch, 1) * p.channels) * sizeof(State);
}

/// Measures each channel in parts, and returns their number: states[i * channels + c] is the state of part i
/// of channel c. rowsOf(along) gives the Rows of the elements along some axes.
template <class RowsOf, class Work>
std::int64_t measureChannels(Queue& queue, const Shape& shape, const RowsOf& rowsOf, const Work& work,
                             typename Work::State* states) {
    const Planes p(shape);
    std::array<bool, kMaxRank> along{};
    for (int axis = 0; axis < shape.rank(); ++axis) along[static_cast<std::size_t>(axis)] = axis != 1;
    auto rows = rowsOf(along);
    // Measures planes separately if those of a channel are not contiguous, unless they are small.
    const bool byPlane = rows.row.rank > 1 && p.size >= 64;
    if (byPlane) {
        along[0] = false;
        rows = rowsOf(along);
    }
    measureRows(queue, rows, RowCut(queue, rows), work, states);
    return byPlane ? p.batch : 1;
}

/// The state of a channel from those of its parts.
template <class Rule, class Group, class State>
TWB_HOST_DEVICE State mergedParts(const Rule& rule, const Group& team, const State* parts, std::int64_t count,
                                  std::int64_t channels, std::int64_t c) {
    State state;
    for (std::int64_t i = team.index(); i < count; i += team.size())
        rule.merge(state, parts[i * channels + c]);
    return team.merged(rule, state);
}

/// The moments of this batch, and the updated running moments.
struct ChannelMoments {
    const Moments* parts; ///< `count` parts per channel, `channels` apart
    std::int64_t count, channels;
    double momentum;
    double *mean, *variance, *runningMean, *runningVariance;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t c) const {
        const Moments m = mergedParts(MergeMoments{}, team, parts, count, channels, c);
        if (!team.isFirst()) return;
        mean[c] = m.count > 0 ? m.mean : std::numeric_limits<double>::quiet_NaN();
        variance[c] = m.variance();
        runningMean[c] = runningMean[c] * momentum + mean[c] * (1 - momentum);
        runningVariance[c] = runningVariance[c] * momentum + variance[c] * (1 - momentum);
    }
};

/// `means` has space for the mean, variance and running moments of each channel.
template <class T> void measureMoments(const KernelCall& call, double* means) {
    const TensorView& x = call.inputs[0];
    const Planes p(x.shape);
    const Scratch parts(call.queue, sizeOfParts<Moments>(p));
    const std::int64_t count = measureChannels(
        call.queue, x.shape, [&](const auto& along) { return rowsAlong<T>(x, x, along); }, MeasureMoments{},
        parts.as<Moments>());
    forEachRow(call.queue, p.channels, count,
               ChannelMoments{parts.as<Moments>(), count, p.channels, call.attributes.number("momentum"),
                              means, means + p.channels, means + 2 * p.channels, means + 3 * p.channels});
}

void batchNormalizationKernel(const KernelCall& call) {
    const TensorView& x = call.inputs[0];
    const TensorView& y = call.outputs[0];
    const Planes p(x.shape);
    const auto count = static_cast<std::size_t>(p.channels);
    const Scratch memory(call.queue, 4 * count * sizeof(double)); // mean, variance, running mean and variance
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
        using Scale = ScaleChannel<Wide<T>>;
        if (call.attributes.flag("training_mode")) measureMoments<T>(call, part(0));
        const Scratch functions(call.queue, count * sizeof(Scale));
        forEach(call.queue, p.channels,
                ScaleOfChannel<Wide<T>>{scale.as<double>(), bias.as<double>(), part(0), part(1),
                                        call.attributes.number("epsilon"), functions.as<Scale>()});
        mapChannels<T, Scale, 1>(call.queue, {&x}, y, functions.as<Scale>());
    });
    for (std::size_t i : {1, 2})
        if (call.isAsked(i)) convertView(call.queue, view(1 + i), call.outputs[i]);
}

// BatchNormalizationGrad

/// The moments of x, the sum of dY, and the sum of dY · (x − mean).
struct GradientMoments {
    Moments x;
    double dy = 0, product = 0;
};

template <class T> struct MeasureGradients {
    using State = GradientMoments;
    const T* dy;

    TWB_HOST_DEVICE void merge(State& state, const State& other) const {
        if (other.x.count == 0) return;
        if (state.x.count == 0) {
            state = other;
            return;
        }
        const double before = state.x.mean;
        MergeMoments{}.merge(state.x, other.x);
        state.product +=
            state.dy * (before - state.x.mean) + other.product + other.dy * (other.x.mean - state.x.mean);
        state.dy += other.dy;
    }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE State measure(const Group& team, Elements& elements, const Place& place) const {
        const auto gradients = place.factor(dy, 1);
        State state;
        // Each thread subtracts its first element, which is close to the mean.
        std::int64_t count = 0;
        double first = 0;
        double sum = 0;
        elements.each([&](const auto& part, std::int64_t i) {
            constexpr int size = static_cast<int>(std::extent_v<std::remove_reference_t<decltype(part)>>);
            if (count == 0 && part[0] - part[0] == 0) first = static_cast<double>(part[0]);
            count += size;
            const auto ofPart = gradients.template at<size>(i);
            TWB_UNROLLED
            for (int v = 0; v < size; ++v) {
                const double off = static_cast<double>(part[v]) - first;
                const auto g = static_cast<double>(widened(ofPart.values[v]));
                sum += off;
                state.x.squares += off * off;
                state.dy += g;
                state.product += g * off;
            }
        });
        if (count > 0) {
            state.x.count = static_cast<double>(count);
            const double off = sum / state.x.count;
            state.x.mean = first + off;
            state.x.squares -= sum * off;
            if (state.x.squares < 0) state.x.squares = 0;
            state.product -= state.dy * off;
        }
        return team.merged(*this, state);
    }
};

/// The gradient of x from that of y, for one channel.
template <class W> struct BackThroughChannel {
    W factor, offset, slope;
    FromMean<W> fromMean{0};
    TWB_HOST_DEVICE W operator()(W dy, W x) const { return dy * factor - offset - fromMean(x) * slope; }
};

template <class T> struct GradientsOfChannel {
    using W = Wide<T>;
    MeasureGradients<T> rule;
    const GradientMoments* parts; ///< `count` parts per channel, `channels` apart
    std::int64_t count, channels;
    const double* scale;
    double epsilon;
    BackThroughChannel<W>* functions;
    double *ofScale, *ofBias;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t c) const {
        const GradientMoments m = mergedParts(rule, team, parts, count, channels, c);
        if (!team.isFirst()) return;
        const double n = m.x.count > 0 ? m.x.count : 1;
        const double inverse = 1 / std::sqrt(m.x.squares / n + epsilon);
        const double factor = scale[c] * inverse;
        ofScale[c] = m.product * inverse;
        ofBias[c] = m.dy;
        functions[c] = {static_cast<W>(factor), static_cast<W>(factor * m.dy / n),
                        static_cast<W>(factor * inverse * ofScale[c] / n), FromMean<W>(m.x.mean)};
    }
};

void batchNormalizationGradKernel(const KernelCall& call) {
    const TensorView& dy = call.inputs[0];
    const TensorView& x = call.inputs[1];
    const TensorView& dx = call.outputs[0];
    const Planes p(x.shape);
    const auto channels = static_cast<std::size_t>(p.channels);
    const ConvertedView scale(call.queue, DType::f64, call.inputs[2]);
    const Scratch sums(call.queue, 2 * channels * sizeof(double));
    const Scratch parts(call.queue, sizeOfParts<GradientMoments>(p));
    withStoredFloat(dx.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Back = BackThroughChannel<Wide<T>>;
        const auto rowsOf = [&](const std::array<bool, kMaxRank>& along) {
            const ReductionView all[] = {splitAxes(x, along), splitAxes(dy, along), splitAxes(dx, along)};
            return Rows<T, T, 3>{
                x.as<const T>(), dx.as<T>(),
                walkOf<3>(all[0].kept.shape, {&all[0].kept, &all[1].kept, &all[2].kept}),
                walkOf<3>(all[0].reduced.shape, {&all[0].reduced, &all[1].reduced, &all[2].reduced})};
        };
        const MeasureGradients<T> work{dy.as<const T>()};
        const std::int64_t count =
            measureChannels(call.queue, x.shape, rowsOf, work, parts.as<GradientMoments>());
        const Scratch functions(call.queue, channels * sizeof(Back));
        forEachRow(call.queue, p.channels, count,
                   GradientsOfChannel<T>{work, parts.as<GradientMoments>(), count, p.channels,
                                         scale.as<double>(), call.attributes.number("epsilon"),
                                         functions.as<Back>(), sums.as<double>(),
                                         sums.as<double>() + channels});
        mapChannels<T, Back, 2>(call.queue, {&dy, &x}, dx, functions.as<Back>());
    });
    for (std::size_t i : {1, 2})
        if (call.isAsked(i))
            convertView(call.queue,
                        {sums.as<double>() + (i - 1) * channels, DType::f64, Shape{p.channels}, {1}},
                        call.outputs[i]);
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

    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE double measure(const Group& team, Elements& elements, const Place&) const {
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
    add(table, "BatchNormalizationGrad", batchNormalizationGradKernel);
    add(table, "InstanceNormalization", instanceNormalizationKernel);
    add(table, "GroupNormalization", groupNormalizationKernel);
    add(table, "LpNormalization", lpNormalizationKernel);
    add(table, "MeanVarianceNormalization", meanVarianceKernel);
    add(table, "LRN", lrnKernel);
}

} // namespace twb::cuda
