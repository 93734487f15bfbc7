#pragma once

#include "graph/breakpoint.h"
#include "runtime/plan.h"

#include <atomic>
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
    cached, ///< not run: the result of an earlier run is still valid
    failed,
    skipped,   ///< not run: its body did not run, for example the other branch of an If
    poisoned,  ///< not run: an input failed
    cancelled, ///< not run: the run was cancelled
};
std::string_view name(StepState state) noexcept;

/// A finished step of one iteration. Times in ns from the start of the run, on the run's clock
/// (Plan::virtualClock). Only `done` has times.
struct StepRecord {
    std::uint32_t step = 0;
    std::uint32_t iteration = 0; ///< 0 also for setup steps
    StepState state = StepState::pending;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    /// For a copy: the time in the queue with its tensor ready. Nothing if the tensor was not made in this
    /// iteration (setup, results of earlier runs).
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

/// The result of a run.
struct RunResult {
    RunStatus status = RunStatus::finished;
    std::uint64_t run = 0;
    std::int64_t iterations = 0;   ///< completed
    std::int64_t requested = 0;    ///< iterations that the run was started with; 0: unknown
    std::vector<StepState> states; ///< by step, of the last iteration; empty if memory was short
    std::vector<StepError> errors;
    std::int64_t stoppedNs = 0; ///< time stopped at breakpoints; not part of any other time
    std::int64_t wallNs = 0;    ///< iterations only, on the host's clock
    std::int64_t clockNs = 0;   ///< the same on the run's clock
    std::int64_t setupNs = 0;   ///< setup steps, on the host's clock
    ReplayCounts replayed;      ///< by all streams
    std::int64_t prepareNs =
        0; ///< before the iterations: compilation of kernels for this plan; 0 if there were none
    std::vector<std::pair<PortRef, Tensor>> tensors; ///< kept values, on their devices
    /// Host copies of RunOptions::lastStateOf. Empty if the run ended earlier or memory was short.
    std::map<PortRef, Tensor> lastState;
    std::vector<std::pair<Device, MemoryStats>> memory;

    const Tensor* tensor(PortRef output) const noexcept;
};

/// A stopped run: nothing runs on any device.
struct RunStop {
    std::uint64_t run = 0;
    std::uint32_t step = 0;
    std::int64_t iteration = 0; ///< 0 also for setup steps
    bool after = false;         ///< the step has run; else it is next
    std::string found; ///< for a breakpoint that reads a tensor: "max is 3.2", of the first one that applies
    /// By step, of this iteration; steps that have not run are pending. Setup steps keep their final state.
    std::vector<StepState> states;
};

enum class AtStop : std::uint8_t {
    wait, ///< for Executor::proceed(), step() or cancel()
    goOn,
    end, ///< like cancel()
};

/// Receives the events of a run on the executor's threads. Must be fast and must not call the executor.
class RunObserver {
public:
    virtual ~RunObserver() = default;
    /// `startNs`: on the steady clock, the time from which measured records count.
    virtual void started(std::uint64_t run, const Plan& plan, std::int64_t startNs) = 0;
    /// Finished steps, one batch per iteration, and one of the sinks after a failure. All steps of a
    /// cancelled iteration are reported as cancelled. Bodies of If, Loop and Scan are reported each time that
    /// they end.
    virtual void steps(std::uint64_t run, std::span<const StepRecord> records) = 0;
    /// Completed iterations.
    virtual void progress(std::uint64_t run, std::int64_t done, std::int64_t total) = 0;
    /// The run has reached a breakpoint, or the step after one. In runToEnd() the answer must not be `wait`:
    /// nobody could continue the run.
    virtual AtStop stopped(const RunStop& stop);
    /// Host copies of RunOptions::watched, after a completed iteration and about ten times a second. Outputs
    /// that this iteration did not make are left out.
    virtual void looked(std::uint64_t run, std::vector<std::pair<PortRef, Tensor>> values);
    /// Called in any case. The result is moved, since there may be no memory for a copy.
    virtual void finished(RunResult result) noexcept = 0;
};

struct RunOptions {
    std::int64_t iterations = 1;
    /// Keep and use results of earlier runs; only for a single iteration, since several are a measurement.
    bool cache = false;
    /// Allow GPUs to use TF32 (10 bits of fraction) for f32 matrix products and convolutions, which is
    /// several times faster.
    bool allowTf32 = false;
    /// Allow GPUs to launch repeated stretches of steps as CUDA graphs (stretches.h).
    bool cudaGraphs = true;
    /// Disabled ones do not count. A run with breakpoints uses no cached results, so that it reaches them.
    std::map<NodeId, Breakpoints> breakpoints{};
    /// Outputs to report during a run of several iterations, if the plan keeps them and they have one
    /// element. To read them, the run lets its streams become idle between two iterations; the time of
    /// reading is in no figure.
    std::vector<PortRef> watched{};
    /// Tensors to use instead of what a source makes, by the source's output, on the source's device: those
    /// that an earlier run of the same graph has updated. The run updates them in place.
    std::map<PortRef, Tensor> state{};
    /// Outputs that the run updates in place, to be copied as they are before the last of several iterations
    /// (RunResult::lastState). For the copies, the run lets its streams become idle; the time of copying is
    /// in no figure.
    std::vector<PortRef> lastStateOf{};
    /// The number of iterations before this run, for ops that depend on it (Op::readsIteration).
    std::int64_t firstIteration = 0;
    /// If set to true during the run, no further iteration starts. The run then ends as finished, without the
    /// steps that belong to the last iteration (Save).
    const std::atomic<bool>* stop = nullptr;
};

/// Runs plans on its own thread, one at a time. start() and cancel() return at once; the destructor cancels
/// and waits. Only one thread may call its methods at a time.
class Executor {
public:
    Executor();
    ~Executor();

    /// Returns the run's number. Throws Error(invalidArgument) while a run is in progress. `observer` must
    /// live until finished() was called.
    std::uint64_t start(std::shared_ptr<const Plan> plan, const RunOptions& options, RunObserver& observer);
    /// Takes effect within one kernel. Steps that have not started are reported as cancelled.
    void cancel();
    bool isRunning() const;
    /// Replaces the run's breakpoints. No effect without a run.
    void setBreakpoints(const std::map<NodeId, Breakpoints>& breakpoints);
    /// Continues from a stop to the next breakpoint.
    void proceed();
    /// Continues from a stop to the end of the next step.
    void step();
    /// While the run is stopped: a host copy of an output that was made in this iteration (or before all
    /// iterations) and is still in memory. That holds for all kept values, for the step before which the run
    /// is stopped its inputs, and for the step after which it is stopped its output. Throws Error.
    std::optional<Tensor> tensorAtStop(PortRef output) const;
    /// By stream of the running plan: its current step, kNone if it is idle. Empty without a run. For views
    /// that query it once a frame; it costs the run nothing.
    std::vector<std::uint32_t> runningSteps() const;
    /// Blocks until no run is in progress.
    void wait();
    /// Clears the cache of results.
    void clearCache();

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

/// Runs a plan to its end on behalf of the calling thread and returns the result.
RunResult runToEnd(std::shared_ptr<const Plan> plan, const RunOptions& options,
                   RunObserver* observer = nullptr);

/// A dense host copy of a tensor on any device; free if it is such a tensor already. Throws Error.
Tensor toHost(const Tensor& tensor, const DeviceMap& devices);
/// A copy of a dense host tensor, in new memory of a device. Throws Error.
Tensor toDevice(const Tensor& host, Device device, const DeviceMap& devices);

} // namespace twb
