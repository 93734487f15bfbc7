#include "widgets/panels/plot_style.h"

#include "widgets/panels/figure_ticker.h"
#include "widgets/theme.h"

namespace twb {

void stylePlot(QCustomPlot& plot) {
    const Theme& theme = Theme::current();
    plot.setBackground(theme.panel);
    for (QCPAxis* axis : {plot.xAxis, plot.yAxis}) {
        axis->setTickLabelFont(font(TextRole::smallFigure));
        axis->setLabelFont(font(TextRole::small));
        axis->setTickLabelColor(theme.secondaryText);
        axis->setLabelColor(theme.secondaryText);
        axis->setBasePen(Qt::NoPen);
        axis->setTickPen(Qt::NoPen);
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLength(0);
        axis->setSubTickLength(0);
        axis->setTickLabelPadding(8);
        axis->grid()->setPen(QPen(theme.border, 1));
        axis->grid()->setZeroLinePen(QPen(theme.border, 1));
        axis->setNumberFormat(QStringLiteral("f"));
    }
    plot.xAxis->grid()->setVisible(false);
    plot.xAxis->setTicker(QSharedPointer<WholeTicker>::create());
    plot.xAxis->setNumberPrecision(0);
}

} // namespace twb
