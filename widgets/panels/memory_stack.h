#pragma once

#include "profile/trace_memory.h"
#include "widgets/panels/plot_values.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace twb {

/// The memory of one device over an iteration, stacked by the steps that made the tensors. Its peak is
/// marked; a list beside it adds up the run's peak: the tensors alive then, memory that the plan reserves for
/// others, and memory outside the plan.
class MemoryStack : public QWidget {
    Q_OBJECT

public:
    explicit MemoryStack(QWidget* parent = nullptr);
    /// In bytes: `planned` is the plan's memory, `measured` the run's peak, 0 until it is known. Without a
    /// course nothing is shown.
    void setCourse(std::shared_ptr<const Plan> plan, std::optional<MemoryCourse> course, std::size_t planned,
                   std::size_t measured);
    const std::optional<MemoryCourse>& course() const noexcept { return m_course; }

    /// A band of the stack; the last one is the sum of all others.
    struct Band {
        QString name;
        std::vector<std::uint32_t> producers; ///< steps
        std::uint64_t bytesAtPeak = 0;
        bool isRest = false; ///< all the others
    };
    const std::vector<Band>& bands() const noexcept { return m_bands; }
    /// The bytes of each band over the iteration.
    PlotValues values() const;
    /// A line of the list beside the chart.
    struct Line {
        QString text;
        std::uint64_t bytes = 0;
        int band = -1; ///< index of the band with its colour; -1: none
        bool isSum = false;
    };
    const std::vector<Line>& lines() const noexcept { return m_lines; }
    /// The sums from one column of pixels up to the next Column.
    struct Column {
        int at = 0;
        std::vector<std::uint64_t> sums; ///< by band: its sum including all bands below
    };
    /// Each column shows its fullest moment, so that no peak is too short to be seen.
    std::vector<Column> columns(int width) const;
    /// The column of the peak's mark.
    int peakColumn(int width) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeBands();
    int columnOf(std::int64_t ns, int width) const;
    int listWidth() const;
    QColor colorOf(std::size_t band) const;
    QRectF chart() const;
    void paintBands(QPainter& painter) const;
    void paintFrame(QPainter& painter) const;
    void paintPeak(QPainter& painter) const;
    void paintList(QPainter& painter) const;
    double top() const;

    std::shared_ptr<const Plan> m_plan;
    std::optional<MemoryCourse> m_course;
    std::size_t m_planned = 0;
    std::size_t m_measured = 0;
    std::vector<Band> m_bands;
    std::vector<Line> m_lines;
};

} // namespace twb
