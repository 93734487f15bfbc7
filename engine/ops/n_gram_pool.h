#pragma once

#include "core/attributes.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace twb {

// What TfIdfVectorizer looks for: the same for the host and for a GPU.

using Gram = std::vector<std::int64_t>;

/// The n-grams of an op's attributes, by their items: where in the pool each stands.
struct GramPool {
    std::map<Gram, std::size_t> grams;
    std::vector<std::int64_t> columns; ///< of the result, by place in the pool
    std::vector<double> weights;       ///< the same; empty: all 1
};

/// Of the op's attributes. Throws Error(invalidArgument) when they contradict each other.
GramPool gramPoolOf(const Attributes& attributes);

} // namespace twb
