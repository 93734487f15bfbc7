#pragma once

#include "backends/cpu/channels_last_loops.h"

namespace twb {

/// A convolution of channels-last images as a matrix product, without copying x.
struct DirectSizes {
    std::int64_t height = 1, width = 1;       ///< of an image of x
    std::int64_t outHeight = 1, outWidth = 1; ///< of an image of y
    std::int64_t kernelHeight = 1, kernelWidth = 1;
    std::int64_t down = 1, across = 1; ///< strides
    std::int64_t padTop = 0, padLeft = 0;
    std::int64_t inner = 0;   ///< channels of x
    std::int64_t columns = 0; ///< channels of y
    std::int64_t panel = 0;   ///< columns of a panel of packed weights: directPanel()
    std::int64_t step = 0;    ///< elements from one position of y to the next
    bool goesOn = false;      ///< the next call reads the weights after the last panel
};

/// The largest panel: the columns whose sums the registers of AVX-512 hold.
inline constexpr std::int64_t kMostPanel = 64;

/// The columns of a panel, a multiple of kChannelLanes. All panels but the last have as many.
static inline constexpr std::int64_t directPanel(std::int64_t columns) {
    const std::int64_t lanes = (columns + kChannelLanes - 1) / kChannelLanes;
    const std::int64_t panels = (columns + kMostPanel - 1) / kMostPanel;
    return (lanes + panels - 1) / panels * kChannelLanes;
}

/// The kernels of one instruction set.
struct DirectKernels {
    /// Computes positions [begin, end) of y, numbered row by row, image after image, of the panels [first,
    /// last). w: panels of taps × inner × panel; the last has as many columns as it needs, rounded up to
    /// kChannelLanes, with zeros. ending.added is laid out like a dense y; ending.function is none.
    void (*convolve)(const DirectSizes& sizes, const float* x, const float* w, std::int64_t begin,
                     std::int64_t end, std::int64_t first, std::int64_t last, const ChannelsEnding& ending,
                     float* y) noexcept = nullptr;
};

namespace avx2 {
extern const DirectKernels directKernels;
}
namespace avx512 {
extern const DirectKernels directKernels;
}

} // namespace twb
