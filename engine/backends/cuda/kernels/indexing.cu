#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/indices.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/unit.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"
#include "core/error.h"

namespace twb::cuda {
namespace {

std::int64_t product(const Shape& shape, int from, int to) {
    std::int64_t count = 1;
    for (int axis = from; axis < to; ++axis) count *= shape[axis];
    return count;
}

// Gather

/// out[o, i, :] = in[o, at[i], :] for outer × size × inner units of dense data.
template <class T, class I> struct GatherBlocks {
    const T* in;
    T* out;
    IndexView<I> at;
    Divide inner, count;
    std::int64_t size;
    int axis;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t block = inner(i);
        const std::int64_t outer = count(block);
        const std::int64_t index = at.checked(block - outer * count.divisor(), size, axis, fault);
        if (index < 0) return;
        out[i] = in[(outer * size + index) * inner.divisor() + i - block * inner.divisor()];
    }
};

void gatherKernel(const KernelCall& call) {
    const DenseView data(call.queue, call.inputs[0]);
    const TensorView& out = call.outputs[0];
    const int rank = data.shape().rank();
    const int axis = *normalizeAxis(call.attributes.integer("axis"), rank);
    const std::int64_t count = call.inputs[1].elementCount();
    const std::int64_t inner = product(data.shape(), axis + 1, rank);
    if (out.elementCount() == 0) return checkIndices(call.queue, call.inputs[1], axis, data.shape()[axis]);
    withUnit(inner * static_cast<std::int64_t>(sizeOf(out.dtype)), {data.view().data, out.data},
             [&](auto unit, std::int64_t units) {
                 using T = decltype(unit);
                 const std::int64_t total = out.elementCount() / inner * units;
                 withIndices(call.inputs[1], [&](const auto& at) {
                     using I = typename std::decay_t<decltype(at)>::Index;
                     forEach(call.queue, total,
                             GatherBlocks<T, I>{data.as<T>(), out.as<T>(), at, Divide(units, total),
                                                Divide(count, total), data.shape()[axis], axis,
                                                call.queue.fault()});
                 });
             });
}

// GatherElements

template <class T, class I> struct GatherElements {
    Walk<1> base; ///< of the element for index 0
    const T* in;
    T* out;
    IndexView<I> at;
    std::int64_t size, axisStride;
    int axis;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t index = at.checked(i, size, axis, fault);
        if (index >= 0) out[i] = in[base.at(i)[0] + index * axisStride];
    }
};

void gatherElementsKernel(const KernelCall& call) {
    const TensorView& data = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const int axis = *normalizeAxis(call.attributes.integer("axis"), data.shape.rank());
    TensorView base = data;
    base.shape = out.shape;
    base.strides[static_cast<std::size_t>(axis)] = 0;
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        withIndices(call.inputs[1], [&](const auto& at) {
            using I = typename std::decay_t<decltype(at)>::Index;
            forEach(call.queue, out.elementCount(),
                    GatherElements<T, I>{walkOf(base), data.as<const T>(), out.as<T>(), at, data.shape[axis],
                                         data.strides[static_cast<std::size_t>(axis)], axis,
                                         call.queue.fault()});
        });
    });
}

// GatherND

/// The axes addressed by tuples of indices.
struct Tuples {
    IndexView<std::int64_t> at;
    int depth, firstAxis;
    std::array<std::int64_t, kMaxWalkAxes> sizes;

    Tuples(const TensorView& indices, const Shape& data, int first)
        : at{walkOf(indices), indices.as<const std::int64_t>()},
          depth(static_cast<int>(indices.shape[indices.shape.rank() - 1])), firstAxis(first), sizes{} {
        if (depth > kMaxWalkAxes)
            throw Error(ErrorCode::unsupported,
                        "the indices have too many axes for a GPU; move the op to cpu");
        for (int i = 0; i < depth; ++i) sizes[static_cast<std::size_t>(i)] = data[first + i];
    }

    /// The block addressed by tuple `t`; -1 if an index is out of range.
    TWB_HOST_DEVICE std::int64_t block(std::int64_t t, Fault* fault) const {
        std::int64_t out = 0;
        TWB_ROLLED
        for (int i = 0; i < depth; ++i) {
            const std::int64_t size = sizes[static_cast<std::size_t>(i)];
            const std::int64_t index = at.checked(t * depth + i, size, firstAxis + i, fault);
            if (index < 0) return -1;
            out = out * size + index;
        }
        return out;
    }
};

template <class T> struct GatherTuples {
    const T* in;
    T* out;
    Tuples tuples;
    Divide inner, tuplesOfBatch;
    std::int64_t blocksOfBatch;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t t = inner(i);
        const std::int64_t block = tuples.block(t, fault);
        if (block < 0) return;
        out[i] = in[(tuplesOfBatch(t) * blocksOfBatch + block) * inner.divisor() + i - t * inner.divisor()];
    }
};

void gatherNDKernel(const KernelCall& call) {
    const DenseView data(call.queue, call.inputs[0]);
    const TensorView& out = call.outputs[0];
    const Shape& indices = call.inputs[1].shape;
    const auto batch = static_cast<int>(call.attributes.integer("batch_dims"));
    const Tuples tuples(call.inputs[1], data.shape(), batch);
    if (out.elementCount() == 0) return;
    const std::int64_t inner = product(data.shape(), batch + tuples.depth, data.shape().rank());
    const std::int64_t count = product(indices, 0, indices.rank() - 1);
    withUnit(inner * static_cast<std::int64_t>(sizeOf(out.dtype)), {data.view().data, out.data},
             [&](auto unit, std::int64_t units) {
                 using T = decltype(unit);
                 const std::int64_t total = count * units;
                 forEach(call.queue, total,
                         GatherTuples<T>{data.as<T>(), out.as<T>(), tuples, Divide(units, total),
                                         Divide(product(indices, batch, indices.rank() - 1), total),
                                         product(data.shape(), batch, batch + tuples.depth),
                                         call.queue.fault()});
             });
}

// OneHot

template <class T> struct OneHot {
    IndexView<std::int64_t> indices;
    const T* values;
    std::int64_t valueStep;
    T* out;
    Divide inner, depth;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t rest = inner(i);
        const std::int64_t outer = depth(rest);
        std::int64_t at = indices[outer * inner.divisor() + i - rest * inner.divisor()];
        // An index out of range leaves all elements off.
        if (at < 0) at += depth.divisor();
        out[i] = values[at == rest - outer * depth.divisor() ? valueStep : 0];
    }
};

void oneHotKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    const TensorView& values = call.inputs[2];
    const std::int64_t total = out.elementCount();
    if (total == 0) return;
    const int rank = out.shape.rank();
    const int axis = *normalizeAxis(call.attributes.integer("axis"), rank);
    const ConvertedView indices(call.queue, DType::i64, call.inputs[0]);
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, total,
                OneHot<T>{{walkOf(indices.view()), indices.as<std::int64_t>()},
                          values.as<const T>(),
                          values.strides[0],
                          out.as<T>(),
                          Divide(product(out.shape, axis + 1, rank), total),
                          Divide(out.shape[axis], total)});
    });
}

} // namespace

void addIndexingKernels(KernelMap& table) {
    add(table, "Gather", gatherKernel);
    add(table, "GatherElements", gatherElementsKernel);
    add(table, "GatherND", gatherNDKernel);
    add(table, "OneHot", oneHotKernel);
}

} // namespace twb::cuda
