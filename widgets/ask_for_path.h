#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace twb {

/// Asks for a file to write; `start`, with the first filter's extension, is the proposal. Empty if the user
/// cancelled. `filters` as for QFileDialog, "PNG image (*.png)": a path without an extension gets that of the
/// chosen filter.
QString askForPath(QWidget* parent, const QString& title, const QString& start, const QStringList& filters);

} // namespace twb
