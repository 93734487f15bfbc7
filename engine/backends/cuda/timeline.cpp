#include "backends/cuda/timeline.h"

#include "backends/cpu/host_stream.h"
#include "backends/cuda/cuda_error.h"
#include "backends/cuda/kernels/fault.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <vector>

namespace twb::cuda {
namespace {

/// All timelines, and the lock that protects them and their contents.
struct Registry {
    std::mutex mutex;
    std::vector<Timeline*> timelines;
};

/// Graphs in the timelines whose launches may report faults.
std::atomic<int> graphsWithFaultMemory{0};

Registry& registry() {
    static Registry all;
    return all;
}

/// CUDA gives the time between two events in ms as a float with 24 bits, so only short times are exact. A
/// span is therefore measured from the end of another one that is at most this many ns earlier.
constexpr std::int64_t kChainEvery = 50'000'000;

/// The time between two passed events of one GPU, in ns.
std::int64_t between(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from, to), "reading an event's time");
    return std::llround(static_cast<double>(ms) * 1e6);
}

} // namespace

Timeline::Timeline(std::shared_ptr<Gpu> gpu, cudaStream_t idle)
    : m_gpu(std::move(gpu)), m_base(m_gpu->clockBase(idle)), m_lastEndNs(m_base->hostNs) {
    const std::scoped_lock lock(registry().mutex);
    registry().timelines.push_back(this);
}

Timeline::~Timeline() {
    const std::scoped_lock lock(registry().mutex);
    std::erase(registry().timelines, this);
    // Releases waits for a record of this stream on the virtual clock.
    for (const Item& item : m_items) {
        if (item.kind == Item::Kind::record) item.mark->resolve(m_virtual);
        if (item.inner && !item.inner->kept.faults.empty()) --graphsWithFaultMemory;
    }
}

void Timeline::add(Item item) {
    const std::scoped_lock lock(registry().mutex);
    m_items.push_back(std::move(item));
}

void Timeline::addSpan(std::shared_ptr<Span> span, LaunchTiming* timing, LaunchGuard* guard,
                       std::uint32_t step, const char* op, std::optional<std::int64_t> virtualNs) {
    Item item;
    item.span = std::move(span);
    item.timing = timing;
    item.guard = guard;
    item.step = step;
    item.op = op;
    item.virtualNs = virtualNs;
    add(std::move(item));
}

void Timeline::addReplay(std::shared_ptr<Span> span, std::shared_ptr<const InnerSpans> launches) {
    Item item;
    item.span = std::move(span);
    item.inner = std::move(launches);
    if (!item.inner->kept.faults.empty()) ++graphsWithFaultMemory;
    add(std::move(item));
}

void Timeline::addRecord(std::shared_ptr<Mark> mark) {
    Item item;
    item.kind = Item::Kind::record;
    item.mark = std::move(mark);
    add(std::move(item));
}

void Timeline::addWait(std::shared_ptr<Mark> mark) {
    Item item;
    item.kind = Item::Kind::wait;
    item.mark = std::move(mark);
    add(std::move(item));
}

void Timeline::addWait(std::int64_t virtualTime) {
    Item item;
    item.kind = Item::Kind::notBefore;
    item.virtualTime = virtualTime;
    add(std::move(item));
}

std::int64_t Timeline::clock() {
    resolveAll();
    const std::scoped_lock lock(registry().mutex);
    return m_virtual;
}

void Timeline::resetClock(std::int64_t virtualNow) {
    resolveAll();
    const std::scoped_lock lock(registry().mutex);
    m_virtual = virtualNow;
}

void Timeline::resolveAll() {
    const std::scoped_lock lock(registry().mutex);
    for (bool moved = true; moved;) {
        moved = false;
        for (Timeline* timeline : registry().timelines) moved |= timeline->advance();
    }
}

bool Timeline::mayHoldFaults() noexcept { return graphsWithFaultMemory > 0; }

bool Timeline::advance() {
    bool moved = false;
    if (!m_items.empty()) m_gpu->use();
    while (!m_items.empty() && resolve(m_items.front())) {
        if (const auto& inner = m_items.front().inner; inner && !inner->kept.faults.empty())
            --graphsWithFaultMemory;
        m_items.pop_front();
        moved = true;
    }
    return moved;
}

bool Timeline::resolve(Item& item) {
    switch (item.kind) {
    case Item::Kind::span: {
        const cudaError_t status = m_gpu->isLost() ? cudaErrorUnknown : cudaEventQuery(item.span->end->get());
        if (status == cudaErrorNotReady) return false;
        if (status == cudaSuccess) {
            resolveSpan(item);
        } else {
            m_gpu->lose(status, "running a kernel");
            fail(item);
        }
        return true;
    }
    case Item::Kind::record:
        item.mark->resolve(m_virtual);
        return true;
    case Item::Kind::wait:
        if (!item.mark->isResolved()) return false;
        m_virtual = std::max(m_virtual, item.mark->virtualTime());
        return true;
    case Item::Kind::notBefore:
        m_virtual = std::max(m_virtual, item.virtualTime);
        return true;
    }
    return true;
}

void Timeline::resolveSpan(const Item& item) {
    try {
        const cudaEvent_t base = m_last ? m_last->end->get() : m_base->event.get();
        const std::int64_t start = m_lastEndNs + between(base, item.span->start->get());
        const std::int64_t took = between(item.span->start->get(), item.span->end->get());
        const std::int64_t virtualNs = item.virtualNs.value_or(took);
        if (item.timing) *item.timing = {start, start + took, m_virtual, m_virtual + virtualNs};
        if (item.inner) {
            setTimes(*item.inner, item.span->start->get(), start);
            tellFaults(*item.inner);
        }
        m_virtual += virtualNs;
        if (start + took - m_lastEndNs < kChainEvery) return;
        m_last = item.span;
        m_lastEndNs = start + took;
    } catch (const Error& error) {
        m_gpu->lose(error.what());
        fail(item);
    }
}

void Timeline::tellFaults(const InnerSpans& inner) {
    for (const KeptForReplays::LaunchFault& fault : inner.kept.faults) {
        try {
            throwIfRaised(*fault.memory);
        } catch (const Error&) {
            if (fault.guard) fault.guard->failedLate(fault.step, std::current_exception());
        }
    }
}

/// `from` was at `start` on the host's clock, and at m_virtual on the virtual clock.
void Timeline::setTimes(const InnerSpans& inner, cudaEvent_t from, std::int64_t start) const {
    if (inner.marks.empty()) return;
    std::int64_t begin = between(from, inner.marks.front().get());
    std::size_t mark = 0;
    for (const InnerSpans::Member& launch : inner.launches) {
        const std::int64_t end =
            launch.end == mark ? begin : std::max(begin, between(from, inner.marks[launch.end].get()));
        if (launch.timing) *launch.timing = {start + begin, start + end, m_virtual + begin, m_virtual + end};
        begin = end;
        mark = launch.end;
    }
}

void Timeline::fail(const Item& item) const {
    const auto why = std::make_exception_ptr(
        Error(ErrorCode::failed,
              fmt::format("this step or an earlier one made the GPU fail: {}", m_gpu->lossSentence())));
    if (item.guard) item.guard->failed(item.step, why);
    if (!item.inner) return;
    for (const InnerSpans::Member& launch : item.inner->launches)
        if (launch.guard) launch.guard->failed(launch.step, why);
}

} // namespace twb::cuda
