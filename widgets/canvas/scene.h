#pragma once

#include "graph/delta.h"
#include "placement/analysis.h"
#include "widgets/canvas/card_columns.h"
#include "widgets/canvas/card_rows.h"
#include "widgets/canvas/card_texts.h"
#include "widgets/canvas/diagnostic_marks.h"
#include "widgets/canvas/frame_shapes.h"
#include "widgets/canvas/ghost_shapes.h"
#include "widgets/canvas/hidden_nodes.h"
#include "widgets/canvas/lane_stack.h"
#include "widgets/canvas/module_shapes.h"
#include "widgets/canvas/node_shapes.h"
#include "widgets/canvas/price_labels.h"
#include "widgets/canvas/stub_shapes.h"
#include "widgets/canvas/wire_shapes.h"

#include <QRectF>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace twb {

/// The geometry of a graph: lane bands, cards, wires, frames, notes, in canvas units (pixels at 100 %), x
/// from the lanes' left edge, y from the top of the first lane. Built once, then updated by Deltas. Its parts
/// answer questions about one kind of item each; the scene keeps them in step.
class Scene {
public:
    Scene() = default;
    Scene(const Scene&) = delete; // wires and modules refer to the scene's nodes
    Scene& operator=(const Scene&) = delete;

    /// Rebuilds everything.
    void rebuild(const SceneSource& source);
    /// Applies a change that `source` already includes; without a Delta, new facts about the same graph.
    /// `revised`: the change of the analysis. The time is proportional to both changes, except with collapsed
    /// modules or lanes, or an open module.
    void update(const SceneSource& source, const Delta& delta = {}, const Revised& revised = {true, {}});
    /// Increases when a drawn item was added, moved or removed.
    std::uint64_t version() const noexcept { return m_version; }

    const LaneStack& lanes() const noexcept { return m_lanes; }
    const NodeShapes& nodes() const noexcept { return m_nodes; }
    const ModuleShapes& modules() const noexcept { return m_modules; }
    const CardColumns& columns() const noexcept { return m_columns; }
    const WireShapes& wires() const noexcept { return m_wires; }
    const FrameShapes& frames() const noexcept { return m_frames; }
    const std::vector<NoteShape>& notes() const noexcept { return m_notes; }
    const GhostShapes& ghosts() const noexcept { return m_ghosts; }
    const StubShapes& stubs() const noexcept { return m_stubs; }
    const HiddenNodes& hidden() const noexcept { return m_hidden; }
    const DiagnosticMarks& marks() const noexcept { return m_marks; }
    const CardTexts& texts() const noexcept { return m_texts; }
    const PriceLabels& labels() const noexcept { return m_labels; }

    /// The bounds of all items, including the lanes' heights.
    QRectF extent() const;
    /// What there is to look at: the cards and stubs of the module that is open, else everything but the
    /// empty part of the last lane.
    QRectF shownExtent() const;
    /// The bounds of a selection's nodes and notes.
    QRectF boundsOf(const std::vector<NodeId>& nodes, const std::vector<NoteId>& notes) const;
    /// Whether no card and no note touches it.
    bool isFree(const QRectF& rect) const;

    /// Shows nodes, notes and dots at an offset without changing lanes; `devices`: of the lanes under
    /// the nodes.
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

private:
    QRectF contentExtent() const;
    void removeNode(NodeId id);
    void change(const Node& after);
    void ask(const SceneSource& source, const Delta& delta, const Revised& revised);
    void readDiagnostics(const SceneSource& source);
    void readNode(const SceneSource& source, std::uint32_t slot);
    void readNotes(const Graph& graph);
    void readFrames(const Graph& graph);
    void stackLanes();
    void place(std::uint32_t slot);
    void placeNote(NoteShape& note) const;
    void finish(const SceneSource& source);
    void route(const Graph& graph, const Analysis* analysis);
    void reroute(PortRef input);

    LaneStack m_lanes;
    NodeShapes m_nodes;
    ModuleShapes m_modules{m_nodes};
    CardRows m_rows;
    CardColumns m_columns;
    WireShapes m_wires{*this};
    FrameShapes m_frames;
    std::vector<NoteShape> m_notes;
    GhostShapes m_ghosts;
    StubShapes m_stubs;
    HiddenNodes m_hidden;
    DiagnosticMarks m_marks;
    CardTexts m_texts;
    PriceLabels m_labels;
    std::uint64_t m_version = 0;
    double m_titleZoom = 1;     ///< that frames' titles are placed for
    bool m_framesAreOld = true; ///< something in one of them may have moved
};

} // namespace twb
