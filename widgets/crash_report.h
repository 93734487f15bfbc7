#pragma once

#include <QDateTime>
#include <QString>

#include <vector>

class QWidget;

namespace twb {

/// From now on a fatal signal or an uncaught exception writes a report to `folder`: the version of the
/// program, the signal or exception, the last actions and the backtrace. Then the program ends as it would
/// without a report. A report stays on this computer. Call it once, from the main thread; the folder is
/// created if needed.
void writeCrashReports(const QString& folder);

/// Remembers an action of the user for a report, with its time; the last 32 are kept. Main thread only.
void rememberAction(const QString& text);

struct CrashReport {
    QString path;
    QDateTime time; ///< of the crash
};
/// The reports in `folder`, the newest first. All but the newest ten are deleted.
std::vector<CrashReport> crashReports(const QString& folder);
/// Its text, with readable C++ names; empty if it cannot be read.
QString textOf(const CrashReport& report);
/// Shows the text and a button that copies it.
void showCrashReport(const CrashReport& report, QWidget* parent);

} // namespace twb
