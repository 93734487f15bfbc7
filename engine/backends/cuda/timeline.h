#pragma once

#include "backends/backend.h"
#include "backends/cuda/cuda_event.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace twb::cuda {

/// The start and the end of one launch or copy on the GPU's clock. An end may be the next one's start.
struct Span {
    std::shared_ptr<const LentEvent> start;
    std::shared_ptr<const LentEvent> end;
};

/// Launches of one CUDA graph. Launch i lies between mark i and the next one, which the graph records anew
/// each time that it is launched: they may be read once that is passed, and before it is launched again.
/// There are none where no launch is timed.
struct InnerSpans {
    struct Member {
        LaunchTiming* timing = nullptr;
        LaunchGuard* guard = nullptr;
        std::uint32_t step = 0;
        const char* op = "";
    };
    std::vector<Member> launches;
    std::vector<LentEvent> marks;
};

/// What one stream did, in its order, until its times are known. Times are read off CUDA events that have
/// passed: nothing waits. On the virtual clock a launch takes what was measured, and a wait moves the stream
/// to where the other one was.
///
/// Timelines of all streams of all GPUs are resolved together, under one lock, since each may wait for
/// others.
class Timeline {
public:
    Timeline(std::shared_ptr<Gpu> gpu, cudaStream_t idle);
    ~Timeline();

    /// A launch or a copy; `timing` may be null. `op` is for messages.
    void addSpan(std::shared_ptr<Span> span, LaunchTiming* timing, LaunchGuard* guard, std::uint32_t step,
                 const char* op);
    /// A CUDA graph's launches, all of them within `span`.
    void addReplay(std::shared_ptr<Span> span, std::shared_ptr<const InnerSpans> launches);
    void addRecord(std::shared_ptr<Mark> mark);
    void addWait(std::shared_ptr<Mark> mark);
    /// A wait for another backend's event, which was at this virtual time.
    void addWait(std::int64_t virtualTime);

    /// Of an idle stream, in ns.
    std::int64_t clock();
    void resetClock(std::int64_t virtualNow);

    /// Makes valid what can be: of all timelines there are.
    static void resolveAll();

private:
    struct Item {
        enum class Kind : std::uint8_t { span, record, wait, notBefore };
        Kind kind = Kind::span;
        std::shared_ptr<Span> span;
        LaunchTiming* timing = nullptr;
        LaunchGuard* guard = nullptr;
        std::uint32_t step = 0;
        const char* op = "";
        std::shared_ptr<const InnerSpans> inner; ///< of a CUDA graph, in the place of the four before
        std::shared_ptr<Mark> mark;
        std::int64_t virtualTime = 0;
    };
    void add(Item item);
    bool advance();
    bool resolve(Item& item);
    void resolveSpan(const Item& item);
    void setTimes(const InnerSpans& inner, cudaEvent_t from, std::int64_t start) const;
    void fail(const Item& item) const;

    const std::shared_ptr<Gpu> m_gpu;
    std::deque<Item> m_items;
    std::shared_ptr<const ClockBase> m_base;
    std::shared_ptr<Span> m_last; ///< whose end is the base of what follows, when set
    std::int64_t m_lastEndNs = 0; ///< on the host's clock
    std::int64_t m_virtual = 0;
};

} // namespace twb::cuda
