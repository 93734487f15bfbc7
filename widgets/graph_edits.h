#pragma once

#include "graph/delta.h"
#include "widgets/document.h"

#include <QString>

#include <optional>

namespace twb {

// The graph edits of the menus, each as one Delta. An empty Delta means that there is nothing to do.

/// The selected nodes and notes, and the edges between the nodes, as clipboard text.
QString copyText(const Graph& graph, const Selection& selection);
/// Pastes clipboard text beside its original position, and not exactly on an earlier copy. Throws
/// Error(badFile) for text that is not a fragment.
Delta pasteText(const Graph& graph, const QString& text, LaneId fallbackLane);
Delta duplicate(const Graph& graph, const Selection& selection);
/// The same; the copies have the inputs of the originals.
Delta duplicateWithInputs(const Graph& graph, const Selection& selection);
/// The nodes and notes that a change adds.
Selection addedBy(const Delta& delta);
/// Removes the selected edge, and all edges between the selection and other nodes.
Delta detach(const Graph& graph, const Selection& selection);
Delta removeSelection(const Graph& graph, const Selection& selection);
/// Moves the selected nodes to another lane (placement/lane_move.h), below existing nodes that they would
/// cover.
Delta sendToLane(const Graph& graph, const Selection& selection, LaneId lane);
/// The same, to a new lane of this device at the bottom.
Delta sendToNewLane(const Graph& graph, const Selection& selection, Device device);
/// Inserts a To on each edge that crosses lanes without one and is selected or leads to a selected node.
Delta insertTo(const Graph& graph, const Selection& selection);
/// Disables the selected nodes, or enables them if all are disabled.
Delta toggleDisabled(const Graph& graph, const Selection& selection);
/// Adds a lane at the bottom.
Delta addLane(const Graph& graph, Device device);
/// Moves a lane down by `steps`, or up for negative `steps`. Empty if there is no such position.
Delta moveLane(const Graph& graph, LaneId lane, int steps);
/// Sets the minimum height of a lane; its contents may require more.
Delta resizeLane(const Graph& graph, LaneId lane, double height);
/// Collapses a lane to a strip, or expands it.
Delta collapseLane(const Graph& graph, LaneId lane, bool collapsed);
/// Expands, in the same step, the collapsed lanes to which `delta` adds items.
void openLanesOf(const Graph& graph, Delta& delta);
/// Removes a lane. Its items move to the lane `target`, or are deleted if it is none.
Delta removeLane(const Graph& graph, LaneId lane, LaneId target);
/// The first GPU of a rank without a lane.
Device nextGpu(const Graph& graph, int rank = 0);
Delta addNote(const Graph& graph, LaneId lane, Position position, const QString& text);

} // namespace twb
