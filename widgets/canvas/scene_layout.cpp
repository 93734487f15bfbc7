#include "widgets/canvas/caption.h"
#include "widgets/canvas/note_text.h"
#include "widgets/canvas/scene.h"
#include "widgets/theme.h"

#include <QTextDocument>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace twb {
namespace {

constexpr double kLaneMargin = 20; ///< below the lowest card of a lane, clear of a pill on the border
constexpr double kLeastLane = 104; ///< for a header and a card
constexpr double kStrip = 48;      ///< of a collapsed lane
constexpr double kLabelRoom = 40;  ///< for the price below a pill
constexpr double kFramePadding = 14;
constexpr double kFrameTitle = 18;
constexpr double kNotePadding = 12;

QString toQt(const std::string& text) { return QString::fromStdString(text); }

/// Never 0.
std::uint64_t columnOf(LaneId lane, double x) {
    return (value(lane) * 0x9E3779B97F4A7C15ULL ^ std::bit_cast<std::uint64_t>(x)) | 1U;
}

} // namespace

void Scene::readLanes(const SceneSource& source) {
    std::unordered_map<LaneId, double> tops;
    for (const LaneBand& band : m_lanes) tops[band.id] = band.top;
    m_lanes.clear();
    std::vector<Device> seen;
    for (const Lane& lane : source.graph.lanesInOrder()) {
        LaneBand band;
        band.id = lane.id;
        band.device = source.devices.resolve(lane.device);
        const auto before = tops.find(lane.id);
        band.top = before != tops.end() ? before->second : -1;
        band.height = lane.height;
        band.name = toQt(lane.device.toString());
        if (lane.device.isAuto()) band.name += QStringLiteral(" → ") + toQt(band.device.toString());
        band.title = toQt(lane.title);
        if (const Backend* backend = source.devices.find(band.device)) {
            band.backend = toQt(backend->info().name);
            band.detail = toQt(backend->info().detail);
            band.simulated = backend->info().simulated;
        }
        band.collapsed = lane.collapsed;
        band.repeated = std::find(seen.begin(), seen.end(), band.device) != seen.end();
        seen.push_back(band.device);
        m_lanes.push_back(std::move(band));
    }
}

double Scene::leastHeightOf(const LaneBand& band) noexcept {
    if (band.collapsed) return kStrip;
    return std::max(band.contentBottom + kLaneMargin, kLeastLane);
}

void Scene::leaveColumn(std::uint32_t slot) {
    const std::uint64_t key = std::exchange(m_nodes[slot].column, 0);
    if (key == 0) return;
    std::vector<std::uint32_t>& column = m_columns.at(key);
    column.erase(std::find(column.begin(), column.end(), slot));
    if (column.empty())
        m_columns.erase(key);
    else
        m_oldColumns.push_back(key);
}

/// Cards in one column of a lane have one width, so that both sides align.
void Scene::alignColumns() {
    for (const std::uint32_t slot : m_touched) {
        NodeShape& shape = m_nodes[slot];
        const bool isCard = shape.id != NodeId::none && shape.kind == NodeShape::Kind::card;
        const std::uint64_t key = isCard ? columnOf(shape.lane, shape.at.x) : 0;
        if (shape.column != key) {
            leaveColumn(slot);
            if (key != 0) m_columns[key].push_back(slot);
            shape.column = key;
        }
        if (key != 0) m_oldColumns.push_back(key);
    }
    std::sort(m_oldColumns.begin(), m_oldColumns.end());
    m_oldColumns.erase(std::unique(m_oldColumns.begin(), m_oldColumns.end()), m_oldColumns.end());
    for (const std::uint64_t key : m_oldColumns) {
        const auto column = m_columns.find(key);
        if (column == m_columns.end()) continue;
        double width = 0;
        for (const std::uint32_t slot : column->second) width = std::max(width, m_nodes[slot].ownWidth);
        for (const std::uint32_t slot : column->second) {
            NodeShape& shape = m_nodes[slot];
            if (shape.rect.width() == width) continue;
            lift(slot);
            shape.rect.setWidth(width);
            m_cards.erase(slot);
            touch(slot);
        }
    }
    m_oldColumns.clear();
}

double Scene::columnWidth(LaneId lane, double x) const noexcept {
    const auto column = m_columns.find(columnOf(lane, x));
    return column == m_columns.end() ? 0 : m_nodes[column->second.front()].rect.width();
}

bool Scene::mayWiden(LaneId lane, double x, double width, double distance) const {
    const auto column = m_columns.find(columnOf(lane, x));
    if (column == m_columns.end()) return true;
    return std::all_of(column->second.begin(), column->second.end(), [&](std::uint32_t slot) {
        const QRectF& rect = m_nodes[slot].rect;
        const double more = width - rect.width();
        return more <= 0 || isFree(QRectF(rect.right() + 1, rect.top(), more + distance, rect.height()));
    });
}

/// Tracks the bottom of its lane's content.
void Scene::countContent(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    if (const auto lane = m_bottoms.find(shape.contentLane); lane != m_bottoms.end()) {
        const auto bottom = lane->second.find(shape.contentBottom);
        if (--bottom->second == 0) lane->second.erase(bottom);
    }
    shape.contentLane = LaneId::none;
    if (shape.id == NodeId::none || shape.kind == NodeShape::Kind::row) return;
    if (shape.kind == NodeShape::Kind::hidden) return;
    double room = shape.frame != FrameId::none ? kFramePadding : 0.0;
    if (shape.kind == NodeShape::Kind::pill) room = kLabelRoom - kLaneMargin;
    if (shape.isStaged) room += kLabelRoom - kLaneMargin / 2;
    shape.contentLane = shape.lane;
    shape.contentBottom = shape.at.y + shape.rect.height() + room;
    ++m_bottoms[shape.lane][shape.contentBottom];
}

/// Hides the content of a collapsed lane and counts it.
void Scene::countHidden() {
    std::unordered_map<LaneId, LaneBand*> collapsed;
    for (LaneBand& band : m_lanes)
        if (band.collapsed) collapsed[band.id] = &band;
    if (collapsed.empty()) return;
    for (std::uint32_t slot = 0; slot < m_nodes.size(); ++slot) {
        const NodeShape& shape = m_nodes[slot];
        const auto band = collapsed.find(shape.lane);
        if (shape.id == NodeId::none || band == collapsed.end() || isOutside(drawnSlot(slot))) continue;
        ++band->second->hiddenNodes;
        band->second->hidesErrors = band->second->hidesErrors || shape.hasError;
    }
}

void Scene::stackLanes(const Graph& graph) {
    std::unordered_map<LaneId, LaneBand*> bands;
    for (LaneBand& band : m_lanes) {
        bands[band.id] = &band;
        const auto bottoms = m_bottoms.find(band.id);
        if (bottoms != m_bottoms.end() && !bottoms->second.empty())
            band.contentBottom = std::max(0.0, bottoms->second.rbegin()->first);
    }
    for (const NoteShape& note : m_notes) {
        const auto band = bands.find(note.lane);
        if (band == bands.end()) continue;
        band->second->contentBottom = std::max(band->second->contentBottom, note.at.y + note.rect.height());
    }
    makeRoomForDots();
    for (const StubShape& stub : m_stubs) {
        const auto band = bands.find(stub.lane);
        if (band == bands.end() || stub.kind == StubShape::Kind::onLane) continue;
        band->second->contentBottom = std::max(band->second->contentBottom, stub.at.y + stub.rect.height());
    }
    double top = 0;
    std::unordered_set<LaneId> moved;
    for (LaneBand& band : m_lanes) {
        // A minimum height for hidden content would only waste space.
        if (band.collapsed || m_open != FrameId::none) band.height = 0;
        band.height = std::max(band.height, leastHeightOf(band));
        if (band.top != top) moved.insert(band.id);
        band.top = top;
        top += band.height;
    }
    if (moved.empty()) return;
    for (const Node& node : graph.nodes()) {
        if (!moved.contains(node.lane)) continue;
        if (const auto slot = m_slotOf.find(node.id); slot != m_slotOf.end()) touch(slot->second);
    }
}

void Scene::place(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    if (isRow(slot)) return placeRows(shape.card);
    const LaneBand* band = lane(shape.lane);
    if (shape.id == NodeId::none || !band) return;
    lift(slot);
    if (shape.kind == NodeShape::Kind::hidden) {
        // On a strip, navigation can still reach it.
        const bool isCard = shape.module == kNoSlot || shape.module == slot;
        if (band->collapsed && isCard && !isOutside(slot))
            shape.rect = {shape.at.x, band->top, card::minWidth, band->height};
    } else {
        shape.rect.moveTo(shape.at.x + shape.drag.x(), band->top + shape.at.y + shape.drag.y());
    }
    put(slot);
    placeRows(slot);
}

/// Removes it from the grid; call before its rect changes.
void Scene::lift(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    if (std::exchange(shape.isCounted, false)) m_nodeBounds.remove(shape.rect);
    if (shape.placed) m_nodeGrid.remove(slot, shape.rect);
    if (shape.placed && shape.kind != NodeShape::Kind::row) m_detours.cardLifted(shape.rect);
    shape.placed = false;
}

/// Inserts it into the grid at its rect; hidden shapes are not in the grid.
void Scene::put(std::uint32_t slot) {
    NodeShape& shape = m_nodes[slot];
    shape.isCounted = !shape.rect.isNull();
    if (shape.isCounted) m_nodeBounds.add(shape.rect);
    shape.placed = shape.kind != NodeShape::Kind::hidden;
    if (shape.placed) m_nodeGrid.insert(slot, shape.rect);
    if (shape.placed && shape.kind != NodeShape::Kind::row) m_detours.cardPut(shape.rect);
}

void Scene::readNotes(const Graph& graph) {
    const std::vector<NoteShape> before = std::exchange(m_notes, {});
    for (const Note& note : graph.notes()) {
        const LaneBand* band = lane(note.lane);
        if (!m_inside.empty() || (band && band->collapsed)) continue;
        NoteShape shape;
        shape.id = note.id;
        shape.lane = note.lane;
        shape.at = note.position;
        const double width = std::max(note.width, 80.0);
        const double textWidth = width - 2 * kNotePadding - 4;
        // Most edits do not affect notes: their layout is kept.
        const auto known = std::find_if(before.begin(), before.end(), [&](const NoteShape& old) {
            return old.id == note.id && old.markdown == note.text && old.text->textWidth() == textWidth;
        });
        shape.markdown = note.text;
        shape.text = known != before.end() ? known->text : makeNoteText(note.text, textWidth);
        const double height =
            std::max(note.height, std::ceil(shape.text->size().height()) + 2 * kNotePadding);
        shape.rect = QRectF(0, 0, width, height);
        m_notes.push_back(std::move(shape));
    }
}

void Scene::readFrames(const Graph& graph) {
    if (!std::exchange(m_framesAreOld, false)) {
        if (m_detours.isDisturbed()) placeTitles(); // a card may be where a title is
        return;
    }
    const std::vector<FrameShape> before = std::exchange(m_frames, {});
    layOutFrames(graph);
    const bool same = std::equal(m_frames.begin(), m_frames.end(), before.begin(), before.end(),
                                 [](const FrameShape& a, const FrameShape& b) {
                                     return a.id == b.id && a.parent == b.parent && a.rect == b.rect;
                                 });
    if (same) return;
    // Backward wires go around frames.
    for (std::uint32_t i = 0; i < m_wires.size(); ++i) {
        const WireShape& wire = m_wires[i];
        if (wire.free || wire.end.x() >= wire.start.x()) continue;
        if (m_nodes[wire.from].frame != FrameId::none || m_nodes[wire.to].frame != FrameId::none)
            m_restyle.push_back(i);
    }
}

void Scene::layOutFrames(const Graph& graph) {
    for (const Frame& frame : graph.frames()) {
        FrameShape shape;
        shape.id = frame.id;
        shape.title = elided(toQt(frame.title), TextRole::small, 220);
        shape.parent = frame.parent;
        shape.color = frame.color;
        shape.isBody = frame.owner != NodeId::none;
        // The bound ends a cycle of parents.
        std::size_t steps = graph.frames().size();
        for (const Frame* up = graph.find(frame.parent); up && steps-- > 0; up = graph.find(up->parent))
            ++shape.depth;
        m_frames.push_back(std::move(shape));
    }
    std::stable_sort(m_frames.begin(), m_frames.end(),
                     [](const auto& a, const auto& b) { return a.depth < b.depth; });
    if (m_frames.empty()) return;

    std::unordered_map<FrameId, std::size_t> indexOf;
    for (std::size_t i = 0; i < m_frames.size(); ++i) indexOf[m_frames[i].id] = i;
    markCarriedFrames(indexOf);
    for (const NodeShape& shape : m_nodes) {
        if (shape.id == NodeId::none || shape.frame == FrameId::none) continue;
        if (shape.kind == NodeShape::Kind::row || shape.kind == NodeShape::Kind::hidden) continue;
        // A module's card is in the frame around the module.
        const ModuleShape* module = moduleOf(shape);
        const Frame* own = module ? graph.find(module->frame) : nullptr;
        const auto at = indexOf.find(own ? own->parent : shape.frame);
        if (at == indexOf.end()) continue;
        FrameShape& frame = m_frames[at->second];
        // A fixed frame does not follow a node that may leave it.
        const QRectF rect = frame.isCarried ? shape.rect : shape.rect.translated(-shape.drag);
        frame.rect |= rect;
        if (shape.isStaged) frame.rect |= rect.adjusted(-12, 0, 12, kLabelRoom - 4);
    }
    // Inner frames first, so that each outline encloses inner ones.
    for (std::size_t i = m_frames.size(); i-- > 0;) {
        FrameShape& shape = m_frames[i];
        // The open module has no frame.
        if (!m_inside.empty() && (shape.id == m_open || !m_inside.contains(shape.id))) shape.rect = {};
        if (shape.rect.isEmpty()) continue;
        shape.rect.adjust(-kFramePadding, -kFramePadding - 4, kFramePadding, kFramePadding);
        const Frame* frame = graph.find(shape.id);
        const auto parent = frame ? indexOf.find(frame->parent) : indexOf.end();
        if (parent != indexOf.end() && m_frames[parent->second].depth < shape.depth)
            m_frames[parent->second].rect |= shape.rect;
    }
    placeTitles();
}

/// A title keeps its size on the screen while the view moves away, as far as it covers no card, no note and
/// no other title: it moves along the frame's upper edge, then to the lower one, and then becomes smaller.
void Scene::placeTitles() {
    constexpr double kSides = 8;       ///< left and right of the words
    constexpr double kLeastWords = 16; ///< in pixels: narrower than that, no title says anything
    constexpr double kInset = 12;
    constexpr double kBelowEdge = 9; ///< clear of the cards inside
    constexpr double kStep = 0.8;    ///< from one size to the next
    std::vector<QRectF> taken;
    for (FrameShape& frame : m_frames) {
        frame.titleRect = {};
        frame.shownTitle.clear();
        if (frame.rect.isEmpty() || frame.title.isEmpty()) continue;
        const double words = roughWidth(frame.title.toStdString(), TextRole::small);
        // What the title must not cover, from the left on.
        const auto inTheWay = [&](const QRectF& band) {
            std::vector<QRectF> out;
            for (const QRectF& other : taken)
                if (other.intersects(band)) out.push_back(other);
            visitNodes(band, [&](std::uint32_t slot) { out.push_back(m_nodes[slot].rect); });
            for (const NoteShape& note : m_notes)
                if (note.rect.intersects(band)) out.push_back(note.rect);
            std::sort(out.begin(), out.end(),
                      [](const QRectF& a, const QRectF& b) { return a.left() < b.left(); });
            return out;
        };
        const auto tryPlace = [&](double scale, double top) {
            const double height = kFrameTitle * scale;
            const double wanted = (words + 2 * kSides) * scale;
            const double least = (std::min(kLeastWords, words) + 2 * kSides) * scale;
            const double right = frame.rect.right() - kInset;
            double left = frame.rect.left() + kInset;
            // On the screen itself a short frame may be narrower than its name.
            const double room = scale > 1 ? right : std::max(right, left + wanted);
            double until = room;
            for (const QRectF& other : inTheWay(QRectF(left, top, room - left, height))) {
                if (other.left() - left >= std::min(wanted, room - left)) break;
                if (other.left() - left - 4 * scale >= std::max(least, wanted / 2)) {
                    until = other.left() - 4 * scale;
                    break;
                }
                left = std::max(left, other.right() + 4 * scale);
            }
            const double width = std::min(wanted, until - left);
            if (width < least) return false;
            const double shown = width / scale - 2 * kSides;
            frame.shownTitle = shown + 1 < words ? elided(frame.title, TextRole::small, shown) : frame.title;
            frame.titleRect = QRectF(left, top, width, height);
            frame.titleScale = scale;
            return true;
        };
        const double largest = std::max(1.0, 1 / m_titleZoom);
        for (double scale = largest;; scale = std::max(1.0, scale * kStep)) {
            if (tryPlace(scale, frame.rect.top() + kBelowEdge - kFrameTitle * scale) ||
                tryPlace(scale, frame.rect.bottom() - kBelowEdge) || scale == 1)
                break;
        }
        if (!frame.titleRect.isEmpty()) taken.push_back(frame.titleRect);
    }
}

void Scene::markCarriedFrames(const std::unordered_map<FrameId, std::size_t>& indexOf) {
    std::vector<std::pair<int, int>> counts(m_frames.size()); // its nodes, and the number of dragged ones
    for (const NodeShape& shape : m_nodes) {
        if (shape.id == NodeId::none || shape.kind == NodeShape::Kind::row) continue;
        const auto at = indexOf.find(shape.frame);
        if (at == indexOf.end()) continue;
        ++counts[at->second].first;
        counts[at->second].second += shape.dragged ? 1 : 0;
    }
    for (std::size_t i = m_frames.size(); i-- > 0;) {
        m_frames[i].isCarried = counts[i].second > 0 && counts[i].first == counts[i].second;
        const auto parent = indexOf.find(m_frames[i].parent);
        if (parent == indexOf.end() || m_frames[parent->second].depth >= m_frames[i].depth) continue;
        counts[parent->second].first += counts[i].first;
        counts[parent->second].second += counts[i].second;
    }
}

void Scene::readGhosts(const SceneSource& source) {
    std::unordered_map<PortRef, std::int32_t, PortHash> ghostOf;
    std::vector<GhostShape> ghosts;
    std::vector<QRectF> taken;
    for (const ImplicitCopy& copy : source.analysis.implicitCopies) {
        const NodeShape* from = drawn(copy.from.node);
        // A row has no wire; it shows by itself that it is on another device.
        if (!from || from->kind == NodeShape::Kind::row || from->isHidden || copy.edges.empty()) continue;
        const NodeShape* first = nullptr;
        for (const Edge& edge : copy.edges) {
            const NodeShape* to = drawn(edge.to.node);
            if (to && to != from && !to->isHidden && (!first || to->rect.left() < first->rect.left()))
                first = to;
        }
        if (!first) continue;
        GhostShape ghost;
        ghost.from = copy.from;
        ghost.target = copy.target;
        ghost.price = copy.price;
        ghost.hoisted = copy.hoisted;
        ghost.title = QStringLiteral("copy to ") + toQt(copy.target.toString());
        const double width =
            std::ceil((roughWidth(ghost.title.toStdString(), TextRole::strong) + 28) / 8) * 8;
        const LaneBand* band = lane(first->lane);
        const bool fromAbove = from->rect.center().y() < first->rect.center().y();
        const double border = band ? (fromAbove ? band->top : band->bottom()) : first->rect.top();
        const double ahead = first->rect.left() - from->rect.right();
        const double x = ahead > 0 ? from->rect.right() + ahead / 2 : from->rect.right() + 60;
        // Beside the centre, as far as necessary to avoid cards and other pills with their prices; preferably
        // with room for its price, and without a backward wire.
        int best = -1;
        for (int step = 0; step < 24 && best < 3; ++step) {
            const int turn = (step % 2 ? 1 : -1) * ((step + 1) / 2); // 0, 1, -1, 2, …
            const double shift = turn * 32.0;
            const QRectF spot(x - width / 2 + shift, border - card::pillHeight / 2, width, card::pillHeight);
            const auto isOpen = [&](const QRectF& room) {
                return isFree(room) && std::none_of(taken.begin(), taken.end(), [&](const QRectF& other) {
                           return other.intersects(room);
                       });
            };
            if (!isOpen(spot.adjusted(-8, -4, 8, 4))) continue;
            const bool runsForward = spot.left() > from->rect.right() && spot.right() < first->rect.left();
            const bool hasRoom = isOpen(spot.adjusted(-24, -4, 24, kLabelRoom)) ||
                                 isOpen(spot.adjusted(-24, -kLabelRoom, 24, 4));
            const int merit = (runsForward ? 2 : 0) + (hasRoom ? 1 : 0);
            if (merit <= best) continue;
            best = merit;
            ghost.rect = spot;
        }
        if (best < 0)
            ghost.rect = QRectF(x - width / 2, border - card::pillHeight / 2, width, card::pillHeight);
        taken.push_back(ghost.rect.adjusted(-24, -6, 24, kLabelRoom));
        for (const Edge& edge : copy.edges) ghostOf[edge.to] = static_cast<std::int32_t>(ghosts.size());
        ghosts.push_back(std::move(ghost));
    }
    // A moved pill takes its wires along; a new or removed pill changes its wires.
    if (!ghostOf.empty() || !m_ghostOf.empty()) {
        for (const auto* map : {&ghostOf, &m_ghostOf}) {
            for (const auto& [port, ghost] : *map) {
                if (const auto at = m_wireInto.find(port); at != m_wireInto.end())
                    m_restyle.push_back(at->second);
            }
        }
    }
    m_ghostOf = std::move(ghostOf);
    m_ghosts = std::move(ghosts);
    m_ghostLabels.assign(m_ghosts.size(), {});
}

bool Scene::isFree(const QRectF& rect) const {
    bool free = true;
    visitNodes(rect, [&](std::uint32_t) { free = false; });
    for (const NoteShape& note : m_notes) free = free && !note.rect.intersects(rect);
    return free;
}

} // namespace twb
