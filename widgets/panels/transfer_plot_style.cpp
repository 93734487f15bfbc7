#include "widgets/panels/plot_style.h"
#include "widgets/panels/series_mark.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/theme.h"

namespace twb {

void TransferPlot::stylePens() {
    const int outstanding = standingOut();
    for (std::size_t i = 0; i < m_curves.size(); ++i) {
        Curve& curve = m_curves[i];
        if (!curve.line) continue;
        QColor color = Theme::current().series(i);
        const bool faint =
            m_highlighted >= 0 && m_highlighted != int(i) && m_curves[std::size_t(m_highlighted)].line;
        if (outstanding == int(i)) {
            QColor band = color;
            band.setAlphaF(0.16f);
            m_bandHigh->setBrush(band);
        }
        if (faint) color.setAlphaF(0.3f);
        curve.line->setPen(QPen(color, 1));
        if (curve.marks)
            curve.marks->setScatterStyle(
                QCPScatterStyle(seriesMark(i), QPen(Theme::current().panel, 1), color, 8));
        if (!curve.predicted) continue;
        color.setAlphaF(faint ? 0.2f : 0.6f);
        curve.predicted->setPen(QPen(color, 1, Qt::DashLine));
    }
}

void TransferPlot::style() {
    const Theme& theme = Theme::current();
    stylePlot(*this);
    m_unitLabel->setFont(twb::font(TextRole::small));
    m_unitLabel->setColor(theme.secondaryText);
    m_bandLow->setPen(Qt::NoPen);
    m_bandHigh->setPen(Qt::NoPen);
    m_linear->setTickCount(4);
    m_logarithmic->setTickCount(3);
    setTicker();
    xAxis->ticker()->setTickCount(6);
    yAxis->setNumberPrecision(3);
    m_readout->style();
    stylePens();
}

void TransferPlot::changeEvent(QEvent* event) {
    QCustomPlot::changeEvent(event);
    if (event->type() != QEvent::PaletteChange) return;
    style();
    m_dirty = true;
    refresh();
}

} // namespace twb
