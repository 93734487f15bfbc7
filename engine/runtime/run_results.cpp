#include "core/hash.h"
#include "ops/collectives.h"
#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What a run takes over from earlier runs, and what it leaves: the records of its steps, and its tensors.

namespace twb {

/// Cache key. Runs with TF32, and those of other iterations, have their own entries.
std::uint64_t RunContext::cacheKey(const Step& step) const {
    if (!m_options.allowTf32 && m_options.firstIteration == 0) return step.signature;
    ContentHash hash;
    hash.add(step.signature).add(static_cast<std::uint64_t>(m_options.firstIteration));
    return m_options.allowTf32 ? hash.add("TF32").value() : hash.value();
}

/// Takes over the results of earlier runs, and frees those that this run does not use, since it may need
/// their memory.
void RunContext::useCache() {
    if (!m_cache) return;
    const ResultCache earlier = std::exchange(*m_cache, {});
    if (!m_options.cache || m_options.iterations != 1 || m_stops.isArmed()) return;
    for (const Step& step : m_plan->steps) {
        if (!step.signature) continue;
        const auto known = earlier.find(cacheKey(step));
        if (known == earlier.end() || known->second.size() != step.outputs.size()) continue;
        const bool owned = std::all_of(step.outputs.begin(), step.outputs.end(),
                                       [&](std::uint32_t v) { return m_plan->values[v].kept; });
        if (!owned) continue;
        m_cached[step.index] = true;
        for (std::size_t i = 0; i < step.outputs.size(); ++i) {
            m_buffers[m_plan->values[step.outputs[i]].slot] = known->second[i].buffer();
            m_types[step.outputs[i]] = known->second[i].type();
        }
    }
}

/// Takes over the tensors of an earlier run, whose sources therefore do not run.
void RunContext::takeState() {
    for (const auto& [output, tensor] : m_options.state) {
        const std::uint32_t v = m_plan->valueOf(output);
        const bool fits = v != kNone && m_plan->producers[v] != kNone &&
                          m_plan->steps[m_plan->producers[v]].setup && tensor && tensor.type() == m_types[v];
        if (!fits)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("the state of output {} of node {} does not fit the plan", output.port,
                                    value(output.node)));
        m_buffers[m_plan->values[v].slot] = tensor.buffer();
        for (std::uint32_t made = v; made != kNone;) { // a File on a GPU lane is read, and then copied
            const Step& step = m_plan->steps[m_plan->producers[made]];
            m_cached[step.index] = true;
            made = step.inputs.empty() ? kNone : step.inputs[0];
        }
    }
}

StepState RunContext::stateOf(std::uint32_t step, std::size_t lap) const {
    const StepState state = m_guard.state(step, lap);
    if (state != StepState::done) return state;
    const Step& s = m_plan->steps[step];
    if (s.owner != kNone && !m_bodyRan[s.owner][s.body]) return StepState::skipped;
    return m_cached[step] ? StepState::cached : state;
}

/// The steps that failed, as far as the devices know by now, and those that read results of these.
void RunContext::collectFailures() {
    for (const Device device : m_devices) m_plan->devices.at(device).collect({});
    if (m_guard.hasFailed()) m_guard.poisonReaders(currentLap());
}

std::uint64_t RunContext::bytesOfCollective(const Step& step) const {
    std::vector<TensorType> inputs;
    for (const std::uint32_t v : step.inputs) inputs.push_back(m_types[v]);
    return collectiveLoad(*step.op, inputs, m_plan->devices.world().size()).bytes;
}

StepRecord RunContext::recordOf(std::uint32_t index, std::int64_t iteration, std::size_t lap) const {
    const Step& step = m_plan->steps[index];
    const bool onVirtual = m_plan->virtualClock;
    const auto& stopped = m_stoppedAt[lap];
    StepRecord record;
    record.step = index;
    record.iteration = static_cast<std::uint32_t>(iteration);
    record.state = stateOf(index, lap);
    if (record.state != StepState::done) return record;
    const auto& timings = m_timings[lap];
    const LaunchTiming& t = timings[index];
    record.startNs = onVirtual ? t.virtualStart : t.start - m_startNs - stopped[index];
    record.endNs = onVirtual ? t.virtualEnd : t.end - m_startNs - stopped[index];
    if (step.transfer == kNone) return record;
    record.bytes = m_slots[index].moved[lap];
    const std::uint32_t producer = m_plan->producers[step.inputs[0]];
    // The wait of a copy is known only if this iteration made its tensor.
    if (producer == kNone || m_plan->steps[producer].setup || m_cached[producer]) return record;
    const std::int64_t ready =
        onVirtual ? timings[producer].virtualEnd : timings[producer].end - m_startNs - stopped[producer];
    record.waitNs = std::max<std::int64_t>(0, record.startNs - ready);
    return record;
}

void RunContext::collect(std::uint32_t first, std::uint32_t last, std::int64_t iteration, std::size_t lap,
                         std::uint32_t owner, std::uint32_t body) {
    collectFailures();
    m_records.clear();
    const bool isLast = iteration + 1 == m_options.iterations;
    // No step of a cancelled iteration is counted, so that all counts agree.
    const bool isCut = owner == kNone && first == m_plan->setupSteps && m_guard.wasCut(lap);
    for (std::uint32_t i = first; i < last; ++i) {
        const Step& step = m_plan->steps[i];
        if (step.owner != owner || step.body != body || (step.last && !isLast)) continue;
        StepRecord record = recordOf(i, iteration, lap);
        if (isCut && record.state == StepState::done)
            record = {i, record.iteration, StepState::cancelled, 0, 0, {}, 0};
        if (record.state == StepState::done) m_clockEnd = std::max(m_clockEnd, record.endNs);
        m_records.push_back(record);
    }
    if (m_observer && !m_records.empty()) m_observer->steps(m_run, m_records);
}

Tensor RunContext::tensorOf(std::uint32_t value) const {
    if (const auto weights = m_weights.find(value); weights != m_weights.end())
        return weights->second->tensor();
    const BufferPtr& buffer = bufferOf(value);
    if (buffer) return {buffer, m_types[value]};
    if (m_types[value].isKnown() && m_types[value].byteCount() == 0)
        return Tensor::onHost(m_types[value]); // an empty tensor has no memory
    return {};
}

void RunContext::keepResults(RunResult& result) {
    const auto isWhole = [&](std::uint32_t v) {
        if (m_guard.isInvalid(v)) return false;
        const std::uint32_t producer = m_plan->producers[v];
        if (producer == kNone || !isReached(producer) || !m_types[v].isKnown()) return false;
        const StepState state = stateOf(producer, currentLap());
        return (state == StepState::done || state == StepState::cached) &&
               (bufferOf(v) || m_types[v].byteCount() == 0);
    };
    for (const auto& [node, values] : m_plan->valuesOfNode)
        for (std::size_t port = 0; port < values.size(); ++port)
            if (m_plan->values[values[port]].kept && isWhole(values[port]))
                result.tensors.emplace_back(PortRef{node, static_cast<std::int32_t>(port)},
                                            tensorOf(values[port]));
    std::sort(result.tensors.begin(), result.tensors.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!m_cache || !m_options.cache) return;
    ResultCache fresh;
    for (const Step& step : m_plan->steps) {
        if (!step.signature) continue;
        const bool owned = std::all_of(step.outputs.begin(), step.outputs.end(),
                                       [&](std::uint32_t v) { return m_plan->values[v].kept && isWhole(v); });
        if (!owned) continue;
        auto& tensors = fresh[cacheKey(step)];
        for (std::uint32_t v : step.outputs) tensors.push_back(tensorOf(v));
    }
    *m_cache = std::move(fresh);
}

} // namespace twb
