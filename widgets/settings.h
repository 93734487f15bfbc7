#pragma once

#include "graph/graph.h"
#include "profile/profiles.h"

#include <QKeySequence>
#include <QString>
#include <QStringList>

#include <chrono>

/// The user's settings, each with its default.
namespace twb::settings {

/// A name of Theme::named().
QString theme();
void setTheme(const QString& name);

/// "en", "de", or empty: same as the system. Takes effect after a restart.
QString language();
void setLanguage(const QString& code);

/// The autosave delay.
std::chrono::milliseconds autosaveInterval();
void setAutosaveInterval(std::chrono::milliseconds interval);

/// The number of CPU threads of a run; 0: all. Takes effect after a restart.
int threads();
void setThreads(int count);

/// Whether the files of the last session are reopened.
bool restoresSession();
void setRestoresSession(bool restores);

/// Whether an imported model is simplified (graph/simplify.h).
bool simplifiesImports();
void setSimplifiesImports(bool simplifies);

/// The policy of new graphs.
Policy policy();
void setPolicy(Policy policy);

/// The profile of simulated GPUs without a choice of their own: an id of the library.
QString profile(const ProfileLibrary& library);
void setProfile(const QString& id);

/// The other machines on which graphs have run, as HOST or HOST:PATH, the latest first.
QStringList machines();
void rememberMachine(const QString& machine);
/// The `twb` on these machines; empty: found by their PATH.
QString machineProgram();
void setMachineProgram(const QString& program);

/// The command that opens a source line: %f is the file, %l the line. Empty: the desktop's default for the
/// file.
QString editor();
void setEditor(const QString& command);

/// The shortcut of the action whose standard shortcut is `standard`, which identifies the action in all
/// languages. Empty: none.
QKeySequence shortcut(const QKeySequence& standard);
void setShortcut(const QKeySequence& standard, const QKeySequence& chosen);

} // namespace twb::settings
