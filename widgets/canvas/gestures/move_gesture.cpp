#include "widgets/canvas/gestures/move_gesture.h"

#include "graph/folding.h"
#include "graph/routes.h"
#include "placement/lane_move.h"
#include "widgets/canvas/gestures/lane_outlook.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/edit_title.h"

#include <QApplication>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace twb {
namespace {

constexpr double kLeastX = 8;
constexpr double kLeastY = 8;
constexpr double kLeastPillY = -16; ///< a To may be on the border of its lane

constexpr double kGuidePixels = 6; ///< maximum distance of alignment in pixels

double leastY(const Node& node) { return node.op == "To" ? kLeastPillY : kLeastY; }
double snapped(double at) { return std::round(at / kGrid) * kGrid; }

/// The new device and the new frame of the moved items are empty if they stay.
auto titleOf(const Graph& graph, const Selection& what, const std::string& device = {},
             const std::string& frame = {}) {
    const std::size_t count = what.nodes.size() + what.notes.size() + what.dots.size();
    const std::string number = std::to_string(count);
    std::string moved;
    if (count == what.dots.size())
        moved = count == 1 ? editTitle(EditTitle::tr("dot")) : editTitle(EditTitle::tr("%1 dots"), number);
    else if (count != 1)
        moved = count == what.nodes.size() ? nodeCount(count) : editTitle(EditTitle::tr("%1 things"), number);
    else
        moved = what.nodes.empty() ? editTitle(EditTitle::tr("note")) : graph.find(*what.nodes.begin())->name;
    if (!device.empty() && !frame.empty())
        return editTitle(EditTitle::tr("Move %1 to %2 into %3"), moved, device, frame);
    if (!device.empty()) return editTitle(EditTitle::tr("Move %1 to %2"), moved, device);
    if (!frame.empty()) return editTitle(EditTitle::tr("Move %1 into %2"), moved, frame);
    return editTitle(EditTitle::tr("Move %1"), moved);
}

/// Inserts a node into a wire; returns the title of the edit.
auto insertInto(DeltaBuilder& builder, const Splice& splice, NodeId node) {
    const auto [in, out] = edgesOf(splice, {node});
    const Graph& graph = builder.graph();
    std::string title = editTitle(EditTitle::tr("Insert %1 between %2 and %3"), graph.find(node)->name,
                                  graph.find(in.from.node)->name, graph.find(out.to.node)->name);
    putInto(builder, splice.wire, in.to, out.from);
    return title;
}

/// The dots to move: selected dots, and dots on wires between moved nodes.
std::set<DotRef> dotsWith(const Graph& graph, const std::set<NodeId>& nodes, const std::set<DotRef>& chosen) {
    std::set<DotRef> dots = chosen;
    for (const Route& route : graph.routes()) {
        if (!nodes.contains(route.id.node) || !nodes.contains(graph.sourceOf(route.id)->node)) continue;
        for (std::size_t i = 0; i < route.dots.size(); ++i) dots.insert({route.id, i});
    }
    return dots;
}

/// The route of a moved dot, added to `routes` if necessary.
Route& routeOf(const Graph& graph, std::map<PortRef, Route>& routes, PortRef wire) {
    return routes.try_emplace(wire, *graph.routes().find(wire)).first->second;
}

void addChanges(const Graph& graph, const std::map<PortRef, Route>& routes, Delta& delta) {
    for (const auto& [wire, route] : routes) delta.routes.push_back({*graph.routes().find(wire), route});
}

/// Folded parameters move with their card.
std::set<NodeId> cardsOf(const Graph& graph, const std::set<NodeId>& nodes) {
    std::set<NodeId> cards;
    for (const NodeId id : nodes) cards.insert(cardOf(graph, id));
    return cards;
}

} // namespace

MoveGesture::MoveGesture(GestureHost& host, const Pointer& start, const Selection& what, LaneId grabbed)
    : Gesture(host), m_start(start.at), m_startPixel(start.pixel), m_grabbed(grabbed) {
    const Graph& graph = host.document().graph();
    for (NodeId id : cardsOf(graph, what.nodes)) {
        const Node* node = graph.find(id);
        if (!node) continue;
        m_items.push_back({id, NoteId::none, {}, node->lane, node->position, leastY(*node), {}, {}});
        m_moved.nodes.insert(id);
        if (const NodeShape* shape = host.hostScene().nodes().find(id))
            m_bounds = m_bounds.value_or(shape->rect) | shape->rect;
    }
    for (NoteId id : what.notes) {
        const Note* note = graph.find(id);
        if (note) m_items.push_back({NodeId::none, id, {}, note->lane, note->position, kLeastY, {}, {}});
    }
    addDots(what.dots);
}

MoveGesture::MoveGesture(GestureHost& host, const Pointer& start, const Edge& wire, std::size_t index,
                         const Dot& dot)
    : Gesture(host), m_start(start.at), m_startPixel(start.pixel), m_grabbed(dot.lane), m_pulledOut(wire) {
    const DotRef ref{wire.to, index};
    m_items.push_back({NodeId::none, NoteId::none, ref, dot.lane, dot.position, kLeastY, {}, {}});
    m_moved.dots.insert(ref);
    const Scene& scene = host.hostScene();
    const LaneBand* band = scene.lanes().find(dot.lane);
    const WireShape* shape = scene.wires().find(wire);
    if (!band || !shape) return;
    m_bounds = QRectF(QPointF(dot.position.x, band->top + dot.position.y), QSizeF(0, 0));
    m_moved.ends = {shape->start, shape->end};
}

void MoveGesture::addDots(const std::set<DotRef>& chosen) {
    const Graph& graph = m_host.document().graph();
    const Scene& scene = m_host.hostScene();
    m_chosen = chosen;
    m_moved.dots = dotsWith(graph, m_moved.nodes, chosen);
    for (const DotRef& ref : m_moved.dots) {
        const Dot& dot = graph.dots(ref.wire)[ref.index];
        m_items.push_back({NodeId::none, NoteId::none, ref, dot.lane, dot.position, kLeastY, {}, {}});
        const DotShape* shape = scene.wires().dot(ref);
        const WireShape* wire = scene.wires().find({*graph.sourceOf(ref.wire), ref.wire});
        if (!m_moved.nodes.empty() || !shape || !wire) continue;
        const QRectF point(shape->at, QSizeF(0, 0));
        m_bounds = around(m_bounds.value_or(point), point);
        m_moved.ends.push_back(wire->start);
        m_moved.ends.push_back(wire->end);
    }
}

QPointF MoveGesture::lined(QPointF offset, LaneId lane, QPointF onGrid) const {
    constexpr std::size_t kMost = 200; // more items are not aligned, to save time
    if (!m_bounds || m_items.size() > kMost) return onGrid;
    const AlignmentGuides guides = findGuides(m_host.hostScene(), m_bounds->translated(offset), m_moved, lane,
                                              kGuidePixels / m_host.zoom());
    return {guides.x ? offset.x() + *guides.x : onGrid.x(), guides.y ? offset.y() + *guides.y : onGrid.y()};
}

void MoveGesture::settle(const Pointer& pointer) {
    const QPointF offset = pointer.at - m_start;
    const auto& lanes = m_host.hostScene().lanes().bands();
    const auto indexOf = [&](LaneId id) {
        const auto at =
            std::find_if(lanes.begin(), lanes.end(), [id](const LaneBand& b) { return b.id == id; });
        return static_cast<int>(at - lanes.begin());
    };
    const LaneBand* under = m_host.hostScene().lanes().at(pointer.at.y());
    if (!under || m_items.empty()) return;
    const int shift = indexOf(under->id) - indexOf(m_grabbed);
    const int last = static_cast<int>(lanes.size()) - 1;

    // The first item on the grabbed lane is put on the grid, or all items are aligned; the others keep their
    // distances.
    const Item* lead = &m_items.front();
    for (const Item& item : m_items) {
        if (item.lane != m_grabbed) continue;
        lead = &item;
        break;
    }
    const double leadTop = lanes[static_cast<std::size_t>(indexOf(lead->lane))].top;
    const double leadNewTop =
        lanes[static_cast<std::size_t>(std::clamp(indexOf(lead->lane) + shift, 0, last))].top;
    const bool isFree = pointer.modifiers & Qt::AltModifier;
    const QPointF onGrid(snapped(lead->at.x + offset.x()) - lead->at.x,
                         snapped(leadTop + lead->at.y + offset.y() - leadNewTop) + leadNewTop - leadTop -
                             lead->at.y);
    const QPointF way = isFree ? offset : lined(offset, under->id, onGrid);

    double shortX = 0;
    std::unordered_map<LaneId, double> shortY;
    for (Item& item : m_items) {
        const int from = indexOf(item.lane);
        const LaneBand& to = lanes[static_cast<std::size_t>(std::clamp(from + shift, 0, last))];
        item.newLane = to.id;
        item.newAt = {item.at.x + way.x(),
                      lanes[static_cast<std::size_t>(from)].top + item.at.y + way.y() - to.top};
        shortX = std::max(shortX, std::min(kLeastX, item.at.x) - item.newAt.x);
        double& missing = shortY[to.id];
        missing = std::max(missing, std::min(item.least, from + shift == from ? item.at.y : item.least) -
                                        item.newAt.y);
    }
    // No item may end left of or above its lane; items that move together are shifted together.
    for (Item& item : m_items) item.newAt = {item.newAt.x + shortX, item.newAt.y + shortY[item.newLane]};
    m_preview.guides.clear();
    if (isFree || !m_bounds) return;
    const LaneBand& home = lanes[static_cast<std::size_t>(indexOf(lead->lane))];
    const LaneBand& there = *m_host.hostScene().lanes().find(lead->newLane);
    const QRectF moved =
        m_bounds->translated(lead->newAt.x - lead->at.x, there.top + lead->newAt.y - home.top - lead->at.y);
    m_preview.guides = guideLines(m_host.hostScene(), moved, m_moved, under->id);
}

void MoveGesture::show() {
    std::vector<std::pair<NodeId, QPointF>> nodes;
    std::vector<std::pair<NoteId, QPointF>> notes;
    std::vector<std::pair<DotRef, QPointF>> dots;
    std::vector<Device> devices;
    m_preview.lanes.clear();
    const Scene& scene = m_host.hostScene();
    for (const Item& item : m_items) {
        const LaneBand* from = scene.lanes().find(item.lane);
        const LaneBand* to = scene.lanes().find(item.newLane);
        if (!from || !to) continue;
        const QPointF offset(item.newAt.x - item.at.x, to->top + item.newAt.y - from->top - item.at.y);
        if (item.dot) {
            dots.emplace_back(*item.dot, offset);
            continue; // a dot may be on any lane
        }
        if (item.node != NodeId::none) {
            nodes.emplace_back(item.node, offset);
            devices.push_back(to->device);
        } else {
            notes.emplace_back(item.note, offset);
        }
        if (item.newLane != item.lane &&
            std::find(m_preview.lanes.begin(), m_preview.lanes.end(), to->id) == m_preview.lanes.end())
            m_preview.lanes.push_back(to->id);
    }
    const Graph& graph = m_host.document().graph();
    m_host.hostScene().drag(graph, nodes, notes, devices, dots);
    m_preview.frame = FrameId::none;
    for (const Item& item : m_items) {
        const Node* node = graph.find(item.node);
        if (node && frameFor(*node) != node->frame) m_preview.frame = frameFor(*node);
    }
    findCarried();
    for (const auto& [module, node] : *m_carried)
        if (const FrameId parent = parentFor(module, node); parent != graph.find(module)->parent)
            m_preview.frame = parent;
    m_preview.splice.reset();
    if (const auto splice = spliceHere()) {
        const NodeShape& shape = *scene.nodes().find(m_items.front().node);
        m_preview.splice = {splice->wire, portPosition(shape, PortSide::input, splice->input.port),
                            portPosition(shape, PortSide::output, splice->output.port)};
    }
    m_host.repaint();
}

void MoveGesture::lookAhead() {
    std::vector<LaneId> lanes;
    for (const Item& item : m_items) lanes.push_back(item.newLane);
    if (lanes == m_seen) return;
    m_seen = std::move(lanes);
    const std::map<NodeId, LaneId> wanted = newLanes();
    DeltaBuilder builder(m_host.document().graph(), "");
    moveToLanes(builder, wanted);
    m_preview.reason = wanted.empty() ? QString() : laneOutlook(m_host.document(), builder.take());
}

std::map<NodeId, LaneId> MoveGesture::newLanes() const {
    std::map<NodeId, LaneId> lanes;
    for (const Item& item : m_items)
        if (item.node != NodeId::none && item.newLane != LaneId::none && item.newLane != item.lane)
            lanes[item.node] = item.newLane;
    return lanes;
}

std::optional<Splice> MoveGesture::spliceHere() const {
    if (m_items.size() != 1 || m_items.front().node == NodeId::none) return std::nullopt;
    const NodeId node = m_items.front().node;
    const NodeShape* shape = m_host.hostScene().nodes().find(node);
    if (!shape || shape->module != kNoSlot) return std::nullopt;
    const auto wire = wireNear(m_host.hostScene(), shape->rect.center(), kSpliceRange, node);
    if (!wire) return std::nullopt;
    return spliceOf(m_host.document().graph(), m_host.document().analysis(), *wire, node);
}

Position MoveGesture::placeOf(const Item& item, const Graph& graph) {
    const Lane* lane = graph.find(item.newLane);
    if (item.newLane == item.lane || !lane || !lane->collapsed) return item.newAt;
    return {item.newAt.x, std::max(item.at.y, item.least)};
}

FrameId MoveGesture::frameBetween(FrameId home, QPointF from, QPointF to) const {
    const Scene& scene = m_host.hostScene();
    const FrameId before = scene.frames().around(from);
    const FrameId now = scene.frames().around(to);
    if (before == now) return home;
    // A frame is not drawn on lanes without nodes of its own; a card dragged to such a lane remains in the
    // frame.
    const bool leavesLane = scene.lanes().at(from.y()) != scene.lanes().at(to.y());
    return now == FrameId::none && leavesLane ? home : now;
}

FrameId MoveGesture::frameFor(const Node& node) const {
    const Scene& scene = m_host.hostScene();
    const NodeShape* shape = scene.nodes().find(node.id);
    const FrameShape* home = scene.frames().find(node.frame);
    if (!shape || (home && home->isCarried) || shape->module != kNoSlot) return node.frame;
    return frameBetween(node.frame, shape->rect.center() - shape->drag, shape->rect.center());
}

void MoveGesture::findCarried() {
    if (m_carried) return;
    const Scene& scene = m_host.hostScene();
    const Graph& graph = m_host.document().graph();
    std::unordered_map<FrameId, NodeId> nodes;
    for (const Item& item : m_items) {
        const NodeShape* shape = scene.nodes().find(item.node);
        if (!shape) continue;
        const NodeShape* drawn = scene.nodes().drawn(item.node);
        const ModuleShape* card = scene.modules().of(*drawn);
        if (!card && shape->kind == NodeShape::Kind::hidden) continue;
        std::size_t steps = graph.frames().size(); // ends a cycle of parents
        for (const Frame* at = graph.find(shape->frame); at && steps-- > 0; at = graph.find(at->parent)) {
            nodes.try_emplace(at->id, item.node);
            if (card && card->frame == at->id) break;
        }
    }
    m_carried.emplace();
    for (const FrameShape& shape : scene.frames().shapes()) {
        const FrameShape* parent = scene.frames().find(shape.parent);
        const auto node = nodes.find(shape.id);
        // Items inside a moved frame stay in it, and a body goes with its owner.
        if (node != nodes.end() && shape.isCarried && !shape.isBody && !(parent && parent->isCarried))
            m_carried->emplace_back(shape.id, node->second);
    }
}

FrameId MoveGesture::parentFor(FrameId module, NodeId node) const {
    const Scene& scene = m_host.hostScene();
    const NodeShape& shape = *scene.nodes().drawn(node);
    const ModuleShape* card = scene.modules().of(shape);
    const QRectF rect = card && card->frame == module ? shape.rect : scene.frames().find(module)->rect;
    return frameBetween(m_host.document().graph().find(module)->parent, rect.center() - shape.drag,
                        rect.center());
}

void MoveGesture::move(const Pointer& pointer) {
    if (!m_moving && (pointer.pixel - m_startPixel).manhattanLength() < QApplication::startDragDistance())
        return;
    if (!m_moving && m_pulledOut)
        m_host.hostScene().holdDot(*m_items.front().dot, {m_items.front().lane, m_items.front().at});
    m_moving = true;
    settle(pointer);
    show();
    lookAhead();
}

void MoveGesture::finish(const Pointer& pointer) {
    if (!m_moving) {
        if (m_onClick) m_host.document().select(*m_onClick);
        return;
    }
    settle(pointer);
    if (m_pulledOut) return putDot();
    show();
    const Graph& graph = m_host.document().graph();
    DeltaBuilder builder(graph, "");
    for (const auto& [module, node] : *m_carried) {
        Frame after = *graph.find(module);
        after.parent = parentFor(module, node);
        if (after.parent != graph.find(module)->parent) builder.change(after);
    }
    std::unordered_map<NodeId, FrameId> frames;
    for (const Item& item : m_items)
        if (const Node* node = graph.find(item.node)) frames[node->id] = frameFor(*node);
    const FrameId joined = m_preview.frame;
    const std::optional<Splice> splice = spliceHere();
    m_host.hostScene().endDrag(graph);
    m_preview.lanes.clear();
    m_preview.guides.clear();
    m_preview.frame = FrameId::none;
    m_preview.splice.reset();
    Selection moved;
    std::map<PortRef, Route> routes;
    Device device;
    bool changesDevice = false;
    const std::map<NodeId, LaneId> lanes = newLanes();
    for (const Item& item : m_items) {
        if (item.newLane == LaneId::none || (item.newLane == item.lane && item.newAt == item.at)) continue;
        if (item.dot) {
            routeOf(graph, routes, item.dot->wire).dots[item.dot->index] = {item.newLane,
                                                                            placeOf(item, graph)};
            if (m_chosen.contains(*item.dot)) moved.dots.insert(*item.dot);
        } else if (item.node != NodeId::none) {
            device = graph.find(item.newLane)->device;
            changesDevice = changesDevice || graph.find(item.lane)->device != device;
            moved.nodes.insert(item.node);
            Node after = *builder.graph().find(item.node);
            after.position = placeOf(item, graph);
            after.frame = frames[item.node];
            builder.change(after);
            for (const NodeId id : foldedIn(graph, item.node)) {
                Node parameter = *builder.graph().find(id);
                if (after.frame != graph.find(item.node)->frame) parameter.frame = after.frame;
                builder.change(parameter);
            }
        } else {
            Note after = *graph.find(item.note);
            after.lane = item.newLane;
            after.position = placeOf(item, graph);
            moved.notes.insert(item.note);
            builder.change(after);
        }
    }
    if (!moved.empty()) {
        for (const auto& [wire, route] : routes) builder.setDots(wire, route.dots);
        const std::set<NodeId> went = moveToLanes(builder, lanes);
        for (const auto& [id, lane] : lanes) {
            Node stays = *builder.graph().find(id);
            if (went.contains(id)) continue;
            stays.position = graph.find(id)->position; // a host value stays on its lane
            builder.change(stays);
        }
        const Frame* frame = graph.find(joined);
        std::string title = titleOf(graph, moved, changesDevice ? device.toString() : std::string(),
                                    frame ? frame->title : std::string());
        if (splice) title = insertInto(builder, *splice, m_items.front().node);
        Delta delta = builder.take();
        delta.title = std::move(title);
        m_host.apply(std::move(delta));
    }
    m_host.repaint();
}

/// At the pointer.
void MoveGesture::putDot() {
    const Item item = m_items.front();
    const Edge wire = *m_pulledOut;
    cancel();
    if (item.newLane == LaneId::none) return;
    const Graph& graph = m_host.document().graph();
    m_host.apply(addDot(graph, wire, item.dot->index, {item.newLane, placeOf(item, graph)}));
    m_host.document().select({{}, {}, std::nullopt, {*item.dot}});
}

void MoveGesture::cancel() {
    m_preview.reason.clear();
    m_preview.lanes.clear();
    m_preview.guides.clear();
    m_preview.frame = FrameId::none;
    m_preview.splice.reset();
    m_host.hostScene().endDrag(m_host.document().graph());
    if (m_pulledOut) m_host.hostScene().dropHeldDot();
    m_host.repaint();
}

Delta nudge(const Graph& graph, const Selection& selected, QPointF offset) {
    Delta delta;
    Selection what = selected;
    what.nodes = cardsOf(graph, selected.nodes);
    if (what.nodes.empty() && what.notes.empty() && what.dots.empty()) return delta;
    const std::set<DotRef> dots = dotsWith(graph, what.nodes, what.dots);
    // Moves all items or none, so that they keep their distances at the border.
    double dx = offset.x();
    double dy = offset.y();
    for (NodeId id : what.nodes) {
        const Node& node = *graph.find(id);
        dx = std::max(dx, std::min(0.0, kLeastX - node.position.x));
        dy = std::max(dy, std::min(0.0, leastY(node) - node.position.y));
    }
    for (NoteId id : what.notes) {
        const Note& note = *graph.find(id);
        dx = std::max(dx, std::min(0.0, kLeastX - note.position.x));
        dy = std::max(dy, std::min(0.0, kLeastY - note.position.y));
    }
    for (const DotRef& ref : dots) {
        const Position at = graph.dots(ref.wire)[ref.index].position;
        dx = std::max(dx, std::min(0.0, kLeastX - at.x));
        dy = std::max(dy, std::min(0.0, kLeastY - at.y));
    }
    if (dx == 0 && dy == 0) return delta;
    std::map<PortRef, Route> routes;
    for (const DotRef& ref : dots) {
        Position& at = routeOf(graph, routes, ref.wire).dots[ref.index].position;
        at = {at.x + dx, at.y + dy};
    }
    addChanges(graph, routes, delta);
    delta.title = titleOf(graph, what);
    for (NodeId id : what.nodes) {
        Node after = *graph.find(id);
        after.position = {after.position.x + dx, after.position.y + dy};
        delta.nodes.push_back({*graph.find(id), after});
    }
    for (NoteId id : what.notes) {
        Note after = *graph.find(id);
        after.position = {after.position.x + dx, after.position.y + dy};
        delta.notes.push_back({*graph.find(id), after});
    }
    return delta;
}

} // namespace twb
