#include "widgets/panels/plot_readout.h"

#include "widgets/theme.h"

namespace twb {
namespace {

constexpr int kGap = 12; ///< between the point and the box

} // namespace

PlotReadout::PlotReadout(QCustomPlot& plot)
    : m_plot(plot), m_point(new QCPItemTracer(&plot)), m_box(new QCPItemText(&plot)) {
    for (QCPAbstractItem* item :
         {static_cast<QCPAbstractItem*>(m_point), static_cast<QCPAbstractItem*>(m_box)}) {
        item->setLayer(QStringLiteral("overlay"));
        item->setSelectable(false);
        item->setVisible(false);
    }
    m_point->setStyle(QCPItemTracer::tsCircle);
    m_point->setSize(9);
    m_box->position->setType(QCPItemPosition::ptAbsolute);
    m_box->setTextAlignment(Qt::AlignLeft);
    m_box->setPadding(QMargins(8, 6, 8, 6));
    m_box->setClipToAxisRect(false);
    style();
}

void PlotReadout::style() {
    const Theme& theme = Theme::current();
    m_box->setFont(twb::font(TextRole::small));
    m_box->setColor(theme.text);
    m_box->setBrush(theme.raised);
    m_box->setPen(QPen(theme.border, 1));
}

void PlotReadout::show(QPointF at, const QColor& color, const QString& text) {
    m_point->position->setCoords(at);
    m_point->setPen(QPen(color, 2));
    m_point->setBrush(Theme::current().panel);
    const QPointF pixel = m_point->position->pixelPosition();
    const QRect room = m_plot.axisRect()->rect();
    const bool right = pixel.x() < room.center().x();
    const bool below = pixel.y() < room.center().y();
    m_box->setText(text);
    m_box->setPositionAlignment((right ? Qt::AlignLeft : Qt::AlignRight) |
                                (below ? Qt::AlignTop : Qt::AlignBottom));
    m_box->position->setCoords(pixel + QPointF(right ? kGap : -kGap, below ? kGap / 2.0 : -kGap / 2.0));
    m_point->setVisible(true);
    m_box->setVisible(true);
    draw();
}

void PlotReadout::hide() {
    if (!m_box->visible()) return;
    m_point->setVisible(false);
    m_box->setVisible(false);
    draw();
}

} // namespace twb
