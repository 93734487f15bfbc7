#include "ops/op_table.h"
#include "widgets/add_op.h"
#include "widgets/graph_edits.h"
#include "widgets/main_window.h"
#include "widgets/palette/op_search.h"
#include "widgets/palette/op_usage.h"
#include "widgets/text.h"

namespace twb {

bool MainWindow::hasLaneFor(const QString& op, LaneId lane) {
    if (lane != LaneId::none) return true;
    m_status->say(tr("No lane for %1. Add one with Graph ▸ Add lane.").arg(op), Severity::warning);
    return false;
}

/// Applies the result of `make` and shows the added nodes.
void MainWindow::add(const std::function<Delta(std::vector<NodeId>*)>& make) {
    attempt(tr("Cannot add the op"), [&] {
        std::vector<NodeId> added;
        Delta delta = make(&added);
        openLanesOf(m_document.graph(), delta);
        edit(std::move(delta), added);
        if (!added.empty()) m_canvas->reveal(added.front());
    });
}

void MainWindow::addOpAt(const QString& op, LaneId lane, Position position,
                         const std::optional<Splice>& splice) {
    if (!hasLaneFor(op, lane)) return;
    const NewOp what{op, lane, position, m_canvas->frameAt(lane, position)};
    add([&](std::vector<NodeId>* added) {
        return splice ? addOpInto(m_document.graph(), what, *splice, added)
                      : addOp(m_document.graph(), what, added);
    });
}

void MainWindow::addOpInView(const QString& op) {
    const CanvasWidget::NewPlace place = m_canvas->placeFor(op, m_canvas->rect().center());
    addOpAt(op, place.lane, place.position);
    m_canvas->setFocus();
}

void MainWindow::searchOp(QPoint at, std::optional<LooseWire> wire) {
    m_wanted = {at, wire};
    OpSearch::Wanted wanted;
    if (wire) {
        const Node* holder = m_document.graph().find(wire->port.node);
        const NodeFacts* facts = m_document.analysis().find(wire->port.node);
        if (!holder) return;
        if (wire->heldBy == PortSide::output) {
            const auto& type = m_document.analysis().typeOf(wire->port);
            wanted.heading =
                type ? tr("Ops that accept %1 from %2").arg(toQt(name(type->dtype)), toQt(holder->name))
                     : tr("Ops that accept a tensor from %1").arg(toQt(holder->name));
        } else {
            const QString port =
                facts && facts->op ? toQt(facts->op->inputAt(wire->port.port).name) : QString();
            wanted.heading = tr("Ops with an output for %1 of %2").arg(port, toQt(holder->name));
        }
        const std::optional<TensorType> type =
            wire->heldBy == PortSide::output ? m_document.analysis().typeOf(wire->port) : std::nullopt;
        wanted.usage = [type, side = wire->heldBy, recent = recentOps()](const QString& op) {
            return recency(op, recent) +
                   (side == PortSide::output ? readerUsage(op, type) : producerUsage(op));
        };
        wanted.accepted = [this, held = *wire](const QString& op) {
            return fits(op, m_document.analysis(), held);
        };
    }
    m_search->open(m_canvas->mapToGlobal(at), std::move(wanted));
}

void MainWindow::addFound(const QString& op) {
    rememberOp(op);
    using Grip = CanvasWidget::Grip;
    const auto [at, wire] = m_wanted;
    // The card starts where the wire was released.
    const Grip grip = !wire ? Grip::middle : wire->heldBy == PortSide::output ? Grip::left : Grip::right;
    const CanvasWidget::NewPlace place = m_canvas->placeFor(op, at, grip, wire);
    if (!hasLaneFor(op, place.lane)) return;
    if (!wire) return addOpAt(op, place.lane, place.position);
    const NewOp what{op, place.lane, place.position, m_canvas->frameAt(place.lane, place.position)};
    add([&, held = *wire](std::vector<NodeId>* added) {
        return addOpTo(m_document.graph(), what, m_document.analysis(), held, added);
    });
}

} // namespace twb
