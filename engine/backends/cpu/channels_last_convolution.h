#pragma once

#include "backends/cpu/channels_last_loops.h"
#include "backends/cpu/convolution.h"

#include <memory>
#include <optional>

namespace twb {

/// A convolution to a channels-last f32 tensor with constant weights: of a row-major image with a few
/// channels, or of a channels-last tensor with windows of one element or with one channel per group. Its
/// ending costs less than oneDNN's. Null if the sizes do not fit, for activations that it does not have, or
/// without AVX2.
std::unique_ptr<NativeConvolution> makeChannelsLast(const Convolution& sizes,
                                                    const NativeConvolution::Tensors& tensors,
                                                    const ProductEnding& ending);

// What such convolutions are made of.

/// The kernels for this CPU; null without AVX2.
const ChannelsLastKernels* channelsLastKernels();
/// The ending of the kernels for a product's, without its bias. Nothing if they do not have its activation.
std::optional<ChannelsEnding> channelsEnding(const ProductEnding& ending);

/// Packs the weights at the first run.
class ChannelsLastConvolution : public NativeConvolution {
public:
    explicit ChannelsLastConvolution(const ChannelsEnding& ending) : m_ending(ending) {}

    bool run(const Data& data) final;
    bool hasPackedWeights() const final { return m_weights != nullptr; }

protected:
    virtual std::int64_t packedCount() const = 0;
    virtual void pack(const float* w, float* out) const = 0;
    virtual void compute(const float* x, const float* w, const ChannelsEnding& ending, float* y) const = 0;

private:
    const ChannelsEnding m_ending;
    BufferPtr m_weights;
};

inline std::int64_t channelPanels(std::int64_t columns) {
    return (columns + kChannelPanel - 1) / kChannelPanel;
}
/// The elements of a packed matrix.
inline std::int64_t panelElements(std::int64_t inner, std::int64_t columns) {
    constexpr std::int64_t kHalf = kChannelPanel / 2;
    return (columns + kHalf - 1) / kHalf * kHalf * inner;
}
/// Packs a matrix of columns × inner in panels of inner × panelWidth().
void packPanels(const float* w, std::int64_t inner, std::int64_t columns, float* out);
/// Packs weights of channels × taps as taps × channels.
void packTaps(const float* w, std::int64_t taps, std::int64_t channels, float* out);

/// Memory for a part of a computation on one thread, uninitialized and aligned like a tensor.
class ScratchFloats {
public:
    explicit ScratchFloats(std::int64_t count)
        : m_memory(count == 0 ? nullptr
                              : std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count) +
                                                                        kAlignment / sizeof(float))) {
        const auto address = reinterpret_cast<std::uintptr_t>(m_memory.get());
        m_data = m_memory.get() + (kAlignment - address % kAlignment) % kAlignment / sizeof(float);
    }
    float* data() const noexcept { return m_data; }

private:
    std::unique_ptr<float[]> m_memory;
    float* m_data;
};

/// y = ending(x · w) on all threads, for `rows` rows of x; sizes.offsets is null. If `factors` is not null,
/// element i of each row of x is multiplied by factors[i] first, and sizes.inner is a multiple of
/// kChannelLanes. Runs in blocks of rows that stay in the cache for all panels. Each thread computes
/// neighbouring rows, which it wrote itself in the step before; with few rows, neighbouring panels, whose
/// weights it alone reads.
void multiplyRows(const ChannelsLastKernels& kernels, const ProductSizes& sizes, std::int64_t rows,
                  const float* x, const float* factors, const float* w, const ChannelsEnding& ending,
                  float* y);

} // namespace twb
