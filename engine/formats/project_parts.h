#pragma once

#include "graph/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A project file or a fragment as it was read: each record well-formed by itself, nothing checked between
/// them.
struct ProjectParts {
    GraphInfo info;
    std::vector<Lane> lanes;
    std::vector<Frame> frames;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Note> notes;
    std::vector<Route> routes; ///< in the order in which the layout has them
    /// What is wrong with the layout, if anything; to be said last, because a record that is wrong itself
    /// leaves its place to nobody.
    std::string misplaced;
};

inline constexpr std::string_view kProjectFormat = "tensor-workbench";
inline constexpr std::string_view kFragmentFormat = "tensor-workbench-fragment";

/// Reads text of this format. Throws Error(badFile) with `origin` and the line and column, or the place in
/// the document, of the first thing that is wrong.
ProjectParts readProjectParts(std::string_view text, std::string_view format, const std::string& origin);

/// The key of a route in the layout: the input that its edge leads to, "12:0". Nothing for any other text.
std::string keyOf(PortRef input);
std::optional<PortRef> parseInput(std::string_view key);

/// After the place of a folded node.
inline constexpr std::string_view kFolded = "folded";

/// Ids that a JSON reader of any language keeps exactly.
inline constexpr std::uint64_t kLargestId = (std::uint64_t(1) << 53) - 1;
/// Canvas units from a lane's corner; what lies further out is a mistake.
inline constexpr double kLargestPosition = 1e9;
/// Levels of lists and objects within one attribute, and of frames within frames.
inline constexpr int kDeepestNesting = 64;

} // namespace twb
