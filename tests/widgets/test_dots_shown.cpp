#include "support/test_main.h"
#include "widgets/led_chain.h"

#include <QHelpEvent>
#include <QToolTip>

#include <cmath>

using namespace twb;
using namespace twb::test;

/// The positions at which dots are drawn, and when they are hidden.
class TestDotsShown : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theWireRunsSmoothlyThroughItsDots() {
        LedChain g;
        g.with({{g.cpu, {760, 180}}, {g.cuda, {660, 60}}, {g.cpu, {640, 8}}, {g.cpu, {640, 200}}});
        WindowHand hand(g.graph);
        const Scene& scene = hand.canvas.scene();
        const WireShape& wire = *scene.wires().find(g.wire());
        const WirePath way = scene.wires().path(wire);
        QCOMPARE(way.cubicCount(), 5);
        for (std::size_t i = 0; i < 4; ++i) {
            const QPointF at = scene.wires().dot({g.wire().to, i})->at;
            QCOMPARE(way.endOf(int(i)), at);
            QVERIFY(wire.bounds.contains(at));
            // The curve is smooth at the dot.
            const double t = (double(i) + 1) / way.cubicCount();
            const QPointF in = at - way.at(t - 1e-5);
            const QPointF on = way.at(t + 1e-5) - at;
            const double cosine =
                QPointF::dotProduct(in, on) / (std::hypot(in.x(), in.y()) * std::hypot(on.x(), on.y()));
            QVERIFY2(cosine > 0.999, qPrintable(QString::number(cosine)));
        }
        // The wire leaves and enters its ports horizontally, as any wire.
        QVERIFY(way.at(1e-4).x() > way.start().x());
        QVERIFY(std::abs(way.at(1e-4).y() - way.start().y()) < 0.1);
        QVERIFY(way.at(1 - 1e-4).x() < way.end().x());
        QVERIFY(std::abs(way.at(1 - 1e-4).y() - way.end().y()) < 0.1);
        // A rerouted wire does not touch the direct path.
        QVERIFY(way.distanceTo((wire.start + wire.end) / 2) > 20);
    }

    /// Straight between dots of equal height, and nearly straight between dots of nearly equal height.
    void betweenTwoDotsTheWireStaysThere() {
        const auto farthest = [](double rise) {
            LedChain g;
            g.with({{g.cpu, {840, 150}}, {g.cpu, {600, 150 + rise}}}); // and further to the right
            WindowHand hand(g.graph);
            const WirePath way =
                hand.canvas.scene().wires().path(*hand.canvas.scene().wires().find(g.wire()));
            double most = 0;
            for (double t = 1; t <= 2; t += 1.0 / 64) {
                const double y = way.at(t / way.cubicCount()).y();
                most = std::max({most, 150 - y, y - 150 - rise});
            }
            return most;
        };
        QVERIFY(farthest(0) < 30);
        QVERIFY(farthest(8) < 30);
        QVERIFY(farthest(60) < 30);
        LedChain g;
        g.with({{g.cpu, {640, 150}}, {g.cpu, {800, 150}}});
        WindowHand hand(g.graph);
        const WirePath way = hand.canvas.scene().wires().path(*hand.canvas.scene().wires().find(g.wire()));
        QCOMPARE(way.cubicCount(), 3);
        for (double t = 1.0 / 3; t < 2.0 / 3; t += 0.01) QCOMPARE(way.at(t).y(), 150.0);
    }

    void onACollapsedLaneADotIsNotShown() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}, {g.cuda, {760, 60}}});
        WindowHand hand(g.graph);
        const DotRef hidden{g.wire().to, 1};
        QVERIFY(hand.canvas.scene().wires().dot(hidden));
        const auto arrow = [&](LaneId lane) {
            const LaneBand& band = *hand.canvas.scene().lanes().find(lane);
            const QRectF header(0, hand.canvas.view().toPixel({0, band.top}).y(),
                                headerWidthFor(hand.canvas.width()), band.height * hand.canvas.view().zoom());
            return chevronOf(header, hand.canvas.height()).center().toPoint();
        };
        hand.click(arrow(g.cuda));
        QVERIFY(hand.graph().find(g.cuda)->collapsed);
        QVERIFY(!hand.canvas.scene().wires().dot(hidden));
        QCOMPARE(hand.canvas.scene().wires().path(*hand.canvas.scene().wires().find(g.wire())).cubicCount(),
                 2);
        // A new dot is inserted between the visible and the hidden one.
        doubleClick(hand, hand.onWire(g.wire(), 0.75));
        QCOMPARE(dotsOf(hand, g).size(), std::size_t(3));
        QVERIFY(dotsOf(hand, g)[1].lane == g.cpu);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.click(arrow(g.cuda));
        QVERIFY(hand.canvas.scene().wires().dot(hidden));
        QVERIFY(runsThrough(hand, g.wire(), hand.canvas.scene().wires().dot(hidden)->at));
    }

    void whatRunsOnAStripEndsThereByWayOfItsDots() {
        LedChain g;
        DeltaBuilder builder(g.graph, "make");
        const NodeId far = addNode(builder, g.cuda, "Sqrt", "far", 880, 16);
        builder.connect({{g.exp, 0}, {far, 0}});
        builder.setDots({far, 0}, {{g.cpu, {720, 250}}});
        Lane lane = *g.graph.find(g.cuda);
        lane.collapsed = true;
        builder.change(lane);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const Edge wire{{g.exp, 0}, {far, 0}};
        QVERIFY(hand.canvas.scene().wires().find(wire)->toStub >= 0);
        QVERIFY(hand.canvas.scene().wires().dot({wire.to, 0}));
        QVERIFY(runsThrough(hand, wire, hand.canvas.scene().wires().dot({wire.to, 0})->at));
    }

    void aLaneIsHighEnoughForItsDots() {
        LedChain g;
        g.with({{g.last, {700, 60}}});
        WindowHand hand(g.graph);
        const double before = hand.canvas.scene().lanes().find(g.last)->height;
        hand.click(dotAt(hand, g, 0));
        for (int i = 0; i < 4; ++i) hand.key(Qt::Key_Down, Qt::ControlModifier | Qt::ShiftModifier);
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.last);
        QVERIFY(band.height > before);
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 0})->at.y() + kDotRadius < band.bottom());
        QVERIFY(hand.canvas.scene().extent().bottom() >= band.bottom());
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(hand.canvas.scene().lanes().find(g.last)->height, before);
    }

    void theImplicitCopyStandsOnItsStretch() {
        LedChain g;
        DeltaBuilder builder(g.graph, "make");
        GraphInfo info;
        info.policy = Policy::implicit;
        builder.setInfo(info);
        Node out = *g.graph.find(g.out);
        out.lane = g.cuda;
        builder.change(out);
        builder.setDots(g.wire().to, {{g.cpu, {620, 240}}, {g.cuda, {850, 90}}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        const Scene& scene = hand.canvas.scene();
        QCOMPARE(scene.ghosts().shapes().size(), std::size_t(1));
        const QRectF ghost = scene.ghosts().shapes()[0].rect;
        const WirePath way = scene.wires().path(*scene.wires().find(g.wire()));
        for (std::size_t i = 0; i < 2; ++i)
            QVERIFY(way.distanceTo(scene.wires().dot({g.wire().to, i})->at) < 0.01);
        QVERIFY(way.distanceTo(ghost.center()) < 0.01);
        QVERIFY(!hand.canvas.grab().isNull());
    }

    void insideAModuleOnlyItsOwnWiresHaveDots() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}});
        DeltaBuilder builder(g.graph, "make");
        const FrameId module = builder.addFrame({FrameId::none, "m", FrameId::none});
        for (const NodeId id : {g.relu, g.out}) {
            Node node = *g.graph.find(id);
            node.frame = module;
            builder.change(node);
        }
        builder.setDots({g.relu, 0}, {{g.cpu, {420, 100}}});
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        QVERIFY(hand.canvas.scene().wires().dot({{g.relu, 0}, 0}));
        hand.click(dotAt(hand, g, 0));
        hand.click(hand.pixel(hand.canvas.scene().wires().dot({{g.relu, 0}, 0})->at), Qt::ControlModifier);
        QCOMPARE(hand.document.selection().dots.size(), std::size_t(2));
        hand.canvas.navigator().enter(module);
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 0}));
        QVERIFY(!hand.canvas.scene().wires().dot({{g.relu, 0}, 0}));
        QVERIFY(hand.document.selection().dots == only(g, 0));
        // A wire that leaves the module takes no dot.
        doubleClick(hand, hand.onWire({{g.sum, 0}, {g.relu, 0}}));
        QCOMPARE(hand.undoSteps(), 0);
    }

    void underTheCardOfACollapsedModuleADotIsNotShown() {
        LedChain g;
        g.with({{g.cpu, {900, 53}}, {g.cpu, {700, 150}}});
        DeltaBuilder builder(g.graph, "make");
        const FrameId module = builder.addFrame({FrameId::none, "m", FrameId::none});
        Node out = *g.graph.find(g.out);
        out.frame = module;
        builder.change(out);
        g.graph.apply(builder.take());
        WindowHand hand(g.graph);
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 0}));
        hand.click(hand.middle(g.out));
        hand.key(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(hand.graph().find(module)->collapsed);
        QVERIFY(!hand.canvas.scene().wires().dot({g.wire().to, 0})); // it was inside the module
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 1}));
        hand.key(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(hand.canvas.scene().wires().dot({g.wire().to, 0}));
    }

    void picturesShowThem() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}});
        WindowHand hand(g.graph);
        const QImage picture = hand.canvas.picture().image(2);
        DeltaBuilder builder(g.graph, "straight");
        builder.setDots(g.wire().to, {});
        Graph straight = g.graph;
        straight.apply(builder.take());
        hand.document.setGraph(straight, {}, QString());
        const QImage without = hand.canvas.picture().image(2);
        QCOMPARE(picture.size(), without.size());
        // At the dot, one image has the wire's colour and the other does not.
        const double left = hand.canvas.scene().extent().left() - 24 - headerWidthFor(1e6);
        const QPointF at = QPointF(700 - left, 150) * 2;
        QCOMPARE(picture.pixelColor(at.toPoint()), Theme::current().floatWire);
        QVERIFY(without.pixelColor(at.toPoint()) != Theme::current().floatWire);
    }

    void wireRunsThroughDotsAtLowZoom() {
        LedChain g;
        g.with({{g.cpu, {700, 280}}});
        WindowHand hand(g.graph);
        hand.canvas.navigator().show({hand.canvas.scene().wires().dot({g.wire().to, 0})->at, 0.2});
        const QPoint at = dotAt(hand, g, 0);
        const QImage there = hand.canvas.grab().toImage();
        const QColor ground = there.pixelColor(at + QPoint(0, 6));
        bool found = false;
        for (int y = -2; y <= 2; ++y) found = found || there.pixelColor(at + QPoint(0, y)) != ground;
        QVERIFY(found);
        // A dot that is too small to be drawn is not hit by a click.
        hand.click(at);
        QVERIFY(hand.document.selection().dots.empty());
        QVERIFY(hand.document.selection().edge == g.wire());
    }

    void theTooltipSaysWhatItIs() {
        LedChain g;
        g.with({{g.cpu, {700, 150}}});
        WindowHand hand(g.graph);
        const QPoint at = dotAt(hand, g, 0);
        QHelpEvent help(QEvent::ToolTip, at, hand.canvas.mapToGlobal(at));
        QApplication::sendEvent(&hand.canvas, &help);
        QVERIFY2(QToolTip::text().contains(QStringLiteral("relu → out")), qPrintable(QToolTip::text()));
        QVERIFY(QToolTip::text().contains(QStringLiteral("Drag this dot")));
        const QImage before = hand.canvas.grab().toImage();
        hand.hover(at);
        QVERIFY(hand.canvas.grab().toImage() != before);
        QCOMPARE(hand.canvas.cursor().shape(), Qt::SizeAllCursor);
    }

    void aWireHasRoomForAHundred() {
        LedChain g;
        std::vector<Dot> dots;
        for (int i = 0; i < int(kMostDots); ++i) dots.push_back({g.cpu, {600 + 2.0 * i, 150}});
        g.with(dots);
        WindowHand hand(g.graph);
        hand.document.select({{}, {}, g.wire()});
        hand.key(Qt::Key_Period);
        QCOMPARE(dotsOf(hand, g).size(), kMostDots);
        QCOMPARE(hand.undoSteps(), 0);
        QVERIFY(!hand.canvas.grab().isNull());
    }
};

TWB_GUI_TEST_MAIN(TestDotsShown)
#include "test_dots_shown.moc"
