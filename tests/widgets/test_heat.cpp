#include "support/test_main.h"
#include "widgets/canvas/minimap.h"
#include "widgets/window_hand.h"

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

/// x (256 floats) on cpu -> wide (x by 4 rows: 1,024 floats) -> To cuda:0 -> relu, in a module with neg.
struct Small {
    Graph graph;
    NodeId x, wide, to, relu, neg;
    FrameId module;

    Small() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        const LaneId cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260});
        using Sizes = std::vector<std::int64_t>;
        x = addNode(builder, cpu, "Ones", "x", 24, 24, {{"shape", Sizes{256}}});
        const NodeId rows = addNode(builder, cpu, "Ones", "rows", 24, 140, {{"shape", Sizes{4, 1}}});
        wide = addNode(builder, cpu, "Mul", "wide", 280, 24);
        to = addNode(builder, cuda, "To", "to", 480, 24);
        relu = addNode(builder, cuda, "Relu", "relu", 640, 24);
        neg = addNode(builder, cuda, "Neg", "neg", 880, 24);
        builder.connect({{x, 0}, {wide, 0}});
        builder.connect({{rows, 0}, {wide, 1}});
        builder.connect({{wide, 0}, {to, 0}});
        builder.connect({{to, 0}, {relu, 0}});
        builder.connect({{relu, 0}, {neg, 0}});
        module = builder.addFrame({FrameId::none, "two", FrameId::none});
        for (const NodeId id : {relu, neg}) {
            Node node = *builder.graph().find(id);
            node.frame = module;
            builder.change(node);
        }
        graph.apply(builder.take());
    }
};

double luminance(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
}

double contrast(const QColor& a, const QColor& b) {
    const double x = luminance(a) + 0.05;
    const double y = luminance(b) + 0.05;
    return std::max(x, y) / std::min(x, y);
}

double shareOf(const WindowHand& hand, NodeId id) {
    const Scene& scene = hand.canvas.scene();
    return hand.canvas.figures().heat().shares[scene.nodes().slotOf(id)];
}

QColor groundOf(WindowHand& hand, NodeId id) {
    const QPointF corner = hand.canvas.scene().nodes().drawn(id)->rect.topRight() + QPointF(-60, 4);
    return hand.canvas.grab(QRect(hand.pixel(corner), QSize(1, 1))).toImage().pixelColor(0, 0);
}

} // namespace

class TestHeat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void bytesAreThoseOfTheOutputs() {
        const Small g;
        WindowHand hand(g.graph);
        const QColor plain = groundOf(hand, g.wide);
        hand.key(Qt::Key_Y, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(hand.canvas.figures().heat().most, 4096.0);
        QCOMPARE(shareOf(hand, g.x), 0.25);
        QCOMPARE(shareOf(hand, g.wide), 1.0);
        QCOMPARE(groundOf(hand, g.wide), heatColor(Theme::current(), 1));
        QCOMPARE(groundOf(hand, g.x), heatColor(Theme::current(), 0.25));
        // The same at a low zoom.
        while (hand.canvas.view().zoom() > 0.3) hand.canvas.navigator().zoomOut();
        const QPoint middle = hand.middle(g.wide);
        const QColor far = hand.canvas.grab(QRect(middle, QSize(1, 1))).toImage().pixelColor(0, 0);
        QCOMPARE(far, heatColor(Theme::current(), 1));
        hand.canvas.navigator().zoomToFit();
        hand.key(Qt::Key_U, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(groundOf(hand, g.wide), plain);
    }

    void timesAreThoseOfTheRun() {
        const Small g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_I, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(hand.canvas.figures().heat().most, 0.0); // without a run there are no times
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        const Heat& heat = hand.canvas.figures().heat();
        QVERIFY(heat.most > 0 && heat.hasModelled && heat.hasMeasured);
        const auto& nodes = hand.window->runs().state().nodes;
        double most = 0;
        for (const auto& [id, run] : nodes)
            if (!run.once) most = std::max(most, run.ns);
        QCOMPARE(heat.most, most);
        QCOMPARE(shareOf(hand, g.relu), double(float(nodes.at(g.relu).ns / most)));
        for (const auto& [id, run] : nodes)
            if (run.once) QCOMPARE(shareOf(hand, id), 0.0); // not part of an iteration
    }

    void aCollapsedModuleHasTheSum() {
        const Small g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_Y, Qt::ControlModifier | Qt::ShiftModifier);
        DeltaBuilder builder(hand.graph(), "collapse");
        Frame frame = *hand.graph().find(g.module);
        frame.collapsed = true;
        builder.change(frame);
        hand.document.apply(builder.take());
        const NodeShape* card = hand.canvas.scene().modules().cardOf(g.module);
        QVERIFY(card);
        const Scene& scene = hand.canvas.scene();
        QCOMPARE(hand.canvas.figures().heat().most, 8192.0);
        QCOMPARE(hand.canvas.figures().heat().shares[scene.nodes().slotOf(card->id)], 1.0F);
        QCOMPARE(shareOf(hand, g.wide), 0.5);
    }

    /// One hue of increasing lightness, so that colour vision is not needed; text on it is legible.
    void theRampIsLegible_data() {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("dark") << true;
        QTest::newRow("light") << false;
    }
    void theRampIsLegible() {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        double before = luminance(heatColor(theme, 0));
        for (int step = 1; step <= 32; ++step) {
            const QColor color = heatColor(theme, step / 32.0);
            const double now = luminance(color);
            QVERIFY(isDark ? now > before : now < before);
            before = now;
            QVERIFY2(contrast(color, theme.text) >= 4.5,
                     qPrintable(QString::number(contrast(color, theme.text))));
        }
        QVERIFY(contrast(heatColor(theme, 0), heatColor(theme, 1)) > 2);
    }

    /// Even the coldest card stands out from its lane.
    void coldCardsStandOut_data() { theRampIsLegible_data(); }
    void coldCardsStandOut() {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        for (const Device device : {Device::cpu(), Device::cuda(0), Device::cuda(1), Device::cuda(2)}) {
            const double between = contrast(heatColor(theme, 0), theme.laneBackground(device));
            QVERIFY2(between >= 1.2, qPrintable(QString::number(between)));
        }
    }

    void theScaleLeavesTheLanesHeadersAndTheMapAlone() {
        const Small g;
        WindowHand hand(g.graph);
        hand.canvas.minimap().setWanted(true);
        const auto header = [&] {
            hand.canvas.navigator().zoom100();
            return hand.canvas
                .grab(QRect(0, 0, int(headerWidthFor(hand.canvas.width())), hand.canvas.height()))
                .toImage();
        };
        const QImage before = header();
        hand.key(Qt::Key_Y, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(header(), before);
        const QRectF scale = heatScaleBox(QSizeF(hand.canvas.size()));
        QVERIFY(!scale.isEmpty());
        const auto* map = hand.canvas.findChild<Minimap*>();
        QVERIFY(!map->isVisible() || !QRectF(map->geometry()).intersects(scale));
        // After zoom to fit, the cards are above the scale.
        hand.canvas.navigator().zoomToFit();
        for (const NodeId id : {g.x, g.wide, g.relu, g.neg})
            QVERIFY(hand.canvas.view().toPixel(hand.shape(id).rect.bottomRight()).y() < scale.top());
    }

    void theScaleIsDrawnAndSaysWhatIsModelled() {
        const Small g;
        WindowHand hand(g.graph);
        const auto foot = [&] {
            return hand.canvas.grab(heatScaleBox(QSizeF(hand.canvas.size())).toRect()).toImage();
        };
        const QImage none = foot();
        hand.key(Qt::Key_Y, Qt::ControlModifier | Qt::ShiftModifier);
        const QImage bytes = foot();
        QVERIFY(bytes != none);
        hand.key(Qt::Key_I, Qt::ControlModifier | Qt::ShiftModifier);
        const QImage unknown = foot();
        QVERIFY(unknown != bytes);
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(foot() != unknown);
        QCOMPARE(heatKind(hand.canvas.figures().heat()), QStringLiteral("partly modelled"));
    }

    void theJourneyIsShownWhileAWireIsHovered() {
        const Small g;
        WindowHand hand(g.graph);
        const Edge edge{{g.wide, 0}, {g.to, 0}};
        hand.hover(hand.onWire(edge));
        QVERIFY(hand.canvas.mouse().journey());
        const JourneyShape& journey = *hand.canvas.mouse().journey();
        QCOMPARE(journey.wires, (std::set<Edge>{edge, {{g.to, 0}, {g.relu, 0}}}));
        using Kind = JourneyShape::Mark::Kind;
        const auto markOf = [&](Kind kind, std::size_t n) {
            std::vector<JourneyShape::Mark> all;
            for (const auto& mark : journey.marks)
                if (mark.kind == kind) all.push_back(mark);
            return n < all.size() ? all[n] : JourneyShape::Mark{};
        };
        QCOMPARE(journey.marks.size(), std::size_t(4));
        QCOMPARE(markOf(Kind::created, 0).text, QStringLiteral("created on cpu"));
        QCOMPARE(markOf(Kind::created, 0).at,
                 hand.canvas.scene().modules().portAt({g.wide, 0}, PortSide::output));
        QCOMPARE(markOf(Kind::dies, 0).text, QStringLiteral("last read on cpu"));
        QCOMPARE(markOf(Kind::dies, 0).at, hand.canvas.scene().modules().portAt({g.to, 0}, PortSide::input));
        QCOMPARE(markOf(Kind::copied, 0).text, QStringLiteral("copy 1, on cuda:0"));
        QCOMPARE(markOf(Kind::dies, 1).at,
                 hand.canvas.scene().modules().portAt({g.relu, 0}, PortSide::input));
        const QImage with = hand.canvas.grab().toImage();
        hand.hover(hand.pixel({-400, 200}));
        QVERIFY(!hand.canvas.mouse().journey());
        QVERIFY(hand.canvas.grab().toImage() != with);
    }
};

TWB_GUI_TEST_MAIN(TestHeat)
#include "test_heat.moc"
