#include "widgets/actions/add_actions.h"

#include "ops/op_table.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/palette/op_search.h"
#include "widgets/palette/op_usage.h"
#include "widgets/text.h"

#include <QInputDialog>

namespace twb {

AddActions::AddActions(Document& document, CanvasWidget& canvas, GraphEditor& editor, QWidget& window)
    : m_document(document), m_canvas(canvas), m_editor(editor), m_window(window),
      m_search(new OpSearch(&window)) {
    connect(&m_canvas, &CanvasWidget::opDropped, this, &AddActions::addOpAt);
    connect(&m_canvas, &CanvasWidget::opWanted, this, &AddActions::searchOp);
    connect(&m_canvas, &CanvasWidget::noteActivated, this, &AddActions::editNote);
    connect(m_search, &OpSearch::chosen, this, &AddActions::addFound);
    connect(m_search, &OpSearch::closed, &m_canvas, &CanvasWidget::dropHeldWire);
}

void AddActions::fillOp(QMenu& menu) {
    m_addOp = addAction(menu, tr("Add an o&p…"), QKeySequence(QStringLiteral("Ins")),
                        [this] { m_canvas.commands().requestOp(); });
    m_addOp->setToolTip(tr("Searches for an op and puts it under the pointer. On the canvas, Shift+A and a "
                           "double click do the same."));
}

void AddActions::fillNote(QMenu& menu) {
    m_addNote = addAction(menu, tr("Add &note…"), QKeySequence(QStringLiteral("Ctrl+Alt+N")),
                          [this] { addNoteInView(); });
}

void AddActions::reload() { m_search->reload(); }

bool AddActions::hasLaneFor(const QString& op, LaneId lane) {
    if (lane != LaneId::none) return true;
    m_editor.say(tr("No lane for %1. Add one with Graph ▸ Add lane.").arg(op), Severity::warning);
    return false;
}

/// Applies the result of `make` and shows the added nodes.
void AddActions::add(const std::function<Delta(std::vector<NodeId>*)>& make) {
    m_editor.attempt(tr("Cannot add the op"), [&] {
        std::vector<NodeId> added;
        Delta delta = make(&added);
        openLanesOf(m_document.graph(), delta);
        m_editor.edit(std::move(delta), {{added.begin(), added.end()}, {}, std::nullopt});
        if (!added.empty()) m_canvas.navigator().reveal(added.front());
    });
}

void AddActions::addOpAt(const QString& op, LaneId lane, Position position,
                         const std::optional<Splice>& splice) {
    if (!hasLaneFor(op, lane)) return;
    const NewOp what{op, lane, position, frameAt(m_canvas.scene(), lane, position)};
    add([&](std::vector<NodeId>* added) {
        return splice ? addOpInto(m_document.graph(), what, *splice, added)
                      : twb::addOp(m_document.graph(), what, added);
    });
}

void AddActions::addOpInView(const QString& op) {
    const EntryPlace place = placeFor(op, m_canvas.middle(), m_document, m_canvas.scene());
    addOpAt(op, place.lane, place.position);
    m_canvas.setFocus();
}

void AddActions::searchOp(QPoint at, std::optional<LooseWire> wire) {
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
    m_search->open(m_canvas.mapToGlobal(at), std::move(wanted));
}

void AddActions::addFound(const QString& op) {
    rememberOp(op);
    const auto [at, wire] = m_wanted;
    // The card starts where the wire was released.
    const Grip grip = !wire ? Grip::middle : wire->heldBy == PortSide::output ? Grip::left : Grip::right;
    const EntryPlace place =
        placeFor(op, m_canvas.view().toScene(at), m_document, m_canvas.scene(), grip, wire);
    if (!hasLaneFor(op, place.lane)) return;
    if (!wire) return addOpAt(op, place.lane, place.position);
    const NewOp what{op, place.lane, place.position, frameAt(m_canvas.scene(), place.lane, place.position)};
    add([&, held = *wire](std::vector<NodeId>* added) {
        return addOpTo(m_document.graph(), what, m_document.analysis(), held, added);
    });
}

void AddActions::addNoteInView() {
    const LaneId lane = laneAt(m_canvas.scene(), m_canvas.middle());
    if (lane == LaneId::none) return;
    if (m_canvas.navigator().inside() != FrameId::none) {
        m_editor.say(tr("A module cannot contain notes. Leave the module to add one."), Severity::warning);
        return;
    }
    bool ok = false;
    const QString text =
        QInputDialog::getMultiLineText(&m_window, tr("Add note"), tr("Text of the note"), {}, &ok);
    if (!ok || text.trimmed().isEmpty()) return;
    Delta delta = twb::addNote(m_document.graph(), lane, positionAt(m_canvas.scene(), m_canvas.middle()),
                               text.trimmed());
    openLanesOf(m_document.graph(), delta);
    Selection added = addedBy(delta);
    m_editor.edit(std::move(delta), std::move(added));
}

void AddActions::editNote(NoteId id) {
    const Note* note = m_document.graph().find(id);
    if (!note) return;
    bool ok = false;
    const QString text = QInputDialog::getMultiLineText(&m_window, tr("Edit note"), tr("Text of the note"),
                                                        toQt(note->text), &ok);
    note = m_document.graph().find(id);
    if (!ok || !note) return;
    Note changed = *note;
    changed.text = text.trimmed().toStdString();
    DeltaBuilder builder(m_document.graph(), editTitle(EditTitle::tr("Edit note")));
    if (changed.text.empty())
        builder.removeNote(id);
    else
        builder.change(changed);
    m_editor.edit(builder.take());
}

} // namespace twb
