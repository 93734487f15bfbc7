#include "core/error.h"
#include "ops/plugins/plugin_check.h"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLimit{20};

/// The program that checks plug-ins: beside this one, or in bin/ beside its folder (a test's).
fs::path checker() {
    std::error_code failed;
    const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
    for (const fs::path& place : {folder / "twb", folder.parent_path() / "bin" / "twb"})
        if (fs::exists(place, failed)) return place;
    return {};
}

/// The file with the plug-ins that are known to be well, one a line; empty if there is no folder for it.
fs::path memoryFile() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache) return fs::path(cache) / "tensor-workbench" / "checked-plugins";
    if (home && *home) return fs::path(home) / ".cache" / "tensor-workbench" / "checked-plugins";
    return {};
}

/// Changes whenever the library or the program that checked it does.
std::string signatureOf(const fs::path& file) {
    struct stat library {};
    struct stat program {};
    if (::stat(file.c_str(), &library) != 0 || ::stat(checker().c_str(), &program) != 0) return {};
    return fmt::format("{} {} {}.{} {} {}", file.string(), library.st_size, library.st_mtim.tv_sec,
                       library.st_mtim.tv_nsec, program.st_mtim.tv_sec, program.st_size);
}

bool isKnown(const std::string& signature) {
    std::ifstream in(memoryFile());
    for (std::string line; std::getline(in, line);)
        if (line == signature) return true;
    return false;
}

void remember(const std::string& signature) {
    const fs::path file = memoryFile();
    if (file.empty() || signature.empty()) return;
    std::error_code ignored; // then the plug-in is checked again next time
    fs::create_directories(file.parent_path(), ignored);
    std::ofstream(file, std::ios::app) << signature << '\n';
}

/// What the child printed, and how it ended.
struct Answer {
    std::string out;
    int status = 0;
    bool timedOut = false;
};

Answer ask(const fs::path& program, const fs::path& file) {
    int pipes[2] = {-1, -1};
    if (::pipe2(pipes, O_CLOEXEC) != 0)
        throw Error(ErrorCode::io, "cannot make a pipe to the check of plug-ins");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string name = program.string();
    std::string command = "__check-plugin";
    std::string library = file.string();
    char* arguments[] = {name.data(), command.data(), library.data(), nullptr};
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipes[1]);
    Answer answer;
    if (failed) {
        ::close(pipes[0]);
        throw Error(ErrorCode::io,
                    fmt::format("cannot start {}: {}", program.string(), std::strerror(failed)));
    }
    const auto end = Clock::now() + kLimit;
    char buffer[4096];
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd waiting{pipes[0], POLLIN, 0};
        const int ready = left > 0 ? ::poll(&waiting, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            answer.timedOut = true;
            ::kill(child, SIGKILL);
            break;
        }
        const ssize_t got = ::read(pipes[0], buffer, sizeof buffer);
        if (got <= 0) break;
        answer.out.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(pipes[0]);
    while (::waitpid(child, &answer.status, 0) < 0 && errno == EINTR) {
    }
    return answer;
}

/// The rest of the last line that begins with `start`.
std::string lastLine(const std::string& text, std::string_view start) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        if (std::string_view(text).substr(at, start.size()) == start)
            out = text.substr(at + start.size(), end - at - start.size());
        at = end + 1;
    }
    return out;
}

} // namespace

std::string checkPluginInChild(const fs::path& file) {
    const std::string signature = signatureOf(file);
    if (!signature.empty() && isKnown(signature)) return {};
    const fs::path program = checker();
    if (program.empty())
        return "it is not checked: there is no twb beside this program; install tensor-workbench-cli";
    const Answer answer = ask(program, file);
    const std::string at = lastLine(answer.out, "at ");
    if (answer.timedOut) return fmt::format("its check did not end within {} s, in {}", kLimit.count(), at);
    if (WIFSIGNALED(answer.status))
        return fmt::format("it crashes in {} (signal {}, {})", at, WTERMSIG(answer.status),
                           ::strsignal(WTERMSIG(answer.status)));
    if (std::string bad = lastLine(answer.out, "bad "); !bad.empty()) return bad;
    if (!answer.out.ends_with("ok\n")) return fmt::format("it ends the process in {}", at);
    remember(signature);
    return {};
}

} // namespace twb
