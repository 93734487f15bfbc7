#pragma once

#include "graph/layered_layout.h"

namespace twb {

/// Breaks a strip that is much wider than high into rows, one below the other: between columns, where few
/// links cross, and never within a group that a row can hold. A group that is longer than a row has rows of
/// its own. `places` are the boxes' top left corners.
void breakIntoRows(std::vector<Position>& places, std::span<const LayoutBox> boxes,
                   std::span<const LayoutLink> links, std::span<const int> parents);

} // namespace twb
