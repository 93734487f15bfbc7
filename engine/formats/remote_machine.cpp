#include "formats/remote_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace twb {
namespace {

constexpr int kWaitMs = 50;

std::vector<std::string> wordsOf(const char* variable, const char* otherwise) {
    const char* set = std::getenv(variable);
    std::istringstream text(set && *set ? set : otherwise);
    std::vector<std::string> out;
    for (std::string word; text >> word;) out.push_back(word);
    return out;
}

} // namespace

RemoteCommand::RemoteCommand(const std::vector<std::string>& arguments, std::string_view input,
                             bool isCaught) {
    int in[2]; // not a pipe: a program that ends early must not end this one by SIGPIPE
    int out[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 ||
        (isCaught && ::pipe2(out, O_CLOEXEC) != 0))
        throw Error(ErrorCode::failed,
                    "this program has no file descriptors left; raise the limit with ulimit -n");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    if (isCaught) posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    const int failed = ::posix_spawnp(&m_pid, pointers[0], &actions, &attributes, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    ::close(in[0]);
    if (out[1] >= 0) ::close(out[1]);
    m_out = out[0];
    if (failed) {
        ::close(in[1]);
        if (m_out >= 0) ::close(m_out);
        throw Error(ErrorCode::missingDevice,
                    fmt::format("cannot start {}: {}", arguments[0], std::strerror(failed)));
    }
    while (!input.empty()) {
        const ssize_t sent = ::send(in[1], input.data(), input.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) break; // its exit code tells why
        input.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::close(in[1]);
}
RemoteCommand::~RemoteCommand() {
    if (m_out >= 0) ::close(m_out);
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
}

std::optional<int> RemoteCommand::poll() { return end(WNOHANG); }

int RemoteCommand::wait() { return *end(0); }

std::optional<std::string> RemoteCommand::readMore(int waitMs) {
    pollfd ready{m_out, POLLIN, 0};
    if (::poll(&ready, 1, waitMs) <= 0) return std::string();
    std::array<char, 65536> part{};
    const ssize_t got = ::read(m_out, part.data(), part.size());
    if (got > 0) return std::string(part.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno == EINTR) return std::string();
    return std::nullopt;
}

std::optional<int> RemoteCommand::end(int options) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(m_pid, &status, options)) < 0 && errno == EINTR) {
    }
    if (ended == 0) return std::nullopt;
    m_pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kLost;
}

std::string shellWord(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

RemoteMachine::RemoteMachine(const std::string& on, const std::string& program, std::string purpose,
                             bool mayAsk, RemoteObserver& observer)
    : m_observer(observer), m_host(remoteHost(on)),
      m_program(program.empty() ? wordsOf("TWB_REMOTE_PROGRAM", "twb").front() : program),
      m_purpose(std::move(purpose)), m_ssh(wordsOf("TWB_SSH", "ssh")) {
    if (const auto colon = on.find(':', std::strlen("ssh:")); colon != std::string::npos)
        m_path = on.substr(colon + 1);
    // A connection that does not answer for 15 s is lost.
    for (const char* option :
         {"-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"})
        m_ssh.emplace_back(option);
    if (!mayAsk) // a window has no terminal on which ssh could ask
        for (const char* option : {"-o", "BatchMode=yes"}) m_ssh.emplace_back(option);
}

std::vector<std::string> RemoteMachine::shell() const {
    std::vector<std::string> out = m_ssh;
    out.insert(out.end(), {m_host, "sh"});
    return out;
}

void RemoteMachine::allowLeaving() const {
    if (m_observer.wish(0) != RemoteWish::goOn)
        throw Error(ErrorCode::cancelled, fmt::format("the {} on {} was cancelled", m_purpose, m_host));
}

std::string RemoteMachine::outputOf(RemoteCommand& command, Patience patience) const {
    std::string out;
    while (const auto more = command.readMore(kWaitMs)) {
        out += *more;
        if (patience == Patience::mayEnd) allowLeaving();
    }
    return out;
}

std::string RemoteMachine::run(const std::string& script, Patience patience) const {
    RemoteCommand command(shell(), script + "\n", true);
    std::string out = outputOf(command, patience);
    if (command.wait() == RemoteCommand::kLost)
        throw Error(ErrorCode::missingDevice,
                    fmt::format("cannot reach {} by ssh; try: {} {}", m_host, fmt::join(m_ssh, " "), m_host));
    return out;
}

std::string RemoteMachine::runOnSameVersion(const std::string& script) const {
    std::string said = run(fmt::format("v=$({0} --version 2>/dev/null || echo none)\necho \"$v\"\n"
                                       "[ \"$v\" = 'twb {1}' ] || exit 0\n{2}",
                                       shellWord(m_program), TWB_VERSION, script),
                           Patience::mayEnd);
    const auto newline = said.find('\n');
    const std::string version = said.substr(0, newline);
    if (version == "none" || version.empty())
        throw Error(
            ErrorCode::missingDevice,
            fmt::format("{} has no {}: install Tensor Workbench there, or name its twb in TWB_REMOTE_PROGRAM",
                        m_host, m_program));
    if (version != "twb " TWB_VERSION)
        throw Error(ErrorCode::missingDevice,
                    fmt::format("{} has {}, but this is twb {}; install the same version on both", m_host,
                                version, TWB_VERSION));
    return said.substr(newline + 1);
}

} // namespace twb
