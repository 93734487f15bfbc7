#pragma once

#include <QStringList>

namespace twb {

/// Projects that were open, the last one first; of the settings.
QStringList recentFiles();
void rememberRecent(const QString& path);
/// The examples and lessons that came with the program, in their order. Throws Error(io) where the program's
/// resources are missing.
QStringList exampleFiles();

} // namespace twb
