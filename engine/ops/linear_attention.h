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
    bool decays;   ///< it is first multiplied by e ^ decay
    bool corrects; ///< only the difference from the value that it holds for the key is added, times beta
};
LinearAttentionRule linearAttentionRule(const Attributes& attributes);

/// The factor of the result.
double linearAttentionScale(const Attributes& attributes, std::int64_t keySize);

} // namespace twb
