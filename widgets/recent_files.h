#pragma once

#include <QStringList>

namespace twb {

/// Recently opened projects, the latest first; stored in the settings.
QStringList recentFiles();
void rememberRecent(const QString& path);
/// The program's examples and lessons, in order. Throws Error(io) if the program's resources are missing.
QStringList exampleFiles();

/// The number at the start of a lesson's file name; 0 for any other file.
int lessonNumber(const QString& path);
/// The lesson with that number; empty if there is none.
QString lessonFile(int number);
/// The name of an example in a list: its title, or its file name without one. A lesson has its number.
QString exampleTitle(const QString& path, const QString& title);

} // namespace twb
