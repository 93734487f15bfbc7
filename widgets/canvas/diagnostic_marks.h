#pragma once

#include "widgets/canvas/module_shapes.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace twb {

/// The diagnostics as they are drawn: on cards, and on wires.
class DiagnosticMarks {
public:
    /// The worst that the rules say about a node: a warning or an error. The card of a collapsed module has
    /// those of its nodes.
    std::optional<Severity> of(NodeId node) const noexcept;
    /// The code of the error about the wire into this input; null if there is none.
    const std::string* mismatchInto(PortRef input) const noexcept;

    struct Changes {
        std::vector<NodeId> nodes;
        std::vector<PortRef> inputs;
    };
    Changes read(const Analysis& analysis, const NodeShapes& nodes, const ModuleShapes& modules);

private:
    std::unordered_map<NodeId, Severity> m_nodes;
    std::unordered_map<PortRef, std::string, PortHash> m_mismatches; ///< codes
};

} // namespace twb
