#include "formats/dot.h"

#include "core/format.h"
#include "formats/project.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <string_view>

namespace twb {
namespace {

/// A quoted string in DOT has one escape, \"; labels interpret others.
std::string dotString(std::string_view text) {
    std::string out = "\"";
    for (const char c : printable(text)) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string joined(std::string_view above, std::string_view below) {
    std::string out = dotString(above);
    out.pop_back();
    return out + "\\n" + dotString(below).substr(1);
}

std::string shapeOf(const Node& node) {
    const Op* op = findOp(node.op);
    if (!op) return "box, style=dashed";
    switch (op->role) {
    case OpRole::source:
        return "box, style=rounded";
    case OpRole::transfer:
        return "cds";
    case OpRole::sink:
        return "ellipse";
    default:
        return "box";
    }
}

} // namespace

std::string toDot(const Graph& graph) {
    std::string out = fmt::format("digraph {} {{\n", dotString(graph.info().title));
    out += "  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=11];\n"
           "  edge [fontname=\"sans-serif\", fontsize=9];\n";
    for (const Lane& lane : graph.lanesInOrder()) {
        const std::string device = lane.device.toString();
        out += fmt::format("  subgraph cluster_{} {{\n    label={};\n", value(lane.id),
                           dotString(lane.title.empty() ? device : device + " " + lane.title));
        for (const Node& node : graph.nodes())
            if (node.lane == lane.id)
                out += fmt::format("    n{} [label={}, shape={}];\n", value(node.id),
                                   node.name == node.op ? dotString(node.op) : joined(node.name, node.op),
                                   shapeOf(node));
        out += "  }\n";
    }
    for (const Edge& edge : graph.edges()) {
        const Node& from = *graph.find(edge.from.node);
        const Node& to = *graph.find(edge.to.node);
        const Op* op = findOp(to.op);
        std::string attributes;
        if (op && op->inputs.size() > 1) {
            const PortSpec& port = op->inputAt(edge.to.port);
            attributes = "headlabel=" + dotString(port.argument.empty() ? port.name : port.argument);
        }
        if (graph.deviceOf(from) != graph.deviceOf(to))
            attributes += fmt::format(
                "{}penwidth=2.5, label={}", attributes.empty() ? "" : ", ",
                dotString(graph.deviceOf(from).toString() + " → " + graph.deviceOf(to).toString()));
        out += fmt::format("  n{} -> n{}{};\n", value(edge.from.node), value(edge.to.node),
                           attributes.empty() ? "" : " [" + attributes + "]");
    }
    return out + "}\n";
}

void exportDot(const Graph& graph, const std::filesystem::path& path) {
    writeFileAtomically(path, toDot(graph));
}

} // namespace twb
