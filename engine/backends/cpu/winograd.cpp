#include "backends/cpu/winograd.h"

#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/winograd_loops.h"
#include "core/error.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// The kernels for this CPU; null without AVX2.
const WinogradKernels* kernels() {
    static const WinogradKernels* const chosen = []() -> const WinogradKernels* {
        if (__builtin_cpu_supports("avx512f")) return &avx512::winogradKernels;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2::winogradKernels;
        return nullptr;
    }();
    return chosen;
}

/// Transformed weights take four times the memory. Images of a few tiles are left out, and large weights for
/// a few tiles, which would be limited by the memory.
bool pays(const Convolution& s) {
    constexpr std::int64_t kLeastPositions = 13 * 13;
    constexpr double kLeastProducts = 4e6;
    constexpr std::int64_t kMostWeights = 128 * 128; // for fewer tiles than kManyTiles
    constexpr std::int64_t kManyTiles = 32;
    const auto fits = [](const WindowAxis& axis) {
        return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.padBegin <= 1 &&
               axis.padEnd <= 1;
    };
    const std::int64_t positions = s.window.outCount();
    const double products = 9 * static_cast<double>(s.batch * positions) * static_cast<double>(s.inChannels) *
                            static_cast<double>(s.outChannels);
    return s.groups == 1 && s.window.rank() == 2 && std::ranges::all_of(s.window.axes, fits) &&
           (s.inChannels * s.outChannels <= kMostWeights || s.batch * positions >= kManyTiles * 16) &&
           positions >= kLeastPositions && s.inChannels % kWinogradLanes == 0 &&
           s.outChannels % kWinogradPanel == 0 && products >= kLeastProducts;
}

WinogradTiles tilesOf(const Convolution& s) {
    const WindowAxis& rows = s.window.axes[0];
    const WindowAxis& columns = s.window.axes[1];
    return {.height = rows.in,
            .width = columns.in,
            .outHeight = rows.out,
            .outWidth = columns.out,
            .padTop = rows.padBegin,
            .padLeft = columns.padBegin,
            .down = (rows.out + 3) / 4,
            .across = (columns.out + 3) / 4,
            .inner = s.inChannels,
            .columns = s.outChannels};
}

/// The transform of the weights for the points of winograd_loops.cpp.
constexpr std::array<std::array<double, 3>, 6> kFactors{{{64.0 / 81, 0, 0},
                                                         {-128.0 / 243, -32.0 / 81, -8.0 / 27},
                                                         {-128.0 / 243, 32.0 / 81, -8.0 / 27},
                                                         {32.0 / 243, 16.0 / 81, 8.0 / 27},
                                                         {32.0 / 243, -16.0 / 81, 8.0 / 27},
                                                         {0, 0, 1}}};

/// w of columns × inner × 3 × 3 as 36 matrices, each in panels as in WinogradKernels::multiply.
void transformWeights(const WinogradTiles& s, const float* w, float* out) {
    parallelRanges(s.columns, s.columns * s.inner * 200, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t column = begin; column < end; ++column)
            for (std::int64_t c = 0; c < s.inner; ++c) {
                const float* const window = w + (column * s.inner + c) * 9;
                std::array<std::array<double, 3>, 6> half{};
                for (std::size_t i = 0; i < 6; ++i)
                    for (std::size_t j = 0; j < 3; ++j)
                        for (std::size_t k = 0; k < 3; ++k)
                            half[i][j] += kFactors[i][k] * static_cast<double>(window[k * 3 + j]);
                float* const to = out + column / kWinogradPanel * s.inner * kWinogradPanel +
                                  c * kWinogradPanel + column % kWinogradPanel;
                for (std::size_t i = 0; i < 6; ++i)
                    for (std::size_t j = 0; j < 6; ++j) {
                        double sum = 0;
                        for (std::size_t k = 0; k < 3; ++k) sum += half[i][k] * kFactors[j][k];
                        to[static_cast<std::int64_t>(i * 6 + j) * s.inner * s.columns] =
                            static_cast<float>(sum);
                    }
            }
    });
}

std::int64_t threadCount() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

class WinogradConvolution final : public NativeConvolution {
public:
    WinogradConvolution(const Convolution& sizes, const Tensors& tensors, const ProductEnding& ending)
        : m_sizes(sizes), m_tensors(tensors), m_tiles(tilesOf(sizes)),
          m_count(sizes.batch * m_tiles.down * m_tiles.across),
          m_zeros(static_cast<std::size_t>(m_tiles.inner)) {
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
            const auto count = static_cast<std::size_t>(matrix() * kWinogradElements);
            m_weights = hostAllocator().allocate(count * sizeof(float), MemoryKind::pageable);
            transformWeights(m_tiles, static_cast<const float*>(data.w), weights());
        }
        WinogradEnding ending = m_ending;
        ending.bias = static_cast<const float*>(data.bias);
        if (m_isWhole) ending.added = static_cast<const float*>(data.added);
        // Threads that share the weights in the cache compute blocks of tiles; otherwise each reads a part of
        // the weights.
        constexpr std::int64_t kSharedBytes = std::int64_t{1} << 20;
        const bool isFinite = matrix() * kWinogradElements * bytesOf(1) <= kSharedBytes
                                  ? inBlocks(data, ending)
                                  : inPhases(data, ending);
        return isFinite ? m_isWhole : runAlone(data);
    }
    bool hasPackedWeights() const override { return m_weights != nullptr; }

private:
    static std::int64_t bytesOf(std::int64_t elements) {
        return elements * static_cast<std::int64_t>(sizeof(float));
    }
    std::int64_t matrix() const { return m_tiles.inner * m_tiles.columns; }
    float* weights() const { return static_cast<float*>(m_weights->data()); }
    std::int64_t work() const { return m_count * (matrix() + kWinogradElements * m_tiles.inner); }

    /// Transformed tiles and their products.
    struct Room {
        Room(const WinogradTiles& s, std::int64_t tiles)
            // Matrices a multiple of 4 KiB apart would share the lines of a set-associative cache.
            : plane(tiles * s.inner + 16), productPlane(tiles * s.columns + 16),
              buffer(hostAllocator().allocate(
                  static_cast<std::size_t>(bytesOf(kWinogradElements * (plane + productPlane))),
                  MemoryKind::pageable)),
              tiles(static_cast<float*>(buffer->data())), products(this->tiles + kWinogradElements * plane) {}
        std::int64_t plane;
        std::int64_t productPlane;
        BufferPtr buffer;
        float* tiles;
        float* products;
    };

    void multiply(const Room& room, std::int64_t element, std::int64_t panel, std::int64_t rows) const {
        kernels()->multiply(room.tiles + element * room.plane,
                            weights() + element * matrix() + panel * m_tiles.inner * kWinogradPanel,
                            room.products + element * room.productPlane + panel * kWinogradPanel, rows,
                            m_tiles.inner, m_tiles.columns);
    }

    bool inBlocks(const Data& data, const WinogradEnding& ending) const {
        constexpr std::int64_t kBlockBytes = 900000; // fits into a core's cache beside the weights
        const std::int64_t perTile = bytesOf(kWinogradElements * (m_tiles.inner + m_tiles.columns));
        const std::int64_t most = std::max<std::int64_t>(kBlockBytes / perTile, 12);
        const std::int64_t rounds = (m_count + most * threadCount() - 1) / (most * threadCount());
        const std::int64_t blocks = std::min(rounds * threadCount(), m_count);
        const std::int64_t panels = m_tiles.columns / kWinogradPanel;
        std::atomic<bool> isFinite = true;
        parallelRanges(blocks, work(), 1, [&](std::int64_t first, std::int64_t last) {
            const Room room(m_tiles, (m_count + blocks - 1) / blocks);
            for (std::int64_t block = first; block < last; ++block) {
                const std::int64_t begin = m_count * block / blocks;
                const std::int64_t end = m_count * (block + 1) / blocks;
                kernels()->transform(m_tiles, static_cast<const float*>(data.x), m_zeros.data(), begin, end,
                                     room.tiles, room.plane);
                for (std::int64_t element = 0; element < kWinogradElements; ++element)
                    for (std::int64_t panel = 0; panel < panels; ++panel)
                        multiply(room, element, panel, end - begin);
                if (!kernels()->finish(m_tiles, room.products, room.productPlane, begin, end, ending,
                                       static_cast<float*>(data.y)))
                    isFinite.store(false, std::memory_order_relaxed);
            }
        });
        return isFinite;
    }

    bool inPhases(const Data& data, const WinogradEnding& ending) const {
        constexpr std::int64_t kRoomBytes = std::int64_t{8} << 20;
        const std::int64_t perTile = bytesOf(kWinogradElements * (m_tiles.inner + m_tiles.columns));
        const std::int64_t length = std::min(std::max<std::int64_t>(kRoomBytes / perTile, 12), m_count);
        const std::int64_t panels = m_tiles.columns / kWinogradPanel;
        const Room room(m_tiles, length);
        std::atomic<bool> isFinite = true;
        for (std::int64_t from = 0; from < m_count; from += length) {
            const std::int64_t tiles = std::min(length, m_count - from);
            parallelRanges(tiles, work(), 1, [&](std::int64_t begin, std::int64_t end) {
                kernels()->transform(m_tiles, static_cast<const float*>(data.x), m_zeros.data(), from + begin,
                                     from + end, room.tiles + begin * m_tiles.inner, room.plane);
            });
            parallelRanges(kWinogradElements * panels, work(), 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) multiply(room, i / panels, i % panels, tiles);
            });
            parallelRanges(tiles, work(), 1, [&](std::int64_t begin, std::int64_t end) {
                if (!kernels()->finish(m_tiles, room.products + begin * m_tiles.columns, room.productPlane,
                                       from + begin, from + end, ending, static_cast<float*>(data.y)))
                    isFinite.store(false, std::memory_order_relaxed);
            });
        }
        return isFinite;
    }

    /// The convolution alone, with NaN and infinities only where they belong.
    bool runAlone(const Data& data) {
        if (!m_alone) {
            Tensors tensors = m_tensors;
            tensors.added = {};
            m_alone = onednn::makeConvolution(m_sizes, tensors, {});
        }
        if (!m_alone) throw Error(ErrorCode::failed, "oneDNN has no primitive for a convolution alone");
        Data alone = data;
        alone.added = nullptr;
        m_alone->runLoaded(alone);
        return false;
    }

    const Convolution m_sizes;
    const Tensors m_tensors;
    const WinogradTiles m_tiles;
    const std::int64_t m_count; ///< tiles of all images
    const std::vector<float> m_zeros;
    WinogradEnding m_ending;
    bool m_isWhole = true;
    BufferPtr m_weights; ///< transformed
    std::unique_ptr<NativeConvolution> m_alone;
};

} // namespace

std::unique_ptr<NativeConvolution> makeWinograd(const Convolution& sizes,
                                                const NativeConvolution::Tensors& tensors,
                                                const ProductEnding& ending) {
    const auto isFitting = [](const TensorView& view) {
        return view.dtype == DType::f32 && isChannelsLast(view);
    };
    if (!kernels() || !tensors.constantWeights || !pays(sizes) || !isFitting(tensors.x) ||
        !isFitting(tensors.y) || (tensors.added.data && !isFitting(tensors.added)))
        return nullptr;
    return std::make_unique<WinogradConvolution>(sizes, tensors, ending);
}

} // namespace twb
