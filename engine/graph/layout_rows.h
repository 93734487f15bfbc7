#pragma once

#include "graph/layered_layout.h"

namespace twb {

/// Breaks a wide strip into rows, one below the other. Breaks are between columns that few links cross, and
/// never within a group that fits in a row. A group that is longer than a row gets its own rows. `places` are
/// the boxes' top left corners.
void breakIntoRows(std::vector<Position>& places, std::span<const LayoutBox> boxes,
                   std::span<const LayoutLink> links, std::span<const int> parents);

} // namespace twb
