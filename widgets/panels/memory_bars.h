#pragma once

#include "core/device.h"
#include "widgets/panels/plot_values.h"

#include <QString>
#include <QWidget>

#include <cstddef>
#include <vector>

namespace twb {

/// One row per device: planned memory, peak, and capacity. A click, or an arrow key, selects a device.
class MemoryBars : public QWidget {
    Q_OBJECT

public:
    struct Row {
        Device device;
        QString name;
        std::size_t planned = 0;
        std::size_t peak = 0; ///< 0 before a run
        std::size_t total = 0;
    };

    explicit MemoryBars(QWidget* parent = nullptr);
    void setRows(std::vector<Row> rows);
    const std::vector<Row>& rows() const noexcept { return m_rows; }
    PlotValues values() const;
    int chosen() const noexcept { return m_chosen; }
    QRect rectOf(int row) const;

Q_SIGNALS:
    void rowChosen(int row);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void choose(int row);
    void paintRow(QPainter& painter, int number, double scale) const;
    void paintScale(QPainter& painter, double step, double scale) const;

    std::vector<Row> m_rows;
    int m_chosen = 0;
};

} // namespace twb
