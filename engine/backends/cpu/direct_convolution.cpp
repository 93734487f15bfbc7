#include "backends/cpu/direct_convolution.h"

#include "backends/cpu/channels_last_convolution.h"
#include "backends/cpu/direct_loops.h"
#include "backends/cpu/host_threads.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <algorithm>
#include <optional>

namespace twb {
namespace {

std::optional<ChannelsEnding> directEnding(const ProductEnding& ending) {
    ChannelsEnding out;
    switch (ending.activation) {
    case ProductActivation::none:
        return out;
    case ProductActivation::relu:
        out.least = 0;
        return out;
    case ProductActivation::clip:
        out.least = ending.alpha;
        out.most = ending.beta;
        return out;
    default:
        return std::nullopt;
    }
}

bool isPointwise(const Window& window) {
    return std::ranges::all_of(window.axes, [](const WindowAxis& axis) {
        return axis.kernel == 1 && axis.stride == 1 && axis.padBegin == 0 && axis.padEnd == 0;
    });
}

DirectSizes directSizes(const Convolution& s, std::int64_t step) {
    DirectSizes out;
    if (isPointwise(s.window)) { // positions of all images form one row
        out.width = out.outWidth = s.batch * s.window.outCount();
    } else {
        const WindowAxis& rows = s.window.axes[0];
        const WindowAxis& columns = s.window.axes[1];
        out = {.height = rows.in,
               .width = columns.in,
               .outHeight = rows.out,
               .outWidth = columns.out,
               .kernelHeight = rows.kernel,
               .kernelWidth = columns.kernel,
               .down = rows.stride,
               .across = columns.stride,
               .padTop = rows.padBegin,
               .padLeft = columns.padBegin};
    }
    out.inner = s.inChannels;
    out.columns = s.outChannels;
    out.step = step;
    out.panel = directPanel(s.outChannels);
    return out;
}

class DirectConvolution final : public ChannelsLastConvolution {
public:
    DirectConvolution(const Convolution& s, const ChannelsEnding& ending, std::int64_t step)
        : ChannelsLastConvolution(ending), m_sizes(directSizes(s, step)),
          m_positions(s.batch * s.window.outCount()),
          m_panels((m_sizes.columns + m_sizes.panel - 1) / m_sizes.panel) {}

private:
    std::int64_t taps() const { return m_sizes.kernelHeight * m_sizes.kernelWidth; }
    std::int64_t packedCount() const override {
        return (m_sizes.columns + kChannelLanes - 1) / kChannelLanes * kChannelLanes * m_sizes.inner * taps();
    }

    void pack(const float* w, float* out) const override {
        const DirectSizes& s = m_sizes;
        parallelRanges(m_panels, packedCount(), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel) {
                const std::int64_t first = panel * s.panel;
                const std::int64_t rest = (s.columns - first + kChannelLanes - 1) / kChannelLanes;
                const std::int64_t width = std::min(s.panel, rest * kChannelLanes);
                float* to = out + first * taps() * s.inner;
                for (std::int64_t tap = 0; tap < taps(); ++tap)
                    for (std::int64_t k = 0; k < s.inner; ++k)
                        for (std::int64_t column = first; column < first + width; ++column)
                            *to++ = column < s.columns ? w[(column * s.inner + k) * taps() + tap] : 0;
            }
        });
    }

    /// Threads compute neighbouring positions, which they wrote themselves in the step before; with few
    /// positions, neighbouring panels, whose weights each alone reads.
    void compute(const float* x, const float* w, const ChannelsEnding& ending, float* y) const override {
        constexpr std::int64_t kFewPositions = 48; // of a thread
        const std::int64_t threads = regionThreads();
        const bool isFew = m_positions < kFewPositions * threads && m_panels >= threads;
        const std::int64_t parts = std::min(threads, isFew ? m_panels : m_positions);
        const std::int64_t work = m_positions * m_sizes.inner * taps() * m_sizes.columns / 4;
        parallelRanges(parts, work, 1, [&](std::int64_t begin, std::int64_t end) {
            const auto share = [&](std::int64_t count, bool isShared) {
                return isShared ? std::pair(count * begin / parts, count * end / parts)
                                : std::pair(std::int64_t{0}, count);
            };
            const auto [first, last] = share(m_positions, !isFew);
            const auto [firstPanel, lastPanel] = share(m_panels, isFew);
            directKernels()->convolve(m_sizes, x, w, first, last, firstPanel, lastPanel, ending, y);
        });
    }

    const DirectSizes m_sizes;
    const std::int64_t m_positions; ///< of y, of all images
    const std::int64_t m_panels;
};

/// Windows at neighbouring positions share a tile.
bool hasTiles(const Convolution& s) {
    constexpr std::int64_t kLeastChannels = 8;
    constexpr std::int64_t kLeastWidth = 4;
    if (s.groups != 1 || s.inChannels < kLeastChannels || s.outChannels < kChannelLanes) return false;
    if (isPointwise(s.window)) return s.batch * s.window.outCount() >= kLeastWidth;
    return s.window.rank() == 2 && s.window.axes[1].out >= kLeastWidth &&
           std::ranges::all_of(s.window.axes, [](const WindowAxis& axis) {
               return axis.dilation == 1 && axis.padBegin >= 0 && axis.padEnd >= 0;
           });
}

/// With AVX2 only, oneDNN is as fast or faster for windows of one element. For others, and with AVX-512, it
/// is for weights that stay in the cache, unless a tensor is added, which it copies first, or y is a part of
/// a tensor, which it does not write.
bool isFaster(const Convolution& s, const NativeConvolution::Tensors& tensors) {
    constexpr std::int64_t kLeastWeights = 1 << 18;
    return (hasAvx512() || s.window.tapCount() > 1) &&
           (tensors.added.data || positionStep(tensors.y) != s.outChannels ||
            s.inChannels * s.outChannels * s.window.tapCount() >= kLeastWeights);
}

} // namespace

const DirectKernels* directKernels() { return kernelsForThisCpu(avx2::directKernels, avx512::directKernels); }

std::int64_t positionStep(const TensorView& view) {
    const int rank = view.shape.rank();
    if (rank < 3 || view.shape[1] < 1 || (view.shape[1] > 1 && view.strides[1] != 1)) return 0;
    std::int64_t step = 0;
    std::int64_t positions = 1; // along the axes that were seen
    for (int axis = rank - 1; axis >= 0; --axis) {
        if (axis == 1 || view.shape[axis] == 1) continue;
        const std::int64_t stride = view.strides[static_cast<std::size_t>(axis)];
        if (step == 0) step = stride;
        if (stride != positions * step) return 0;
        positions *= view.shape[axis];
    }
    if (positions == 1) return view.shape[1];
    return step >= view.shape[1] ? step : 0;
}

std::unique_ptr<NativeConvolution> makeAnyDirect(const Convolution& sizes,
                                                 const NativeConvolution::Tensors& tensors,
                                                 const ProductEnding& ending) {
    const auto isFitting = [](const TensorView& view) {
        return view.dtype == DType::f32 && isChannelsLast(view);
    };
    const std::optional<ChannelsEnding> whole = directEnding(ending);
    const std::int64_t step = positionStep(tensors.y);
    if (!directKernels() || !whole || !tensors.constantWeights || !hasTiles(sizes) || !isFitting(tensors.x) ||
        tensors.y.dtype != DType::f32 || step == 0 || (tensors.added.data && !isFitting(tensors.added)))
        return nullptr;
    return std::make_unique<DirectConvolution>(sizes, *whole, step);
}

std::unique_ptr<NativeConvolution>
makeDirect(const Convolution& sizes, const NativeConvolution::Tensors& tensors, const ProductEnding& ending) {
    return isFaster(sizes, tensors) ? makeAnyDirect(sizes, tensors, ending) : nullptr;
}

} // namespace twb
