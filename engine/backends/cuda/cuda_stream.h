#pragma once

#include "backends/cuda/captured_launches.h"
#include "backends/device_profile.h"

#include <condition_variable>
#include <deque>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

namespace twb::cuda {

/// A queue of one GPU: a CUDA stream, and a thread that feeds it. The thread takes commands in order, asks
/// the guard just before it issues each, and blocks on events of other backends. It stays at most kAhead
/// ahead of the GPU, so that a cancel or a failure finds little issued work.
///
/// A stretch is issued launch by launch the first two times, because the first launch includes the library's
/// start-up. After that, adjacent launches that can be captured become CUDA graphs. A launch is not captured
/// if:
///   - the piece would take longer than kLongestGraph: it would gain little, and a launched graph cannot be
///   cancelled;
///   - no other launch is beside it;
///   - the capture failed, or CUDA refused to launch the graph: its launches are issued one by one from then
///   on;
///   - the run has failed or was cancelled: the guard is asked about each launch.
class CudaStream final : public Stream {
public:
    /// `profile` must outlive the stream; it estimates the work ahead of the GPU.
    CudaStream(const GpuResources& gpu, const DeviceProfile& profile, QueueKind kind);
    ~CudaStream() override;

    void prepare(const Launch& launch) override;
    void launch(const Launch& launch) override;
    void launchStretch(std::span<const Launch* const> stretch) override;
    ReplayCounts replayed() const override { return m_replayed; }
    void copy(const Copy& copy) override;
    void record(Event& event) override;
    void wait(Event& event) override;
    void flush() override {} // the thread takes each command immediately
    void synchronize() override;
    std::uint64_t passed() const override { return m_passed.load(std::memory_order_relaxed); }
    std::int64_t clock() const override { return m_timeline->clock(); }
    void resetClock(std::int64_t virtualNow) override { m_timeline->resetClock(virtualNow); }

private:
    struct Command {
        enum class Kind : std::uint8_t { launch, stretch, copy, record, wait, waitForeign, stop };
        Kind kind = Kind::stop;
        const Launch* launch = nullptr;
        std::span<const Launch* const> stretch;
        const Copy* copy = nullptr;
        std::shared_ptr<Mark> mark;
        Event* event = nullptr;
        std::uint64_t record = 0;
    };
    /// The first observations of a launch in a stretch.
    struct Seen {
        int passed = 0; ///< number of observations
        double ns = 0;  ///< the shortest time
    };
    /// Adjacent launches of a stretch, issued together or one by one.
    struct Piece {
        std::span<const Launch* const> launches;
        double expectedNs = 0; ///< from the profile
        double ns = 0;         ///< from the observations
        bool mayCapture = false;
        std::unique_ptr<CapturedLaunches> captured; ///< null before the first launch of the graph
    };
    /// A launch that was issued and may not have passed.
    struct Ahead {
        std::shared_ptr<Span> span;
        double expectedNs = 0;
        std::uint32_t launches = 1;
        Seen* seen = nullptr; ///< receives its time
    };
    void push(Command command);
    void work();
    std::optional<Command> next();
    void perform(const Command& command);
    void run(const Launch& launch, Seen* seen = nullptr);
    void run(std::span<const Launch* const> stretch);
    std::vector<Piece> cut(std::span<const Launch* const> stretch);
    bool replay(Piece& piece);
    void run(const Copy& copy);
    void waitForScalars(const Launch& launch);
    void issueKernel(const Launch& launch);
    void issueCopy(const Copy& copy);
    void issueWait(const std::shared_ptr<Mark>& mark);
    template <class Issue>
    bool guarded(LaunchGuard* guard, std::uint32_t step, LaunchTiming* timing, const char* op,
                 double expectedNs, Issue&& issue, const Launch* call = nullptr,
                 std::optional<std::int64_t> virtualNs = {});
    void stayClose(double nextNs);
    void waitForFirst();
    void dropPassed();
    void dropFirst();
    std::shared_ptr<Span> newSpan();

    const GpuResources m_gpu;
    const DeviceProfile& m_profile;
    cudaStream_t m_stream = nullptr;
    std::unique_ptr<Timeline> m_timeline;
    std::unique_ptr<LaunchQueue> m_queue; ///< of a compute stream
    std::shared_ptr<RankCalls> m_calls;   ///< of a stream for calls over ranks
    std::unique_ptr<StreamCopies> m_copies;
    std::unique_ptr<StagingRing> m_ring;

    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Command> m_commands;
    std::uint64_t m_submitted = 0;
    std::uint64_t m_performed = 0;
    std::atomic<std::uint64_t> m_passed{0};

    // Used by the thread only.
    std::unordered_map<std::uint32_t, Seen> m_seen;                        ///< by step
    std::unordered_map<const Launch* const*, std::vector<Piece>> m_pieces; ///< by stretch
    ReplayCounts m_replayed;
    std::deque<Ahead> m_ahead;
    std::shared_ptr<const LentEvent>
        m_lastEnd; ///< the end of the last issued launch; null if a wait follows it
    double m_aheadNs = 0;
    // Learnt as launches pass; pessimistic before.
    std::size_t m_mostAhead = 1; ///< launches
    double m_meanNs = 0;         ///< of a launch
    double m_slowness = 4;       ///< ratio of measured times to the profile's
    std::thread m_thread;
};

} // namespace twb::cuda
