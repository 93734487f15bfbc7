#pragma once

#include "core/half.h"
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

/// The keys that each query of an Attention may see: those in [first, end).
struct VisibleKeys {
    std::int64_t queries = 0, total = 0;
    std::int64_t past = 0; ///< keys before the first query's own one
    bool isCausal = false;
    std::int64_t left = -1, right = -1;   ///< keys before and after the query's own one; -1: all
    const std::int64_t* filled = nullptr; ///< keys in use, one number per batch entry; null: all
    std::int64_t filledStep = 1;

    struct Range {
        std::int64_t first, end;
    };
    TWB_HOST_DEVICE Range of(std::int64_t batch, std::int64_t query) const {
        std::int64_t end = total;
        std::int64_t own = query + past;
        if (filled) {
            const std::int64_t used = filled[batch * filledStep];
            // Sums of numbers far outside would overflow.
            own = query + (used < 0 ? 0 : used > total ? total : used) - queries;
            if (used < end) end = used;
        }
        if (isCausal && own + 1 < end) end = own + 1;
        if (right >= 0 && right < total && own + right + 1 < end) end = own + right + 1;
        const std::int64_t first = left >= 0 && left < own ? own - left : 0;
        return {first, end < first ? first : end};
    }
    /// Whether some query may see less than all keys.
    bool hides() const { return isCausal || left >= 0 || right >= 0 || filled; }
};

/// The visible keys by the attributes; the caller sets `filled` if the input nonpad_kv_seqlen is connected.
VisibleKeys visibleKeysOf(const Attributes& attributes, std::int64_t queries, std::int64_t total,
                          std::int64_t past);

/// Whether two sizes may be equal; an unknown size may equal any.
inline bool meets(std::int64_t a, std::int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

inline AttributeSpec countAttribute(std::string name, std::string doc) {
    AttributeSpec spec = integerAttribute(std::move(name), 0, std::move(doc));
    spec.minimum = 0;
    return spec;
}

} // namespace twb
