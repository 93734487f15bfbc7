#include "formats/remote_run.h"

#include "core/hash.h"
#include "formats/file_claims.h"
#include "formats/input_file.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "formats/remote_machine.h"
#include "formats/tensor_archive.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr int kKilled = 137; ///< of a shell for a program that was killed: 128 + SIGKILL
constexpr int kWaitMs = 50;
constexpr std::chrono::milliseconds kBetweenCalls(500); ///< that tell a run to stop

bool isOnPath(const char* program) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (::access((fs::path(folder) / program).c_str(), X_OK) == 0) return true;
    return false;
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
        // Save adds a tensor to an archive and keeps its other tensors, so the archive is copied, too.
        std::error_code failed;
        if (named.isWritten && path.isInArchive() && fs::exists(results / file, failed))
            out.read.insert(file.string());
    }
    return out;
}

using Patience = RemoteMachine::Patience;

class Session {
public:
    Session(const RemoteRun& run, RemoteObserver& observer)
        : m_run(run), m_observer(observer), m_machine(run.on, run.program, "run", !run.hasEvents, observer),
          m_project(fs::absolute(run.file)),
          m_results(run.results.empty() ? m_project.parent_path() : fs::path(run.results)),
          m_files(filesOf(run, m_project, m_results)) {
        // The same call finds its run again.
        ContentHash hash;
        hash.add(readProjectText(m_project)).add(m_machine.program());
        hash.add(static_cast<std::uint64_t>(run.hasEvents)).add(static_cast<std::uint64_t>(run.ranks));
        for (const std::string& argument : run.arguments) hash.add(argument);
        for (const std::string& file : m_files.read)
            if (file != m_project.filename())
                hash.add(file).add(InputFile(m_project.parent_path() / file).fingerprint());
        m_folder = fmt::format("{}/{}-{:016x}", m_machine.path(), m_project.stem().string(), hash.value());
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
            m_observer.remark(fmt::format("{} has this run already: {}", m_machine.host(),
                                          known == "ended" ? "it has ended" : "it is still going on"));
        }
        RemoteEnd out;
        out.host = m_machine.host();
        out.exitCode = follow();
        if (out.exitCode == RemoteCommand::kLost) throw LostConnection(m_machine.host());
        out.isCancelled = m_isStopped && out.exitCode != 0;
        const bool hasReport = fetch("report.json", m_run.report);
        if (!m_run.trace.empty()) fetch("trace.json", m_run.trace);
        fetchWritten();
        if (m_run.hasEvents) out.messages = m_machine.run(fmt::format("cat {}/err", shellWord(m_folder)));
        remove();
        // A launcher has this exit code if one of its ranks was killed; the messages and the report name it.
        if (out.exitCode == kKilled && !out.isCancelled && !hasReport)
            throw Error(ErrorCode::failed,
                        fmt::format("the run on {0} was killed: {0} has too little memory, was restarted, or "
                                    "somebody ended it. Give the same command again to start it anew",
                                    m_machine.host()));
        return out;
    }

private:
    /// Whether the host has the run: "", "running" or "ended".
    std::string probe() {
        std::istringstream lines(m_machine.runOnSameVersion(
            fmt::format("command -v rsync >/dev/null && echo rsync || echo scp\n"
                        "command -v mpirun || echo\n"
                        "cd {0} 2>/dev/null || exit 0\n"
                        "if [ -f exit ]; then echo ended\n"
                        "elif [ -f pid ] && ! kill -0 $(cat pid) 2>/dev/null; then rm -rf pid started\n"
                        "elif [ -f pid ] || [ -d started ]; then echo running; fi",
                        shellWord(m_folder))));
        std::string copier;
        std::string launcher;
        std::string state;
        std::getline(lines, copier);
        std::getline(lines, launcher);
        std::getline(lines, state);
        if (m_run.ranks > 1 && launcher.empty())
            throw Error(ErrorCode::missingDevice,
                        fmt::format("{} has no mpirun, which starts several ranks: install Open MPI or MPICH "
                                    "there",
                                    m_machine.host()));
        m_hasRsync = copier == "rsync" && isOnPath("rsync");
        return state;
    }

    void remove() const { m_machine.run("rm -rf " + shellWord(m_folder)); }

    void copy() {
        std::set<std::string> folders;
        for (const std::string& file : m_files.read) folders.insert(fs::path(file).parent_path().string());
        std::string make;
        for (const std::string& folder : folders)
            make += fmt::format("mkdir -p {} && ", shellWord(there(folder)));
        m_machine.run(make + "true");
        const std::string base = m_project.parent_path().string();
        if (m_hasRsync) {
            std::string list;
            for (const std::string& file : m_files.read) list += file + '\n';
            // Of a symbolic link, the file is copied.
            check({"rsync", "-aL", "--files-from=-", "-e", fmt::format("{}", fmt::join(m_machine.ssh(), " ")),
                   base + "/", m_machine.host() + ":" + there("") + "/"},
                  list, Patience::mayEnd);
            return;
        }
        for (const std::string& folder : folders) {
            std::vector<std::string> arguments = scp();
            for (const std::string& file : m_files.read)
                if (fs::path(file).parent_path().string() == folder)
                    arguments.push_back((fs::path(base) / file).string());
            arguments.push_back(m_machine.host() + ":" + there(folder) + "/");
            check(arguments, {}, Patience::mayEnd);
        }
    }

    /// Copies the files that Save nodes have written here.
    void fetchWritten() const {
        if (m_files.written.empty()) return;
        std::string list;
        for (const std::string& file : m_files.written) list += shellWord(file) + " ";
        // A run that has failed may not have written all. Files that were copied there before it stay there.
        const std::string found = m_machine.run(fmt::format(
            "cd {} && r=../started && {{ [ -e $r ] || r=../pid; }} && find {} -newer $r -print 2>/dev/null",
            shellWord(there("")), list));
        std::istringstream lines(found);
        for (std::string file; std::getline(lines, file);) {
            if (!m_files.written.contains(file)) continue; // the other machine names no other file here
            const fs::path to = m_results / file;
            std::error_code ignored; // said by the copy
            fs::create_directories(to.parent_path(), ignored);
            std::vector<std::string> arguments = scp();
            if (m_hasRsync)
                arguments = {"rsync", "-aL", "-e", fmt::format("{}", fmt::join(m_machine.ssh(), " "))};
            arguments.push_back(m_machine.host() + ":" + there("") + "/" + file);
            arguments.push_back(to.string());
            check(arguments, {}, Patience::toTheEnd);
        }
    }

    std::vector<std::string> scp() const {
        std::vector<std::string> out = m_machine.ssh();
        out[0] = fs::path(out[0]).replace_filename("scp").string();
        out.emplace_back("-q");
        return out;
    }

    /// Runs rsync or scp. Throws Error if it fails.
    void check(const std::vector<std::string>& arguments, std::string_view input, Patience patience) const {
        RemoteCommand command(arguments, input, true);
        m_machine.outputOf(command, patience);
        if (const int exit = command.wait(); exit != 0)
            throw Error(ErrorCode::missingDevice,
                        fmt::format("{} cannot copy the files of {} between this machine and {}: it ended "
                                    "with exit code {}",
                                    fs::path(arguments[0]).filename().string(), m_project.filename().string(),
                                    m_machine.host(), exit));
    }

    std::string there(const std::string& folder) const {
        return folder.empty() ? m_folder + "/project" : m_folder + "/project/" + folder;
    }

    /// Starts the run in a session of its own, which the end of the connection does not touch. A connection
    /// whose `twb` here was killed may still start it; the folder `started` lets only one of them do so.
    void start() const {
        std::string call = m_run.ranks > 1 ? fmt::format("mpirun -n {} ", m_run.ranks) : std::string();
        call += shellWord(m_machine.program()) + " run";
        for (const std::string& argument : m_run.arguments) call += " " + shellWord(argument);
        call += " --report ../report.json";
        if (!m_run.trace.empty()) call += " --trace ../trace.json";
        if (m_run.hasEvents) call += " --events ../events";
        call += " -- " + shellWord(m_project.filename().string());
        const std::string body = fmt::format(
            "cd project; {} > ../out 2> ../err < /dev/null; echo $? > ../exit.new; mv ../exit.new ../exit",
            call);
        try {
            m_machine.run(
                fmt::format("cd {} && mkdir started 2>/dev/null || exit 0\n: > out; : > err; : > events\n"
                            "nohup setsid sh -c {} > /dev/null 2>&1 < /dev/null &\n"
                            "echo $! > pid.new; mv pid.new pid",
                            shellWord(m_folder), shellWord(body)));
        } catch (const Error&) {
            throw Error(ErrorCode::failed,
                        fmt::format("the connection to {} was lost while the run was started there. Give the "
                                    "same command again: it continues with the run, or starts it",
                                    m_machine.host()));
        }
    }

    /// Shows what the run prints, or passes its events on, until it ends. Returns its exit code, or
    /// RemoteCommand::kLost.
    int follow() {
        const std::string show = m_run.hasEvents ? "tail -c +1 -f -s 0.1 --pid=$p events"
                                                 : "tail -n +1 -f -s 0.2 --pid=$p err >&2 &\n"
                                                   "tail -n +1 -f -s 0.2 --pid=$p out\nwait";
        // Another connection may be about to start the run.
        const std::string script =
            fmt::format("cd {} || exit 1\ni=0\n"
                        "while ! [ -f pid ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done\n"
                        "p=$(cat pid 2>/dev/null) || exit {}\n{}\n"
                        "e=$(cat exit 2>/dev/null || echo {})\n"
                        "[ $e != {} ] || e=1\n" // of a launcher; ssh has this exit code, too
                        "exit $e\n",
                        shellWord(m_folder), kKilled, show, kKilled, RemoteCommand::kLost);
        RemoteCommand command(m_machine.shell(), script, m_run.hasEvents);
        bool isOpen = m_run.hasEvents;
        bool isTold = false; // to stop
        std::chrono::steady_clock::time_point nextCall;
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
                m_isStopped = true;
                isTold = false; // a second wish ends the run at once, as a second Ctrl-C does
                break;
            case RemoteWish::leave:
                throw Error(ErrorCode::cancelled,
                            fmt::format("left the run on {}, which goes on", m_machine.host()));
            case RemoteWish::goOn:
                break;
            }
            if (m_isStopped && !isTold && std::chrono::steady_clock::now() >= nextCall) {
                isTold = tellToStop();
                nextCall = std::chrono::steady_clock::now() + kBetweenCalls;
            }
        }
    }

    /// False if the session of the run does not exist yet or any more.
    bool tellToStop() const {
        try {
            // The shell of a background process ignores SIGINT; the run does not.
            return !m_machine
                        .run(fmt::format("kill -INT -$(cat {}/pid 2>/dev/null) 2>/dev/null && echo told",
                                         shellWord(m_folder)))
                        .empty();
        } catch (const Error&) {
            throw LostConnection(m_machine.host()); // the run was not stopped
        }
    }

    /// Copies a file of the run here, unless `to` is empty. False if the run, which has failed, has none.
    bool fetch(const char* name, const std::string& to) const {
        std::string text = m_machine.run(fmt::format("cat {}/{} 2>/dev/null", shellWord(m_folder), name));
        if (text.empty() || to.empty()) return !text.empty();
        auto json = nlohmann::ordered_json::parse(text, nullptr, false);
        if (json.is_object() && json.contains("schema")) {
            json["host"] = m_machine.host();
            text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
        }
        writeFileAtomically(to, text);
        return true;
    }

    const RemoteRun& m_run;
    RemoteObserver& m_observer;
    const RemoteMachine m_machine;
    const fs::path m_project;
    const fs::path m_results;
    const RunFiles m_files;
    std::string m_folder; ///< of the run on the host
    bool m_hasRsync = false;
    bool m_isStopped = false; ///< by the user
};

} // namespace

LostConnection::LostConnection(const std::string& host)
    : Error(ErrorCode::failed, fmt::format("the connection to {} was lost; the run goes on there. Give the "
                                           "same command again to see its end and to fetch its report",
                                           host)),
      m_host(host) {}

std::string remoteHost(const std::string& on) {
    constexpr std::string_view scheme = "ssh:";
    const std::string rest = on.starts_with(scheme) ? on.substr(scheme.size()) : std::string();
    const auto colon = rest.find(':');
    std::string host = rest.substr(0, colon);
    // A dash would be an option of ssh.
    if (host.empty() || host.starts_with('-') || (colon != std::string::npos && colon + 1 == rest.size()))
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} is not a machine: write ssh:HOST or ssh:HOST:PATH, with a HOST that ssh "
                                "knows",
                                on));
    return host;
}

RemoteEnd runRemotely(const RemoteRun& run, RemoteObserver& observer) { return Session(run, observer).go(); }

} // namespace twb
