#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace twb {

/// This program's own executable.
std::filesystem::path thisProgram();

/// Must be called in a process started by ChildProcess: makes the system end the process when its parent ends
/// in any way.
void endWithParent();

/// A running program in its own process group, so that Ctrl-C reaches only its parent. Its stdin and stdout
/// are /dev/null. The destructor kills it and waits.
class ChildProcess {
public:
    /// The exit code, or the signal that ended it.
    struct Ending {
        int exitCode = 0;
        int signal = 0;
    };

    /// `arguments[0]` is the program; `environment` adds NAME=VALUE to this process's. stderr goes to a new
    /// file `log`. Throws Error(failed) or Error(io).
    ChildProcess(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                 const std::filesystem::path& log);
    ~ChildProcess();
    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&&) = delete;

    /// Nothing while it runs; does not wait.
    std::optional<Ending> poll();
    void send(int signal) const noexcept;

private:
    pid_t m_pid = -1;
};

} // namespace twb
