#pragma once

#include "backends/cpu/inverted_bottleneck.h"
#include "backends/cpu/packed_weights.h"
#include "backends/kernel.h"

#include <array>
#include <cstddef>
#include <memory>

namespace twb {

/// The inputs of bottleneckKernel(), by port. Biases, the added tensor and the four of the
/// squeeze-and-excitation block (ExcitationProducts) may be unconnected.
struct BottleneckPorts {
    static constexpr std::size_t x = 0;
    static constexpr std::array<std::size_t, InvertedBottleneck::kParts> weights{1, 3, 5};
    static constexpr std::array<std::size_t, InvertedBottleneck::kParts> biases{2, 4, 6};
    static constexpr std::size_t added = 7;
    static constexpr std::size_t excitation = 8;
    static constexpr std::size_t count = 12;
};

/// An inverted bottleneck in f32 with constant weights: y = ending(projection(scaled(filter(expansion(x)))) +
/// added), where the scaling is a squeeze-and-excitation block. Output 0 is y, output 1, with a
/// scaling only, the result of the filter, which is channels-last. Attributes: those of the filter's
/// convolution and of squeezeExciteKernel(), "expands", whether there is an expansion, "excites", whether
/// there is a scaling, and the three endings (setEnding()).
void bottleneckKernel(const KernelContext& context);

/// Sets an attribute of bottleneckKernel(): what follows the convolution of a part.
void setEnding(Attributes& attributes, InvertedBottleneck::Part part, const ProductEnding& ending);

/// The sizes for the kernel's attributes; `filter` is the shape of the filter's weights.
BottleneckSizes bottleneckSizes(const Attributes& attributes, const Shape& x, const Shape& filter,
                                const Shape& y);

/// The state of a step with this kernel.
struct BottleneckState final : KernelState {
    std::unique_ptr<InvertedBottleneck> block; ///< null until the first launch
    /// Set by the run of a plan for weights that need not stay in memory once they are packed; else null.
    std::array<std::shared_ptr<PackedWeights>, InvertedBottleneck::kParts> weights;
};

} // namespace twb
