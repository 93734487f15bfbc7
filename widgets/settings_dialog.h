#pragma once

#include "profile/profiles.h"

#include <QKeySequence>
#include <QList>

class QAction;
class QWidget;

namespace twb {

/// Gives an action its chosen shortcut, or `standard` without a choice, and makes the shortcut editable. The
/// second shortcut `also` stays as it is.
void makeEditable(QAction& action, const QKeySequence& standard, const QKeySequence& also = {});
/// Updates it after the settings have changed.
void readShortcut(QAction& action);

enum class SettingsPage { general, shortcuts };

/// Shows all settings in settings.h, starting with `page`; the shortcuts are the editable ones of `actions`,
/// and other shortcuts of `actions` are refused. Saves the settings
/// and returns true if the user pressed OK.
bool askForSettings(const ProfileLibrary& profiles, const QList<QAction*>& actions, SettingsPage page,
                    QWidget* parent);

} // namespace twb
