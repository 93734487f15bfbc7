#pragma once

#include "graph/breakpoint.h"
#include "runtime/plan.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace twb {

/// Where a run stops, and the wait there. All but begin() and wait() from any thread.
class RunStops {
public:
    explicit RunStops(const std::map<NodeId, Breakpoints>& breakpoints) { set(breakpoints); }

    void set(const std::map<NodeId, Breakpoints>& breakpoints);
    /// Whether anything may stop it: asked before and after each step.
    bool isArmed() const noexcept { return m_armed.load(std::memory_order_relaxed); }
    bool isStepping() const;
    /// The enabled ones of a step's node, and of the nodes that the step is for: those before it, or those
    /// after it; without those that would look at a tensor that a step for several nodes has not.
    Breakpoints at(const Step& step, bool before) const;

    /// From here until wait() returns the run stands still.
    void begin();
    /// Until goOn() or release().
    void wait();
    void goOn(bool step);
    /// It never stands still again.
    void release() noexcept;
    /// Calls `look` if the run stands still, and lets nobody wake it meanwhile.
    template <class Look> auto whileStill(Look look) const -> decltype(look()) {
        const std::scoped_lock lock(m_mutex);
        return m_isStill ? look() : decltype(look()){};
    }

private:
    void arm() { m_armed.store(!m_released && (m_steps || !m_breakpoints.empty())); }

    mutable std::mutex m_mutex;
    std::condition_variable m_woken;
    std::map<NodeId, Breakpoints> m_breakpoints; ///< enabled ones
    bool m_steps = false;                        ///< it stops after the next step
    bool m_isStill = false;
    bool m_released = false;
    std::atomic<bool> m_armed{false};
};

} // namespace twb
