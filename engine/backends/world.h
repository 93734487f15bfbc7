#pragma once

#include "core/dtype.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace twb {

class DurationModel;
class Stream;
struct LinkProfile;

enum class CollectiveKind : std::uint8_t {
    allReduce,
    broadcast,
    reduce,
    allGather,
    reduceScatter,
    send,
    receive,
    barrier
};
std::string_view name(CollectiveKind kind) noexcept; ///< "AllReduce"
/// The kind of the calls that the op with this name makes; `send` for SendReceive, of which one rank sends
/// and one receives. Nothing if it makes none.
std::optional<CollectiveKind> collectiveKindOf(std::string_view op) noexcept;
/// Whether only two ranks make the call.
constexpr bool isPaired(CollectiveKind kind) noexcept {
    return kind == CollectiveKind::send || kind == CollectiveKind::receive;
}
/// Whether the call combines the ranks' elements. Other calls move them, whatever their dtype.
constexpr bool isReduction(CollectiveKind kind) noexcept {
    return kind == CollectiveKind::allReduce || kind == CollectiveKind::reduce ||
           kind == CollectiveKind::reduceScatter;
}

enum class Reduction : std::uint8_t { sum, mean, max };

/// One call that all ranks of a world make, each with its own buffers, or only two of them (isPaired).
/// Buffers are dense, in host memory, and must stay valid until the call is done. If the dtype is packed, the
/// part of each rank begins at a byte.
struct Collective {
    CollectiveKind kind = CollectiveKind::barrier;
    Reduction reduction = Reduction::sum;
    DType dtype = DType::f32;
    const void* source = nullptr; ///< may be `target` for allReduce and broadcast
    void* target = nullptr;
    /// Elements that one rank gives: allGather writes size() times as many, reduceScatter reads size() times
    /// as many and writes this many.
    std::int64_t count = 0;
    int peer = 0; ///< the root of broadcast and reduce; the other rank of send and receive
    /// For messages, and to tell the rows of World::log() apart: a node's name. Calls with the same kind and
    /// label must be made in the same order by all ranks.
    std::string label;
};

/// The bytes of the buffer that a rank passes to a call: those of `count` elements or, where the call moves
/// that many for each rank, of all of them.
std::uint64_t bytesOf(const Collective& call, int ranks) noexcept;
/// The bytes that each rank sends on average, if the call moves no byte twice over a link: 2(n−1)/n of an
/// all-reduce, (n−1)/n of the others (Patarasuk and Yuan 2009). `bytes` as from bytesOf().
std::uint64_t wireBytes(CollectiveKind kind, std::uint64_t bytes, int ranks) noexcept;

/// The calls with one kind and label.
struct CollectiveLog {
    CollectiveKind kind = CollectiveKind::barrier;
    std::string label;
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0; ///< total of bytesOf()
    std::int64_t ns = 0;     ///< from the start to the end of the calls, in total
    std::vector<std::int64_t>
        arrivals; ///< when this rank made each call, steady clock in ns; see kRemembered
    static constexpr std::size_t kRemembered = 65536;
};

/// What a rank does, as another rank sees it.
struct RankActivity {
    std::string node;           ///< its current step, or ""
    std::uint64_t progress = 0; ///< changes with each step
    bool isRunning = false;     ///< a plan is running
};

/// Learns what a world finds out, on the world's thread.
class WorldListener {
public:
    virtual ~WorldListener() = default;
    /// A few times a second.
    virtual void active(const RankActivity& activity) noexcept = 0;
    /// Asked a few times a second: why another process has ended this world; "": it has not.
    virtual std::string whyOver() = 0;
    /// The world is about to end for all ranks, for the reason in the sentence.
    virtual void failed(const std::string& sentence) noexcept = 0;
};

/// The ranks that take part in a run. A graph says AllReduce; the world says of whom. Calls are queued and
/// made in their order by a thread of the world's own, while other work goes on. Thread-safe.
class World {
public:
    struct Info {
        std::string name; ///< "alone", "threads", "Open MPI 4.1.4", "simulated NVLink"
        int rank = 0;
        int size = 1;
        int localRank = 0; ///< among the ranks on this machine
        int localSize = 1;
        bool simulated = false; ///< other ranks do not exist; times come from a LinkProfile
    };

    virtual ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    const Info& info() const noexcept { return m_info; }
    int rank() const noexcept { return m_info.rank; }
    int size() const noexcept { return m_info.size; }

    /// Queues a call and returns its ticket. Throws Error(failed) with the sentence of abort() after it.
    std::uint64_t start(Collective call);
    /// Waits until the call, and all before it, are done. Each ticket may be waited for once. Throws its
    /// Error.
    void wait(std::uint64_t ticket);
    void run(Collective call) { wait(start(std::move(call))); }

    /// Ends the world for all ranks: calls that wait, and all later ones, throw Error(failed) with this
    /// sentence. It should name the rank. An MPI world ends the job with this exit code. A later call changes
    /// only the exit code, and only to one that says more than 1.
    void abort(const std::string& sentence, int exitCode = 1) noexcept;
    bool isAborted() const noexcept { return m_isAborted.load(std::memory_order_acquire); }
    /// The sentence of abort(); "" before it.
    std::string abortSentence() const;

    /// The time of a call in ns by the world's model, with `bytes` as from bytesOf(). 0: the world has none.
    virtual double predictNs(CollectiveKind kind, std::uint64_t bytes) const noexcept;
    /// The link of a simulated world; else null.
    virtual const LinkProfile* link() const noexcept { return nullptr; }

    /// A stream for launches that make calls of this world. On the virtual clock, they take their measured
    /// times or, in a simulated world, the modelled ones.
    std::unique_ptr<Stream> createStream() const;

    /// Adds a call that a device has made by itself (RankDevice) to log(). On any thread.
    void note(const Collective& call, std::int64_t arrival, std::int64_t end);
    /// All calls so far, in the order of their first one, which may differ between ranks if devices make
    /// calls, too.
    std::vector<CollectiveLog> log() const;
    /// The offset of this rank's steady clock to that of rank 0, in ns: theirs = own + offset.
    std::int64_t clockOffsetNs() const noexcept { return m_clockOffsetNs; }
    /// The largest error of clockOffsetNs(), in ns: half of the round trip that it was measured with.
    std::int64_t clockErrorNs() const noexcept { return m_clockErrorNs; }

    /// The function, called on the world's thread, says what this rank does; empty: nothing.
    void setActivity(std::function<RankActivity()> activity);
    /// Must outlive the world, or be replaced by null.
    void setListener(WorldListener* listener);

protected:
    explicit World(Info info);
    World(Info info, std::unique_ptr<const DurationModel> durations);

    /// Makes a call and returns when it is done; runs on the world's thread. It gets sums and maxima of
    /// dtypes that the host can add, and no narrow dtype: the other calls are derived from these.
    virtual void perform(const Collective& call) = 0;
    /// Runs on the world's thread about every 20 ms while no call is being made.
    virtual void idle() {}
    /// Wakes up perform(), on any thread. The sentence is abortSentence().
    virtual void interrupt(int exitCode) noexcept = 0;
    /// Runs `work` on the world's thread, and waits. Throws its exception.
    void onThread(const std::function<void()>& work);
    /// Must be called first in the destructor of each derived class.
    void stopThread() noexcept;
    RankActivity activity() const;
    /// Tells the listener which step this rank is in. False if it is in none.
    bool tellStep();
    /// Tells the listener what this rank does. Aborts if another process has ended the world.
    void tellListener();
    [[noreturn]] void throwAborted() const;
    void setInfo(Info info) { m_info = std::move(info); }
    /// Measures clockOffsetNs() and clockErrorNs() with messages between rank 0 and each other rank.
    void alignClocks();

private:
    struct Request {
        std::uint64_t ticket = 0;
        Collective call;
        const std::function<void()>* work = nullptr;
        std::int64_t arrival = 0;
        std::exception_ptr error;
    };
    void work();
    void make(const Collective& call);
    std::uint64_t push(Request request);

    Info m_info;
    std::unique_ptr<const DurationModel> m_durations;
    mutable std::mutex m_mutex;
    std::condition_variable m_wake; ///< the thread
    std::condition_variable m_done; ///< those who wait for tickets
    std::deque<Request> m_queue;
    std::vector<std::pair<std::uint64_t, std::exception_ptr>> m_errors; ///< of tickets not yet waited for
    std::uint64_t m_lastTicket = 0;
    std::uint64_t m_lastDone = 0;
    std::vector<CollectiveLog> m_log;
    std::string m_sentence;
    std::atomic<bool> m_isAborted{false};
    bool m_stop = false;
    std::int64_t m_clockOffsetNs = 0;
    std::int64_t m_clockErrorNs = 0;
    mutable std::mutex m_activityMutex;
    std::function<RankActivity()> m_activity;
    WorldListener* m_listener = nullptr;
    std::thread m_thread; ///< started by the first call
};

/// One rank. Every run has this world by default.
std::shared_ptr<World> aloneWorld();

/// Worlds for `size` engines in this process, each on threads of its own: element r is rank r's.
std::vector<std::shared_ptr<World>> makeThreadWorlds(int size);

/// A link between ranks: the latency of a message, α, and the bytes per ns in each direction, B.
struct LinkProfile {
    enum class Algorithm : std::uint8_t { best, ring, tree };

    std::string id;   ///< "nvlink"
    std::string name; ///< "NVLink 4"
    double alphaNs = 0;
    double gbPerSecond = 0;
    Algorithm algorithm = Algorithm::best;
    std::string source; ///< where the figures come from

    /// The time of a call over `ranks` ranks in ns. An all-reduce of S bytes takes 2(n−1)α + 2(n−1)/n · S/B
    /// around a ring (Patarasuk and Yuan 2009), 2⌈log₂ n⌉(α + S/B) up and down a binary tree (Thakur,
    /// Rabenseifner and Gropp 2005). `best` is the smaller of the two, as libraries choose it.
    double timeNs(CollectiveKind kind, std::uint64_t bytes, int ranks) const noexcept;
};
/// NVLink, PCIe and 25 GbE.
const std::vector<LinkProfile>& linkProfiles();
/// The link that is taken where a run has several ranks, but no simulated world names one: 25 GbE.
const LinkProfile& defaultLink();

/// Rank 0 of `size` ranks that do not exist: each is taken to have the same tensors as rank 0, and calls take
/// the times of the link on the virtual clock.
std::shared_ptr<World> makeSimulatedWorld(int size, const LinkProfile& link);
/// From "4:nvlink", "4:25gbe:ring" or, with a link of latency and bandwidth, "4:30us,2.9GB/s". Throws
/// Error(invalidArgument).
std::shared_ptr<World> makeSimulatedWorld(std::string_view text);

/// By row of World::log(): which rank the others waited for most, and for how long. All ranks must call it
/// together; all get the same result, except for `ownNs`.
struct CollectiveWait {
    int rank = -1;             ///< the rank that was last most often; -1: there is only one rank
    std::int64_t ns = 0;       ///< total time from the first rank's arrival to the last one's
    std::int64_t ownNs = 0;    ///< total time that this rank waited for the last one
    std::uint64_t counted = 0; ///< calls that are counted (CollectiveLog::kRemembered)
};
std::vector<CollectiveWait> findWaits(World& world, const std::vector<CollectiveLog>& log);

/// On rank 0, the texts of all ranks that exist, by rank; on the others, nothing. All ranks must call it
/// together, with the same label.
std::vector<std::string> gatherTexts(World& world, std::string own, const std::string& label);

/// The texts of all ranks that exist, by rank, on each of them. For short texts: each travels with the length
/// of the longest. All ranks must call it together, with the same label.
std::vector<std::string> shareTexts(World& world, std::string own, const std::string& label);

} // namespace twb
