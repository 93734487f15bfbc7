#pragma once

#include "core/attributes.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace twb {

// The n-grams that TfIdfVectorizer counts. The host and the GPU share this code.

using Gram = std::vector<std::int64_t>;

/// The n-grams of an op's attributes: the index in the pool by the n-gram's items.
struct GramPool {
    std::map<Gram, std::size_t> grams;
    std::vector<std::int64_t> columns; ///< index in the result, by index in the pool
    std::vector<double> weights;       ///< by index in the pool; empty: all 1
};

/// The pool of an op's attributes. Throws Error(invalidArgument) if they contradict each other.
GramPool gramPoolOf(const Attributes& attributes);

} // namespace twb
