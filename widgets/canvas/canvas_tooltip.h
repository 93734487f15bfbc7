#pragma once

#include "widgets/canvas/scene_shapes.h"

#include <QString>

namespace twb {

class Document;
class Scene;

/// The tooltip of a thing on the canvas as rich text, or nothing. `run` may be null.
QString tooltipFor(const Hit& hit, const Document& document, const Scene& scene, const RunState* run);
/// The source of the hardware's figures.
QString laneTooltip(Device device, const DeviceMap& devices);

} // namespace twb
