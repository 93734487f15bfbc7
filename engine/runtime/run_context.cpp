#include "runtime/run_context.h"

#include "backends/cpu/host_stream.h"
#include "backends/world.h"
#include "core/peak_gauge.h"
#include "ops/opaque.h"
#include "runtime/joined_devices.h"
#include "runtime/stretches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

/// Tells a world of several ranks what this rank does, while it exists.
class ActivityShown {
public:
    ActivityShown(World& world, std::function<RankActivity()> activity) : m_world(world) {
        if (world.size() > 1) world.setActivity(std::move(activity));
    }
    ~ActivityShown() {
        if (m_world.size() > 1) m_world.setActivity({});
    }
    ActivityShown(const ActivityShown&) = delete;
    ActivityShown& operator=(const ActivityShown&) = delete;

private:
    World& m_world;
};

} // namespace

RunContext::RunContext(std::uint64_t run, std::shared_ptr<const Plan> plan, RunOptions options,
                       RunObserver* observer, ResultCache* cache)
    : m_run(run), m_plan(std::move(plan)), m_options(std::move(options)), m_observer(observer),
      m_cache(cache), m_guard(*m_plan, m_cached), m_stops(m_options.breakpoints) {
    const std::size_t steps = m_plan->steps.size();
    for (const PlanStream& stream : m_plan->streams) {
        if (std::find(m_devices.begin(), m_devices.end(), stream.device) == m_devices.end())
            m_devices.push_back(stream.device);
        Backend& backend = m_plan->devices.at(stream.device);
        m_streams.push_back(isOfWorld(stream) ? m_plan->devices.world().createStream()
                                              : backend.createStream(stream.queue));
        m_ends.push_back(makeEvents(stream));
    }
    for (const PlanValue& value : m_plan->values) m_types.push_back(value.type);
    m_timings.assign(m_plan->inFlight, std::vector<LaunchTiming>(steps));
    m_stoppedAt.assign(m_plan->inFlight, std::vector<std::int64_t>(steps));
    m_reached.resize(steps);
    m_events.resize(steps);
    m_slots.resize(steps);
    m_cached.resize(steps, false);
    m_buffers.resize(m_plan->slots.size());
    m_bodyRan.resize(m_plan->controls.size());
    useCache();
    takeState();
    m_order.resize(m_streams.size());
    m_sent = std::vector<std::atomic<std::uint64_t>>(m_streams.size());
    for (const Step& step : m_plan->steps) {
        if (step.recorded) m_events[step.index] = makeEvents(m_plan->streams[step.stream]);
        if (step.last || m_cached[step.index] || !m_plan->controls.empty()) continue;
        auto& order = m_order[step.stream];
        (step.setup ? order.setup : order.iteration).push_back(step.index);
    }
}

RunContext::~RunContext() { drain(); }

/// Whether the world makes the calls of a stream, not a device.
bool RunContext::isOfWorld(const PlanStream& stream) const {
    return stream.queue == QueueKind::collective && !makesCalls(m_plan->devices, stream.device);
}

RunContext::Events RunContext::makeEvents(const PlanStream& stream) const {
    // The streams of a world are host streams.
    Backend& backend = m_plan->devices.at(isOfWorld(stream) ? Device::cpu() : stream.device);
    Events out;
    for (std::uint32_t lap = 0; lap < m_plan->inFlight; ++lap) out.push_back(backend.createEvent());
    return out;
}

/// Waits until no stream uses the run's memory. Streams may wait for each other's events, so all are flushed
/// before the first wait.
void RunContext::drain() noexcept {
    const auto each = [this](auto&& call) noexcept {
        for (auto& stream : m_streams) {
            try {
                call(*stream);
            } catch (...) { // a lost device has no running work
            }
        }
    };
    each([](Stream& stream) { stream.flush(); });
    each([](Stream& stream) { stream.synchronize(); });
}

void RunContext::allocate() {
    for (const Device device : m_plan->devices.devices()) m_plan->devices.at(device).memory().beginPeak();
    // The results of earlier runs that this run uses are part of its peak; all others are not.
    for (const BufferPtr& reused : m_buffers)
        if (auto* buffer = dynamic_cast<GaugedBuffer*>(reused.get())) buffer->renew();
    // By slot: the first step that writes it, to which an allocation failure belongs. Laps that the run does
    // not reach need no memory.
    const auto laps = static_cast<std::size_t>(std::max<std::int64_t>(m_options.iterations, 1));
    std::vector<std::uint32_t> writer(m_plan->slots.size(), kNone);
    for (const Step& step : m_plan->steps)
        for (std::uint32_t v : step.outputs)
            for (std::size_t lap = 0; lap < std::min(m_plan->memoriesOf(v), laps); ++lap)
                if (std::uint32_t& first = writer[m_plan->slotOf(v, lap)]; first == kNone) first = step.index;
    for (std::size_t i = 0; i < m_buffers.size(); ++i) {
        const PlanSlot& slot = m_plan->slots[i];
        if (m_buffers[i] || slot.bytes == 0 || writer[i] == kNone) continue;
        try {
            m_buffers[i] =
                m_plan->devices.memoryFor(slot.device, slot.memory).allocate(slot.bytes, slot.memory);
        } catch (const Error& e) {
            // Fails every step that writes the slot; independent steps continue.
            for (const Step& step : m_plan->steps)
                if (std::ranges::any_of(step.outputs,
                                        [&](std::uint32_t v) { return m_plan->usesSlot(v, i); }))
                    m_guard.fail(step.index, e.code(), e.what());
        }
    }
}

void RunContext::submit(std::uint32_t index, std::size_t lap) {
    const Step& step = m_plan->steps[index];
    Stream& stream = *m_streams[step.stream];
    m_submitting = index;
    if (m_stops.isArmed()) stopBefore(index);
    markSubmitted(index, lap);
    for (std::uint32_t other : step.waits) stream.wait(*m_events[other][lap]);
    if (step.control != kNone) {
        runControl(index, lap);
    } else if (!m_cached[index]) {
        if (step.dynamic) {
            // The launch of the previous iteration is rewritten, so it must have passed.
            stream.synchronize();
            resolve(index);
        }
        StepSlot& slot = m_slots[index];
        m_sent[step.stream].fetch_add(1, std::memory_order_relaxed);
        if (step.op) {
            slot.launch[lap].iteration = m_options.firstIteration + (step.setup ? 0 : m_iteration);
            stream.launch(slot.launch[lap]);
        } else {
            stream.copy(slot.copy[lap]);
        }
    }
    if (step.recorded) stream.record(*m_events[index][lap]);
    if (m_stops.isArmed()) stopAfter(index);
}

void RunContext::markSubmitted(std::uint32_t step, std::size_t lap) noexcept {
    m_stoppedAt[lap][step] = m_stoppedNs;
    m_reached[step] = m_iteration + 1;
}

/// CUDA graphs pay off only after several iterations.
void RunContext::findStretches() {
    constexpr std::int64_t kLeastIterations = 8;
    m_stretchOf.assign(m_plan->steps.size(), kNone);
    if (!m_options.cudaGraphs || m_options.iterations < kLeastIterations) return;
    for (std::vector<std::uint32_t>& steps : stretchesOf(*m_plan)) {
        Stretch stretch;
        stretch.launches.resize(m_plan->inFlight);
        for (const std::uint32_t step : steps) {
            m_stretchOf[step] = static_cast<std::uint32_t>(m_stretches.size());
            for (std::size_t lap = 0; lap < m_plan->inFlight; ++lap)
                stretch.launches[lap].push_back(&m_slots[step].launch[lap]);
        }
        stretch.steps = std::move(steps);
        m_stretches.push_back(std::move(stretch));
    }
}

/// Only the first step of a stretch waits for other streams, and these wait only for the last step.
void RunContext::submitStretch(const Stretch& stretch, std::size_t lap) {
    const Step& first = m_plan->steps[stretch.steps.front()];
    const Step& last = m_plan->steps[stretch.steps.back()];
    Stream& stream = *m_streams[first.stream];
    for (const std::uint32_t step : stretch.steps) markSubmitted(step, lap);
    for (std::uint32_t other : first.waits) stream.wait(*m_events[other][lap]);
    m_sent[first.stream].fetch_add(stretch.steps.size(), std::memory_order_relaxed);
    stream.launchStretch(stretch.launches[lap]);
    if (last.recorded) stream.record(*m_events[last.index][lap]);
}

void RunContext::waitForEarlierIterations(const Step& step) {
    const auto waitFor = [&](const std::vector<std::uint32_t>& others, std::int64_t iteration) {
        if (iteration < 0) return;
        for (const std::uint32_t other : others)
            m_streams[step.stream]->wait(*m_events[other][m_plan->lapOf(iteration)]);
    };
    waitFor(step.carriedWaits, m_iteration - 1);
    waitFor(step.lapWaits, m_iteration - m_plan->inFlight);
}

void RunContext::synchronizeAll() {
    for (auto& stream : m_streams) stream->flush();
    for (auto& stream : m_streams) stream->synchronize();
}

/// Waits until all streams are idle, and synchronises their virtual clocks. Returns the clock.
std::int64_t RunContext::rest() {
    synchronizeAll();
    std::int64_t latest = 0;
    for (auto& stream : m_streams) latest = std::max(latest, stream->clock());
    for (auto& stream : m_streams) stream->resetClock(latest);
    return latest;
}

/// Work that would otherwise delay the first iteration.
void RunContext::prepare() {
    for (const Step& step : m_plan->steps) {
        if (!step.chain || m_guard.isCancelled()) continue;
        const Device device = m_plan->streams[step.stream].device;
        const bool compiles = device.isCuda() && !m_plan->devices.isSimulated(device);
        const std::int64_t start = steadyNs();
        try {
            m_streams[step.stream]->prepare(m_slots[step.index].launch[0]);
        } catch (const Error& e) {
            m_guard.fail(step.index, e.code(), e.what());
        }
        if (compiles) m_prepareNs += steadyNs() - start;
    }
}

void RunContext::runSetup() {
    for (std::uint32_t i = 0; i < m_plan->setupSteps; ++i) submit(i, 0);
    // All streams start the first iteration at the same virtual time.
    const std::int64_t latest = rest();
    m_setupEnd = m_plan->virtualClock ? latest : steadyNs() - m_startNs - m_stoppedNs;
    m_clockEnd = m_setupEnd;
    collect(0, m_plan->setupSteps, 0, 0);
    handOverWeights();
}

void RunContext::submitIteration(std::int64_t iteration) {
    const std::size_t lap = m_plan->lapOf(iteration);
    const bool isLast = iteration + 1 == m_options.iterations;
    const auto steps = static_cast<std::uint32_t>(m_plan->steps.size());
    const bool mayStop = m_stops.isArmed(); // between any two steps
    m_iteration = iteration;
    for (auto& ran : m_bodyRan) ran = {};
    for (std::uint32_t i = m_plan->setupSteps; i < steps; ++i) {
        const Step& step = m_plan->steps[i];
        if (step.owner != kNone || (step.last && !isLast)) continue;
        const bool isAlone = mayStop || m_stretchOf[i] == kNone;
        const Stretch* stretch = isAlone ? nullptr : &m_stretches[m_stretchOf[i]];
        if (stretch && stretch->steps.front() != i) continue;
        waitForEarlierIterations(step);
        if (stretch)
            submitStretch(*stretch, lap);
        else
            submit(i, lap);
    }
    for (std::size_t s = 0; s < m_streams.size(); ++s) {
        m_streams[s]->record(*m_ends[s][lap]);
        m_streams[s]->flush();
    }
}

void RunContext::finishIteration(std::int64_t iteration) {
    const std::size_t lap = m_plan->lapOf(iteration);
    for (auto& ends : m_ends) ends[lap]->synchronize();
    collect(m_plan->setupSteps, static_cast<std::uint32_t>(m_plan->steps.size()), iteration, lap);
    if (m_guard.wasCut(lap) || m_guard.hasFailed()) return;
    m_completed = iteration + 1;
    if (m_observer) m_observer->progress(m_run, m_completed, m_options.iterations);
}

/// The other ranks must not wait for calls that this one will not make: those of the plan, or those after the
/// run, in which the ranks report.
void RunContext::leaveWorld(const RunResult& result) const {
    World& world = m_plan->devices.world();
    if (world.size() == 1 || world.info().simulated || result.status == RunStatus::finished) return;
    world.abort(result.status == RunStatus::cancelled
                    ? fmt::format("rank {} was cancelled", world.rank())
                    : fmt::format("rank {} failed: {}", world.rank(),
                                  result.errors.empty() ? "unknown error" : result.errors.front().message));
}

/// What this rank does, for the others.
RankActivity RunContext::activity() const {
    RankActivity out;
    out.isRunning = true;
    for (const auto& stream : m_streams) out.progress += stream->passed();
    const std::vector<std::uint32_t> running = runningSteps();
    for (std::size_t s = 0; s < running.size(); ++s) {
        if (running[s] == kNone) continue;
        // A step that waits for another stream is not what the rank does.
        if (out.node.empty() || m_plan->streams[s].queue == QueueKind::compute)
            out.node = m_plan->steps[running[s]].label;
    }
    return out;
}

void RunContext::iterate() {
    allocate();
    for (const Step& step : m_plan->steps) {
        m_submitting = step.index;
        if (!step.dynamic) bind(step.index);
    }
    prepare();
    runSetup();
    findStretches();
    m_stoppedInSetup = m_stoppedNs;
    m_iterationsStart = steadyNs();
    std::int64_t finished = 0;
    const auto isEnough = [&] { return m_options.stop && m_options.stop->load(std::memory_order_relaxed); };
    while (m_submitted < m_options.iterations && !m_guard.isCancelled() && !isEnough() &&
           !(m_submitted > 0 && m_guard.hasFailed())) {
        if (m_submitted > 0 && m_submitted + 1 == m_options.iterations && !m_options.lastStateOf.empty()) {
            while (finished < m_submitted) finishIteration(finished++);
            if (m_guard.hasFailed()) break;
            copyState();
        }
        submitIteration(m_submitted++);
        // A body is reported while it runs: before it, the previous iteration must be.
        if (m_submitted - finished == m_plan->inFlight || !m_plan->controls.empty())
            finishIteration(finished++);
        if (!isTimeToLook()) continue;
        while (finished < m_submitted) finishIteration(finished++);
        lookAtWatched();
    }
    while (finished < m_submitted) finishIteration(finished++);
    if (m_submitted > 0 && m_submitted < m_options.iterations && m_guard.hasFailed()) runLastSteps();
    synchronizeAll();
}

/// After a failure no further iteration starts. The steps of the last iteration that do not depend on the
/// failed step (a Save of another branch) then read the results of the last submitted iteration.
void RunContext::runLastSteps() {
    const std::size_t lap = currentLap();
    const auto isWanted = [](const Step& step) { return step.last && step.owner == kNone; };
    for (const Step& step : m_plan->steps)
        if (isWanted(step)) submit(step.index, lap);
    m_clockEnd = std::max(m_clockEnd, rest());
    collectFailures();
    m_records.clear();
    for (const Step& step : m_plan->steps)
        if (isWanted(step)) m_records.push_back(recordOf(step.index, m_iteration, lap));
    if (m_observer && !m_records.empty()) m_observer->steps(m_run, m_records);
}

/// A plan with nodes that cannot run fails before its first step.
void RunContext::refuseOpaque() {
    for (const Step& step : m_plan->steps)
        if (step.op && isOpaque(*step.op))
            m_guard.fail(step.index, ErrorCode::unsupported, opaqueSentence({}, step.attributes));
    if (m_guard.hasFailed()) m_guard.cancel();
}

RunResult RunContext::execute() {
    m_startNs = m_iterationsStart = steadyNs();
    if (m_observer) m_observer->started(m_run, *m_plan, m_startNs);
    refuseOpaque();
    const ActivityShown shown(m_plan->devices.world(), [this] { return activity(); });
    try {
        iterate();
    } catch (...) {
        // The submission failed: queued work is not worth running.
        if (!m_plan->steps.empty()) m_guard.failed(m_submitting, currentLap(), std::current_exception());
        m_guard.cancel();
        drain();
        collectFailures();
    }

    RunResult result;
    result.run = m_run;
    result.stoppedNs = m_stoppedNs;
    result.wallNs = steadyNs() - m_iterationsStart - (m_stoppedNs - m_stoppedInSetup);
    result.prepareNs = m_prepareNs;
    result.setupNs = m_iterationsStart - m_startNs - m_prepareNs - m_stoppedInSetup;
    result.clockNs = m_plan->virtualClock ? m_clockEnd - m_setupEnd : result.wallNs;
    result.iterations = m_completed;
    result.requested = m_options.iterations;
    for (const auto& stream : m_streams) result.replayed += stream->replayed();
    result.errors = m_guard.errors();
    result.status = m_guard.hasFailed()     ? RunStatus::failed
                    : m_guard.isCancelled() ? RunStatus::cancelled
                                            : RunStatus::finished;
    for (const Step& step : m_plan->steps) {
        StepState state = stateOf(step.index, currentLap());
        if (state == StepState::done && !isReached(step.index)) state = StepState::cancelled;
        result.states.push_back(state);
    }
    leaveWorld(result);
    keepResults(result);
    result.lastState = std::move(m_lastState);
    for (Device device : m_plan->devices.devices())
        result.memory.emplace_back(device, m_plan->devices.at(device).memory().stats());
    return result;
}

std::vector<std::uint32_t> RunContext::runningSteps() const {
    std::vector<std::uint32_t> out(m_streams.size(), kNone);
    for (std::size_t s = 0; s < m_streams.size(); ++s) {
        const StreamOrder& order = m_order[s];
        const std::uint64_t passed = m_streams[s]->passed();
        if (passed >= m_sent[s].load(std::memory_order_relaxed)) continue; // it has no work
        if (passed < order.setup.size())
            out[s] = order.setup[passed];
        else if (!order.iteration.empty())
            out[s] = order.iteration[(passed - order.setup.size()) % order.iteration.size()];
    }
    return out;
}

} // namespace twb
