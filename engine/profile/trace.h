#pragma once

#include "runtime/executor.h"
#include "runtime/plan.h"

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

class World;
struct JointRank;
struct RankPace;

/// The process ids of rank r in a trace begin at r times this.
inline constexpr int kPidsPerRank = 1000;
/// Events (ph "M") of a trace that describe a rank: its plan as planToJson() gives it, as text, and the pace
/// of all ranks. A rank may have several plans, its parts, which are numbered. Other programs skip them.
inline constexpr const char* kPlanEvent = "twb_plan";
inline constexpr const char* kRanksEvent = "twb_ranks";

/// Collects the records of a run for a Chrome trace, up to a limit, and counts the records that did not fit.
/// The trace may have several runs, one after the other, of several plans: those of a training.
class TraceRecorder {
public:
    explicit TraceRecorder(std::shared_ptr<const Plan> plan, std::size_t limit = 2'000'000);
    void add(std::span<const StepRecord> records);
    /// The records from now on are those of another run, and its iterations follow those before it. A plan
    /// with the steps of an earlier one shares its part of the trace. `part` names what another plan runs:
    /// "last batch". `startNs`: of the run, in the trace; if all clocks are virtual, the end of the runs
    /// before it.
    void nextRun(std::shared_ptr<const Plan> plan, std::string_view part, std::int64_t startNs);
    /// Chrome trace events (JSON object format): `ts`/`dur` in µs, integer pid (device) and tid (stream),
    /// metadata names, flow arrows from producer to transfer to consumer, memory counters. A simulated
    /// device's process is named "… (modelled)", so that measured and modelled time never share a track.
    void write(std::ostream& out) const;
    /// The same for all ranks of a world, in one file with one process for each rank, "rank 1 on HOST", flow
    /// arrows for messages between ranks, and the ranks' pace; rank 0 writes it. All ranks must call it
    /// together. `startedNs`: when this rank's run has started, on its steady clock, from which the clocks of
    /// all ranks are aligned. If a rank has a virtual clock, the clocks cannot be compared: the times of each
    /// rank begin with its run, its process is named "rank 1 on HOST (modelled)" or "(measured)", and
    /// messages have no arrows.
    void writeTogether(std::ostream& out, World& world, std::int64_t startedNs,
                       const std::vector<RankPace>& ranks) const;

private:
    struct Part {
        std::shared_ptr<const Plan> plan;
        std::string name; ///< empty for the first
        std::vector<StepRecord> records{};
    };
    std::string events(const JointRank& joint) const;
    bool hasVirtualClock() const noexcept;

    std::vector<Part> m_parts;
    std::size_t m_part = 0; ///< of the records that are added
    std::size_t m_size = 0; ///< records of all parts
    std::size_t m_limit;
    std::size_t m_left = 0;
    std::int64_t m_startNs = 0; ///< of the current run
    std::int64_t m_endNs = 0;   ///< of all records
    std::uint32_t m_first = 0;  ///< the number of the current run's first iteration
    std::uint32_t m_next = 0;   ///< the number after all iterations
};

} // namespace twb
