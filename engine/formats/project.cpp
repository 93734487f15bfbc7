#include "formats/project.h"

#include "core/error.h"
#include "formats/project_parts.h"
#include "ops/plugins/project_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace twb {
namespace {

/// Limit of unconnected inputs before a connected one; no op has as many. It bounds the memory that a small
/// hostile file can request.
constexpr std::size_t kMostOpenInputs = 64;

[[noreturn]] void refuse(const std::string& origin, const std::string& sentence) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", origin, sentence));
}

/// The sorted ids of one kind of record, for lookups.
template <class T> class Ids {
public:
    /// Sorts the records by id and refuses duplicate ids.
    Ids(std::vector<T>& records, std::string_view section, const std::string& origin) {
        m_ids.reserve(records.size());
        for (const T& record : records) m_ids.push_back(record.id);
        if (!std::is_sorted(m_ids.begin(), m_ids.end())) std::sort(m_ids.begin(), m_ids.end());
        if (const auto twice = std::adjacent_find(m_ids.begin(), m_ids.end()); twice != m_ids.end()) {
            const auto isIt = [&](const T& record) { return record.id == *twice; };
            const auto first = std::find_if(records.begin(), records.end(), isIt);
            const auto second = std::find_if(first + 1, records.end(), isIt);
            refuse(origin,
                   fmt::format("{0}[{1}].id is {2}, but {0}[{3}] already has this id; give each its own",
                               section, second - records.begin(), value(*twice), first - records.begin()));
        }
    }
    bool has(decltype(T::id) id) const { return std::binary_search(m_ids.begin(), m_ids.end(), id); }
    std::size_t indexOf(decltype(T::id) id) const {
        return static_cast<std::size_t>(std::lower_bound(m_ids.begin(), m_ids.end(), id) - m_ids.begin());
    }

private:
    std::vector<decltype(T::id)> m_ids;
};

template <class T> void sortById(std::vector<T>& records) {
    const auto byId = [](const T& a, const T& b) { return a.id < b.id; };
    if (!std::is_sorted(records.begin(), records.end(), byId))
        std::sort(records.begin(), records.end(), byId);
}

/// Checks that parents exist, and that no frame contains itself or is nested too deeply.
void checkFrames(const std::vector<Frame>& frames, const Ids<Frame>& ids, const std::string& origin) {
    std::vector<std::size_t> sorted(frames.size()); // by rank of id: position in the file
    for (std::size_t i = 0; i < frames.size(); ++i) sorted[ids.indexOf(frames[i].id)] = i;
    for (std::size_t i = 0; i < frames.size(); ++i)
        if (const FrameId parent = frames[i].parent; parent != FrameId::none && !ids.has(parent))
            refuse(origin, fmt::format("frames[{}].parent is {}, which is not a frame", i, value(parent)));
    for (std::size_t i = 0; i < frames.size(); ++i) {
        int depth = 0;
        for (FrameId at = frames[i].parent; at != FrameId::none; ++depth) {
            if (depth > kDeepestNesting)
                refuse(origin,
                       fmt::format(
                           "frames[{}].parent: the frame contains itself or is nested deeper than {} frames",
                           i, kDeepestNesting));
            at = frames[sorted[ids.indexOf(at)]].parent;
        }
    }
}

void checkEdges(const std::vector<Edge>& edges, const Ids<Node>& nodes, const std::string& origin) {
    for (std::size_t i = 0; i < edges.size(); ++i) {
        if (!nodes.has(edges[i].from.node))
            refuse(origin, fmt::format("edges[{}].from names node {}, which does not exist", i,
                                       value(edges[i].from.node)));
        if (!nodes.has(edges[i].to.node))
            refuse(origin, fmt::format("edges[{}].to names node {}, which does not exist", i,
                                       value(edges[i].to.node)));
    }
    // Sorted by consumer and input, so that duplicates and gaps are adjacent.
    std::vector<std::size_t> order(edges.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto byInput = [&](std::size_t a, std::size_t b) { return edges[a].to < edges[b].to; };
    if (!std::is_sorted(order.begin(), order.end(), byInput))
        std::stable_sort(order.begin(), order.end(), byInput);
    std::size_t before = 0; // edges into the same node
    for (std::size_t k = 0; k < order.size(); ++k) {
        const PortRef to = edges[order[k]].to;
        const Edge* last = k ? &edges[order[k - 1]] : nullptr;
        if (last && last->to == to)
            refuse(origin, fmt::format("edges[{}].to: input {} of node {} is connected already, by edges[{}]",
                                       order[k], to.port, value(to.node), order[k - 1]));
        before = last && last->to.node == to.node ? before + 1 : 0;
        if (static_cast<std::size_t>(to.port) > before + kMostOpenInputs)
            refuse(origin,
                   fmt::format(
                       "edges[{}].to names input {} of node {}, but more than {} inputs before it are not "
                       "connected",
                       order[k], to.port, value(to.node), kMostOpenInputs));
    }
}

/// Sorts the routes by input. Each must belong to an edge.
void checkRoutes(ProjectParts& parts, const std::string& origin) {
    if (parts.routes.empty()) return;
    const auto byInput = [](const Route& a, const Route& b) { return a.id < b.id; };
    if (!std::is_sorted(parts.routes.begin(), parts.routes.end(), byInput))
        std::stable_sort(parts.routes.begin(), parts.routes.end(), byInput);
    std::vector<PortRef> inputs;
    inputs.reserve(parts.edges.size());
    for (const Edge& edge : parts.edges) inputs.push_back(edge.to);
    std::sort(inputs.begin(), inputs.end());
    const Route* last = nullptr;
    for (const Route& route : parts.routes) {
        if (last && last->id == route.id)
            refuse(origin, fmt::format("layout.routes.{} is given twice", keyOf(route.id)));
        if (!std::binary_search(inputs.begin(), inputs.end(), route.id))
            refuse(origin,
                   fmt::format(
                       "layout.routes.{} has dots (bends of a wire) for an input without an edge; remove it",
                       keyOf(route.id)));
        last = &route;
    }
}

/// Checks references between the records of a project or a fragment.
void checkParts(ProjectParts& parts, const std::string& origin) {
    const Ids<Frame> frames(parts.frames, "frames", origin);
    const Ids<Node> nodes(parts.nodes, "nodes", origin);
    const Ids<Note> notes(parts.notes, "notes", origin);
    checkFrames(parts.frames, frames, origin);
    for (std::size_t i = 0; i < parts.nodes.size(); ++i)
        if (const FrameId frame = parts.nodes[i].frame; frame != FrameId::none && !frames.has(frame))
            refuse(origin, fmt::format("nodes[{}].frame is {}, which is not a frame", i, value(frame)));
    for (std::size_t i = 0; i < parts.frames.size(); ++i)
        if (const NodeId owner = parts.frames[i].owner; owner != NodeId::none && !nodes.has(owner))
            refuse(origin, fmt::format("frames[{}].owner is {}, which is not a node", i, value(owner)));
    checkEdges(parts.edges, nodes, origin);
    checkRoutes(parts, origin);
}

void checkLanes(ProjectParts& parts, const std::string& origin) {
    const Ids<Lane> lanes(parts.lanes, "lanes", origin);
    const auto check = [&](const auto& records, std::string_view section) {
        for (std::size_t i = 0; i < records.size(); ++i)
            if (!lanes.has(records[i].lane))
                refuse(origin, fmt::format("{}[{}].lane is {}, which is not a lane{}", section, i,
                                           value(records[i].lane),
                                           parts.lanes.empty() ? "; \"lanes\" has none" : ""));
    };
    check(parts.nodes, "nodes");
    check(parts.notes, "notes");
    for (const Route& route : parts.routes)
        for (std::size_t i = 0; i < route.dots.size(); ++i)
            if (!lanes.has(route.dots[i].lane))
                refuse(origin, fmt::format("layout.routes.{}[{}] is on lane {}, which does not exist",
                                           keyOf(route.id), i, value(route.dots[i].lane)));
}

template <class T> void addAll(std::vector<T>& records, std::vector<Change<T>>& changes) {
    sortById(records);
    changes.reserve(records.size());
    for (T& record : records) changes.push_back({std::nullopt, std::move(record)});
}

/// In slices: a Delta holds each node a second time, which is too much memory for a million nodes at once.
void addNodes(Graph& graph, std::vector<Node>& nodes) {
    constexpr std::size_t kSlice = 16384;
    sortById(nodes);
    for (std::size_t begin = 0; begin < nodes.size(); begin += kSlice) {
        Delta delta;
        const std::size_t end = std::min(nodes.size(), begin + kSlice);
        delta.nodes.reserve(end - begin);
        for (std::size_t i = begin; i < end; ++i) delta.nodes.push_back({std::nullopt, std::move(nodes[i])});
        graph.apply(delta);
    }
}

Graph graphOf(ProjectParts parts, const std::string& origin) {
    checkParts(parts, origin);
    checkLanes(parts, origin);
    if (!parts.misplaced.empty()) refuse(origin, parts.misplaced);

    Graph graph;
    Delta surroundings;
    surroundings.info = Change<GraphInfo>{graph.info(), parts.info};
    addAll(parts.lanes, surroundings.lanes);
    Delta edges; // and owners: records that refer to nodes
    for (Frame& frame : parts.frames) {
        if (frame.owner == NodeId::none) continue;
        const Frame owned = frame;
        frame.owner = NodeId::none;
        edges.frames.push_back({frame, owned});
    }
    addAll(parts.frames, surroundings.frames);
    addAll(parts.notes, surroundings.notes);
    graph.apply(surroundings);
    addNodes(graph, parts.nodes);
    edges.edgesAdded = std::move(parts.edges);
    // In this order each edge is appended to those of its output.
    std::sort(edges.edgesAdded.begin(), edges.edgesAdded.end());
    addAll(parts.routes, edges.routes);
    graph.apply(edges);
    return graph;
}

/// Makes the names of source files absolute that exist in the project's folder.
void resolveSources(std::vector<Node>& nodes, const std::filesystem::path& folder) {
    std::unordered_map<std::string, std::string> resolved;
    for (Node& node : nodes) {
        if (!node.source || node.source->file.starts_with('/')) continue;
        const auto [at, isNew] = resolved.try_emplace(node.source->file, node.source->file);
        std::error_code error;
        if (const auto file = folder / at->first; isNew && std::filesystem::is_regular_file(file, error))
            at->second = file.string();
        node.source->file = at->second;
    }
}

std::filesystem::path folderOf(const std::filesystem::path& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    return error ? path.parent_path() : absolute.lexically_normal().parent_path();
}

} // namespace

Graph parseProject(std::string_view text, const std::string& origin) {
    return graphOf(readProjectParts(text, kProjectFormat, origin), origin);
}

Fragment parseFragment(std::string_view text) {
    const std::string origin = "the clipboard";
    ProjectParts parts = readProjectParts(text, kFragmentFormat, origin);
    checkParts(parts, origin);
    if (!parts.misplaced.empty()) refuse(origin, parts.misplaced);
    Ids<Lane>(parts.lanes, "lanes", origin); // throws for duplicates
    return {std::move(parts.nodes), std::move(parts.frames), std::move(parts.notes),
            std::move(parts.edges), std::move(parts.lanes),  std::move(parts.routes)};
}

std::string readProjectText(const std::filesystem::path& path) {
    constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
    return readFile(path, kLargestFile);
}

Graph loadProject(const std::filesystem::path& path, const IsCancelled& isCancelled) {
    loadProjectPlugins(path);
    const std::string origin = path.string();
    ProjectParts parts = readProjectParts(readProjectText(path), kProjectFormat, origin, isCancelled);
    resolveSources(parts.nodes, folderOf(path));
    return graphOf(std::move(parts), origin);
}

void saveProject(const Graph& graph, const std::filesystem::path& path) {
    writeFileAtomically(path, toProjectText(graph, folderOf(path)));
}

} // namespace twb
