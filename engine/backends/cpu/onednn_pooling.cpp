#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_context.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "core/half.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace twb::onednn {
namespace {

/// Whether no element is the least finite number, which oneDNN's maximum gives for −∞ alone, or less.
template <class T> bool allAbove(const T* x, std::int64_t count) {
    std::atomic<bool> above{true};
    parallelRanges(count, count, 4096, [&](std::int64_t begin, std::int64_t end) {
        unsigned below = 0; // of the elements' width, so that the compiler vectorises the loop
        for (std::int64_t i = begin; i < end; ++i)
            below |= static_cast<float>(x[i]) > std::numeric_limits<float>::lowest() ? 0U : 1U;
        if (below != 0) above = false;
    });
    return above;
}

bool isByte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool allAbove(const TensorView& x) {
    const std::int64_t count = x.elementCount();
    return x.dtype == DType::bf16 ? allAbove(x.as<const BFloat16>(), count)
                                  : allAbove(x.as<const float>(), count);
}

/// The elements that windows read after the end. They may leave the last elements unread.
std::int64_t readBehind(const WindowAxis& axis) {
    return std::max<std::int64_t>((axis.out - 1) * axis.stride + axis.reach() - axis.in - axis.padBegin, 0);
}

/// Whether oneDNN and ONNX agree on the window: every position overlaps the input, and all padding was
/// requested.
bool fits(const Window& window, Pooling kind) {
    return std::all_of(window.axes.begin(), window.axes.end(), [&](const WindowAxis& axis) {
        const std::int64_t behind = readBehind(axis);
        return axis.dilation == 1 && axis.padBegin >= 0 && axis.padBegin < axis.kernel &&
               behind < axis.kernel && (kind != Pooling::averageWithPadding || behind <= axis.padEnd);
    });
}

std::shared_ptr<const Ready> make(Pooling kind, const Window& window, const memory::desc& x,
                                  const memory::desc& y) {
    const auto algorithm = kind == Pooling::max       ? dnnl::algorithm::pooling_max
                           : kind == Pooling::average ? dnnl::algorithm::pooling_avg_exclude_padding
                                                      : dnnl::algorithm::pooling_avg_include_padding;
    memory::dims behind;
    for (const WindowAxis& axis : window.axes) behind.push_back(readBehind(axis));
    using P = dnnl::pooling_forward;
    const std::map<int, memory::desc> arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}};
    const memory::dims strides = dimsOf(window, &WindowAxis::stride);
    const memory::dims kernel = dimsOf(window, &WindowAxis::kernel);
    const memory::dims before = dimsOf(window, &WindowAxis::padBegin);
#if DNNL_VERSION_MAJOR >= 3
    const memory::dims dilations(window.axes.size(), 0);
    return ready<P>(arguments, algorithm, x, y, strides, kernel, dilations, before, behind);
#else
    return ready<P>(arguments, algorithm, x, y, strides, kernel, before, behind);
#endif
}

} // namespace

bool pool(Pooling kind, const Window& window, const TensorView& x, const TensorView& y) {
    const bool channelsLast = !isDense(x) || !isDense(y);
    if (window.rank() > 3 || !(isServed(y.dtype) || (kind == Pooling::max && isByte(y.dtype))) ||
        !fits(window, kind) || (channelsLast && !(isChannelsLast(x) && isChannelsLast(y))))
        return false;
    static Cache<Ready> cache;
    Key key{static_cast<std::int64_t>(kind), static_cast<std::int64_t>(y.dtype), channelsLast, x.shape[0],
            x.shape[1]};
    append(key, window);
    const auto primitive = cache.find(std::move(key), [&] {
        const auto type = y.dtype == DType::u8   ? memory::data_type::u8
                          : y.dtype == DType::i8 ? memory::data_type::s8
                                                 : typeOf(y.dtype);
        return make(kind, window,
                    planes(x.shape[0], x.shape[1], dimsOf(window, &WindowAxis::in), type, channelsLast),
                    planes(x.shape[0], x.shape[1], dimsOf(window, &WindowAxis::out), type, channelsLast));
    });
    if (!primitive) return false;
    const bool mayLose = kind == Pooling::max && !isByte(y.dtype); // oneDNN's maximum ignores NaN
    if (mayLose) hasMetNaN();
    primitive->run({{DNNL_ARG_SRC, x.data}, {DNNL_ARG_DST, y.data}});
    return !mayLose || (!hasMetNaN() && allAbove(y));
}

} // namespace twb::onednn
