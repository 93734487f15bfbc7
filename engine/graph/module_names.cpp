#include "graph/module_names.h"

#include "graph/folding.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace twb {
namespace {

using Path = std::vector<std::string>;

constexpr std::size_t kDeepestFrames = 64; ///< the limit of project files
/// Of a module's cards. Others, such as arithmetic on sizes, may be on their own.
constexpr double kLeastConnected = 0.6;

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(at), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

bool isNumber(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "Conv" or "Conv_12" for a Conv.
bool repeatsOp(std::string_view part, std::string_view op) {
    if (!part.starts_with(op)) return false;
    part.remove_prefix(op.size());
    return part.empty() || (part[0] == '_' && isNumber(part.substr(1)));
}

/// The part at `index`, preceded by as many parts as are needed to say more than a number.
std::string telling(const Path& path, std::size_t index) {
    std::string out = path[index];
    for (bool bare = isNumber(out); bare && index > 0; bare = isNumber(path[index]))
        out = path[--index] + "." + out;
    return out;
}

Path common(const Path& a, const Path& b) {
    const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return {a.begin(), end};
}

/// The modules of all nodes.
std::unordered_map<NodeId, Path> modulesOf(const Graph& graph) {
    std::unordered_map<NodeId, Path> modules;
    std::vector<NodeId> nameless;
    for (const Node& node : graph.nodes()) {
        Path path = namePath(node.name);
        path.pop_back();
        if (node.frame != FrameId::none) path.clear(); // the node is in a module or a body already
        if (path.empty() && node.frame == FrameId::none && !foldedInto(graph, node))
            nameless.push_back(node.id);
        modules[node.id] = std::move(path);
    }
    for (const NodeId id : nameless) {
        const Path* before = nullptr;
        const Path* after = nullptr;
        for (const auto& input : graph.inputs(id)) {
            if (!input || foldedInto(graph, *graph.find(input->node))) continue;
            before = &modules[input->node];
            break;
        }
        for (const Edge& edge : graph.outgoing(id)) {
            if (!after || modules[edge.to.node].size() > after->size()) after = &modules[edge.to.node];
        }
        if (before && after) modules[id] = common(*before, *after);
    }
    for (const Node& node : graph.nodes())
        if (const auto into = foldedInto(graph, node)) modules[node.id] = modules[into->node];
    return modules;
}

/// Sets of connected nodes, by union-find.
class Parts {
public:
    /// The size of the part that contains both nodes from now on.
    int join(NodeId a, NodeId b) {
        a = root(a);
        b = root(b);
        if (a == b) return sizeOf(a);
        const int size = sizeOf(a) + sizeOf(b);
        m_up[a] = b;
        return m_sizes[b] = size;
    }

private:
    NodeId root(NodeId id) {
        for (auto up = m_up.find(id); up != m_up.end(); up = m_up.find(id)) {
            // Path halving.
            if (const auto next = m_up.find(up->second); next != m_up.end()) up->second = next->second;
            id = up->second;
        }
        return id;
    }
    int sizeOf(NodeId root) const {
        const auto at = m_sizes.find(root);
        return at == m_sizes.end() ? 1 : at->second;
    }

    std::unordered_map<NodeId, NodeId> m_up;
    std::unordered_map<NodeId, int> m_sizes; ///< of the roots of larger parts
};

/// Calls joined(module, cards) for each edge within a module: so many cards are connected with it.
template <class Joined>
void connectParts(const Graph& graph, const std::unordered_map<NodeId, Path>& modules, const Joined& joined) {
    std::map<Path, Parts> parts;
    for (const Node& node : graph.nodes()) {
        if (foldedInto(graph, node)) continue;
        for (const Edge& edge : graph.outgoing(node.id)) {
            for (Path path = common(modules.at(node.id), modules.at(edge.to.node)); !path.empty();
                 path.pop_back())
                joined(path, parts[path].join(node.id, edge.to.node));
        }
    }
}

} // namespace

std::vector<std::string> namePath(std::string_view name) {
    Path path;
    std::string joined;
    // "a / b" is not a path, and neither is "x.grad of y".
    if (name.find(' ') != std::string_view::npos) return {std::string(name)};
    for (std::string_view part : split(name, '/')) {
        // PyTorch repeats the names of the outer modules in each part.
        if (!joined.empty() && part.starts_with(joined) && part.size() > joined.size() + 1 &&
            part[joined.size()] == '.')
            part.remove_prefix(joined.size() + 1);
        for (const std::string_view piece : split(part, '.')) {
            path.emplace_back(piece);
            joined += joined.empty() ? "" : ".";
            joined += piece;
        }
    }
    if (path.empty()) path.emplace_back(name);
    return path;
}

std::string shortNameOf(const Graph& graph, const Node& node) {
    const Path path = namePath(node.name);
    std::size_t at = path.size() - 1;
    if (node.name.find('/') == std::string::npos) return node.name; // a dot alone has no fixed meaning
    if (at == 0) return path[0];
    const Frame* frame = graph.find(node.frame);
    const bool isFramed = frame && frame->title == telling(path, at - 1);
    if (repeatsOp(path[at], node.op) && !isFramed) --at;
    return telling(path, at);
}

Delta frameModules(const Graph& graph) {
    const std::unordered_map<NodeId, Path> modules = modulesOf(graph);
    /// A module with the modules inside it.
    struct Members {
        int cards = 0;
        int connected = 1; ///< cards of the largest part that edges within the module connect
    };
    std::map<Path, Members> members; // parents come first
    for (const Node& node : graph.nodes()) {
        if (foldedInto(graph, node)) continue;
        for (Path path = modules.at(node.id); !path.empty(); path.pop_back()) ++members[path].cards;
    }
    connectParts(graph, modules, [&](const Path& path, int cards) {
        int& most = members[path].connected;
        most = std::max(most, cards);
    });
    Delta delta;
    delta.title = "Frame modules";
    std::map<Path, FrameId> frames;
    const auto innermost = [&](Path path) {
        for (; !path.empty(); path.pop_back())
            if (const auto at = frames.find(path); at != frames.end()) return at->second;
        return FrameId::none;
    };
    for (const auto& [path, in] : members) {
        if (in.cards < 2 || path.size() > kDeepestFrames) continue;
        // A module that is called in several places has no single place on the canvas.
        if (in.connected < kLeastConnected * in.cards) continue;
        const Path parent(path.begin(), path.end() - 1);
        const auto around = members.find(parent);
        if (around != members.end() && around->second.cards == in.cards && frames.contains(parent)) continue;
        Frame frame;
        frame.id = graph.newFrameId(frames.size());
        frame.title = telling(path, path.size() - 1);
        frame.parent = innermost(path);
        frames[path] = frame.id;
        delta.frames.push_back({std::nullopt, std::move(frame)});
    }
    for (const Node& node : graph.nodes()) {
        const FrameId frame = innermost(modules.at(node.id));
        if (frame == node.frame || node.frame != FrameId::none) continue;
        Node after = node;
        after.frame = frame;
        delta.nodes.push_back({node, std::move(after)});
    }
    for (const Frame& frame : graph.frames()) { // the bodies of an op are where the op is
        const auto owner = modules.find(frame.owner);
        const FrameId parent = owner == modules.end() ? FrameId::none : innermost(owner->second);
        if (frame.parent != FrameId::none || parent == FrameId::none) continue;
        Frame after = frame;
        after.parent = parent;
        delta.frames.push_back({frame, std::move(after)});
    }
    return delta;
}

} // namespace twb
