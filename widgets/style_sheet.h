#pragma once

#include "widgets/theme.h"

#include <QString>

namespace twb {

/// The application's style sheet, generated from a theme's tokens. Roles without a Qt class are dynamic
/// properties of a widget: `role` = "primary", "flat", "pill", "caps", "secondary", "figure", "title",
/// "error", "card"; see the sheet.
QString styleSheet(const Theme& theme);

} // namespace twb
