#pragma once

#include "formats/remote_run.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A program whose stdin is a text. Its stdout is caught, or goes where this program's goes. It has a process
/// group of its own, so that Ctrl-C does not end it.
class RemoteCommand {
public:
    RemoteCommand(const std::vector<std::string>& arguments, std::string_view input, bool isCaught);
    ~RemoteCommand();
    RemoteCommand(const RemoteCommand&) = delete;
    RemoteCommand& operator=(const RemoteCommand&) = delete;

    static constexpr int kLost = 255; ///< the exit code of ssh if it has no connection

    /// The exit code, once it has ended.
    std::optional<int> poll();
    int wait();
    /// More of what it prints, after at most that long. Nothing: there is no more.
    std::optional<std::string> readMore(int waitMs);

private:
    std::optional<int> end(int options);

    int m_pid = -1;
    int m_out = -1;
};

/// One argument of a shell.
std::string shellWord(const std::string& text);

/// A machine that ssh reaches, and the `twb` on it.
class RemoteMachine {
public:
    /// `on`: "ssh:HOST" or "ssh:HOST:PATH". `program`: as RemoteRun::program. Without `mayAsk`, ssh asks for
    /// no password. `purpose` is a noun for messages: "run". Throws Error(invalidArgument).
    RemoteMachine(const std::string& on, const std::string& program, std::string purpose, bool mayAsk,
                  RemoteObserver& observer);

    const std::string& host() const noexcept { return m_host; }
    const std::string& path() const noexcept { return m_path; }
    const std::string& program() const noexcept { return m_program; }
    const std::vector<std::string>& ssh() const noexcept { return m_ssh; } ///< without the host
    std::vector<std::string> shell() const; ///< a command that runs the script on its stdin

    enum class Patience { mayEnd, toTheEnd };
    /// All that a command prints, which has then ended. `mayEnd`: throws Error(cancelled) if the user no
    /// longer wants it.
    std::string outputOf(RemoteCommand& command, Patience patience) const;
    /// What a script prints on the host. Throws Error(missingDevice) if it cannot be reached.
    std::string run(const std::string& script, Patience patience = Patience::toTheEnd) const;
    /// The same, after the version of `twb` there has been compared. Throws Error(missingDevice).
    std::string runOnSameVersion(const std::string& script) const;

private:
    void allowLeaving() const;

    RemoteObserver& m_observer;
    std::string m_host;
    std::string m_path = ".cache/tensor-workbench";
    std::string m_program;
    std::string m_purpose;
    std::vector<std::string> m_ssh;
};

} // namespace twb
