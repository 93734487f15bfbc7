#include "backends/cuda/kernels/chain_launch.h"

#include "backends/cuda/kernels/walk.h"

#include <algorithm>
#include <array>

namespace twb::cuda {

static_assert(kChainAxes == kMaxWalkAxes);

namespace {

/// A pack has `width` elements of the result.
ChainReach reachOf(const ChainInput& input, int rank, std::int64_t width) {
    const std::int64_t inner = rank > 0 ? input.strides[rank - 1] : 0;
    if (inner == 0) return ChainReach::same;
    const bool isAligned = reinterpret_cast<std::uintptr_t>(input.data) % kChainBytes == 0 &&
                           std::all_of(input.strides, input.strides + rank - 1,
                                       [&](std::int64_t stride) { return stride % width == 0; });
    return inner == 1 && isAligned ? ChainReach::pack : ChainReach::apart;
}

} // namespace

ChainLaunch chainLaunchOf(std::span<const TensorView> inputs, const TensorView& out) {
    ChainLaunch launch{};
    launch.out = out.data;
    std::array<const TensorView*, kChainInputs> views{};
    views.fill(&out);
    for (std::size_t k = 0; k < inputs.size(); ++k) views[k] = &inputs[k];
    const Walk<kChainInputs> walk = walkOf<kChainInputs>(out.shape, views);
    launch.total = walk.total;
    launch.isSmall = walk.isSmall;
    launch.rank = walk.rank;
    std::copy(walk.sizes.begin(), walk.sizes.end(), launch.sizes);
    std::copy(walk.divide.begin(), walk.divide.end(), launch.divide);
    const auto width = static_cast<std::int64_t>(kChainBytes / sizeOf(out.dtype));
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        ChainInput& input = launch.inputs[k];
        input.data = inputs[k].data;
        for (std::size_t axis = 0; axis < kMaxWalkAxes; ++axis) input.strides[axis] = walk.strides[axis][k];
        input.reach = reachOf(input, launch.rank, width);
    }
    const bool isOneRow = launch.rank <= 1 || walk.innerSize() % width == 0;
    const bool isAligned = reinterpret_cast<std::uintptr_t>(out.data) % kChainBytes == 0;
    launch.packs = isOneRow && isAligned ? launch.total / width : 0;
    return launch;
}

std::int64_t threadsOf(const ChainLaunch& launch, DType dtype) {
    const auto width = static_cast<std::int64_t>(kChainBytes / sizeOf(dtype));
    return std::max(launch.packs, launch.total - launch.packs * width);
}

} // namespace twb::cuda
