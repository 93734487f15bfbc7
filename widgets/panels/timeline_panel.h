#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QWidget>

#include <vector>

namespace twb {

/// When each step of the last iterations ran, one row a stream. Kernels have their device's colour, copies
/// are hatched. The wheel zooms, a drag moves, a click selects the node, a double click shows everything.
class TimelinePanel : public QWidget {
    Q_OBJECT

public:
    TimelinePanel(Document& document, RunController& runs, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Bar {
        double start = 0; ///< ns from the first shown step's start
        double end = 0;
        std::uint32_t step = 0;
        int row = 0;
    };
    void refresh();
    QRectF area() const;
    double rowHeight() const;
    double toX(double ns) const;
    double toNs(double x) const;
    QRectF rectOf(const Bar& bar) const;
    const Bar* barAt(QPointF point) const;
    void paintAxis(QPainter& painter) const;
    void paintRows(QPainter& painter) const;
    void paintBar(QPainter& painter, const Bar& bar) const;
    void keepInside();

    Document& m_document;
    RunController& m_runs;
    std::shared_ptr<const Plan> m_plan;   ///< of the bars
    std::vector<std::uint32_t> m_streams; ///< of the plan, by row
    std::vector<Bar> m_bars;
    double m_length = 0; ///< of all that is shown, ns
    double m_from = 0;   ///< what the view shows
    double m_to = 0;
    std::optional<QPointF> m_pressed;
    double m_pressedFrom = 0;
    bool m_dragged = false;
};

} // namespace twb
