#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"
#include "ops/resize_passes.h"

#include <cstring>
#include <memory>
#include <vector>

namespace twb::cuda {
namespace {

/// The taps and weights of one pass, in device memory.
class PassTable {
public:
    PassTable(Queue& queue, const Shares& shares)
        : m_taps(queue, shares.taps.size() * sizeof(Shares::Tap)),
          m_begins(queue, shares.begins.size() * sizeof(std::int64_t)) {
        // Positions outside the input are marked by the complement of their first tap.
        std::vector<std::int64_t> begins(shares.begins.begin(), shares.begins.end());
        for (std::size_t i = 0; i < shares.outside.size(); ++i)
            if (shares.outside[i]) begins[i] = ~begins[i];
        queue.upload(m_taps.data(), shares.taps.data(), shares.taps.size() * sizeof(Shares::Tap));
        queue.upload(m_begins.data(), begins.data(), begins.size() * sizeof(std::int64_t));
    }
    const Shares::Tap* taps() const { return m_taps.as<Shares::Tap>(); }
    const std::int64_t* begins() const { return m_begins.as<std::int64_t>(); }

private:
    Scratch m_taps;
    Scratch m_begins;
};

TWB_HOST_DEVICE inline std::int64_t beginOf(std::int64_t written) { return written < 0 ? ~written : written; }

/// outer × in × inner elements become outer × out × inner.
struct PassSizes {
    Divide inner, out;
    std::int64_t in;
    PassSizes(const Shape& from, const Shape& to, int axis) : in(from[axis]) {
        std::int64_t behind = 1;
        for (int i = axis + 1; i < from.rank(); ++i) behind *= from[i];
        const std::int64_t total = to.elementCount();
        inner = Divide(behind, total);
        out = Divide(to[axis], total);
    }
};

/// Elements are moved without arithmetic.
template <class T> struct MoveNearest {
    PassSizes sizes;
    const Shares::Tap* taps;
    const std::int64_t* begins;
    const T* from;
    T* to;
    T outsideValue;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = sizes.inner(i);
        const std::int64_t outer = sizes.out(row);
        const std::int64_t begin = begins[row - outer * sizes.out.divisor()];
        const std::int64_t within = i - row * sizes.inner.divisor();
        to[i] = begin < 0 ? outsideValue
                          : from[(outer * sizes.in + taps[begin].from) * sizes.inner.divisor() + within];
    }
};

template <class W> struct MixShares {
    PassSizes sizes;
    const Shares::Tap* taps;
    const std::int64_t* begins;
    const W* from;
    W* to;
    W outsideValue;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = sizes.inner(i);
        const std::int64_t outer = sizes.out(row);
        const std::int64_t place = row - outer * sizes.out.divisor();
        const std::int64_t begin = begins[place];
        if (begin < 0) {
            to[i] = outsideValue;
            return;
        }
        const std::int64_t end = beginOf(begins[place + 1]);
        const W* const source =
            from + outer * sizes.in * sizes.inner.divisor() + i - row * sizes.inner.divisor();
        W sum = 0;
        for (std::int64_t t = begin; t < end; ++t)
            sum += static_cast<W>(taps[t].share) * source[taps[t].from * sizes.inner.divisor()];
        to[i] = sum;
    }
};

/// Runs the passes from dense `in` to dense `out`, both of type T, with arithmetic in Work.
template <template <class> class Work, class T>
void runPasses(Queue& queue, const std::vector<ResizePass>& passes, const TensorView& in,
               const TensorView& out, T outsideValue) {
    Shape shape = in.shape;
    std::vector<std::unique_ptr<Scratch>> rooms;
    const T* from = in.as<const T>();
    for (std::size_t p = 0; p < passes.size(); ++p) {
        Shape next = shape;
        next[passes[p].axis] = passes[p].out;
        T* to = out.as<T>();
        if (p + 1 < passes.size()) {
            rooms.push_back(
                std::make_unique<Scratch>(queue, static_cast<std::size_t>(next.elementCount()) * sizeof(T)));
            to = rooms.back()->as<T>();
        }
        const PassTable table(queue, passes[p].shares);
        forEach(queue, next.elementCount(),
                Work<T>{PassSizes(shape, next, passes[p].axis), table.taps(), table.begins(), from, to,
                        outsideValue});
        from = to;
        shape = next;
    }
}

void resizeNearest(const KernelCall& call, const std::vector<ResizePass>& passes) {
    const DenseView x(call.queue, call.inputs[0]);
    const TensorView& y = call.outputs[0];
    const double value = call.attributes.number("extrapolation_value");
    std::uint64_t pattern = 0;
    withAny(y.dtype, [&](auto zero) {
        const auto element = element::cast<decltype(zero)>(value);
        std::memcpy(&pattern, &element, sizeof(element));
    });
    withBits(y.dtype, [&](auto zero) {
        using T = decltype(zero);
        runPasses<MoveNearest, T>(call.queue, passes, x.view(), y, static_cast<T>(pattern));
    });
}

/// Floats of up to 32 bits are computed in f32, everything else in double. Integers are truncated, as in
/// ONNX's reference.
void resizeSmoothly(const KernelCall& call, const std::vector<ResizePass>& passes) {
    const TensorView& y = call.outputs[0];
    const bool isSingle = isFloating(y.dtype) && y.dtype != DType::f64;
    const DType work = isSingle ? DType::f32 : DType::f64;
    const ConvertedView x(call.queue, work, call.inputs[0]);
    const bool isDirect = y.dtype == work;
    const Scratch room(call.queue, isDirect ? 0 : static_cast<std::size_t>(y.shape.byteCount(work)));
    const TensorView result{isDirect ? y.data : room.data(), work, y.shape, denseStrides(y.shape)};
    const double value = call.attributes.number("extrapolation_value");
    if (isSingle)
        runPasses<MixShares, float>(call.queue, passes, x.view(), result, static_cast<float>(value));
    else
        runPasses<MixShares, double>(call.queue, passes, x.view(), result, value);
    if (!isDirect) convertView(call.queue, result, y);
}

void resizeKernel(const KernelCall& call) {
    if (call.outputs[0].elementCount() == 0) return;
    const std::vector<ResizePass> passes = resizePasses(call.context());
    if (passes.empty()) return copyView(call.queue, call.inputs[0], call.outputs[0]);
    if (call.attributes.text("mode") == "nearest")
        resizeNearest(call, passes);
    else
        resizeSmoothly(call, passes);
}

} // namespace

void addResizeKernels(KernelMap& table) { add(table, "Resize", resizeKernel); }

} // namespace twb::cuda
