#pragma once

#include <QStringList>

namespace twb {

/// Projects that were open, the last one first; of the settings.
QStringList recentFiles();
void rememberRecent(const QString& path);
/// The examples and lessons that came with the program, in their order. Throws Error(io) where the program's
/// resources are missing.
QStringList exampleFiles();

/// The number that a lesson's file name begins with; 0 of any other file.
int lessonNumber(const QString& path);
/// The lesson of that number; empty where there is none.
QString lessonFile(int number);
/// The entry of an example in a list: its title, or its file's name without one. A lesson has its number.
QString exampleTitle(const QString& path, const QString& title);

} // namespace twb
