#include "backends/mpi_world.h"

#include "backends/cpu/host_stream.h"
#include "backends/mpi/mpi_table.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <sched.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kGraceNs = 3 * kSecond; ///< between the end of a world and that of its processes

[[noreturn]] void missing(const std::string& sentence) { throw Error(ErrorCode::missingDevice, sentence); }

fs::path pluginFor(const std::string& implementation) {
    if (implementation.find('/') != std::string::npos) return implementation;
    const std::string file = fmt::format("libtwb_mpi_{}.so", implementation);
    std::error_code failed;
    const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
    const fs::path beside = folder.parent_path() / "lib";
    for (const fs::path& place : {folder, beside, beside / "tensor-workbench"})
        if (fs::exists(place / file, failed)) return place / file;
    missing(
        fmt::format("there is no plugin for {}: there is no {} in {}, in {} or in {}; install the package "
                    "tensor-workbench-{}, or build the program where CMake finds {} (Debian's package {})",
                    implementation == "mpich" ? "MPICH" : "Open MPI", file, folder.string(), beside.string(),
                    (beside / "tensor-workbench").string(), implementation == "mpich" ? "mpich" : "openmpi",
                    implementation == "mpich" ? "mpicc.mpich" : "mpicc.openmpi",
                    implementation == "mpich" ? "libmpich-dev" : "libopenmpi-dev"));
}

const TwbMpiTable& load(const std::string& implementation) {
    const fs::path plugin = pluginFor(implementation);
    std::error_code failed;
    if (!fs::exists(plugin, failed))
        missing(fmt::format("MPI plugin not found: {} (TWB_MPI)", plugin.string()));
    // Components of Open MPI look for its symbols among the global ones. Never closed: MPI cannot be unloaded
    // safely.
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char* said = dlerror();
        const std::string_view reason = said ? said : "no reason is given";
        const auto colon = reason.find(": cannot open shared object file: No such file");
        if (colon != std::string_view::npos && reason.substr(0, colon) != plugin.string())
            missing(fmt::format(
                "the MPI plugin {} needs {}, which is not on this machine: install the MPI library "
                "with whose launcher you start twb, or name its folder in LD_LIBRARY_PATH",
                plugin.string(), reason.substr(0, colon)));
        missing(fmt::format("the MPI plugin {} cannot be loaded: {}", plugin.string(), reason));
    }
    const auto table = reinterpret_cast<TwbMpiTableFunction>(dlsym(library, "twb_mpi_table"));
    if (!table) missing(fmt::format("{} is not an MPI plugin of Tensor Workbench", plugin.string()));
    if (table()->version != kTwbMpiVersion)
        missing(
            fmt::format("the MPI plugin {} has version {} of the interface, this program version {}: install "
                        "both from the same build",
                        plugin.string(), table()->version, kTwbMpiVersion));
    return *table();
}

/// What a rank tells the others about itself a few times a second.
struct Beat {
    std::uint64_t progress = 0;
    std::uint64_t calls = 0;   ///< of all ranks, that it has begun
    std::int64_t exitCode = 0; ///< with a sentence: of the job
    std::int32_t isRunning = 0;
    std::int32_t isLeaving = 0;   ///< it has made all its calls
    std::uint64_t iterations = 0; ///< and below: RankFigures
    double iterationNs = 0;
    double rows = 0;
    std::int32_t isModelled = 0;
    std::array<char, 160> node{};     ///< the step in which it is, or was last
    std::array<char, 292> sentence{}; ///< why the rank has ended the world, or ""
};
static_assert(sizeof(Beat) == kTwbMpiBeatBytes);

template <std::size_t N> void write(std::array<char, N>& to, std::string_view text) {
    to = {};
    std::memcpy(to.data(), text.data(), std::min(text.size(), N - 1));
}

/// How long another rank has given no sign.
struct Silence {
    std::int64_t since = 0;
    bool isExcused = false; ///< it began anew because this rank was not able to listen

    void end(std::int64_t now) { *this = {now, false}; }
    /// Only once: on a busy machine, this rank may be late again and again.
    void excuse(std::int64_t now) {
        if (!isExcused) *this = {now, true};
    }
};

/// What this rank knows of another one.
struct Other {
    Beat last;
    Silence heard; ///< since its last message
    Silence moved; ///< since it last made progress
};

class MpiWorld final : public World {
public:
    MpiWorld(const TwbMpiTable& table, const MpiOptions& options)
        : World(Info{}), m_table(table), m_stallNs(static_cast<std::int64_t>(options.stallSeconds * 1e9)),
          m_beatNs(std::clamp<std::int64_t>(m_stallNs / 10, 50'000'000, kSecond)), m_advice(options.advice),
          m_figures(options.figures), m_heard(options.heard) {
        setListener(options.listener);
        onThread([this] {
            if (const char* sentence = m_table.open())
                throw Error(ErrorCode::missingDevice, fmt::format("MPI cannot be used: {}", sentence));
            Info info;
            m_table.place(&info.rank, &info.size, &info.localRank, &info.localSize);
            info.name = fmt::format("{} {}", m_table.name, m_table.libraryVersion());
            m_others.resize(static_cast<std::size_t>(info.size));
            for (Other& other : m_others) {
                other.heard.end(steadyNs());
                other.moved.end(steadyNs());
            }
            setInfo(std::move(info));
            m_isOpen = true;
        });
        alignClocks();
    }

    ~MpiWorld() override {
        try {
            onThread([this] { leave(); });
        } catch (const std::exception&) { // leave() ends the process if it cannot close MPI
        }
        stopThread();
        setListener(nullptr);
    }

protected:
    void perform(const Collective& call) override {
        // MPI has one buffer for a broadcast.
        if (call.kind == CollectiveKind::broadcast && call.peer == rank() && call.source != call.target &&
            call.count > 0)
            std::memmove(call.target, call.source, static_cast<std::size_t>(call.count) * sizeOf(call.dtype));
        if (!isPaired(call.kind)) ++m_calls;
        make(call);
    }

    void idle() override { serve(); }

    void interrupt(int exitCode) noexcept override {
        m_exitCode.store(exitCode);
        m_endNs.store(steadyNs() + kGraceNs);
    }

private:
    void make(const Collective& call) {
        const TwbMpiCall plain{static_cast<int>(call.kind),
                               static_cast<int>(call.reduction),
                               static_cast<int>(call.dtype),
                               call.peer,
                               call.source,
                               call.target,
                               call.count};
        // The listener looks a few times a second: a rank that is killed early must have a last step.
        m_hasToldStep = m_hasToldStep || tellStep();
        if (m_lastNode.empty()) {
            const auto own = activity();
            m_lastNode = own.node.empty() && own.isRunning ? call.label : own.node;
        }
        serve(); // calls may follow each other so fast that none of them waits long enough
        if (isAborted()) throwAborted();
        check(m_table.start(&plain));
        m_callSince = steadyNs();
        m_callPeer = isPaired(call.kind) ? call.peer : kAll;
        m_callLabel = call.label.empty() ? std::string(name(call.kind)) : call.label;
        waitUntil([&] {
            int done = 0;
            check(m_table.test(&done));
            return done != 0;
        });
        m_callSince = 0;
    }

    void check(const char* sentence) {
        if (!sentence) return;
        abort(fmt::format("rank {} failed: {}", rank(), sentence));
        throwAborted();
    }

    /// Polls, at first often, since most calls are short, and later with sleeps, since ranks may share cores.
    template <class Condition> void waitUntil(const Condition& isDone) {
        constexpr int often = 2000;
        for (int i = 0; !isDone(); ++i) {
            serve(); // each time: on a busy machine, a few of these rounds take a second
            if (isAborted()) throwAborted();
            if (i < often)
                ::sched_yield();
            else
                ::usleep(i < 2 * often ? 20 : 200);
        }
    }

    /// Exchanges messages about the ranks, and ends the world if one is lost.
    void serve() {
        if (!m_isOpen) return;
        const std::int64_t now = steadyNs();
        if (isAborted()) return end(now);
        if (now - m_served < 5'000'000) return;
        // A rank that was stopped itself must not take the others for lost before it has listened to them.
        if (m_served > 0 && now - m_served > m_stallNs / 2) {
            for (Other& other : m_others) {
                other.heard.excuse(now);
                other.moved.excuse(now);
            }
        }
        m_served = now;
        for (int peer = 0; peer < size(); ++peer)
            if (peer != rank()) listen(peer, now);
        if (isAborted()) return end(now);
        // The first step is told at once, since the rank may be lost before the next message is due.
        if (now - m_beaten >= m_beatNs || (!m_hasBeatenStep && !m_lastNode.empty())) {
            m_beaten = now;
            tell({});
        }
        tellListener();
        if (isAborted()) return end(now);
        if (m_stallNs > 0 && !m_isLeaving) findLost(now);
    }

    void tell(const std::string& sentence) {
        Beat beat;
        const RankActivity own = activity();
        beat.progress = own.progress;
        beat.calls = m_calls;
        beat.isRunning = own.isRunning ? 1 : 0;
        beat.isLeaving = m_isLeaving ? 1 : 0;
        beat.exitCode = m_exitCode.load();
        if (m_figures) {
            const RankFigures figures = m_figures();
            beat.iterations = figures.iterations;
            beat.iterationNs = figures.iterationNs;
            beat.rows = figures.rows;
            beat.isModelled = figures.isModelled ? 1 : 0;
        }
        if (!own.node.empty()) m_lastNode = own.node; // a rank may be lost between two steps
        m_hasBeatenStep = !m_lastNode.empty();
        write(beat.node, m_lastNode);
        write(beat.sentence, sentence);
        for (int peer = 0; peer < size(); ++peer)
            if (peer != rank()) m_table.beat(peer, &beat);
    }

    void listen(int peer, std::int64_t now) {
        Other& other = m_others[static_cast<std::size_t>(peer)];
        Beat beat;
        while (m_table.heard(peer, &beat)) {
            other.heard.end(now);
            const bool moved = beat.progress != other.last.progress || beat.calls != other.last.calls ||
                               beat.isRunning != other.last.isRunning;
            if (moved) other.moved.end(now);
            other.last = beat;
            if (m_heard)
                m_heard(peer, beat.node.data(),
                        {beat.iterations, beat.iterationNs, beat.rows, beat.isModelled != 0});
            if (beat.sentence[0] == 0) continue;
            if (!isAborted()) {
                m_isTold = true;
                abort(beat.sentence.data(), static_cast<int>(beat.exitCode));
            } else if (beat.exitCode != 1) {
                m_exitCode = static_cast<int>(beat.exitCode); // of the cause, which became known later
            }
        }
    }

    std::string lastStepOf(const Other& other) const {
        return other.last.node[0] ? fmt::format("its last step was \"{}\"", other.last.node.data())
                                  : std::string("it was not in a step");
    }

    /// The other ranks that have been silent for at least half of the limit. A rank that waits for the
    /// stopped one may be silent, too, and may be missed first.
    std::string alsoSilent(int lost, std::int64_t now) const {
        std::string out;
        for (int peer = 0; peer < size(); ++peer) {
            const Other& other = m_others[static_cast<std::size_t>(peer)];
            const std::int64_t silence = now - other.heard.since;
            if (peer == rank() || peer == lost || other.last.isLeaving || silence < m_stallNs / 2) continue;
            out += fmt::format("; rank {} has been silent for {:.1f} s, too", peer,
                               static_cast<double>(silence) / 1e9);
        }
        return out;
    }

    void findLost(std::int64_t now) {
        const double seconds = static_cast<double>(m_stallNs) / 1e9;
        const bool isWaiting = m_callSince > 0 && now - m_callSince > m_stallNs;
        for (int peer = 0; peer < size(); ++peer) {
            const Other& other = m_others[static_cast<std::size_t>(peer)];
            if (peer == rank() || other.last.isLeaving) continue;
            if (now - other.heard.since > m_stallNs)
                return abort(
                    fmt::format("rank {} has not answered for {:g} s: it was stopped, has ended or has lost "
                                "its connection; {}{}{}",
                                peer, seconds, lastStepOf(other), alsoSilent(peer, now),
                                info().localSize < size() ? m_advice : std::string()));
            // A rank that answers may be long in a step, but not while others wait for a call that it does
            // not make.
            const bool isAwaited = m_callPeer == kAll ? other.last.calls < m_calls : peer == m_callPeer;
            if (isWaiting && isAwaited && other.last.isRunning && now - other.moved.since > m_stallNs)
                return abort(fmt::format(
                    "rank {} has taken no step for {:g} s, while rank {} waits for it in \"{}\"; {}", peer,
                    seconds, rank(), m_callLabel, lastStepOf(other)));
        }
    }

    /// After an abort: tells the others, and ends the process if it does not end by itself.
    void end(std::int64_t now) {
        if (!m_isTold) {
            m_isTold = true;
            tell(abortSentence());
            m_retold = now;
        } else if (m_retold > 0 && now - m_retold > 20'000'000) {
            // A peer that had not yet received the last message gets this one instead.
            tell(abortSentence());
            m_retold = now;
        }
        // Until interrupt() has been called, the exit code is not known.
        if (const std::int64_t end = m_endNs.load(); end > 0 && now > end) m_table.abort(m_exitCode.load());
    }

    /// Closes MPI together with the other ranks, or ends the job.
    void leave() {
        if (!m_isOpen) return;
        if (isAborted()) {
            // Time for the message to reach the others, and for them to end by themselves.
            const std::int64_t last = steadyNs() + kSecond / 2;
            for (std::int64_t now = 0; now < last;) {
                now = steadyNs();
                for (int peer = 0; peer < size(); ++peer)
                    if (peer != rank()) listen(peer, now);
                end(now);
                ::usleep(5000);
            }
            m_table.abort(m_exitCode.load());
            return;
        }
        try {
            m_isLeaving = true;
            tell({});
            Collective barrier;
            barrier.label = "end";
            make(barrier);    // all ranks have made all their calls
            m_isOpen = false; // no more messages
            waitUntil([&] {
                Beat ignored;
                for (int peer = 0; peer < size(); ++peer)
                    while (peer != rank() && m_table.heard(peer, &ignored)) {
                    }
                return m_table.areBeatsDone() != 0;
            });
            // A rank must listen until all ranks have sent their last message, so all wait here for the
            // others.
            const TwbMpiCall last{static_cast<int>(CollectiveKind::barrier), 0, 0, 0, nullptr, nullptr, 0};
            if (m_table.start(&last)) return;
            waitUntil([&] {
                Beat ignored;
                for (int peer = 0; peer < size(); ++peer)
                    while (peer != rank() && m_table.heard(peer, &ignored)) {
                    }
                int done = 0;
                return m_table.test(&done) || done != 0;
            });
            m_table.close();
        } catch (const Error&) {
            m_table.abort(m_exitCode.load());
        }
    }

    const TwbMpiTable& m_table;
    const std::int64_t m_stallNs;
    const std::int64_t m_beatNs;
    const std::string m_advice;
    const std::function<RankFigures()> m_figures;
    const std::function<void(int, std::string_view, const RankFigures&)> m_heard;
    std::atomic<int> m_exitCode{1};
    std::atomic<std::int64_t> m_endNs{0};
    // Used by the world's thread only.
    bool m_isOpen = false;
    bool m_isLeaving = false;
    bool m_hasToldStep = false;
    std::string m_lastNode;       ///< the step in which this rank is, or was last
    bool m_hasBeatenStep = false; ///< the other ranks know a step of this one
    bool m_isTold = false;        ///< the other ranks know that the world has ended
    std::int64_t m_retold = 0;
    std::uint64_t m_calls = 0; ///< of all ranks, that this one has begun
    static constexpr int kAll = -1;
    int m_callPeer = kAll;        ///< of the call that is waited for: the only rank that takes part
    std::int64_t m_callSince = 0; ///< 0: no call is being made
    std::string m_callLabel;
    std::int64_t m_served = 0;
    std::int64_t m_beaten = 0;
    std::vector<Other> m_others;
};

} // namespace

double stallSecondsOf(const char* setting) {
    if (!setting || !*setting) return MpiOptions().stallSeconds;
    const std::string_view text(setting);
    double seconds = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (failed != std::errc() || end != text.data() + text.size() || !(seconds >= 0) || seconds > 1e9)
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("TWB_STALL_SECONDS is \"{}\": write a number of seconds, or 0 to wait without limit",
                        text));
    return seconds;
}

std::shared_ptr<World> openMpiWorld(const Launcher& launcher, const MpiOptions& options) {
    const char* const wanted = std::getenv("TWB_MPI");
    std::string implementation = wanted && *wanted ? wanted : launcher.mpi;
    if (implementation == "none")
        missing(fmt::format("TWB_MPI=none disables MPI, but {} has started {} ranks", launcher.name,
                            launcher.size));
    if (implementation.empty()) implementation = "openmpi";
    auto world = std::make_shared<MpiWorld>(load(implementation), options);
    if (world->size() != launcher.size && launcher.size > 1)
        missing(fmt::format(
            "{} has started {} ranks, but {} finds {}: {} has its own launcher; start twb with the "
            "launcher of the MPI library that it uses, or choose the library with TWB_MPI=openmpi or "
            "TWB_MPI=mpich",
            launcher.name, launcher.size, world->info().name, world->size(), world->info().name));
    return world;
}

} // namespace twb
