#include "backends/cpu/inverted_bottleneck.h"

#include "backends/cpu/host_threads.h"
#include "backends/cpu/parallel.h"

#include <algorithm>
#include <vector>

namespace twb {
namespace {

bool isFilter(const Window& window) {
    return window.rank() == 2 && window.outCount() > 0 && window.inCount() > 0 &&
           std::ranges::all_of(window.axes, [](const WindowAxis& axis) {
               return axis.dilation == 1 && axis.padBegin >= 0 && axis.padEnd >= 0;
           });
}

ChannelsEnding withBias(const ProductEnding& ending, const float* bias) {
    ChannelsEnding out = *channelsEnding(ending);
    out.bias = bias;
    return out;
}

} // namespace

/// The arguments of filter().
struct InvertedBottleneck::Filtering {
    const float* x;
    ChannelsEnding expanded, filtered;
    float* y;    ///< null: each strip goes to memory of its thread
    float* sums; ///< of each row of y, by channel; null: not computed
};

/// Expanded rows [top, bottom) of x, of the channels of a panel.
struct InvertedBottleneck::Strip {
    float* rows;
    std::int64_t top = 0, bottom = 0;
};

std::unique_ptr<InvertedBottleneck> InvertedBottleneck::make(const BottleneckSizes& sizes,
                                                             const ChannelsLastKernels* kernels) {
    const bool isFitting = kernels && sizes.inChannels > 0 && sizes.channels > 0 &&
                           sizes.channels % kChannelLanes == 0 && sizes.outChannels > 0 &&
                           (sizes.expands || sizes.inChannels == sizes.channels) && isFilter(sizes.window) &&
                           channelsEnding(sizes.expanded) && channelsEnding(sizes.filtered) &&
                           channelsEnding(sizes.projected);
    if (!isFitting) return nullptr;
    return std::unique_ptr<InvertedBottleneck>(new InvertedBottleneck(sizes, *kernels));
}

InvertedBottleneck::InvertedBottleneck(const BottleneckSizes& sizes, const ChannelsLastKernels& kernels)
    : m_sizes(sizes), m_kernels(kernels), m_rows(sizes.window.axes[0]), m_columns(sizes.window.axes[1]),
      m_panelChannels(sizes.expands ? kChannelPanel : sizes.channels) {}

void InvertedBottleneck::pack(Part part, const float* w) {
    const std::int64_t taps = m_sizes.window.tapCount();
    const auto make = [&](std::int64_t count) {
        BufferPtr& buffer = m_weights[static_cast<std::size_t>(part)];
        buffer =
            hostAllocator().allocate(static_cast<std::size_t>(count) * sizeof(float), MemoryKind::pageable);
        return static_cast<float*>(buffer->data());
    };
    switch (part) {
    case Part::expansion:
        return packPanels(w, m_sizes.inChannels, m_sizes.channels,
                          make(panelElements(m_sizes.inChannels, m_sizes.channels)));
    case Part::projection:
        return packPanels(w, m_sizes.channels, m_sizes.outChannels,
                          make(panelElements(m_sizes.channels, m_sizes.outChannels)));
    case Part::filter:
        float* const packed = make(taps * m_sizes.channels);
        for (std::int64_t c = 0; c < m_sizes.channels; c += m_panelChannels)
            packTaps(w + c * taps, taps, std::min(m_panelChannels, m_sizes.channels - c), packed + c * taps);
    }
}

/// The rows of y whose windows are expanded at once, so that they stay in the cache.
std::int64_t InvertedBottleneck::stripRows() const {
    constexpr std::int64_t kStripFloats = 9216;
    const std::int64_t rows = kStripFloats / (m_columns.in * m_panelChannels);
    return std::clamp((rows - m_rows.kernel) / m_rows.stride + 1, std::int64_t{1}, m_rows.out);
}

/// The elements of a strip.
std::int64_t InvertedBottleneck::stripFloats() const {
    if (!m_sizes.expands) return 0;
    const std::int64_t rows = std::min((stripRows() - 1) * m_rows.stride + m_rows.kernel, m_rows.in);
    return rows * m_columns.in * m_panelChannels;
}

const float* InvertedBottleneck::weights(Part part) const {
    return static_cast<const float*>(m_weights[static_cast<std::size_t>(part)]->data());
}

/// Rows [first, last) of x, expanded to the channels of a panel.
void InvertedBottleneck::expandRows(const Filtering& given, std::int64_t panel, std::int64_t first,
                                    std::int64_t last, float* to) const {
    const std::int64_t channel = panel * m_panelChannels;
    const std::int64_t inner = m_sizes.inChannels;
    const std::int64_t after = channel + m_panelChannels;
    ChannelsEnding ending = given.expanded;
    if (ending.bias) ending.bias += channel;
    m_kernels.multiply({.inner = inner,
                        .columns = panelWidth(m_sizes.channels, panel),
                        .step = inner,
                        .next = after < m_sizes.channels ? m_panelChannels * inner : 0},
                       given.x + first * m_columns.in * inner, weights(Part::expansion) + channel * inner, 0,
                       (last - first) * m_columns.in, 0, 1, ending, to);
}

/// Rows [first, last) of the channels of a panel of the filter's result, which go to `y`.
void InvertedBottleneck::filterRows(const Filtering& given, std::int64_t panel, std::int64_t first,
                                    std::int64_t last, Strip& strip, float* y) const {
    const std::int64_t channel = panel * m_panelChannels;
    const std::int64_t width = m_sizes.expands ? panelWidth(m_sizes.channels, panel) : m_sizes.channels;
    const std::int64_t rowFloats = m_columns.in * width;
    // The rows of x below the windows. Those of neighbouring strips overlap.
    const std::int64_t top = std::clamp(m_rows.start(first), std::int64_t{0}, m_rows.in);
    const std::int64_t bottom = std::clamp(m_rows.start(last - 1) + m_rows.kernel, top, m_rows.in);
    if (m_sizes.expands) {
        std::int64_t known = top;
        if (strip.bottom > top) {
            std::copy(strip.rows + (top - strip.top) * rowFloats,
                      strip.rows + (strip.bottom - strip.top) * rowFloats, strip.rows);
            known = strip.bottom;
        }
        expandRows(given, panel, known, bottom, strip.rows + (known - top) * rowFloats);
        strip.top = top;
        strip.bottom = std::max(bottom, known);
    }
    const DepthwiseSizes sizes{.channels = width,
                               .outStep = m_sizes.channels,
                               .height = bottom - top,
                               .width = m_columns.in,
                               .outHeight = last - first,
                               .outWidth = m_columns.out,
                               .kernelHeight = m_rows.kernel,
                               .kernelWidth = m_columns.kernel,
                               .down = m_rows.stride,
                               .across = m_columns.stride,
                               .padTop = top - m_rows.start(first),
                               .padLeft = m_columns.padBegin};
    ChannelsEnding ending = given.filtered;
    if (ending.bias) ending.bias += channel;
    const float* const rows = m_sizes.expands ? strip.rows : given.x + top * rowFloats;
    for (std::int64_t row = 0; row < last - first; ++row) {
        m_kernels.depthwise(sizes, rows, weights(Part::filter) + channel * m_sizes.window.tapCount(), row, 0,
                            width, ending, y + channel);
        if (given.sums)
            m_kernels.sumPlaces(y + channel + row * m_columns.out * m_sizes.channels, m_columns.out,
                                m_sizes.channels, width,
                                given.sums + (first + row) * m_sizes.channels + channel);
    }
}

/// Rows [first, last) of the filter's result, strip by strip. `then(begin, end, y)` follows each strip.
template <class Then>
void InvertedBottleneck::filterStrips(const Filtering& given, std::int64_t firstPanel, std::int64_t lastPanel,
                                      std::int64_t first, std::int64_t last, const Then& then) const {
    const ScratchFloats memory(stripFloats() * (lastPanel - firstPanel));
    std::vector<Strip> strips;
    for (std::int64_t panel = firstPanel; panel < lastPanel; ++panel)
        strips.push_back({memory.data() + stripFloats() * (panel - firstPanel)});
    const std::int64_t atOnce = stripRows();
    const std::int64_t rowFloats = m_columns.out * m_sizes.channels;
    const ScratchFloats filtered(given.y ? 0 : atOnce * rowFloats);
    for (std::int64_t begin = first; begin < last; begin += atOnce) {
        const std::int64_t end = std::min(begin + atOnce, last);
        float* const y = given.y ? given.y + begin * rowFloats : filtered.data();
        for (std::int64_t panel = firstPanel; panel < lastPanel; ++panel)
            filterRows(given, panel, begin, end, strips[static_cast<std::size_t>(panel - firstPanel)], y);
        then(begin, end, y);
    }
}

std::int64_t InvertedBottleneck::panels() const {
    return (m_sizes.channels + m_panelChannels - 1) / m_panelChannels;
}

/// Whether each thread filters all channels of neighbouring rows, or all rows of neighbouring channels. By
/// rows, the threads expand some rows twice, and all read all weights. It pays if a thread has at least
/// `fewTimes` as many rows as two threads share.
bool InvertedBottleneck::isByRows(std::int64_t fewTimes) const {
    const std::int64_t shared = m_sizes.expands ? m_rows.kernel - m_rows.stride : 0;
    return panels() == 1 || shared * fewTimes <= m_rows.in / hostThreads();
}

/// The operations of the filter and the expansion, in elements.
std::int64_t InvertedBottleneck::filterWork() const {
    return m_sizes.channels * (m_sizes.window.inCount() * (m_sizes.expands ? m_sizes.inChannels / 4 + 2 : 0) +
                               m_sizes.window.outCount() * (m_sizes.window.tapCount() / 4 + 2));
}

void InvertedBottleneck::filter(const float* x, const float* expandBias, const float* filterBias,
                                float* filtered, float* means) const {
    const std::int64_t rows = m_rows.out;
    std::vector<float> sums(means ? static_cast<std::size_t>(rows * m_sizes.channels) : 0);
    const Filtering given{x, withBias(m_sizes.expanded, expandBias), withBias(m_sizes.filtered, filterBias),
                          filtered, means ? sums.data() : nullptr};
    constexpr std::int64_t kFewTimes = 8;
    const bool isCutByRows = isByRows(kFewTimes);
    const std::int64_t units = isCutByRows ? rows : panels() * rows;
    const std::int64_t pieces = std::min<std::int64_t>(hostThreads(), units);
    const auto nothing = [](std::int64_t, std::int64_t, const float*) {};
    parallelRanges(pieces, filterWork(), 1, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t from = units * begin / pieces;
        const std::int64_t to = units * end / pieces;
        if (isCutByRows) return filterStrips(given, 0, panels(), from, to, nothing);
        for (std::int64_t panel = from / rows; panel * rows < to; ++panel)
            filterStrips(given, panel, panel + 1, std::max(from - panel * rows, std::int64_t{0}),
                         std::min(to - panel * rows, rows), nothing);
    });
    if (!means) return;
    std::vector<double> totals(static_cast<std::size_t>(m_sizes.channels));
    for (std::size_t i = 0; i < sums.size(); i += totals.size())
        for (std::size_t c = 0; c < totals.size(); ++c) totals[c] += static_cast<double>(sums[i + c]);
    for (std::size_t c = 0; c < totals.size(); ++c)
        means[c] = static_cast<float>(totals[c] / static_cast<double>(m_sizes.window.outCount()));
}

void InvertedBottleneck::run(const float* x, const float* expandBias, const float* filterBias,
                             const float* bias, const float* added, float* y) const {
    // By rows, the projection reads rows of the same thread, and the threads wait for each other only once.
    constexpr std::int64_t kFewTimes = 1;
    if (!isByRows(kFewTimes)) {
        const ScratchFloats filtered(m_sizes.window.outCount() * m_sizes.channels);
        filter(x, expandBias, filterBias, filtered.data(), nullptr);
        return project(filtered.data(), nullptr, bias, added, y);
    }
    const Filtering given{x, withBias(m_sizes.expanded, expandBias), withBias(m_sizes.filtered, filterBias),
                          nullptr, nullptr};
    const ChannelsEnding ending = withBias(m_sizes.projected, bias);
    const ProductSizes sizes = projectionSizes();
    const std::int64_t rowFloats = m_columns.out * m_sizes.outChannels;
    const std::int64_t pieces = std::min<std::int64_t>(hostThreads(), m_rows.out);
    const std::int64_t work =
        filterWork() + m_sizes.window.outCount() * m_sizes.channels * m_sizes.outChannels / 4;
    parallelRanges(pieces, work, 1, [&](std::int64_t begin, std::int64_t end) {
        filterStrips(given, 0, panels(), m_rows.out * begin / pieces, m_rows.out * end / pieces,
                     [&](std::int64_t first, std::int64_t last, const float* from) {
                         ChannelsEnding here = ending;
                         if (added) here.added = added + first * rowFloats;
                         m_kernels.multiply(sizes, from, weights(Part::projection), 0,
                                            (last - first) * m_columns.out, 0, channelPanels(sizes.columns),
                                            here, y + first * rowFloats);
                     });
    });
}

ProductSizes InvertedBottleneck::projectionSizes() const {
    return {.inner = m_sizes.channels, .columns = m_sizes.outChannels, .step = m_sizes.channels};
}

void InvertedBottleneck::project(const float* filtered, const float* factors, const float* bias,
                                 const float* added, float* y) const {
    ChannelsEnding ending = withBias(m_sizes.projected, bias);
    ending.added = added;
    multiplyRows(m_kernels, projectionSizes(), m_sizes.window.outCount(), filtered, factors,
                 weights(Part::projection), ending, y);
}

} // namespace twb
