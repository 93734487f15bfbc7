#pragma once

#include "widgets/canvas/scene.h"

namespace twb {

inline constexpr double kRowInset = 10;  ///< from the sides of the card
inline constexpr double kRowPadding = 7; ///< of its text

/// The height of the rows on a card.
double rowsHeight(int rows) noexcept;
/// The rectangle of a card's row, counted from the top.
QRectF rowRect(const NodeShape& card, int row) noexcept;

} // namespace twb
