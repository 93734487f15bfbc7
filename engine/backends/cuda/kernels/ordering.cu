#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/order_keys.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/row_order.h"
#include "backends/cuda/kernels/rows.h"

namespace twb::cuda {
namespace {

template <class T> struct KeysOfRows {
    const T* in;
    Walk<1> rows;
    std::int64_t step, length;
    bool largest;
    KeyOf<Wide<T>>* keys;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / length;
        const auto x = widened(in[rows.at(row)[0] + (i - row * length) * step]);
        keys[i] = largest ? descendingKeyOf(x) : keyOf(x);
    }
};

template <class T> struct TakeFirst {
    const std::uint32_t* order;
    const T* in;
    Walk<1> inRows, outRows;
    std::int64_t step, length, k, outStep;
    T* values;            ///< null: not requested
    std::int64_t* places; ///< null: not requested
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / k;
        const std::int64_t rank = i - row * k;
        const std::int64_t at = order[row * length + rank];
        const std::int64_t to = outRows.at(row)[0] + rank * outStep;
        if (values) values[to] = in[inRows.at(row)[0] + at * step];
        if (places) places[to] = at;
    }
};

void topKKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const auto along = onlyAxis(call.attributes.integer("axis"), in.shape.rank());
    const ReductionView from = splitAxes(in, along);
    const ReductionView to = splitAxes(out, along);
    const std::int64_t length = from.reduced.elementCount();
    const std::int64_t rows = from.kept.elementCount();
    const std::int64_t k = to.reduced.elementCount();
    withStoredNumber(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        RowOrder<KeyOf<Wide<T>>> order(call.queue, rows, length);
        forEach(call.queue, rows * length,
                KeysOfRows<T>{in.as<const T>(), walkOf(from.kept), from.reduced.strides[0], length,
                              call.attributes.flag("largest"), order.keys()});
        order.find();
        forEach(call.queue, rows * k,
                TakeFirst<T>{order.places(), in.as<const T>(), walkOf(from.kept), walkOf(to.kept),
                             from.reduced.strides[0], length, k, to.reduced.strides[0], out.as<T>(),
                             call.isAsked(1) ? call.outputs[1].as<std::int64_t>() : nullptr});
    });
}

} // namespace

void addOrderingKernels(KernelMap& table) { add(table, "TopK", topKKernel); }

} // namespace twb::cuda
