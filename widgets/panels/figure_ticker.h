#pragma once

#include "core/format.h"
#include "widgets/panels/custom_plot.h"
#include "widgets/text.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <type_traits>

namespace twb {

/// For counts, as of iterations: steps of 1, 2 or 5 times a power of ten, and none below 1. QCustomPlot's own
/// steps of 2.5 would be written as 0, 3, 5, 8.
class WholeTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override {
        const double exact = range.size() / std::max(1, tickCount());
        const double power = std::pow(10, std::floor(std::log10(std::max(exact, 1.0))));
        for (const double digit : {1.0, 2.0, 5.0})
            if (exact <= digit * power) return digit * power;
        return 10 * power;
    }
};

/// 1, 2 and 5 of each decade if there are few decades, else decades only.
class DecadeTicker : public QCPAxisTickerLog {
protected:
    QVector<double> createTickVector(double, const QCPRange& range) override {
        const auto ticks = [&](std::initializer_list<double> of) {
            QVector<double> out;
            const int last = int(std::ceil(std::log10(range.upper)));
            for (int decade = int(std::floor(std::log10(range.lower))); decade <= last; ++decade)
                for (const double digit : of)
                    if (const double at = digit * std::pow(10, decade); range.contains(at)) out << at;
            return out;
        };
        const QVector<double> fine = ticks({1, 2, 5});
        return fine.size() <= std::max(tickCount(), 6) ? fine : ticks({1});
    }
};

/// Formats bytes as in other views, and other figures with the decimals that they need. `Ticker` determines
/// the positions.
template <class Ticker> class FigureTicker : public Ticker {
public:
    void setBytes(bool bytes) { m_bytes = bytes; }

protected:
    double getTickStep(const QCPRange& range) override { return m_step = Ticker::getTickStep(range); }
    QString getTickLabel(double tick, const QLocale&, QChar, int precision) override {
        if (m_bytes) return localized(formatBytes(tick));
        const bool needsMore = tick > 0 && tick < std::pow(10, -precision);
        const int least = needsMore ? int(std::ceil(-std::log10(tick) - 1e-9)) : precision;
        return fixed(tick, std::max(least, decimalsOf(kIsEven ? m_step : tick)));
    }

private:
    static constexpr bool kIsEven = !std::is_base_of_v<QCPAxisTickerLog, Ticker>;

    /// A step of 0.025 must not be rounded to 0.03.
    static int decimalsOf(double step) {
        int decimals = 0;
        for (double rest = step; decimals < 9 && std::abs(rest - std::round(rest)) > 1e-6 * step; rest *= 10)
            ++decimals;
        return decimals;
    }

    double m_step = 0; ///< between two ticks
    bool m_bytes = false;
};

} // namespace twb
