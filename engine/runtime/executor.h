#pragma once

#include "graph/breakpoint.h"
#include "runtime/plan.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

enum class StepState : std::uint8_t {
    pending,
    running,
    done,
    cached, ///< not run: the result of an earlier run still holds
    failed,
    skipped,   ///< not run: it stands in a body that did not run, such as the other branch of an If
    poisoned,  ///< not run: an input failed
    cancelled, ///< not run: somebody stopped the run
};
std::string_view name(StepState state) noexcept;

/// One step of one iteration, after it ended. Times in ns from the run's start, on the run's clock
/// (Plan::virtualClock). Only `done` has times.
struct StepRecord {
    std::uint32_t step = 0;
    std::uint32_t iteration = 0; ///< 0 also for setup steps
    StepState state = StepState::pending;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    /// Of a copy: between its tensor being there and its start, because the queue was busy. Nothing where
    /// this iteration did not make the tensor (setup, results of an earlier run): since when it waited has no
    /// answer.
    std::optional<std::int64_t> waitNs;
    std::uint64_t bytes = 0; ///< copied, for a transfer
};

struct StepError {
    std::uint32_t step = 0; ///< kNone: the run as a whole
    NodeId node = NodeId::none;
    ErrorCode code = ErrorCode::failed;
    std::string message; ///< a sentence that names the node
};

enum class RunStatus : std::uint8_t { finished, failed, cancelled };

/// How a run ended.
struct RunResult {
    RunStatus status = RunStatus::finished;
    std::uint64_t run = 0;
    std::int64_t iterations = 0;   ///< completed
    std::vector<StepState> states; ///< by step, of the last iteration; none where memory was short
    std::vector<StepError> errors;
    std::int64_t stoppedNs = 0; ///< it stood still at breakpoints; part of no other time
    std::int64_t wallNs = 0;    ///< iterations only, on the host's clock
    std::int64_t clockNs = 0;   ///< the same on the run's clock
    std::int64_t setupNs = 0;   ///< setup steps, on the host's clock
    ReplayCounts replayed;      ///< by all streams
    std::int64_t prepareNs = 0; ///< before these: kernels compiled for this plan; 0 where it has none such
    std::vector<std::pair<PortRef, Tensor>> tensors; ///< kept values, where they live
    std::vector<std::pair<Device, MemoryStats>> memory;

    const Tensor* tensor(PortRef output) const noexcept;
};

/// A run that stands still: nothing of it runs, on any device.
struct RunStop {
    std::uint64_t run = 0;
    std::uint32_t step = 0;
    std::int64_t iteration = 0; ///< 0 also for setup steps
    bool after = false;         ///< the step has run; else it comes next
    std::string found;          ///< by a breakpoint that looks: "max is 3.2"; the first, where several do
    /// By step, of this iteration: pending what is still to come. Setup steps stay as they ended.
    std::vector<StepState> states;
};

enum class AtStop : std::uint8_t {
    wait, ///< for Executor::proceed(), step() or cancel()
    goOn,
    end, ///< as cancel()
};

/// Hears of a run, on the executor's threads: be quick, and never call back into the executor.
class RunObserver {
public:
    virtual ~RunObserver() = default;
    virtual void started(std::uint64_t run, const Plan& plan) = 0;
    /// Ended steps, a batch an iteration. An iteration that a cancel cut short counts as cancelled in all of
    /// its steps; only bodies of If, Loop and Scan are reported each time that they end.
    virtual void steps(std::uint64_t run, std::span<const StepRecord> records) = 0;
    /// Completed iterations.
    virtual void progress(std::uint64_t run, std::int64_t done, std::int64_t total) = 0;
    /// The run has come to a breakpoint, or to the step after one. runToEnd() must not be told to wait:
    /// nobody could wake it.
    virtual AtStop stopped(const RunStop& stop);
    /// Comes in any case, and moves the result along: there may be no memory left to copy it.
    virtual void finished(RunResult result) noexcept = 0;
};

struct RunOptions {
    std::int64_t iterations = 1;
    /// Keep and use results of earlier runs; only for a single iteration (more are a measurement).
    bool cache = false;
    /// Let GPUs multiply and convolve f32 with 10 bits behind the point, which is several times as fast on
    /// those that have TF32; nothing else is rounded.
    bool allowTf32 = false;
    /// Let GPUs launch stretches of steps that repeat as CUDA graphs (stretches.h).
    bool cudaGraphs = true;
    /// Disabled ones do not count. A run with any uses no cached results, so that it comes by.
    std::map<NodeId, Breakpoints> breakpoints{};
};

/// Runs plans on a thread of its own, one at a time. start() and cancel() return at once; the destructor
/// cancels and waits. All methods may be called from any one thread at a time.
class Executor {
public:
    Executor();
    ~Executor();

    /// Returns the run's number. Throws Error(invalidArgument) while a run is on. `observer` must live until
    /// finished() was called.
    std::uint64_t start(std::shared_ptr<const Plan> plan, const RunOptions& options, RunObserver& observer);
    /// Takes effect within one kernel. Steps not yet begun are reported as cancelled.
    void cancel();
    bool isRunning() const;
    /// From now on these are the run's breakpoints. Without effect while no run is on.
    void setBreakpoints(const std::map<NodeId, Breakpoints>& breakpoints);
    /// From a stop to the next breakpoint.
    void proceed();
    /// From a stop to the end of the next step, whatever it is.
    void step();
    /// While the run stands still: a copy on the host of an output that was made in this iteration (or before
    /// them all) and still lies in its memory, as it does of all that the plan keeps and of the step that was
    /// stopped after, and of the inputs of the one that was stopped before. Throws Error.
    std::optional<Tensor> tensorAtStop(PortRef output) const;
    /// By stream of the running plan: the step it is at, kNone when it is idle. Empty when no run is on. For
    /// views that ask once a frame; the run pays nothing for it.
    std::vector<std::uint32_t> runningSteps() const;
    /// Blocks until no run is on.
    void wait();
    /// Forgets all cached results.
    void clearCache();

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Runs a plan to its end on the calling thread's behalf and returns how it ended.
RunResult runToEnd(std::shared_ptr<const Plan> plan, const RunOptions& options,
                   RunObserver* observer = nullptr);

/// A dense copy on the host of a tensor anywhere; free when it is there already. Throws Error.
Tensor toHost(const Tensor& tensor, const DeviceMap& devices);

} // namespace twb
