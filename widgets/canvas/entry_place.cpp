#include "widgets/canvas/entry_place.h"

#include "core/error.h"
#include "graph/card_size.h"
#include "widgets/canvas/gestures/gesture.h"
#include "widgets/canvas/hit_test.h"
#include "widgets/canvas/scene.h"
#include "widgets/document.h"
#include "widgets/palette/own_modules.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

constexpr double kClear = 8; ///< between cards

double onGrid(double x) { return std::max(kGrid, std::round(x / kGrid) * kGrid); }

/// A tensor to which a new palette entry is connected.
struct FedTensor {
    EntryPort port;
    TensorType type;
};

std::optional<FedTensor> fedBy(const QString& op, const Analysis& analysis,
                               const std::optional<Splice>& splice, const std::optional<LooseWire>& held) {
    const bool isHeld = !splice && held && held->heldBy == PortSide::output;
    if (!splice && !isHeld) return std::nullopt;
    const std::optional<EntryPort> into = splice ? splice->input : inputOfEntry(op, typesOf(analysis, *held));
    const std::optional<TensorType>& type = analysis.typeOf(splice ? splice->wire.from : held->port);
    return into && type && type->isKnown() ? std::optional(FedTensor{*into, *type}) : std::nullopt;
}

/// The bounds of the entry's cards and frames if it is added at the origin of `lane`. Throws Error(badGraph)
/// for an unknown entry.
QRectF measure(const QString& entry, const Document& document, const Lane& lane,
               const std::optional<FedTensor>& fed) {
    Graph alone;
    DeltaBuilder builder(alone, "measure");
    Lane open = lane;
    open.collapsed = false;
    const LaneId there = builder.addLane(open);
    alone.apply(builder.take());
    std::vector<NodeId> added;
    Delta delta = addOp(alone, {entry, there, {}}, &added);
    for (auto& change : delta.nodes) // names in use get a number, which makes a card wider
        if (change.after) change.after->name = document.graph().uniqueName(change.after->name);
    alone.apply(std::move(delta));
    if (fed) {
        DeltaBuilder feeding(alone, "feed");
        Node source;
        source.op = "Input";
        source.name = "source";
        source.lane = there;
        source.attributes = {
            {"shape", std::vector<std::int64_t>(fed->type.shape.begin(), fed->type.shape.end())},
            {"dtype", std::string(name(fed->type.dtype))}};
        const NodeId from = feeding.addNode(std::move(source));
        feeding.connect({{from, 0}, {added[fed->port.node], fed->port.port}});
        alone.apply(feeding.take());
    }
    const Analysis analysis = analyze(alone, document.devices(), alone.info().policy, nullptr);
    Scene scene;
    scene.rebuild({alone, analysis, document.devices()});
    QRectF outline = scene.boundsOf(added, {});
    for (const FrameShape& frame : scene.frames().shapes()) outline |= frame.rect;
    return outline;
}

} // namespace

EntryPlace placeFor(const QString& op, QPointF at, const Document& document, const Scene& scene, Grip grip,
                    const std::optional<LooseWire>& held) {
    constexpr int kMostSteps = 400;
    const LaneBand* band = scene.lanes().at(at.y());
    if (!band) return {LaneId::none, {}, {at - QPointF(60, 37), QSizeF(card::minWidth, card::height)}, {}};
    EntryPlace place;
    place.lane = band->id;
    if (grip == Grip::middle && !held)
        if (const auto wire = wireNear(scene, at, kSpliceRange, NodeId::none))
            place.splice = spliceOf(document.analysis(), *wire, op);
    QRectF outline(0, 0, card::minWidth, card::height);
    try {
        outline = measure(op, document, *document.graph().find(band->id),
                          fedBy(op, document.analysis(), place.splice, held));
    } catch (const Error&) { // an unknown entry: adding it reports the error
    }
    const double across = grip == Grip::left    ? outline.left()
                          : grip == Grip::right ? outline.right()
                                                : outline.center().x();
    place.position = {onGrid(at.x() - across), onGrid(at.y() - band->top - outline.center().y())};
    // A card inserted into a wire stays between the wire's ends.
    const Position step{place.splice ? 0 : kGrid, kGrid};
    const bool isCard = outline.left() == 0; // a module's frame begins further left
    for (int steps = 0; steps < kMostSteps; ++steps) {
        place.outline = outline.translated(place.position.x, band->top + place.position.y);
        const auto column = scene.columns().at(place.lane, place.position.x);
        if (isCard && !column.empty())
            place.outline.setWidth(std::max(outline.width(), scene.nodes()[column[0]].rect.width()));
        // The cards below and above it may become as wide as it.
        const auto mayWiden = [&](std::uint32_t slot) {
            const QRectF& rect = scene.nodes()[slot].rect;
            const double more = place.outline.width() - rect.width();
            return more <= 0 ||
                   scene.isFree(QRectF(rect.right() + 1, rect.top(), more + kClear, rect.height()));
        };
        const bool isColumnFree =
            place.splice || !isCard || std::all_of(column.begin(), column.end(), mayWiden);
        if (isColumnFree && scene.isFree(place.outline.adjusted(-kClear, -kClear, kClear, kClear))) break;
        place.position = {place.position.x + step.x, place.position.y + step.y};
    }
    return place;
}

LaneId laneAt(const Scene& scene, QPointF at) {
    const LaneBand* band = scene.lanes().at(at.y());
    return band ? band->id : LaneId::none;
}

Position positionAt(const Scene& scene, QPointF at) {
    const LaneBand* band = scene.lanes().at(at.y());
    return {onGrid(at.x() - card::minWidth / 2), onGrid(at.y() - (band ? band->top : 0) - card::height / 2)};
}

FrameId frameAt(const Scene& scene, LaneId lane, Position position) {
    const LaneBand* band = scene.lanes().find(lane);
    if (!band) return FrameId::none;
    return scene.frames().around(
        {position.x + card::minWidth / 2, band->top + position.y + card::height / 2});
}

} // namespace twb
