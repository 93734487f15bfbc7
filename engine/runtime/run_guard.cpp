#include "backends/world.h"
#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace twb {

void RunGuard::Side::init(RunGuard& run, std::size_t lap, std::size_t steps) {
    m_run = &run;
    m_lap = lap;
    m_cut = std::vector<std::atomic<bool>>(steps);
    if (run.m_plan.virtualClock) turn = &run.m_turn;
}

void RunGuard::Side::cut(std::uint32_t step) noexcept {
    m_cut[step].store(true, std::memory_order_release);
    m_isCut.store(true, std::memory_order_release);
}

RunGuard::RunGuard(const Plan& plan, const std::vector<bool>& cached)
    : m_plan(plan), m_cached(cached), m_sides(plan.inFlight), m_states(plan.steps.size()),
      m_invalid(plan.values.size()) {
    for (std::size_t lap = 0; lap < m_sides.size(); ++lap) m_sides[lap].init(*this, lap, plan.steps.size());
    for (auto& state : m_states) state.store(StepState::done, std::memory_order_relaxed);
}

StepState RunGuard::state(std::uint32_t step, std::size_t lap) const noexcept {
    const StepState state = m_states[step].load(std::memory_order_acquire);
    if (state != StepState::done) return state;
    return m_sides[lap].isCut(step) ? StepState::cancelled : StepState::done;
}

bool RunGuard::mayRun(std::uint32_t step, std::size_t lap) noexcept {
    if (state(step, lap) != StepState::done) return false;
    if (isCancelled()) {
        m_sides[lap].cut(step);
        return false;
    }
    // The other ranks may wait for a call that this rank has left out: no later one may take its place.
    if (hasFailed() && m_plan.isCollective(m_plan.steps[step]) && m_plan.devices.world().size() > 1) {
        poison(step);
        return false;
    }
    if (const std::uint32_t failures = m_failures; m_followed < failures) {
        poisonReaders(lap);
        m_followed = failures; // another thread may lower it, which only repeats this
    }
    return hasInputs(step) && state(step, lap) == StepState::done;
}

void RunGuard::poisonReaders(std::size_t lap) noexcept {
    for (bool again = true; again;) {
        again = false;
        for (const Step& step : m_plan.steps) {
            if (!m_cached[step.index] && state(step.index, lap) == StepState::done) hasInputs(step.index);
            if (!m_isLate || m_states[step.index].load(std::memory_order_acquire) != StepState::poisoned)
                continue;
            for (const std::uint32_t v : step.outputs) // its next readers may come before it
                if (const std::uint32_t written = m_plan.values[v].updateOf; written != kNone)
                    again |= !m_invalid[written].exchange(true, std::memory_order_acq_rel);
        }
    }
}

void RunGuard::poison(std::uint32_t step) noexcept {
    StepState before = StepState::done; // a failed step stays failed
    m_states[step].compare_exchange_strong(before, StepState::poisoned, std::memory_order_acq_rel);
}

bool RunGuard::hasInputs(std::uint32_t step) noexcept {
    for (std::uint32_t v : m_plan.steps[step].inputs) {
        if (v == kNone || m_plan.producers[v] == kNone) continue;
        const StepState before = m_states[m_plan.producers[v]].load(std::memory_order_acquire);
        if (before == StepState::done && (m_plan.steps[step].setup || !isInvalid(v))) continue;
        poison(step);
        return false;
    }
    return true;
}

void RunGuard::skip(std::uint32_t first, std::uint32_t last, StepState state, std::size_t lap) noexcept {
    for (std::uint32_t i = first; i < last; ++i) {
        if (state == StepState::cancelled)
            m_sides[lap].cut(i);
        else
            m_states[i].store(state, std::memory_order_release);
    }
    raiseAlert();
}

void RunGuard::failed(std::uint32_t step, std::size_t lap, std::exception_ptr error) noexcept {
    if (hasFailed()) poisonReaders(lap); // it may have failed because of what another step left
    try {
        std::rethrow_exception(std::move(error));
    } catch (const Error& e) {
        fail(step, e.code(), e.what());
    } catch (const std::bad_alloc&) {
        fail(step, ErrorCode::outOfMemory,
             "the host is out of memory; use smaller tensors or close other programs");
    } catch (const std::exception& e) {
        fail(step, ErrorCode::failed, e.what());
    } catch (...) {
        fail(step, ErrorCode::failed, "unknown error");
    }
}

void RunGuard::fail(std::uint32_t step, ErrorCode code, std::string_view sentence) noexcept {
    const std::scoped_lock lock(m_mutex);
    // Launches of several iterations that were in flight may fail.
    const StepState before = m_states[step].load(std::memory_order_relaxed);
    if (before == StepState::failed || before == StepState::poisoned) return;
    try {
        const Step& s = m_plan.steps[step];
        const std::string who =
            s.op ? fmt::format("{} \"{}\"", s.op->name, s.label) : fmt::format("copy \"{}\"", s.label);
        m_errors.push_back({step, s.node, code, fmt::format("{}: {}", who, sentence)});
    } catch (const std::bad_alloc&) {
        // The state is enough; errors() adds the sentence when memory is available.
    }
    m_states[step].store(StepState::failed, std::memory_order_release);
    m_failed.store(true, std::memory_order_relaxed);
    ++m_failures;
    raiseAlert();
}

void RunGuard::cancel() noexcept {
    m_cancelled.store(true, std::memory_order_relaxed);
    raiseAlert();
}

void RunGuard::raiseAlert() noexcept {
    for (Side& side : m_sides) side.alert.store(true, std::memory_order_relaxed);
}

std::vector<StepError> RunGuard::errors() const {
    const std::scoped_lock lock(m_mutex);
    auto out = m_errors;
    for (const Step& step : m_plan.steps) {
        if (m_states[step.index].load(std::memory_order_acquire) != StepState::failed) continue;
        const bool isTold =
            std::any_of(out.begin(), out.end(), [&](const StepError& e) { return e.step == step.index; });
        if (!isTold)
            out.push_back({step.index, step.node, ErrorCode::outOfMemory,
                           fmt::format("\"{}\": the host is out of memory", step.label)});
    }
    std::sort(out.begin(), out.end(), [](const StepError& a, const StepError& b) { return a.step < b.step; });
    return out;
}

} // namespace twb
