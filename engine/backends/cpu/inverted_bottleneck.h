#pragma once

#include "backends/cpu/channels_last_convolution.h"

#include <array>
#include <cstdint>
#include <memory>

namespace twb {

/// An inverted bottleneck (Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", 2018) in
/// channels-last f32 images: a convolution with windows of one element that expands the channels, one with
/// one channel per group, the filter, and one with windows of one element that projects the channels.
struct BottleneckSizes {
    std::int64_t inChannels = 1;
    std::int64_t channels = 1; ///< of the filter, a multiple of kChannelLanes
    std::int64_t outChannels = 1;
    bool expands = true; ///< else the filter reads the input, and both have the same channels
    Window window;       ///< of the filter: two axes without dilation
    ProductEnding expanded, filtered, projected;
};

/// Computes an inverted bottleneck. The expanded image is never stored as a whole: each thread expands some
/// channels of a few rows, which the filter reads from the cache.
class InvertedBottleneck {
public:
    enum class Part : std::uint8_t { expansion, filter, projection };
    static constexpr std::size_t kParts = 3;

    /// Null for sizes and endings that it does not have, and without kernels.
    static std::unique_ptr<InvertedBottleneck>
    make(const BottleneckSizes& sizes, const ChannelsLastKernels* kernels = channelsLastKernels());

    /// Packs the weights of a convolution, in ONNX's order. To be called for each part before the first run.
    void pack(Part part, const float* w);

    /// One image: the input, and the result of the filter. A bias may be null. `means`: of each of its
    /// channels, in f64 sums of f32 sums of its rows; null: not computed.
    void filter(const float* x, const float* expandBias, const float* filterBias, float* filtered,
                float* means) const;
    /// One image: the result of the filter, times one factor per channel, unless that is null, projected.
    /// `added` has the sizes of y; it and the bias may be null.
    void project(const float* filtered, const float* factors, const float* bias, const float* added,
                 float* y) const;

    /// One image: filter() and project() without factors. With enough rows, each thread projects the rows
    /// that it has just filtered.
    void run(const float* x, const float* expandBias, const float* filterBias, const float* bias,
             const float* added, float* y) const;

private:
    InvertedBottleneck(const BottleneckSizes& sizes, const ChannelsLastKernels& kernels);
    struct Filtering;
    struct Strip;
    std::int64_t panels() const;
    bool isByRows(std::int64_t fewTimes) const;
    std::int64_t filterWork() const;
    ProductSizes projectionSizes() const;
    const float* weights(Part part) const;
    void expandRows(const Filtering& given, std::int64_t panel, std::int64_t first, std::int64_t last,
                    float* to) const;
    void filterRows(const Filtering& given, std::int64_t panel, std::int64_t first, std::int64_t last,
                    Strip& strip, float* y) const;
    template <class Then>
    void filterStrips(const Filtering& given, std::int64_t firstPanel, std::int64_t lastPanel,
                      std::int64_t first, std::int64_t last, const Then& then) const;
    std::int64_t stripRows() const;
    std::int64_t stripFloats() const;

    const BottleneckSizes m_sizes;
    const ChannelsLastKernels& m_kernels;
    const WindowAxis m_rows, m_columns;
    const std::int64_t m_panelChannels; ///< that are filtered at once
    std::array<BufferPtr, kParts> m_weights;
};

} // namespace twb
