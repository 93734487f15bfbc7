#pragma once

#include <cstdint>

namespace twb {

/// What follows a product: the bias and `added` are added, the sum is limited to [least, most], which keeps
/// NaN, and then the function is applied.
struct PanelEnding {
    enum class Function : std::uint8_t { none, gelu, geluTanh, swish, hardSwish, leakyRelu };
    const float* bias = nullptr;  ///< one element per column; may be null
    const float* added = nullptr; ///< laid out like the result; may be null
    float least = -__builtin_inff();
    float most = __builtin_inff();
    Function function = Function::none;
    float alpha = 0; ///< of swish and leakyRelu
};

/// A unit is this many neighbouring columns of the weights.
inline constexpr std::int64_t kUnitColumns = 16;
/// The weights are multiplied in ranges of at most this many rows, so that a panel of a range stays in the
/// cache.
inline constexpr std::int64_t kMostInner = 512;

/// A product of x, whose rows follow each other in memory, with a packed matrix of inner × columns. The
/// matrix is cut into `blocks` ranges of rows and `panels` ranges of units, as evenly as possible. Zeros fill
/// the last unit. In memory, the panels of the first range of rows come first; the elements of a panel are
/// row-major.
struct PanelSizes {
    std::int64_t inner = 0;
    std::int64_t columns = 0;
    std::int64_t blocks = 0;
    std::int64_t panels = 0;
};

struct IndexRange {
    std::int64_t begin = 0, end = 0;
};
/// Part `at` of `count` parts of [0, total).
static inline constexpr IndexRange partOf(std::int64_t total, std::int64_t at, std::int64_t count) {
    return {total * at / count, total * (at + 1) / count};
}
static inline constexpr std::int64_t unitCount(const PanelSizes& sizes) {
    return (sizes.columns + kUnitColumns - 1) / kUnitColumns;
}

/// The product of one instruction set.
struct PanelKernels {
    /// Computes the rows and the panels' columns of y, dense rows of `columns`. Each element has the same
    /// bits for all ranges.
    void (*multiply)(const PanelSizes& sizes, const float* x, const float* w, IndexRange rows,
                     IndexRange panels, const PanelEnding& ending, float* y) noexcept = nullptr;
    /// The largest number of units in a panel. It is limited by the sums that the registers hold.
    std::int64_t panelUnits = 1;
};

namespace avx2 {
extern const PanelKernels panelKernels;
}
namespace avx512 {
extern const PanelKernels panelKernels;
}

} // namespace twb
