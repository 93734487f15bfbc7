#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QWidget>

#include <vector>

namespace twb {

/// Per device: what the plan needs, what the run used at the most, and what the device has.
class MemoryPanel : public QWidget {
    Q_OBJECT

public:
    MemoryPanel(Document& document, RunController& runs, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    struct Row {
        Device device;
        QString name;
        std::size_t planned = 0;
        std::size_t peak = 0; ///< 0 before a run
        std::size_t total = 0;
    };
    void refresh();
    void paintRow(QPainter& painter, const Row& row, const QRectF& box, double scale) const;
    void paintScale(QPainter& painter, const QRectF& box, double step, double scale) const;

    Document& m_document;
    RunController& m_runs;
    std::vector<Row> m_rows;
};

} // namespace twb
