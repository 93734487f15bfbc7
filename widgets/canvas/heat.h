#pragma once

#include "widgets/canvas/scene.h"
#include "widgets/theme.h"

#include <vector>

class QPainter;

namespace twb {

/// The quantity that shades cards.
enum class HeatBy : std::uint8_t { none, time, bytes };

/// The share of each card. Items drawn on or within a card count for it: folded parameters, and nodes of a
/// collapsed module.
struct Heat {
    HeatBy by = HeatBy::none;
    double most = 0;           ///< of the hottest card: ns per iteration, or bytes of all outputs; 0: unknown
    bool hasMeasured = false;  ///< some times are measured
    bool hasModelled = false;  ///< some times are modelled
    QString host;              ///< as in RunState
    std::vector<float> shares; ///< by slot of the scene, relative to `most`
};

/// Times are the medians of the last run. Steps that run once, before the iterations, have none.
Heat heatOf(const Scene& scene, const Analysis& analysis, const RunState* run, HeatBy by);

enum class HeatHue : std::uint8_t { orange, blue };
/// The background of a card: from its normal colour to the strongest shade of one hue. Text is legible on all
/// shades.
QColor heatColor(const Theme& theme, double share, HeatHue hue = HeatHue::orange);

/// The kind of the times: "measured", "measured on HOST", "modelled", "partly modelled"; for bytes "exact".
QString heatKind(const Heat& heat);

/// The rectangle of the scale in a view of this size: its lower right corner, away from the lanes' headers.
/// Empty if the view is too small.
QRectF heatScaleBox(QSizeF view);
/// The quantity that the shades represent.
void paintHeatScale(QPainter& painter, const Theme& theme, const Heat& heat, const QRectF& box);

} // namespace twb
