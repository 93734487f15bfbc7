#pragma once

#include "backends/backend.h"
#include "backends/cuda/cuda_event.h"
#include "backends/cuda/kept_for_replays.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace twb::cuda {

/// The start and the end of one launch or copy on the GPU's clock. An end may be the start of the next one.
struct Span {
    std::shared_ptr<const LentEvent> start;
    std::shared_ptr<const LentEvent> end;
};

/// Launches of one CUDA graph. The first one starts at the first mark, each other one at the end of the one
/// before it. Each launch of the graph records the marks anew, so they are valid after it has passed and
/// until the graph is launched again. Without timed launches there are no marks.
struct InnerSpans {
    struct Member {
        LaunchTiming* timing = nullptr;
        LaunchGuard* guard = nullptr;
        std::uint32_t step = 0;
        const char* op = "";
        std::size_t end = 0; ///< index of a mark
    };
    std::vector<Member> launches;
    std::vector<LentEvent> marks;
    KeptForReplays kept;
};

/// The ordered work of one stream, until its times are known. Times are read from CUDA events that have
/// passed, without waiting. On the virtual clock, a launch takes its measured time, and a wait advances the
/// stream to the time of the other stream.
///
/// The timelines of all streams of all GPUs are resolved together under one lock, since they may wait for
/// each other.
class Timeline {
public:
    Timeline(std::shared_ptr<Gpu> gpu, cudaStream_t idle);
    ~Timeline();

    /// A launch or a copy; `timing` may be null. `op` is for messages. `virtualNs`: its time on the virtual
    /// clock, if that is not the measured one.
    void addSpan(std::shared_ptr<Span> span, LaunchTiming* timing, LaunchGuard* guard, std::uint32_t step,
                 const char* op, std::optional<std::int64_t> virtualNs);
    /// The launches of a CUDA graph, all within `span`.
    void addReplay(std::shared_ptr<Span> span, std::shared_ptr<const InnerSpans> launches);
    void addRecord(std::shared_ptr<Mark> mark);
    void addWait(std::shared_ptr<Mark> mark);
    /// A wait for another backend's event at this virtual time.
    void addWait(std::int64_t virtualTime);

    /// The stream must be idle. In ns.
    std::int64_t clock();
    void resetClock(std::int64_t virtualNow);

    /// Resolves all times that are known, of all timelines, and tells the guards of the faults of launches
    /// that have passed.
    static void resolveAll();
    /// Whether an unresolved replay may have found a fault.
    static bool mayHoldFaults() noexcept;

private:
    struct Item {
        enum class Kind : std::uint8_t { span, record, wait, notBefore };
        Kind kind = Kind::span;
        std::shared_ptr<Span> span;
        LaunchTiming* timing = nullptr;
        LaunchGuard* guard = nullptr;
        std::uint32_t step = 0;
        const char* op = "";
        std::optional<std::int64_t> virtualNs;
        std::shared_ptr<const InnerSpans> inner; ///< of a CUDA graph; then the five members above are unused
        std::shared_ptr<Mark> mark;
        std::int64_t virtualTime = 0;
    };
    void add(Item item);
    bool advance();
    bool resolve(Item& item);
    void resolveSpan(const Item& item);
    static void tellFaults(const InnerSpans& inner);
    void setTimes(const InnerSpans& inner, cudaEvent_t from, std::int64_t start) const;
    void fail(const Item& item) const;

    const std::shared_ptr<Gpu> m_gpu;
    std::deque<Item> m_items;
    std::shared_ptr<const ClockBase> m_base;
    std::shared_ptr<Span> m_last; ///< if set, the next span is measured from its end
    std::int64_t m_lastEndNs = 0; ///< on the host's clock
    std::int64_t m_virtual = 0;
};

} // namespace twb::cuda
