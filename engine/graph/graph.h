#pragma once

#include "core/attributes.h"
#include "core/device.h"
#include "graph/breakpoint.h"
#include "graph/frame_color.h"
#include "graph/ids.h"
#include "graph/policy.h"
#include "graph/table.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

struct Delta;

/// Where something stands, in canvas units (pixels at 100 %), from the top left of its lane's content.
struct Position {
    double x = 0;
    double y = 0;
    bool operator==(const Position&) const = default;
};

/// One end of an edge: output `port` of a node, or input `port` of one.
struct PortRef {
    NodeId node = NodeId::none;
    std::int32_t port = 0;
    auto operator<=>(const PortRef&) const = default;
};

/// Identified by both ends. An input has at most one edge; an output any number.
struct Edge {
    PortRef from; ///< an output
    PortRef to;   ///< an input
    auto operator<=>(const Edge&) const = default;
};

struct Node {
    NodeId id = NodeId::none;
    std::string op;
    std::string name; ///< what people call it; need not be unique, but `--set name.attr` needs it to be
    LaneId lane = LaneId::none;
    FrameId frame = FrameId::none; ///< the module it belongs to
    Attributes attributes;         ///< those that are set; defaults come from the op table
    Position position;
    bool folded = false;       ///< drawn within the node that reads it, where it can be: see folding.h
    bool pinned = false;       ///< stays on its lane when a placement is proposed
    bool disabled = false;     ///< has no part in a run; what reads it reads what it reads, where that fits
    Breakpoints breakpoints{}; ///< change nothing that is computed
    bool operator==(const Node&) const = default;
};

/// A device drawn on the canvas. Several lanes may show one device.
struct Lane {
    LaneId id = LaneId::none;
    Device device;
    std::string title;      ///< beside the device's name; may be empty
    int order = 0;          ///< from the top
    double height = 0;      ///< least height; a lane grows with its nodes
    bool collapsed = false; ///< drawn as a strip; what stands on it is not shown
    bool operator==(const Lane&) const = default;
};

/// A module: a frame around nodes, nested by `parent`. With an owner it is a body: what that If, Loop or Scan
/// runs, never or once or often (bodies.h).
struct Frame {
    FrameId id = FrameId::none;
    std::string title;
    FrameId parent = FrameId::none;
    NodeId owner = NodeId::none;
    std::string body{}; ///< which of its owner's bodies, by name: "then_branch"
    FrameColor color = FrameColor::none;
    bool collapsed = false; ///< drawn as one card, with the ports that lead out of it
    bool operator==(const Frame&) const = default;
};

/// A text on the canvas.
struct Note {
    NoteId id = NoteId::none;
    std::string text;
    LaneId lane = LaneId::none;
    Position position;
    double width = 280;
    double height = 0; ///< 0: as high as the text
    bool operator==(const Note&) const = default;
};

/// A point that a wire runs through, put there by hand.
struct Dot {
    LaneId lane = LaneId::none; ///< it goes where this lane goes
    Position position;
    bool operator==(const Dot&) const = default;
};

/// The way of an edge over the canvas. Nothing to what runs.
struct Route {
    PortRef id;            ///< the input that the edge leads to, as no other edge does
    std::vector<Dot> dots; ///< from its output to its input; never none
    bool operator==(const Route&) const = default;
};
/// On one wire.
inline constexpr std::size_t kMostDots = 100;

/// What a project says of itself.
struct GraphInfo {
    std::string title;
    std::string description;
    Policy policy;
    std::int64_t iterations = 1;
    bool operator==(const GraphInfo&) const = default;
};

/// The edges of one node; kept by the graph, never by hand.
struct Links {
    NodeId id = NodeId::none;
    std::vector<std::optional<PortRef>> inputs; ///< by input port: the output connected to it
    std::vector<Edge> outgoing;                 ///< sorted
    bool operator==(const Links&) const = default;
};

/// A document: nodes and edges on lanes. A value, cheap to copy (pages are shared until written), compared by
/// content. Changed by apply() alone. Not thread-safe for writing; a copy may be read anywhere.
///
/// Invariants: every node's lane exists, every node's frame and every frame's owner is none or exists, every
/// edge joins two existing nodes, every route is that of an edge and its dots' lanes exist. Edges may form
/// cycles and ports may exceed what the op has: the validator says so.
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
    /// The only node of this name; nothing when there is none or more than one.
    const Node* findByName(std::string_view name) const noexcept;

    /// The device of a node's lane, as written (may be `auto`).
    Device deviceOf(const Node& node) const;
    /// The output that feeds an input.
    std::optional<PortRef> sourceOf(PortRef input) const noexcept;
    /// The dots of the edge into an input, from its output on; none for most.
    const std::vector<Dot>& dots(PortRef input) const noexcept;
    /// Edges that leave a node, sorted by output port and then by consumer. Empty for an unknown node.
    const std::vector<Edge>& outgoing(NodeId node) const noexcept;
    /// By input port; shorter than the op's inputs when the last ones are not connected.
    const std::vector<std::optional<PortRef>>& inputs(NodeId node) const noexcept;
    /// All edges, by consumer and input port.
    std::vector<Edge> edges() const;
    /// Lanes from the top.
    std::vector<Lane> lanesInOrder() const;

    /// `name` if it is free, else `name 2`, `name 3`, …
    std::string uniqueName(std::string_view name) const;

    /// The n-th id that is free now. Ids of removed things are never given out again.
    NodeId newNodeId(std::uint64_t n = 0) const noexcept { return NodeId(m_nextNode + n); }
    LaneId newLaneId(std::uint64_t n = 0) const noexcept { return LaneId(m_nextLane + n); }
    FrameId newFrameId(std::uint64_t n = 0) const noexcept { return FrameId(m_nextFrame + n); }
    NoteId newNoteId(std::uint64_t n = 0) const noexcept { return NoteId(m_nextNote + n); }

    /// Applies a change as a whole. Throws Error(badGraph) and changes nothing when a `before` does not match
    /// what is here, or an invariant would break.
    void apply(const Delta& delta);

    /// By content; the counters of ids do not count.
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
