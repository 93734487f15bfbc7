#pragma once

#include "graph/delta.h"
#include "widgets/document.h"

#include <QString>

#include <optional>
#include <vector>

namespace twb {

// What the menus do to a graph, each as one Delta. An empty Delta means that there is nothing to do.

/// The selected nodes and notes, and what is between the nodes, as clipboard text.
QString copyText(const Graph& graph, const Selection& selection);
/// The clipboard's text pasted beside where it came from. Throws Error(badFile) for text that is no fragment.
Delta pasteText(const Graph& graph, const QString& text, LaneId fallbackLane, std::vector<NodeId>* added);
Delta duplicate(const Graph& graph, const Selection& selection, std::vector<NodeId>* added);
/// The same; the copies read what the originals read.
Delta duplicateWithInputs(const Graph& graph, const Selection& selection, std::vector<NodeId>* added);
/// Takes the selected edge away, and all between what is selected and the rest.
Delta detach(const Graph& graph, const Selection& selection);
Delta removeSelection(const Graph& graph, const Selection& selection);
/// The selected nodes on another lane (placement/lane_move.h); below what stands there, where they would
/// cover it.
Delta sendToLane(const Graph& graph, const Selection& selection, LaneId lane);
/// The same, on a lane of this device that is added below the others.
Delta sendToNewLane(const Graph& graph, const Selection& selection, Device device);
/// A To on each selected edge that crosses lanes without one, be it selected itself or an input of a selected
/// node.
Delta insertTo(const Graph& graph, const Selection& selection);
/// Disables the selected nodes, or enables them where all of them are disabled.
Delta toggleDisabled(const Graph& graph, const Selection& selection);
/// A lane below the others.
Delta addLane(const Graph& graph, Device device);
/// A lane some places further down, or up for negative `steps`. Empty where it would leave the canvas.
Delta moveLane(const Graph& graph, LaneId lane, int steps);
/// The least height of a lane: it is higher where what stands in it needs that.
Delta resizeLane(const Graph& graph, LaneId lane, double height);
/// Draws a lane as a strip, or what stands on it again.
Delta collapseLane(const Graph& graph, LaneId lane, bool collapsed);
/// Opens, in the same step, the collapsed lanes on to which `delta` adds something.
void openLanesOf(const Graph& graph, Delta& delta);
/// Takes a lane away. What stands on it goes to the lane `target`, or away with it where that is none.
Delta removeLane(const Graph& graph, LaneId lane, LaneId target);
/// The first GPU that has no lane yet.
Device nextGpu(const Graph& graph);
Delta addNote(const Graph& graph, LaneId lane, Position position, const QString& text);

} // namespace twb
