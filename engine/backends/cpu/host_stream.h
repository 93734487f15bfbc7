#pragma once

#include "backends/backend.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace twb {

/// The duration of a launch or a copy on the virtual clock. `measuredNs` is its duration on the host.
class DurationModel {
public:
    virtual ~DurationModel() = default;
    virtual std::int64_t launchNs(const Cost& cost, std::int64_t measuredNs) const noexcept = 0;
    virtual std::int64_t copyNs(const Copy& copy, std::int64_t measuredNs) const noexcept = 0;
};

/// A real device: the virtual clock advances by the measured time.
class MeasuredDurations final : public DurationModel {
public:
    std::int64_t launchNs(const Cost&, std::int64_t measuredNs) const noexcept override { return measuredNs; }
    std::int64_t copyNs(const Copy&, std::int64_t measuredNs) const noexcept override { return measuredNs; }
};

/// An event of a host stream.
class HostEvent final : public Event {
public:
    std::uint64_t recorded() const override { return m_submitted; }
    void waitFor(std::uint64_t record) override;
    std::int64_t virtualTime(std::uint64_t record) const override {
        return m_virtualTimes[record % kRemembered].load(std::memory_order_relaxed);
    }
    bool isDone() const override;

private:
    friend class HostStream;
    /// More than the iterations that a loader is ahead of its readers.
    static constexpr std::uint64_t kRemembered = 32;
    std::uint64_t m_submitted = 0;             ///< records submitted; used by the submitting thread only
    std::atomic<std::uint64_t> m_completed{0}; ///< records passed
    std::array<std::atomic<std::int64_t>, kRemembered> m_virtualTimes{};
};

/// A queue with its own worker thread, for the cpu and the simulated accelerators. A command costs a few tens
/// of nanoseconds: a slot in a bounded ring, without an allocation, and without a lock unless the worker
/// sleeps.
class HostStream final : public Stream {
public:
    /// `durations` must outlive the stream. `isSimulated`: of a simulated device, whose kernels use
    /// UncountedMemory.
    explicit HostStream(const DurationModel& durations, bool isSimulated = false);
    ~HostStream() override;

    void launch(const Launch& launch) override;
    void copy(const Copy& copy) override;
    void record(Event& event) override;
    void wait(Event& event) override;
    void flush() override;
    void synchronize() override;
    std::uint64_t passed() const override;
    std::int64_t clock() const override;
    void resetClock(std::int64_t virtualNow) override;

private:
    class Worker;
    std::unique_ptr<Worker> m_worker;
};

/// The host's steady clock, in ns.
std::int64_t steadyNs() noexcept;

} // namespace twb
