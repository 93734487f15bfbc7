#pragma once

#include <cstdint>

namespace twb {

/// The taps of a window at one position along an axis that lie in the input. There is at least one.
struct PoolTaps {
    std::int64_t first = 0; ///< the place of the first in the input
    std::int64_t count = 0;
};

/// Kernels of one instruction set for channels-last tensors.
struct MaxPoolKernels {
    /// The maximum of each channel under each window of a row of y; NaN wins. `x` is the image; the taps of
    /// the row are `down` elements apart, and those of a column `across`. A place along a row is `channels`
    /// elements.
    void (*row)(const float* x, std::int64_t channels, std::int64_t width, PoolTaps rows,
                const PoolTaps* columns, std::int64_t outWidth, std::int64_t down, std::int64_t across,
                float* y) noexcept = nullptr;
};

namespace avx2 {
extern const MaxPoolKernels maxPoolKernels;
}
namespace avx512 {
extern const MaxPoolKernels maxPoolKernels;
}

} // namespace twb
