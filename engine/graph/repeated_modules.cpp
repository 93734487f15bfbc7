#include "graph/repeated_modules.h"

#include "core/hash.h"
#include "graph/folding.h"
#include "graph/module_tree.h"
#include "ops/op_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace twb {
namespace {

constexpr std::size_t kLeastRun = 3;

/// Hashes of modules by what they compute.
class Structures {
public:
    Structures(const Graph& graph, const SourceTypes& types) : m_graph(graph), m_types(types) {}

    /// Of the nodes of one module. Each node is hashed with everything upstream of it inside the module, so
    /// that the order of ids does not matter.
    std::uint64_t of(const std::vector<NodeId>& nodes) {
        m_inside = {nodes.begin(), nodes.end()};
        m_begun.clear();
        m_known.clear();
        std::vector<std::uint64_t> hashes;
        for (const NodeId id : nodes) hashes.push_back(of(id));
        std::sort(hashes.begin(), hashes.end());
        ContentHash sum;
        for (const std::uint64_t hash : hashes) sum.add(hash);
        return sum.value();
    }

private:
    /// A chain can have thousands of nodes, so this keeps its own stack.
    std::uint64_t of(NodeId last) {
        std::vector<NodeId> open{last};
        while (!open.empty()) {
            const NodeId id = open.back();
            bool isReady = m_known.contains(id);
            if (!isReady) {
                isReady = true;
                // An entry of a cycle is 0 until it is known.
                const bool isNew = m_begun.insert(id).second;
                for (const auto& source : m_graph.inputs(id)) {
                    if (!isNew || !source || !m_inside.contains(source->node) ||
                        m_known.contains(source->node))
                        continue;
                    open.push_back(source->node);
                    isReady = false;
                }
                if (isReady) m_known[id] = hashOf(id);
            }
            if (isReady) open.pop_back();
        }
        return m_known.at(last);
    }

    std::uint64_t hashOf(NodeId id) const {
        const Node& node = *m_graph.find(id);
        ContentHash hash;
        const Op* op = findOp(node.op);
        const auto& inputs = m_graph.inputs(id);
        const bool isParameter = op && op->role == OpRole::source && inputs.empty();
        const std::optional<TensorType> type = isParameter ? m_types(node) : std::nullopt;
        if (type && holdsFractions(type->dtype)) { // a File and a Constant are equal
            hash.add(type->toString());
        } else {
            hash.add(node.op).add(node.disabled ? 1 : 0);
            for (const auto& [name, value] : node.attributes)
                if (name != "seed" && name != "path") hash.add(name).add(toString(value));
        }
        for (const auto& source : inputs) {
            if (!source || !m_inside.contains(source->node)) {
                hash.add(source ? 1 : 2);
                continue;
            }
            const auto known = m_known.find(source->node);
            hash.add(known == m_known.end() ? 0 : known->second)
                .add(static_cast<std::uint64_t>(source->port));
        }
        return hash.value();
    }

    const Graph& m_graph;
    const SourceTypes& m_types;
    std::unordered_set<NodeId> m_inside;
    std::unordered_set<NodeId> m_begun;
    std::unordered_map<NodeId, std::uint64_t> m_known;
};

bool hasCards(const Graph& graph, const std::vector<NodeId>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) { return !foldedInto(graph, *graph.find(id)); });
}

/// "blocks.0" and "blocks.11" give "blocks.0–11".
std::string rangeTitle(const std::string& first, const std::string& last) {
    std::size_t shared = static_cast<std::size_t>(
        std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first - first.begin());
    const auto isDigit = [&](std::size_t i) { return first[i] >= '0' && first[i] <= '9'; };
    while (shared > 0 && isDigit(shared - 1)) --shared;
    return first + "–" + last.substr(shared);
}

/// Sibling modules, and the edges between them.
class Siblings {
public:
    Siblings(const Graph& graph, const ModuleTree& tree, FrameId parent) : m_graph(graph) {
        for (const FrameId frame : tree.modulesIn(parent)) {
            if (graph.find(frame)->owner != NodeId::none) continue; // a body stays with its op
            for (const NodeId id : m_nodes[frame] = tree.allNodesIn(frame)) m_frameOf[id] = frame;
        }
        for (const auto& [frame, nodes] : m_nodes)
            for (const NodeId id : nodes)
                for (const Edge& edge : graph.outgoing(id))
                    if (const auto to = m_frameOf.find(edge.to.node);
                        to != m_frameOf.end() && to->second != frame)
                        m_next[frame].insert(to->second);
    }

    /// Runs of equal modules, each with an edge to the next one.
    std::vector<std::vector<FrameId>> runs(const SourceTypes& types) const {
        Structures structures(m_graph, types);
        std::map<std::uint64_t, std::vector<FrameId>> equal;
        for (const auto& [frame, nodes] : m_nodes) equal[structures.of(nodes)].push_back(frame);
        std::vector<std::vector<FrameId>> runs;
        for (const auto& [hash, frames] : equal) {
            if (frames.size() < kLeastRun) continue;
            std::unordered_set<FrameId> followers;
            for (const FrameId frame : frames)
                if (const FrameId next = nextOf(frame, frames); next != FrameId::none) followers.insert(next);
            std::unordered_set<FrameId> taken; // two modules may lead to one, and modules may form a cycle
            for (const FrameId first : frames) {
                if (followers.contains(first)) continue;
                std::vector<FrameId> run;
                for (FrameId at = first; at != FrameId::none && taken.insert(at).second;
                     at = nextOf(at, frames))
                    run.push_back(at);
                if (run.size() >= kLeastRun) runs.push_back(std::move(run));
            }
        }
        return runs;
    }

    std::size_t count() const { return m_nodes.size(); }

private:
    /// The only module among `frames` that reads this one; none if there are several.
    FrameId nextOf(FrameId frame, const std::vector<FrameId>& frames) const {
        const auto next = m_next.find(frame);
        FrameId found = FrameId::none;
        if (next == m_next.end()) return found;
        for (const FrameId other : frames) {
            if (!next->second.contains(other)) continue;
            if (found != FrameId::none) return FrameId::none;
            found = other;
        }
        return found;
    }

    const Graph& m_graph;
    std::map<FrameId, std::vector<NodeId>> m_nodes;
    std::unordered_map<NodeId, FrameId> m_frameOf;
    std::map<FrameId, std::unordered_set<FrameId>> m_next;
};

} // namespace

int repeatsIn(const Graph& graph, FrameId module, const std::vector<NodeId>& nodes,
              const SourceTypes& types) {
    std::map<FrameId, std::vector<NodeId>> modules; // those directly inside
    for (const NodeId id : nodes) {
        FrameId at = graph.find(id)->frame;
        if (at == module) {
            if (!foldedInto(graph, *graph.find(id))) return 0;
            continue;
        }
        for (FrameId up = graph.find(at)->parent; up != module; up = graph.find(at)->parent) at = up;
        if (graph.find(at)->owner != NodeId::none) return 0;
        modules[at].push_back(id);
    }
    if (modules.size() < 2) return 0;
    const std::vector<NodeId>& first = modules.begin()->second;
    Structures structures(graph, types);
    const std::uint64_t structure = structures.of(first);
    for (const auto& [other, content] : modules)
        if (content.size() != first.size() || structures.of(content) != structure) return 0;
    return static_cast<int>(modules.size());
}

Delta stackRepeats(const Graph& graph, const SourceTypes& types) {
    Delta delta;
    delta.title = "Stack repeated modules";
    std::uint64_t added = 0;
    const ModuleTree tree(graph);
    std::vector<FrameId> parents{FrameId::none};
    for (const std::vector<FrameId>& level : tree.levelsIn())
        parents.insert(parents.end(), level.begin(), level.end());
    for (const FrameId parent : parents) {
        if (tree.modulesIn(parent).size() < kLeastRun) continue;
        const Siblings siblings(graph, tree, parent);
        for (const std::vector<FrameId>& run : siblings.runs(types)) {
            const bool isAll = parent != FrameId::none && run.size() == tree.modulesIn(parent).size() &&
                               !hasCards(graph, tree.nodesIn(parent));
            if (isAll) continue;
            Frame stack;
            stack.title = rangeTitle(graph.find(run.front())->title, graph.find(run.back())->title);
            stack.parent = parent;
            stack.id = graph.newFrameId(added++);
            for (const FrameId id : run) {
                Frame frame = *graph.find(id);
                frame.parent = stack.id;
                delta.frames.push_back({*graph.find(id), std::move(frame)});
            }
            delta.frames.push_back({std::nullopt, std::move(stack)});
        }
    }
    return delta;
}

} // namespace twb
