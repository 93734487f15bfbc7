#include "backends/cpu/channels_last_convolution.h"

#include "backends/cpu/channels_last_loops.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace twb {

const ChannelsLastKernels* channelsLastKernels() {
    return kernelsForThisCpu(avx2::channelsLastKernels, avx512::channelsLastKernels);
}

std::optional<ChannelsEnding> channelsEnding(const ProductEnding& ending) {
    using Function = ChannelsEnding::Function;
    ChannelsEnding out;
    out.alpha = ending.alpha;
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
    case ProductActivation::swish:
        out.function = Function::swish;
        return out;
    case ProductActivation::hardSwish:
        out.function = Function::hardSwish;
        return out;
    case ProductActivation::leakyRelu:
        out.function = Function::leakyRelu;
        return out;
    case ProductActivation::gelu:
    case ProductActivation::geluTanh:
        break;
    }
    return std::nullopt;
}

bool ChannelsLastConvolution::run(const Data& data) {
    if (!m_weights) {
        m_weights = hostAllocator().allocate(static_cast<std::size_t>(packedCount()) * sizeof(float),
                                             MemoryKind::pageable);
        pack(static_cast<const float*>(data.w), static_cast<float*>(m_weights->data()));
    }
    ChannelsEnding ending = m_ending;
    ending.bias = static_cast<const float*>(data.bias);
    ending.added = static_cast<const float*>(data.added);
    compute(static_cast<const float*>(data.x), static_cast<const float*>(m_weights->data()), ending,
            static_cast<float*>(data.y));
    return true;
}

void packPanels(const float* w, std::int64_t inner, std::int64_t columns, float* out) {
    const std::int64_t panels = channelPanels(columns);
    parallelRanges(panels, panels * kChannelPanel * inner, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t panel = begin; panel < end; ++panel) {
            const std::int64_t width = panelWidth(columns, panel);
            float* to = out + panel * kChannelPanel * inner;
            for (std::int64_t k = 0; k < inner; ++k)
                for (std::int64_t i = 0; i < width; ++i, ++to) {
                    const std::int64_t column = panel * kChannelPanel + i;
                    *to = column < columns ? w[column * inner + k] : 0;
                }
        }
    });
}

void packTaps(const float* w, std::int64_t taps, std::int64_t channels, float* out) {
    for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t tap = 0; tap < taps; ++tap) out[tap * channels + c] = w[c * taps + tap];
}

void multiplyRows(const ChannelsLastKernels& kernels, const ProductSizes& sizes, std::int64_t rows,
                  const float* x, const float* factors, const float* w, const ChannelsEnding& ending,
                  float* y) {
    constexpr std::int64_t kFewRows = 96;
    constexpr std::int64_t kBlockRows = 60;
    constexpr std::int64_t kBalance = 4; // threads among which the blocks are divided evenly
    const std::int64_t panels = channelPanels(sizes.columns);
    const std::int64_t blocks =
        rows < kFewRows ? 1 : (rows + kBalance * kBlockRows - 1) / (kBalance * kBlockRows) * kBalance;
    const std::int64_t groups = blocks == 1 ? panels : 1;
    const std::int64_t products = rows * sizes.inner * sizes.columns;
    parallelRanges(blocks * groups, products / 4, 1, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t most = factors ? (rows + blocks - 1) / blocks * sizes.inner : 0;
        const ScratchFloats scaled(most);
        std::int64_t scaledBlock = -1;
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t block = task / groups;
            const std::int64_t group = task % groups;
            const std::int64_t first = rows * block / blocks;
            const std::int64_t count = rows * (block + 1) / blocks - first;
            const float* from = x + first * sizes.step;
            if (factors) {
                if (block != scaledBlock) kernels.scaleRows(from, factors, count, sizes.inner, scaled.data());
                scaledBlock = block;
                from = scaled.data();
            }
            ChannelsEnding here = ending;
            if (here.added) here.added += first * sizes.columns;
            ProductSizes part = sizes; // the thread usually goes on with the next panel
            if (group + 1 < groups) part.next = sizes.inner * kChannelPanel;
            kernels.multiply(part, from, w, 0, count, panels * group / groups, panels * (group + 1) / groups,
                             here, y + first * sizes.columns);
        }
    });
}

namespace {

/// A convolution as a matrix product: rows of x times the weights, a matrix of columns × inner that is packed
/// in panels.
class ProductConvolution : public ChannelsLastConvolution {
protected:
    ProductConvolution(const Convolution& s, const ChannelsEnding& ending)
        : ChannelsLastConvolution(ending), m_sizes{.inner = s.inChannels * s.window.tapCount(),
                                                   .columns = s.outChannels,
                                                   .step = s.inChannels} {}

    std::int64_t packedCount() const final { return panelElements(m_sizes.inner, m_sizes.columns); }
    void pack(const float* w, float* out) const final { packPanels(w, m_sizes.inner, m_sizes.columns, out); }

    ProductSizes m_sizes;
};

/// Windows of one element: a row of x is the channels at one position.
class PointwiseConvolution final : public ProductConvolution {
public:
    PointwiseConvolution(const Convolution& s, const ChannelsEnding& ending)
        : ProductConvolution(s, ending), m_rows(s.batch * s.window.outCount()) {}

protected:
    void compute(const float* x, const float* w, const ChannelsEnding& ending, float* y) const override {
        multiplyRows(*channelsLastKernels(), m_sizes, m_rows, x, nullptr, w, ending, y);
    }

private:
    const std::int64_t m_rows;
};

/// A row-major image of a few channels, such as the input of a network: a row of x is a window. Each row of y
/// reads a copy of the rows of the image below its windows, with zeros beside them.
class ImageConvolution final : public ProductConvolution {
public:
    ImageConvolution(const Convolution& s, const ChannelsEnding& ending)
        : ProductConvolution(s, ending), m_batch(s.batch), m_channels(s.inChannels), m_rows(s.window.axes[0]),
          m_columns(s.window.axes[1]), m_width(m_columns.padBegin + m_columns.in + m_columns.padEnd) {
        for (std::int64_t band = 0; band < m_channels * m_rows.kernel; ++band)
            for (std::int64_t column = 0; column < m_columns.kernel; ++column)
                m_offsets.push_back(band * m_width + column);
        m_sizes.step = m_columns.stride;
        m_sizes.offsets = m_offsets.data();
    }

protected:
    void compute(const float* x, const float* w, const ChannelsEnding& ending, float* y) const override {
        const std::int64_t rowLength = m_columns.out * m_sizes.columns;
        const std::int64_t rows = m_batch * m_rows.out;
        parallelRanges(
            rows, rows * rowLength * m_sizes.inner / 4, 1, [&](std::int64_t begin, std::int64_t end) {
                std::vector<float> band(static_cast<std::size_t>(m_channels * m_rows.kernel * m_width));
                for (std::int64_t row = begin; row < end; ++row) {
                    fill(x, row, band.data());
                    ChannelsEnding here = ending;
                    if (here.added) here.added += row * rowLength;
                    channelsLastKernels()->multiply(m_sizes, band.data(), w, 0, m_columns.out, 0,
                                                    channelPanels(m_sizes.columns), here,
                                                    y + row * rowLength);
                }
            });
    }

private:
    /// The rows of the image that row `row` of y reads. The columns beside them stay 0.
    void fill(const float* x, std::int64_t row, float* band) const {
        const float* const image = x + row / m_rows.out * m_channels * m_rows.in * m_columns.in;
        const std::int64_t top = row % m_rows.out * m_rows.stride - m_rows.padBegin;
        for (std::int64_t channel = 0; channel < m_channels; ++channel)
            for (std::int64_t tap = 0; tap < m_rows.kernel; ++tap, band += m_width) {
                const std::int64_t at = top + tap;
                if (at >= 0 && at < m_rows.in)
                    std::copy_n(image + (channel * m_rows.in + at) * m_columns.in, m_columns.in,
                                band + m_columns.padBegin);
                else
                    std::fill_n(band + m_columns.padBegin, m_columns.in, 0.0F);
            }
    }

    const std::int64_t m_batch;
    const std::int64_t m_channels;
    const WindowAxis m_rows, m_columns;
    const std::int64_t m_width; ///< of a copied row
    std::vector<std::int64_t> m_offsets;
};

class DepthwiseConvolution final : public ChannelsLastConvolution {
public:
    DepthwiseConvolution(const Convolution& s, const ChannelsEnding& ending)
        : ChannelsLastConvolution(ending), m_batch(s.batch), m_sizes(sizesOf(s)) {}

protected:
    std::int64_t packedCount() const override {
        return m_sizes.kernelHeight * m_sizes.kernelWidth * m_sizes.channels;
    }

    void pack(const float* w, float* out) const override {
        packTaps(w, m_sizes.kernelHeight * m_sizes.kernelWidth, m_sizes.channels, out);
    }

    /// Each task computes some channels of a row, each thread neighbouring rows.
    void compute(const float* x, const float* w, const ChannelsEnding& ending, float* y) const override {
        constexpr std::int64_t kTaskChannels = 128;
        const std::int64_t rows = m_batch * m_sizes.outHeight;
        const std::int64_t lanes = m_sizes.channels / kChannelLanes;
        const std::int64_t groups = (m_sizes.channels + kTaskChannels - 1) / kTaskChannels;
        const std::int64_t products = rows * m_sizes.outWidth * packedCount();
        const std::int64_t work = products / 4 + 2 * rows * m_sizes.outWidth * m_sizes.channels;
        parallelRanges(rows * groups, work, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
                const std::int64_t group = task % groups;
                channelsLastKernels()->depthwise(m_sizes, x, w, task / groups,
                                                 lanes * group / groups * kChannelLanes,
                                                 lanes * (group + 1) / groups * kChannelLanes, ending, y);
            }
        });
    }

private:
    static DepthwiseSizes sizesOf(const Convolution& s) {
        const WindowAxis& rows = s.window.axes[0];
        const WindowAxis& columns = s.window.axes[1];
        return {.channels = s.groups,
                .outStep = s.groups,
                .height = rows.in,
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

    const std::int64_t m_batch;
    const DepthwiseSizes m_sizes;
};

bool isPointwise(const Convolution& s) {
    return s.groups == 1 && std::ranges::all_of(s.window.axes, [](const WindowAxis& axis) {
               return axis.kernel == 1 && axis.stride == 1 && axis.padBegin == 0 && axis.padEnd == 0;
           });
}

/// A few channels, which fill no lanes of a channels-last image, and small windows, for which the copy of the
/// image that oneDNN needs takes as long as the products.
bool isOfImage(const Convolution& s) {
    constexpr std::int64_t kMostChannels = 4;
    constexpr std::int64_t kMostElements = 64;
    return s.groups == 1 && s.inChannels <= kMostChannels &&
           s.inChannels * s.window.tapCount() <= kMostElements && s.outChannels >= kChannelLanes &&
           s.window.rank() == 2 && std::ranges::all_of(s.window.axes, [](const WindowAxis& axis) {
               return axis.dilation == 1 && axis.padBegin >= 0 && axis.padEnd >= 0;
           });
}

bool isDepthwise(const Convolution& s) {
    return s.groups % kChannelLanes == 0 && s.inChannels == 1 && s.outChannels == 1 && s.window.rank() == 2 &&
           std::ranges::all_of(s.window.axes, [](const WindowAxis& axis) {
               return axis.dilation == 1 && axis.padBegin >= 0 && axis.padEnd >= 0;
           });
}

/// Whether depthwise kernels for this window are faster than oneDNN's even if no activation function follows.
/// With AVX2 only, whole networks take as long with these kernels as with oneDNN's.
bool hasFastColumns(const Window& window) {
    const WindowAxis& across = window.axes[1];
    const bool isShort = across.kernel == 3 || across.kernel == 5;
    return hasAvx512() &&
           (across.stride == 1 ? isShort || across.kernel == 7 : isShort && across.stride == 2);
}

} // namespace

std::unique_ptr<NativeConvolution> makeChannelsLast(const Convolution& sizes,
                                                    const NativeConvolution::Tensors& tensors,
                                                    const ProductEnding& ending) {
    const auto isF32 = [](const TensorView& view) { return view.dtype == DType::f32; };
    const auto isFitting = [&](const TensorView& view) { return isF32(view) && isChannelsLast(view); };
    const std::optional<ChannelsEnding> whole = channelsEnding(ending);
    if (!channelsLastKernels() || !whole || !tensors.constantWeights || !isFitting(tensors.y) ||
        (tensors.added.data && !isFitting(tensors.added)))
        return nullptr;
    if (isOfImage(sizes) && isF32(tensors.x) && isDense(tensors.x))
        return std::make_unique<ImageConvolution>(sizes, *whole);
    if (!isFitting(tensors.x)) return nullptr;
    // oneDNN's products are as fast without a function, but its functions are slower, and it starts threads
    // for a single row.
    const bool hasFunction = whole->function != ChannelsEnding::Function::none;
    const bool isSingleRow = sizes.batch * sizes.window.outCount() == 1;
    if (isPointwise(sizes) && (hasFunction || isSingleRow))
        return std::make_unique<PointwiseConvolution>(sizes, *whole);
    if (isDepthwise(sizes) && (hasFunction || hasFastColumns(sizes.window)))
        return std::make_unique<DepthwiseConvolution>(sizes, *whole);
    return nullptr;
}

} // namespace twb
