#include "widgets/canvas/label_places.h"

#include "widgets/canvas/scene.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace twb {
namespace {

constexpr double kGap = 4;         ///< between a pill and its price
constexpr double kClear = 3;       ///< between a price and a wire
constexpr double kAside = 160;     ///< maximum distance from its wire at scale 1
constexpr double kHidesCard = 1e3; ///< penalty of hiding a card; a wire has a point every few pixels

/// Obstacles of labels.
struct Surroundings {
    std::vector<QRectF> taken;  ///< cards, pills, notes, titles, other labels
    std::vector<QPointF> lines; ///< points of wires and of frame outlines

    /// 0 if nothing is hidden.
    double hiddenBy(const QRectF& label) const {
        double hidden = label.left() < 0 ? kHidesCard : 0; // the lane headers are there
        for (const QRectF& other : taken) hidden += other.intersects(label) ? kHidesCard : 0;
        const QRectF around = label.adjusted(-kClear, -kClear, kClear, kClear);
        for (const QPointF point : lines) hidden += around.contains(point) ? 1 : 0;
        return hidden;
    }
};

/// For a label of the node `pill` or of the wire `own`, which it may overlap.
const Surroundings& surroundings(const Scene& scene, const QRectF& area, std::uint32_t pill,
                                 std::uint32_t own, double scale) {
    static thread_local Surroundings found;
    found.taken.clear();
    found.lines.clear();
    const auto addLabel = [&](const PriceLabel* label) {
        if (!label || label->placed != scene.version()) return false;
        found.taken.push_back(label->rect);
        return true;
    };
    scene.nodes().visit(area, [&](std::uint32_t slot) {
        const NodeShape& shape = scene.nodes()[slot];
        if (shape.kind == NodeShape::Kind::row) return;
        QRectF taken = shape.rect;
        const bool hasLabel = slot != pill && addLabel(scene.labels().ofNode(slot));
        // Among pills without a label position, the earlier one has priority for the room below it.
        if (shape.kind == NodeShape::Kind::pill && !hasLabel && slot < pill) taken.adjust(-20, 0, 20, 36);
        if (shape.isStaged && slot != pill) taken.adjust(0, 0, 0, 36);
        found.taken.push_back(taken);
    });
    scene.wires().visitDots(area, [&](const DotRef&, const DotShape& dot) {
        found.taken.emplace_back(dot.at.x() - kDotRadius, dot.at.y() - kDotRadius, 2 * kDotRadius,
                                 2 * kDotRadius);
    });
    const double aside = kAside * scale;
    scene.wires().visit(area.adjusted(-aside, -aside, aside, aside), [&](std::uint32_t slot) {
        if (slot == own) return;
        addLabel(scene.labels().ofWire(slot));
        scene.wires().path(scene.wires()[slot]).sampleIn(area, found.lines);
    });
    for (const GhostShape& ghost : scene.ghosts().shapes())
        if (ghost.rect.intersects(area)) found.taken.push_back(ghost.rect);
    for (const NoteShape& note : scene.notes()) found.taken.push_back(note.rect);
    for (const StubShape& stub : scene.stubs().shapes())
        if (stub.rect.intersects(area)) found.taken.push_back(stub.rect);
    for (const FrameShape& frame : scene.frames().shapes()) {
        if (!frame.rect.adjusted(0, -12, 0, 0).intersects(area)) continue;
        found.taken.push_back(frame.titleRect);
        const QRectF seen = frame.rect.intersected(area);
        constexpr double kStep = 8;
        for (int i = 0; i * kStep < seen.width(); ++i)
            for (const double y : {frame.rect.top(), frame.rect.bottom()})
                found.lines.emplace_back(seen.left() + i * kStep, y);
        for (int i = 0; i * kStep < seen.height(); ++i)
            for (const double x : {frame.rect.left(), frame.rect.right()})
                found.lines.emplace_back(x, seen.top() + i * kStep);
    }
    return found;
}

} // namespace

void placeBeside(PriceLabel& label, const Scene& scene, const QRectF& around, std::uint32_t slot,
                 double scale) {
    const double w = label.rect.width();
    const double h = label.rect.height();
    const Surroundings& rest =
        surroundings(scene, around.adjusted(-w - 20, -h - 48, w + 20, h + 48), slot, kNoSlot, scale);
    QRectF best;
    double least = std::numeric_limits<double>::max();
    const auto isClear = [&](double x, double y) {
        label.rect.moveTopLeft({x, y});
        const double hidden = rest.hiddenBy(label.rect);
        if (hidden < least) best = label.rect;
        least = std::min(least, hidden);
        return hidden == 0;
    };
    // Tries places below and above the area, shifted by up to half of the label's width but not under the
    // lane headers, and then places farther away.
    for (const double gap : {kGap, 4 * kGap, 10 * kGap}) {
        for (const double shift : {0.0, 0.25, -0.25, 0.5, -0.5}) {
            const double x = std::max(around.center().x() - w / 2 + shift * w, 0.0);
            if (isClear(x, around.bottom() + gap) || isClear(x, around.top() - gap - h)) return;
        }
    }
    if (isClear(around.right() + 10, around.bottom() - h / 2 + 12) ||
        isClear(around.left() - w - 10, around.bottom() - h / 2 + 12))
        return;
    label.rect = best;
}

void placeOnWire(PriceLabel& label, const Scene& scene, std::uint32_t slot, double scale) {
    const WirePath way = scene.wires().path(scene.wires()[slot]);
    const QPointF middle = way.at(0.5);
    constexpr double kFar = 400;
    const QRectF near(middle.x() - kFar, middle.y() - kFar, 2 * kFar, 2 * kFar);
    const double width = label.rect.width();
    const Surroundings& rest = surroundings(
        scene, way.bounds().intersected(near).adjusted(-width, -60, width, 60), kNoSlot, slot, scale);
    const double beside = width / 2 + 8;
    QRectF best;
    double least = std::numeric_limits<double>::max();
    // As near to the centre as possible; else slightly above or below the wire, then beside it, then farther
    // away.
    for (const QPointF aside : {QPointF(0, 0), QPointF(0, -16), QPointF(0, 16), QPointF(beside, 0),
                                QPointF(-beside, 0), QPointF(0, -34), QPointF(0, 34)}) {
        for (int step = 0; step <= 14; ++step) {
            const int turn = (step % 2 ? 1 : -1) * ((step + 1) / 2); // 0, 1, -1, 2, …
            label.rect.moveCenter(way.at(0.5 + turn * 0.06) + aside);
            const double hidden = rest.hiddenBy(label.rect.adjusted(-4, -3, 4, 3));
            if (hidden < least) best = label.rect;
            least = std::min(least, hidden);
            if (hidden == 0) return;
        }
    }
    // The wire and its tooltip also show the error.
    label.rect = label.isError && least >= kHidesCard ? QRectF() : best;
}

} // namespace twb
