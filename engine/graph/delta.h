#pragma once

#include "graph/graph.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace twb {

/// One record's change: added (no before), removed (no after) or changed.
template <class T> struct Change {
    std::optional<T> before;
    std::optional<T> after;
    bool operator==(const Change&) const = default;
};

/// The one way to change a Graph. Order inside does not matter: it is applied as a whole. Removing a node
/// needs its edges in `edgesRemoved`, and removing an edge needs its route in `routes`; the builders below
/// see to that.
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

/// Collects a Delta against one state of a graph: each call sees the graph as the calls before it left it.
/// Errors: Error(badGraph) naming what does not exist.
class DeltaBuilder {
public:
    DeltaBuilder(const Graph& graph, std::string title);

    const Graph& graph() const noexcept { return m_now; } ///< with the changes so far

    NodeId addNode(Node node); ///< the id is given here
    LaneId addLane(Lane lane);
    FrameId addFrame(Frame frame);
    NoteId addNote(Note note);
    void change(const Node& after); ///< by id
    void change(const Lane& after);
    void change(const Frame& after);
    void change(const Note& after);
    void setInfo(const GraphInfo& after);
    void removeNode(NodeId id); ///< and its edges; what was its bodies are modules then
    void removeLane(LaneId id); ///< must have no nodes left
    void removeFrame(FrameId id);
    void removeNote(NoteId id);
    /// Replaces what was connected to edge.to; that wire's dots go with it.
    void connect(const Edge& edge);
    void disconnect(const Edge& edge);
    /// The dots of the edge into an input, from its output on; none takes them all away.
    void setDots(PortRef input, std::vector<Dot> dots);

    /// The sum of all calls, each record once.
    Delta take();

private:
    template <class T> void apply(std::vector<Change<T>> Delta::*list, Change<T> change);
    template <class T> void record(std::vector<Change<T>>& list, Change<T> change);
    template <class T, class Id> std::size_t placeOf(const std::vector<Change<T>>& list, Id id) const;
    void step(const Delta& delta);
    void dropRoute(Delta& delta, PortRef input) const;

    Graph m_now;
    Delta m_delta;
    std::unordered_map<NodeId, std::size_t> m_nodeAt; ///< where m_delta has them
};

/// A self-contained piece of a graph: nodes, the edges among them with their dots, frames, notes. What copy
/// puts on the clipboard and what a composite op expands into.
struct Fragment {
    std::vector<Node> nodes; ///< ids are local to the fragment; `lane` is the lane it came from
    std::vector<Frame> frames;
    std::vector<Note> notes;
    std::vector<Edge> edges;
    std::vector<Lane> lanes; ///< that nodes, notes and dots came from; their heights do not count
    std::vector<Route> routes;
};

Fragment copyOf(const Graph& graph, const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes = {});
/// Adds a fragment with fresh ids and free names, moved by `offset`. What came from a lane that is here goes
/// to it, else to the first lane of the same device, else to `fallbackLane`; a lane of which the fragment
/// says no device is found by its id. `added` gets the new node ids, in the fragment's order.
void paste(DeltaBuilder& builder, const Fragment& fragment, Position offset, LaneId fallbackLane,
           std::vector<NodeId>* added = nullptr);

} // namespace twb
