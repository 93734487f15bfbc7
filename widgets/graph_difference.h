#pragma once

#include "graph/graph.h"

#include <QStringList>

class QWidget;

namespace twb {

/// What `after` has that `before` has not, and the other way round, a line each: things are the same by their
/// ids. Where nothing but places differs, one line says so. Empty for equal graphs.
QStringList differenceOf(const Graph& before, const Graph& after);

/// Shows them, with what they are the difference of.
void showDifference(const QString& title, const QString& heading, const QStringList& lines, QWidget* parent);

} // namespace twb
