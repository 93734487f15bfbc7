#include "graph/module_versions.h"

#include "graph/node_pairs.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace twb {

std::vector<OtherVersion> otherVersions(const Graph& graph, std::span<const ModuleOp> ops) {
    std::map<std::pair<std::string, std::int64_t>, OtherVersion> found;
    for (const Frame& frame : graph.frames()) {
        const auto ref = madeFrom(frame);
        if (!ref) continue;
        const auto op = std::ranges::find(ops, ref->name, &ModuleOp::name);
        if (op == ops.end() || op->version == ref->version) continue;
        OtherVersion& other = found[{ref->name, ref->version}];
        other.made = *ref;
        other.installed = op->version;
        other.modules.push_back(frame.id);
    }
    std::vector<OtherVersion> out;
    for (auto& [ref, other] : found) out.push_back(std::move(other));
    return out;
}

std::string toSentence(const Graph& graph, const OtherVersion& other) {
    const std::size_t more = other.modules.size() - 1;
    const std::string were =
        more == 0 ? "was" : fmt::format("and {} more {}", more, more == 1 ? "module were" : "modules were");
    return fmt::format("module \"{}\" {} made from {} version {}, but version {} is installed; the graph "
                       "keeps version {}{}",
                       graph.find(other.modules.front())->title, were, other.made.name, other.made.version,
                       other.installed, other.made.version,
                       other.isOlder() ? " until you choose Graph ▸ Module ▸ Update module in the window"
                                       : "");
}

namespace {

/// What a node's frames add to its meaning, from the inside out. The outermost frame is the op itself.
std::string placeOf(const Fragment& fragment, const Node& node) {
    std::string out;
    FrameId at = node.frame;
    for (std::size_t steps = 0; at != FrameId::none && steps <= fragment.frames.size(); ++steps) {
        const auto frame = std::ranges::find(fragment.frames, at, &Frame::id);
        if (frame == fragment.frames.end()) break;
        const auto owner = std::ranges::find(fragment.nodes, frame->owner, &Node::id);
        if (frame->parent != FrameId::none || owner != fragment.nodes.end())
            out += fmt::format("{}\n{}\n{}\n", frame->title, frame->body,
                               owner == fragment.nodes.end() ? "" : stemOf(owner->name));
        out += frame->once ? "once\n" : "\n";
        at = frame->parent;
    }
    return out;
}

std::string laneOf(const Fragment& fragment, const Node& node) {
    const auto lane = std::ranges::find(fragment.lanes, node.lane, &Lane::id);
    return lane == fragment.lanes.end() ? std::string() : lane->device.toString();
}

Attributes withoutSeed(const Node& node) {
    Attributes out = node.attributes;
    out.erase("seed"); // each use of a module has its own
    return out;
}

bool areAlike(const Fragment& a, const Node& one, const Fragment& b, const Node& other) {
    return one.op == other.op && stemOf(one.name) == stemOf(other.name) &&
           withoutSeed(one) == withoutSeed(other) && one.disabled == other.disabled &&
           one.pinned == other.pinned && laneOf(a, one) == laneOf(b, other) &&
           placeOf(a, one) == placeOf(b, other);
}

/// Whether `a` is `b`, if its nodes are those of `b` at these indices.
bool isSame(const ModuleOp& a, const ModuleOp& b, const std::vector<std::size_t>& indices) {
    std::map<NodeId, NodeId> there;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const Node& other = b.fragment.nodes[indices[i]];
        if (!areAlike(a.fragment, a.fragment.nodes[i], b.fragment, other)) return false;
        there[a.fragment.nodes[i].id] = other.id;
    }
    const auto moved = [&](PortRef at) { return PortRef{there.at(at.node), at.port}; };
    const auto areSamePorts = [&](const std::vector<ModuleOp::Port>& one,
                                  const std::vector<ModuleOp::Port>& other) {
        return std::ranges::equal(one, other, [&](const ModuleOp::Port& x, const ModuleOp::Port& y) {
            return x.name == y.name && moved(x.at) == y.at;
        });
    };
    const auto isSameAttribute = [&](const ModuleOp::Attribute& x, const ModuleOp::Attribute& y) {
        return x.name == y.name && x.doc == y.doc && x.sets.size() == y.sets.size() &&
               std::ranges::all_of(x.sets, [&](const ModuleOp::Setting& set) {
                   const ModuleOp::Setting wanted{there.at(set.node), set.attribute};
                   return std::ranges::find(y.sets, wanted) != y.sets.end();
               });
    };
    std::set<Edge> edges;
    for (const Edge& edge : a.fragment.edges) edges.insert({moved(edge.from), moved(edge.to)});
    return edges == std::set<Edge>(b.fragment.edges.begin(), b.fragment.edges.end()) &&
           areSamePorts(a.inputs, b.inputs) && areSamePorts(a.outputs, b.outputs) &&
           std::ranges::equal(a.attributes, b.attributes, isSameAttribute);
}

} // namespace

std::optional<std::vector<std::size_t>> sameMeaning(const ModuleOp& a, const ModuleOp& b) {
    const std::size_t count = a.fragment.nodes.size();
    if (a.doc != b.doc || b.fragment.nodes.size() != count) return std::nullopt;
    std::vector<std::size_t> inOrder(count);
    for (std::size_t i = 0; i < count; ++i) inOrder[i] = i;
    if (isSame(a, b, inOrder)) return inOrder;
    std::vector<std::size_t> byName;
    for (const auto& pair : pairByName(a.fragment.nodes, b.fragment.nodes)) {
        if (!pair) return std::nullopt;
        byName.push_back(*pair);
    }
    return isSame(a, b, byName) ? std::optional(byName) : std::nullopt;
}

} // namespace twb
