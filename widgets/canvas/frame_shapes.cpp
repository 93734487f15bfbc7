#include "widgets/canvas/frame_shapes.h"

#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/canvas/spatial_grid.h"
#include "widgets/text.h"

#include <algorithm>
#include <utility>

namespace twb {
namespace {

constexpr double kFirstLane = 0; ///< its top; a fitted view shows nothing above it
constexpr double kTitleHeight = 18;
constexpr double kSides = 8;       ///< left and right of the words of a title
constexpr double kLeastWords = 16; ///< in pixels: narrower than that, no title says anything
constexpr double kInset = 12;      ///< of a title from the sides of its frame
constexpr double kBelowEdge = 9;   ///< clear of the cards inside
constexpr double kStep = 0.8;      ///< from one size of a title to the next

} // namespace

/// What a title must not cover: cards, notes and other titles.
struct FrameShapes::Obstacles {
    const Scene& scene;
    std::vector<QRectF> rects{}; ///< of notes and titles
    SpatialGrid grid{};          ///< of `rects`

    void add(const QRectF& rect) {
        grid.insert(std::uint32_t(rects.size()), rect);
        rects.push_back(rect);
    }
    /// From the left on.
    std::vector<QRectF> in(const QRectF& band) const {
        std::vector<QRectF> out;
        grid.query(band, [&](std::uint32_t i) {
            if (rects[i].intersects(band)) out.push_back(rects[i]);
        });
        scene.nodes().visit(band, [&](std::uint32_t slot) { out.push_back(scene.nodes()[slot].rect); });
        std::sort(out.begin(), out.end(),
                  [](const QRectF& a, const QRectF& b) { return a.left() < b.left(); });
        return out;
    }
};

const FrameShape* FrameShapes::find(FrameId id) const noexcept {
    const auto found = m_indexOf.find(id);
    return found == m_indexOf.end() ? nullptr : &m_frames[found->second];
}

FrameId FrameShapes::around(QPointF at) const noexcept {
    for (auto index = m_fixed.rbegin(); index != m_fixed.rend(); ++index)
        if (m_frames[*index].rect.contains(at)) return m_frames[*index].id;
    return m_open;
}

QRectF FrameShapes::outskirtsOf(const NodeShape& shape, const NodeShape& other) const {
    std::vector<FrameId> around;
    for (const FrameShape* f = find(other.frame); f && around.size() < m_frames.size(); f = find(f->parent))
        around.push_back(f->id);
    QRectF rect = shape.rect;
    std::size_t steps = m_frames.size();
    for (const FrameShape* f = find(shape.frame); f && steps-- > 0; f = find(f->parent)) {
        if (std::find(around.begin(), around.end(), f->id) != around.end()) break;
        rect |= f->rect;
    }
    return rect;
}

bool FrameShapes::read(const Scene& scene, const Graph& graph) {
    const std::vector<FrameShape> before = std::exchange(m_frames, {});
    const std::unordered_map<FrameId, std::size_t> indexBefore = std::exchange(m_indexOf, {});
    m_open = scene.hidden().open();
    for (const Frame& frame : graph.frames()) {
        FrameShape shape;
        shape.id = frame.id;
        shape.words = frame.title;
        const auto known = indexBefore.find(frame.id);
        const FrameShape* old = known == indexBefore.end() ? nullptr : &before[known->second];
        shape.title =
            old && old->words == frame.title ? old->title : elided(toQt(frame.title), TextRole::small, 220);
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
    for (std::size_t i = 0; i < m_frames.size(); ++i) m_indexOf[m_frames[i].id] = i;
    markCarried(scene);
    for (const NodeShape& shape : scene.nodes().shapes()) {
        if (m_frames.empty()) break;
        if (shape.id == NodeId::none || shape.frame == FrameId::none) continue;
        if (shape.kind == NodeShape::Kind::row || shape.kind == NodeShape::Kind::hidden) continue;
        // A module's card is in the frame around the module.
        const ModuleShape* module = scene.modules().of(shape);
        const Frame* own = module ? graph.find(module->frame) : nullptr;
        const auto at = m_indexOf.find(own ? own->parent : shape.frame);
        if (at == m_indexOf.end()) continue;
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
        if (shape.id == m_open || scene.hidden().isOutside(shape.id)) shape.rect = {};
        if (shape.rect.isEmpty()) continue;
        shape.rect.adjust(-kFramePadding, -kFramePadding - 4, kFramePadding, kFramePadding);
        const auto parent = m_indexOf.find(shape.parent);
        if (parent != m_indexOf.end() && m_frames[parent->second].depth < shape.depth)
            m_frames[parent->second].rect |= shape.rect;
    }
    return !std::equal(m_frames.begin(), m_frames.end(), before.begin(), before.end(),
                       [](const FrameShape& a, const FrameShape& b) {
                           return a.id == b.id && a.parent == b.parent && a.rect == b.rect;
                       });
}

/// Where the title of a card is illegible, that of a collapsed module is above or below its card.
void FrameShapes::placeModuleTitles(double zoom, Obstacles& obstacles) {
    constexpr double kLegible = 0.4; // for the names on cards, which are larger at low zoom
    if (zoom >= kLegible) return;
    for (const auto& [slot, module] : obstacles.scene.modules().all()) {
        const auto found = m_indexOf.find(module.frame);
        if (found == m_indexOf.end() || m_frames[found->second].title.isEmpty()) continue;
        FrameShape& frame = m_frames[found->second];
        const QRectF card = obstacles.scene.nodes()[slot].rect;
        const double scale = 1 / zoom;
        const double width = (roughWidth(frame.title.toStdString(), TextRole::small) + 2 * kSides) * scale;
        const double height = kTitleHeight * scale;
        const double gap = 3 * scale;
        for (const double top : {card.top() - gap - height, card.bottom() + gap}) {
            const QRectF place(card.center().x() - width / 2, top, width, height);
            if (top < kFirstLane || !obstacles.in(place).empty()) continue;
            frame.shownTitle = frame.title;
            frame.titleRect = place;
            frame.titleScale = scale;
            obstacles.add(place);
            break;
        }
    }
}

void FrameShapes::placeTitles(const Scene& scene, double zoom) {
    if (m_frames.empty()) return;
    Obstacles obstacles{scene};
    for (const NoteShape& note : scene.notes()) obstacles.add(note.rect);
    for (FrameShape& frame : m_frames) {
        frame.titleRect = {};
        frame.shownTitle.clear();
        if (frame.rect.isEmpty() || frame.title.isEmpty()) continue;
        const double words = roughWidth(frame.title.toStdString(), TextRole::small);
        const auto tryPlace = [&](double scale, double top) {
            const double height = kTitleHeight * scale;
            const double wanted = (words + 2 * kSides) * scale;
            const double least = (std::min(kLeastWords, words) + 2 * kSides) * scale;
            const double right = frame.rect.right() - kInset;
            double left = frame.rect.left() + kInset;
            // On the screen itself a short frame may be narrower than its name.
            const double room = scale > 1 ? right : std::max(right, left + wanted);
            double until = room;
            for (const QRectF& other : obstacles.in(QRectF(left, top, room - left, height))) {
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
        for (double scale = std::max(1.0, 1 / zoom);; scale = std::max(1.0, scale * kStep)) {
            const double above = frame.rect.top() + kBelowEdge - kTitleHeight * scale;
            if (tryPlace(scale, std::max(kFirstLane, above)) ||
                tryPlace(scale, frame.rect.bottom() - kBelowEdge) || scale == 1)
                break;
        }
        if (!frame.titleRect.isEmpty()) obstacles.add(frame.titleRect);
    }
    placeModuleTitles(zoom, obstacles);
}

/// Finds the frames of which all nodes are being moved.
void FrameShapes::markCarried(const Scene& scene) {
    m_fixed.clear();
    if (m_frames.empty()) return;
    std::vector<std::pair<int, int>> counts(m_frames.size()); // its nodes, and the number of dragged ones
    for (const NodeShape& shape : scene.nodes().shapes()) {
        if (shape.id == NodeId::none || shape.kind == NodeShape::Kind::row) continue;
        const auto at = m_indexOf.find(shape.frame);
        if (at == m_indexOf.end()) continue;
        ++counts[at->second].first;
        counts[at->second].second += shape.dragged ? 1 : 0;
    }
    for (std::size_t i = m_frames.size(); i-- > 0;) {
        m_frames[i].isCarried = counts[i].second > 0 && counts[i].first == counts[i].second;
        const auto parent = m_indexOf.find(m_frames[i].parent);
        if (parent == m_indexOf.end() || m_frames[parent->second].depth >= m_frames[i].depth) continue;
        counts[parent->second].first += counts[i].first;
        counts[parent->second].second += counts[i].second;
    }
    for (std::size_t i = 0; i < m_frames.size(); ++i)
        if (!m_frames[i].isCarried) m_fixed.push_back(i);
}

} // namespace twb
