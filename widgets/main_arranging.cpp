#include "graph/folding.h"
#include "widgets/main_window.h"
#include "widgets/select_more.h"

#include <QMenu>

namespace twb {

void MainWindow::fillSelectMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& shortcut, const QString& why, auto select) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut), [this, select] {
            m_document.select(select(m_document.graph(), m_document.selection()));
        });
        action->setToolTip(why);
        m_needSelection.push_back(action);
    };
    const auto reaching = [](Reach way) {
        return [way](const Graph& graph, const Selection& what) { return withReach(graph, what, way); };
    };
    add(tr("&Upstream"), tr("Ctrl+U"), tr("Adds all nodes upstream of the selection."),
        reaching(Reach::upstream));
    add(tr("&Downstream"), tr("Ctrl+J"), tr("Adds all nodes downstream of the selection."),
        reaching(Reach::downstream));
    add(tr("&Connected"), tr("Ctrl+L"), tr("Adds all nodes that are connected to the selection."),
        reaching(Reach::connected));
    add(tr("Same &op"), tr("Ctrl+K"), tr("Selects all nodes with the same op."), withSameOp);
    add(tr("All on &lane"), tr("Ctrl+Shift+A"), tr("Selects all nodes on the same lanes."), withLanes);
}

/// The sizes as drawn; a folded parameter is part of its card.
std::vector<AlignedCard> MainWindow::selectedCards() const {
    std::set<NodeId> nodes;
    for (const NodeId id : m_document.selection().nodes) nodes.insert(cardOf(m_document.graph(), id));
    std::vector<AlignedCard> cards;
    for (const NodeId id : nodes)
        if (const NodeShape* shape = m_canvas->scene().node(id))
            cards.push_back({id, shape->rect.width(), shape->rect.height()});
    return cards;
}

void MainWindow::fillAlignMenu(QMenu& menu) {
    menu.setToolTipsVisible(true);
    const auto add = [&](const QString& text, const QString& shortcut, const QString& why, auto arrange) {
        QAction* action = addAction(menu, text, QKeySequence(shortcut),
                                    [this, arrange] { edit(arrange(m_document.graph(), selectedCards())); });
        action->setToolTip(why);
        m_needSelection.push_back(action);
    };
    const auto aligned = [](Alignment how) {
        return [how](const Graph& graph, const auto& cards) { return align(graph, cards, how); };
    };
    const auto spread = [](Direction direction) {
        return [direction](const Graph& graph, const auto& cards) {
            return distribute(graph, cards, direction);
        };
    };
    const QString lanes = tr("Aligns nodes lane by lane. Nodes stay on their lanes.");
    add(tr("&Left"), tr("Ctrl+Shift+L"), tr("Aligns left edges with the leftmost node."),
        aligned(Alignment::left));
    add(tr("&Centre"), tr("Ctrl+Shift+C"), tr("Aligns centres on a vertical line."),
        aligned(Alignment::centre));
    add(tr("&Right"), tr("Ctrl+Shift+R"), tr("Aligns right edges with the rightmost node."),
        aligned(Alignment::right));
    add(tr("&Top"), tr("Ctrl+Shift+T"), lanes, aligned(Alignment::top));
    add(tr("&Middle"), tr("Ctrl+Shift+M"), lanes, aligned(Alignment::middle));
    menu.addSeparator();
    add(tr("Distribute &horizontally"), tr("Ctrl+Shift+H"),
        tr("Makes the gaps equal. Select at least three nodes."), spread(Direction::horizontal));
    add(tr("Distribute &vertically"), tr("Ctrl+Shift+V"), lanes, spread(Direction::vertical));
}

} // namespace twb
