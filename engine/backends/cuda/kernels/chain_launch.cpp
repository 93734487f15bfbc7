#include "backends/cuda/kernels/chain_launch.h"

#include "backends/cuda/kernels/walk.h"

#include <algorithm>
#include <array>

namespace twb::cuda {

static_assert(kChainAxes == kMaxWalkAxes);

ChainLaunch chainLaunchOf(std::span<const TensorView> inputs, const TensorView& out) {
    ChainLaunch launch{};
    launch.total = out.elementCount();
    launch.out = out.data;
    std::array<const TensorView*, kChainInputs> views{};
    views.fill(&out);
    for (std::size_t k = 0; k < inputs.size(); ++k) views[k] = &inputs[k];
    const Walk<kChainInputs> walk = walkOf<kChainInputs>(out.shape, views);
    launch.rank = walk.rank;
    std::copy(walk.sizes.begin(), walk.sizes.end(), launch.sizes);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
        ChainInput& input = launch.inputs[k];
        input = {inputs[k].data, inputs[k].shape == out.shape && inputs[k].isDense(), {}};
        for (std::size_t axis = 0; axis < kMaxWalkAxes; ++axis) input.strides[axis] = walk.strides[axis][k];
    }
    return launch;
}

} // namespace twb::cuda
