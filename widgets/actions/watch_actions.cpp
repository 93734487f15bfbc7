#include "widgets/actions/watch_actions.h"

#include "widgets/actions/file_actions.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/message_box.h"
#include "widgets/watch_dialog.h"

namespace twb {

WatchActions::WatchActions(Document& document, RunController& runs, FileActions& files, CanvasWidget& canvas,
                           QWidget& window)
    : m_files(files), m_window(window), m_watch(document, runs) {
    // A worker may read the document; a training run may have begun since the question.
    m_watch.setConditions([this] { return !isBusy(m_window); }, [this] { return !m_files.hasTraining(); });
    connect(&m_watch, &ProgramWatch::grown, &canvas, [&canvas] {
        if (canvas.navigator().isFitted()) canvas.navigator().zoomToFit();
    });
    connect(&m_watch, &ProgramWatch::failed, this, [this](const QString& sentence) {
        showError(tr("Cannot watch the program"), sentence, &m_window);
    });
}

void WatchActions::fill(QMenu& menu) {
    twb::addAction(menu, tr("&Watch a process…"), QKeySequence(QStringLiteral("Ctrl+Shift+W")),
                   [this] { choose(); });
}

void WatchActions::choose() {
    WatchDialog dialog(&m_window);
    if (dialog.exec() != QDialog::Accepted) return;
    if (m_files.mayLeave()) m_watch.start(dialog.program());
}

} // namespace twb
