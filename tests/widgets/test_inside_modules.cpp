#include "support/test_main.h"
#include "widgets/canvas/minimap.h"
#include "widgets/dialog_answer.h"
#include "widgets/palette/own_modules.h"
#include "widgets/scene_text.h"
#include "widgets/window_hand.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

using namespace twb;
using namespace twb::test;

namespace {

/// x -> [ outer: relu -> [ inner: neg ] ] -> out on cpu; inner is collapsed.
struct Nested {
    Graph graph;
    LaneId cpu, cuda;
    NodeId x, relu, neg, out;
    FrameId outer, inner;

    explicit Nested(bool isCollapsed = true) {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 400});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 200});
        outer = builder.addFrame({FrameId::none, "outer", FrameId::none});
        inner = builder.addFrame({FrameId::none, "inner", outer});
        x = addNode(builder, cpu, "Ones", "x", 16, 40, {{"shape", std::vector<std::int64_t>{64, 64}}});
        relu = addNode(builder, cpu, "Relu", "relu", 260, 200);
        neg = addNode(builder, cpu, "Neg", "neg", 460, 200);
        out = addNode(builder, cuda, "To", "out", 720, 40);
        for (const auto& [id, frame] : {std::pair(relu, outer), std::pair(neg, inner)}) {
            Node node = *builder.graph().find(id);
            node.frame = frame;
            builder.change(node);
        }
        Frame frame = *builder.graph().find(inner);
        frame.collapsed = isCollapsed;
        builder.change(frame);
        builder.connect({{x, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {neg, 0}});
        builder.connect({{neg, 0}, {out, 0}});
        graph.apply(builder.take());
    }
};

void compareWithFresh(const WindowHand& hand) {
    Scene fresh;
    fresh.rebuild(
        {hand.graph(), hand.document.analysis(), hand.document.devices(), hand.canvas.navigator().inside()});
    QCOMPARE(textOf(hand.canvas.scene(), hand.graph()), textOf(fresh, hand.graph()));
}

const StubShape* stubOf(const WindowHand& hand, NodeId id) {
    for (const StubShape& stub : hand.canvas.scene().stubs().shapes())
        if (stub.nodes.front() == id) return &stub;
    return nullptr;
}

QPushButton* crumb(const WindowHand& hand, FrameId id) {
    QCoreApplication::processEvents(); // a widget added to a layout is shown by a later event
    for (QPushButton* button :
         hand.window->findChildren<QPushButton*>(QStringLiteral("breadcrumb.%1").arg(value(id))))
        if (button->isVisible()) return button;
    return nullptr;
}

void doubleClick(WindowHand& hand, QPointF at) {
    QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, hand.pixel(at));
}

} // namespace

class TestInsideModules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aModuleIsEnteredAndLeft() {
        const Nested g;
        WindowHand hand(g.graph);
        const Scene& scene = hand.canvas.scene();
        hand.click(hand.pixel(scene.frames().find(g.outer)->titleRect.center()));
        const QPoint before = hand.middle(g.x);
        hand.key(Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(hand.canvas.navigator().inside(), g.outer);
        QVERIFY(hand.shape(g.x).kind == NodeShape::Kind::hidden);
        QVERIFY(hand.shape(g.relu).kind == NodeShape::Kind::card);
        QVERIFY(scene.modules().cardOf(g.inner));
        QVERIFY(scene.frames().find(g.outer)->rect.isEmpty());
        // Stubs of producers are on the left, stubs of consumers on the right, on their lanes.
        const StubShape* in = stubOf(hand, g.x);
        const StubShape* out = stubOf(hand, g.out);
        QVERIFY(in && out && scene.stubs().shapes().size() == 2);
        QCOMPARE(in->title, QStringLiteral("x"));
        QVERIFY(in->rect.right() < hand.shape(g.relu).rect.left());
        QVERIFY(out->rect.left() > scene.modules().cardOf(g.inner)->rect.right());
        QVERIFY(out->rect.top() > scene.lanes().find(g.cuda)->top &&
                out->rect.bottom() < scene.lanes().find(g.cuda)->bottom());
        QCOMPARE(scene.wires().find({{g.x, 0}, {g.relu, 0}})->start,
                 QPointF(in->rect.right(), in->rect.center().y()));
        QCOMPARE(scene.wires().find({{g.neg, 0}, {g.out, 0}})->end,
                 QPointF(out->rect.left(), out->rect.center().y()));
        for (const StubShape* stub : {in, out}) QVERIFY(hand.canvas.view().viewport().contains(stub->rect));
        compareWithFresh(hand);
        // A double click on a collapsed module opens it.
        doubleClick(hand, scene.modules().cardOf(g.inner)->rect.center());
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
        QVERIFY(hand.shape(g.neg).kind == NodeShape::Kind::card);
        QVERIFY(hand.shape(g.relu).kind == NodeShape::Kind::hidden);
        QVERIFY(stubOf(hand, g.relu));
        compareWithFresh(hand);
        // Esc, which first clears the selection, and Backspace lead back.
        hand.click(hand.middle(g.neg));
        hand.key(Qt::Key_Escape);
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
        hand.key(Qt::Key_Escape);
        QCOMPARE(hand.canvas.navigator().inside(), g.outer);
        QCOMPARE(hand.document.selection().nodes,
                 (std::set<NodeId>{g.neg})); // the node of the module that was left
        hand.key(Qt::Key_Escape);
        hand.key(Qt::Key_Backspace);
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
        QVERIFY(hand.shape(g.x).kind == NodeShape::Kind::card);
        QTRY_COMPARE(hand.middle(g.x), before); // the whole graph is in view again
        QVERIFY(hand.graph() == g.graph);       // the open module is not part of the graph
        QCOMPARE(hand.undoSteps(), 0);
        compareWithFresh(hand);
    }

    /// The nodes of a collapsed module may be far from its card.
    void consumersAreBesideTheCards() {
        Nested g;
        DeltaBuilder builder(g.graph, "extend");
        const NodeId far = addNode(builder, g.cpu, "Neg", "far", 4000, 40);
        Node node = *builder.graph().find(far);
        node.frame = g.inner;
        builder.change(node);
        builder.connect({{g.neg, 0}, {far, 0}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        hand.canvas.navigator().enter(g.outer);
        const NodeShape* card = hand.canvas.scene().modules().cardOf(g.inner);
        QVERIFY(stubOf(hand, g.out)->rect.left() > card->rect.right());
        QVERIFY(stubOf(hand, g.out)->rect.left() < card->rect.right() + 200);
    }

    void theBreadcrumbLeadsBack() {
        const Nested g;
        WindowHand hand(g.graph);
        auto* bar = find<QWidget>(*hand.window, "breadcrumb");
        QVERIFY(bar->isVisible()); // a module is collapsed
        QVERIFY(!crumb(hand, FrameId::none) && !crumb(hand, g.outer));
        doubleClick(hand, hand.canvas.scene().modules().cardOf(g.inner)->rect.center());
        QVERIFY(bar->isVisible());
        QVERIFY(crumb(hand, FrameId::none) && crumb(hand, g.outer));
        QVERIFY(!crumb(hand, g.inner)); // this module is open already
        QTest::mouseClick(crumb(hand, g.outer), Qt::LeftButton);
        QCOMPARE(hand.canvas.navigator().inside(), g.outer);
        QTest::mouseClick(crumb(hand, FrameId::none), Qt::LeftButton);
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
        QVERIFY(!crumb(hand, FrameId::none));
        QVERIFY(hand.canvas.hasFocus());
    }

    /// It was cut to 200 pixels, however wide the canvas was.
    void theBreadcrumbShowsTheWholeNameOfTheOpenModule() {
        const Nested g;
        WindowHand hand(g.graph);
        const QString name = QStringLiteral("a module with a name that is longer than two hundred pixels");
        Frame frame = *hand.graph().find(g.outer);
        frame.title = name.toStdString();
        DeltaBuilder builder(hand.graph(), "Rename");
        builder.change(frame);
        hand.document.apply(builder.take());
        hand.canvas.navigator().enter(g.outer);
        QCoreApplication::processEvents();
        auto* bar = find<QWidget>(*hand.window, "breadcrumb");
        QLabel* here = nullptr;
        for (QLabel* label : bar->findChildren<QLabel*>())
            if (label->isVisible() && label->text() == name) here = label;
        QVERIFY(here);
        QTRY_VERIFY(here->contentsRect().width() >= here->fontMetrics().horizontalAdvance(name));
        // A narrow one is elided and does not widen the window.
        hand.window->resize(hand.window->minimumSizeHint());
        QTRY_VERIFY(here->width() < here->sizeHint().width());
    }

    void minimapCoversNoContent() {
        const Nested g;
        WindowHand hand(g.graph);
        hand.canvas.minimap().setWanted(true);
        doubleClick(hand, hand.canvas.scene().modules().cardOf(g.inner)->rect.center());
        QCoreApplication::processEvents();
        const auto* map = hand.canvas.findChild<Minimap*>();
        QVERIFY(map->isVisible());
        const QRectF under(hand.canvas.view().toScene(map->geometry().topLeft()),
                           hand.canvas.view().toScene(map->geometry().bottomRight()));
        QVERIFY(!hand.shape(g.neg).rect.intersects(under));
        for (const StubShape& stub : hand.canvas.scene().stubs().shapes())
            QVERIFY(!stub.rect.intersects(under));
    }

    void findEntersAndLeavesModules() {
        const Nested g;
        WindowHand hand(g.graph);
        const auto goTo = [&](const char* name, NodeId wanted) {
            hand.key(Qt::Key_P, Qt::ControlModifier);
            auto* field = find<QLineEdit>(*hand.window, "quickFind");
            QVERIFY(field->hasFocus());
            field->clear();
            QTest::keyClicks(field, QString::fromLatin1(name));
            QTest::keyClick(field, Qt::Key_Return);
            QTRY_COMPARE(hand.document.selection().nodes, (std::set<NodeId>{wanted}));
            hand.window->activateWindow();
            QVERIFY(QTest::qWaitForWindowActive(&*hand.window));
            hand.canvas.setFocus();
        };
        goTo("neg", g.neg);
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
        goTo("relu", g.relu);
        QCOMPARE(hand.canvas.navigator().inside(), g.outer);
        goTo("x", g.x);
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
    }

    /// A bookmark showed its place in whatever module was open.
    void bookmarksEnterAndLeaveModules() {
        const Nested g;
        WindowHand hand(g.graph);
        const auto bookmark = [&](Qt::Key number, bool sets) {
            hand.key(Qt::Key_B, sets ? Qt::ControlModifier | Qt::ShiftModifier : Qt::ControlModifier);
            hand.key(number);
        };
        CanvasNavigator& navigator = hand.canvas.navigator();
        bookmark(Qt::Key_1, true);
        navigator.enter(g.inner);
        navigator.zoom100();
        bookmark(Qt::Key_2, true);
        const QPointF middle = navigator.spot().middle;
        bookmark(Qt::Key_1, false);
        QCOMPARE(navigator.inside(), FrameId::none);
        bookmark(Qt::Key_2, false);
        QCOMPARE(navigator.inside(), g.inner);
        QVERIFY(QLineF(navigator.spot().middle, middle).length() < 1);
        QCOMPARE(hand.canvas.view().zoom(), 1.0);
        // Without its module, a bookmark shows the whole graph.
        navigator.enter(FrameId::none);
        DeltaBuilder builder(hand.graph(), "dissolve");
        Node neg = hand.node(g.neg);
        neg.frame = g.outer;
        builder.change(neg);
        builder.removeFrame(g.inner);
        hand.document.apply(builder.take());
        navigator.enter(g.outer);
        bookmark(Qt::Key_2, false);
        QCOMPARE(navigator.inside(), FrameId::none);
    }

    void problemOpensTheModule() {
        Nested g;
        DeltaBuilder builder(g.graph, "break");
        builder.disconnect({{g.relu, 0}, {g.neg, 0}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        QVERIFY(hand.document.analysis().hasErrors());
        for (int i = 0; i < 4 && hand.canvas.navigator().inside() == FrameId::none; ++i) hand.key(Qt::Key_F8);
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
    }

    void stubLeavesTheModule() {
        const Nested g;
        WindowHand hand(g.graph);
        doubleClick(hand, hand.canvas.scene().modules().cardOf(g.inner)->rect.center());
        hand.click(hand.pixel(stubOf(hand, g.relu)->rect.center()));
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.relu}));
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
        doubleClick(hand, stubOf(hand, g.relu)->rect.center());
        QCOMPARE(hand.canvas.navigator().inside(), g.outer);
        doubleClick(hand, stubOf(hand, g.x)->rect.center());
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.x}));
    }

    /// Nodes added in an open module belong to it, and edits affect nothing outside.
    void editsStayInTheModule() {
        const Nested g;
        WindowHand hand(g.graph);
        doubleClick(hand, hand.canvas.scene().modules().cardOf(g.inner)->rect.center());
        hand.key(Qt::Key_A, Qt::ControlModifier);
        QCOMPARE(hand.document.selection().nodes, (std::set<NodeId>{g.neg}));
        hand.key(Qt::Key_C, Qt::ControlModifier);
        hand.key(Qt::Key_V, Qt::ControlModifier);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(5));
        const Node* copy = hand.node("neg 2");
        QVERIFY(copy);
        QVERIFY(hand.shape(copy->id).kind != NodeShape::Kind::hidden);
        hand.key(Qt::Key_Escape);
        // The same for an op from the search.
        hand.moveTo(hand.middle(g.neg) + QPoint(0, 90));
        hand.key(Qt::Key_A, Qt::ShiftModifier);
        QWidget* popup = QApplication::activePopupWidget();
        QVERIFY(popup && popup->focusProxy());
        QTest::keyClicks(popup->focusProxy(), QStringLiteral("Sigmoid"));
        QTest::keyClick(popup->focusProxy(), Qt::Key_Return);
        const Node* added = hand.node("sigmoid");
        QVERIFY(added);
        QCOMPARE(added->frame, g.inner);
        compareWithFresh(hand);
        // A moved node stays in the module.
        const QPoint from =
            hand.pixel(hand.shape(g.neg).rect.topLeft() + QPointF(20, 8)); // not covered by its copy
        hand.drag(from, from + QPoint(int(160 * hand.canvas.view().zoom()), 0));
        QCOMPARE(hand.node(g.neg).frame, g.inner);
        QVERIFY(hand.node(g.neg).position.x > 560);
        compareWithFresh(hand);
        while (hand.document.undoStack().canUndo()) hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
    }

    void deletedOpenModuleIsLeft() {
        const Nested g(false);
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.neg));
        hand.key(Qt::Key_G, Qt::ControlModifier); // a module in inner
        const FrameId fresh = hand.node(g.neg).frame;
        QVERIFY(fresh != g.inner);
        hand.key(Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(hand.canvas.navigator().inside(), g.inner); // whose nodes are all selected, too
        hand.key(Qt::Key_Return, Qt::ControlModifier);
        QCOMPARE(hand.canvas.navigator().inside(), fresh);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(!hand.graph().find(fresh));
        QCOMPARE(hand.canvas.navigator().inside(), g.inner);
        compareWithFresh(hand);
        hand.document.setGraph(g.graph, {}, QString());
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
    }

    void itsCardShowsItsTimeAndItsProgress() {
        Nested g;
        DeltaBuilder builder(g.graph, "collapse");
        Frame outer = *g.graph.find(g.outer);
        outer.collapsed = true;
        builder.change(outer);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const auto card = [&] {
            hand.canvas.grab();
            return hand.canvas.scene().texts().find(hand.canvas.scene().modules().cardOf(g.outer)->module);
        };
        QCOMPARE(card()->timeWidth, 0.0);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        const auto& nodes = hand.window->runs().state().nodes;
        const NodeCard& now = *card();
        QVERIFY(now.timeNs > 0);
        QCOMPARE(now.timeNs, nodes.at(g.relu).ns + nodes.at(g.neg).ns);
        QVERIFY(now.timeWidth > 0 && !now.isModelled); // times of the CPU are measured
        QVERIFY(now.moduleRun.state == StepState::done || now.moduleRun.state == StepState::cached);
        QCOMPARE(now.progress, 1.0);
        // The module has run half of its nodes, and part of its time is modelled.
        RunState half;
        half.running = true;
        half.nodes[g.relu] = {StepState::done, 2000, true, false, {}, {}};
        half.nodes[g.neg] = {StepState::pending, 0, false, false, {}, {}};
        hand.canvas.setRunState(&half);
        QCOMPARE(card()->progress, 0.5);
        QVERIFY(card()->moduleRun.state == StepState::running);
        QVERIFY(card()->isModelled);
        half.nodes[g.neg] = {StepState::failed, 1000, false, false, {}, {}};
        hand.canvas.setRunState(&half);
        QVERIFY(card()->moduleRun.state == StepState::failed);
        QCOMPARE(card()->timeNs, 3000.0);
        QCOMPARE(card()->remark.text(), QStringLiteral("partly modelled"));
        hand.canvas.setRunState(&hand.window->runs().state());
    }

    void aKeptModuleRemembersItsDevices() {
        DeltaBuilder builder(Graph(), "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 300});
        const FrameId block = builder.addFrame({FrameId::none, "block", FrameId::none});
        const auto add = [&](LaneId lane, const char* op, const char* name, double x) {
            const NodeId id = addNode(builder, lane, op, name, x, 40);
            Node node = *builder.graph().find(id);
            node.frame = block;
            builder.change(node);
            return id;
        };
        const NodeId a = add(cpu, "Ones", "a", 40);
        const NodeId b = add(cpu, "Relu", "b", 240);
        const NodeId c = add(cuda, "To", "c", 440);
        builder.connect({{a, 0}, {b, 0}});
        builder.connect({{b, 0}, {c, 0}});
        const Graph graph = builder.graph();
        WindowHand hand(graph);
        hand.click(hand.pixel(hand.canvas.scene().frames().find(block)->titleRect.center()));
        const DialogAnswer answer("saveModule", QDialogButtonBox::Save, [](QDialog& dialog) {
            auto* name = find<QLineEdit>(dialog, "moduleName");
            name->selectAll();
            QTest::keyClicks(name, QStringLiteral("two devices"));
        });
        hand.key(Qt::Key_B, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(ownModule(QStringLiteral("two devices")));
        // In a graph with other lane ids: most nodes go to the target lane, the rest to a lane of their
        // device.
        Graph other;
        DeltaBuilder lanes(other, "make");
        const LaneId spare = lanes.addLane({LaneId::none, Device::cuda(1), "", 0, 300});
        lanes.addLane({LaneId::none, Device::cpu(), "", 1, 300});
        const LaneId gpu = lanes.addLane({LaneId::none, Device::cuda(0), "", 2, 300});
        other.apply(lanes.take());
        hand.document.setGraph(other, {}, QString());
        hand.window->activateWindow();
        hand.canvas.setFocus();
        hand.canvas.navigator().zoomToFit();
        hand.moveTo(hand.pixel({300, 100}));
        hand.key(Qt::Key_A, Qt::ShiftModifier);
        QWidget* popup = QApplication::activePopupWidget();
        QVERIFY(popup && popup->focusProxy());
        QTest::keyClicks(popup->focusProxy(), QStringLiteral("two devices"));
        QTest::keyClick(popup->focusProxy(), Qt::Key_Return);
        QCOMPARE(hand.graph().nodes().size(), std::size_t(3));
        const LaneId under = hand.node("a")->lane;
        QVERIFY(under != gpu);
        QCOMPARE(hand.node("b")->lane, under);
        QCOMPARE(hand.node("c")->lane, gpu);
        QVERIFY(hand.graph().find(spare));
        removeOwnModule(QStringLiteral("two devices"));
    }
};

TWB_GUI_TEST_MAIN(TestInsideModules)
#include "test_inside_modules.moc"
