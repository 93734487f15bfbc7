#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace twb {

RunGuard::RunGuard(const Plan& plan) : m_plan(plan), m_states(plan.steps.size()) {
    for (auto& state : m_states) state.store(StepState::done, std::memory_order_relaxed);
}

bool RunGuard::mayRun(std::uint32_t step) noexcept {
    auto& state = m_states[step];
    if (state.load(std::memory_order_relaxed) != StepState::done) return false;
    if (isCancelled()) {
        state.store(StepState::cancelled, std::memory_order_release);
        return false;
    }
    for (std::uint32_t v : m_plan.steps[step].inputs) {
        if (v == kNone || m_plan.producers[v] == kNone) continue;
        const StepState before = m_states[m_plan.producers[v]].load(std::memory_order_acquire);
        if (before == StepState::done) continue;
        state.store(before == StepState::cancelled ? StepState::cancelled : StepState::poisoned,
                    std::memory_order_release);
        return false;
    }
    return true;
}

void RunGuard::skip(std::uint32_t first, std::uint32_t last, StepState state) noexcept {
    for (std::uint32_t i = first; i < last; ++i) m_states[i].store(state, std::memory_order_release);
    alert.store(true, std::memory_order_relaxed);
}

void RunGuard::failed(std::uint32_t step, std::exception_ptr error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const Error& e) {
        fail(step, e.code(), e.what());
    } catch (const std::bad_alloc&) {
        fail(step, ErrorCode::outOfMemory, "the host is out of memory");
    } catch (const std::exception& e) {
        fail(step, ErrorCode::failed, e.what());
    } catch (...) {
        fail(step, ErrorCode::failed, "an error of an unknown kind");
    }
}

void RunGuard::fail(std::uint32_t step, ErrorCode code, std::string sentence) noexcept {
    const std::scoped_lock lock(m_mutex);
    const Step& s = m_plan.steps[step];
    const std::string who =
        s.op ? fmt::format("{} \"{}\"", s.op->name, s.label) : fmt::format("copy \"{}\"", s.label);
    m_errors.push_back({step, s.node, code, fmt::format("{}: {}", who, sentence)});
    m_states[step].store(StepState::failed, std::memory_order_release);
    m_failed.store(true, std::memory_order_relaxed);
    alert.store(true, std::memory_order_relaxed);
}

void RunGuard::cancel() noexcept {
    m_cancelled.store(true, std::memory_order_relaxed);
    alert.store(true, std::memory_order_relaxed);
}

std::vector<StepError> RunGuard::errors() const {
    const std::scoped_lock lock(m_mutex);
    auto out = m_errors;
    std::sort(out.begin(), out.end(), [](const StepError& a, const StepError& b) { return a.step < b.step; });
    return out;
}

} // namespace twb
