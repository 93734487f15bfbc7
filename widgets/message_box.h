#pragma once

#include "graph/diagnostic.h"

class QMessageBox;
class QString;
class QWidget;

namespace twb {

/// Replaces the style's icon by the program's own, and shows the texts literally.
void dress(QMessageBox& box, Severity severity);
/// Shows an error on `parent` until the user closes it.
void showError(const QString& title, const QString& sentence, QWidget* parent);

} // namespace twb
