#include "app/finding_list.h"

#include "core/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace twb {
namespace {

constexpr std::size_t kMostConsequences = 5; ///< named for the consequences of a mismatch

std::string placeOf(const Graph& graph, const Diagnostic& d) {
    const Node* node = graph.find(d.node);
    return node && node->source ? toShortString(*node->source) : std::string();
}

/// "3 more caused by this mismatch: train.py:22 in <module> (2), net.py:10 in forward"
std::string consequences(const Graph& graph, const std::vector<const Diagnostic*>& followers) {
    std::map<std::string, std::size_t> places;
    for (const Diagnostic* d : followers) ++places[placeOf(graph, *d)];
    std::string out = fmt::format("  {} more caused by this mismatch: ", followers.size());
    std::size_t listed = 0;
    for (const auto& [place, count] : places) {
        if (listed == kMostConsequences)
            return out + fmt::format(", and {} more lines", places.size() - listed);
        out +=
            fmt::format("{}{}{}", listed++ ? ", " : "", place, count > 1 ? fmt::format(" ({})", count) : "");
    }
    return out;
}

std::string repeats(const std::vector<const Diagnostic*>& same) {
    std::uint64_t bytes = 0;
    double ns = 0;
    for (const Diagnostic* d : same) {
        bytes += d->price.bytes;
        ns += d->price.ns;
    }
    std::string out = fmt::format("  {} times per iteration at this line", same.size());
    if (bytes > 0) out += fmt::format(", {}, {} modelled in total", formatExactBytes(bytes), formatMs(ns));
    return out;
}

} // namespace

std::vector<Finding> findingsOf(const Graph& graph, const std::vector<Diagnostic>& diagnostics) {
    using Line = std::tuple<std::string, SourceLine>;
    std::map<NodeId, std::vector<const Diagnostic*>> followers;
    std::map<Line, std::vector<const Diagnostic*>> lints;
    const auto lineOf = [&](const Diagnostic& d) -> std::optional<Line> {
        const Node* node = graph.find(d.node);
        if (!node || !node->source || d.severity == Severity::error) return std::nullopt;
        return Line{d.code, *node->source};
    };
    for (const Diagnostic& d : diagnostics) {
        if (d.root != NodeId::none) followers[d.root].push_back(&d);
        if (const auto line = lineOf(d)) lints[*line].push_back(&d);
    }
    std::vector<Finding> out;
    for (const Diagnostic& d : diagnostics) {
        if (d.root != NodeId::none) continue;
        const auto line = lineOf(d);
        if (line && lints[*line].front() != &d) continue;
        const std::string place = placeOf(graph, d);
        Finding finding{&d, (place.empty() ? "" : printable(place) + ": ") + toText(d)};
        if (const auto rest = followers.find(d.node); d.code == "device-mismatch" && rest != followers.end())
            finding.text += printable(consequences(graph, rest->second)) + '\n';
        if (line && lints[*line].size() > 1) finding.text += repeats(lints[*line]) + '\n';
        out.push_back(std::move(finding));
    }
    return out;
}

} // namespace twb
