#pragma once

#include <QPainterPath>

#include <cstddef>

namespace twb {

/// The marker shape of a curve, centred at the origin; it distinguishes curves in addition to their colour.
const QPainterPath& seriesMark(std::size_t index);

} // namespace twb
