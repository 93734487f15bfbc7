#include "runtime/run_stops.h"

#include "backends/cpu/host_stream.h"
#include "core/tensor_statistics.h"
#include "core/uncounted_memory.h"
#include "runtime/run_context.h"

#include <algorithm>
#include <cstring>

// A run stops between two submissions: all streams become idle, and the submitting thread waits. The time of
// the wait is subtracted from later times, so that no figure includes it.

namespace twb {
namespace {

/// The inputs of a step's node; for an If, Loop or Scan, without the inputs of its bodies.
std::vector<std::uint32_t> ownInputs(const Plan& plan, const Step& step) {
    if (step.control == kNone) return step.inputs;
    const PlanControl& control = plan.controls[step.control];
    std::vector<std::uint32_t> out{control.trips, control.condition};
    for (const PlanBody& body : control.bodies)
        for (const PlanState& state : body.states)
            if (state.kind != PlanState::Kind::iteration) out.push_back(state.from);
    return out;
}

} // namespace

void RunStops::set(const std::map<NodeId, Breakpoints>& breakpoints) {
    const std::scoped_lock lock(m_mutex);
    m_breakpoints = breakpoints;
    for (auto& [node, all] : m_breakpoints)
        std::erase_if(all, [](const Breakpoint& breakpoint) { return !breakpoint.enabled; });
    std::erase_if(m_breakpoints, [](const auto& entry) { return entry.second.empty(); });
    arm();
}

bool RunStops::isStepping() const {
    const std::scoped_lock lock(m_mutex);
    return m_steps;
}

Breakpoints RunStops::at(const Step& step, bool before) const {
    const std::scoped_lock lock(m_mutex);
    Breakpoints out;
    const auto add = [&](NodeId node, bool mayLook) {
        const auto found = m_breakpoints.find(node);
        if (found == m_breakpoints.end()) return;
        for (const Breakpoint& breakpoint : found->second)
            if (breakpoint.isBefore() == before && (mayLook || !breakpoint.looks())) put(out, breakpoint);
    };
    // Only the output of a chain's last member exists; the chain's inputs are those of all members.
    for (const NodeId member : step.members)
        if (member != step.node) add(member, false);
    add(step.node, step.members.empty() || !before);
    return out;
}

void RunStops::begin() {
    const std::scoped_lock lock(m_mutex);
    m_isStill = !m_released;
    m_steps = false;
    arm();
}

void RunStops::wait() {
    std::unique_lock lock(m_mutex);
    m_woken.wait(lock, [this] { return !m_isStill; });
}

void RunStops::goOn(bool step) {
    const std::scoped_lock lock(m_mutex);
    if (!m_isStill) return;
    m_isStill = false;
    m_steps = step;
    arm();
    m_woken.notify_all();
}

void RunStops::release() noexcept {
    const std::scoped_lock lock(m_mutex);
    m_released = true;
    m_isStill = false;
    arm();
    m_woken.notify_all();
}

void RunContext::stopBefore(std::uint32_t index) {
    const Step& step = m_plan->steps[index];
    const Breakpoints here = m_stops.at(step, true);
    // A step request stops after this step.
    if (here.empty() || m_stops.isStepping()) return;
    if (m_plan->stepsOf(step.node).front() != index) return; // not the first step of its node
    synchronizeAll();
    if (m_guard.isCancelled() || m_guard.state(index, currentLap()) != StepState::done) return;
    if (const std::optional<std::string> found = decide(here, ownInputs(*m_plan, step)))
        standStill(index, false, *found);
}

void RunContext::stopAfter(std::uint32_t index) {
    const Step& step = m_plan->steps[index];
    Breakpoints here = m_stops.at(step, false);
    if (step.node == NodeId::none || (!here.empty() && m_plan->stepsOf(step.node).back() != index))
        here.clear();
    const bool isStepping = m_stops.isStepping();
    if (here.empty() && !isStepping) return;
    synchronizeAll();
    if (m_guard.isCancelled() || m_guard.state(index, currentLap()) != StepState::done) return;
    const std::optional<std::string> found = decide(here, step.outputs);
    if (isStepping || found) standStill(index, true, found.value_or(std::string()));
}

/// Whether the run stops at one of the breakpoints, and the finding of the first that reads `values`. The
/// time of reading is in no figure.
std::optional<std::string> RunContext::decide(const Breakpoints& breakpoints,
                                              const std::vector<std::uint32_t>& values) {
    const std::int64_t since = steadyNs();
    std::optional<std::string> out;
    for (const Breakpoint& breakpoint : breakpoints) {
        if (out && !out->empty()) break;
        const std::optional<std::string> found =
            breakpoint.looks() ? lookAt(values, breakpoint) : std::string();
        if (found) out = found;
    }
    m_stoppedNs += steadyNs() - since;
    return out;
}

/// The finding of a breakpoint in the first of these values that has one.
std::optional<std::string> RunContext::lookAt(const std::vector<std::uint32_t>& values,
                                              const Breakpoint& breakpoint) const {
    for (const std::uint32_t v : values) {
        if (v == kNone) continue;
        try {
            const std::optional<Tensor> tensor = onHost(v);
            auto found = tensor ? breakpoint.found(statisticsOf(*tensor)) : std::nullopt;
            if (found) return found;
        } catch (const Error& error) {
            return error.what(); // the user learns why the breakpoint could not be checked
        }
    }
    return std::nullopt;
}

bool RunContext::isReached(std::uint32_t step) const {
    return m_reached[step] == m_iteration + 1 || (m_plan->steps[step].setup && m_reached[step] > 0);
}

void RunContext::standStill(std::uint32_t index, bool after, std::string found) {
    if (!m_observer) return;
    const std::int64_t since = steadyNs();
    RunStop stop;
    stop.run = m_run;
    stop.step = index;
    stop.iteration = m_iteration;
    stop.after = after;
    stop.found = std::move(found);
    for (std::uint32_t i = 0; i < m_plan->steps.size(); ++i)
        stop.states.push_back(isReached(i) ? m_guard.state(i, currentLap()) : StepState::pending);
    m_stop = {index, after};
    m_stops.begin();
    switch (m_observer->stopped(stop)) {
    case AtStop::wait:
        m_stops.wait();
        break;
    case AtStop::goOn:
        m_stops.goOn(false);
        break;
    case AtStop::end:
        cancel();
        break;
    }
    m_stoppedNs += steadyNs() - since;
}

/// A value for the host while nothing runs; nothing if it does not exist.
std::optional<Tensor> RunContext::onHost(std::uint32_t v) const {
    const PlanValue& value = m_plan->values[v];
    if (value.absent || !m_types[v].isKnown()) return std::nullopt;
    const Tensor there = tensorOf(v);
    if (!there) return std::nullopt;
    const Tensor here = toHost(there, m_plan->devices);
    if (!value.channelsLast) return here;
    return Tensor(here.buffer(), here.type(), channelsLastStrides(here.shape()), 0);
}

/// The same in memory of its own: later steps may reuse the value's memory.
std::optional<Tensor> RunContext::ownCopy(std::uint32_t v) const {
    std::optional<Tensor> here = onHost(v);
    if (!here || here->buffer() != bufferOf(v) || !here->data()) return here;
    const Tensor copy = Tensor::onHost(here->type());
    std::memcpy(copy.data(), here->data(), static_cast<std::size_t>(here->byteCount()));
    return Tensor(copy.buffer(), here->type(), here->strides(), 0);
}

bool RunContext::isTimeToLook() {
    if (m_options.watched.empty() || !m_observer || steadyNs() < m_lookNs) return false;
    return m_submitted < m_options.iterations; // the last values are part of the result
}

/// Reports the watched outputs. No iteration is in flight.
void RunContext::lookAtWatched() {
    constexpr std::int64_t kPeriodNs = 100'000'000;
    const std::int64_t since = steadyNs();
    const UncountedMemory uncounted; // how often it looks depends on the machine
    std::vector<std::pair<PortRef, Tensor>> values;
    for (const PortRef output : m_options.watched) {
        const std::uint32_t v = m_plan->valueOf(output);
        const std::uint32_t producer = v == kNone ? kNone : m_plan->producers[v];
        if (producer == kNone || !m_plan->values[v].kept || !isReached(producer) ||
            m_guard.state(producer, currentLap()) != StepState::done || !m_types[v].isKnown() ||
            m_types[v].shape.elementCount() != 1)
            continue;
        try {
            if (std::optional<Tensor> value = ownCopy(v)) values.emplace_back(output, std::move(*value));
        } catch (const Error&) {
            continue; // a lost device also fails the next step on it, whose error names the node
        }
    }
    if (!values.empty()) m_observer->looked(m_run, std::move(values));
    m_lookNs = steadyNs() + kPeriodNs;
    m_stoppedNs += steadyNs() - since;
}

/// Copies the tensors of RunOptions::lastStateOf to the host. Requires that no iteration is in flight. If one
/// copy fails, m_lastState stays empty.
void RunContext::copyState() {
    const std::int64_t since = steadyNs();
    try {
        for (const PortRef output : m_options.lastStateOf) {
            const std::uint32_t v = m_plan->valueOf(output);
            std::optional<Tensor> value = v == kNone ? std::nullopt : ownCopy(v);
            if (!value) throw Error(ErrorCode::invalidArgument, "the run has no such output");
            m_lastState[output] = std::move(*value);
        }
    } catch (const Error&) {
        m_lastState.clear(); // memory is short, or a device was lost, which also fails the next step on it
    }
    m_stoppedNs += steadyNs() - since;
}

std::optional<Tensor> RunContext::tensorAtStop(PortRef output) const {
    const auto lies = [&](std::uint32_t v) {
        const std::uint32_t producer = m_plan->producers[v];
        const Step& step = m_plan->steps[m_stop.step];
        if (producer == m_stop.step) return m_stop.after;
        if (!m_stop.after && std::find(step.inputs.begin(), step.inputs.end(), v) != step.inputs.end())
            return true;
        return producer != kNone && m_plan->values[v].kept && isReached(producer) &&
               m_guard.state(producer, currentLap()) == StepState::done;
    };
    return m_stops.whileStill([&]() -> std::optional<Tensor> {
        const std::uint32_t v = m_plan->valueOf(output);
        if (v == kNone || !lies(v)) return std::nullopt;
        return ownCopy(v);
    });
}

} // namespace twb
