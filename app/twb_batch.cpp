#include "app/batch_claims.h"
#include "app/batch_plan.h"
#include "app/batch_summary.h"
#include "app/child_process.h"
#include "app/commands.h"
#include "app/interrupts.h"
#include "app/junit.h"
#include "app/placed_graph.h"
#include "app/placement_options.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "backends/launcher.h"
#include "core/format.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "ops/plugins/plugins.h"
#include "ops/plugins/project_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <thread>

namespace twb {
namespace {

namespace fs = std::filesystem;

struct BatchOptions {
    std::vector<std::string> graphs;
    std::vector<std::string> sets;
    std::optional<std::int64_t> iterations;
    PlacementOptions placement;
    std::string report;
    bool allowOutside = false;
    bool trace = false;
    int jobs = 1;
    bool quiet = false;
    std::string junit;
};

/// A temporary folder for reports, removed at the end.
class ReportFolder {
public:
    explicit ReportFolder(const std::string& wanted) : m_path(wanted), m_kept(!wanted.empty()) {
        std::error_code failed;
        if (m_kept) {
            fs::create_directories(m_path, failed);
        } else {
            const char* const chosen = std::getenv("TMPDIR");
            std::string name = (fs::path(chosen && *chosen ? chosen : "/tmp") / "twb-batch-XXXXXX").string();
            if (!mkdtemp(name.data())) failed.assign(errno, std::generic_category());
            m_path = name;
        }
        if (failed || !fs::is_directory(m_path, failed))
            throw Error(
                ErrorCode::io,
                fmt::format("cannot create the folder {} for the reports: {}; name another one with {}",
                            m_path.string(), failed.message(),
                            m_kept ? "--report" : "--report or in TMPDIR"));
        if (m_kept && !mayHoldReports(m_path))
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("--report {}: this folder holds files that no earlier batch wrote; name "
                                    "an empty or new folder",
                                    m_path.string()));
    }
    ~ReportFolder() {
        std::error_code ignored;
        if (!m_kept) fs::remove_all(m_path, ignored);
    }
    ReportFolder(const ReportFolder&) = delete;
    ReportFolder& operator=(const ReportFolder&) = delete;

    const fs::path& path() const noexcept { return m_path; }
    bool isKept() const noexcept { return m_kept; }

private:
    fs::path m_path;
    bool m_kept;
};

/// The common arguments of all runs, which are part of their keys.
std::vector<std::string> commonArguments(const BatchOptions& options) {
    std::vector<std::string> out;
    const auto add = [&](std::string flag, std::string value) {
        out.push_back(std::move(flag));
        out.push_back(std::move(value));
    };
    if (options.iterations) add("--iterations", std::to_string(*options.iterations));
    if (!options.placement.policy.empty()) add("--policy", options.placement.policy);
    for (const std::string& choice : options.placement.deviceMap) add("--device-map", choice);
    if (options.placement.requireGpu) out.emplace_back("--require-gpu");
    if (options.allowOutside) out.emplace_back("--allow-outside");
    return out;
}

/// The options of this program before the command, for those of the runs.
std::vector<std::string> pluginOptions() {
    std::vector<std::string> out;
    if (arePluginsDisabled()) out.emplace_back("--no-plugins");
    if (areAllProjectsTrusted()) out.emplace_back("--project-ops");
    return out;
}

/// The last line of a run's stderr, without the program's name.
std::string lastLine(const fs::path& log) {
    try {
        std::string text = readFile(log, std::uint64_t{1} << 26);
        text.erase(text.find_last_not_of('\n') + 1);
        const auto newline = text.rfind('\n');
        std::string line = newline == std::string::npos ? text : text.substr(newline + 1);
        constexpr std::string_view prefix = "twb: ";
        return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
    } catch (const Error&) {
        return {};
    }
}

class Batch {
public:
    Batch(const BatchOptions& options, std::vector<SweepAxis> axes, const ReportFolder& folder)
        : m_options(options), m_axes(std::move(axes)), m_folder(folder), m_common(commonArguments(options)),
          m_program(thisProgram().string()) {
        const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
        const auto beside = static_cast<unsigned>(options.jobs * m_launcher.localSize);
        // Parallel runs must not use all cores each.
        if (beside > 1 && !std::getenv("OMP_NUM_THREADS"))
            m_environment.push_back(fmt::format("OMP_NUM_THREADS={}", std::max(1U, cores / beside)));
        if (m_launcher.size == 1) return;
        // Each run is a process of its own, not a rank.
        for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
            m_environment.push_back(fmt::format("{}=", variable));
        if (!folder.isKept())
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format(
                    "a batch on {} ranks needs --report DIR, a folder that all ranks share: there they "
                    "share out the runs",
                    m_launcher.size));
        m_claims.emplace(folder.path());
    }

    ExitCode run() {
        std::vector<std::string> keyed = m_common;
        keyed.emplace_back(TWB_VERSION);
        for (std::string& option : pluginOptions()) keyed.push_back(std::move(option));
        for (std::string& profile : m_options.placement.profiles()) keyed.push_back(std::move(profile));
        const bool isTelling = !m_options.quiet && m_launcher.rank == 0; // the runs are quiet
        std::vector<BatchMember> members =
            planBatch(collectGraphs(m_options.graphs), m_axes, keyed,
                      [&](const fs::path& file, const std::string& text) {
                          if (isTelling) tellOfModules(parseProject(text, file.string()), file.string());
                      });
        if (members.empty())
            throw Error(ErrorCode::io,
                        fmt::format("no .twb file found in {}; name a project, or a folder that contains one",
                                    fmt::join(m_options.graphs, ", ")));
        if (m_options.trace) makeFolderOfTraces();
        m_rows.resize(members.size());
        if (m_claims) return runWithOthers(members);
        for (std::size_t i = 0; i < members.size(); ++i) {
            std::optional<BatchRow> known;
            if (m_folder.isKept()) known = finishedRun(members[i]);
            if (known) {
                m_rows[i] = std::move(known);
                report(*m_rows[i]);
            } else {
                m_waiting.push_back(i);
            }
        }
        // Written at the start, so that the next batch recognises the folder even if this batch is killed.
        if (m_folder.isKept()) writeSummary(m_folder.path(), m_axes, known());
        std::reverse(m_waiting.begin(), m_waiting.end()); // taken from the back
        runWaiting(members);
        return finish();
    }

private:
    /// A rank that was killed may leave its file behind.
    fs::path written(const BatchMember& member) const {
        return m_folder.path() / (m_claims ? fmt::format("{}.rank{}.part", member.name, m_launcher.rank)
                                           : member.name + ".part");
    }
    fs::path traceFile(const BatchMember& member) const {
        return m_folder.path() / "traces" / (member.name + ".json");
    }
    void makeFolderOfTraces() const {
        const fs::path folder = m_folder.path() / "traces";
        std::error_code failed;
        fs::create_directories(folder, failed);
        if (failed)
            throw Error(ErrorCode::io, fmt::format("cannot create the folder {} for the traces: {}",
                                                   folder.string(), failed.message()));
    }
    /// A run of an earlier batch counts only if it has all files of this one.
    std::optional<BatchRow> finishedRun(const BatchMember& member) const {
        std::optional<BatchRow> row =
            findReport(m_folder.path(), member, m_claims ? m_claims->job() : std::string());
        std::error_code ignored;
        if (row && row->skipped && m_options.trace && !fs::exists(traceFile(member), ignored)) row.reset();
        return row;
    }
    fs::path log(const BatchMember& member) const { return m_folder.path() / (member.name + ".log"); }

    void start(std::size_t index, const BatchMember& member) {
        std::error_code ignored;
        fs::remove(traceFile(member), ignored); // of an earlier run
        std::vector<std::string> arguments{m_program};
        for (std::string& option : pluginOptions()) arguments.push_back(std::move(option));
        for (const char* argument : {"run", "--quiet", "--report"}) arguments.emplace_back(argument);
        arguments.push_back(written(member).string());
        if (m_options.trace) {
            arguments.emplace_back("--trace");
            arguments.push_back(traceFile(member).string());
        }
        arguments.insert(arguments.end(), m_common.begin(), m_common.end());
        for (std::size_t i = 0; i < m_axes.size(); ++i) {
            arguments.emplace_back("--set");
            arguments.push_back(m_axes[i].target + '=' + member.values[i]);
        }
        arguments.emplace_back("--"); // a file name may start with a dash
        arguments.push_back(member.file.string());
        m_running.emplace(index, ChildProcess(arguments, m_environment, log(member)));
    }

    /// Shares out the members among ranks: each takes one when it is free. Rank 0 prints and writes the
    /// summary.
    ExitCode runWithOthers(const std::vector<BatchMember>& members) {
        constexpr int kLookMs = 100; // for members that others have left or finished
        const bool isFirst = m_launcher.rank == 0;
        if (isFirst) writeSummary(m_folder.path(), m_axes, {});
        Interrupts interrupts;
        const auto isEnded = [&] { return known().size() == members.size(); };
        while (!m_running.empty() || (!m_cancelled && !isEnded())) {
            // Ranks begin at different members, so that they rarely want the same one.
            for (std::size_t k = 0; k < members.size() && !m_cancelled; ++k) {
                const std::size_t i = (k + members.size() * static_cast<std::size_t>(m_launcher.rank) /
                                               static_cast<std::size_t>(m_launcher.size)) %
                                      members.size();
                if (m_rows[i] || m_running.contains(i) || !m_claims->take(i)) continue;
                if (std::optional<BatchRow> row = finishedRun(members[i])) {
                    m_claims->release(i);
                    m_rows[i] = std::move(row);
                    if (isFirst) report(*m_rows[i]);
                } else if (m_running.size() < static_cast<std::size_t>(m_options.jobs)) {
                    start(i, members[i]);
                } else {
                    m_claims->release(i);
                    break; // others may be free
                }
            }
            serve(interrupts, members, m_cancelled ? kPatienceMs : kLookMs);
        }
        if (!isFirst) return m_cancelled ? ExitCode::cancelled : ExitCode::fine;
        // After a cancellation other ranks may still write theirs.
        if (isEnded()) removeParts(members);
        return finish();
    }

    void removeParts(const std::vector<BatchMember>& members) const {
        std::error_code ignored;
        for (const BatchMember& member : members)
            for (int rank = 0; rank < m_launcher.size; ++rank)
                fs::remove(m_folder.path() / fmt::format("{}.rank{}.part", member.name, rank), ignored);
    }

    void runWaiting(const std::vector<BatchMember>& members) {
        Interrupts interrupts;
        while (!m_running.empty() || (!m_waiting.empty() && !m_cancelled)) {
            while (!m_cancelled && !m_waiting.empty() &&
                   m_running.size() < static_cast<std::size_t>(m_options.jobs)) {
                start(m_waiting.back(), members[m_waiting.back()]);
                m_waiting.pop_back();
            }
            serve(interrupts, members, m_cancelled ? kPatienceMs : -1);
        }
    }

    /// Waits for an event and takes the results of the runs that have ended.
    void serve(Interrupts& interrupts, const std::vector<BatchMember>& members, int timeoutMs) {
        const auto event = interrupts.wait(timeoutMs);
        if (event == Interrupts::Event::interrupted) {
            cancel();
        } else if (event == Interrupts::Event::timeout && m_cancelled) {
            for (const auto& [index, process] : m_running) process.send(SIGKILL);
        }
        for (auto at = m_running.begin(); at != m_running.end();) {
            const auto ending = at->second.poll();
            if (ending && isTold(*ending)) awaitOwnSignal(interrupts);
            if (ending) end(at->first, members[at->first], *ending);
            at = ending ? m_running.erase(at) : std::next(at);
        }
    }

    void cancel() {
        m_cancelled = true;
        for (const auto& [index, process] : m_running) process.send(SIGTERM);
    }

    /// Whether a run has ended because it was asked to.
    static bool isTold(const ChildProcess::Ending& ending) {
        return ending.signal == SIGTERM || ending.signal == SIGINT ||
               (!ending.signal && ending.exitCode == static_cast<int>(ExitCode::cancelled));
    }

    /// A terminal and a launcher signal the processes of a job one after the other, so a run may end before
    /// this program knows that all shall.
    void awaitOwnSignal(Interrupts& interrupts) {
        using Clock = std::chrono::steady_clock;
        constexpr std::chrono::milliseconds patience(500);
        for (const auto end = Clock::now() + patience; !m_cancelled && Clock::now() < end;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
            if (interrupts.wait(static_cast<int>(left.count()) + 1) == Interrupts::Event::interrupted)
                cancel();
        }
        interrupts.post(); // other runs may have ended meanwhile
    }

    void end(std::size_t index, const BatchMember& member, const ChildProcess::Ending& ending) {
        BatchRow row;
        row.member = member;
        row.exitCode = ending.signal ? static_cast<int>(ExitCode::runFailed) : ending.exitCode;
        row.status = ending.signal ? "crashed" : ending.exitCode == 0 ? "finished" : "failed";
        std::error_code ignored;
        if (m_cancelled && (ending.signal || ending.exitCode == static_cast<int>(ExitCode::cancelled))) {
            fs::remove(written(member), ignored); // unfinished: the next batch runs it again
            fs::remove(log(member), ignored);
            if (m_claims) m_claims->release(index);
            return;
        }
        if (ending.exitCode != 0) row.message = lastLine(log(member));
        if (ending.signal)
            row.message = fmt::format("ended by signal {} ({})", ending.signal, strsignal(ending.signal));
        if (fs::file_size(log(member), ignored) == 0) fs::remove(log(member), ignored);
        m_rows[index] = takeReport(m_folder.path(), written(member), m_axes, std::move(row),
                                   m_claims ? m_claims->job() : std::string());
        if (m_claims) m_claims->release(index); // after its report is there
        if (m_launcher.rank == 0) report(*m_rows[index]);
    }

    void report(const BatchRow& row) {
        ++m_done;
        if (m_options.quiet) return;
        const std::string how = row.skipped           ? "finished earlier, skipped"
                                : row.message.empty() ? row.status
                                                      : row.status + ": " + row.message;
        printMessage(fmt::format("[{}/{}] {}: {}", m_done, m_rows.size(), row.member.name, how));
    }

    static std::vector<JunitCase> casesOf(const std::vector<BatchRow>& rows) {
        std::vector<JunitCase> out;
        for (const BatchRow& row : rows) {
            const bool fine = row.exitCode == 0;
            const std::string message = row.message.empty() ? row.status : row.message;
            out.push_back({row.member.name,
                           fine ? JunitCase::Outcome::passed : JunitCase::Outcome::failed,
                           fine ? "" : message,
                           {},
                           row.wallMs / 1e3});
        }
        return out;
    }

    std::vector<BatchRow> known() const {
        std::vector<BatchRow> rows;
        for (const auto& row : m_rows)
            if (row) rows.push_back(*row);
        return rows;
    }

    ExitCode finish() const {
        const std::vector<BatchRow> rows = known();
        int worst = 0;
        for (const BatchRow& row : rows) worst = std::max(worst, row.exitCode);
        if (m_folder.isKept()) writeSummary(m_folder.path(), m_axes, rows);
        if (!m_options.junit.empty()) writeJunit(m_options.junit, "batch", casesOf(rows));
        printResult(toTable(m_axes, rows));
        const auto skipped =
            std::count_if(rows.begin(), rows.end(), [](const BatchRow& r) { return r.skipped; });
        const auto failed =
            std::count_if(rows.begin(), rows.end(), [](const BatchRow& r) { return r.exitCode != 0; });
        printResult(fmt::format("{}: {} finished now, {} finished earlier, {} failed{}\n",
                                counted(m_rows.size(), "run"),
                                static_cast<std::ptrdiff_t>(rows.size()) - skipped - failed, skipped, failed,
                                m_cancelled ? fmt::format(", {} not run", m_rows.size() - rows.size()) : ""));
        if (!m_folder.isKept() && !m_options.quiet)
            printMessage("no reports are kept; use --report DIR to keep them and to resume the batch");
        return m_cancelled ? ExitCode::cancelled : static_cast<ExitCode>(worst);
    }

    static constexpr int kPatienceMs = 5000; ///< for runs that were told to end

    const BatchOptions& m_options;
    std::vector<SweepAxis> m_axes;
    const ReportFolder& m_folder;
    const Launcher m_launcher = launcher();
    std::optional<BatchClaims> m_claims; ///< on several ranks
    std::vector<std::string> m_common;
    std::vector<std::string> m_environment;
    std::string m_program;
    std::vector<std::optional<BatchRow>> m_rows; ///< by member; empty until it has ended
    std::vector<std::size_t> m_waiting;
    std::map<std::size_t, ChildProcess> m_running; ///< by member
    std::size_t m_done = 0;
    bool m_cancelled = false;
};

} // namespace

void addBatchCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<BatchOptions>();
    CLI::App* command = app.add_subcommand(
        "batch",
        "Run many graphs, or one graph over a sweep of values; with --report, finished runs are skipped");
    command->add_option("FILE", options->graphs, "Project files (.twb), or folders of project files")
        ->required();
    command
        ->add_option("--set", options->sets,
                     "Values to sweep over; commas within brackets do not split: x.shape=[2,3],[4,5]")
        ->type_name("NODE.ATTRIBUTE=A,B,C")
        ->take_all()
        ->allow_extra_args(false);
    addIterations(*command, options->iterations, "Iterations of each run; default: the file's");
    options->placement.addTo(*command, true);
    addAllowOutside(*command, options->allowOutside);
    CLI::Option* report = command->add_option(
        "--report", options->report,
        "Folder for a report per run, summary.json and summary.csv; a batch with the same DIR resumes");
    report->type_name("DIR");
    command
        ->add_flag("--trace", options->trace,
                   "Also write a Chrome trace of each run, for ui.perfetto.dev, to the folder traces in the "
                   "folder of --report")
        ->needs(report);
    command->add_option("--jobs", options->jobs, "Parallel runs; more than one disturbs measured times")
        ->check(wholeBetween(1, 1024))
        ->capture_default_str();
    addJunit(*command, options->junit);
    command->add_flag("--quiet", options->quiet, "Do not print a line per run");
    command->callback([options, &exit] {
        FileClaims claims;
        options->placement.claim(claims);
        for (const fs::path& graph : collectGraphs(options->graphs)) claims.read(graph, "FILE");
        if (!options->junit.empty()) claims.write(options->junit, "--junit");
        std::vector<SweepAxis> axes;
        for (const std::string& text : options->sets) axes.push_back(parseSweepAxis(text));
        const ReportFolder folder(options->report);
        exit = Batch(*options, std::move(axes), folder).run();
    });
}

} // namespace twb
