#pragma once

#include "core/tensor_statistics.h"

#include <QImage>
#include <QWidget>

class QPainter;

namespace twb {

class TensorTableModel;

/// The height in pixels that a colour scale takes.
int colorScaleHeight();
/// A bar from `low` to `high` at the foot of `area`, with the values at its ends and in its middle below it.
void paintColorScale(QPainter& painter, const QRect& area, const QColor& low, const QColor& high,
                     double least, double most);

/// A matrix as colours from its minimum to its maximum, above their scale. If it has more cells than the
/// widget has pixels, each cell shows the mean of a block. NaN has the colour of errors.
class HeatMap : public QWidget {
    Q_OBJECT

public:
    explicit HeatMap(const TensorTableModel& model, QWidget* parent = nullptr);
    void setRange(double min, double max);
    /// The rectangle in which the matrix is drawn.
    QRect pictureRect() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    QImage picture() const;

    const TensorTableModel& m_model;
    double m_min = 0;
    double m_max = 1;
};

/// The distribution of the finite values in equal bins from the minimum to the maximum.
class HistogramView : public QWidget {
    Q_OBJECT

public:
    explicit HistogramView(QWidget* parent = nullptr);
    void setStatistics(const TensorStatistics& statistics);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    TensorStatistics m_statistics;
};

/// The elements of a matrix in order, as a line; if there are more elements than pixels, a bar from the
/// minimum to the maximum per pixel.
class LineView : public QWidget {
    Q_OBJECT

public:
    explicit LineView(const TensorTableModel& model, QWidget* parent = nullptr);
    void setRange(double min, double max);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const TensorTableModel& m_model;
    double m_min = 0;
    double m_max = 1;
};

} // namespace twb
