#include "app/ranks.h"

#include "app/placement_options.h"
#include "app/terminal.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// Between the end of a failed job's ranks on the machine of mpirun and the end of mpirun.
constexpr std::chrono::seconds kLauncherGrace(5);

constexpr std::size_t kLongest = 4096; ///< sentence between a rank and its watch, in bytes

} // namespace

void RankOptions::addTo(CLI::App& command) {
    command
        .add_option("--world", world,
                    "Simulate this many ranks on a link and predict the time of their communication: "
                    "simulated:4:nvlink, simulated:8:pcie, simulated:16:25gbe or, by latency and bandwidth, "
                    "simulated:4:30us,2.9GB/s; default: the ranks that mpirun, mpiexec or srun has started")
        ->type_name("WORLD");
    command
        .add_option("--rank-logs", logs,
                    "Folder for the messages of all ranks but 0; default: the project's name with .ranks")
        ->type_name("DIR");
}

/// In memory that a rank and its watch share.
struct Ranks::Shared {
    std::atomic<bool> hasEnded{false};   ///< in order, or with an error that has been printed
    std::atomic<bool> hasFolders{false}; ///< `folders` is valid
    std::atomic<bool> hasMet{false};     ///< and so are `isSpread` and `hasFirst`
    std::atomic<pid_t> process{0};       ///< of the rank
    JobFolders folders;
    bool isSpread = false; ///< the job has ranks on other machines
    bool hasFirst = false; ///< rank 0 is on this machine
    bool hasSaid = false;  ///< in the watch: it was the first on this machine to say why the job has failed
};

Ranks::Ranks(const RankOptions& options, const fs::path& file,
             std::function<void(const std::string& sentence)> writeFailure)
    : m_launcher(launcher()), m_writeFailure(std::move(writeFailure)), m_world(aloneWorld()) {
    if (!options.world.empty()) {
        m_world = simulatedWorld(options.world);
        return;
    }
    if (m_launcher.name.empty()) return;
    MpiOptions mpi;
    mpi.stallSeconds = stallSecondsOf(std::getenv("TWB_STALL_SECONDS"));
    mpi.listener = this;
    if (m_launcher.name == "mpirun of Open MPI" && m_parent.descriptor() < 0)
        mpi.advice =
            ". If mpirun has not ended in 10 s, press Ctrl-C: it waits for a machine that cannot be reached";
    mpi.figures = [this] { return figures(); };
    if (m_launcher.rank == 0) // only rank 0 shows the others
        mpi.heard = [this](int rank, std::string_view node, const RankFigures& figures) {
            heard(rank, node, figures);
        };
    m_stderr = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    std::optional<Error> noLog;
    m_logs = fs::absolute(options.logs.empty() ? fs::path(file).replace_extension(".ranks")
                                               : fs::path(options.logs));
    if (m_launcher.rank != 0) {
        try {
            keepLog(m_logs);
        } catch (const Error& error) {
            noLog = error;
        }
    }
    shareMachine(m_launcher);
    startWatch();
    ::signal(SIGPIPE, SIG_IGN); // to MPI, a write to the connection of a lost rank is an error
    try {
        m_world = openMpiWorld(m_launcher, mpi);
        meet();
    } catch (...) {
        m_shared->hasEnded = true; // the error is printed
        m_world = aloneWorld();
        throw;
    }
    // MPI starts on all ranks or on none: without this one, the others would wait for ever. So the job ends
    // after all have met.
    if (noLog) {
        end(*noLog);
        m_world = aloneWorld(); // does not return, since the job has failed
        throw *noLog;
    }
}

Ranks::~Ranks() {
    if (!m_shared) return;
    m_shared->hasEnded = true;
    m_world.reset(); // does not return if the job has failed
    for (const int file : {m_stderr, m_watch}) ::close(file);
    for (const RankPulse* one : m_here)
        if (one) ::munmap(const_cast<RankPulse*>(one), sizeof(RankPulse));
    if (m_pulse) ::munmap(m_pulse, sizeof(RankPulse));
    ::munmap(m_shared, sizeof(Shared));
}

/// Sends the output of a rank other than 0 to its log.
void Ranks::keepLog(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    const fs::path log = folder / fmt::format("rank{}.log", m_launcher.rank);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        throw Error(ErrorCode::io,
                    fmt::format("cannot write {}, the log of rank {}: {}; name another folder with "
                                "--rank-logs",
                                log.string(), m_launcher.rank, std::strerror(errno)));
    std::fflush(stdout);
    std::fflush(stderr);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
}

/// Divides this process into three. The launcher knows the first one, which only waits: it ends after the
/// watch. So the launcher learns of a lost rank, and ends the other ranks, after the watch has told which
/// rank was lost. The rank is a child of the first process, in the same group, so it gets the launcher's
/// signals. Returns in the rank.
void Ranks::startWatch() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status[2] = {-1, -1};  // from the first process to the watch: how the rank has ended
    int reasons[2] = {-1, -1}; // between the rank and the watch: see failed()
    if (memory == MAP_FAILED || ::pipe2(status, O_CLOEXEC) != 0 ||
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, reasons) != 0)
        throw Error(ErrorCode::failed,
                    fmt::format("cannot watch rank {}: {}", m_launcher.rank, std::strerror(errno)));
    m_shared = new (memory) Shared;
    const pid_t first = ::getpid();
    const pid_t watcher = ::fork();
    if (watcher == 0) watch(status[0], reasons[1]);
    const pid_t rank = watcher > 0 ? ::fork() : -1;
    const int failure = errno;
    if (rank < 0) m_shared->hasEnded = true; // the error is printed
    ::close(status[0]);
    ::close(reasons[1]);
    if (rank > 0) {
        ::close(reasons[0]);
        awaitEnd(rank, watcher, status[1]);
    }
    ::close(status[1]);
    if (rank < 0)
        throw Error(ErrorCode::failed,
                    fmt::format("cannot watch rank {}: {}", m_launcher.rank, std::strerror(failure)));
    m_watch = reasons[0];
    m_shared->process = ::getpid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != first) ::raise(SIGKILL);
}

/// In the process that the launcher knows: ends as the rank has ended, after the watch.
void Ranks::awaitEnd(int rank, int watcher, int status) {
    ::prctl(PR_SET_NAME, "twb-watch-wait");
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
    const auto endOf = [](pid_t process) {
        int how = 0;
        while (::waitpid(process, &how, 0) < 0 && errno == EINTR) {
        }
        return how;
    };
    const int how = endOf(rank);
    writeAll(status, {reinterpret_cast<const char*>(&how), sizeof how});
    ::close(status);
    endOf(watcher);
    if (WIFSIGNALED(how)) {
        const rlimit noCore{0, 0}; // the rank's is enough
        ::setrlimit(RLIMIT_CORE, &noCore);
        ::signal(WTERMSIG(how), SIG_DFL);
        ::raise(WTERMSIG(how));
    }
    ::_exit(WEXITSTATUS(how));
}

/// Runs until the rank has ended.
void Ranks::watch(int status, int reasons) const {
    ::setsid(); // launchers end the group of a rank that they have started
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "twb-watch");
    // The other ends of the pipes, and what the launcher has opened for its ranks and waits for.
    std::array kept{m_stderr, status, reasons, m_parent.descriptor()};
    std::ranges::sort(kept);
    unsigned from = 0;
    for (const int one : kept) {
        if (one < 0) continue;
        if (static_cast<unsigned>(one) > from) ::close_range(from, static_cast<unsigned>(one) - 1, 0);
        from = static_cast<unsigned>(one) + 1;
    }
    ::close_range(from, ~0U, 0);
    try {
        tellReasons(status, reasons);
        int how = 0;
        // A launcher that ends its ranks signals the first process, too.
        const bool isKnown = ::read(status, &how, sizeof how) == sizeof how;
        const bool isTold = WIFEXITED(how) && WEXITSTATUS(how) == static_cast<int>(ExitCode::cancelled);
        // Ranks that have not met cannot see each other's reasons; the launcher has told this one.
        const bool isAnswer = !folders().hasHere() && (!isKnown || isTold);
        if (!m_shared->hasEnded && !isAnswer) {
            // MPI ends a rank with an exit code or abort() if the connection to another one is lost.
            const bool mayFollow = !isKnown || !WIFSIGNALED(how) || WTERMSIG(how) == SIGABRT;
            if (mayFollow) folders().awaitReason();
            const RankPulse* const pulse = folders().hasHere() ? open(m_launcher.rank) : nullptr;
            say(sentenceFor(pulse ? std::optional(pulse->node()) : std::nullopt), true);
        }
        // The launcher may end when it learns of the end of this rank, and the user then looks for the
        // report.
        if (m_shared->hasSaid && !m_shared->hasFirst) folders().awaitReport();
        folders().clear(m_launcher.rank, m_launcher.size, m_shared->hasFirst);
        if (m_shared->hasSaid && m_shared->isSpread) m_parent.endAfter(kLauncherGrace);
    } catch (const std::exception&) { // no memory: nothing is told
    }
    ::_exit(0);
}

/// Says what the rank sends, until it has ended. After the job has failed, the rank may hang in MPI, which
/// has lost the other side of a call; it is then killed.
void Ranks::tellReasons(int status, int reasons) const {
    constexpr int kLookMs = 500;
    constexpr int kGraceLooks = 4;
    int looks = 0;
    std::array<pollfd, 2> ends{{{status, POLLIN, 0}, {reasons, POLLIN, 0}}};
    std::array<char, kLongest> text{};
    for (;;) {
        const int ready = ::poll(ends.data(), ends.size(), kLookMs);
        if (ready < 0) continue;
        if (ready == 0) {
            if (!folders().isOver()) continue;
            if (++looks == kGraceLooks) ::kill(m_shared->process, SIGKILL);
            // The watch of a rank on another machine waits for the report.
            if (m_shared->hasFirst)
                if (const std::string reason = folders().reasonShared(); !reason.empty()) say(reason, false);
        } else if (ends[1].revents) {
            const ssize_t got = ::recv(reasons, text.data(), text.size(), 0);
            if (got > 0) {
                say({text.data(), static_cast<std::size_t>(got)}, false);
                ::send(reasons, "", 1, MSG_NOSIGNAL);
            } else {
                ends[1].fd = -1;
            }
        } else if (ends[0].revents) {
            return;
        }
    }
}

JobFolders Ranks::folders() const { return m_shared->hasFolders ? m_shared->folders : JobFolders(); }

/// What a rank of this machine shows; null if it is on another one.
const RankPulse* Ranks::open(int rank) const {
    if (!m_shared->folders.hasHere()) return nullptr;
    const int file = ::open(m_shared->folders.fileOf(rank).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory = ::mmap(nullptr, sizeof(RankPulse), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<const RankPulse*>(memory);
}

RankPulse* Ranks::pulse() const noexcept { return m_pulse; }

std::vector<LiveRank> Ranks::live() const {
    std::vector<LiveRank> out = liveRanks(m_here);
    const std::lock_guard lock(m_farMutex);
    for (std::size_t rank = 0; rank < m_far.size(); ++rank)
        if (!m_here[rank]) out[rank] = m_far[rank];
    return out;
}

RankFigures Ranks::figures() const noexcept {
    return m_shared->hasMet && m_pulse ? m_pulse->figures() : RankFigures();
}

void Ranks::heard(int rank, std::string_view node, const RankFigures& figures) {
    if (!m_shared->hasMet || m_here.empty() || m_here[static_cast<std::size_t>(rank)]) return;
    const std::lock_guard lock(m_farMutex);
    m_far.resize(m_here.size());
    m_far[static_cast<std::size_t>(rank)] = liveRank(node, figures);
}

/// Says why the job ends, unless another rank has said so before. `isSeen`: the watch has seen the end of
/// this rank, which may be the launcher's answer to the end of another one.
void Ranks::say(const std::string& sentence, bool isSeen) const {
    const bool isDoubtful = isSeen && m_shared->isSpread;
    const JobFolders::Turn turn =
        folders().claim(sentence, isDoubtful ? "; a rank on another machine may have ended before it" : "");
    if (!turn.isFirstHere) return;
    m_shared->hasSaid = true;
    if (turn.isSaid) return;
    writeAll(m_stderr, "twb: " + turn.reason + '\n');
    if (m_shared->hasMet && !m_shared->hasFirst) return; // the report is rank 0's, on its machine
    try {
        m_writeFailure(turn.reason);
    } catch (const std::exception& error) {
        writeAll(m_stderr, fmt::format("twb: {}\n", error.what()));
    }
    folders().setReported();
}

std::string Ranks::sentenceFor(const std::optional<std::string>& node) const {
    std::string out = fmt::format("rank {} of {} was killed or has ended early (process {})", m_launcher.rank,
                                  m_launcher.size, m_shared->process.load());
    if (!node) return out;
    return out +
           (node->empty() ? "; it was not in a step" : fmt::format("; its last step was \"{}\"", *node));
}

/// Agrees on a folder of the job, in which the ranks of one machine say that it has failed.
void Ranks::meet() {
    const World::Info& info = m_world->info();
    JobFolders::Path folder{};
    if (info.rank == 0) folder = JobFolders::makeHere();
    m_world->run({CollectiveKind::broadcast, Reduction::sum, DType::u8, folder.data(), folder.data(),
                  static_cast<std::int64_t>(folder.size()), 0, "job"});
    m_shared->isSpread = info.localSize < info.size;
    // The ranks of other machines have written their logs by now.
    const std::string shared = m_shared->isSpread ? JobFolders::besideLogs(m_logs, folder) : std::string();
    std::error_code ignored; // without a folder, messages may be said more than once
    if (folder[0] && info.localRank == 0) fs::create_directories(folder.data(), ignored);
    if (!shared.empty() && info.rank == 0) fs::create_directory(shared, ignored);
    Collective barrier;
    barrier.label = "job";
    m_world->run(barrier);
    if (!shared.empty() && fs::is_directory(shared, ignored)) m_shared->folders.setShared(shared);
    if (fs::is_directory(folder.data(), ignored)) {
        m_shared->folders.setHere(folder);
        publish();
    }
    m_shared->hasFolders = true;
    m_world->run(barrier);
    if (folder[0])
        for (int rank = 0; rank < m_world->size(); ++rank) m_here.push_back(open(rank));
    m_shared->hasFirst = m_here.empty() || m_here[0];
    m_shared->hasMet = true;
}

/// Makes the file by which the other processes of this machine see this rank.
void Ranks::publish() {
    const int file = ::open(m_shared->folders.fileOf(m_world->rank()).c_str(),
                            O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && ::ftruncate(file, sizeof(RankPulse)) == 0) {
        void* const memory = ::mmap(nullptr, sizeof(RankPulse), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory != MAP_FAILED) m_pulse = new (memory) RankPulse;
    }
    if (file >= 0) ::close(file);
}

ExitCode Ranks::end(const Error& error) {
    if (isAlone() || m_world->info().simulated) throw error;
    const ExitCode exit = exitCodeOf(error.code());
    m_world->abort(fmt::format("rank {} failed: {}", m_world->rank(), error.what()), static_cast<int>(exit));
    return exit;
}

ExitCode Ranks::endTogether(const Error& error) {
    printMessage(error.what());
    // The launcher ends the other ranks when the first one ends, also rank 0, whose sentence the user reads.
    Collective barrier;
    barrier.label = "end";
    m_world->run(barrier);
    return exitCodeOf(error.code());
}

void Ranks::active(const RankActivity& activity) noexcept {
    if (activity.isRunning && !activity.node.empty() && m_pulse) m_pulse->setNode(activity.node);
}

std::string Ranks::whyFailed() const {
    // The first reason of all machines; this rank may have found another one.
    const std::string said = m_shared ? folders().reasonHere() : std::string();
    return said.empty() ? m_world->abortSentence() : said;
}

std::string Ranks::whyOver() { return folders().reasonHere(); }

/// The launcher may kill this process at any time, but not its watch.
void Ranks::failed(const std::string& sentence) noexcept {
    char told = 0;
    const std::size_t length = std::min(sentence.size(), kLongest);
    if (::send(m_watch, sentence.data(), length, MSG_NOSIGNAL) < 0 || ::recv(m_watch, &told, 1, 0) <= 0)
        say(sentence, false);
}

} // namespace twb
