#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"
#include "ops/kernel_inputs.h"
#include "ops/padding.h"
#include "ops/view_copies.h"

#include <algorithm>
#include <cstring>

namespace twb::cuda {
namespace {

/// The ops that only copy views.
template <void (*Views)(const KernelContext&, const CopyViews&)> void viewsKernel(const KernelCall& call) {
    Views(call.context(),
          [&](const TensorView& from, const TensorView& to) { copyView(call.queue, from, to); });
}

void identityKernel(const KernelCall& call) { copyView(call.queue, call.inputs[0], call.outputs[0]); }

// Pad and CenterCropPad

struct PadAxis {
    std::int64_t size, stride, shift;
    Kept kept;
};

template <class T> struct PadElements {
    const T* in;
    T* out;
    T constant;
    PadMode mode;
    int rank;
    std::array<PadAxis, kMaxWalkAxes> axes;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        std::int64_t rest = i;
        std::int64_t offset = 0;
        bool isOutside = false;
        TWB_ROLLED
        for (int a = rank - 1; a >= 0; --a) {
            const PadAxis& axis = axes[static_cast<std::size_t>(a)];
            const std::int64_t next = rest / axis.size;
            const std::int64_t from = sourceOf(rest - next * axis.size - axis.shift, axis.kept, mode);
            isOutside = isOutside || from < 0;
            offset += from * axis.stride;
            rest = next;
        }
        out[i] = isOutside ? constant : in[offset];
    }
};

/// `constant`: an element in host memory, null for 0.
void pad(const KernelCall& call, const Paddings& paddings, PadMode mode, const void* constant) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        PadElements<T> work{in.as<const T>(), out.as<T>(), {}, mode, 0, {}};
        if (constant) std::memcpy(&work.constant, constant, sizeof(T));
        for (int axis = 0; axis < out.shape.rank(); ++axis) {
            const auto a = static_cast<std::size_t>(axis);
            if (out.shape[axis] == 1 && in.shape[axis] == 1 && paddings[a].before == 0) continue;
            if (work.rank == kMaxWalkAxes)
                throw Error(
                    ErrorCode::unsupported,
                    "the tensor has too many padded dimensions for a GPU; merge some of them with Reshape");
            const Kept kept = keptOf(in.shape[axis], paddings[a]);
            work.axes[static_cast<std::size_t>(work.rank++)] = {out.shape[axis], in.strides[a],
                                                                shiftOf(paddings[a], kept), kept};
        }
        forEach(call.queue, out.elementCount(), work);
    });
}

void padKernel(const KernelCall& call) {
    const KernelContext ctx = call.context();
    const Paddings paddings = paddingsOfPad(ctx);
    const PadMode mode = padModeOf(call.attributes);
    if (const TensorView given = call.input(2); given.data) return pad(call, paddings, mode, given.data);
    withAny(call.outputs[0].dtype, [&](auto zero) {
        const auto constant = element::cast<decltype(zero)>(call.attributes.number("constant_value"));
        pad(call, paddings, mode, &constant);
    });
}

void centerCropPadKernel(const KernelCall& call) {
    pad(call, paddingsOfCrop(call.context()), PadMode::constant, nullptr);
}

// Trilu

template <class T> struct KeepTriangle {
    Walk<1> walk;
    const T* in;
    T* out;
    std::int64_t rows, columns, k;
    bool upper;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t line = i / columns;
        const std::int64_t past =
            i - line * columns - line % rows - k; // offset to the right of the main diagonal
        const bool isKept = upper ? past >= 0 : past <= 0;
        out[i] = isKept ? in[walk.at(i)[0]] : T{};
    }
};

void triluKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const std::int64_t rows = out.shape[out.shape.rank() - 2];
    const std::int64_t columns = out.shape[out.shape.rank() - 1];
    const auto given = hostIntegers(call.context(), 1, "k");
    const std::int64_t k = std::clamp(given && !given->empty() ? given->front() : 0, -rows, columns);
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                KeepTriangle<T>{walkOf(in), in.as<const T>(), out.as<T>(), rows, columns, k,
                                call.attributes.flag("upper")});
    });
}

// ReverseSequence

template <class T> struct Reverse {
    Walk<1> walk;
    const T* in;
    T* out;
    const std::int64_t* lengths;
    std::int64_t lengthStep;
    std::int64_t inner, second; ///< elements behind axes 0 and 1; the size of axis 1
    std::int64_t steps;
    bool isTimeFirst;
    int timeAxis;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t rest = i / inner;
        const std::int64_t first = rest / second;
        const std::int64_t other = rest - first * second;
        const std::int64_t time = isTimeFirst ? first : other;
        const std::int64_t length = lengths[(isTimeFirst ? other : first) * lengthStep];
        if (length < 0 || length > steps) {
            raise(fault, Fault::lengthOutOfRange, length, timeAxis, steps);
            return;
        }
        const std::int64_t from = time < length ? length - 1 - time : time;
        out[i] = in[walk.at(i + (from - time) * (isTimeFirst ? second * inner : inner))[0]];
    }
};

void reverseSequenceKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const auto time = static_cast<int>(call.attributes.integer("time_axis"));
    const TensorView& lengths = call.inputs[1];
    if (out.elementCount() == 0) return;
    const std::int64_t inner = out.elementCount() / (out.shape[0] * out.shape[1]);
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                Reverse<T>{walkOf(in), in.as<const T>(), out.as<T>(), lengths.as<const std::int64_t>(),
                           lengths.strides[0], inner, out.shape[1], in.shape[time], time == 0, time,
                           call.queue.fault()});
    });
}

} // namespace

void addMovementKernels(KernelMap& table) {
    add(table, "Identity", identityKernel, supportsAll);
    add(table, "Detach", identityKernel);
    add(table, "Reshape", viewsKernel<reshapeViews>, supportsAll);
    add(table, "Squeeze", viewsKernel<reshapeViews>, supportsAll);
    add(table, "Unsqueeze", viewsKernel<reshapeViews>, supportsAll);
    add(table, "Flatten", viewsKernel<reshapeViews>, supportsAll);
    add(table, "Transpose", viewsKernel<transposeViews>, supportsBytes);
    add(table, "Concat", viewsKernel<concatViews>);
    add(table, "Expand", viewsKernel<expandViews>);
    add(table, "Tile", viewsKernel<tileViews>);
    add(table, "Slice", viewsKernel<sliceViews>);
    add(table, "Split", viewsKernel<splitViews>);
    add(table, "DepthToSpace", viewsKernel<depthToSpaceViews>);
    add(table, "SpaceToDepth", viewsKernel<spaceToDepthViews>);
    add(table, "Pad", padKernel);
    add(table, "CenterCropPad", centerCropPadKernel);
    add(table, "Trilu", triluKernel);
    add(table, "ReverseSequence", reverseSequenceKernel);
}

} // namespace twb::cuda
