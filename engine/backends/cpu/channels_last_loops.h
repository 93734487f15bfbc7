#pragma once

#include <cstdint>

namespace twb {

/// What follows a convolution. The result is limited to [least, most], which keeps NaN; then the function is
/// applied.
struct ChannelsEnding {
    enum class Function : std::uint8_t { none, swish, hardSwish, leakyRelu };
    const float* bias = nullptr;  ///< one element per channel; may be null
    const float* added = nullptr; ///< laid out like the result; may be null
    float least = -__builtin_inff();
    float most = __builtin_inff();
    Function function = Function::none;
    float alpha = 0; ///< of swish and leakyRelu
};

/// Columns of a panel of packed weights, with zeros after the last. If half of the last panel suffices, it
/// has only that.
inline constexpr std::int64_t kChannelPanel = 32;
static inline constexpr std::int64_t panelWidth(std::int64_t columns, std::int64_t panel) {
    return columns - panel * kChannelPanel > kChannelPanel / 2 ? kChannelPanel : kChannelPanel / 2;
}
/// Channels that a depthwise convolution computes at once; all its channels are a multiple of it.
inline constexpr std::int64_t kChannelLanes = 16;

/// A product of rows of x with a matrix of inner × columns.
struct ProductSizes {
    std::int64_t inner = 0;
    std::int64_t columns = 0;
    std::int64_t step = 0; ///< elements of x from one row to the next
    const std::int64_t* offsets =
        nullptr; ///< where the elements of a row of x are; null: one after the other
    /// Elements of w from the last panel of a call to the one that the thread reads next; 0: not known.
    std::int64_t next = 0;
};

/// A convolution with one channel per group, in an image.
struct DepthwiseSizes {
    std::int64_t channels = 0;                ///< elements of x, and of w, from one place to the next
    std::int64_t outStep = 0;                 ///< elements of y from one place to the next
    std::int64_t height = 0, width = 0;       ///< of x
    std::int64_t outHeight = 0, outWidth = 0; ///< of y
    std::int64_t kernelHeight = 0, kernelWidth = 0;
    std::int64_t down = 1, across = 1; ///< strides
    std::int64_t padTop = 0, padLeft = 0;
};

/// The kernels of one instruction set for channels-last tensors.
struct ChannelsLastKernels {
    /// Computes rows [begin, end) of y, of the panels [first, last). w: panels of inner × panelWidth(). Each
    /// panel is fetched into the cache while the one before is in work, a share by each block of rows.
    void (*multiply)(const ProductSizes& sizes, const float* x, const float* w, std::int64_t begin,
                     std::int64_t end, std::int64_t first, std::int64_t last, const ChannelsEnding& ending,
                     float* y) noexcept = nullptr;
    /// Computes row `row` of y, of the channels [first, last), multiples of kChannelLanes. w: taps ×
    /// channels.
    void (*depthwise)(const DepthwiseSizes& sizes, const float* x, const float* w, std::int64_t row,
                      std::int64_t first, std::int64_t last, const ChannelsEnding& ending,
                      float* y) noexcept = nullptr;
    /// sums[c] = the sum of element c of `count` places, which are `step` elements apart, for c below
    /// `channels`, a multiple of kChannelLanes.
    void (*sumPlaces)(const float* x, std::int64_t count, std::int64_t step, std::int64_t channels,
                      float* sums) noexcept = nullptr;
    /// y = `rows` rows of x, of `channels` elements, times one factor per channel. `channels` is as above.
    void (*scaleRows)(const float* x, const float* factors, std::int64_t rows, std::int64_t channels,
                      float* y) noexcept = nullptr;
};

namespace avx2 {
extern const ChannelsLastKernels channelsLastKernels;
}
namespace avx512 {
extern const ChannelsLastKernels channelsLastKernels;
}

} // namespace twb
