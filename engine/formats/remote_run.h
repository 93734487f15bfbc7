#pragma once

#include "core/error.h"
#include "graph/graph.h"

#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A run on another machine.
struct RemoteRun {
    std::string on;   ///< "ssh:HOST" or "ssh:HOST:PATH"
    std::string file; ///< the project on this machine
    Graph graph{};    ///< of the project, with the settings of the run: it names the files
    /// The folder on this machine for the files that Save nodes write; empty: that of the project.
    std::string results{};
    std::vector<std::string> arguments{}; ///< of `twb run`, without the file and the options below
    std::string report{};                 ///< files on this machine; empty: none
    std::string trace{};
    std::string program{}; ///< the `twb` on HOST; empty: $TWB_REMOTE_PROGRAM, else "twb", found by its PATH
    /// The events of the run (profile/run_events.h) come back while it runs, in place of its output; ssh asks
    /// for no password.
    bool hasEvents = false;
    int ranks = 1; ///< processes that `mpirun` starts there
};

/// What the user wants of a run on another machine.
enum class RemoteWish {
    goOn,
    stop,  ///< the run ends there as by Ctrl-C; given once
    leave, ///< the run goes on there without this program
};

/// Takes part in runRemotely(), on its thread.
class RemoteObserver {
public:
    virtual ~RemoteObserver() = default;
    /// Called all the time, also while files are copied. May wait that long.
    virtual RemoteWish wish(int waitMs) = 0;
    virtual void remark(const std::string& sentence) = 0;
    /// More of the events; lines may be cut anywhere.
    virtual void events(std::string_view) {}
};

/// How a run on another machine has ended.
struct RemoteEnd {
    int exitCode = 0; ///< of `twb run`, or of `mpirun`
    /// The user has stopped it before its end. A launcher may then have another exit code than `twb run`.
    bool isCancelled = false;
    std::string host;
    std::string messages; ///< with RemoteRun::hasEvents: what it has written to stderr
};

/// The connection was lost, and the run goes on.
class LostConnection final : public Error {
public:
    explicit LostConnection(const std::string& host);
    const std::string& host() const noexcept { return m_host; }

private:
    std::string m_host;
};

/// HOST of "ssh:HOST" or "ssh:HOST:PATH". Throws Error(invalidArgument).
std::string remoteHost(const std::string& on);

/// Copies the project and the files that it reads to HOST by rsync or scp, into a folder below PATH (default:
/// .cache/tensor-workbench), runs them there by `twb` of the same version, shows its output while it runs,
/// and fetches its report and the files that it has written. If the connection is lost, the run goes on; the
/// same call continues with it.
///
/// $TWB_SSH is the command that connects (default: ssh). Throws Error(missingDevice) if HOST cannot be
/// reached or has no such `twb`, Error(invalidArgument), LostConnection, and Error(cancelled) if the user
/// stops before the run has started, or leaves.
RemoteEnd runRemotely(const RemoteRun& run, RemoteObserver& observer);

} // namespace twb
