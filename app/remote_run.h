#pragma once

#include "app/exit_code.h"

#include <string>
#include <vector>

namespace twb {

/// A run on another machine.
struct RemoteRun {
    std::string on;                     ///< "ssh:HOST" or "ssh:HOST:PATH"
    std::string file;                   ///< the project on this machine
    std::vector<std::string> arguments; ///< of `twb run`, without the file, --report and --trace
    std::string report;                 ///< files on this machine; empty: none
    std::string trace;
};

/// Copies the project and the files that it reads to HOST by rsync or scp, into a folder below PATH (default:
/// .cache/tensor-workbench), runs them there by `twb` of the same version, shows its output while it runs,
/// and fetches its report. Ctrl-C stops the run there. If the connection is lost, the run goes on; the same
/// call continues with it.
///
/// $TWB_SSH is the command that connects (default: ssh), $TWB_REMOTE_PROGRAM the `twb` on HOST (default: twb,
/// found by its PATH). Throws Error(missingDevice) if HOST cannot be reached or has no such `twb`,
/// Error(invalidArgument).
ExitCode runRemotely(const RemoteRun& run);

} // namespace twb
