#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace twb {

/// Asks for a file to write, `start` with the first filter's ending to begin with; empty when somebody
/// cancelled. `filters` are as QFileDialog has them, "PNG image (*.png)": a path without an ending gets that
/// of the one that was chosen.
QString askForPath(QWidget* parent, const QString& title, const QString& start, const QStringList& filters);

} // namespace twb
