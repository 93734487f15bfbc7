#include "widgets/actions/file_safety.h"

#include "core/error.h"
#include "widgets/actions/file_actions.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/crash_report.h"
#include "widgets/file_watch.h"
#include "widgets/graph_difference.h"
#include "widgets/message_box.h"
#include "widgets/notice_bar.h"
#include "widgets/panels/log_panel.h"
#include "widgets/settings.h"
#include "widgets/text.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>
#include <QMessageBox>
#include <QPushButton>

namespace twb {
FileSafety::FileSafety(Document& document, CanvasWidget& canvas, FileActions& files, GraphEditor& editor,
                       LogPanel& log, NoticeBar& notice, QWidget& window)
    : m_document(document), m_canvas(canvas), m_files(files), m_editor(editor), m_log(log), m_notice(notice),
      m_window(window), m_watch(std::make_unique<FileWatch>(document)) {
    connect(m_watch.get(), &FileWatch::changed, this, &FileSafety::fileChanged);
    connect(m_watch.get(), &FileWatch::removed, this, &FileSafety::fileRemoved);
    // The file may be gone, although its notification is still on its way.
    connect(&m_files, &FileActions::leaving, m_watch.get(), &FileWatch::look);
    connect(&m_document, &Document::pathChanged, this, [this] { // the notices referred to another state
        m_isChangedOnDisk = false;
        m_notice.endQuestion();
    });
    connect(&m_document, &Document::reset, &m_notice, &NoticeBar::clear);
    m_files.setReplaceQuestion([this] { return mayReplace(); });
    const QUndoStack& edits = m_document.undoStack();
    connect(&edits, &QUndoStack::indexChanged, this, [&edits](int index) {
        rememberAction(QStringLiteral("Edit %1: %2").arg(index).arg(edits.undoText()));
    });
}

FileSafety::~FileSafety() = default;

void FileSafety::readSettings() {
    if (m_recovery) m_recovery->setInterval(settings::autosaveInterval());
}

void FileSafety::finish() {
    if (m_recovery) m_recovery->finish();
}

bool FileSafety::guard(const QString& folder) {
    m_recovery = std::make_unique<Recovery>(m_document, folder);
    m_recovery->setInterval(settings::autosaveInterval());
    connect(m_recovery.get(), &Recovery::failed, this,
            [this](const QString& sentence) { m_editor.say(sentence, Severity::warning); });
    return offer(m_recovery->left());
}

/// Offers the snapshots one by one until one is restored. Snapshots that are neither restored nor discarded
/// are offered again at the next start.
bool FileSafety::offer(const std::vector<Recovery::Left>& left) {
    for (const Recovery::Left& work : left) {
        // The folder of the project may be slow.
        const auto wait = [&](const std::function<void()>& reading) {
            workWaiting(tr("Reading %1…").arg(work.title), &m_window, reading);
        };
        const auto compare = [&] {
            m_editor.attempt(tr("The changes cannot be compared"), [&] {
                bool isSaved = false;
                Graph after;
                wait([&] {
                    isSaved = QFileInfo::exists(work.path);
                    after = m_recovery->read(work);
                });
                const std::optional<Graph> before = isSaved ? m_files.readProject(work.path) : Graph();
                if (!before) return;
                showDifference(tr("Compare"),
                               isSaved ? tr("Unsaved changes compared with the file: added (+), removed (−), "
                                            "changed (~)\n%1")
                                             .arg(QDir::toNativeSeparators(work.path))
                                       : tr("The graph was never saved. It contains:"),
                               differenceOf(*before, after), &m_window);
            });
        };
        QMessageBox box(QMessageBox::NoIcon, tr("Unsaved changes"),
                        tr("Restore the unsaved changes to %1?").arg(work.title), QMessageBox::NoButton,
                        &m_window);
        box.setInformativeText(
            tr("The program ended before these changes were saved. The last autosave was on %1 at %2.")
                .arg(QLocale().toString(work.time.date(), QLocale::ShortFormat),
                     QLocale().toString(work.time.time(), QLocale::ShortFormat)));
        dress(box, Severity::note);
        QPushButton* restore = box.addButton(tr("&Restore"), QMessageBox::AcceptRole);
        const QPushButton* discard = box.addButton(tr("&Discard"), QMessageBox::DestructiveRole);
        QPushButton* look = box.addButton(tr("&Compare"), QMessageBox::ActionRole);
        QPushButton* later = box.addButton(tr("&Later"), QMessageBox::RejectRole);
        box.setDefaultButton(restore);
        box.setEscapeButton(later);
        do box.exec();
        while (box.clickedButton() == look && (compare(), true));
        if (box.clickedButton() == discard) m_recovery->discard(work);
        if (box.clickedButton() != restore) continue;
        if (!work.path.isEmpty()) m_files.askAboutPlugins(work.path);
        const bool restored =
            m_editor.attempt(tr("The changes cannot be restored"), [&] { m_recovery->restore(work, wait); });
        if (!restored) continue;
        m_canvas.navigator().zoomToFit();
        m_log.add(Severity::note, tr("Restored the unsaved changes to %1").arg(work.title));
        return true;
    }
    return false;
}

void FileSafety::offerCrashReports(const QString& folder) {
    const std::vector<CrashReport> reports = crashReports(folder);
    if (reports.empty()) return;
    const QDateTime& time = reports.front().time;
    m_notice.tell(tr("Tensor Workbench crashed on %1 at %2. A report is on this computer.")
                      .arg(QLocale().toString(time.date(), QLocale::ShortFormat),
                           QLocale().toString(time.time(), QLocale::ShortFormat)),
                  {{tr("&Show report"),
                    [this, report = reports.front()] { showCrashReport(report, &m_window); }, false},
                   {tr("&Delete report"),
                    [reports] {
                        for (const CrashReport& report : reports) QFile::remove(report.path);
                    }},
                   {tr("&Not now"), [] {}}});
}

void FileSafety::fileChanged() {
    m_isChangedOnDisk = true;
    const QString name = QFileInfo(m_document.path()).fileName();
    m_notice.ask(
        m_document.isModified()
            ? tr("%1 was changed on disk and in this window. Reloading discards the changes in this window.")
                  .arg(name)
            : tr("%1 was changed on disk.").arg(name),
        {{tr("&Reload"), [this] { reload(); }},
         {tr("&Compare"), [this] { compareWithFile(); }, false},
         {tr("&Keep the version in this window"), [this] {
              m_isChangedOnDisk = false;
              m_document.markModified();
          }}});
}

/// Asks before Save replaces a version that another program has written.
bool FileSafety::mayReplace() {
    m_watch->look(); // the notification may be on its way
    if (!m_isChangedOnDisk) return true;
    QMessageBox box(QMessageBox::NoIcon, tr("File changed on disk"),
                    tr("Replace the changed %1?").arg(QFileInfo(m_document.path()).fileName()),
                    QMessageBox::Save | QMessageBox::Cancel, &m_window);
    box.setInformativeText(
        tr("Another program has changed this file since it was opened. Save replaces that "
           "version. To see the differences, choose Cancel, then Compare above the graph."));
    dress(box, Severity::warning);
    box.button(QMessageBox::Save)->setText(tr("Replace"));
    box.setDefaultButton(QMessageBox::Cancel);
    return box.exec() == QMessageBox::Save;
}

void FileSafety::fileRemoved() {
    m_isChangedOnDisk = false;
    m_document.markModified(); // the window has the only copy, whether or not the user answers
    m_notice.ask(tr("%1 is no longer on disk. Save writes this version again.")
                     .arg(QFileInfo(m_document.path()).fileName()),
                 {{tr("&Save"), [this] { m_files.save(); }}, {tr("&Not now"), [] {}}});
}

void FileSafety::reload() {
    if (!m_files.mayEndRun()) return fileChanged(); // the question stays open
    bool isReloaded = false;
    m_editor.attempt(tr("The file cannot be read"), [&] {
        const QString path = m_document.path();
        std::optional<Graph> graph = m_files.readProject(path);
        if (!graph) return;
        const CanvasNavigator::Spot spot = m_canvas.navigator().spot();
        m_document.setGraph(std::move(*graph), path, m_document.folder());
        m_canvas.navigator().show(spot);
        m_log.add(Severity::note, tr("Reloaded %1").arg(path));
        isReloaded = true;
    });
    if (!isReloaded) fileChanged();
}

void FileSafety::compareWithFile() {
    m_editor.attempt(tr("The file cannot be read"), [this] {
        const std::optional<Graph> saved = m_files.readProject(m_document.path());
        if (!saved) return;
        showDifference(tr("Compare"),
                       tr("The file compared with this window: added (+), removed (−), changed (~)"),
                       differenceOf(m_document.graph(), *saved), &m_window);
    });
}

} // namespace twb
