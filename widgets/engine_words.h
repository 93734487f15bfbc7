#pragma once

#include "graph/diagnostic.h"
#include "runtime/executor.h"
#include "training/training_session.h"

#include <QString>

namespace twb {

/// Words of the window, in its language, for values that have English names in files and on the command line.
QString severityWord(Severity severity);
QString stateWord(StepState state);
QString kindWord(TransferKind kind);
QString metricWord(Metric metric);
/// The heading of a palette section, from Op::category in English.
QString sectionWord(const QString& category);

} // namespace twb
