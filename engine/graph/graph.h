#pragma once

#include "core/attributes.h"
#include "core/device.h"
#include "graph/breakpoint.h"
#include "graph/frame_color.h"
#include "graph/ids.h"
#include "graph/policy.h"
#include "graph/source_line.h"
#include "graph/table.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct Delta;

/// A position in canvas units (pixels at 100 %), from the top left of its lane's content.
struct Position {
    double x = 0;
    double y = 0;
    bool operator==(const Position&) const = default;
};

/// One end of an edge: output `port` of a node, or input `port` of a node.
struct PortRef {
    NodeId node = NodeId::none;
    std::int32_t port = 0;
    auto operator<=>(const PortRef&) const = default;
};

/// Identified by both ends. An input has at most one edge; an output has any number.
struct Edge {
    PortRef from; ///< an output
    PortRef to;   ///< an input
    auto operator<=>(const Edge&) const = default;
};

struct Node {
    NodeId id = NodeId::none;
    std::string op;
    std::string name; ///< the user's name; need not be unique, except for `--set name.attr`
    LaneId lane = LaneId::none;
    FrameId frame = FrameId::none; ///< the module that contains it
    Attributes attributes;         ///< explicitly set ones; defaults come from the op table
    Position position;
    bool folded = false;                ///< drawn as a row of its consumer's card, if possible: see folding.h
    bool pinned = false;                ///< stays on its lane in proposed placements
    bool disabled = false;              ///< does not run; its consumers read one of its inputs instead
    Breakpoints breakpoints{};          ///< do not change results
    std::optional<SourceLine> source{}; ///< of the program that was imported
    /// In a training: the node whose gradient this one computes, or the parameter that it updates. That node
    /// may have been removed since.
    NodeId forward = NodeId::none;
    bool operator==(const Node&) const = default;
};

/// A device drawn on the canvas. Several lanes may show one device.
struct Lane {
    LaneId id = LaneId::none;
    Device device;
    std::string title;      ///< beside the device's name; may be empty
    int order = 0;          ///< position from the top
    double height = 0;      ///< minimum height; a lane grows with its nodes
    bool collapsed = false; ///< drawn as a strip that hides its content
    bool operator==(const Lane&) const = default;
};

/// A module: a frame around nodes, nested by `parent`. With an owner it is a body of that If, Loop or Scan
/// (bodies.h).
struct Frame {
    FrameId id = FrameId::none;
    std::string title;
    FrameId parent = FrameId::none;
    NodeId owner = NodeId::none;
    std::string body{}; ///< of an owner: "then_branch"; without one, the module op: module_op.h
    FrameColor color = FrameColor::none;
    bool collapsed = false; ///< drawn as one card with the ports of its outer edges
    /// Not part of the iteration: its nodes, and those of frames inside it, run once, before the first
    /// iteration if their inputs do.
    bool once = false;
    /// Of the backward pass of a training: the node of the loss, whose output 0 it is. May have been removed.
    NodeId loss = NodeId::none;
    bool operator==(const Frame&) const = default;
};

/// A text on the canvas.
struct Note {
    NoteId id = NoteId::none;
    std::string text;
    LaneId lane = LaneId::none;
    Position position;
    double width = 280;
    double height = 0; ///< 0: as high as its text
    bool operator==(const Note&) const = default;
};

/// A point on a wire, set by the user.
struct Dot {
    LaneId lane = LaneId::none; ///< it moves with this lane
    Position position;
    bool operator==(const Dot&) const = default;
};

/// The path of an edge on the canvas. It does not affect runs.
struct Route {
    PortRef id;            ///< the input of the edge, which identifies the edge
    std::vector<Dot> dots; ///< from its output to its input; never empty
    bool operator==(const Route&) const = default;
};
/// Maximum per wire.
inline constexpr std::size_t kMostDots = 100;

/// A plug-in and its ops that a project uses.
struct NeededPlugin {
    std::string name;
    std::string version;
    std::string homepage; ///< where to get it; may be empty
    std::vector<std::string> ops;
    bool operator==(const NeededPlugin&) const = default;
};

/// The description of a project.
struct GraphInfo {
    std::string title;
    std::string description;
    Policy policy;
    std::int64_t iterations = 1;
    std::vector<NeededPlugin> plugins; ///< as the project's file names them; see formats/project.h
    bool operator==(const GraphInfo&) const = default;
};

/// The edges of one node; maintained by the graph only.
struct Links {
    NodeId id = NodeId::none;
    std::vector<std::optional<PortRef>> inputs; ///< by input port: the connected output
    std::vector<Edge> outgoing;                 ///< sorted
    bool operator==(const Links&) const = default;
};

/// A document: nodes and edges on lanes. A value that is cheap to copy (pages are shared until written) and
/// compared by content. Only apply() changes it. Not thread-safe for writing; a copy may be read on any
/// thread.
///
/// Invariants: every node's lane exists; every node's frame and every frame's owner is none or exists; every
/// edge joins two existing nodes; every route belongs to an edge, and the lanes of its dots exist. Edges may
/// form cycles, and ports may exceed those of the op: the validator reports both.
class Graph {
public:
    const Table<Node>& nodes() const noexcept { return m_nodes; }
    const Table<Lane>& lanes() const noexcept { return m_lanes; }
    const Table<Frame>& frames() const noexcept { return m_frames; }
    const Table<Note>& notes() const noexcept { return m_notes; }
    const Table<Route>& routes() const noexcept { return m_routes; } ///< of the edges that have dots
    const GraphInfo& info() const noexcept { return m_info; }
    const Table<Links>& links() const noexcept { return m_links; }
    std::size_t edgeCount() const noexcept { return m_edgeCount; }

    const Node* find(NodeId id) const noexcept { return m_nodes.find(id); }
    const Lane* find(LaneId id) const noexcept { return m_lanes.find(id); }
    const Frame* find(FrameId id) const noexcept { return m_frames.find(id); }
    const Note* find(NoteId id) const noexcept { return m_notes.find(id); }
    /// The only node with this name; null if there is none, or more than one.
    const Node* findByName(std::string_view name) const noexcept;

    /// Whether the node is in a frame that runs once.
    bool runsOnce(const Node& node) const noexcept;
    /// The device of a node's lane; may be `auto`.
    Device deviceOf(const Node& node) const;
    /// The output connected to an input.
    std::optional<PortRef> sourceOf(PortRef input) const noexcept;
    /// The dots of the edge into an input, starting at its source; usually none.
    const std::vector<Dot>& dots(PortRef input) const noexcept;
    /// The edges that leave a node, sorted by output port and then by consumer. Empty for an unknown node.
    const std::vector<Edge>& outgoing(NodeId node) const noexcept;
    /// By input port; may be shorter than the number of the op's inputs.
    const std::vector<std::optional<PortRef>>& inputs(NodeId node) const noexcept;
    /// All edges, sorted by consumer and input port.
    std::vector<Edge> edges() const;
    /// The lanes from top to bottom: those of rank 0, then those of each other rank.
    std::vector<Lane> lanesInOrder() const;

    /// `name` if it is unused, else `name 2`, `name 3`, …
    std::string uniqueName(std::string_view name) const;

    /// The n-th unused id. Ids of removed items are never reused.
    NodeId newNodeId(std::uint64_t n = 0) const noexcept { return NodeId(m_nextNode + n); }
    LaneId newLaneId(std::uint64_t n = 0) const noexcept { return LaneId(m_nextLane + n); }
    FrameId newFrameId(std::uint64_t n = 0) const noexcept { return FrameId(m_nextFrame + n); }
    NoteId newNoteId(std::uint64_t n = 0) const noexcept { return NoteId(m_nextNote + n); }

    /// Applies a change as a whole. Throws Error(badGraph) and changes nothing if a `before` does not match
    /// the graph, or if an invariant would be violated.
    void apply(const Delta& delta);

    /// By content; the id counters do not count.
    bool operator==(const Graph& other) const;

private:
    void connect(const Edge& edge);
    void disconnect(const Edge& edge);
    void applyRoutes(const Delta& delta);
    void check(const Delta& delta) const;

    Table<Node> m_nodes;
    Table<Lane> m_lanes;
    Table<Frame> m_frames;
    Table<Note> m_notes;
    Table<Route> m_routes;
    Table<Links> m_links;
    GraphInfo m_info;
    std::size_t m_edgeCount = 0;
    std::uint64_t m_nextNode = 1;
    std::uint64_t m_nextLane = 1;
    std::uint64_t m_nextFrame = 1;
    std::uint64_t m_nextNote = 1;
};

} // namespace twb
