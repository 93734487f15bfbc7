#pragma once

#include <QElapsedTimer>
#include <QTimer>

#include <algorithm>

namespace twb::test {

/// How long the window's thread was away at most, in ms, from one event of its own to the next.
class Heartbeat : public QObject {
public:
    Heartbeat() {
        connect(&m_timer, &QTimer::timeout, this, &Heartbeat::beat);
        m_timer.setTimerType(Qt::PreciseTimer);
        m_timer.start(1);
        m_since.start();
    }
    double longestPause() {
        beat();
        return m_longest;
    }

private:
    void beat() {
        m_longest = std::max(m_longest, double(m_since.nsecsElapsed()) / 1e6);
        m_since.restart();
    }

    QTimer m_timer;
    QElapsedTimer m_since;
    double m_longest = 0;
};

} // namespace twb::test
