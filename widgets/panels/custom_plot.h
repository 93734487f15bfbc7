#pragma once

// QCustomPlot's header needs Qt's keyword macros, which this project does without because they rewrite
// ordinary words (the engine has `slots` of its own). They exist for this one header only.
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#define emit Q_EMIT
#include <qcustomplot.h>
#undef signals
#undef slots
#undef foreach
#undef emit
