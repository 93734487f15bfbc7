#include "widgets/actions/edit_actions.h"

#include "graph/folding.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/canvas/canvas_widget.h"
#include "widgets/canvas/entry_place.h"
#include "widgets/canvas/gestures/connect_gesture.h"
#include "widgets/edit_title.h"
#include "widgets/graph_edits.h"
#include "widgets/module_edits.h"
#include "widgets/select_more.h"
#include "widgets/settings_dialog.h"
#include "widgets/text.h"
#include "widgets/wire_edits.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QInputDialog>
#include <QUndoStack>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace twb {
namespace {

/// The name of a port; "inputs 3" for the third input of a variadic op. `ports` is empty for an unknown op,
/// whose ports have only numbers.
QString portText(const std::vector<PortSpec>& ports, std::int32_t port) {
    const auto last = std::int32_t(ports.size()) - 1;
    if (last < 0 || (port > last && !ports.back().variadic)) return QString::number(port);
    const QString name = toQt(ports[std::size_t(std::min(port, last))].name);
    if (port < last || !ports.back().variadic) return name;
    return QStringLiteral("%1 %2").arg(name, QString::number(port - last + 1));
}

} // namespace

EditActions::EditActions(Document& document, CanvasWidget& canvas, GraphEditor& editor)
    : m_document(document), m_canvas(canvas), m_editor(editor) {}

/// Their texts name the change.
void EditActions::fillHistory(QMenu& menu) {
    QUndoStack& changes = m_document.undoStack();
    QAction* undo = addAction(menu, tr("Undo"), QKeySequence::Undo, [&changes] { changes.undo(); });
    const QKeySequence redoKeys(QStringLiteral("Ctrl+Shift+Z"));
    QAction* redo = addAction(menu, tr("Redo"), redoKeys, [&changes] { changes.redo(); });
    makeEditable(*redo, redoKeys, QKeySequence(QStringLiteral("Ctrl+Y")));
    const auto show = [](QAction& action, const QString& verb, QString change, bool isPossible) {
        change.replace(QLatin1Char('&'), QLatin1String("&&"));
        action.setText(change.isEmpty() ? verb : QStringLiteral("%1 %2").arg(verb, change));
        action.setEnabled(isPossible);
    };
    const auto refresh = [=, &changes] {
        show(*undo, tr("Undo"), changes.undoText(), changes.canUndo());
        show(*redo, tr("Redo"), changes.redoText(), changes.canRedo());
    };
    QObject::connect(&changes, &QUndoStack::indexChanged, undo, refresh);
    refresh();
}

void EditActions::fill(QMenu& menu) {
    const auto add = [&](const QString& text, const QKeySequence& keys, Parts parts,
                         const std::function<void()>& act) {
        return needSelection(addAction(menu, text, keys, act), m_document, parts);
    };
    const Parts copied = Part::nodes | Part::notes;
    const auto remove = [this] {
        m_editor.edit(removeSelection(m_document.graph(), m_document.selection()));
    };
    const auto duplicates = [this](auto make) {
        return [this, make] { addCopies(make(m_document.graph(), m_document.selection())); };
    };
    m_cut = add(tr("Cu&t"), QKeySequence::Cut, copied, [this, remove] {
        copySelection();
        remove();
    });
    m_copy = add(tr("&Copy"), QKeySequence::Copy, copied, [this] { copySelection(); });
    m_paste = addAction(menu, tr("&Paste"), QKeySequence::Paste, [this] { pasteClipboard(); });
    m_duplicate =
        add(tr("&Duplicate"), QKeySequence(QStringLiteral("Ctrl+D")), copied, duplicates(twb::duplicate));
    add(tr("Duplicate with &inputs"), QKeySequence(QStringLiteral("Ctrl+Shift+D")), copied,
        duplicates(duplicateWithInputs));
    add(tr("Connect to an &input…"), QKeySequence(QStringLiteral("Ctrl+E")), Part::nodes,
        [this] { connectByName(); });
    add(tr("Disc&onnect"), QKeySequence(QStringLiteral("Ctrl+Shift+X")), Part::nodes | Part::wire,
        [this] { m_editor.edit(detach(m_document.graph(), m_document.selection())); });
    m_remove = add(tr("De&lete"), QKeySequence::Delete, copied | Part::wire | Part::dots, remove);
    m_removeThrough = add(tr("Delete and reco&nnect"), QKeySequence(QStringLiteral("Ctrl+Del")),
                          Part::nodes | Part::dots, [this] {
                              m_editor.edit(twb::removeThrough(m_document.graph(), m_document.analysis(),
                                                               m_document.selection()));
                          });
    menu.addSeparator();
    m_selectAll = addAction(menu, tr("Select &all"), QKeySequence::SelectAll,
                            [this] { m_canvas.commands().selectAll(); });
    fillSelectMenu(*menu.addMenu(tr("Select mo&re")));
    m_align = menu.addMenu(tr("Ali&gn"));
    fillAlignMenu(*m_align);
}

/// Asks for the input that takes the selected node's output: free inputs first, then the nearest.
void EditActions::connectByName() {
    const Selection& selection = m_document.selection();
    const NodeId from = selection.nodes.size() == 1 ? *selection.nodes.begin() : NodeId::none;
    const NodeFacts* facts = m_document.analysis().find(from);
    if (!facts) return m_editor.say(tr("Select one node to connect its output."));
    const Graph& graph = m_document.graph();
    struct Choice {
        Edge edge;
        bool isTaken = false;
        double distance = 0;
    };
    std::vector<Choice> choices;
    const QPointF start = m_canvas.scene().modules().portAt({from, 0}, PortSide::output);
    for (std::int32_t port = 0; port < std::int32_t(facts->outputs.size()); ++port)
        for (const PortRef target : portsFor(m_document, m_canvas.scene(), PortSide::output, {from, port})) {
            const std::optional<PortRef> source = graph.sourceOf(target);
            if (source == PortRef{from, port}) continue; // already connected
            const QPointF way = m_canvas.scene().modules().portAt(target, PortSide::input) - start;
            choices.push_back({{{from, port}, target}, source.has_value(), way.manhattanLength()});
        }
    const QString name = toQt(graph.find(from)->name);
    if (choices.empty()) return m_editor.say(tr("No other input accepts the output of %1.").arg(name));
    std::ranges::sort(choices, [](const Choice& a, const Choice& b) {
        return std::tie(a.isTaken, a.distance, a.edge) < std::tie(b.isTaken, b.distance, b.edge);
    });
    static const std::vector<PortSpec> unknown;
    QStringList words;
    for (const Choice& choice : choices) {
        const auto& [source, target] = choice.edge;
        const NodeFacts* taker = m_document.analysis().find(target.node);
        const QString input = portText(taker && taker->op ? taker->op->inputs : unknown, target.port);
        QString text = QStringLiteral("%1 · %2").arg(toQt(graph.find(target.node)->name), input);
        if (facts->outputs.size() > 1)
            text += QStringLiteral(" ← ") + portText(facts->op ? facts->op->outputs : unknown, source.port);
        words << (choice.isTaken ? tr("%1 (replaces its wire)").arg(text) : text);
    }
    QInputDialog dialog(&m_canvas);
    dialog.setWindowTitle(tr("Connect to an input"));
    dialog.setLabelText(tr("Input for the output of %1").arg(name));
    dialog.setComboBoxItems(words);
    if (dialog.exec() != QDialog::Accepted) return;
    // By index, because two nodes may have one name.
    const int chosen = dialog.findChild<QComboBox*>()->currentIndex();
    const Edge& edge = choices[std::size_t(chosen)].edge;
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Connect %1 to %2"), graph.find(from)->name,
                                          graph.find(edge.to.node)->name));
    builder.connect(edge);
    m_editor.edit(builder.take());
}

void EditActions::fillSelectMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& shortcut, const QString& why, Parts parts,
                         auto select) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [this, select] {
            m_document.select(select(m_document.graph(), m_document.selection()));
        });
        action->setToolTip(why);
        needSelection(action, m_document, parts);
    };
    const Parts starts = Part::nodes | Part::wire;
    const auto reaching = [](Reach way) {
        return [way](const Graph& graph, const Selection& what) { return withReach(graph, what, way); };
    };
    add(tr("&Upstream"), QStringLiteral("Ctrl+U"), tr("Adds all nodes upstream of the selection."), starts,
        reaching(Reach::upstream));
    add(tr("&Downstream"), QStringLiteral("Ctrl+J"), tr("Adds all nodes downstream of the selection."),
        starts, reaching(Reach::downstream));
    add(tr("&Connected"), QStringLiteral("Ctrl+L"), tr("Adds all nodes that are connected to the selection."),
        starts, reaching(Reach::connected));
    add(tr("Same &op"), QStringLiteral("Ctrl+K"), tr("Selects all nodes with the same op."), Part::nodes,
        withSameOp);
    add(tr("All on &lane"), QStringLiteral("Ctrl+Shift+A"), tr("Selects all nodes on the same lanes."),
        Part::nodes | Part::notes, withLanes);
}

/// The sizes as drawn; a folded parameter is part of its card.
std::vector<AlignedCard> EditActions::selectedCards() const {
    std::set<NodeId> nodes;
    for (const NodeId id : m_document.selection().nodes) nodes.insert(cardOf(m_document.graph(), id));
    std::vector<AlignedCard> cards;
    for (const NodeId id : nodes)
        if (const NodeShape* shape = m_canvas.scene().nodes().find(id))
            cards.push_back({id, shape->rect.width(), shape->rect.height()});
    return cards;
}

void EditActions::fillAlignMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& shortcut, const QString& why, auto arrange) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [this, arrange] {
            m_editor.edit(arrange(m_document.graph(), selectedCards()));
        });
        action->setToolTip(why);
        needSelection(action, m_document, Part::nodes);
    };
    const auto aligned = [](Alignment how) {
        return [how](const Graph& graph, const auto& cards) { return twb::align(graph, cards, how); };
    };
    const auto spread = [](Direction direction) {
        return [direction](const Graph& graph, const auto& cards) {
            return distribute(graph, cards, direction);
        };
    };
    const QString lanes = tr("Aligns nodes lane by lane. Nodes stay on their lanes.");
    add(tr("&Left"), QStringLiteral("Ctrl+Shift+L"), tr("Aligns left edges with the leftmost node."),
        aligned(Alignment::left));
    add(tr("&Centre"), QStringLiteral("Ctrl+Shift+C"), tr("Aligns centres on a vertical line."),
        aligned(Alignment::centre));
    add(tr("&Right"), QStringLiteral("Ctrl+Shift+R"), tr("Aligns right edges with the rightmost node."),
        aligned(Alignment::right));
    add(tr("&Top"), QStringLiteral("Ctrl+Shift+T"), lanes, aligned(Alignment::top));
    add(tr("&Middle"), QStringLiteral("Ctrl+Shift+M"), lanes, aligned(Alignment::middle));
    menu.addSeparator();
    add(tr("Distribute &horizontally"), QStringLiteral("Ctrl+Shift+H"),
        tr("Makes the gaps equal. Select at least three nodes."), spread(Direction::horizontal));
    add(tr("Distribute &vertically"), QStringLiteral("Ctrl+Shift+V"), lanes, spread(Direction::vertical));
}

void EditActions::copySelection() {
    const Selection& selection = m_document.selection();
    if (selection.nodes.empty() && selection.notes.empty()) return;
    QApplication::clipboard()->setText(copyText(m_document.graph(), selection));
}

void EditActions::pasteClipboard() {
    m_editor.attempt(tr("The clipboard holds no nodes"), [this] {
        addCopies(pasteText(m_document.graph(), QApplication::clipboard()->text(),
                            laneAt(m_canvas.scene(), m_canvas.middle())));
    });
}

/// Applies `delta`, selects what it adds, and scrolls there if nothing of it is in view.
void EditActions::addCopies(Delta delta) {
    const FrameId inside = m_canvas.navigator().inside();
    putIn(inside, delta);
    openLanesOf(m_document.graph(), delta);
    Selection added = addedBy(delta);
    if (inside != FrameId::none) added.notes.clear(); // the open module does not show them
    m_editor.edit(std::move(delta), added);
    const QRectF place = m_canvas.scene().boundsOf({added.nodes.begin(), added.nodes.end()},
                                                   {added.notes.begin(), added.notes.end()});
    if (!place.isEmpty() && !m_canvas.view().freeViewport().intersects(place))
        m_canvas.navigator().centerOn(place.center());
}

} // namespace twb
