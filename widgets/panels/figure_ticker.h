#pragma once

#include "core/format.h"
#include "widgets/panels/custom_plot.h"
#include "widgets/text.h"

#include <algorithm>
#include <cmath>

namespace twb {

/// Iterations are counted: there is nothing to write between two of them.
class WholeTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override {
        return std::max(1.0, QCPAxisTicker::getTickStep(range));
    }
};

/// Says bytes as every view does, and other figures with the decimals that they need. `Ticker` finds the
/// places.
template <class Ticker> class FigureTicker : public Ticker {
public:
    void setBytes(bool bytes) { m_bytes = bytes; }

protected:
    QString getTickLabel(double tick, const QLocale&, QChar, int precision) override {
        if (m_bytes) return toQt(formatBytes(tick));
        const bool needsMore = tick > 0 && tick < std::pow(10, -precision);
        return QString::number(tick, 'f', needsMore ? int(std::ceil(-std::log10(tick) - 1e-9)) : precision);
    }

private:
    bool m_bytes = false;
};

} // namespace twb
