#pragma once

#include "graph/diagnostic.h"

class QMessageBox;

namespace twb {

/// Replaces the style's icon by the program's own, and shows the texts literally.
void dress(QMessageBox& box, Severity severity);

} // namespace twb
