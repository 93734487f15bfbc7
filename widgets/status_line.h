#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QWidget>

class QLabel;
class QProgressBar;

namespace twb {

class ElidedLabel;

/// The line at the bottom: how the run stands, what is open, and whether the figures still hold.
class StatusLine : public QWidget {
    Q_OBJECT

public:
    StatusLine(Document& document, RunController& runs, QWidget* parent = nullptr);
    /// A sentence that stays until the next run or edit.
    void say(const QString& sentence, Severity severity = Severity::note);

private:
    class Dot;
    void refreshRun();
    void refreshGraph();

    Document& m_document;
    RunController& m_runs;
    Dot* m_dot;
    ElidedLabel* m_sentence;
    QProgressBar* m_progress;
    QLabel* m_fresh;
    QLabel* m_counts;
};

} // namespace twb
