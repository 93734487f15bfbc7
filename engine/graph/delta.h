#pragma once

#include "graph/graph.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

/// The change of one record: added (no `before`), removed (no `after`) or changed.
template <class T> struct Change {
    std::optional<T> before;
    std::optional<T> after;
    bool operator==(const Change&) const = default;
};

/// The only way to change a Graph. It is applied as a whole, so the order of its records does not matter.
/// Removing a node requires its edges in `edgesRemoved`, and removing an edge requires its route in `routes`.
/// DeltaBuilder adds both.
struct Delta {
    std::string title; ///< for the undo menu: "Move fc1 to cpu"
    std::vector<Change<Node>> nodes;
    std::vector<Change<Lane>> lanes;
    std::vector<Change<Frame>> frames;
    std::vector<Change<Note>> notes;
    std::vector<Edge> edgesRemoved;
    std::vector<Edge> edgesAdded;
    std::vector<Change<Route>> routes;
    std::optional<Change<GraphInfo>> info;

    bool empty() const noexcept;
    Delta inverse() const;
    bool operator==(const Delta&) const = default;
};

/// Collects a Delta against one state of a graph. Each call sees the graph with the changes of the calls
/// before it. Throws Error(badGraph) that names a missing record.
class DeltaBuilder {
public:
    DeltaBuilder(const Graph& graph, std::string title);

    const Graph& graph() const noexcept { return m_now; } ///< includes the changes so far

    NodeId addNode(Node node); ///< assigns the id
    LaneId addLane(Lane lane);
    FrameId addFrame(Frame frame);
    NoteId addNote(Note note);
    void change(const Node& after); ///< by id
    void setAttribute(NodeId id, const std::string& name, AttributeValue value);
    void change(const Lane& after);
    void change(const Frame& after);
    void change(const Note& after);
    void setInfo(const GraphInfo& after);
    void removeNode(NodeId id); ///< also removes its edges; its bodies become modules
    void removeLane(LaneId id); ///< the lane must be empty
    void removeFrame(FrameId id);
    void removeNote(NoteId id);
    /// Replaces the edge into edge.to, and removes that wire's dots.
    void connect(const Edge& edge);
    void disconnect(const Edge& edge);
    /// Sets the dots of the edge into an input, starting at its source. An empty list removes the dots.
    void setDots(PortRef input, std::vector<Dot> dots);

    /// The sum of all calls, with each record once.
    Delta take();

private:
    template <class T> void apply(std::vector<Change<T>> Delta::*list, Change<T> change);
    template <class T> void record(std::vector<Change<T>>& list, Change<T> change);
    template <class T, class Id> std::size_t placeOf(const std::vector<Change<T>>& list, Id id) const;
    void step(const Delta& delta);
    void dropRoute(Delta& delta, PortRef input) const;

    Graph m_now;
    Delta m_delta;
    std::unordered_map<NodeId, std::size_t> m_nodeAt; ///< index in m_delta
};

/// A self-contained part of a graph: nodes, the edges among them with their dots, frames, notes. Copy puts
/// one on the clipboard, and a composite op expands into one.
struct Fragment {
    std::vector<Node> nodes; ///< ids are local to the fragment; `lane` is the original lane
    std::vector<Frame> frames;
    std::vector<Note> notes;
    std::vector<Edge> edges;
    std::vector<Lane> lanes; ///< the original lanes of nodes, notes and dots; their heights do not count
    std::vector<Route> routes;
};

Fragment copyOf(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes = {});
/// Adds a fragment with unused ids and unused names, moved by `offset`. A record goes to its original lane if
/// this graph has it, else to the first lane of the same device, else to `fallbackLane`. A lane without a
/// device in the fragment is found by its id. `added` receives the new node ids, in the fragment's order.
void paste(DeltaBuilder& builder, const Fragment& fragment, Position offset, LaneId fallbackLane,
           std::vector<NodeId>* added = nullptr);

} // namespace twb
