#include "formats/remote_run.h"

#include "core/hash.h"
#include "formats/file_claims.h"
#include "formats/input_file.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr int kLost = 255;   ///< the exit code of ssh if it has no connection
constexpr int kKilled = 137; ///< of a shell for a program that was killed: 128 + SIGKILL
constexpr int kWaitMs = 50;

/// One argument of a shell.
std::string shellWord(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::vector<std::string> wordsOf(const char* variable, const char* otherwise) {
    const char* set = std::getenv(variable);
    std::istringstream text(set && *set ? set : otherwise);
    std::vector<std::string> out;
    for (std::string word; text >> word;) out.push_back(word);
    return out;
}

bool isOnPath(const char* program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
    return false;
}

/// A program whose stdin is a text. Its stdout is caught, or goes where this program's goes. It has a process
/// group of its own, so that Ctrl-C does not end it.
class Command {
public:
    Command(const std::vector<std::string>& arguments, std::string_view input, bool isCaught) {
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
        const int failed =
            ::posix_spawnp(&m_pid, pointers[0], &actions, &attributes, pointers.data(), environ);
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
    ~Command() {
        if (m_out >= 0) ::close(m_out);
        if (m_pid > 0) {
            ::kill(m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
        }
    }
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// The exit code, once it has ended.
    std::optional<int> poll() { return end(WNOHANG); }
    int wait() { return *end(0); }
    /// More of what it prints, after at most that long. Nothing: there is no more.
    std::optional<std::string> readMore(int waitMs) {
        pollfd ready{m_out, POLLIN, 0};
        if (::poll(&ready, 1, waitMs) <= 0) return std::string();
        std::array<char, 65536> part{};
        const ssize_t got = ::read(m_out, part.data(), part.size());
        if (got > 0) return std::string(part.data(), static_cast<std::size_t>(got));
        if (got < 0 && errno == EINTR) return std::string();
        return std::nullopt;
    }

private:
    std::optional<int> end(int options) {
        int status = 0;
        pid_t ended = 0;
        while ((ended = ::waitpid(m_pid, &status, options)) < 0 && errno == EINTR) {
        }
        if (ended == 0) return std::nullopt;
        m_pid = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : kLost;
    }

    pid_t m_pid = -1;
    int m_out = -1;
};

/// "ssh:HOST:PATH".
struct Place {
    std::string host;
    std::string path;
};

Place placeOf(const std::string& on) {
    constexpr std::string_view scheme = "ssh:";
    const auto refuse = [&] {
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} is not a machine: write ssh:HOST or ssh:HOST:PATH, with a HOST that ssh "
                                "knows",
                                on));
    };
    if (!on.starts_with(scheme)) refuse();
    Place out{on.substr(scheme.size()), ".cache/tensor-workbench"};
    if (const auto colon = out.host.find(':'); colon != std::string::npos) {
        out.path = out.host.substr(colon + 1);
        out.host.resize(colon);
    }
    if (out.host.empty() || out.host.starts_with('-') || out.path.empty())
        refuse(); // a dash would be an option of ssh
    return out;
}

/// Files of a run, relative to the folder of its project.
struct RunFiles {
    std::set<std::string> read; ///< with the project itself
    std::set<std::string> written;
};

RunFiles filesOf(const RemoteRun& run, const fs::path& project, const fs::path& results) {
    RunFiles out;
    out.read.insert(project.filename().string());
    for (const GraphFile& named : filesNamedBy(run.graph)) {
        const TensorPath path = splitTensorPath(named.path);
        const fs::path file = fs::path(path.file).lexically_normal();
        if (file.is_absolute() || *file.begin() == "..")
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("{} {} {}, which is outside of its folder, so it cannot be copied {} "
                            "another machine; {}",
                            project.filename().string(), named.isWritten ? "writes" : "reads", file.string(),
                            named.isWritten ? "from" : "to",
                            named.isWritten ? "choose a file in the folder" : "move it into the folder"));
        (named.isWritten ? out.written : out.read).insert(file.string());
        // A tensor is added to an archive, whose other tensors stay.
        std::error_code failed;
        if (named.isWritten && path.isInArchive() && fs::exists(results / file, failed))
            out.read.insert(file.string());
    }
    return out;
}

class Session {
public:
    Session(const RemoteRun& run, RemoteObserver& observer)
        : m_run(run), m_observer(observer), m_place(placeOf(run.on)), m_project(fs::absolute(run.file)),
          m_results(run.results.empty() ? m_project.parent_path() : fs::path(run.results)),
          m_files(filesOf(run, m_project, m_results)), m_ssh(wordsOf("TWB_SSH", "ssh")),
          m_program(run.program.empty() ? wordsOf("TWB_REMOTE_PROGRAM", "twb").front() : run.program) {
        // A connection that does not answer for 15 s is lost.
        for (const char* option :
             {"-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"})
            m_ssh.emplace_back(option);
        if (run.hasEvents) // a window has no terminal on which ssh could ask
            for (const char* option : {"-o", "BatchMode=yes"}) m_ssh.emplace_back(option);
        // The same call finds its run again.
        ContentHash hash;
        hash.add(readFile(m_project, std::uint64_t{1} << 30)).add(m_program);
        hash.add(static_cast<std::uint64_t>(run.hasEvents));
        for (const std::string& argument : run.arguments) hash.add(argument);
        for (const std::string& file : m_files.read)
            if (file != m_project.filename())
                hash.add(file).add(InputFile(m_project.parent_path() / file).fingerprint());
        m_folder = fmt::format("{}/{}-{:016x}", m_place.path, m_project.stem().string(), hash.value());
    }

    RemoteEnd go() {
        const std::string known = probe();
        if (known.empty()) {
            try {
                copy();
            } catch (const Error&) {
                remove();
                throw;
            }
            start();
        } else {
            m_observer.remark(fmt::format("{} has this run already: {}", m_place.host,
                                          known == "ended" ? "it has ended" : "it is still going on"));
        }
        RemoteEnd out{follow(), m_place.host, {}};
        if (out.exitCode == kLost) throw LostConnection(m_place.host);
        fetch("report.json", m_run.report);
        fetch("trace.json", m_run.trace);
        fetchWritten();
        if (m_run.hasEvents) out.messages = remote(fmt::format("cat {}/err", shellWord(m_folder)));
        remove();
        if (out.exitCode == kKilled)
            throw Error(ErrorCode::failed,
                        fmt::format("the run on {0} was killed: {0} has too little memory, was restarted, or "
                                    "somebody ended it. Give the same command again to start it anew",
                                    m_place.host));
        return out;
    }

private:
    std::vector<std::string> ssh() const {
        std::vector<std::string> out = m_ssh;
        out.insert(out.end(), {m_place.host, "sh"});
        return out;
    }

    /// Ends this call if the user no longer wants the run.
    void allowLeaving() const {
        if (m_observer.wish(0) != RemoteWish::goOn)
            throw Error(ErrorCode::cancelled, fmt::format("the run on {} was cancelled", m_place.host));
    }

    enum class Patience { mayEnd, toTheEnd };

    /// All that a command prints, which has then ended.
    std::string outputOf(Command& command, Patience patience) const {
        std::string out;
        while (const auto more = command.readMore(kWaitMs)) {
            out += *more;
            if (patience == Patience::mayEnd) allowLeaving();
        }
        return out;
    }

    /// What a script prints on the host.
    std::string remote(const std::string& script, Patience patience = Patience::toTheEnd) const {
        Command command(ssh(), script + "\n", true);
        std::string out = outputOf(command, patience);
        if (command.wait() == kLost)
            throw Error(ErrorCode::missingDevice,
                        fmt::format("cannot reach {} by ssh; try: {} {}", m_place.host, fmt::join(m_ssh, " "),
                                    m_place.host));
        return out;
    }

    /// Whether the host has the run: "", "running" or "ended".
    std::string probe() {
        const std::string said =
            remote(fmt::format("{0} --version 2>/dev/null || echo none\n"
                               "command -v rsync >/dev/null && echo rsync || echo scp\n"
                               "cd {1} 2>/dev/null && [ -f exit ] && echo ended && exit 0\n"
                               "[ -f pid ] && kill -0 $(cat pid) 2>/dev/null && echo running",
                               shellWord(m_program), shellWord(m_folder)),
                   Patience::mayEnd);
        std::istringstream lines(said);
        std::string version;
        std::string copier;
        std::string state;
        std::getline(lines, version);
        std::getline(lines, copier);
        std::getline(lines, state);
        if (version == "none" || version.empty())
            throw Error(
                ErrorCode::missingDevice,
                fmt::format(
                    "{} has no {}: install Tensor Workbench there, or name its twb in TWB_REMOTE_PROGRAM",
                    m_place.host, m_program));
        if (version != "twb " TWB_VERSION)
            throw Error(ErrorCode::missingDevice,
                        fmt::format("{} has {}, but this is twb {}; install the same version on both",
                                    m_place.host, version, TWB_VERSION));
        m_hasRsync = copier == "rsync" && isOnPath("rsync");
        return state;
    }

    void remove() const { remote("rm -rf " + shellWord(m_folder)); }

    void copy() {
        std::set<std::string> folders;
        for (const std::string& file : m_files.read) folders.insert(fs::path(file).parent_path().string());
        std::string make;
        for (const std::string& folder : folders)
            make += fmt::format("mkdir -p {} && ", shellWord(there(folder)));
        remote(make + "true");
        const std::string base = m_project.parent_path().string();
        if (m_hasRsync) {
            std::string list;
            for (const std::string& file : m_files.read) list += file + '\n';
            // Of a symbolic link, the file is copied.
            check({"rsync", "-aL", "--files-from=-", "-e", fmt::format("{}", fmt::join(m_ssh, " ")),
                   base + "/", m_place.host + ":" + there("") + "/"},
                  list, Patience::mayEnd);
            return;
        }
        for (const std::string& folder : folders) {
            std::vector<std::string> arguments = scp();
            for (const std::string& file : m_files.read)
                if (fs::path(file).parent_path().string() == folder)
                    arguments.push_back((fs::path(base) / file).string());
            arguments.push_back(m_place.host + ":" + there(folder) + "/");
            check(arguments, {}, Patience::mayEnd);
        }
    }

    /// Copies the files that Save nodes have written here.
    void fetchWritten() const {
        if (m_files.written.empty()) return;
        std::string list;
        for (const std::string& file : m_files.written) list += shellWord(file) + " ";
        // A run that has failed may not have written all.
        const std::string found = remote(fmt::format(
            "cd {} && for f in {}; do [ -e \"$f\" ] && echo \"$f\"; done", shellWord(there("")), list));
        std::istringstream lines(found);
        for (std::string file; std::getline(lines, file);) {
            const fs::path to = m_results / file;
            std::error_code ignored; // said by the copy
            fs::create_directories(to.parent_path(), ignored);
            std::vector<std::string> arguments = scp();
            if (m_hasRsync) arguments = {"rsync", "-a", "-e", fmt::format("{}", fmt::join(m_ssh, " "))};
            arguments.push_back(m_place.host + ":" + there("") + "/" + file);
            arguments.push_back(to.string());
            check(arguments, {}, Patience::toTheEnd);
        }
    }

    std::vector<std::string> scp() const {
        std::vector<std::string> out = m_ssh;
        out[0] = fs::path(m_ssh[0]).replace_filename("scp").string();
        out.emplace_back("-q");
        return out;
    }

    /// Runs rsync or scp. Throws Error if it fails.
    void check(const std::vector<std::string>& arguments, std::string_view input, Patience patience) const {
        Command command(arguments, input, true);
        outputOf(command, patience);
        if (const int exit = command.wait(); exit != 0)
            throw Error(
                ErrorCode::missingDevice,
                fmt::format("{} cannot copy the files of {} between this machine and {}: it ended with "
                            "exit code {}",
                            fs::path(arguments[0]).filename().string(), m_project.filename().string(),
                            m_place.host, exit));
    }

    std::string there(const std::string& folder) const {
        return folder.empty() ? m_folder + "/project" : m_folder + "/project/" + folder;
    }

    /// Starts the run in a session of its own, which the end of the connection does not touch.
    void start() const {
        std::string call = shellWord(m_program) + " run";
        for (const std::string& argument : m_run.arguments) call += " " + shellWord(argument);
        call += " --report ../report.json";
        if (!m_run.trace.empty()) call += " --trace ../trace.json";
        if (m_run.hasEvents) call += " --events ../events";
        call += " -- " + shellWord(m_project.filename().string());
        const std::string body = fmt::format(
            "cd project; {} > ../out 2> ../err < /dev/null; echo $? > ../exit.new; mv ../exit.new ../exit",
            call);
        remote(fmt::format(
            "cd {} && : > out && : > err && : > events && {{ nohup setsid sh -c {} > /dev/null 2>&1 < "
            "/dev/null & echo $! > "
            "pid; }}",
            shellWord(m_folder), shellWord(body)));
    }

    /// Shows what the run prints, or passes its events on, until it ends. Returns its exit code, or kLost.
    int follow() const {
        const std::string script =
            m_run.hasEvents
                ? fmt::format("cd {} || exit 1\np=$(cat pid)\ntail -c +1 -f -s 0.1 --pid=$p events\n"
                              "exit $(cat exit 2>/dev/null || echo {})\n",
                              shellWord(m_folder), kKilled)
                : fmt::format(
                      "cd {} || exit 1\np=$(cat pid)\ntail -n +1 -f -s 0.2 --pid=$p err >&2 &\n"
                      "tail -n +1 -f -s 0.2 --pid=$p out\nwait\nexit $(cat exit 2>/dev/null || echo {})\n",
                      shellWord(m_folder), kKilled);
        Command command(ssh(), script, m_run.hasEvents);
        bool isOpen = m_run.hasEvents;
        for (;;) {
            if (isOpen) {
                const auto more = command.readMore(kWaitMs);
                isOpen = more.has_value();
                if (more && !more->empty()) m_observer.events(*more);
            } else if (const auto exit = command.poll()) {
                return *exit;
            }
            switch (m_observer.wish(isOpen ? 0 : kWaitMs)) {
            case RemoteWish::stop:
                // The shell of a background process ignores SIGINT; the run does not.
                try {
                    remote(fmt::format("kill -INT -$(cat {}/pid)", shellWord(m_folder)));
                } catch (const Error&) {
                    throw LostConnection(m_place.host); // the run was not stopped
                }
                break;
            case RemoteWish::leave:
                throw Error(ErrorCode::cancelled,
                            fmt::format("left the run on {}, which goes on", m_place.host));
            case RemoteWish::goOn:
                break;
            }
        }
    }

    /// Copies a file of the run here; a run that has failed may have none.
    void fetch(const char* name, const std::string& to) const {
        if (to.empty()) return;
        std::string text = remote(fmt::format("cat {}/{} 2>/dev/null", shellWord(m_folder), name));
        if (text.empty()) return;
        auto json = nlohmann::ordered_json::parse(text, nullptr, false);
        if (json.is_object() && json.contains("schema")) {
            json["host"] = m_place.host;
            text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
        }
        writeFileAtomically(to, text);
    }

    const RemoteRun& m_run;
    RemoteObserver& m_observer;
    const Place m_place;
    const fs::path m_project;
    const fs::path m_results;
    const RunFiles m_files;
    std::vector<std::string> m_ssh;
    const std::string m_program;
    std::string m_folder; ///< of the run on the host
    bool m_hasRsync = false;
};

} // namespace

LostConnection::LostConnection(const std::string& host)
    : Error(ErrorCode::failed, fmt::format("the connection to {} was lost; the run goes on there. Give the "
                                           "same command again to see its end and to fetch its report",
                                           host)),
      m_host(host) {}

std::string remoteHost(const std::string& on) { return placeOf(on).host; }

RemoteEnd runRemotely(const RemoteRun& run, RemoteObserver& observer) { return Session(run, observer).go(); }

} // namespace twb
