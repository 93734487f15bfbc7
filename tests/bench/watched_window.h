#pragma once

#include "bench/cpu_time.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QWidget>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Shared by the benchmarks of the real window: measures the window's thread while it handles synthetic input
// events.
namespace twb::bench {

inline constexpr double kFrameBudgetMs = 16.7; ///< at the 95th percentile

/// Processes all posted events, including painting; Qt delays a window's update by up to 5 ms.
inline void settle(int ms = 12) {
    QElapsedTimer timer;
    timer.start();
    do {
        QApplication::processEvents();
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    } while (timer.elapsed() < ms);
}

/// Sums the CPU time of all events of the window's thread.
class Watched : public QApplication {
public:
    using QApplication::QApplication;
    bool notify(QObject* receiver, QEvent* event) override {
        const double start = cpuMs();
        ++m_depth;
        const bool result = QApplication::notify(receiver, event);
        if (--m_depth == 0) m_sum += cpuMs() - start;
        return result;
    }
    /// The time since the last call.
    double takeMs() { return std::exchange(m_sum, 0.0); }

private:
    double m_sum = 0;
    int m_depth = 0;
};

/// The frames of one kind of gesture.
class Frames {
public:
    Frames(Watched& application, std::string what) : m_application(application), m_what(std::move(what)) {}
    void take(const std::function<void()>& gesture) {
        settle(); // events pending from before
        const double start = cpuMs();
        gesture();
        const double handled = cpuMs() - start;
        m_application.takeMs();
        settle(); // includes painting
        m_times.push_back(handled + m_application.takeMs());
    }
    void add(double ms) { m_times.push_back(ms); }
    /// False if it exceeds the budget.
    bool report() {
        std::sort(m_times.begin(), m_times.end());
        if (m_times.empty()) return true;
        const double p95 = m_times[m_times.size() * 95 / 100];
        fmt::print("{:<36} {:>5} frames  median {:>7.2f}  p95 {:>7.2f}  most {:>7.2f} ms{}\n", m_what,
                   m_times.size(), m_times[m_times.size() / 2], p95, m_times.back(),
                   p95 > kFrameBudgetMs ? "  OVER" : "");
        return p95 <= kFrameBudgetMs;
    }

private:
    Watched& m_application;
    std::string m_what;
    std::vector<double> m_times;
};

inline void mouse(QWidget& widget, QEvent::Type type, QPointF at, Qt::MouseButton button,
                  Qt::MouseButtons buttons) {
    QMouseEvent event(type, at, widget.mapToGlobal(at), button, buttons, {});
    QApplication::sendEvent(&widget, &event);
}

inline void click(QWidget& widget, QPointF at) {
    mouse(widget, QEvent::MouseButtonPress, at, Qt::LeftButton, Qt::LeftButton);
    mouse(widget, QEvent::MouseButtonRelease, at, Qt::LeftButton, Qt::NoButton);
}

} // namespace twb::bench
