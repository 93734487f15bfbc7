#pragma once

#include "backends/world.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace twb {

/// What the calls of a rank over the ranks of a run have cost.
struct RankReport {
    World::Info world;
    std::vector<CollectiveLog> calls;
    std::vector<CollectiveWait> waits; ///< by call
};

/// All ranks must call it together, after their runs.
RankReport reportRanks(World& world);
/// "ranks" of report.schema.json and train.schema.json.
nlohmann::ordered_json toJson(const RankReport& report);
/// A table of the calls, without a heading.
std::string toTable(const RankReport& report);

} // namespace twb
