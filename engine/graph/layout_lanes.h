#pragma once

#include "graph/layered_layout.h"

namespace twb {

/// Gives each lane its own vertical axis: removes the stripes that only boxes of other lanes fill, and puts
/// the boxes of groups that lanes share next to the border between these lanes, so that no other box is
/// inside the group's outline. `places` are the boxes' top left corners. Returns false, and changes nothing,
/// if all boxes are on one lane or the strip is too long to stay whole.
bool packLanes(std::vector<Position>& places, std::span<const LayoutBox> boxes, std::span<const int> parents);

} // namespace twb
