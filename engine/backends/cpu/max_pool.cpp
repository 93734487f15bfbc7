#include "backends/cpu/max_pool.h"

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/max_pool_loops.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <algorithm>
#include <vector>

namespace twb {
namespace {

/// The kernels for this CPU; null without AVX2.
const MaxPoolKernels* poolKernels() {
    return kernelsForThisCpu(avx2::maxPoolKernels, avx512::maxPoolKernels);
}

/// By position along an axis.
std::vector<PoolTaps> tapsOf(const WindowAxis& axis) {
    std::vector<PoolTaps> out;
    for (std::int64_t position = 0; position < axis.out; ++position) {
        const WindowAxis::Taps taps = axis.taps(position);
        out.push_back({axis.start(position) + taps.begin * axis.dilation, taps.count()});
    }
    return out;
}

} // namespace

bool maxPoolChannelsLast(const Window& window, const TensorView& x, const TensorView& y) {
    const auto isFitting = [](const TensorView& view) {
        return view.dtype == DType::f32 && isChannelsLast(view);
    };
    if (!poolKernels() || window.rank() != 2 || !isFitting(x) || !isFitting(y) || y.elementCount() == 0)
        return false;
    const std::vector<PoolTaps> rows = tapsOf(window.axes[0]);
    const std::vector<PoolTaps> columns = tapsOf(window.axes[1]);
    const auto isEmpty = [](const PoolTaps& taps) { return taps.count == 0; };
    if (std::ranges::any_of(rows, isEmpty) || std::ranges::any_of(columns, isEmpty)) return false;
    const std::int64_t channels = x.shape[1];
    const WindowAxis& down = window.axes[0];
    const WindowAxis& across = window.axes[1];
    const auto outHeight = static_cast<std::int64_t>(rows.size());
    const std::int64_t total = x.shape[0] * outHeight;
    const std::int64_t work = y.elementCount() * window.tapCount() / 4;
    parallelRanges(total, work, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            poolKernels()->row(x.as<const float>() + row / outHeight * down.in * across.in * channels,
                               channels, across.in, rows[static_cast<std::size_t>(row % outHeight)],
                               columns.data(), across.out, down.dilation * across.in * channels,
                               across.dilation * channels, y.as<float>() + row * across.out * channels);
    });
    return true;
}

} // namespace twb
