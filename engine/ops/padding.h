#pragma once

#include "backends/cpu/strided.h"
#include "backends/kernel.h"
#include "core/half.h"

#include <array>
#include <cstdint>

namespace twb {

// The source indices of a padded axis, for the kernels of the host and of a GPU.

/// The number of elements added at either end of an axis; negative: removed.
struct Padding {
    std::int64_t before = 0;
    std::int64_t after = 0;
};
using Paddings = std::array<Padding, kMaxRank>;

enum class PadMode { constant, reflect, edge, wrap };

PadMode padModeOf(const Attributes& attributes);
/// The paddings of each axis at a launch of Pad.
Paddings paddingsOfPad(const KernelContext& ctx);
/// The same at a launch of CenterCropPad.
Paddings paddingsOfCrop(const KernelContext& ctx);

/// The part of an axis that remains after negative paddings have cropped it.
struct Kept {
    std::int64_t first = 0;
    std::int64_t count = 0;
};

Kept keptOf(std::int64_t size, Padding padding);

/// The offset of the first kept element. A crop larger than the axis also removes padding at its other end.
inline std::int64_t shiftOf(Padding padding, Kept kept) {
    return padding.before < 0 ? padding.before + kept.first : padding.before;
}

/// The source index of element `i` of a padded axis, or -1 if it has none. `i` counts from the first kept
/// element.
TWB_HOST_DEVICE inline std::int64_t sourceOf(std::int64_t i, Kept kept, PadMode mode) {
    if (i >= 0 && i < kept.count) return kept.first + i;
    if (mode == PadMode::constant || kept.count == 0) return -1;
    if (mode == PadMode::edge) return kept.first + (i < 0 ? 0 : kept.count - 1);
    // A reflection does not repeat the edge: 3 2 | 1 2 3 | 2 1.
    const std::int64_t period =
        mode == PadMode::wrap ? kept.count : (kept.count > 1 ? 2 * (kept.count - 1) : 2);
    std::int64_t at = i % period;
    if (at < 0) at += period;
    if (mode == PadMode::reflect && at >= kept.count) at = kept.count == 1 ? 0 : period - at;
    return kept.first + at;
}

} // namespace twb
