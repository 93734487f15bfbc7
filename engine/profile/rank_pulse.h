#pragma once

#include "profile/rank_report.h"
#include "runtime/executor.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct RankFigures;

/// A rank of a run that goes on.
struct LiveRank {
    RankPace pace;        ///< over the last iterations
    std::string node;     ///< its current step, or ""
    bool isKnown = false; ///< false: its run has not started, or it has told nothing yet
    bool hasWait = false; ///< `pace.waitNs` is known: all ranks are here, and measured

    bool operator==(const LiveRank&) const = default;
};

/// What a rank shows the other ranks of its machine while a run goes on: in memory that their processes
/// share, so it has no pointers. Its rank alone writes it; any process reads it.
class RankPulse {
public:
    static constexpr std::size_t kCalls = 4096; ///< the last calls over the ranks, by kCalls slots

    void setNode(std::string_view node) noexcept;
    std::string node() const;
    RankFigures figures() const noexcept;

private:
    friend class RankPulseWriter;
    friend std::vector<LiveRank> liveRanks(std::span<const RankPulse* const> ranks);
    struct Call {
        std::atomic<std::uint64_t> number{0}; ///< from 1, in the order of iterations and steps; 0: none
        std::atomic<std::int64_t> arrival{0}; ///< steady clock, in ns
    };

    std::atomic<std::uint32_t> m_nodeVersion{0}; ///< odd while the node is written
    std::array<std::atomic<char>, 160> m_node{};
    std::atomic<std::uint64_t> m_iterations{0}; ///< whose figures and calls are complete
    std::atomic<std::uint64_t> m_callsEach{0};  ///< of an iteration
    std::atomic<double> m_iterationNs{0};
    std::atomic<double> m_rows{0}; ///< of a batch
    std::atomic<bool> m_isModelled{false};
    std::array<Call, kCalls> m_calls{};
};

/// Writes the pulse of this rank from the records of its run.
class RankPulseWriter {
public:
    RankPulseWriter(RankPulse& pulse, const Plan& plan);

    /// `startedNs`: when the run has started, on the steady clock.
    void started(std::int64_t startedNs) noexcept { m_startedNs = startedNs; }
    void add(std::span<const StepRecord> records);
    /// Completed iterations, whose steps were all added.
    void progress(std::int64_t done);

private:
    static constexpr std::size_t kPace = 32; ///< the last marks, over which the pace is taken
    struct Mark {
        std::int64_t iterations = 0;
        std::int64_t endNs = 0; ///< of the last step so far
    };

    RankPulse& m_pulse;
    std::vector<std::uint32_t> m_callOf; ///< by step: its place among the calls of an iteration, or kNone
    std::vector<bool> m_isSetup;         ///< by step
    std::deque<Mark> m_marks;            ///< oldest first
    std::int64_t m_endNs = 0;
    std::int64_t m_startedNs = 0;
};

/// A rank of another machine, from what it has told. Its arrivals at calls are not known, so no rank has a
/// wait.
LiveRank liveRank(std::string_view node, const RankFigures& figures);
/// The ranks as they are now, by rank; null stands for a rank whose state is unknown. A rank waits from its
/// arrival at a call to that of the last rank.
std::vector<LiveRank> liveRanks(std::span<const RankPulse* const> ranks);
/// The ranks of a run that has ended.
std::vector<LiveRank> endedRanks(const std::vector<RankPace>& ranks);
/// The slowest of them; -1 if that is not known.
int slowestOf(const std::vector<LiveRank>& ranks) noexcept;

} // namespace twb
