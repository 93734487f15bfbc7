#include "widgets/breakpoint_edits.h"

#include "widgets/text.h"

#include <QCoreApplication>

#include <algorithm>
#include <functional>

namespace twb {
namespace {

/// For translators.
struct Words {
    Q_DECLARE_TR_FUNCTIONS(Breakpoint)
};

Delta changed(const Graph& graph, const std::set<NodeId>& nodes, const std::string& verb,
              const std::function<void(Node&)>& change) {
    Delta delta;
    for (const NodeId id : nodes) {
        const Node* before = graph.find(id);
        if (!before) continue;
        Node after = *before;
        change(after);
        if (after != *before) delta.nodes.push_back({*before, std::move(after)});
    }
    delta.title = verb + (delta.nodes.size() == 1 ? delta.nodes.front().after->name
                                                  : std::to_string(delta.nodes.size()) + " nodes");
    return delta;
}

std::string verbOf(const Breakpoint& breakpoint) {
    switch (breakpoint.kind) {
    case Breakpoint::Kind::before:
        return "Stop before ";
    case Breakpoint::Kind::after:
        return "Stop after ";
    case Breakpoint::Kind::nanOrInf:
        return "Stop on NaN or inf of ";
    case Breakpoint::Kind::condition:
        break;
    }
    return "Stop on a condition of ";
}

} // namespace

Delta setBreakpoint(const Graph& graph, const std::set<NodeId>& nodes,
                    const std::optional<Breakpoint>& breakpoint) {
    return changed(graph, nodes, breakpoint ? verbOf(*breakpoint) : "Remove breakpoint of ",
                   [&](Node& node) { node.breakpoint = breakpoint; });
}

Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint) {
    const bool all = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node* node = graph.find(id);
        if (!node || !node->breakpoint) return false;
        Breakpoint present = *node->breakpoint;
        present.enabled = breakpoint.enabled;
        return present == breakpoint;
    });
    return setBreakpoint(graph, nodes, all ? std::nullopt : std::optional(breakpoint));
}

Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled) {
    return changed(graph, nodes, enabled ? "Enable breakpoint of " : "Disable breakpoint of ",
                   [&](Node& node) {
                       if (node.breakpoint) node.breakpoint->enabled = enabled;
                   });
}

std::map<NodeId, Breakpoint> breakpointsOf(const Graph& graph) {
    std::map<NodeId, Breakpoint> out;
    for (const Node& node : graph.nodes())
        if (node.breakpoint) out.emplace(node.id, *node.breakpoint);
    return out;
}

QString breakpointText(const Breakpoint& breakpoint) {
    switch (breakpoint.kind) {
    case Breakpoint::Kind::before:
        return Words::tr("before it");
    case Breakpoint::Kind::after:
        return Words::tr("after it");
    case Breakpoint::Kind::nanOrInf:
        return Words::tr("on NaN or inf");
    case Breakpoint::Kind::condition:
        break;
    }
    Breakpoint enabled = breakpoint;
    enabled.enabled = true;
    return Words::tr("when %1").arg(toQt(enabled.toString()));
}

} // namespace twb
