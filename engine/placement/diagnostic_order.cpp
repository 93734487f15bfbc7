#include "placement/diagnostic_order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace twb {

void putInOrder(Analysis& analysis, std::size_t ordered) {
    auto& diagnostics = analysis.diagnostics;
    std::vector<std::pair<int, std::uint64_t>> keys;
    keys.reserve(diagnostics.size());
    for (const Diagnostic& d : diagnostics) {
        const auto at = analysis.index.find(d.node);
        NodeFacts* facts = at == analysis.index.end() ? nullptr : &analysis.nodes[at->second];
        if (facts) facts->noted = true;
        keys.emplace_back(-static_cast<int>(d.severity), facts ? facts->rank : 0);
    }
    std::vector<std::uint32_t> order(diagnostics.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; };
    const auto fresh = order.begin() + static_cast<std::ptrdiff_t>(ordered);
    std::stable_sort(fresh, order.end(), before);
    std::inplace_merge(order.begin(), fresh, order.end(), before);
    if (std::is_sorted(order.begin(), order.end())) return;
    std::vector<Diagnostic> sorted;
    sorted.reserve(diagnostics.size());
    for (const std::uint32_t i : order) sorted.push_back(std::move(diagnostics[i]));
    diagnostics = std::move(sorted);
}

} // namespace twb
