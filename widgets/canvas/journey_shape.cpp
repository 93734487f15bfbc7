#include "widgets/canvas/journey_shape.h"

#include "placement/journey.h"
#include "widgets/text.h"

#include <QCoreApplication>

#include <algorithm>

namespace twb {
namespace {

/// For translators.
struct JourneyWords {
    Q_DECLARE_TR_FUNCTIONS(Journey)
};

using Mark = JourneyShape::Mark;

/// The position of a copy; nothing if it is hidden in a collapsed module.
std::optional<QPointF> placeOfCopy(const Scene& scene, const Residence& copy) {
    if (!copy.isImplicit) {
        const NodeShape* shape = scene.nodes().drawn(copy.tensor.node);
        return shape ? std::optional(QPointF(shape->rect.center().x(), shape->rect.top())) : std::nullopt;
    }
    for (const GhostShape& ghost : scene.ghosts().shapes())
        if (ghost.from == copy.tensor && ghost.target == copy.device)
            return QPointF(ghost.rect.center().x(), ghost.rect.top());
    return std::nullopt;
}

/// The input of the last consumer.
std::optional<PortRef> lastInput(const Graph& graph, const Residence& place) {
    for (const Edge& edge : graph.outgoing(place.tensor.node))
        if (edge.from == place.tensor && edge.to.node == place.dies()) return edge.to;
    return std::nullopt;
}

} // namespace

JourneyShape journeyShape(const Scene& scene, const Graph& graph, const Analysis& analysis,
                          const Edge& wire) {
    JourneyShape out;
    const std::vector<Residence> journey = journeyOf(graph, analysis, wire.from);
    int copies = 0;
    for (std::size_t i = 0; i < journey.size(); ++i) {
        const Residence& place = journey[i];
        const QString device = toQt(place.device.toString());
        for (const Edge& edge : graph.outgoing(place.tensor.node))
            if (edge.from == place.tensor) out.wires.insert(edge);
        if (i == 0) {
            if (scene.nodes().drawn(place.tensor.node))
                out.marks.push_back({Mark::Kind::created,
                                     scene.modules().portAt(place.tensor, PortSide::output), place.device,
                                     JourneyWords::tr("created on %1").arg(device)});
        } else if (const auto at = placeOfCopy(scene, place)) {
            out.marks.push_back({Mark::Kind::copied, *at, place.device,
                                 JourneyWords::tr("copy %1, on %2").arg(++copies).arg(device)});
        }
        const auto last = lastInput(graph, place);
        if (last && scene.nodes().drawn(last->node))
            out.marks.push_back({Mark::Kind::dies, scene.modules().portAt(*last, PortSide::input),
                                 place.device, JourneyWords::tr("last read on %1").arg(device)});
    }
    return out;
}

} // namespace twb
