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
    add(tr("&Upstream"), tr("Ctrl+U"), tr("Adds all that the selected nodes are made from"),
        reaching(Reach::upstream));
    add(tr("&Downstream"), tr("Ctrl+J"), tr("Adds all that is made from the selected nodes"),
        reaching(Reach::downstream));
    add(tr("&Connected"), tr("Ctrl+L"), tr("Adds all that wires lead to"), reaching(Reach::connected));
    add(tr("Same &op"), tr("Ctrl+K"), tr("Every node of the selected ops"), withSameOp);
    add(tr("All on &lane"), tr("Ctrl+Shift+A"), tr("Every node on the lanes of the selected ones"),
        withLanes);
}

/// As large as they are drawn; a folded parameter is a part of its card.
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
    const QString lanes = tr("Lane by lane: nodes stay on theirs");
    add(tr("&Left"), tr("Ctrl+Shift+L"), tr("Left edges in line with the leftmost"),
        aligned(Alignment::left));
    add(tr("&Centre"), tr("Ctrl+Shift+C"), tr("Middles on one vertical line"), aligned(Alignment::centre));
    add(tr("&Right"), tr("Ctrl+Shift+R"), tr("Right edges in line with the rightmost"),
        aligned(Alignment::right));
    add(tr("&Top"), tr("Ctrl+Shift+T"), lanes, aligned(Alignment::top));
    add(tr("&Middle"), tr("Ctrl+Shift+M"), lanes, aligned(Alignment::middle));
    menu.addSeparator();
    add(tr("Distribute &horizontally"), tr("Ctrl+Shift+H"), tr("Equal gaps; takes three nodes or more"),
        spread(Direction::horizontal));
    add(tr("Distribute &vertically"), tr("Ctrl+Shift+V"), lanes, spread(Direction::vertical));
}

} // namespace twb
