#pragma once

#include "ops/schema.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace twb {

/// How the heads lie in an input of Attention or RotaryEmbedding.
struct Heads {
    std::int64_t count, size, length;
};

/// Of an input of three axes, whose heads `attribute` counts, or of four: batch, heads, sequence, size.
/// Throws InferError.
inline Heads headsOf(const Shape& shape, const Attributes& attributes, const char* attribute, int port) {
    if (shape.rank() == 4) return {shape[1], shape[3], shape[2]};
    const std::int64_t count = attributes.has(attribute) ? attributes.integer(attribute) : 0;
    if (count < 1)
        throw InferError(
            "attribute", -1,
            fmt::format("inputs of three axes need the attribute \"{}\", the number of their heads",
                        attribute));
    if (shape[2] == kUnknownDim) return {count, kUnknownDim, shape[1]};
    if (shape[2] % count != 0)
        throw InferError(
            "shape-mismatch", port,
            fmt::format("embed_dim must be divisible by num_heads, but {} is not divisible by {}", shape[2],
                        count));
    return {count, shape[2] / count, shape[1]};
}

/// Whether two sizes may be the same.
inline bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

inline AttributeSpec countAttribute(std::string name, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), 0, std::move(doc));
    spec.minimum = 0;
    return spec;
}

} // namespace twb
