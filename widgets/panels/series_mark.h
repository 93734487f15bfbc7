#pragma once

#include <QPainterPath>

#include <cstddef>

namespace twb {

/// The shape that marks a curve beside its colour, about the origin.
const QPainterPath& seriesMark(std::size_t index);

} // namespace twb
