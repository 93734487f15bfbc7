#include "support/test_main.h"
#include "widgets/graph_difference.h"
#include "widgets/graph_edits.h"
#include "widgets/led_chain.h"
#include "widgets/module_edits.h"

#include <cmath>

using namespace twb;
using namespace twb::test;

class TestDots : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aDoubleClickPutsADotOnAWire() {
        LedChain g;
        WindowHand hand(g.graph);
        const QPoint at = hand.onWire(g.wire(), 0.3);
        doubleClick(hand, at);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(1));
        QVERIFY(dotsOf(hand, g)[0].lane == g.cpu);
        QVERIFY((dotAt(hand, g, 0) - at).manhattanLength() <= 2);
        QVERIFY(hand.document.selection().dots == only(g, 0));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(undoText(hand), QStringLiteral("Add dot"));
        // New dots are inserted before or after it, depending on their position.
        doubleClick(hand, hand.onWire(g.wire(), 0.75));
        doubleClick(hand, hand.onWire(g.wire(), 0.1));
        const std::vector<Dot>& dots = dotsOf(hand, g);
        QCOMPARE(dots.size(), std::size_t(3));
        QVERIFY(dots[0].position.x < dots[1].position.x && dots[1].position.x < dots[2].position.x);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
    }

    void aDragWithShiftPullsADotOut() {
        LedChain g;
        g.with({{g.cpu, {640, 53}}});
        WindowHand hand(g.graph);
        const QPoint from = hand.onWire(g.wire(), 0.8);
        const QPoint to = hand.pixel({723, 180});
        hand.press(from, Qt::ShiftModifier);
        hand.moveTo(hand.pixel({720, 100}), Qt::ShiftModifier);
        hand.moveTo(to, Qt::ShiftModifier);
        QVERIFY(!hand.canvas.grab().isNull());
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 1})->at));
        QVERIFY(hand.graph() == g.graph); // before the button is released
        hand.release(to, Qt::ShiftModifier);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(2));
        QVERIFY(dotsOf(hand, g)[1].lane == g.cpu);
        QCOMPARE(std::fmod(dotsOf(hand, g)[1].position.x, kGrid), 0.0);
        QVERIFY(std::abs(dotsOf(hand, g)[1].position.y - 180) <= kGrid);
        QVERIFY(hand.document.selection().dots == only(g, 1));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(undoText(hand), QStringLiteral("Add dot"));
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
        // A cancelled drag leaves no dot, and a click alone adds none.
        hand.press(from, Qt::ShiftModifier);
        hand.moveTo(to, Qt::ShiftModifier);
        hand.key(Qt::Key_Escape);
        hand.release(to, Qt::ShiftModifier);
        hand.click(from, Qt::ShiftModifier);
        QVERIFY(hand.graph() == g.graph);
        QCOMPARE(hand.canvas.scene().wires().dots().on(g.wire().to).size(), std::size_t(1));
        // An undo during the drag cancels it, too.
        hand.key(Qt::Key_Y, Qt::ControlModifier);
        hand.press(hand.onWire(g.wire(), 0.2), Qt::ShiftModifier);
        hand.moveTo(to, Qt::ShiftModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.release(to, Qt::ShiftModifier);
        QVERIFY(hand.graph() == g.graph);
        QCOMPARE(hand.canvas.scene().wires().dots().on(g.wire().to).size(), std::size_t(1));
    }

    void dotsAreDragged() {
        LedChain g;
        g.with({{g.cpu, {700, 53}}});
        WindowHand hand(g.graph);
        const QPoint to = hand.pixel({713, 143});
        hand.press(dotAt(hand, g, 0));
        hand.moveTo(hand.pixel({703, 90}));
        hand.moveTo(to);
        QVERIFY(!hand.canvas.grab().isNull());
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 0})->at));
        QVERIFY(hand.graph() == g.graph); // before the button is released
        hand.release(to);
        QVERIFY(dotsOf(hand, g)[0].lane == g.cpu);
        QVERIFY(dotsOf(hand, g)[0].position == (Position{712, 144}));
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 0})->at));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(undoText(hand), QStringLiteral("Move dot"));
        // With Alt, without snapping.
        hand.drag(dotAt(hand, g, 0), dotAt(hand, g, 0) + QPoint(21, 3), Qt::AltModifier);
        QVERIFY(std::fmod(dotsOf(hand, g)[0].position.x, kGrid) != 0);
        // Esc restores it.
        const std::vector<Dot> before = dotsOf(hand, g);
        hand.press(dotAt(hand, g, 0));
        hand.moveTo(to + QPoint(40, 20));
        hand.key(Qt::Key_Escape);
        hand.release(to + QPoint(40, 20));
        QVERIFY(dotsOf(hand, g) == before);
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 0})->at));
    }

    void aDotGoesToAnotherLane() {
        LedChain g;
        g.with({{g.cpu, {700, 53}}});
        WindowHand hand(g.graph);
        const std::size_t problems = hand.document.analysis().diagnostics.size();
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.cuda);
        hand.drag(dotAt(hand, g, 0), hand.pixel({720, band.top + 60}));
        const Dot& dot = dotsOf(hand, g)[0];
        QVERIFY(dot.lane == g.cuda);
        QCOMPARE(dot.position.y, 56.0);
        // A dot's lane does not affect the analysis.
        QCOMPARE(hand.document.analysis().diagnostics.size(), problems);
        // The dot moves with its lane.
        const double y = hand.canvas.scene().wires().dot({g.wire().to, 0})->at.y();
        hand.click(hand.middle(g.a));
        hand.key(Qt::Key_PageDown, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 0})->at.y() < y);
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 0})->at));
    }

    void aDotLinesUpWithTheEndsOfItsWire() {
        LedChain g;
        g.with({{g.cpu, {700, 120}}});
        WindowHand hand(g.graph);
        const double end = hand.canvas.scene().wires().find(g.wire())->end.y();
        const QPoint to = hand.pixel({720, end + 4});
        hand.press(dotAt(hand, g, 0));
        hand.moveTo(to + QPoint(0, 20));
        hand.moveTo(to);
        const QImage guided = hand.canvas.grab().toImage();
        hand.release(to);
        const double top = hand.canvas.scene().lanes().find(g.cpu)->top;
        QCOMPARE(dotsOf(hand, g)[0].position.y, end - top);
        QVERIFY(guided != hand.canvas.grab().toImage()); // the drag shows a guide
    }

    void deleteTakesDotsOff() {
        LedChain g;
        g.with({{g.cpu, {640, 53}}, {g.cpu, {700, 120}}, {g.cpu, {760, 53}}});
        WindowHand hand(g.graph);
        hand.click(dotAt(hand, g, 1));
        QVERIFY(hand.document.selection().dots == only(g, 1));
        hand.key(Qt::Key_Delete);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(2));
        QCOMPARE(dotsOf(hand, g)[1].position.x, 760.0);
        QCOMPARE(undoText(hand), QStringLiteral("Delete dot"));
        QCOMPARE(hand.graph().edgeCount(), g.graph.edgeCount());
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
        hand.click(dotAt(hand, g, 1));
        hand.key(Qt::Key_Delete, Qt::ControlModifier); // the wire remains in any case
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(2));
        QCOMPARE(undoText(hand), QStringLiteral("Delete dot"));
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.click(dotAt(hand, g, 0));
        hand.click(dotAt(hand, g, 2), Qt::ControlModifier);
        hand.click(hand.middle(g.exp), Qt::ControlModifier);
        hand.key(Qt::Key_Delete);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(1));
        QCOMPARE(dotsOf(hand, g)[0].position.x, 700.0);
        QVERIFY(!hand.graph().find(g.exp));
        QCOMPARE(hand.undoSteps(), 1);
    }

    void dotsWorkByKeysAlone() {
        LedChain g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_Period);
        QCOMPARE(hand.undoSteps(), 0); // no wire is selected
        hand.document.select({{}, {}, g.wire()});
        hand.key(Qt::Key_Period);
        hand.key(Qt::Key_Period); // on the longest segment of the same wire
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(2));
        QVERIFY(dotsOf(hand, g)[0].position.x < dotsOf(hand, g)[1].position.x);
        hand.document.select({{}, {}, g.wire()});
        hand.key(Qt::Key_Right);
        QVERIFY(hand.document.selection().dots == only(g, 0));
        const Position before = dotsOf(hand, g)[0].position;
        hand.key(Qt::Key_Down, Qt::ControlModifier);
        QCOMPARE(dotsOf(hand, g)[0].position.y, before.y + kGrid);
        QCOMPARE(undoText(hand), QStringLiteral("Move dot"));
        hand.key(Qt::Key_Right);
        QVERIFY(hand.document.selection().dots == only(g, 1));
        hand.key(Qt::Key_Right);
        QVERIFY(hand.document.selection().nodes == std::set{g.out});
        hand.document.select({{}, {}, std::nullopt, only(g, 1)});
        hand.key(Qt::Key_Left);
        hand.key(Qt::Key_Left);
        QVERIFY(hand.document.selection().nodes == std::set{g.relu});
        hand.document.select({{}, {}, g.wire()});
        hand.key(Qt::Key_Period, Qt::AltModifier);
        QVERIFY(dotsOf(hand, g).empty());
        QCOMPARE(undoText(hand), QStringLiteral("Straighten wire"));
    }

    void theKeyPutsADotUnderThePointer() {
        LedChain g;
        WindowHand hand(g.graph);
        const QPoint at = hand.onWire(g.wire(), 0.2);
        hand.hover(at);
        hand.key(Qt::Key_Period);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(1));
        QVERIFY((dotAt(hand, g, 0) - at).manhattanLength() <= 2);
    }

    void dotsBetweenMovedNodesGoAlong() {
        LedChain g;
        g.with({{g.cpu, {700, 120}}, {g.cuda, {760, 40}}});
        WindowHand hand(g.graph);
        // A rubber band around both ends and the upper dot.
        const QRectF from = hand.shape(g.relu).rect;
        const QRectF to = hand.shape(g.out).rect;
        hand.drag(hand.pixel(from.topLeft() - QPointF(12, 8)),
                  hand.pixel({to.right() + 8, from.top() + 140}));
        QVERIFY(hand.document.selection().dots == only(g, 0));
        QVERIFY(hand.document.selection().nodes == (std::set{g.relu, g.out}));
        hand.drag(hand.middle(g.relu), hand.middle(g.relu) + QPoint(0, 48), Qt::AltModifier);
        const double way = hand.node(g.relu).position.y - 16;
        QVERIFY(way > 20);
        QCOMPARE(dotsOf(hand, g)[0].position.y, 120 + way);
        QCOMPARE(dotsOf(hand, g)[1].position.y,
                 40 + way); // moves although it is not selected, because both ends of its wire are
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(undoText(hand), QStringLiteral("Move 3 things"));
        hand.key(Qt::Key_Up, Qt::ControlModifier);
        QCOMPARE(dotsOf(hand, g)[1].position.y, 40 + way - kGrid);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
        // If only one end moves, the dots stay.
        hand.click(hand.pixel({700, 270}));
        hand.drag(hand.middle(g.relu), hand.middle(g.relu) + QPoint(0, 40));
        QVERIFY(dotsOf(hand, g) == g.graph.dots(g.wire().to));
    }

    void aStrokeCutsTheWireWhereItRuns() {
        LedChain g;
        g.with({{g.cpu, {700, 200}}});
        WindowHand hand(g.graph);
        const auto knife = Qt::ControlModifier | Qt::ShiftModifier;
        const double y = hand.canvas.scene().wires().find(g.wire())->start.y();
        hand.drag(hand.pixel({700, y - 20}), hand.pixel({704, y + 20}), knife); // the wire's former position
        QCOMPARE(hand.undoSteps(), 0);
        hand.drag(hand.pixel({700, 180}), hand.pixel({704, 230}), knife);
        QVERIFY(!hand.graph().sourceOf(g.wire().to));
        QVERIFY(hand.graph().routes().empty());
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot({g.wire().to, 0})->at));
    }

    void aWireThatIsPluggedElsewhereKeepsItsDots() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}});
        WindowHand hand(g.graph);
        const QPoint to = hand.input(g.exp, 0);
        hand.press(hand.input(g.out, 0));
        hand.moveTo(to + QPoint(9, 0));
        hand.moveTo(to);
        QVERIFY(!hand.canvas.grab().isNull());
        hand.release(to);
        QVERIFY(hand.graph().sourceOf({g.exp, 0}) == PortRef(g.relu, 0));
        QVERIFY(hand.graph().dots({g.exp, 0}) == g.graph.dots(g.wire().to));
        QVERIFY(dotsOf(hand, g).empty());
        QCOMPARE(hand.undoSteps(), 1);
    }

    void aNodePutIntoAWirePartsItsDotsAndGivesThemBack() {
        LedChain g;
        g.with({{g.cpu, {620, 53}}, {g.cpu, {840, 53}}});
        WindowHand hand(g.graph);
        hand.press(hand.middle(g.exp));
        hand.moveTo(hand.pixel({730, 100}));
        hand.moveTo(hand.pixel({730, 53}));
        QVERIFY(!hand.canvas.grab().isNull());
        hand.release(hand.pixel({730, 53}));
        QVERIFY(hand.graph().sourceOf(g.wire().to) == PortRef(g.exp, 0));
        QCOMPARE(hand.graph().dots({g.exp, 0}).size(), std::size_t(1));
        QCOMPARE(hand.graph().dots({g.exp, 0})[0].position.x, 620.0);
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(1));
        QCOMPARE(dotsOf(hand, g)[0].position.x, 840.0);
        QCOMPARE(hand.undoSteps(), 1);
        hand.click(hand.middle(g.exp));
        hand.key(Qt::Key_Delete, Qt::ControlModifier);
        QVERIFY(hand.graph().sourceOf(g.wire().to) == PortRef(g.relu, 0));
        QVERIFY(dotsOf(hand, g) == g.graph.dots(g.wire().to));
    }

    void copiesKeepTheirDots() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}});
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.relu));
        hand.click(hand.middle(g.out), Qt::ControlModifier);
        hand.key(Qt::Key_C, Qt::ControlModifier);
        hand.key(Qt::Key_V, Qt::ControlModifier);
        const Node* copy = hand.node("out 2");
        QVERIFY(copy);
        QCOMPARE(hand.graph().dots({copy->id, 0}).size(), std::size_t(1));
        QCOMPARE(hand.graph().dots({copy->id, 0})[0].position.x, 724.0);
    }

    void aLaneThatGoesTakesItsDotsAlong() {
        LedChain g;
        g.with({{g.cpu, {640, 150}}, {g.cuda, {700, 40}}, {g.last, {760, 40}}});
        Graph moved = g.graph;
        moved.apply(removeLane(moved, g.cuda, g.last));
        QCOMPARE(moved.dots(g.wire().to).size(), std::size_t(3));
        QVERIFY(moved.dots(g.wire().to)[1].lane == g.last);
        Graph less = g.graph;
        less.apply(removeLane(less, g.cuda, LaneId::none));
        QCOMPARE(less.dots(g.wire().to).size(), std::size_t(2));
    }

    void aKeptModuleHasItsDots() {
        LedChain g;
        g.with({{g.cpu, {640, 150}}, {g.cpu, {700, 8}}});
        g.graph.apply(makeModule(g.graph, {{g.relu, g.out}, {}, std::nullopt}));
        const Fragment kept = moduleFragment(g.graph, g.graph.frames().begin()->id);
        QCOMPARE(kept.routes.size(), std::size_t(1));
        QVERIFY(kept.routes[0].dots[0].position == (Position{200, 134})); // relative to the module's corner
        QVERIFY(kept.routes[0].dots[1].position == (Position{260, 0}));
    }

    void aComparisonCountsThem() {
        LedChain g;
        const Graph before = g.graph;
        g.with({{g.cpu, {640, 150}}, {g.cpu, {700, 40}}});
        QCOMPARE(differenceOf(before, g.graph), QStringList{QStringLiteral("~ edge relu → out: dots 0 → 2")});
        const Graph two = g.graph;
        g.with({{g.cpu, {640, 158}}, {g.cpu, {700, 40}}});
        QCOMPARE(differenceOf(two, g.graph),
                 QStringList{QStringLiteral("Only positions on the canvas differ.")});
    }

    void dotsLeaveResultsUpToDate() {
        LedChain g;
        const Delta delta = addDot(g.graph, g.wire(), 0, {g.cpu, {700, 40}});
        QVERIFY(!delta.empty());
        QVERIFY(!affectsRun(delta));
    }
};

TWB_GUI_TEST_MAIN(TestDots)
#include "test_dots.moc"
