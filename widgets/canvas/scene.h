#pragma once

#include "graph/card_size.h"
#include "graph/delta.h"
#include "placement/analysis.h"
#include "widgets/canvas/scene_shapes.h"
#include "widgets/canvas/shape_bounds.h"
#include "widgets/canvas/spatial_grid.h"
#include "widgets/canvas/wire_detours.h"
#include "widgets/canvas/wire_path.h"
#include "widgets/dot_ref.h"
#include "widgets/run_state.h"

#include <QRectF>
#include <QStaticText>
#include <QString>
#include <QVarLengthArray>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace twb {

struct PortHash {
    std::size_t operator()(const PortRef& port) const noexcept {
        return std::hash<std::uint64_t>()(value(port.node) * 64 + static_cast<std::uint64_t>(port.port));
    }
};
using PortSet = std::unordered_set<PortRef, PortHash>;

/// The input of a Scene. All parts belong to one revision.
struct SceneSource {
    const Graph& graph;
    const Analysis& analysis;
    const DeviceMap& devices;
    FrameId inside = FrameId::none; ///< the open module: only its content is shown
};

/// The geometry of a graph: lane bands, cards, wires, frames, notes, in canvas units (pixels at 100 %), x
/// from the lanes' left edge, y from the top of the first lane. Built once, then updated by Deltas; queried
/// through a spatial grid.
class Scene {
public:
    /// Rebuilds everything.
    void rebuild(const SceneSource& source);
    /// Applies a change that `source` already includes. `revised`: the change of the analysis. The time is
    /// proportional to both changes, except with collapsed modules or lanes, or an open module.
    void update(const SceneSource& source, const Delta& delta, const Revised& revised = {true, {}});
    /// Applies new facts (types, devices, diagnostics) about the same graph.
    void refresh(const SceneSource& source) { update(source, {}); }
    /// Increases when a drawn item was added, moved or removed.
    std::uint64_t version() const noexcept { return m_version; }

    const std::vector<LaneBand>& lanes() const noexcept { return m_lanes; }
    const std::vector<NodeShape>& nodes() const noexcept { return m_nodes; }
    const std::vector<WireShape>& wires() const noexcept { return m_wires; }
    const std::vector<FrameShape>& frames() const noexcept { return m_frames; } ///< parents first
    const std::vector<NoteShape>& notes() const noexcept { return m_notes; }
    const std::vector<GhostShape>& ghosts() const noexcept { return m_ghosts; }
    const std::vector<StubShape>& stubs() const noexcept { return m_stubs; }
    std::size_t nodeCount() const noexcept { return m_slotOf.size(); }

    const NodeShape* node(NodeId id) const noexcept;
    /// The shape of a node: its own, or the card of the collapsed module that contains it.
    const NodeShape* drawn(NodeId id) const noexcept;
    /// The module whose card a shape is; null for other shapes.
    const ModuleShape* moduleOf(const NodeShape& shape) const noexcept;
    /// The card of a collapsed module; null if it is open, or inside another collapsed module.
    const NodeShape* cardOfModule(FrameId frame) const noexcept;
    /// The n-th port of a shape: the node's own, or that of a node in the module.
    PortRef portOf(const NodeShape& shape, PortSide side, int port) const noexcept;
    /// The centre of a node's port, which may be on a module's card.
    QPointF portAt(PortRef port, PortSide side) const noexcept;
    const WireShape* wire(const Edge& edge) const noexcept;
    /// All dots of a wire, including hidden ones.
    const std::vector<DotShape>& dotsOf(const WireShape& wire) const noexcept;
    /// The path of a wire through its visible dots.
    QVarLengthArray<QPointF, 16> shownDotsOf(const WireShape& wire) const;
    /// Null if there is none, or if it is hidden.
    const DotShape* dot(const DotRef& ref) const noexcept;
    /// Whether the wire runs through its dots as drawn. Not if it ends beside an open module, since the dots
    /// lead to its real end.
    bool takesDots(const WireShape& wire) const noexcept;
    /// The place for a new dot on a wire: nearest to a point, or in the middle of its longest segment.
    DotPlace placeNear(const WireShape& wire, QPointF point) const;
    DotPlace placeAmid(const WireShape& wire) const;
    /// Whether the folded parameter of a row has a mismatch.
    bool isMismatch(const NodeShape& row) const noexcept;
    const FrameShape* frame(FrameId id) const noexcept;
    const LaneBand* lane(LaneId id) const noexcept;
    /// The minimum height of a lane with its contents.
    static double leastHeightOf(const LaneBand& band) noexcept;
    /// The band at this height, or the nearest one; null if there are none.
    const LaneBand* laneAt(double y) const noexcept;
    WirePath path(const WireShape& wire) const;
    /// The bounds of all items, including the lanes' heights.
    QRectF extent() const;
    /// The bounds of a selection's nodes and notes.
    QRectF boundsOf(const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes) const;
    /// The innermost frame around a point, without frames that are being moved; otherwise the open module, or
    /// none.
    FrameId frameAround(QPointF at) const noexcept;
    /// What there is to look at: the cards and stubs of the module that is open, else everything but the
    /// empty part of the last lane.
    QRectF shownExtent() const;
    /// All nodes of a module, including nested modules.
    std::vector<NodeId> nodesOf(FrameId frame, const Graph& graph) const;

    /// Calls visit(slot) for all nodes (wires) that touch `rect`, in any order.
    template <class Visit> void visitNodes(const QRectF& rect, Visit&& visit) const {
        m_nodeGrid.query(rect, [&](std::uint32_t slot) {
            if (m_nodes[slot].rect.intersects(rect)) visit(slot);
        });
    }
    template <class Visit> void visitWires(const QRectF& rect, Visit&& visit) const {
        m_wireGrid.query(rect, [&](std::uint32_t slot) {
            if (touches(m_wires[slot], rect)) visit(slot);
        });
    }
    /// Whether visitNodes, or visitWires, would visit anything.
    bool hasNodeIn(const QRectF& rect) const;
    /// How wide the cards are whose left sides are at `x` of a lane; 0 where there are none.
    double columnWidth(LaneId lane, double x) const noexcept;
    /// Whether these cards could be `width` wide and keep a distance from what is to their right.
    bool mayWiden(LaneId lane, double x, double width, double distance) const;
    /// Whether no card and no note touches it.
    bool isFree(const QRectF& rect) const;
    bool hasWireIn(const QRectF& rect) const;
    /// Calls visit(ref, shape) for all visible dots within `rect`.
    template <class Visit> void visitDots(const QRectF& rect, Visit&& visit) const {
        if (m_dots.empty()) return;
        visitWires(rect, [&](std::uint32_t slot) {
            if (!m_wires[slot].showsDots) return;
            const std::vector<DotShape>& dots = dotsOf(m_wires[slot]);
            for (std::size_t i = 0; i < dots.size(); ++i)
                if (!dots[i].isHidden && rect.contains(dots[i].at))
                    visit(DotRef{m_wires[slot].edge.to, i}, dots[i]);
        });
    }
    Hit hitTest(QPointF point, double zoom) const;
    /// The nearest wire within `range` of a point, even below other items, except the wires of one node.
    std::optional<Edge> wireNear(QPointF point, double range, NodeId but) const;
    /// The nearest of `ports` within `range`, for a wire during a drag.
    std::optional<PortRef> nearestPort(QPointF point, PortSide side, double range,
                                       const PortSet& ports) const;

    /// Shows nodes, notes and dots at an offset without changing lanes; `lanes` gives the devices.
    void drag(const Graph& graph, std::span<const std::pair<NodeId, QPointF>> nodes,
              std::span<const std::pair<NoteId, QPointF>> notes, std::span<const Device> devices,
              std::span<const std::pair<DotRef, QPointF>> dots = {});
    void endDrag(const Graph& graph);
    /// Shows a temporary dot, before the dot at its index, until dropHeldDot().
    void holdDot(const DotRef& ref, const Dot& dot);
    void dropHeldDot();

    /// Lays out the words of what `viewport` shows at `zoom`. Until then, and for the rest, nothing is
    /// written. The titles of frames are where this zoom puts them until the next call.
    void prepare(const SceneSource& source, const QRectF& viewport, double zoom, const RunState* run);
    const NodeCard* card(std::uint32_t slot) const noexcept;
    const PriceLabel* nodeLabel(std::uint32_t slot) const noexcept;
    const PriceLabel* wireLabel(std::uint32_t slot) const noexcept;
    const PriceLabel* ghostLabel(std::size_t ghost) const noexcept;

private:
    QRectF contentExtent() const;
    /// Unlike QRectF::intersects, also true for a straight line.
    static bool touches(const WireShape& wire, const QRectF& rect) noexcept {
        const QRectF& b = wire.bounds;
        return b.left() <= rect.right() && b.right() >= rect.left() && b.top() <= rect.bottom() &&
               b.bottom() >= rect.top();
    }
    std::uint32_t addNode(const Node& node);
    void removeNode(NodeId id);
    void readFolds(const Graph& graph, std::span<const NodeId> around);
    void readModules(const SceneSource& source);
    ModuleShape makeModule(const SceneSource& source, const Frame& frame, std::vector<NodeId> nodes) const;
    std::uint32_t drawnSlot(std::uint32_t slot) const noexcept {
        return m_nodes[slot].module == kNoSlot ? slot : m_nodes[slot].module;
    }
    void placeRows(std::uint32_t slot);
    void readHidden(const SceneSource& source);
    bool isOutside(std::uint32_t slot) const noexcept;
    /// Of a slot that is drawn by itself, be it shown or not.
    bool isRow(std::uint32_t slot) const noexcept {
        return m_nodes[slot].module == kNoSlot && m_nodes[slot].card != kNoSlot;
    }
    void readStubs(const SceneSource& source);
    void settleStubs();
    void placeStubs();
    /// Whether both ends are hidden in one place: on one strip, or outside of the module that is open.
    bool isBetweenHidden(std::uint32_t from, std::uint32_t to) const noexcept;
    /// What stands for a hidden slot on that side of a wire; -1: nothing does.
    std::int32_t stubOf(std::uint32_t slot, PortSide side) const noexcept;
    QPointF endOf(PortRef port, PortSide side, std::int32_t stub) const noexcept;
    void readFacts(const SceneSource& source, const Node& node, NodeShape& shape) const;
    void place(std::uint32_t slot);
    void lift(std::uint32_t slot);
    void put(std::uint32_t slot);
    void ask(std::uint32_t slot);
    void measure(std::uint32_t slot);
    void touch(std::uint32_t slot);
    void askAbout(const SceneSource& source, const Delta& delta, const Revised& revised);
    void readMarks(const SceneSource& source);
    void askNode(const SceneSource& source, std::uint32_t slot);
    void restyleTouched(const SceneSource& source);
    void readLanes(const SceneSource& source);
    void countContent(std::uint32_t slot);
    void countHidden();
    void stackLanes(const Graph& graph);
    void readNotes(const Graph& graph);
    void readFrames(const Graph& graph);
    void layOutFrames(const Graph& graph);
    void placeTitles();
    void markCarriedFrames(const std::unordered_map<FrameId, std::size_t>& indexOf);
    void readGhosts(const SceneSource& source);
    void addWire(const Edge& edge);
    void removeWire(const Edge& edge);
    void liftWire(std::uint32_t slot);
    void styleWire(const SceneSource& source, WireShape& wire) const;
    QRectF outskirtsOf(const NodeShape& shape, const NodeShape& other) const;
    QVarLengthArray<WireLeg, 2> legsOf(const WireShape& wire) const;
    void routeWireOf(std::uint32_t wire);
    void routeAll(const Graph& graph);
    void avoidCards(std::uint32_t wire);
    void restyleDisturbed();
    void takeRoute(const Change<Route>& change);
    void layDots();
    void makeRoomForDots();
    void dragDots(std::span<const std::pair<DotRef, QPointF>> dots);
    DotPlace placeIn(const WireShape& wire, const WirePath& way, int cubic, QPointF at) const;
    void leaveColumn(std::uint32_t slot);
    void alignColumns();
    void finish(const SceneSource& source);
    void prepareCard(const SceneSource& source, std::uint32_t slot, const RunState* run);
    void prepareRow(const SceneSource& source, const Node& node, const NodeShape& shape,
                    NodeCard& card) const;
    void prepareModule(const SceneSource& source, const NodeShape& shape, NodeCard& card, const RunState* run,
                       bool isNew) const;
    void prepareNodeLabel(const SceneSource& source, std::uint32_t slot, const RunState* run);
    void prepareStagingLabel(const SceneSource& source, std::uint32_t slot, const RunState* run);
    void prepareWireLabel(const SceneSource& source, std::uint32_t slot, const RunState* run);
    void prepareGhostLabel(const SceneSource& source, std::size_t ghost, const RunState* run);
    bool mustPlace(PriceLabel& label, double scale) const;
    void placeLabel(PriceLabel& label, const QRectF& around, std::uint32_t pill) const;
    void placeOnWire(PriceLabel& label, std::uint32_t slot) const;
    struct Surroundings;
    const Surroundings& surroundings(const QRectF& area, std::uint32_t pill, std::uint32_t own) const;

    std::vector<LaneBand> m_lanes;
    std::vector<NodeShape> m_nodes;
    std::vector<std::uint32_t> m_freeNodes;
    std::unordered_map<NodeId, std::uint32_t> m_slotOf;
    std::vector<WireShape> m_wires;
    std::vector<std::uint32_t> m_freeWires;
    std::unordered_map<PortRef, std::uint32_t, PortHash> m_wireInto;        ///< by the input it feeds
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> m_rowsOf; ///< by the slot of the card
    std::unordered_map<std::uint32_t, ModuleShape> m_modules;               ///< by the slot of the card
    std::vector<FrameShape> m_frames;
    std::vector<NoteShape> m_notes;
    std::unordered_map<PortRef, std::vector<DotShape>, PortHash> m_dots; ///< by the input the wire feeds
    std::optional<DotRef> m_heldDot;
    std::vector<GhostShape> m_ghosts;
    std::vector<StubShape> m_stubs;
    std::unordered_map<std::uint64_t, std::int32_t> m_stubOf; ///< by what is hidden, and its side of the wire
    FrameId m_open = FrameId::none;
    std::unordered_set<FrameId> m_inside; ///< the module that is open, and those in it; empty: none is
    bool m_hasHidden = false;
    mutable ShapeBounds m_nodeBounds;
    mutable ShapeBounds m_wireBounds;
    SpatialGrid m_nodeGrid;
    SpatialGrid m_wireGrid;
    WireDetours m_detours;
    /// Nodes whose looks may have changed in this update, and those whose looks or place did.
    std::vector<std::uint32_t> m_asked;
    std::vector<bool> m_isAsked;
    std::vector<std::uint32_t> m_touched;
    std::vector<bool> m_isTouched;
    /// The worst that the rules say of a node, a warning or an error.
    std::unordered_map<NodeId, Severity> m_marks;
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> m_columns; ///< of cards one below the other
    std::vector<std::uint64_t> m_oldColumns;                     ///< that may not line up any more
    std::unordered_map<LaneId, std::map<double, int>> m_bottoms; ///< by lane: how many nodes end there
    double m_titleZoom = 1;                                      ///< that frames' titles are placed for
    bool m_framesAreOld = true;                                  ///< something in one of them may have moved
    std::vector<std::uint32_t> m_restyle; ///< wires to route anew though their nodes stand still
    std::unordered_map<PortRef, std::string, PortHash> m_mismatches; ///< diagnostic's code, by input
    std::unordered_map<PortRef, std::int32_t, PortHash> m_ghostOf;   ///< by input
    std::uint64_t m_version = 0;

    std::unordered_map<std::uint32_t, NodeCard> m_cards;
    std::unordered_map<std::uint32_t, PriceLabel> m_nodeLabels;
    std::unordered_map<std::uint32_t, PriceLabel> m_wireLabels;
    std::vector<PriceLabel> m_ghostLabels;
    double m_labelScale = 1;
};

} // namespace twb
