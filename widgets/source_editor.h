#pragma once

#include "graph/source_line.h"

class QWidget;

namespace twb {

/// Opens the line of an imported program in the editor of the settings, or its file as the desktop does. If
/// that fails, a message box on `parent` says why.
void openSource(const SourceLine& source, QWidget* parent);

} // namespace twb
