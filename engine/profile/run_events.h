#pragma once

#include "profile/plan_text.h"
#include "profile/rank_pulse.h"
#include "profile/rank_report.h"
#include "profile/report.h"
#include "runtime/executor.h"
#include "runtime/plan.h"

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace twb {

/// The probes of all ranks of a divided graph, in the order of the ranks, on rank 0; on the others, their
/// own. All ranks must call it together.
std::vector<ProbeValue> gatherProbes(World& world, std::vector<ProbeValue> own);

/// Writes a run to a file while it goes on, for the window of another machine: first the plan, then records
/// and completed iterations, at last the result; one JSON object a line. The run never waits for the file.
/// Beyond kWhole bytes, only one iteration of each write is written, so that a long run does not fill the
/// disk; StreamedRun::leftOut() counts the other records.
class RunEventWriter {
public:
    static constexpr std::uint64_t kWhole = std::uint64_t{64} << 20;
    static constexpr std::size_t kMostWaiting = 1'000'000; ///< records between two writes

    /// `ranks` says how the ranks of the run are now; it is called on a thread of the writer's own. Throws
    /// Error(io).
    RunEventWriter(const std::filesystem::path& path, const Plan& plan, std::int64_t iterations,
                   std::function<std::vector<LiveRank>()> ranks = {}, std::uint64_t whole = kWhole);
    /// Writes what is left.
    ~RunEventWriter();
    RunEventWriter(const RunEventWriter&) = delete;
    RunEventWriter& operator=(const RunEventWriter&) = delete;

    void add(std::span<const StepRecord> records);
    void progress(std::int64_t done);
    /// The last event. `ranks`: their pace, of a run on several ranks. If the file could not be written,
    /// throws Error(io).
    void end(const RunResult& result, const std::vector<ProbeValue>& probes,
             const std::vector<RankPace>& ranks = {});

private:
    void work();
    void flush();
    void writeRanks();
    void write(std::string_view line);

    const std::filesystem::path m_path;
    const std::function<std::vector<LiveRank>()> m_ranks;
    const std::uint64_t m_whole;
    std::vector<LiveRank> m_lastRanks; ///< as they were written
    int m_file = -1;
    int m_error = 0; ///< errno of the first failure
    std::uint64_t m_written = 0;
    std::uint64_t m_leftOut = 0;
    std::mutex m_mutex;
    std::condition_variable m_wake;
    std::vector<StepRecord> m_waiting;
    std::int64_t m_done = 0;
    std::int64_t m_said = 0;
    bool m_isEnding = false;
    std::thread m_thread;
};

/// The same run, read from the events on another machine. Its plan has all that figures need. Its devices
/// only describe those of the other machine: they run nothing.
class StreamedRun {
public:
    /// Reads one line. Throws Error(badFile) if it is not understood.
    void read(std::string_view line);

    const std::shared_ptr<const Plan>& plan() const noexcept { return m_plan; } ///< null at first
    std::int64_t iterations() const noexcept { return m_iterations; }           ///< of the whole run
    std::int64_t done() const noexcept { return m_done; }
    std::uint64_t leftOut() const noexcept { return m_leftOut; }
    const std::optional<RunResult>& result() const noexcept { return m_result; }
    const std::vector<ProbeValue>& probes() const noexcept { return m_probes; }
    const std::vector<RankPace>& ranks() const noexcept { return m_ranks; } ///< empty for a single rank
    /// While the run goes on.
    const std::vector<LiveRank>& liveRanks() const noexcept { return m_liveRanks; }
    /// The records since the last call.
    std::vector<StepRecord> takeRecords();

private:
    std::shared_ptr<const Plan> m_plan;
    std::vector<StepRecord> m_records;
    ReadTimes m_times;
    std::int64_t m_iterations = 0;
    std::int64_t m_done = 0;
    std::uint64_t m_leftOut = 0;
    std::optional<RunResult> m_result;
    std::vector<ProbeValue> m_probes;
    std::vector<RankPace> m_ranks;
    std::vector<LiveRank> m_liveRanks;
};

} // namespace twb
