#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/rows.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/planes.h"

#include <cmath>

namespace twb::cuda {
namespace {

// BatchNormalization

/// What the channels are multiplied with and what is added then.
struct ChannelFactors {
    const double *scale, *bias, *mean, *variance;
    double epsilon;
    double *factor, *added;
    TWB_HOST_DEVICE void operator()(std::int64_t c) const {
        factor[c] = scale[c] / std::sqrt(variance[c] + epsilon);
        added[c] = bias[c] - mean[c] * factor[c];
    }
};

template <class T> struct ScaleChannels {
    Walk<1> walk;
    const T* in;
    T* out;
    const double *factor, *added;
    Divide size, channels;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t plane = size(i);
        const std::int64_t c = plane - channels(plane) * channels.divisor();
        const auto a = static_cast<Wide<T>>(factor[c]);
        const auto b = static_cast<Wide<T>>(added[c]);
        out[i] = stored<T>(widened(in[walk.at(i)[0]]) * a + b);
    }
};

/// Of this batch, and the running ones that follow from it.
template <class T> struct ChannelMoments {
    const T* in;
    Walk<1> kept, row; ///< channels; batch and places
    double momentum;
    double *mean, *variance, *runningMean, *runningVariance;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t c) const {
        const T* const first = in + kept.at(c)[0];
        const Moments m =
            momentsOf(team, row.total, [&](std::int64_t i) { return widened(first[row.at(i)[0]]); });
        if (!team.isFirst()) return;
        mean[c] = m.mean;
        variance[c] = m.variance;
        runningMean[c] = runningMean[c] * momentum + m.mean * (1 - momentum);
        runningVariance[c] = runningVariance[c] * momentum + m.variance * (1 - momentum);
    }
};

void batchNormalizationKernel(const KernelCall& call) {
    const TensorView& x = call.inputs[0];
    const TensorView& y = call.outputs[0];
    const Planes p(x.shape);
    const auto count = static_cast<std::size_t>(p.channels);
    // mean, variance, the running ones, factor, added: all in double, as they are few.
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
        if (call.attributes.flag("training_mode")) {
            std::array<bool, kMaxRank> along{};
            for (int axis = 0; axis < x.shape.rank(); ++axis)
                along[static_cast<std::size_t>(axis)] = axis != 1;
            const ReductionView split = splitAxes(x, along);
            forEachRow(call.queue, p.channels, p.batch * p.size,
                       ChannelMoments<T>{x.as<const T>(), walkOf(split.kept), walkOf(split.reduced),
                                         call.attributes.number("momentum"), part(0), part(1), part(2),
                                         part(3)});
        }
        forEach(call.queue, p.channels,
                ChannelFactors{scale.as<double>(), bias.as<double>(), part(0), part(1),
                               call.attributes.number("epsilon"), part(4), part(5)});
        const std::int64_t total = y.elementCount();
        forEach(call.queue, total,
                ScaleChannels<T>{walkOf(x), x.as<const T>(), y.as<T>(), part(4), part(5),
                                 Divide(p.size, total), Divide(p.channels, total)});
    });
    for (std::size_t i : {1, 2})
        if (call.isAsked(i)) convertView(call.queue, view(1 + i), call.outputs[i]);
}

// InstanceNormalization and GroupNormalization

template <class T> struct NormalizeGroups {
    const T* in;
    T* out;
    const T *scale, *bias;
    std::int64_t length, groups, channelsOfGroup, size;
    double epsilon;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        const T* const from = in + row * length;
        const Moments m = momentsOf(team, length, [&](std::int64_t i) { return widened(from[i]); });
        const double inverse = 1 / std::sqrt(m.variance + epsilon);
        const std::int64_t first = row % groups * channelsOfGroup;
        for (std::int64_t i = team.index(); i < length; i += team.size()) {
            const std::int64_t c = first + i / size;
            const double x = (static_cast<double>(widened(from[i])) - m.mean) * inverse;
            out[row * length + i] = stored<T>(static_cast<Wide<T>>(
                x * static_cast<double>(widened(scale[c])) + static_cast<double>(widened(bias[c]))));
        }
    }
};

void normalizeGroups(const KernelCall& call, std::int64_t groups) {
    const DenseView x(call.queue, call.inputs[0]);
    const DenseView scale(call.queue, call.inputs[1]);
    const DenseView bias(call.queue, call.inputs[2]);
    const Planes p(x.shape());
    if (call.outputs[0].elementCount() == 0) return;
    const std::int64_t length = p.channels / groups * p.size;
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        forEachRow(call.queue, p.batch * groups, length,
                   NormalizeGroups<T>{x.as<T>(), call.outputs[0].as<T>(), scale.as<T>(), bias.as<T>(), length,
                                      groups, p.channels / groups, p.size,
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
    Rows<T> rows;
    bool squares;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto row = rows[index];
        double sum = 0;
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size()) {
            const auto x = static_cast<double>(row.at(i));
            sum += squares ? x * x : std::fabs(x);
        }
        sum = team.merged(AddStates{}, sum);
        const double norm = squares ? std::sqrt(sum) : sum;
        // What has no length stays 0.
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            row.set(i, norm == 0 ? Wide<T>(0) : static_cast<Wide<T>>(row.at(i) / norm));
    }
};

void lpNormalizationKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Rows<T> rows =
            rowsAlong<T>(call.inputs[0], out, onlyAxis(call.attributes.integer("axis"), out.shape.rank()));
        forEachOf(call.queue, rows, DivideByNorm<T>{rows, call.attributes.integer("p") == 2});
    });
}

template <class T> struct Standardize {
    Rows<T> rows;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto row = rows[index];
        const Moments m = momentsOf(team, rows.length(), [&](std::int64_t i) { return row.at(i); });
        // ONNX's function: the deviation, not the variance, is kept from 0.
        const double deviation = std::sqrt(m.variance) + 1e-9;
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            row.set(i, static_cast<Wide<T>>((row.at(i) - m.mean) / deviation));
    }
};

void meanVarianceKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    std::array<bool, kMaxRank> along{};
    for (std::int64_t axis : call.attributes.integers("axes"))
        along[static_cast<std::size_t>(*normalizeAxis(axis, std::max(out.shape.rank(), 1)))] = true;
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Rows<T> rows = rowsAlong<T>(call.inputs[0], out, along);
        forEachOf(call.queue, rows, Standardize<T>{rows});
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
