#pragma once

#include "widgets/training_run.h"

#include <QByteArray>

namespace twb {

/// The figures of each parameter after each epoch.
QByteArray csvOf(const std::vector<EpochRecord>& epochs);
/// A line per label and prediction.
QByteArray csvOf(const ConfusionMatrix& matrix);

} // namespace twb
