#include "core/error.h"
#include "profile/resource_path.h"
#include "widgets/main_window.h"
#include "widgets/manual_window.h"
#include "widgets/notice_bar.h"
#include "widgets/recent_files.h"
#include "widgets/system_report.h"
#include "widgets/text.h"

#include <QMenu>
#include <QMenuBar>

namespace twb {

void MainWindow::buildHelpMenu() {
    QMenu& menu = *menuBar()->addMenu(tr("&Help"));
    addAction(menu, tr("&Manual"), QKeySequence(tr("F1")), [this] { showManual(); });
    addAction(menu, tr("&Keys…"), QKeySequence(tr("Ctrl+Shift+K")),
              [this] { editSettings(SettingsPage::shortcuts); });
    menu.addAction(m_legendAction);
    menu.addSeparator();
    addAction(menu, tr("&About Tensor Workbench"), QKeySequence(tr("Ctrl+F1")),
              [this] { showAbout(m_document.devices(), this); });
}

void MainWindow::showManual() {
    attempt(tr("The manual cannot be opened"), [this] {
        if (!m_manual) m_manual = new ManualWindow(toQt((resourceFolder() / "manual").string()), this);
        m_manual->show();
        m_manual->raise();
        m_manual->activateWindow();
    });
}

/// Shows the name of the open lesson and a button for the next one.
void MainWindow::offerNextLesson(const QString& path) {
    const int number = lessonNumber(path);
    if (number == 0) return;
    std::vector<NoticeBar::Answer> answers;
    if (const QString next = lessonFile(number + 1); !next.isEmpty())
        answers.push_back({tr("Next lesson"), [this, next] { openExample(next); }, false});
    answers.push_back({tr("Close"), [] {}});
    m_notice->ask(exampleTitle(path, m_document.title()), std::move(answers));
}

} // namespace twb
