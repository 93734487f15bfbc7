#include "widgets/breakpoint_edits.h"

#include "widgets/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <functional>

namespace twb {
namespace {

constexpr const char* kRemove = "Remove breakpoint of ";
constexpr const char* kEnable = "Enable breakpoint of ";
constexpr const char* kDisable = "Disable breakpoint of ";

/// Context for translations.
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
        return "Pause before ";
    case Breakpoint::Kind::after:
        return "Pause after ";
    case Breakpoint::Kind::nanOrInf:
        return "Pause on NaN or inf of ";
    case Breakpoint::Kind::input:
    case Breakpoint::Kind::condition:
        break;
    }
    return "Pause on a condition of ";
}

} // namespace

Delta addBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint) {
    return changed(graph, nodes, verbOf(breakpoint), [&](Node& node) { put(node.breakpoints, breakpoint); });
}

Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint) {
    const bool all = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node* node = graph.find(id);
        return node && hasBreakpoint(*node, breakpoint);
    });
    if (!all) return addBreakpoint(graph, nodes, breakpoint);
    return changed(graph, nodes, kRemove, [&](Node& node) { take(node.breakpoints, breakpoint); });
}

Delta changeBreakpoint(const Graph& graph, const NodeBreakpoint& before, const Breakpoint& after) {
    const std::string verb = !before.breakpoint.isSameStop(after) ? verbOf(after)
                             : after.enabled                      ? kEnable
                                                                  : kDisable;
    return changed(graph, {before.node}, verb, [&](Node& node) {
        take(node.breakpoints, before.breakpoint);
        put(node.breakpoints, after);
    });
}

Delta removeBreakpoints(const Graph& graph, const std::vector<NodeBreakpoint>& breakpoints) {
    std::set<NodeId> nodes;
    std::map<NodeId, Breakpoints> byNode;
    for (const NodeBreakpoint& one : breakpoints) {
        nodes.insert(one.node);
        byNode[one.node].push_back(one.breakpoint);
    }
    return changed(graph, nodes, kRemove, [&](Node& node) {
        for (const Breakpoint& one : byNode[node.id]) take(node.breakpoints, one);
    });
}

Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled) {
    return changed(graph, nodes, enabled ? kEnable : kDisable, [&](Node& node) {
        for (Breakpoint& one : node.breakpoints)
            one.enabled = enabled; // `enabled` is the last key of their order
    });
}

std::map<NodeId, Breakpoints> breakpointsOf(const Graph& graph) {
    std::map<NodeId, Breakpoints> out;
    for (const Node& node : graph.nodes())
        if (!node.breakpoints.empty()) out.emplace(node.id, node.breakpoints);
    return out;
}

std::vector<NodeBreakpoint> allBreakpoints(const Graph& graph) {
    std::vector<NodeBreakpoint> out;
    for (const Node& node : graph.nodes())
        for (const Breakpoint& one : node.breakpoints) out.push_back({node.id, one});
    return out;
}

bool hasBreakpoint(const Node& node, const Breakpoint& breakpoint) {
    return std::any_of(node.breakpoints.begin(), node.breakpoints.end(),
                       [&](const Breakpoint& one) { return one.isSameStop(breakpoint); });
}

QString breakpointText(const Breakpoint& breakpoint) {
    const QString condition = QStringLiteral("%1 %2").arg(
        toQt(name(breakpoint.relation)),
        QLocale::c().toString(breakpoint.limit, 'g', QLocale::FloatingPointShortest));
    const QString statistic = toQt(name(breakpoint.statistic));
    switch (breakpoint.kind) {
    case Breakpoint::Kind::before:
        return Words::tr("before the node");
    case Breakpoint::Kind::input:
        return Words::tr("before the node, when %1 of an input %2").arg(statistic, condition);
    case Breakpoint::Kind::after:
        return Words::tr("after the node");
    case Breakpoint::Kind::nanOrInf:
        return Words::tr("on NaN or inf");
    case Breakpoint::Kind::condition:
        break;
    }
    return Words::tr("when %1 %2").arg(statistic, condition);
}

} // namespace twb
