#pragma once

#include "widgets/canvas/scene_shapes.h"

namespace twb {

class Scene;

/// Places a label beside a card or a pill: below or above it, as near as it hides nothing. `slot`: of the
/// node; kNoSlot for another pill. `scale`: of the labels in view.
void placeBeside(PriceLabel& label, const Scene& scene, const QRectF& around, std::uint32_t slot,
                 double scale);
/// Places a label on a wire, as near to its middle as it hides nothing. A label about an error hides no card:
/// it is empty if there is no room.
void placeOnWire(PriceLabel& label, const Scene& scene, std::uint32_t slot, double scale);

} // namespace twb
