#pragma once

#include "graph/breakpoint.h"
#include "runtime/plan.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace twb {

/// The breakpoints of a run, and the wait at a stop. All methods except begin() and wait() may be called from
/// any thread.
class RunStops {
public:
    explicit RunStops(const std::map<NodeId, Breakpoints>& breakpoints) { set(breakpoints); }

    void set(const std::map<NodeId, Breakpoints>& breakpoints);
    /// Whether any breakpoint or step request exists; checked before and after each step.
    bool isArmed() const noexcept { return m_armed.load(std::memory_order_relaxed); }
    bool isStepping() const;
    /// The enabled breakpoints for a step: those before, or those after, its node and its members.
    /// Breakpoints that read a tensor which a fused step does not have are left out.
    Breakpoints at(const Step& step, bool before) const;

    /// The run is stopped from here until wait() returns.
    void begin();
    /// Blocks until goOn() or release().
    void wait();
    void goOn(bool step);
    /// The run never stops again.
    void release() noexcept;
    /// Calls `look` if the run is stopped, and prevents its continuation meanwhile.
    template <class Look> auto whileStill(Look look) const -> decltype(look()) {
        const std::scoped_lock lock(m_mutex);
        return m_isStill ? look() : decltype(look()){};
    }

private:
    void arm() { m_armed.store(!m_released && (m_steps || !m_breakpoints.empty())); }

    mutable std::mutex m_mutex;
    std::condition_variable m_woken;
    std::map<NodeId, Breakpoints> m_breakpoints; ///< enabled ones
    bool m_steps = false;                        ///< stop after the next step
    bool m_isStill = false;
    bool m_released = false;
    std::atomic<bool> m_armed{false};
};

} // namespace twb
