#include "widgets/canvas/diagnostic_marks.h"

#include <algorithm>
#include <utility>

namespace twb {
namespace {

/// The keys whose values differ between two maps, or that only one has.
template <class Map> std::vector<typename Map::key_type> differences(const Map& before, const Map& now) {
    std::vector<typename Map::key_type> out;
    for (const auto& [key, value] : now) {
        const auto at = before.find(key);
        if (at == before.end() || at->second != value) out.push_back(key);
    }
    for (const auto& [key, value] : before)
        if (!now.contains(key)) out.push_back(key);
    return out;
}

} // namespace

std::optional<Severity> DiagnosticMarks::of(NodeId node) const noexcept {
    const auto found = m_nodes.find(node);
    return found == m_nodes.end() ? std::nullopt : std::optional(found->second);
}

const std::string* DiagnosticMarks::mismatchInto(PortRef input) const noexcept {
    const auto found = m_mismatches.find(input);
    return found == m_mismatches.end() ? nullptr : &found->second;
}

DiagnosticMarks::Changes DiagnosticMarks::read(const Analysis& analysis, const NodeShapes& nodes,
                                               const ModuleShapes& modules) {
    std::unordered_map<NodeId, Severity> marks;
    std::unordered_map<PortRef, std::string, PortHash> mismatches;
    for (const Diagnostic& d : analysis.diagnostics) {
        if (d.severity == Severity::note || d.code == "implicit-transfer") continue;
        const auto [at, added] = marks.emplace(d.node, d.severity);
        if (!added) at->second = std::max(at->second, d.severity);
        if (d.severity == Severity::error && d.edge) mismatches.emplace(d.edge->to, d.code);
    }
    for (const auto& [slot, module] : modules.all()) {
        // Errors inside show on the card.
        std::optional<Severity> inside;
        for (const NodeId id : module.nodes)
            if (const auto mark = marks.find(id); mark != marks.end())
                inside = std::max(inside.value_or(mark->second), mark->second);
        if (inside) marks[nodes[slot].id] = *inside;
    }
    Changes changes{differences(m_nodes, marks), differences(m_mismatches, mismatches)};
    m_nodes = std::move(marks);
    m_mismatches = std::move(mismatches);
    return changes;
}

} // namespace twb
