#include "support/test_main.h"
#include "widgets/window_hand.h"

#include <QContextMenuEvent>
#include <QMenu>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> to (cuda:0) -> relu -> neg; relu and neg in the module "two"; a note on cpu.
struct Start {
    Graph graph;
    NodeId x, to, relu, neg;
    FrameId module;
    NoteId note;

    Start() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 220});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 220});
        x = addNode(builder, cpu, "Ones", "x", 24, 40);
        to = addNode(builder, cuda, "To", "to", 240, 60);
        relu = addNode(builder, cuda, "Relu", "relu", 420, 48);
        neg = addNode(builder, cuda, "Neg", "neg", 640, 48);
        builder.connect({{x, 0}, {to, 0}});
        builder.connect({{to, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {neg, 0}});
        note = builder.addNote({NoteId::none, "a note", cpu, {640, 24}, 200, 0});
        module = builder.addFrame({FrameId::none, "two", FrameId::none});
        for (const NodeId id : {relu, neg}) {
            Node node = *builder.graph().find(id);
            node.frame = module;
            builder.change(node);
        }
        graph.apply(builder.take());
    }
};

/// The entries of the context menu, without their mnemonics. A submenu counts as one entry.
QStringList menuAt(WindowHand& hand, QPoint at) {
    QStringList texts;
    QTimer::singleShot(0, hand.window.get(), [&texts] {
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        if (!menu) return;
        for (const QAction* action : menu->actions())
            if (!action->isSeparator()) texts << action->text().remove(QLatin1Char('&'));
        menu->close();
    });
    QTest::mousePress(&hand.canvas, Qt::RightButton, {}, at);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, hand.canvas.mapToGlobal(at));
    QApplication::sendEvent(&hand.canvas, &event);
    QTest::mouseRelease(&hand.canvas, Qt::RightButton, {}, at);
    return texts;
}

} // namespace

class TestContextMenu : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void menuIsShortAndForTheClickedItem_data() {
        QTest::addColumn<QString>("where");
        QTest::addColumn<QStringList>("has");
        QTest::addColumn<QStringList>("lacks");
        QTest::newRow("node") << QStringLiteral("node")
                              << QStringList{QStringLiteral("Rename"), QStringLiteral("Send to lane"),
                                             QStringLiteral("Delete")}
                              << QStringList{QStringLiteral("Paste"), QStringLiteral("Select all"),
                                             QStringLiteral("Insert To"), QStringLiteral("Settings…")};
        QTest::newRow("wire") << QStringLiteral("wire")
                              << QStringList{QStringLiteral("Insert To"),
                                             QStringLiteral("Add a dot to the wire"),
                                             QStringLiteral("Delete")}
                              << QStringList{QStringLiteral("Rename"), QStringLiteral("Cut"),
                                             QStringLiteral("Send to lane")};
        QTest::newRow("frame") << QStringLiteral("frame")
                               << QStringList{QStringLiteral("Open inside"),
                                              QStringLiteral("Collapse module"),
                                              QStringLiteral("Rename module…"),
                                              QStringLiteral("Dissolve module")}
                               << QStringList{QStringLiteral("Rename"), QStringLiteral("Paste")};
        QTest::newRow("note") << QStringLiteral("note")
                              << QStringList{QStringLiteral("Edit note…"), QStringLiteral("Delete")}
                              << QStringList{QStringLiteral("Rename"), QStringLiteral("Insert To")};
        QTest::newRow("canvas") << QStringLiteral("canvas")
                                << QStringList{QStringLiteral("Add an op…"), QStringLiteral("Paste"),
                                               QStringLiteral("Zoom to fit")}
                                << QStringList{QStringLiteral("Delete"), QStringLiteral("Rename"),
                                               QStringLiteral("Disable")};
    }
    void menuIsShortAndForTheClickedItem() {
        QFETCH(QString, where);
        QFETCH(QStringList, has);
        QFETCH(QStringList, lacks);
        const Start g;
        WindowHand hand(g.graph);
        const Scene& scene = hand.canvas.scene();
        const QRectF frame = scene.frames().find(g.module)->rect;
        const QPoint at = where == QLatin1String("node")    ? hand.middle(g.x)
                          : where == QLatin1String("wire")  ? hand.onWire({{g.x, 0}, {g.to, 0}})
                          : where == QLatin1String("frame") ? hand.pixel({frame.right(), frame.center().y()})
                          : where == QLatin1String("note")  ? hand.pixel(scene.notes().front().rect.center())
                                                            : hand.pixel({420, 120});
        const QStringList texts = menuAt(hand, at);
        const QString all = texts.join(QStringLiteral(" | "));
        for (const QString& text : has)
            QVERIFY2(texts.contains(text), qPrintable(text + QStringLiteral(" not in: ") + all));
        for (const QString& text : lacks)
            QVERIFY2(!texts.contains(text), qPrintable(text + QStringLiteral(" in: ") + all));
        QVERIFY2(texts.size() <= 11, qPrintable(all));
    }
};

TWB_GUI_TEST_MAIN(TestContextMenu)
#include "test_context_menu.moc"
