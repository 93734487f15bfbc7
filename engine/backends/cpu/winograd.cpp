#include "backends/cpu/winograd.h"

#include "backends/cpu/direct_convolution.h"
#include "backends/cpu/direct_loops.h"
#include "backends/cpu/host_threads.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/winograd_loops.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// The kernels for this CPU; null without AVX2.
const WinogradKernels* kernels() { return kernelsForThisCpu(avx2::winogradKernels, avx512::winogradKernels); }

std::int64_t tilesAlong(std::int64_t size, std::int64_t side) { return (size + side - 1) / side; }

/// The time to multiply tiles of one image by their weights, in products per pair of channels. Reading a
/// weight from the shared cache takes as long as kReading products.
std::int64_t timeOf(const Convolution& s, std::int64_t side) {
    constexpr std::int64_t kReading = 25;
    const std::int64_t tiles =
        s.batch * tilesAlong(s.window.axes[0].out, side) * tilesAlong(s.window.axes[1].out, side);
    return (side + 2) * (side + 2) * std::max(tiles, kReading);
}

/// Whether it is faster than the direct convolution. Transformed weights take up to four times the memory.
bool pays(const Convolution& s) {
    constexpr std::int64_t kLeastPositions = 169; // 13 × 13
    constexpr double kLeastProducts = 4e6;
    const auto fits = [](const WindowAxis& axis) {
        return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.padBegin <= 1 &&
               axis.padEnd <= 1;
    };
    const std::int64_t positions = s.window.outCount();
    const double products = 9 * static_cast<double>(s.batch * positions) * static_cast<double>(s.inChannels) *
                            static_cast<double>(s.outChannels);
    return s.groups == 1 && s.window.rank() == 2 && std::ranges::all_of(s.window.axes, fits) &&
           positions >= kLeastPositions && s.inChannels % kWinogradLanes == 0 &&
           s.outChannels % kWinogradLanes == 0 && products >= kLeastProducts;
}

WinogradTiles tilesOf(const Convolution& s, std::int64_t step) {
    const WindowAxis& rows = s.window.axes[0];
    const WindowAxis& columns = s.window.axes[1];
    const std::int64_t side = timeOf(s, 4) <= timeOf(s, 2) ? 4 : 2;
    return {.side = side,
            .height = rows.in,
            .width = columns.in,
            .outHeight = rows.out,
            .outWidth = columns.out,
            .padTop = rows.padBegin,
            .padLeft = columns.padBegin,
            .down = tilesAlong(rows.out, side),
            .across = tilesAlong(columns.out, side),
            .inner = s.inChannels,
            .columns = s.outChannels,
            .step = step};
}

/// The transform of one dimension of the weights, for the points of winograd_loops.cpp; by side.
using Factors = std::array<double, 3>;
constexpr std::array<Factors, 6> kFactors4{{{64.0 / 81, 0, 0},
                                            {-128.0 / 243, -32.0 / 81, -8.0 / 27},
                                            {-128.0 / 243, 32.0 / 81, -8.0 / 27},
                                            {32.0 / 243, 16.0 / 81, 8.0 / 27},
                                            {32.0 / 243, -16.0 / 81, 8.0 / 27},
                                            {0, 0, 1}}};
constexpr std::array<Factors, 4> kFactors2{{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};

/// w of columns × inner × 3 × 3 as a matrix per element, each in panels as in DirectKernels::convolve.
void transformWeights(const WinogradTiles& s, const float* w, float* out) {
    const std::span<const Factors> factors =
        s.side == 4 ? std::span<const Factors>(kFactors4) : std::span<const Factors>(kFactors2);
    const std::int64_t panel = directPanel(s.columns);
    parallelRanges(s.columns, s.columns * s.inner * 200, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t column = begin; column < end; ++column) {
            const std::int64_t first = column / panel * panel;
            const std::int64_t width = std::min(panel, s.columns - first);
            for (std::int64_t c = 0; c < s.inner; ++c) {
                const float* const window = w + (column * s.inner + c) * 9;
                std::array<Factors, 6> half{};
                for (std::size_t i = 0; i < factors.size(); ++i)
                    for (std::size_t j = 0; j < 3; ++j)
                        for (std::size_t k = 0; k < 3; ++k)
                            half[i][j] += factors[i][k] * static_cast<double>(window[k * 3 + j]);
                float* to = out + first * s.inner + c * width + (column - first);
                for (std::size_t i = 0; i < factors.size(); ++i)
                    for (const Factors& across : factors) {
                        double sum = 0;
                        for (std::size_t k = 0; k < 3; ++k) sum += half[i][k] * across[k];
                        *to = static_cast<float>(sum);
                        to += s.inner * s.columns;
                    }
            }
        }
    });
}

class WinogradConvolution final : public NativeConvolution {
public:
    WinogradConvolution(const Convolution& sizes, const Tensors& tensors, const ProductEnding& ending)
        : m_sizes(sizes), m_tensors(tensors), m_tiles(tilesOf(sizes, positionStep(tensors.y))),
          m_count(sizes.batch * m_tiles.down * m_tiles.across),
          m_zeros(static_cast<std::size_t>(m_tiles.inner)), m_given(ending) {
        constexpr float infinite = std::numeric_limits<float>::infinity();
        switch (ending.activation) {
        case ProductActivation::none:
            break;
        case ProductActivation::relu:
            m_ending = {.least = 0, .most = infinite, .isLimited = true};
            break;
        case ProductActivation::clip:
            m_ending = {.least = ending.alpha, .most = ending.beta, .isLimited = true};
            break;
        default:
            m_isWhole = false; // the chain adds and ends
        }
    }

    bool run(const Data& data) override {
        if (!m_weights) {
            const auto count = static_cast<std::size_t>(matrix() * elements());
            m_weights = hostAllocator().allocate(count * sizeof(float), MemoryKind::pageable);
            transformWeights(m_tiles, static_cast<const float*>(data.w), weights());
        }
        WinogradEnding ending = m_ending;
        ending.bias = static_cast<const float*>(data.bias);
        if (m_isWhole) ending.added = static_cast<const float*>(data.added);
        // Threads that share the weights in the cache compute blocks of tiles; otherwise each reads a part of
        // the weights.
        constexpr std::int64_t kSharedBytes = std::int64_t{1} << 20;
        const bool isFinite = matrix() * elements() * bytesOf(1) <= kSharedBytes ? inBlocks(data, ending)
                                                                                 : inPhases(data, ending);
        if (!isFinite) runDirectly(data);
        return m_isWhole;
    }
    bool hasPackedWeights() const override { return m_weights != nullptr; }

private:
    static std::int64_t bytesOf(std::int64_t elements) {
        return elements * static_cast<std::int64_t>(sizeof(float));
    }
    std::int64_t elements() const { return (m_tiles.side + 2) * (m_tiles.side + 2); }
    std::int64_t matrix() const { return m_tiles.inner * m_tiles.columns; }
    float* weights() const { return static_cast<float*>(m_weights->data()); }
    std::int64_t work() const { return m_count * (matrix() + elements() * m_tiles.inner); }

    /// Transformed tiles and their products.
    struct Room {
        Room(const WinogradTiles& s, std::int64_t elements, std::int64_t tiles)
            // Matrices a multiple of 4 KiB apart would share the lines of a set-associative cache.
            : plane(tiles * s.inner + 16), productPlane(tiles * s.columns + 16),
              buffer(hostAllocator().allocate(
                  static_cast<std::size_t>(bytesOf(elements * (plane + productPlane))),
                  MemoryKind::pageable)),
              tiles(static_cast<float*>(buffer->data())), products(this->tiles + elements * plane) {}
        std::int64_t plane;
        std::int64_t productPlane;
        BufferPtr buffer;
        float* tiles;
        float* products;
    };

    /// Products of the first `rows` tiles with the panels [begin, end), numbered element by element.
    void multiply(const Room& room, std::int64_t begin, std::int64_t end, std::int64_t rows) const {
        DirectSizes sizes;
        sizes.width = sizes.outWidth = rows;
        sizes.inner = m_tiles.inner;
        sizes.columns = sizes.step = m_tiles.columns;
        sizes.panel = directPanel(m_tiles.columns);
        const std::int64_t panels = panelCount();
        for (std::int64_t element = begin / panels; element * panels < end; ++element) {
            const std::int64_t first = std::max(begin - element * panels, std::int64_t{0});
            const std::int64_t last = std::min(end - element * panels, panels);
            sizes.goesOn = element + 1 < elements();
            directKernels()->convolve(sizes, room.tiles + element * room.plane,
                                      weights() + element * matrix(), 0, rows, first, last, {},
                                      room.products + element * room.productPlane);
        }
    }
    std::int64_t panelCount() const {
        const std::int64_t panel = directPanel(m_tiles.columns);
        return (m_tiles.columns + panel - 1) / panel;
    }

    bool inBlocks(const Data& data, const WinogradEnding& ending) const {
        constexpr std::int64_t kBlockBytes = 900000; // fits into a core's cache beside the weights
        const std::int64_t perTile = bytesOf(elements() * (m_tiles.inner + m_tiles.columns));
        const std::int64_t most = std::max<std::int64_t>(kBlockBytes / perTile, 12);
        const std::int64_t rounds = (m_count + most * regionThreads() - 1) / (most * regionThreads());
        const std::int64_t blocks = std::min(rounds * regionThreads(), m_count);
        std::atomic<bool> isFinite = true;
        parallelRanges(blocks, work(), 1, [&](std::int64_t first, std::int64_t last) {
            const Room room(m_tiles, elements(), (m_count + blocks - 1) / blocks);
            for (std::int64_t block = first; block < last; ++block) {
                const std::int64_t begin = m_count * block / blocks;
                const std::int64_t end = m_count * (block + 1) / blocks;
                kernels()->transform(m_tiles, static_cast<const float*>(data.x), m_zeros.data(), begin, end,
                                     room.tiles, room.plane);
                multiply(room, 0, elements() * panelCount(), end - begin);
                if (!kernels()->finish(m_tiles, room.products, room.productPlane, begin, end, ending,
                                       static_cast<float*>(data.y)))
                    isFinite.store(false, std::memory_order_relaxed);
            }
        });
        return isFinite;
    }

    bool inPhases(const Data& data, const WinogradEnding& ending) const {
        constexpr std::int64_t kRoomBytes = std::int64_t{8} << 20;
        const std::int64_t perTile = bytesOf(elements() * (m_tiles.inner + m_tiles.columns));
        const std::int64_t length = std::min(std::max<std::int64_t>(kRoomBytes / perTile, 12), m_count);
        const Room room(m_tiles, elements(), length);
        std::atomic<bool> isFinite = true;
        for (std::int64_t from = 0; from < m_count; from += length) {
            const std::int64_t tiles = std::min(length, m_count - from);
            parallelRanges(tiles, work(), 1, [&](std::int64_t begin, std::int64_t end) {
                kernels()->transform(m_tiles, static_cast<const float*>(data.x), m_zeros.data(), from + begin,
                                     from + end, room.tiles + begin * m_tiles.inner, room.plane);
            });
            parallelRanges(elements() * panelCount(), work(), 1,
                           [&](std::int64_t begin, std::int64_t end) { multiply(room, begin, end, tiles); });
            parallelRanges(tiles, work(), 1, [&](std::int64_t begin, std::int64_t end) {
                if (!kernels()->finish(m_tiles, room.products + begin * m_tiles.columns, room.productPlane,
                                       from + begin, from + end, ending, static_cast<float*>(data.y)))
                    isFinite.store(false, std::memory_order_relaxed);
            });
        }
        return isFinite;
    }

    /// With NaN and infinities only where they belong.
    void runDirectly(const Data& data) {
        Data direct = data;
        if (!m_isWhole) direct.added = nullptr;
        if (!m_direct) {
            Tensors tensors = m_tensors;
            if (!m_isWhole) tensors.added = {};
            m_direct = makeAnyDirect(m_sizes, tensors, m_isWhole ? m_given : ProductEnding{});
        }
        m_direct->runLoaded(direct);
    }

    const Convolution m_sizes;
    const Tensors m_tensors;
    const WinogradTiles m_tiles;
    const std::int64_t m_count; ///< tiles of all images
    const std::vector<float> m_zeros;
    WinogradEnding m_ending;
    bool m_isWhole = true;
    BufferPtr m_weights; ///< transformed
    const ProductEnding m_given;
    std::unique_ptr<NativeConvolution> m_direct; ///< null until it is needed
};

} // namespace

std::unique_ptr<NativeConvolution> makeWinograd(const Convolution& sizes,
                                                const NativeConvolution::Tensors& tensors,
                                                const ProductEnding& ending) {
    const auto isFitting = [](const TensorView& view) {
        return view.dtype == DType::f32 && isChannelsLast(view);
    };
    if (!kernels() || !directKernels() || !tensors.constantWeights || !pays(sizes) || !isFitting(tensors.x) ||
        tensors.y.dtype != DType::f32 || positionStep(tensors.y) == 0 ||
        (tensors.added.data && !isFitting(tensors.added)))
        return nullptr;
    return std::make_unique<WinogradConvolution>(sizes, tensors, ending);
}

} // namespace twb
