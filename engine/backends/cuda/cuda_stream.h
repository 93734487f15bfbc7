#pragma once

#include "backends/cuda/launch_queue.h"
#include "backends/cuda/timeline.h"
#include "backends/device_profile.h"

#include <condition_variable>
#include <deque>
#include <optional>
#include <thread>

namespace twb::cuda {

/// A queue of one GPU: a CUDA stream, and a thread that feeds it. The thread takes commands in their order,
/// asks the guard just before it issues each, blocks where other backends' events are waited for, and stays
/// at most kAhead in front of the GPU, so that a cancel or a failure finds little that cannot be called back.
class CudaStream final : public Stream {
public:
    /// `profile` must outlive the stream: it says how much work lies before the GPU.
    CudaStream(const GpuResources& gpu, const DeviceProfile& profile, QueueKind kind);
    ~CudaStream() override;

    void prepare(const Launch& launch) override;
    void launch(const Launch& launch) override;
    void copy(const Copy& copy) override;
    void record(Event& event) override;
    void wait(Event& event) override;
    void flush() override {} // the thread takes each command as it comes
    void synchronize() override;
    std::uint64_t passed() const override { return m_passed.load(std::memory_order_relaxed); }
    std::int64_t clock() const override { return m_timeline->clock(); }
    void resetClock(std::int64_t virtualNow) override { m_timeline->resetClock(virtualNow); }

private:
    struct Command {
        enum class Kind : std::uint8_t { launch, copy, record, wait, waitForeign, stop };
        Kind kind = Kind::stop;
        const Launch* launch = nullptr;
        const Copy* copy = nullptr;
        std::shared_ptr<Mark> mark;
        Event* event = nullptr;
        std::uint64_t record = 0;
    };
    /// Issued, and maybe not passed.
    struct Ahead {
        std::shared_ptr<Span> span;
        double expectedNs = 0;
    };
    void push(Command command);
    void work();
    std::optional<Command> next();
    void perform(const Command& command);
    void run(const Launch& launch);
    void run(const Copy& copy);
    void issueKernel(const Launch& launch);
    void issueCopy(const Copy& copy);
    void issueWait(const std::shared_ptr<Mark>& mark);
    template <class Issue>
    void guarded(LaunchGuard* guard, std::uint32_t step, LaunchTiming* timing, const char* op,
                 double expectedNs, Issue&& issue);
    void stayClose(double nextNs);
    void dropPassed();
    void dropFirst();

    const GpuResources m_gpu;
    const DeviceProfile& m_profile;
    cudaStream_t m_stream = nullptr;
    std::unique_ptr<Timeline> m_timeline;
    std::unique_ptr<LaunchQueue> m_queue; ///< of a compute stream
    std::unique_ptr<StreamCopies> m_copies;
    std::unique_ptr<StagingRing> m_ring;

    mutable std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<Command> m_commands;
    std::uint64_t m_submitted = 0;
    std::uint64_t m_performed = 0;
    std::atomic<std::uint64_t> m_passed{0};

    // The thread's own.
    std::deque<Ahead> m_ahead;
    double m_aheadNs = 0;
    // Learnt as launches pass; until then carefully guessed.
    std::size_t m_mostAhead = 1; ///< launches
    double m_meanNs = 0;         ///< of a launch
    double m_slowness = 4;       ///< what launches take against what the profile says
    std::thread m_thread;
};

} // namespace twb::cuda
