#pragma once

#include "backends/world.h"
#include "runtime/plan.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace twb {

/// The pace of one rank.
struct RankPace {
    double iterationNs = 0;      ///< of a typical iteration or step of training
    double iterations = 0;       ///< their number
    double samplesPerSecond = 0; ///< of the rows that the rank computes itself; 0 without Batches
    double waitNs = 0;           ///< for the last rank of each call, per iteration; set by reportRanks()
    bool isModelled = false;     ///< the times are on a virtual clock; set by reportRanks()
    double clockErrorNs = 0;     ///< World::clockErrorNs(); set by reportRanks()

    double ownNs() const noexcept { return iterationNs - waitNs; } ///< without waiting for other ranks
    bool operator==(const RankPace&) const = default;
};

/// What the calls of a rank over the ranks of a run have cost.
struct RankReport {
    World::Info world;
    std::vector<CollectiveLog> calls;
    std::vector<CollectiveWait> waits; ///< by call
    std::vector<RankPace> ranks;       ///< empty in a simulated world, whose other ranks do not exist

    /// The rank with the longest own time; -1 without ranks, or if any rank is modelled.
    int slowest() const noexcept { return slowestOf(ranks); }
    static int slowestOf(const std::vector<RankPace>& ranks) noexcept;
    /// Whether any rank is modelled. Ranks wait in real time, so their waits cannot be compared with its
    /// iterations, and no rank has a waitNs or clockErrorNs.
    static bool isModelled(const std::vector<RankPace>& ranks) noexcept;
};

/// The rows of a batch of the plan's first Batches node; 0 without one.
double rowsOfBatch(const Plan& plan);
/// All ranks must call it together, after their runs of the plan. Waits count for the calls in its iterations
/// only, not for those before and after them.
RankReport reportRanks(World& world, RankPace own, const Plan& plan);
/// "each" of "ranks", with the slowest rank marked.
nlohmann::ordered_json toJson(const std::vector<RankPace>& ranks);
/// The same, read again. Throws nlohmann::json::exception.
std::vector<RankPace> pacesFrom(const nlohmann::json& ranks);
/// "ranks" of report.schema.json and train.schema.json.
nlohmann::ordered_json toJson(const RankReport& report);
/// A table of the calls and one of the ranks, without a heading.
std::string toTable(const RankReport& report);

} // namespace twb
