#include "placement/causes.h"

#include "core/format.h"
#include "placement/device_rule.h"
#include "placement/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace twb {
namespace {

class Causes {
public:
    Causes(const Graph& graph, const Analysis& analysis, const DeviceMap& devices)
        : m_graph(graph), m_analysis(analysis), m_rule(graph, devices, analysis) {}

    std::vector<Cause> find();
    void describe(Cause& cause) const;

private:
    const Diagnostic& diagnostic(std::size_t i) const { return m_analysis.diagnostics[i]; }
    /// The source of a diagnostic's input. A disabled node before it is not the cause.
    PortRef sourceOf(const Diagnostic& d) const {
        return m_analysis.sourceOf(d.edge->to).value_or(d.edge->from);
    }
    /// The possible causes, most likely first.
    std::vector<NodeId> suspects(const Diagnostic& d) const;
    void blame(std::vector<std::size_t> open);
    void joinNeighbours();
    void describeDevices(Cause& cause) const;
    std::optional<Remedy> moving(const std::vector<NodeId>& nodes, Device device, std::string title) const;
    std::optional<Remedy> creating(const Cause& cause) const;

    const Graph& m_graph;
    const Analysis& m_analysis;
    const DeviceRule m_rule;
    std::vector<Cause> m_causes;
};

/// Errors of different kinds have different causes.
bool isShared(const Diagnostic& d) {
    return d.code == "device-mismatch" || d.code == "dtype-mismatch" || d.code == "shape-mismatch" ||
           d.code == "implicit-transfer";
}

std::vector<NodeId> Causes::suspects(const Diagnostic& d) const {
    std::vector<NodeId> out;
    const NodeFacts* facts = m_analysis.find(d.node);
    if (d.edge) out.push_back(sourceOf(d).node);
    if (facts && (d.code == "dtype-mismatch" || d.code == "shape-mismatch"))
        for (const auto& input : facts->inputs)
            if (input && std::find(out.begin(), out.end(), input->node) == out.end())
                out.push_back(input->node);
    // For host values only the source is at fault: the op may be on its device.
    const bool onHost =
        d.code == "device-mismatch" && facts && facts->op && facts->op->inputAt(d.port).hostValue;
    if (!onHost || out.empty()) out.push_back(d.node);
    return out;
}

/// Greedy: the node that explains the most diagnostics is their cause; then the same for the rest.
void Causes::blame(std::vector<std::size_t> open) {
    std::unordered_map<NodeId, std::vector<std::size_t>> explained;
    for (const std::size_t i : open)
        for (const NodeId node : suspects(diagnostic(i))) explained[node].push_back(i);
    std::set<std::size_t> left(open.begin(), open.end());
    // Number of unexplained diagnostics by node, largest first. Updated lazily, since the numbers only fall.
    using Entry = std::tuple<std::size_t, bool, std::uint64_t>; // count, is first suspect, id (inverted)
    const auto entryOf = [&](NodeId node) {
        std::size_t count = 0;
        bool first = false;
        for (const std::size_t i : explained[node])
            if (left.contains(i)) {
                ++count;
                first = first || sourceOf(diagnostic(i)).node == node;
            }
        return Entry{count, first, ~value(node)};
    };
    std::set<Entry> byCount;
    for (const auto& [node, list] : explained) byCount.insert(entryOf(node));
    while (!left.empty()) {
        const Entry top = *byCount.rbegin();
        byCount.erase(top);
        const NodeId node{~std::get<2>(top)};
        if (const Entry now = entryOf(node); now != top) {
            if (std::get<0>(now) > 0) byCount.insert(now);
            continue;
        }
        Cause& cause = m_causes.emplace_back();
        cause.nodes = {node};
        for (const std::size_t i : explained[node])
            if (left.erase(i)) cause.diagnostics.push_back(i);
    }
}

/// Causes on the same device that are neighbours were moved there together.
void Causes::joinNeighbours() {
    std::unordered_map<NodeId, std::size_t> causeOf;
    for (std::size_t c = 0; c < m_causes.size(); ++c)
        if (diagnostic(m_causes[c].diagnostics.front()).code == "device-mismatch")
            causeOf.emplace(m_causes[c].nodes.front(), c);
    std::vector<std::size_t> into(m_causes.size());
    for (std::size_t c = 0; c < into.size(); ++c) into[c] = c;
    const auto root = [&](std::size_t c) {
        while (into[c] != c) c = into[c] = into[into[c]];
        return c;
    };
    for (const auto& [node, cause] : causeOf)
        for (const Edge& edge : m_graph.outgoing(node)) {
            const auto other = causeOf.find(edge.to.node);
            if (other == causeOf.end()) continue;
            const NodeFacts* a = m_analysis.find(node);
            const NodeFacts* b = m_analysis.find(edge.to.node);
            if (a && b && a->device == b->device)
                into[std::max(root(cause), root(other->second))] = std::min(root(cause), root(other->second));
        }
    for (std::size_t c = m_causes.size(); c-- > 0;) {
        if (root(c) == c) continue;
        Cause& to = m_causes[root(c)];
        to.nodes.insert(to.nodes.end(), m_causes[c].nodes.begin(), m_causes[c].nodes.end());
        to.diagnostics.insert(to.diagnostics.end(), m_causes[c].diagnostics.begin(),
                              m_causes[c].diagnostics.end());
        m_causes[c].diagnostics.clear();
    }
    std::erase_if(m_causes, [](const Cause& cause) { return cause.diagnostics.empty(); });
}

void add(Price& sum, const Price& price) {
    sum.bytes += price.bytes;
    sum.ns += price.ns;
    sum.isKnown = sum.isKnown && price.isKnown;
}

/// The move of nodes to a device; nothing if one of them must stay.
std::optional<Remedy> Causes::moving(const std::vector<NodeId>& nodes, Device device,
                                     std::string title) const {
    Remedy remedy;
    remedy.title = std::move(title);
    Moves moves;
    for (const NodeId node : nodes) {
        if (!m_rule.mayStandOn(node, device)) return std::nullopt;
        remedy.fixes.push_back(moveFix(m_graph, node, device));
        moves.merge(m_rule.movesOf(node, device));
    }
    remedy.price = m_rule.priceOf(moves);
    return remedy;
}

/// Creates all tensors that are on a wrong device where they are read, if they are sources that other nodes
/// are blamed for.
std::optional<Remedy> Causes::creating(const Cause& cause) const {
    std::set<NodeId> sources;
    std::set<Device> devices;
    for (const std::size_t i : cause.diagnostics) {
        const Diagnostic& d = diagnostic(i);
        const NodeFacts* source = m_analysis.find(sourceOf(d).node);
        if (!source->op || source->op->role != OpRole::source) return std::nullopt;
        sources.insert(source->id);
        devices.insert(m_rule.wanted(*m_analysis.find(d.node), d.port));
    }
    if (devices.size() != 1 || (sources.size() == 1 && cause.nodes.front() == *sources.begin()))
        return std::nullopt;
    const std::string what = sources.size() == 1 ? labelOf(m_graph, *sources.begin())
                                                 : fmt::format("the {} parameters", sources.size());
    return moving({sources.begin(), sources.end()}, *devices.begin(),
                  fmt::format("create {} on {}", what, devices.begin()->toString()));
}

void Causes::describeDevices(Cause& cause) const {
    const std::set<NodeId> own(cause.nodes.begin(), cause.nodes.end());
    const Device device = m_analysis.find(cause.nodes.front())->device;
    std::set<NodeId> readers;
    std::set<NodeId> sources;
    std::set<Device> others;
    Remedy inserts;
    inserts.price.isKnown = true;
    std::set<std::pair<PortRef, Device>> copied;
    std::size_t onHost = 0; // values that the host reads
    for (const std::size_t i : cause.diagnostics) {
        const Diagnostic& d = diagnostic(i);
        onHost += m_analysis.find(d.node)->op->inputAt(d.port).hostValue ? 1 : 0;
        const bool isSource = own.contains(sourceOf(d).node);
        (isSource ? readers : sources).insert(isSource ? d.node : sourceOf(d).node);
        others.insert(isSource ? m_rule.wanted(*m_analysis.find(d.node), d.port)
                               : m_analysis.find(sourceOf(d).node)->device);
        const auto insert = std::find_if(d.fixes.begin(), d.fixes.end(),
                                         [](const Fix& fix) { return fix.kind == Fix::Kind::insertTo; });
        if (insert != d.fixes.end()) { // a tensor that is written in place has none
            inserts.fixes.push_back(*insert);
            if (copied.insert({sourceOf(d), insert->device}).second) add(inserts.price, insert->price);
        }
        if (isSource && cause.decided.empty())
            for (const Operand& operand : d.operands)
                if (!operand.origin.empty() && operand.label == labelOf(m_graph, sourceOf(d).node))
                    cause.decided = operand.origin;
    }
    const std::string names = cause.nodes.size() == 1
                                  ? labelOf(m_graph, cause.nodes.front())
                                  : fmt::format("{} and {}", labelOf(m_graph, cause.nodes.front()),
                                                counted(cause.nodes.size() - 1, "other node"));
    std::vector<std::string> where;
    for (const Device other : others) where.push_back(other.toString());
    const std::string elsewhere = fmt::format("{}", fmt::join(where, ", "));
    const bool isOne = cause.nodes.size() == 1;
    const char* stands = isOne ? "is" : "are";
    const char* them = isOne ? "it" : "them";
    const char* theyRead = isOne ? "it reads" : "they read";
    if (onHost == cause.diagnostics.size())
        cause.sentence =
            fmt::format("{} {} on {}, but {} {} {} on the host", names, stands, device.toString(),
                        counted(readers.size(), "op"), readers.size() == 1 ? "reads" : "read", them);
    else if (sources.empty())
        cause.sentence = fmt::format("{} {} on {}, and {} on {} {} {}", names, stands, device.toString(),
                                     counted(readers.size(), "op"), elsewhere,
                                     readers.size() == 1 ? "reads" : "read", them);
    else if (readers.empty())
        cause.sentence = fmt::format("{} {} on {}, and {} that {} {} on {}", names, stands, device.toString(),
                                     counted(sources.size(), "tensor"), theyRead,
                                     sources.size() == 1 ? "is" : "are", elsewhere);
    else
        cause.sentence = fmt::format(
            "{} {} on {}; {} that {} and {} {} are on {}", names, stands, device.toString(),
            sources.size() == 1 ? "the tensor" : fmt::format("the {} tensors", sources.size()), theyRead,
            readers.size() == 1 ? "the op that reads" : fmt::format("the {} ops that read", readers.size()),
            isOne ? "its output" : "their outputs", elsewhere);
    const bool mayMove = std::ranges::none_of(cause.nodes, [&](NodeId id) {
        const Op* op = m_analysis.find(id)->op;
        return op && !op->updates.empty(); // it stands where the tensors are that it writes
    });
    if (others.size() == 1 && mayMove) {
        const Device other = *others.begin();
        if (auto move = moving(cause.nodes, other, fmt::format("move {} to {}", names, other.toString())))
            cause.remedies.push_back(std::move(*move));
    }
    if (auto create = creating(cause)) cause.remedies.push_back(std::move(*create));
    if (inserts.fixes.size() == cause.diagnostics.size()) {
        const Fix& first = inserts.fixes.front();
        if (inserts.fixes.size() == 1)
            inserts.title = first.title;
        else if (copied.size() == 1)
            inserts.title =
                fmt::format("insert one To({}) on {} for {} consumers", first.device.toString(),
                            labelOf(m_graph, first.edge.from.node),
                            inserts.fixes.size() == 2 ? "both" : fmt::format("all {}", inserts.fixes.size()));
        else
            inserts.title = fmt::format("insert {} To nodes, one per tensor and device", copied.size());
        cause.remedies.push_back(std::move(inserts));
    }
    std::stable_sort(cause.remedies.begin(), cause.remedies.end(), [](const Remedy& a, const Remedy& b) {
        return std::pair(!a.price.isKnown, a.price.ns) < std::pair(!b.price.isKnown, b.price.ns);
    });
}

void Causes::describe(Cause& cause) const {
    const Diagnostic& first = diagnostic(cause.diagnostics.front());
    if (first.code == "device-mismatch") return describeDevices(cause);
    cause.sentence = first.message;
    if (cause.diagnostics.size() > 1)
        cause.sentence = fmt::format("{} causes {}: {}", labelOf(m_graph, cause.nodes.front()),
                                     counted(cause.diagnostics.size(), "problem"), first.message);
    for (const std::size_t i : cause.diagnostics)
        for (std::size_t k = 0; k < diagnostic(i).fixes.size(); ++k) {
            const Fix& fix = diagnostic(i).fixes[k];
            if (cause.remedies.size() <= k) {
                cause.remedies.push_back({fix.title, {}, {}});
                cause.remedies.back().price.isKnown = true;
            } else if (!cause.remedies[k].fixes.empty()) {
                cause.remedies[k].title =
                    fmt::format("{}, and {} similar fixes", cause.remedies[k].fixes[0].title,
                                cause.remedies[k].fixes.size());
            }
            cause.remedies[k].fixes.push_back(fix);
            add(cause.remedies[k].price, fix.price);
        }
}

std::vector<Cause> Causes::find() {
    std::map<std::string_view, std::vector<std::size_t>> shared;
    for (std::size_t i = 0; i < m_analysis.diagnostics.size(); ++i) {
        const Diagnostic& d = diagnostic(i);
        if (d.root != NodeId::none) continue; // goes away with its root
        if (isShared(d) && d.edge) {
            shared[d.code].push_back(i);
            continue;
        }
        Cause& cause = m_causes.emplace_back();
        if (d.node != NodeId::none) cause.nodes.push_back(d.node);
        cause.diagnostics.push_back(i);
    }
    for (auto& [code, list] : shared) blame(std::move(list));
    joinNeighbours();
    for (Cause& cause : m_causes) std::sort(cause.diagnostics.begin(), cause.diagnostics.end());
    std::sort(m_causes.begin(), m_causes.end(),
              [](const Cause& a, const Cause& b) { return a.diagnostics.front() < b.diagnostics.front(); });
    return std::move(m_causes);
}

} // namespace

std::vector<Cause> groupByCause(const Graph& graph, const Analysis& analysis, const DeviceMap& devices) {
    return Causes(graph, analysis, devices).find();
}

void describe(std::vector<Cause>& causes, const Graph& graph, const Analysis& analysis,
              const DeviceMap& devices) {
    const Causes all(graph, analysis, devices);
    for (Cause& cause : causes) all.describe(cause);
}

std::vector<Cause> causesOf(const Graph& graph, const Analysis& analysis, const DeviceMap& devices) {
    std::vector<Cause> causes = groupByCause(graph, analysis, devices);
    describe(causes, graph, analysis, devices);
    return causes;
}

} // namespace twb
