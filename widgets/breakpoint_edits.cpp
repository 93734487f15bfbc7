#include "widgets/breakpoint_edits.h"

#include "widgets/edit_title.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QLocale>

#include <algorithm>
#include <functional>

namespace twb {
namespace {

/// Context for translations.
struct BreakpointWords {
    Q_DECLARE_TR_FUNCTIONS(Breakpoint)
};

QString removing() { return EditTitle::tr("Remove breakpoint of %1"); }
QString enabling(bool enabled) {
    return enabled ? EditTitle::tr("Enable breakpoint of %1") : EditTitle::tr("Disable breakpoint of %1");
}

/// `title` has a placeholder for the nodes.
Delta changed(const Graph& graph, const std::set<NodeId>& nodes, const QString& title,
              const std::function<void(Node&)>& change) {
    Delta delta;
    for (const NodeId id : nodes) {
        const Node* before = graph.find(id);
        if (!before) continue;
        Node after = *before;
        change(after);
        if (after != *before) delta.nodes.push_back({*before, std::move(after)});
    }
    delta.title = editTitle(title, delta.nodes.size() == 1 ? delta.nodes.front().after->name
                                                           : nodeCount(delta.nodes.size()));
    return delta;
}

QString adding(const Breakpoint& breakpoint) {
    switch (breakpoint.kind) {
    case Breakpoint::Kind::before:
        return EditTitle::tr("Pause before %1");
    case Breakpoint::Kind::after:
        return EditTitle::tr("Pause after %1");
    case Breakpoint::Kind::nanOrInf:
        return EditTitle::tr("Pause on NaN or inf of %1");
    case Breakpoint::Kind::input:
    case Breakpoint::Kind::condition:
        break;
    }
    return EditTitle::tr("Pause on a condition of %1");
}

} // namespace

Delta addBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint) {
    return changed(graph, nodes, adding(breakpoint), [&](Node& node) { put(node.breakpoints, breakpoint); });
}

Delta toggleBreakpoint(const Graph& graph, const std::set<NodeId>& nodes, const Breakpoint& breakpoint) {
    const bool all = std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const Node* node = graph.find(id);
        return node && hasBreakpoint(*node, breakpoint);
    });
    if (!all) return addBreakpoint(graph, nodes, breakpoint);
    return changed(graph, nodes, removing(), [&](Node& node) { take(node.breakpoints, breakpoint); });
}

Delta changeBreakpoint(const Graph& graph, const NodeBreakpoint& before, const Breakpoint& after) {
    const QString title = before.breakpoint.isSameStop(after) ? enabling(after.enabled) : adding(after);
    return changed(graph, {before.node}, title, [&](Node& node) {
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
    return changed(graph, nodes, removing(), [&](Node& node) {
        for (const Breakpoint& one : byNode[node.id]) take(node.breakpoints, one);
    });
}

Delta enableBreakpoints(const Graph& graph, const std::set<NodeId>& nodes, bool enabled) {
    return changed(graph, nodes, enabling(enabled), [&](Node& node) {
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
        localized(QString::number(breakpoint.limit, 'g', QLocale::FloatingPointShortest)));
    const QString statistic = toQt(name(breakpoint.statistic));
    switch (breakpoint.kind) {
    case Breakpoint::Kind::before:
        return BreakpointWords::tr("before the node");
    case Breakpoint::Kind::input:
        return BreakpointWords::tr("before the node, when %1 of an input %2").arg(statistic, condition);
    case Breakpoint::Kind::after:
        return BreakpointWords::tr("after the node");
    case Breakpoint::Kind::nanOrInf:
        return BreakpointWords::tr("on NaN or inf");
    case Breakpoint::Kind::condition:
        break;
    }
    return BreakpointWords::tr("when %1 %2").arg(statistic, condition);
}

} // namespace twb
