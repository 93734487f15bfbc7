#pragma once

#include "core/cancel.h"
#include "graph/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// The records of a project file or a fragment. Each is well-formed by itself; references between them are
/// not yet checked.
struct ProjectParts {
    GraphInfo info;
    std::vector<Lane> lanes;
    std::vector<Frame> frames;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Note> notes;
    std::vector<Route> routes; ///< in the order of the layout
    /// The first error in the layout, if any. It is reported last, because an error in a record explains a
    /// wrong layout.
    std::string misplaced;
};

inline constexpr std::string_view kProjectFormat = "tensor-workbench";
inline constexpr std::string_view kFragmentFormat = "tensor-workbench-fragment";

/// Reads text of this format. Throws Error(badFile) with `origin` and the line and column, or the place in
/// the document, of the first error, and Error(cancelled).
ProjectParts readProjectParts(std::string_view text, std::string_view format, const std::string& origin,
                              const IsCancelled& isCancelled = {});

/// The key of a route in the layout: the input of its edge, "12:0". Nothing for any other text.
std::string keyOf(PortRef input);
std::optional<PortRef> parseInput(std::string_view key);

/// Follows the position of a folded node.
inline constexpr std::string_view kFolded = "folded";

/// The largest id that JSON readers of all languages keep exactly.
inline constexpr std::uint64_t kLargestId = (std::uint64_t(1) << 53) - 1;
/// The limit of positions, in canvas units from a lane's corner.
inline constexpr double kLargestPosition = 1e9;
/// The limit of nested lists and objects in an attribute, and of nested frames.
inline constexpr int kDeepestNesting = 64;

} // namespace twb
