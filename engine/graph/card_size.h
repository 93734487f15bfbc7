#pragma once

#include "graph/graph.h"

namespace twb {

/// The measures of cards, in canvas units.
namespace card {
inline constexpr double height = 74; ///< with up to three ports on a side
inline constexpr double minWidth = 120;
inline constexpr double maxWidth = 224;  ///< a name of twenty letters, and its time beside it
inline constexpr double pillHeight = 34; ///< of a To
inline constexpr double portSpacing = 20;
inline constexpr double rowHeight = 22; ///< of a folded parameter
inline constexpr double rowsBottom = 6; ///< under the last of them
} // namespace card

/// What a node's card takes up. Its width is the widest there is: the true one depends on fonts.
struct CardSize {
    double width = 0;
    double height = 0;
    double anchor = 0; ///< from the top: the middle of its ports, those of folded parameters apart
};
CardSize cardSizeOf(const Graph& graph, const Node& node);

} // namespace twb
