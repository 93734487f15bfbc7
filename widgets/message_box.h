#pragma once

#include "graph/diagnostic.h"

class QMessageBox;

namespace twb {

/// Replaces the style's icon by the program's own, and keeps texts as they are.
void dress(QMessageBox& box, Severity severity);

} // namespace twb
