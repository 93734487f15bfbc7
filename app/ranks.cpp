#include "app/ranks.h"

#include "app/placement_options.h"
#include "core/error.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFailed = "failed"; ///< the file in the job's folder that holds the reason

template <std::size_t N> void put(std::array<char, N>& to, std::string_view text) {
    const std::size_t length = std::min(text.size(), N - 1);
    std::memcpy(to.data(), text.data(), length);
    to[length] = 0;
}

void writeAll(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string contentOf(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The text that the first process of all machines has written to this file: `text`, if it is this one.
/// Nothing if the file cannot be written.
std::optional<std::string> firstText(const fs::path& path, const std::string& text) {
    std::string own = path.string() + "-XXXXXX";
    const int file = ::mkostemp(own.data(), O_CLOEXEC);
    if (file < 0) return std::nullopt;
    writeAll(file, text);
    ::close(file);
    const bool isThere = ::link(own.c_str(), path.c_str()) == 0 || errno == EEXIST; // atomic, also on NFS
    ::unlink(own.c_str());
    return isThere ? std::optional(contentOf(path)) : std::nullopt;
}

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

/// In memory that a rank and its own watch share.
struct Ranks::Shared {
    std::atomic<bool> hasEnded{false}; ///< in order, or with an error that has been said
    std::atomic<bool> hasMet{false};   ///< `folder` is valid, and has the files of all ranks of this machine
    std::array<char, 512> folder{};    ///< of the job, on this machine
    std::array<char, 512> reason{};    ///< if the job has ranks on other machines: beside the logs, the file
                                       ///< with the reason for which the job has failed
    bool hasFirst = false;             ///< rank 0 is on this machine; valid once `hasMet` is set
};

/// In a file of the job's folder: what a rank shares with the watches of all ranks of its machine.
struct Ranks::Public {
    std::atomic<bool> hasEnded{false};
    pid_t process = 0;
    RankPulse pulse;
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
    mpi.figures = [this] { return figures(); };
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
    const std::string folder = m_shared->folder.data();
    const bool isLast = m_world->info().localRank == 0;
    m_shared->hasEnded = true;
    if (m_public) m_public->hasEnded = true;
    m_world.reset(); // does not return if the job has failed
    std::error_code ignored;
    if (isLast && !folder.empty()) fs::remove_all(folder, ignored);
    for (const int file : {m_stderr, m_life})
        if (file >= 0) ::close(file);
    for (const Public* one : m_here)
        if (one) ::munmap(const_cast<Public*>(one), sizeof(Public));
    if (m_public) ::munmap(m_public, sizeof(Public));
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

/// Starts the process that outlives this one, if only for a moment.
void Ranks::startWatch() {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2] = {-1, -1};
    if (memory == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0)
        throw Error(ErrorCode::failed,
                    fmt::format("cannot watch rank {}: {}", m_launcher.rank, std::strerror(errno)));
    m_shared = new (memory) Shared;
    const pid_t child = ::fork();
    if (child < 0)
        throw Error(ErrorCode::failed,
                    fmt::format("cannot watch rank {}: {}", m_launcher.rank, std::strerror(errno)));
    if (child > 0) {
        ::close(ends[0]); // the other end stays open as long as this process lives
        return;
    }
    ::setsid(); // launchers end the group of a rank that they have started
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "twb-watch");
    // A launcher waits for the end of what it has opened for its ranks.
    const int first = std::min(m_stderr, ends[0]);
    const int second = std::max(m_stderr, ends[0]);
    ::close_range(0, static_cast<unsigned>(first - 1), 0);
    if (second - first > 1)
        ::close_range(static_cast<unsigned>(first + 1), static_cast<unsigned>(second - 1), 0);
    ::close_range(static_cast<unsigned>(second + 1), ~0U, 0);
    try {
        watch(ends[0]);
    } catch (const std::exception&) { // no memory: the rank is not watched
    }
    ::_exit(0);
}

/// A rank of this machine, seen from a watch.
struct Ranks::Watched {
    int rank = 0;
    int life = -1; ///< a FIFO that hangs up when the rank ends
    const Public* shared = nullptr;
};

std::vector<Ranks::Watched> Ranks::ranksHere() const {
    std::vector<Watched> out;
    const fs::path folder = m_shared->folder.data();
    for (int rank = 0; rank < m_launcher.size; ++rank) {
        const int life =
            ::open((folder / fmt::format("rank{}.life", rank)).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (life < 0) continue; // on another machine
        if (const Public* shared = open(rank))
            out.push_back({rank, life, shared});
        else
            ::close(life);
    }
    return out;
}

/// What a rank of this machine shows; null if it is on another one.
const Ranks::Public* Ranks::open(int rank) const {
    const fs::path name = fs::path(m_shared->folder.data()) / fmt::format("rank{}", rank);
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory = ::mmap(nullptr, sizeof(Public), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<const Public*>(memory);
}

RankPulse* Ranks::pulse() const noexcept { return m_public ? &m_public->pulse : nullptr; }

std::vector<LiveRank> Ranks::live() const {
    std::vector<const RankPulse*> pulses;
    const std::lock_guard lock(m_farMutex);
    for (std::size_t rank = 0; rank < m_here.size(); ++rank)
        pulses.push_back(m_here[rank]          ? &m_here[rank]->pulse
                         : rank < m_far.size() ? m_far[rank].get()
                                               : nullptr);
    return liveRanks(pulses);
}

RankFigures Ranks::figures() const noexcept {
    return m_shared->hasMet && m_public ? m_public->pulse.figures() : RankFigures();
}

void Ranks::heard(int rank, std::string_view node, const RankFigures& figures) {
    if (!m_shared->hasMet || m_here.empty() || m_here[static_cast<std::size_t>(rank)]) return;
    const std::lock_guard lock(m_farMutex);
    m_far.resize(m_here.size());
    std::unique_ptr<RankPulse>& pulse = m_far[static_cast<std::size_t>(rank)];
    if (!pulse) pulse = std::make_unique<RankPulse>();
    pulse->show(node, figures);
}

/// Runs in the watch until its rank has ended. All watches of a machine look at all of its ranks: a launcher
/// kills the others when one has ended, so the watch that sees a single end knows which rank was the first.
void Ranks::watch(int own) const {
    constexpr int kMeetMs = 20;
    constexpr int kOthersMs = 150;
    std::vector<Watched> ranks;
    bool hasMet = false;
    for (;;) {
        std::vector<pollfd> ends{{own, 0, 0}};
        for (const Watched& one : ranks) ends.push_back({one.life, 0, 0});
        if (::poll(ends.data(), ends.size(), hasMet ? -1 : kMeetMs) < 0) continue;
        if (!hasMet && m_shared->hasMet) {
            hasMet = true;
            ranks = ranksHere();
            if (!ranks.empty()) continue;
        }
        const bool isOwnEnd = (ends[0].revents & POLLHUP) != 0;
        std::vector<Watched> ended;
        for (std::size_t i = ranks.size(); i-- > 0;) {
            if ((ends[i + 1].revents & POLLHUP) == 0) continue;
            if (!ranks[i].shared->hasEnded) ended.push_back(ranks[i]);
            ::close(ranks[i].life);
            ranks.erase(ranks.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (ended.size() > 1) ::usleep(kOthersMs * 1000); // another watch may have seen more
        // The watches of other machines may have seen a rank that ended before these.
        if (!ended.empty() && ranks.empty() && m_shared->reason[0]) ::usleep(2 * kOthersMs * 1000);
        if (!ended.empty())
            say(sentenceFor(ended[0].rank, ended[0].shared->process, ended[0].shared->pulse.node()), true);
        else if (isOwnEnd && !m_shared->hasMet && !m_shared->hasEnded)
            say(sentenceFor(m_launcher.rank, 0, ""), true);
        if (!isOwnEnd) continue;
        if (m_launcher.localRank == 0) clearUp(ranks);
        return;
    }
}

/// Removes the files of a job that has failed, after its ranks and watches on this machine have ended.
void Ranks::clearUp(const std::vector<Watched>& ranks) const {
    const fs::path folder = m_shared->folder.data();
    std::error_code failed;
    if (folder.empty() || !fs::exists(folder / kFailed, failed)) return;
    ::close(m_stderr); // the launcher waits for its end
    constexpr int kLookMs = 100;
    for (const Watched& one : ranks) {
        pollfd end{one.life, 0, 0};
        // A FIFO does not hang up if its rank ended before this process opened it.
        while (::poll(&end, 1, kLookMs) <= 0 && ::kill(one.shared->process, 0) == 0) {
        }
    }
    // The other watches read the reason. A launcher may need some seconds for the ranks of other machines.
    const bool isShared = m_shared->reason[0] && m_shared->hasFirst;
    ::usleep((isShared ? 5 : 1) * 1'000'000);
    fs::remove_all(folder, failed);
    if (isShared) fs::remove(m_shared->reason.data(), failed);
}

/// Says why the job ends, unless another rank of this machine has said so before. `isSeen`: a watch has seen
/// the end of a rank, which may be the launcher's answer to the end of another one.
void Ranks::say(const std::string& sentence, bool isSeen) const {
    std::string reason = sentence;
    if (const char* const file = m_shared->reason.data(); file[0]) {
        if (const auto first = firstText(file, sentence))
            reason = *first;
        else if (isSeen)
            reason += "; a rank on another machine may have ended before it";
    }
    if (const char* const folder = m_shared->folder.data(); folder[0]) {
        const int file =
            ::open((fs::path(folder) / kFailed).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0) return;
        writeAll(file, reason);
        ::close(file);
    }
    writeAll(m_stderr, "twb: " + reason + '\n');
    if (m_shared->hasMet && !m_shared->hasFirst) return; // the report is rank 0's, on its machine
    try {
        m_writeFailure(reason);
    } catch (const std::exception& error) {
        writeAll(m_stderr, fmt::format("twb: {}\n", error.what()));
    }
}

std::string Ranks::sentenceFor(int rank, int process, const std::string& node) const {
    return fmt::format("rank {} of {} was killed or has ended early{}; {}", rank, m_launcher.size,
                       process > 0 ? fmt::format(" (process {})", process) : std::string(),
                       !node.empty() ? fmt::format("its last step was \"{}\"", node)
                                     : std::string("it was not in a step"));
}

/// Agrees on a folder of the job, in which the ranks of one machine say that it has failed.
void Ranks::meet() {
    std::array<char, sizeof m_shared->folder> folder{};
    if (m_world->rank() == 0) {
        const char* const chosen = std::getenv("TMPDIR");
        std::string name = (fs::path(chosen && *chosen ? chosen : "/tmp") / "twb-ranks-XXXXXX").string();
        if (name.size() < folder.size() && mkdtemp(name.data())) put(folder, name);
    }
    m_world->run({CollectiveKind::broadcast, Reduction::sum, DType::u8, folder.data(), folder.data(),
                  static_cast<std::int64_t>(folder.size()), 0, "job"});
    std::error_code ignored; // without a folder, messages may be said more than once
    if (folder[0] && m_world->info().localRank == 0) fs::create_directories(folder.data(), ignored);
    Collective barrier;
    barrier.label = "job";
    m_world->run(barrier);
    m_shared->folder = folder;
    if (folder[0]) publish(folder.data());
    const World::Info& info = m_world->info();
    const std::string reason = (m_logs / ('.' + fs::path(folder.data()).filename().string())).string();
    if (folder[0] && info.localSize < info.size && reason.size() < m_shared->reason.size())
        put(m_shared->reason, reason);
    m_world->run(barrier);
    if (folder[0])
        for (int rank = 0; rank < m_world->size(); ++rank) m_here.push_back(open(rank));
    m_shared->hasFirst = m_here.empty() || m_here[0];
    m_shared->hasMet = true;
}

/// Makes the files by which the watches of this machine see this rank.
void Ranks::publish(const fs::path& folder) {
    const fs::path name = folder / fmt::format("rank{}", m_world->rank());
    const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && ::ftruncate(file, sizeof(Public)) == 0) {
        void* const memory = ::mmap(nullptr, sizeof(Public), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory != MAP_FAILED) {
            m_public = new (memory) Public;
            m_public->process = ::getpid();
        }
    }
    if (file >= 0) ::close(file);
    const std::string life = name.string() + ".life";
    // Stays open until the process ends.
    if (m_public && ::mkfifo(life.c_str(), 0600) == 0) m_life = ::open(life.c_str(), O_RDWR | O_CLOEXEC);
}

ExitCode Ranks::end(const Error& error) {
    if (isAlone() || m_world->info().simulated) throw error;
    const ExitCode exit = exitCodeOf(error.code());
    m_world->abort(fmt::format("rank {} failed: {}", m_world->rank(), error.what()), static_cast<int>(exit));
    return exit;
}

void Ranks::active(const RankActivity& activity) noexcept {
    if (activity.isRunning && !activity.node.empty() && m_public) m_public->pulse.setNode(activity.node);
}

std::string Ranks::whyOver() {
    const char* folder = m_shared->folder.data();
    if (!folder[0]) return {};
    return contentOf(fs::path(folder) / kFailed);
}

void Ranks::failed(const std::string& sentence) noexcept { say(sentence, false); }

} // namespace twb
