#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace twb {

inline constexpr std::size_t kMostPlaces = 32; ///< sets of places are bits

/// Items that stand on one of a few places each, and what that costs. Places are numbers below `places`, of
/// which 0 is the host. The cost is the sum of what each item takes where it stands, and of the copies: a
/// tensor is copied once to every other place where somebody reads it. What could overlap is added up, so the
/// sum bounds the time of one iteration from above. All times in ns.
struct AssignmentProblem {
    struct Item {
        std::uint32_t allowed = 0; ///< bit p: it may stand on place p
        std::vector<double> ns;    ///< by place
        std::uint64_t bytes = 0;   ///< that it holds where it stands
        int now = 0;               ///< of equal costs the one with the fewest moves away from here is taken
    };
    struct Tensor {
        std::uint32_t producer = 0;
        std::vector<std::uint32_t> readers;       ///< items
        std::vector<std::uint32_t> scalarReaders; ///< items that take it from the host without a copy
        std::vector<double> copyNs;               ///< [from * places + to]
    };

    std::uint32_t places = 1;
    std::vector<Item> items;
    std::vector<Tensor> tensors;
    std::vector<std::uint64_t> limits; ///< most bytes by place; empty: no limits

    std::size_t freeItems() const noexcept; ///< those with a choice
    /// Bits of the places that a tensor is copied to. Items that stand nowhere yet (-1) read nothing.
    std::uint32_t copiedTo(const Tensor& tensor, const std::vector<int>& at) const;
    double nsOf(const std::vector<int>& at) const;
    bool fits(const std::vector<int>& at) const;
    std::vector<int> now() const;
};

/// Asked now and then, on the thread that works.
using IsCancelled = std::function<bool()>;

struct Assignment {
    std::vector<int> at;  ///< place by item
    double ns = 0;        ///< nsOf(at)
    double atLeastNs = 0; ///< no assignment costs less than this
    bool isExact = false; ///< none is better
    bool fits = true;     ///< within the limits; false when no such one was found
};

/// The best assignment. Exact for two places whose limits it keeps, and within tight limits and for more
/// places for up to kExactItems free items; else swaps between pairs of places until none gains, and says by
/// `atLeastNs` how far from the best that can be.
///
/// Two places: a minimum cut, in which each tensor has a vertex of its own for each direction, so that
/// readers at one place share a copy (Greig, Porteous, Seheult 1989; for more places, the swaps of Boykov,
/// Veksler, Zabih: Fast approximate energy minimization via graph cuts, PAMI 2001). Limits: Lagrange
/// multipliers.
/// Throws Error(cancelled) soon after `isCancelled` says so.
Assignment solve(const AssignmentProblem& problem, const IsCancelled& isCancelled = {});
inline constexpr std::size_t kExactItems = 16;

} // namespace twb
