#pragma once

#include <QElapsedTimer>

namespace twb {

/// Keeps a view that a run makes new every frame cheap, whatever it has to draw: after each refresh it rests
/// for 14 times what that took, so that it has a fifteenth of the thread at most.
class FrameBudget {
public:
    bool isDue() const { return !m_timer.isValid() || m_timer.nsecsElapsed() >= m_next; }
    void begin() { m_timer.start(); }
    void end() { m_next = m_timer.nsecsElapsed() * 15; }

private:
    QElapsedTimer m_timer;
    qint64 m_next = 0; ///< ns from begin() on
};

} // namespace twb
