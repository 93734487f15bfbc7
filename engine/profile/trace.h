#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace twb {

class World;
struct RankPace;

/// The process ids of rank r in a trace begin at r times this.
inline constexpr int kPidsPerRank = 1000;
/// Events (ph "M") of a trace that describe a rank: its plan as planToJson() gives it, as text, and the pace
/// of all ranks. Other programs skip them.
inline constexpr const char* kPlanEvent = "twb_plan";
inline constexpr const char* kRanksEvent = "twb_ranks";

/// Collects the records of a run for a Chrome trace, up to a limit, and counts the records that did not fit.
class TraceRecorder {
public:
    explicit TraceRecorder(std::shared_ptr<const Plan> plan, std::size_t limit = 2'000'000);
    void add(std::span<const StepRecord> records);
    /// Chrome trace events (JSON object format): `ts`/`dur` in µs, integer pid (device) and tid (stream),
    /// metadata names, flow arrows from producer to transfer to consumer, memory counters. A simulated
    /// device's process is named "… (modelled)", so that measured and modelled time never share a track.
    void write(std::ostream& out) const;
    /// The same for all ranks of a world, in one file with processes for each rank's devices and the ranks'
    /// pace; rank 0 writes it. All ranks must call it together. `startedNs`: when this rank's run has
    /// started, on its steady clock, from which the clocks of all ranks are aligned. Times on virtual clocks
    /// start together.
    void writeTogether(std::ostream& out, World& world, std::int64_t startedNs,
                       const std::vector<RankPace>& ranks) const;

private:
    std::string events(int rank, int ranks, std::int64_t shiftNs) const;
    std::shared_ptr<const Plan> m_plan;
    std::vector<StepRecord> m_records;
    std::size_t m_limit;
    std::size_t m_left = 0;
};

} // namespace twb
