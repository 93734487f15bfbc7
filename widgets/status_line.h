#pragma once

#include "widgets/document.h"
#include "widgets/run_controller.h"

#include <QWidget>

class QLabel;
class QProgressBar;

namespace twb {

class ElidedLabel;

/// The status line: the state of the run, the open document, and whether the results are up to date.
class StatusLine : public QWidget {
    Q_OBJECT

public:
    StatusLine(Document& document, RunController& runs, QWidget* parent = nullptr);
    /// A message that stays until the next run or edit.
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
