#include "backends/cpu/host_stream.h"

#include "backends/cpu/host_chain.h"
#include "backends/cpu/host_threads.h"
#include "backends/cpu/spin_wait.h"
#include "core/buffer.h"
#include "core/error.h"
#include "core/uncounted_memory.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace twb {

std::int64_t steadyNs() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

namespace {

/// The wait for the turn is not part of the time that a launch takes.
std::unique_lock<std::mutex> takeTurn(const LaunchGuard* guard, std::int64_t& now) {
    if (!guard || !guard->turn) return {};
    now = 0;
    return std::unique_lock(*guard->turn);
}

} // namespace

void HostEvent::waitFor(std::uint64_t record) { waitUntilAtLeast(m_completed, record); }
bool HostEvent::isDone() const { return m_completed.load(std::memory_order_acquire) >= m_submitted; }

/// Single producer (the submitting thread), single consumer (the worker).
class HostStream::Worker {
public:
    Worker(const DurationModel& durations, bool isSimulated)
        : m_durations(durations), m_isSimulated(isSimulated), m_thread([this] { work(); }) {}
    ~Worker() {
        push({.kind = Kind::stop});
        flush();
        m_thread.join();
    }

    enum class Kind : std::uint8_t { launch, copy, record, wait, waitForeign, stop };
    struct Command {
        Kind kind = Kind::stop;
        const Launch* launch = nullptr;
        const Copy* copy = nullptr;
        Event* event = nullptr;
        std::uint64_t target = 0;
    };

    void push(const Command& command) {
        if (m_head - m_tailSeen == kRing) {
            flush();
            // The worker may sleep on an event of this stream, but never on room in the ring, so it will
            // continue.
            waitUntilAtLeast(m_tail, m_head - kRing + 1);
            m_tailSeen = m_tail.load(std::memory_order_acquire);
        }
        m_ring[m_head % kRing] = command;
        ++m_head;
        if (m_head - m_published >= kBatch) flush();
    }

    void flush() {
        if (m_published == m_head) return;
        m_published = m_head;
        m_submitted.store(m_head, std::memory_order_seq_cst);
        if (m_asleep.load(std::memory_order_seq_cst)) m_submitted.notify_one();
    }

    void synchronize() {
        flush();
        waitUntilAtLeast(m_tail, m_head);
    }

    /// Only while the worker is idle.
    void resetClock(std::int64_t now) { m_virtual.store(now, std::memory_order_relaxed); }
    std::int64_t clock() const { return m_virtual.load(std::memory_order_relaxed); }
    std::uint64_t passed() const { return m_passed.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint64_t kRing = 4096;
    static constexpr std::uint64_t kBatch = 32;

    void work();
    void run(const Launch& launch, std::int64_t& now);
    void run(const Copy& copy, std::int64_t& now);
    template <class Work> bool guarded(LaunchGuard* guard, std::uint32_t step, Work&& work);
    void advance(LaunchTiming* timing, std::int64_t start, std::int64_t end, std::int64_t virtualNs);
    void notBefore(std::int64_t virtualTime) {
        if (virtualTime > m_virtual.load(std::memory_order_relaxed))
            m_virtual.store(virtualTime, std::memory_order_relaxed);
    }

    const DurationModel& m_durations;
    const bool m_isSimulated;
    std::array<Command, kRing> m_ring;
    // Used by the producer only.
    alignas(64) std::uint64_t m_head = 0;
    std::uint64_t m_published = 0;
    std::uint64_t m_tailSeen = 0;
    // Shared.
    alignas(64) std::atomic<std::uint64_t> m_submitted{0};
    alignas(64) std::atomic<std::uint64_t> m_tail{0};
    std::atomic<bool> m_asleep{false};
    std::atomic<std::uint64_t> m_passed{0};
    // Used by the worker only; resetClock writes it while the worker is idle.
    alignas(64) std::atomic<std::int64_t> m_virtual{0};
    std::thread m_thread;
};

void HostStream::Worker::work() {
    useHostThreads();
    std::optional<UncountedMemory> uncounted;
    if (m_isSimulated) uncounted.emplace();
    std::uint64_t done = 0;
    std::uint64_t available = 0;
    // While the queue never ran empty, the end of one launch is the start of the next: one clock query per
    // launch instead of two. 0: query again.
    std::int64_t now = 0;
    for (;;) {
        if (done == available) {
            m_tail.store(done, std::memory_order_release);
            m_tail.notify_all();
            now = 0;
            for (int spin = spins(2000); spin > 0 && available == done; --spin) {
                available = m_submitted.load(std::memory_order_acquire);
                __builtin_ia32_pause();
            }
            while (available == done) {
                m_asleep.store(true, std::memory_order_seq_cst);
                m_submitted.wait(done, std::memory_order_seq_cst);
                m_asleep.store(false, std::memory_order_seq_cst);
                available = m_submitted.load(std::memory_order_acquire);
            }
        }
        const Command& command = m_ring[done % kRing];
        switch (command.kind) {
        case Kind::launch:
            run(*command.launch, now);
            break;
        case Kind::copy:
            run(*command.copy, now);
            break;
        case Kind::record: {
            auto& event = static_cast<HostEvent&>(*command.event);
            event.m_virtualTimes[command.target % HostEvent::kRemembered].store(
                m_virtual.load(std::memory_order_relaxed), std::memory_order_relaxed);
            event.m_completed.store(command.target, std::memory_order_release);
            event.m_completed.notify_all();
            break;
        }
        case Kind::wait: {
            const auto& event = static_cast<const HostEvent&>(*command.event);
            if (event.m_completed.load(std::memory_order_acquire) < command.target) {
                waitUntilAtLeast(event.m_completed, command.target);
                now = 0;
            }
            notBefore(event.virtualTime(command.target));
            break;
        }
        case Kind::waitForeign:
            command.event->waitFor(command.target);
            notBefore(command.event->virtualTime(command.target));
            now = 0;
            break;
        case Kind::stop:
            m_tail.store(done + 1, std::memory_order_release);
            return;
        }
        ++done;
        // Slots of the ring are returned in batches, so that the producer rarely waits for one.
        if (done % kBatch == 0) {
            m_tail.store(done, std::memory_order_release);
            m_tail.notify_all();
        }
    }
}

template <class Work> bool HostStream::Worker::guarded(LaunchGuard* guard, std::uint32_t step, Work&& work) {
    if (guard && guard->alert.load(std::memory_order_relaxed) && !guard->mayRun(step)) return false;
    try {
        work();
        return true;
    } catch (...) {
        if (guard) guard->failed(step, std::current_exception());
        return false;
    }
}

void HostStream::Worker::advance(LaunchTiming* timing, std::int64_t start, std::int64_t end,
                                 std::int64_t virtualNs) {
    const std::int64_t before = m_virtual.load(std::memory_order_relaxed);
    m_virtual.store(before + virtualNs, std::memory_order_relaxed);
    if (timing) *timing = {start, end, before, before + virtualNs};
}

void HostStream::Worker::run(const Launch& launch, std::int64_t& now) {
    const std::unique_lock turn = takeTurn(launch.guard, now);
    const std::int64_t start = now ? now : steadyNs();
    const bool ran = guarded(launch.guard, launch.step, [&] {
        if (launch.chain) return runHostChain(*launch.chain, launch.inputs, launch.outputs[0], launch.memory);
        if (!launch.kernel)
            throw Error(ErrorCode::unsupported, std::string(launch.op) + " has no kernel for the host");
        launch.kernel({launch.inputs, launch.outputs, *launch.attributes, launch.files, launch.memory,
                       launch.iteration, launch.world, launch.label});
    });
    now = steadyNs();
    m_passed.store(m_passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (ran) advance(launch.timing, start, now, m_durations.launchNs(launch.cost, now - start));
}

void HostStream::Worker::run(const Copy& copy, std::int64_t& now) {
    const std::unique_lock turn = takeTurn(copy.guard, now);
    const std::int64_t start = now ? now : steadyNs();
    const bool ran = guarded(copy.guard, copy.step, [&] {
        if (copy.bytes) std::memcpy(copy.target, copy.source, copy.bytes);
    });
    now = steadyNs();
    m_passed.store(m_passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (ran) advance(copy.timing, start, now, copy.linkNs.value_or(m_durations.copyNs(copy, now - start)));
}

HostStream::HostStream(const DurationModel& durations, bool isSimulated)
    : m_worker(std::make_unique<Worker>(durations, isSimulated)) {}
HostStream::~HostStream() = default;

void HostStream::launch(const Launch& launch) {
    m_worker->push({.kind = Worker::Kind::launch, .launch = &launch});
}
void HostStream::copy(const Copy& copy) { m_worker->push({.kind = Worker::Kind::copy, .copy = &copy}); }

void HostStream::record(Event& event) {
    auto& own = static_cast<HostEvent&>(event);
    m_worker->push({.kind = Worker::Kind::record, .event = &event, .target = ++own.m_submitted});
    // A waiter for this event may block a full ring, so the record must be sent immediately.
    m_worker->flush();
}

void HostStream::wait(Event& event) {
    if (auto* own = dynamic_cast<HostEvent*>(&event)) {
        if (own->m_submitted)
            m_worker->push({.kind = Worker::Kind::wait, .event = &event, .target = own->m_submitted});
    } else {
        m_worker->push({.kind = Worker::Kind::waitForeign, .event = &event, .target = event.recorded()});
    }
}

void HostStream::flush() { m_worker->flush(); }
void HostStream::synchronize() { m_worker->synchronize(); }
std::uint64_t HostStream::passed() const { return m_worker->passed(); }
std::int64_t HostStream::clock() const { return m_worker->clock(); }
void HostStream::resetClock(std::int64_t virtualNow) { m_worker->resetClock(virtualNow); }

} // namespace twb
