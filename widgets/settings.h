#pragma once

#include "graph/graph.h"
#include "profile/profiles.h"

#include <QKeySequence>
#include <QString>

#include <chrono>

/// What people choose for themselves and the program keeps: each with its default, in one place.
namespace twb::settings {

/// "dark", "light", or empty: as the system.
QString theme();
void setTheme(const QString& name);

/// How long a change may stay unwritten.
std::chrono::milliseconds autosaveInterval();
void setAutosaveInterval(std::chrono::milliseconds interval);

/// Of the CPU, for a run; 0: as many as it has. Counts from the next start.
int threads();
void setThreads(int count);

/// Whether the files of the last session are opened again.
bool restoresSession();
void setRestoresSession(bool restores);

/// Of a new graph.
Policy policy();
void setPolicy(Policy policy);

/// Of a simulated GPU for which nobody has chosen another: an id of the library.
QString profile(const ProfileLibrary& library);
void setProfile(const QString& id);

/// Of an action whose own shortcut is `standard`, which is what it is known by, whatever its text is in any
/// language. Empty: none.
QKeySequence shortcut(const QKeySequence& standard);
void setShortcut(const QKeySequence& standard, const QKeySequence& chosen);

} // namespace twb::settings
