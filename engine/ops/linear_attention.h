#pragma once

#include "core/attributes.h"
#include "core/shape.h"

#include <cstdint>

namespace twb {

/// The sizes of a LinearAttention; kUnknownDim if unknown.
struct LinearAttentionSizes {
    std::int64_t batch, steps, queryHeads, keyHeads, keySize, valueSize;
    std::int64_t group() const { return queryHeads / keyHeads; } ///< query heads per key head
};

/// From the shapes of query and value, which have three axes. Throws InferError.
LinearAttentionSizes linearAttentionSizes(const Attributes& attributes, const Shape& query,
                                          const Shape& value);

/// How the state changes at a step.
struct LinearAttentionRule {
    bool decays;   ///< gated: the state is first multiplied by e ^ decay
    bool corrects; ///< delta rule: beta · (v − kᵀS) is added instead of v
};
LinearAttentionRule linearAttentionRule(const Attributes& attributes);

/// The scale of the outputs: attribute `scale` or 1 / √keySize.
double linearAttentionScale(const Attributes& attributes, std::int64_t keySize);

} // namespace twb
