#pragma once

#include <QElapsedTimer>

namespace twb {

/// Limits the cost of a view that a run updates every frame: after each refresh it pauses for 14 times the
/// duration, so that it uses at most a fifteenth of the thread.
class FrameBudget {
public:
    bool isDue() const { return !m_timer.isValid() || m_timer.nsecsElapsed() >= m_next; }
    void begin() { m_timer.start(); }
    void end() { m_next = m_timer.nsecsElapsed() * 15; }

private:
    QElapsedTimer m_timer;
    qint64 m_next = 0; ///< ns since begin()
};

} // namespace twb
