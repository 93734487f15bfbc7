#pragma once

#include "widgets/document.h"
#include "widgets/frame_budget.h"
#include "widgets/run_controller.h"

#include <QWidget>

class QLabel;

namespace twb {

class MemoryBars;
class MemoryStack;

/// The memory of each device: planned, peak, and over an iteration.
class MemoryPanel : public QWidget {
    Q_OBJECT

public:
    MemoryPanel(Document& document, RunController& runs, QWidget* parent = nullptr);

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();
    void refreshStack();

    Document& m_document;
    RunController& m_runs;
    MemoryBars* m_bars;
    MemoryStack* m_stack;
    QLabel* m_empty;
    FrameBudget m_budget;
};

} // namespace twb
