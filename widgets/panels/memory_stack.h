#pragma once

#include "profile/trace_memory.h"

#include <QString>
#include <QWidget>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace twb {

/// The memory of one device over an iteration, stacked by who made the tensors; its peak is marked, and what
/// was alive then stands beside it.
class MemoryStack : public QWidget {
    Q_OBJECT

public:
    explicit MemoryStack(QWidget* parent = nullptr);
    /// `planned`: bytes, of the plan. Nothing to show: no course.
    void setCourse(std::shared_ptr<const Plan> plan, std::optional<MemoryCourse> course, std::size_t planned);
    const std::optional<MemoryCourse>& course() const noexcept { return m_course; }

    /// A band of the stack; the last one is all the others together.
    struct Band {
        QString name;
        std::vector<std::uint32_t> producers; ///< steps
        std::uint64_t bytesAtPeak = 0;
    };
    const std::vector<Band>& bands() const noexcept { return m_bands; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Moment {
        double ns = 0;
        std::vector<std::uint64_t> sums; ///< by band, of it and all below
    };
    void makeBands();
    std::vector<Moment> moments(double nsPerPixel) const;
    QRectF chart() const;
    void paintBands(QPainter& painter) const;
    void paintFrame(QPainter& painter) const;
    void paintPeak(QPainter& painter) const;
    void paintList(QPainter& painter) const;
    double top() const;

    std::shared_ptr<const Plan> m_plan;
    std::optional<MemoryCourse> m_course;
    std::size_t m_planned = 0;
    std::vector<Band> m_bands;
};

} // namespace twb
