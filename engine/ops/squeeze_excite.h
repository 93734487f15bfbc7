#pragma once

#include "backends/cpu/dense_input.h"
#include "backends/kernel.h"

#include <vector>

namespace twb {

/// The two products of a squeeze-and-excitation block and what is between them.
class ExcitationProducts {
public:
    /// The weights and biases are four inputs of the launch, from `port` on. Attributes as for
    /// squeezeExciteKernel().
    ExcitationProducts(const KernelContext& context, std::size_t port);
    /// One factor per channel, from the means of the channels.
    std::vector<float> factors(const std::vector<float>& means) const;

private:
    const DenseInput m_first, m_firstBias, m_second, m_secondBias;
    const bool m_isRelu;
    const float m_alpha;
};

/// A squeeze-and-excitation block in f32: the means of each channel of x go through two products, and the
/// sigmoids of the results are the factors of x's channels. The inputs are x, the first weights (inner ×
/// channels) and their bias, the second weights (channels × inner) and their bias. Attributes: "activation",
/// the op between the products, "Relu" or "Swish", and its "alpha". Any layouts; in place.
void squeezeExciteKernel(const KernelContext& context);

} // namespace twb
