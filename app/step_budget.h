#pragma once

#include "app/placed_graph.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// The limits of one step that `twb check` enforces.
struct StepBudget {
    std::optional<std::uint64_t> syncs;
    std::string transferBytes; ///< "20MB"; empty: no limit

    /// `--max-syncs` and `--max-transfer-bytes`.
    void addTo(CLI::App& command);
};

/// The syncs and transfers of one step of a graph, compared with a budget.
struct StepCosts {
    std::uint64_t syncs = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> exceeded; ///< a sentence for each limit
};

/// Throws Error(invalidArgument) for a limit that is not a size.
StepCosts stepCosts(const PlacedGraph& placed, const StepBudget& budget);

} // namespace twb
