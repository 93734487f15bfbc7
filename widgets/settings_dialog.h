#pragma once

#include "profile/profiles.h"

#include <QKeySequence>
#include <QList>

class QAction;
class QWidget;

namespace twb {

/// Gives an action the shortcut that was chosen for it, `standard` where none was, and lets it be chosen.
void makeEditable(QAction& action, const QKeySequence& standard);
/// The same, once more after the settings have changed.
void readShortcut(QAction& action);

enum class SettingsPage { general, shortcuts };

/// Asks for everything in settings.h, from `page` on; the shortcuts are those of `actions`. Writes them and
/// returns true when somebody said OK.
bool askForSettings(const ProfileLibrary& profiles, const QList<QAction*>& actions, SettingsPage page,
                    QWidget* parent);

} // namespace twb
