#pragma once

#include "placement/analysis.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace twb::test {

inline std::string textOf(const NodeFacts& facts) {
    std::string text = facts.fine ? "fine " : "wrong ";
    text += facts.device.toString();
    if (facts.passes) text += " passes " + std::to_string(value(facts.passes->node));
    for (const auto& from : facts.inputs) text += from ? " " + std::to_string(value(from->node)) : " -";
    for (const auto& type : facts.outputs) text += type ? " " + type->toString() : " ?";
    for (const auto& [name, value] : facts.attributes) text += " " + name + "=" + toString(value);
    for (const int port : facts.copied) text += " copied " + std::to_string(port);
    return text;
}

inline std::string textOf(const Price& price) {
    return std::to_string(price.bytes) + " " + std::to_string(price.ns) + (price.isKnown ? " known" : "");
}

/// The contents of an analysis, independent of the order of its nodes.
inline std::vector<std::string> linesOf(const Analysis& analysis) {
    std::vector<std::string> lines;
    for (const NodeFacts& facts : analysis.nodes)
        lines.push_back(std::to_string(value(facts.id)) + " " + textOf(facts));
    for (const Diagnostic& d : analysis.diagnostics) {
        std::string line = std::to_string(value(d.node)) + " " + std::to_string(d.port) + " " + toText(d);
        for (const Fix& fix : d.fixes) line += "\n" + textOf(fix.price);
        lines.push_back(std::move(line));
    }
    for (const ImplicitCopy& copy : analysis.implicitCopies) {
        std::string line = "copy " + std::to_string(value(copy.from.node)) + " " + copy.target.toString() +
                           (copy.hoisted ? " once " : " ") + textOf(copy.price);
        for (const Edge& edge : copy.edges)
            line += " " + std::to_string(value(edge.to.node)) + "." + std::to_string(edge.to.port);
        lines.push_back(std::move(line));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

/// The difference between two analyses; empty if they are equal.
inline std::string difference(const Analysis& now, const Analysis& whole) {
    const std::vector<std::string> a = linesOf(now);
    const std::vector<std::string> b = linesOf(whole);
    std::vector<std::string> extra;
    std::vector<std::string> missing;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(extra));
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(missing));
    std::string text;
    for (const std::string& line : extra) text += "too much: " + line + "\n";
    for (const std::string& line : missing) text += "missing: " + line + "\n";
    return text;
}

} // namespace twb::test
