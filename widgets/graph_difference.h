#pragma once

#include "graph/graph.h"

#include <QStringList>

class QWidget;

namespace twb {

/// The items that were added, removed and changed from `before` to `after`, one line each; items are
/// identified by their ids. If only positions differ, one line says so. Empty for equal graphs.
QStringList differenceOf(const Graph& before, const Graph& after);

/// Shows the difference in a dialog with an explanation.
void showDifference(const QString& title, const QString& heading, const QStringList& lines, QWidget* parent);

} // namespace twb
