#include "placement/implicit_copies.h"

#include "placement/device_rule.h"
#include "placement/disabled_rule.h"
#include "placement/update_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace twb {
namespace {

Diagnostic warningOf(const Graph& graph, const NodeFacts& source, const ImplicitCopy& copy) {
    const Edge& edge = copy.edges.front();
    const std::string from = labelOf(graph, source.id);
    const std::string reader = labelOf(graph, edge.to.node);
    Diagnostic d;
    d.severity = Severity::warning;
    d.code = "implicit-transfer";
    d.node = edge.to.node;
    d.port = edge.to.port;
    d.edge = edge;
    d.message = fmt::format("{} is copied from {} to {} for {}{}", from, source.device.toString(),
                            copy.target.toString(), reader,
                            copy.hoisted ? ", once before the first iteration" : ", in every iteration");
    Fix fix;
    fix.kind = Fix::Kind::insertTo;
    fix.title = fmt::format("insert To({}) on {} -> {}", copy.target.toString(), from, reader);
    fix.node = edge.to.node;
    fix.edge = edge;
    fix.device = copy.target;
    fix.price = copy.price;
    d.fixes.push_back(std::move(fix));
    return d;
}

} // namespace

void addImplicitCopies(const Graph& graph, const DeviceMap& devices, NodeId id, Analysis& analysis) {
    const NodeFacts& source = *analysis.find(id);
    const DeviceRule rule(graph, devices, analysis);
    std::map<std::pair<PortRef, Device>, std::vector<Edge>> copies;
    for (const Edge& edge : readersOf(graph, analysis, id)) {
        const NodeFacts* reader = analysis.find(edge.to.node);
        const auto port = static_cast<std::size_t>(edge.to.port);
        if (!reader || reader->inputs[port] != edge.from) continue;
        if (std::find(reader->copied.begin(), reader->copied.end(), edge.to.port) == reader->copied.end())
            continue;
        copies[{edge.from, rule.wanted(*reader, edge.to.port)}].push_back(edge);
    }
    for (auto& [what, edges] : copies) {
        ImplicitCopy& copy = analysis.implicitCopies.emplace_back();
        std::tie(copy.from, copy.target) = what;
        std::sort(edges.begin(), edges.end());
        copy.edges = std::move(edges);
        copy.hoisted = isConstantSource(graph, source);
        if (const auto& type = analysis.typeOf(copy.from))
            copy.price = priceOfTransfer(*type, source.device, copy.target, false, devices);
        if (analysis.policy.actionFor(source.device, copy.target) != Policy::Action::allow)
            analysis.diagnostics.push_back(warningOf(graph, source, copy));
    }
}

} // namespace twb
