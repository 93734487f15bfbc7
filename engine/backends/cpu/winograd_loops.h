#pragma once

#include <cstdint>

namespace twb {

/// A convolution with windows of 3 × 3 and stride 1, of channels-last tensors, by Winograd's algorithm
/// F(side × side, 3 × 3): the result is cut into tiles of side × side, and each of the (side + 2)² elements
/// of a transformed tile is multiplied by a matrix of its own. Tiles are numbered row by row, image after
/// image.
struct WinogradTiles {
    std::int64_t side = 4;                    ///< 4 or 2
    std::int64_t height = 0, width = 0;       ///< of an image of x
    std::int64_t outHeight = 0, outWidth = 0; ///< of an image of y
    std::int64_t padTop = 0, padLeft = 0;
    std::int64_t down = 0, across = 0; ///< tiles of an image
    std::int64_t inner = 0;            ///< channels of x, a multiple of kWinogradLanes
    std::int64_t columns = 0;          ///< channels of y, a multiple of kWinogradLanes
    std::int64_t step = 0;             ///< elements from one position of y to the next
};

inline constexpr std::int64_t kWinogradLanes = 16;

/// What follows the convolution. `bias` and `added`, which is laid out like a dense y, may be null; then the
/// result is limited to [least, most], which keeps NaN.
struct WinogradEnding {
    const float* bias = nullptr;
    const float* added = nullptr;
    float least = 0;
    float most = 0;
    bool isLimited = false;
};

/// The kernels of one instruction set. Transformed tiles are stored as a matrix per element, `plane` elements
/// apart, with a row per tile.
struct WinogradKernels {
    /// Transforms tiles [begin, end) of x. `zeros`: as many as x has channels.
    void (*transform)(const WinogradTiles& sizes, const float* x, const float* zeros, std::int64_t begin,
                      std::int64_t end, float* out, std::int64_t plane) noexcept = nullptr;
    /// Transforms products back and writes tiles [begin, end) of y. Returns false if the convolution has a
    /// NaN or an infinity, which the algorithm spreads over the tile.
    bool (*finish)(const WinogradTiles& sizes, const float* m, std::int64_t plane, std::int64_t begin,
                   std::int64_t end, const WinogradEnding& ending, float* y) noexcept = nullptr;
};

namespace avx2 {
extern const WinogradKernels winogradKernels;
}
namespace avx512 {
extern const WinogradKernels winogradKernels;
}

} // namespace twb
