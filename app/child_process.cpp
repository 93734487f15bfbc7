#include "app/child_process.h"

#include "app/exit_code.h"
#include "core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace twb {
namespace {

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

void check(int error, const char* what) {
    if (error != 0)
        throw Error(ErrorCode::failed,
                    fmt::format("a run cannot be started ({}): {}", what, std::strerror(error)));
}

/// The arguments of posix_spawn, released at the end of the scope.
struct SpawnSetup {
    SpawnSetup() {
        check(posix_spawn_file_actions_init(&actions), "file actions");
        check(posix_spawnattr_init(&attributes), "attributes");
    }
    ~SpawnSetup() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnSetup(const SpawnSetup&) = delete;
    SpawnSetup& operator=(const SpawnSetup&) = delete;

    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
};

} // namespace

std::filesystem::path thisProgram() {
    std::error_code failed;
    auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed) throw Error(ErrorCode::io, "this program cannot find its own file in /proc");
    return path;
}

/// The environment variable with the parent's process id, for a child that must end with it.
constexpr const char* kParentVariable = "TWB_PARENT";

void endWithParent() {
    const char* parent = std::getenv(kParentVariable);
    if (!parent) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    // The parent may have ended before this call.
    if (std::to_string(::getppid()) != parent) _exit(static_cast<int>(ExitCode::cancelled));
    ::unsetenv(kParentVariable);
}

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment, const std::filesystem::path& log) {
    std::vector<std::string> all = environment;
    all.push_back(fmt::format("{}={}", kParentVariable, ::getpid()));
    for (char** entry = environ; *entry; ++entry) all.emplace_back(*entry);

    SpawnSetup setup;
    const auto open = [&](int descriptor, const char* path, int flags) {
        check(posix_spawn_file_actions_addopen(&setup.actions, descriptor, path, flags, 0666), path);
    };
    open(STDIN_FILENO, "/dev/null", O_RDONLY);
    open(STDOUT_FILENO, "/dev/null", O_WRONLY);
    open(STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
    check(posix_spawnattr_setpgroup(&setup.attributes, 0), "process group");
    check(posix_spawnattr_setflags(&setup.attributes, POSIX_SPAWN_SETPGROUP), "flags");
    check(posix_spawn(&m_pid, arguments[0].c_str(), &setup.actions, &setup.attributes,
                      pointersTo(arguments).data(), pointersTo(all).data()),
          arguments[0].c_str());
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept : m_pid(std::exchange(other.m_pid, -1)) {}

ChildProcess::~ChildProcess() {
    if (m_pid < 0) return;
    kill(m_pid, SIGKILL);
    while (waitpid(m_pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

std::optional<ChildProcess::Ending> ChildProcess::poll() {
    int status = 0;
    if (m_pid < 0 || waitpid(m_pid, &status, WNOHANG) != m_pid) return std::nullopt;
    m_pid = -1;
    if (WIFSIGNALED(status)) return Ending{0, WTERMSIG(status)};
    return Ending{WEXITSTATUS(status), 0};
}

void ChildProcess::send(int signal) const noexcept {
    if (m_pid > 0) kill(m_pid, signal);
}

} // namespace twb
