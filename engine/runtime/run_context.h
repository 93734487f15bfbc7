#pragma once

#include "backends/cpu/packed_weights.h"
#include "runtime/executor.h"
#include "runtime/run_stops.h"

#include <array>
#include <atomic>
#include <mutex>

namespace twb {

struct RankActivity;

/// Cached results of earlier runs, by the signature of their step.
using ResultCache = std::unordered_map<std::uint64_t, std::vector<Tensor>>;

/// The steps that may still run. A failed step stays failed in all iterations. A cancel is recorded for each
/// iteration in flight (by lap, Plan::lapOf), so that a complete iteration stays complete.
class RunGuard {
public:
    /// `cached`: by step; these steps do not run.
    RunGuard(const Plan& plan, const std::vector<bool>& cached);

    /// The guard for launches of an iteration with this lap.
    LaunchGuard* of(std::size_t lap) noexcept { return &m_sides[lap]; }

    bool mayRun(std::uint32_t step, std::size_t lap) noexcept;
    /// Poisons the steps that read results of failed ones. A GPU can report a failed launch after the readers
    /// of its result have run. What updates among them have written is then invalid, and so are its readers.
    void poisonReaders(std::size_t lap) noexcept;
    /// Whether an update wrote a value after a step before it had failed.
    bool isInvalid(std::uint32_t value) const noexcept {
        return m_invalid[value].load(std::memory_order_acquire);
    }
    /// Steps [first, last) did not run in an iteration of this lap; `state` is the reason.
    void skip(std::uint32_t first, std::uint32_t last, StepState state, std::size_t lap) noexcept;
    /// If there is no memory for the sentence, only the state of an error is kept; errors() then says so.
    void failed(std::uint32_t step, std::size_t lap, std::exception_ptr error) noexcept;
    /// Nothing if the step has failed before, or reads the result of a failed one.
    void fail(std::uint32_t step, ErrorCode code, std::string_view sentence) noexcept;
    void cancel() noexcept;
    bool isCancelled() const noexcept { return m_cancelled.load(std::memory_order_relaxed); }
    bool hasFailed() const noexcept { return m_failed.load(std::memory_order_relaxed); }
    /// Whether a cancel prevented a step of the iteration in flight that has this lap.
    bool wasCut(std::size_t lap) const noexcept { return m_sides[lap].isCut(); }
    /// A step's state in the iteration of this lap: `done` unless it failed, was skipped or cancelled.
    StepState state(std::uint32_t step, std::size_t lap) const noexcept;
    std::vector<StepError> errors() const;

private:
    class Side final : public LaunchGuard {
    public:
        void init(RunGuard& run, std::size_t lap, std::size_t steps);
        bool mayRun(std::uint32_t step) noexcept override { return m_run->mayRun(step, m_lap); }
        void failed(std::uint32_t step, std::exception_ptr error) noexcept override {
            m_run->failed(step, m_lap, std::move(error));
        }
        void failedLate(std::uint32_t step, std::exception_ptr error) noexcept override {
            m_run->m_isLate = true;
            failed(step, std::move(error));
        }
        void cut(std::uint32_t step) noexcept;
        bool isCut() const noexcept { return m_isCut.load(std::memory_order_acquire); }
        bool isCut(std::uint32_t step) const noexcept { return m_cut[step].load(std::memory_order_acquire); }

    private:
        RunGuard* m_run = nullptr;
        std::size_t m_lap = 0;
        std::vector<std::atomic<bool>> m_cut; ///< by step: prevented by a cancel
        std::atomic<bool> m_isCut{false};
    };

    void raiseAlert() noexcept;
    /// False, and the step is poisoned, if an input was not computed or is invalid.
    bool hasInputs(std::uint32_t step) noexcept;
    void poison(std::uint32_t step) noexcept;

    const Plan& m_plan;
    const std::vector<bool>& m_cached;
    std::vector<Side> m_sides;                    ///< by lap
    std::vector<std::atomic<StepState>> m_states; ///< by step: done, failed, poisoned or skipped
    std::vector<std::atomic<bool>> m_invalid;     ///< by value
    std::atomic<bool> m_isLate{false};            ///< a failure became known after readers of the result
    std::atomic<bool> m_cancelled{false};
    std::atomic<bool> m_failed{false};
    std::atomic<std::uint32_t> m_failures{0};
    std::atomic<std::uint32_t> m_followed{0}; ///< failures whose readers are poisoned
    std::mutex m_turn; ///< for host kernels beside a simulated device, whose kernels use the same cores
    mutable std::mutex m_mutex;
    std::vector<StepError> m_errors;
};

/// One run of a plan: its streams, its memory, and the loop that submits iterations. Plan::inFlight
/// iterations are in flight: the copies of one overlap the compute of another, and the timings and events of
/// the previous one can be read.
class RunContext {
public:
    RunContext(std::uint64_t run, std::shared_ptr<const Plan> plan, RunOptions options, RunObserver* observer,
               ResultCache* cache);
    ~RunContext();

    std::uint64_t number() const noexcept { return m_run; }
    /// Failures are part of the result. Throws only if the result itself cannot be built.
    RunResult execute();
    void cancel() noexcept {
        m_guard.cancel();
        m_stops.release();
    }
    RunStops& stops() noexcept { return m_stops; }
    /// Like Executor's; may be called from any thread.
    std::optional<Tensor> tensorAtStop(PortRef output) const;
    /// By stream; may be called from any thread while execute() runs.
    std::vector<std::uint32_t> runningSteps() const;

private:
    struct Operands {
        std::vector<TensorView> inputs;
        std::vector<TensorView> outputs;
    };
    struct StepSlot {
        std::vector<Operands> operands; ///< by lap if it uses memory written ahead, else one for all
        std::vector<std::uint32_t> hostScalars;
        StepMemory memory;
        // By lap: one may still be queued while the next is submitted.
        std::vector<Launch> launch;
        std::vector<Copy> copy;
        std::vector<std::uint64_t> moved; ///< by lap: the bytes of a transfer
    };

    /// Steps that are the same in each iteration, and their launches by lap.
    struct Stretch {
        std::vector<std::uint32_t> steps;
        std::vector<std::vector<const Launch*>> launches;
    };

    void allocate();
    void submit(std::uint32_t step, std::size_t lap);
    void markSubmitted(std::uint32_t step, std::size_t lap) noexcept;
    void findStretches();
    void submitStretch(const Stretch& stretch, std::size_t lap);
    void waitForEarlierIterations(const Step& step);
    void prepare();
    void runSetup();
    void submitIteration(std::int64_t iteration);
    void finishIteration(std::int64_t iteration);
    void synchronizeAll();
    std::int64_t rest();
    void refuseOpaque();
    void iterate();
    void runLastSteps();
    void drain() noexcept;
    // In run_launches.cpp.
    void bind(std::uint32_t step);
    Operands operandsOf(const Step& step, std::size_t lap) const;
    void bindOp(const Step& step, StepSlot& slot);
    void bindCopy(const Step& step, StepSlot& slot);
    void resolve(std::uint32_t step);
    // In run_weights.cpp.
    void handOverWeights();
    PackedWeights::Load reloading(std::uint32_t source) const;
    // In run_results.cpp.
    std::uint64_t cacheKey(const Step& step) const;
    void useCache();
    void takeState();
    void collectFailures();
    /// The steps of bodies of `owner` in that range, or, by default, the steps outside all bodies.
    void collect(std::uint32_t first, std::uint32_t last, std::int64_t iteration, std::size_t lap,
                 std::uint32_t owner = kNone, std::uint32_t body = 0);
    StepRecord recordOf(std::uint32_t step, std::int64_t iteration, std::size_t lap) const;
    StepState stateOf(std::uint32_t step, std::size_t lap) const;
    std::uint64_t bytesOfCollective(const Step& step) const;
    Tensor tensorOf(std::uint32_t value) const;
    void keepResults(RunResult& result);
    // In run_stops.cpp.
    void stopBefore(std::uint32_t step);
    void stopAfter(std::uint32_t step);
    void standStill(std::uint32_t step, bool after, std::string found);
    std::optional<std::string> decide(const Breakpoints& breakpoints,
                                      const std::vector<std::uint32_t>& values);
    std::optional<std::string> lookAt(const std::vector<std::uint32_t>& values,
                                      const Breakpoint& breakpoint) const;
    bool isReached(std::uint32_t step) const;
    bool isTimeToLook();
    void lookAtWatched();
    void copyState();
    std::optional<Tensor> ownCopy(std::uint32_t value) const;
    std::optional<Tensor> onHost(std::uint32_t value) const;
    // In run_control.cpp.
    void runControl(std::uint32_t step, std::size_t lap);
    void runBranch(const Step& step, const PlanControl& control, std::size_t lap);
    void repeat(const Step& step, const PlanControl& control, std::size_t lap);
    bool runBody(const Step& step, std::uint32_t body, std::size_t lap);
    std::int64_t slicesOf(const PlanBody& body) const;
    void setState(const Step& step, const PlanState& state, std::int64_t iteration,
                  const std::vector<Tensor>& carried);
    void give(const Step& step, std::size_t port, const std::vector<Tensor>& parts, const PlanStack* stack);
    Tensor launchInto(std::uint32_t step, std::uint32_t stream, const char* op,
                      const std::vector<TensorView>& inputs, TensorType type, const Attributes& given);
    void launchTo(std::uint32_t step, std::uint32_t stream, const Op& op,
                  const std::vector<TensorView>& inputs, const TensorView& out, const Attributes& given);
    std::int64_t hostInteger(std::uint32_t value, const Attributes& attributes, const char* attribute) const;
    bool isOfWorld(const PlanStream& stream) const;
    void leaveWorld(const RunResult& result) const;
    RankActivity activity() const;
    std::size_t currentLap() const noexcept { return m_plan->lapOf(m_iteration); }
    /// The memory of a value in the current iteration.
    const BufferPtr& bufferOf(std::uint32_t value) const {
        return m_buffers[m_plan->slotOf(value, currentLap())];
    }

    const std::uint64_t m_run;
    const std::shared_ptr<const Plan> m_plan;
    const RunOptions m_options;
    RunObserver* const m_observer;
    ResultCache* const m_cache;
    RunGuard m_guard;
    RunStops m_stops;

    using Events = std::vector<std::unique_ptr<Event>>; ///< by lap
    Events makeEvents(const PlanStream& stream) const;

    std::vector<Events> m_ends;                                        ///< by stream: the end of an iteration
    std::vector<Events> m_events;                                      ///< by step, if others wait for it
    std::vector<BufferPtr> m_buffers;                                  ///< by slot
    std::map<std::uint32_t, std::shared_ptr<PackedWeights>> m_weights; ///< by value; not in m_buffers
    std::vector<TensorType> m_types;                                   ///< by value: the actual types
    std::vector<StepSlot> m_slots;                                     ///< by step
    std::vector<std::vector<LaunchTiming>> m_timings;                  ///< by lap and step
    std::vector<bool> m_cached;                                        ///< by step
    std::vector<StepRecord> m_records;
    std::vector<std::array<bool, 2>> m_bodyRan; ///< by control and body: whether it ran in this iteration
    std::int64_t m_iteration = 0;               ///< being submitted
    std::int64_t m_startNs = 0;
    std::int64_t m_prepareNs = 0;
    std::int64_t m_setupEnd = 0;        ///< on the run's clock
    std::int64_t m_clockEnd = 0;        ///< on the run's clock
    std::int64_t m_submitted = 0;       ///< iterations
    std::int64_t m_completed = 0;       ///< iterations
    std::int64_t m_iterationsStart = 0; ///< on the host's clock
    std::int64_t m_stoppedInSetup = 0;  ///< m_stoppedNs when the iterations began
    std::int64_t m_stoppedNs = 0;       ///< total time stopped so far
    std::vector<std::vector<std::int64_t>>
        m_stoppedAt; ///< by lap and step: m_stoppedNs when it was submitted
    struct StoppedStep {
        std::uint32_t step = 0;
        bool after = false;
    };
    StoppedStep m_stop;                    ///< valid while the run is stopped
    std::vector<std::int64_t> m_reached;   ///< by step: 1 + the iteration in which it was last submitted
    std::map<PortRef, Tensor> m_lastState; ///< RunOptions::lastStateOf
    std::int64_t m_lookNs = 0; ///< when the watched outputs are reported next, on the host's clock

    struct StreamOrder {
        std::vector<std::uint32_t> setup;
        std::vector<std::uint32_t> iteration; ///< without cached steps and those of the last iteration
    };
    std::vector<StreamOrder> m_order;
    std::vector<std::atomic<std::uint64_t>> m_sent; ///< by stream: the launches and copies given to it so far

    std::vector<Stretch> m_stretches;
    std::vector<std::uint32_t> m_stretchOf; ///< by step; kNone: launched individually

    std::uint32_t m_submitting = 0; ///< the step to which an error of the submission belongs
    std::vector<Device> m_devices;  ///< of the streams, without duplicates
    std::vector<std::unique_ptr<Stream>>
        m_streams; ///< last member: they use all members above until they end
};

} // namespace twb
