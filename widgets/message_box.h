#pragma once

#include "graph/diagnostic.h"

class QMessageBox;

namespace twb {

/// An icon of ours in place of the style's, and texts as they are.
void dress(QMessageBox& box, Severity severity);

} // namespace twb
