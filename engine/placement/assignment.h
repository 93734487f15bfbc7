#pragma once

#include "core/cancel.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb {

inline constexpr std::size_t kMostPlaces = 32; ///< sets of places are bit masks

/// An assignment problem: items, each on one of a few places. Places are numbers below `places`; 0 is a host.
/// The cost is the sum of each item's time on its place, and of the copies: a tensor is copied once to every
/// other place with a consumer. Overlap does not count, so the sum is an upper bound of an iteration's time.
/// All times in ns.
struct AssignmentProblem {
    struct Item {
        std::uint32_t allowed = 0; ///< bit p: place p is allowed
        std::vector<double> ns;    ///< by place
        std::uint64_t bytes = 0;   ///< memory on its place
        int now = 0;               ///< the current place; among equal costs, the fewest moves win
    };
    struct Tensor {
        std::uint32_t producer = 0;
        std::vector<std::uint32_t> readers;       ///< items
        std::vector<std::uint32_t> scalarReaders; ///< items that read it from a host without a copy
        std::vector<double> copyNs;               ///< [from * places + to]
    };

    std::uint32_t places = 1;
    std::uint32_t hosts = 1; ///< bit p: place p is the host of the scalarReaders of its tensors
    std::vector<Item> items;
    std::vector<Tensor> tensors;
    std::vector<std::uint64_t> limits; ///< memory limit in bytes by place; empty: no limits

    std::size_t freeItems() const noexcept; ///< items with more than one allowed place
    /// The places to which a tensor is copied, as bits. Items without a place (-1) read nothing.
    std::uint32_t copiedTo(const Tensor& tensor, const std::vector<int>& at) const;
    double nsOf(const std::vector<int>& at) const;
    bool fits(const std::vector<int>& at) const;
    std::vector<int> now() const;
};

struct Assignment {
    std::vector<int> at;  ///< place by item
    double ns = 0;        ///< nsOf(at)
    double atLeastNs = 0; ///< lower bound of the cost of any assignment
    bool isExact = false; ///< no assignment is better
    bool fits = true;     ///< within the limits; false if no such assignment was found
};

/// The best assignment. It is exact for two places if its limits hold, and with up to kExactItems free items
/// if limits are tight or there are more places. Otherwise it is improved by swaps between pairs of places
/// until none helps, and `atLeastNs` is a lower bound.
///
/// Two places: a minimum cut in which each tensor has one vertex per direction, so that consumers at one
/// place share a copy (Greig, Porteous, Seheult 1989; for more places, the swaps of Boykov, Veksler, Zabih:
/// Fast approximate energy minimization via graph cuts, PAMI 2001). Limits: Lagrange multipliers. Throws
/// Error(cancelled) soon after `isCancelled` returns true.
Assignment solve(const AssignmentProblem& problem, const IsCancelled& isCancelled = {});
inline constexpr std::size_t kExactItems = 16;

} // namespace twb
