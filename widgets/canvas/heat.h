#pragma once

#include "widgets/canvas/scene.h"
#include "widgets/theme.h"

#include <vector>

class QPainter;

namespace twb {

/// What cards are shaded by.
enum class HeatBy : std::uint8_t { none, time, bytes };

/// How much of it each card has. What is drawn on a card, or within it, is in its sum: folded parameters, and
/// the nodes of a collapsed module.
struct Heat {
    HeatBy by = HeatBy::none;
    double most =
        0; ///< of the hottest card: ns of an iteration, or bytes of all outputs; 0: nothing is known
    bool hasMeasured = false;  ///< times that were
    bool hasModelled = false;  ///< times that a profile made
    std::vector<float> shares; ///< by slot of the scene, of `most`
};

/// Times are the medians of the run that was last; what runs once, before the iterations, has none of them.
Heat heatOf(const Scene& scene, const Analysis& analysis, const RunState* run, HeatBy by);

/// A card's ground: one hue, from the card's own colour to the strongest. Text is legible on all of it.
QColor heatColor(const Theme& theme, double share);

/// What kind of figures these are: "measured", "modelled", "partly modelled"; of bytes "exact".
QString heatKind(const Heat& heat);

/// Where a view of this size has the scale: its lower right corner, away from the lanes' headers. Empty where
/// the view is too small for one.
QRectF heatScaleBox(QSizeF view);
/// What the shades stand for.
void paintHeatScale(QPainter& painter, const Theme& theme, const Heat& heat, const QRectF& box);

} // namespace twb
