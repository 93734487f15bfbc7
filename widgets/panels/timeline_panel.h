#pragma once

#include "widgets/document.h"
#include "widgets/frame_budget.h"
#include "widgets/latest_task.h"
#include "widgets/panels/timeline_model.h"
#include "widgets/run_controller.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace twb {

/// The timeline of the steps, one row per stream: the last iterations during a run, all kept records after
/// it. Kernels have their device's colour, copies are hatched; idle time has the colour of the awaited
/// stream; the critical path is underlined. The wheel zooms, a drag scrolls, a click selects the node, a
/// double click (or Home) shows everything; the arrow keys, + and − do the same.
class TimelinePanel : public QWidget {
    Q_OBJECT

public:
    TimelinePanel(Document& document, RunController& runs, QWidget* parent = nullptr);

    const TimelineModel& model() const noexcept { return m_model; }
    /// The visible range, in ns from the start of the first record.
    double from() const noexcept { return m_from; }
    double to() const noexcept { return m_to; }
    /// The rectangle of a record's bar.
    QRectF rectOf(std::uint32_t record) const;
    /// Number of bars, gaps and flows in the last paint.
    std::size_t drawn() const noexcept { return m_drawn; }
    QString tipAt(QPointF point) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    static constexpr double kTwoLines = 30; ///< px; a higher row has a second line of text

    void refresh();
    void adopt(TimelineModel model);
    QString criticalPathText() const;
    void zoom(double at, double factor);
    void move(double ns);
    void showAll();
    QRectF area() const;
    /// Makes the column of names as wide as the longest name of a stream, up to a share of the panel.
    void fitLabels();
    /// "modelled", "measured" or "measured on HOST".
    QString timesOf(const PlanStream& stream) const;
    QString oneLineOf(const PlanStream& stream) const;
    /// Whether the rows have clocks that cannot be compared, as in a trace of ranks that simulate devices.
    bool hasSeveralClocks() const;
    double rowHeight() const;
    double toX(double ns) const;
    double toNs(double x) const;
    double perPixel() const { return toNs(1) - toNs(0); }
    QRectF boxOf(int row, int depth, double start, double end) const;
    std::uint32_t recordAt(QPointF point) const;
    void keepInside();
    // timeline_paint.cpp
    void paintAxis(QPainter& painter) const;
    void paintRows(QPainter& painter) const;
    void paintLayer(QPainter& painter, const TimelineModel::Layer& layer) const;
    void paintBar(QPainter& painter, const TimelineModel::Shown& bar,
                  const TimelineModel::Layer& layer) const;
    void paintGap(QPainter& painter, std::uint32_t record, int row) const;
    void paintFlows(QPainter& painter) const;
    void paintFlow(QPainter& painter, const TensorFlow& flow, bool isChosen) const;
    bool isSelected(const Step& step) const;

    Document& m_document;
    RunController& m_runs;
    TimelineModel m_model;
    std::weak_ptr<const RunFigures> m_whole; ///< the figures of the current or pending model
    LatestTask m_maker;                      ///< builds the model of a long run
    FrameBudget m_budget;
    double m_labelWidth = 152; ///< px
    double m_from = 0;
    double m_to = 0;
    std::optional<QPointF> m_pressed;
    double m_pressedFrom = 0;
    bool m_dragged = false;
    bool m_isHeld = false; ///< the user zoomed or scrolled: a run does not move the view
    mutable std::size_t m_drawn = 0;
};

} // namespace twb
