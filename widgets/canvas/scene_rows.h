#pragma once

#include "widgets/canvas/scene.h"

namespace twb {

inline constexpr double kRowInset = 10;  ///< from the card's sides
inline constexpr double kRowPadding = 7; ///< of its text

/// What the rows add to a card's height.
double rowsHeight(int rows) noexcept;
/// The place of a card's row, counted from the top.
QRectF rowRect(const NodeShape& card, int row) noexcept;

} // namespace twb
