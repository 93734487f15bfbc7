#include "widgets/canvas/ghost_shapes.h"

#include "graph/card_size.h"
#include "widgets/canvas/caption.h"
#include "widgets/canvas/scene.h"
#include "widgets/text.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <utility>

namespace twb {
namespace {

/// Where the pill between two cards stands: on the border of a lane, beside the centre as far as necessary to
/// avoid cards and other pills with their prices; preferably with room for its price, and without a backward
/// wire.
QRectF placeBetween(const Scene& scene, const NodeShape& from, const NodeShape& to, double width,
                    const std::vector<QRectF>& taken) {
    const LaneBand* band = scene.lanes().find(to.lane);
    const bool fromAbove = from.rect.center().y() < to.rect.center().y();
    const double border = band ? (fromAbove ? band->top : band->bottom()) : to.rect.top();
    const double ahead = to.rect.left() - from.rect.right();
    const double x = ahead > 0 ? from.rect.right() + ahead / 2 : from.rect.right() + 60;
    const auto isOpen = [&](const QRectF& room) {
        return scene.isFree(room) && std::none_of(taken.begin(), taken.end(), [&](const QRectF& other) {
                   return other.intersects(room);
               });
    };
    QRectF place(x - width / 2, border - card::pillHeight / 2, width, card::pillHeight);
    int best = -1;
    for (int step = 0; step < 24 && best < 3; ++step) {
        const int turn = (step % 2 ? 1 : -1) * ((step + 1) / 2); // 0, 1, -1, 2, …
        const double shift = turn * 32.0;
        const QRectF spot(x - width / 2 + shift, border - card::pillHeight / 2, width, card::pillHeight);
        if (!isOpen(spot.adjusted(-8, -4, 8, 4))) continue;
        const bool runsForward = spot.left() > from.rect.right() && spot.right() < to.rect.left();
        const bool hasRoom =
            isOpen(spot.adjusted(-24, -4, 24, kLabelRoom)) || isOpen(spot.adjusted(-24, -kLabelRoom, 24, 4));
        const int merit = (runsForward ? 2 : 0) + (hasRoom ? 1 : 0);
        if (merit <= best) continue;
        best = merit;
        place = spot;
    }
    return place;
}

} // namespace

std::int32_t GhostShapes::on(PortRef input) const noexcept {
    const auto found = m_indexOf.find(input);
    return found == m_indexOf.end() ? -1 : found->second;
}

std::vector<PortRef> GhostShapes::read(const Scene& scene, const Analysis& analysis) {
    std::vector<PortRef> affected;
    for (const auto& [input, ghost] : std::exchange(m_indexOf, {})) affected.push_back(input);
    m_ghosts.clear();
    std::vector<QRectF> taken;
    for (const ImplicitCopy& copy : analysis.implicitCopies) {
        const NodeShape* from = scene.nodes().drawn(copy.from.node);
        // A row has no wire; it shows by itself that it is on another device.
        if (!from || from->kind == NodeShape::Kind::row || from->isHidden || copy.edges.empty()) continue;
        const NodeShape* first = nullptr;
        for (const Edge& edge : copy.edges) {
            const NodeShape* to = scene.nodes().drawn(edge.to.node);
            if (to && to != from && !to->isHidden && (!first || to->rect.left() < first->rect.left()))
                first = to;
        }
        if (!first) continue;
        GhostShape ghost;
        ghost.from = copy.from;
        ghost.target = copy.target;
        ghost.price = copy.price;
        ghost.hoisted = copy.hoisted;
        ghost.title = QCoreApplication::translate("Canvas", "copy to %1").arg(toQt(copy.target.toString()));
        const double width =
            std::ceil((roughWidth(ghost.title.toStdString(), TextRole::strong) + 28) / 8) * 8;
        ghost.rect = placeBetween(scene, *from, *first, width, taken);
        taken.push_back(ghost.rect.adjusted(-24, -6, 24, kLabelRoom));
        for (const Edge& edge : copy.edges) {
            m_indexOf[edge.to] = static_cast<std::int32_t>(m_ghosts.size());
            affected.push_back(edge.to);
        }
        m_ghosts.push_back(std::move(ghost));
    }
    return affected;
}

} // namespace twb
