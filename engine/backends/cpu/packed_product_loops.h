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

/// Columns of a unit. A panel has 1 to kPanelUnits of them.
inline constexpr std::int64_t kUnitColumns = 16;
inline constexpr std::int64_t kPanelUnits = 3;
/// Rows of the weights that are multiplied before the next ones, so that a panel of them stays in the cache.
inline constexpr std::int64_t kMostInner = 512;

/// A product of rows of x, one after the other, with a packed matrix of inner × columns. The matrix is cut
/// into `blocks` ranges of rows and `panels` ranges of units, as evenly as possible; zeros fill the last
/// unit. For each range of rows, the panels follow each other, each row by row.
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
};

namespace avx2 {
extern const PanelKernels panelKernels;
}
namespace avx512 {
extern const PanelKernels panelKernels;
}

} // namespace twb
