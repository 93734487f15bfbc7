#pragma once

#include "graph/graph.h"

#include <algorithm>
#include <vector>

namespace twb {

/// The sizes of cards, in canvas units.
namespace card {
inline constexpr double height = 74;  ///< for up to three ports on a side
inline constexpr int mostSpread = 12; ///< ports on a side; with more of them, they are closer together
inline constexpr double minWidth = 120;
inline constexpr double maxWidth = 224;  ///< fits a name of twenty letters and a time
inline constexpr double pillHeight = 34; ///< of a To node
inline constexpr double portSpacing = 20;
inline constexpr double moduleLine = 16; ///< the line with the size of a collapsed module
inline constexpr double rowHeight = 22;  ///< of a folded parameter
inline constexpr double rowsBottom = 6;  ///< below the last row
} // namespace card

/// The distance between the ports on a side with this many.
constexpr double portSpacingFor(int ports) {
    return ports <= card::mostSpread ? card::portSpacing
                                     : card::portSpacing * (card::mostSpread - 1) / (ports - 1);
}
/// The height of a card, without the rows of folded parameters, whose larger side has this many ports.
constexpr double cardHeightFor(int ports) {
    return card::height + card::portSpacing * (std::clamp(ports, 3, card::mostSpread) - 3);
}

/// The size of a node's card. The width is the maximum: the actual width depends on fonts.
struct CardSize {
    double width = 0;
    double height = 0;
    double anchor = 0; ///< from the top: the middle of the ports, without those of folded parameters
};
CardSize cardSizeOf(const Graph& graph, const Node& node);
/// The size of a collapsed module's card, which has a port for each tensor that enters or leaves the module.
CardSize cardSizeOfModule(const Graph& graph, const std::vector<NodeId>& nodes);

} // namespace twb
