#pragma once

#include <chrono>

namespace twb {

/// The parent of this process, if it is mpirun of Open MPI. When a job has failed, mpirun waits for its
/// daemons on all machines of the job, for many minutes if one of them cannot be reached.
class ParentLauncher {
public:
    /// To be made in the process that mpirun has started. Elsewhere, and where the parent is another program,
    /// such as mpirun's daemon on another machine, there is no mpirun.
    ParentLauncher();
    ~ParentLauncher();
    ParentLauncher(const ParentLauncher&) = delete;
    ParentLauncher& operator=(const ParentLauncher&) = delete;

    /// A descriptor of mpirun's process; -1 if there is none.
    int descriptor() const noexcept { return m_process; }

    /// Starts a process that waits for the end of mpirun, ends it by SIGTERM if it still runs after `grace`,
    /// and says so on mpirun's stderr. Returns at once.
    void endAfter(std::chrono::milliseconds grace) const;

private:
    int m_process = -1;
    int m_id = 0;
};

} // namespace twb
