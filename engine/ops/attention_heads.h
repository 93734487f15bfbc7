#pragma once

#include "ops/schema.h"

#include <cstdint>
#include <string>

namespace twb {

/// The layout of heads in an input of Attention or RotaryEmbedding.
struct Heads {
    std::int64_t count, size, length;
};

/// For an input with three axes, `attribute` is the number of heads; with four axes: batch, heads, sequence,
/// size. Throws InferError.
Heads headsOf(const Shape& shape, const Attributes& attributes, const char* attribute, int port);

/// Whether two sizes may be equal.
inline bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

inline AttributeSpec countAttribute(std::string name, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), 0, std::move(doc));
    spec.minimum = 0;
    return spec;
}

} // namespace twb
