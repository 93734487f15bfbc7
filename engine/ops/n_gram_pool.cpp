#include "ops/n_gram_pool.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace twb {

GramPool gramPoolOf(const Attributes& attributes) {
    const auto fail = [](const std::string& sentence) { throw Error(ErrorCode::invalidArgument, sentence); };
    GramPool pool;
    const std::vector<std::int64_t> items = attributes.integers("pool_int64s");
    const std::vector<std::int64_t> starts = attributes.integers("ngram_counts");
    pool.columns = attributes.integers("ngram_indexes");
    if (attributes.has("weights")) pool.weights = attributes.numbers("weights");
    for (std::size_t n = 1; n <= starts.size(); ++n) {
        const std::int64_t begin = starts[n - 1];
        const auto size = static_cast<std::int64_t>(items.size());
        const std::int64_t end = n < starts.size() ? starts[n] : size;
        if (begin < 0 || begin > end || end > size || (end - begin) % static_cast<std::int64_t>(n) != 0)
            fail(fmt::format("ngram_counts puts the {}-grams at items {} to {} of a pool of {}: they must "
                             "lie in the pool and have {} items each",
                             n, begin, end, size, n));
        for (std::int64_t at = begin; at < end; at += static_cast<std::int64_t>(n)) {
            const auto first = items.begin() + at;
            pool.grams.emplace(Gram(first, first + static_cast<std::int64_t>(n)), pool.grams.size());
        }
    }
    if (pool.columns.size() != pool.grams.size())
        fail(fmt::format("the pool holds {} different n-grams, but ngram_indexes has {} entries",
                         pool.grams.size(), pool.columns.size()));
    if (!pool.weights.empty() && pool.weights.size() != pool.columns.size())
        fail(fmt::format("weights has {} entries for {} n-grams", pool.weights.size(), pool.columns.size()));
    if (std::any_of(pool.columns.begin(), pool.columns.end(), [](std::int64_t c) { return c < 0; }))
        fail("ngram_indexes must not be negative");
    return pool;
}

} // namespace twb
