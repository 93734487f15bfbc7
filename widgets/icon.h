#pragma once

#include <QColor>
#include <QIcon>
#include <QString>

namespace twb {

/// An icon of widgets/icons in one colour, sharp at every scaling. `name` without ".svg"; a missing icon is
/// empty.
QIcon icon(const QString& name, const QColor& color);
/// The icon of a palette section: "Linear algebra" -> linear-algebra.svg.
QIcon categoryIcon(const QString& category, const QColor& color);

} // namespace twb
