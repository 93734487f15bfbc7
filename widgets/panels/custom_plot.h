#pragma once

// QCustomPlot's header requires Qt's keyword macros. This project disables them because they replace ordinary
// words (the engine uses `slots`), except for this header.
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#define emit Q_EMIT
#include <qcustomplot.h>
#undef signals
#undef slots
#undef foreach
#undef emit
