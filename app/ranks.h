#pragma once

#include "app/exit_code.h"
#include "app/job_folders.h"
#include "backends/launcher.h"
#include "backends/mpi_world.h"
#include "backends/parent_launcher.h"
#include "backends/world.h"
#include "profile/rank_pulse.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// `--world` and `--rank-logs`.
struct RankOptions {
    std::string world; ///< "simulated:4:nvlink"; empty: what the launcher has started
    std::string logs;

    void addTo(CLI::App& command);
};

/// This process as one rank of a job that mpirun, mpiexec or srun has started; without a launcher, the only
/// one. Rank 0 prints and writes; the output of the others goes to log files. A process of its own watches
/// each rank: if the rank is killed or ends early, the watch says so and names the rank's last step. The
/// constructor returns in a child of this process, so make it before the first thread is started.
class Ranks final : public WorldListener {
public:
    /// `file`: the project; by default, the logs are in a folder beside it. `writeFailure` writes the report
    /// of a job that has failed for the reason in the sentence; it may run in another process. Throws
    /// Error(missingDevice), see openMpiWorld(), and Error(io).
    Ranks(const RankOptions& options, const std::filesystem::path& file,
          std::function<void(const std::string& sentence)> writeFailure);
    ~Ranks() override;
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    const std::shared_ptr<World>& world() const noexcept { return m_world; }
    /// Rank 0 prints and writes.
    bool isFirst() const noexcept { return m_world->rank() == 0; }
    bool isAlone() const noexcept { return m_world->size() == 1; }
    /// What the other ranks see of this one; null if this is the only rank.
    RankPulse* pulse() const noexcept;
    /// All ranks, as their pulses show them. May be called from any thread.
    std::vector<LiveRank> live() const;
    /// Ends the job for all ranks because of an error of this one, and prints it, unless that was done
    /// before. Alone, it throws the error.
    ExitCode end(const Error& error);
    /// Prints an error that all ranks have found, each in its own output. All ranks must call it.
    ExitCode endTogether(const Error& error);

    /// Why the job has failed, in the words that the watch of a rank has printed; "" if it has not failed.
    std::string whyFailed() const;

    void active(const RankActivity& activity) noexcept override;
    std::string whyOver() override;
    void failed(const std::string& sentence) noexcept override;

private:
    struct Shared;
    void keepLog(const std::filesystem::path& folder);
    void startWatch();
    [[noreturn]] static void awaitEnd(int rank, int watcher, int status);
    [[noreturn]] void watch(int status, int reasons) const;
    void tellReasons(int status, int reasons) const;
    JobFolders folders() const;
    const RankPulse* open(int rank) const;
    /// `node`: the rank's last step, empty between two runs; nothing if it is not known.
    std::string sentenceFor(const std::optional<std::string>& node) const;
    void say(const std::string& sentence, bool isSeen) const;
    RankFigures figures() const noexcept;
    void heard(int rank, std::string_view node, const RankFigures& figures);
    void meet();
    void publish();

    Launcher m_launcher;
    const ParentLauncher m_parent; ///< mpirun, if it runs on this machine
    std::function<void(const std::string&)> m_writeFailure;
    Shared* m_shared = nullptr;
    RankPulse* m_pulse = nullptr;
    std::filesystem::path m_logs;
    std::vector<const RankPulse*> m_here; ///< by rank; null: on another machine
    mutable std::mutex m_farMutex;
    std::vector<LiveRank> m_far; ///< by rank, on rank 0 only: what those of other machines have told
    int m_watch = -1;            ///< the socket to the watch
    int m_stderr = -1;           ///< the stderr that the launcher has given this process
    std::shared_ptr<World> m_world;
};

} // namespace twb
