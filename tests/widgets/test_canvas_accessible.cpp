#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/canvas_fixture.h"

#include <QAccessible>

using namespace twb;
using namespace twb::test;

namespace {

/// x on the CPU is multiplied on cuda:0, which is a mismatch.
struct Mismatched {
    GraphMaker maker;
    NodeId x = maker.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{2, 3}}});
    NodeId w = maker.node("Ones", "w", "cuda:0", {{"shape", std::vector<std::int64_t>{3, 4}}});
    NodeId y = maker.node("MatMul", "y", "cuda:0", {}, {x, w});
};

} // namespace

class TestCanvasAccessible : public QObject {
    Q_OBJECT

    static QAccessibleInterface* child(const CanvasWidget& canvas, const QString& name) {
        QAccessibleInterface* all = QAccessible::queryAccessibleInterface(const_cast<CanvasWidget*>(&canvas));
        for (int i = 0; i < all->childCount(); ++i)
            if (all->child(i)->text(QAccessible::Name).startsWith(name)) return all->child(i);
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase() { Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark()); }

    void cardsAndWiresAreChildren() {
        Mismatched g;
        ShownCanvas c(g.maker.graph());
        QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&c.canvas);
        QCOMPARE(canvas->role(), QAccessible::Canvas);
        QAccessibleInterface* y = child(c.canvas, QStringLiteral("y, MatMul on cuda:0"));
        QVERIFY(y);
        QCOMPARE(y->role(), QAccessible::ListItem);
        QCOMPARE(y->text(QAccessible::Name), QStringLiteral("y, MatMul on cuda:0, error"));
        QVERIFY(y->text(QAccessible::Description).contains(QStringLiteral("f32 2×4")));
        QVERIFY(y->text(QAccessible::Description)
                    .contains(QStringLiteral("Expected all tensors to be on the same device")));
        QCOMPARE(y->parent(), canvas);
        QCOMPARE(canvas->child(canvas->indexOfChild(y)), y);
        QVERIFY(!y->state().selected);
        QAccessibleInterface* wire = child(c.canvas, QStringLiteral("Wire from x to y"));
        QVERIFY(wire);
        QCOMPARE(wire->role(), QAccessible::Link);
        QVERIFY(wire->text(QAccessible::Description).contains(QStringLiteral("transfer from cpu to cuda:0")));
        const QPoint middle = y->rect().center();
        QCOMPARE(canvas->childAt(middle.x(), middle.y()), y);
    }

    void pressingSelects() {
        Mismatched g;
        ShownCanvas c(g.maker.graph());
        QAccessibleInterface* x = child(c.canvas, QStringLiteral("x, Ones on cpu"));
        QVERIFY(x);
        x->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        QCOMPARE(c.document.selection().nodes, std::set<NodeId>{g.x});
        QVERIFY(x->state().selected);
        QAccessibleInterface* wire = child(c.canvas, QStringLiteral("Wire from w to y"));
        wire->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        QVERIFY(c.document.selection().edge == (Edge{{g.w, 0}, {g.y, 1}}));
        QVERIFY(wire->state().selected && !x->state().selected);
    }

    /// It had the name of its first node, and a press left the module's other nodes unselected.
    void aCollapsedModuleIsOneChild() {
        Mismatched g;
        Graph graph = g.maker.graph();
        DeltaBuilder builder(graph, "frame");
        const FrameId module = builder.addFrame({FrameId::none, "block", FrameId::none});
        for (const NodeId id : {g.w, g.y}) {
            Node node = *builder.graph().find(id);
            node.frame = module;
            builder.change(node);
        }
        Frame collapsed = *builder.graph().find(module);
        collapsed.collapsed = true;
        builder.change(collapsed);
        graph.apply(builder.take());
        ShownCanvas c(graph);
        QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&c.canvas);
        QAccessibleInterface* card = child(c.canvas, QStringLiteral("Module block"));
        QVERIFY(card);
        QVERIFY(card->state().collapsed && !card->state().selected);
        QCOMPARE(card->text(QAccessible::Description), QStringLiteral("2 nodes"));
        QVERIFY(!child(c.canvas, QStringLiteral("w, Ones")) && !child(c.canvas, QStringLiteral("y, MatMul")));
        QVERIFY(!child(c.canvas, QStringLiteral("Wire from w")));
        QVERIFY(child(c.canvas, QStringLiteral("Wire from x to y")));
        const QPoint middle = card->rect().center();
        QCOMPARE(canvas->childAt(middle.x(), middle.y()), card);
        card->actionInterface()->doAction(QAccessibleActionInterface::pressAction());
        QCOMPARE(c.document.selection().nodes, (std::set<NodeId>{g.w, g.y}));
        QVERIFY(card->state().selected);
        QVERIFY(card->state().focused);
        QCOMPARE(canvas->focusChild(), card);
    }

    void aDeletedCardIsNoLongerAChild() {
        Mismatched g;
        ShownCanvas c(g.maker.graph());
        QAccessibleInterface* canvas = QAccessible::queryAccessibleInterface(&c.canvas);
        const int before = canvas->childCount();
        QAccessibleInterface* x = child(c.canvas, QStringLiteral("x, Ones on cpu"));
        DeltaBuilder builder(c.document.graph(), "delete");
        builder.removeNode(g.x);
        c.document.apply(builder.take());
        QVERIFY(!x->isValid()); // while it still exists
        QCOMPARE(x->text(QAccessible::Name), QString());
        QCOMPARE(canvas->childCount(), before - 2); // and its wire
        QVERIFY(!child(c.canvas, QStringLiteral("x, Ones on cpu")));
        c.document.undoStack().undo();
        QCOMPARE(canvas->childCount(), before);
        QVERIFY(child(c.canvas, QStringLiteral("x, Ones on cpu"))->isValid());
    }
};

TWB_GUI_TEST_MAIN(TestCanvasAccessible)
#include "test_canvas_accessible.moc"
