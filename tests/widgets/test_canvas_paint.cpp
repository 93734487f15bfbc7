#include "support/test_main.h"
#include "widgets/canvas/canvas_tooltip.h"
#include "widgets/canvas/detail.h"
#include "widgets/canvas/minimap.h"
#include "widgets/canvas/thumbnail.h"
#include "widgets/canvas_fixture.h"

#include <QImage>
#include <QPainter>

using namespace twb;
using namespace twb::test;

namespace {

/// `count` nodes in chains of a hundred over three lanes.
Graph chains(int count) {
    Graph graph;
    Delta delta;
    std::vector<LaneId> lanes;
    for (int i = 0; i < 3; ++i) {
        Lane lane{graph.newLaneId(static_cast<std::uint64_t>(i)), i == 1 ? Device::cuda(0) : Device::cpu(),
                  "", i, 0};
        lanes.push_back(lane.id);
        delta.lanes.push_back({std::nullopt, lane});
    }
    for (int i = 0; i < count; ++i) {
        Node node;
        node.id = graph.newNodeId(static_cast<std::uint64_t>(i));
        node.op = i % 100 == 0 ? "Ones" : "Relu";
        node.name = "node " + std::to_string(i);
        node.lane = lanes[static_cast<std::size_t>(i / 100) % 3];
        const int row = i / 300;
        node.position = {16.0 + (i % 100) * 160, 16.0 + row * 96};
        if (i % 100 != 0)
            delta.edgesAdded.push_back(
                {{graph.newNodeId(static_cast<std::uint64_t>(i) - 1), 0}, {node.id, 0}});
        delta.nodes.push_back({std::nullopt, std::move(node)});
    }
    graph.apply(delta);
    return graph;
}

int pixelsOf(const QImage& image, const QColor& color) {
    int count = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y).rgb() == color.rgb() ? 1 : 0;
    }
    return count;
}

} // namespace

class TestCanvasPaint : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everySizePaintsAtEveryZoom_data() {
        QTest::addColumn<int>("count");
        for (const int count : {0, 1, 1000, 100000}) QTest::addRow("%d", count) << count;
    }
    void everySizePaintsAtEveryZoom() {
        QFETCH(int, count);
        ShownCanvas c(chains(count));
        for (int step = 0; step < 12; ++step) {
            const QImage image = c.canvas.grab().toImage();
            QVERIFY(!image.isNull());
            if (count > 0 && step == 0) {
                // A node is visible at any zoom.
                QVERIFY(image != QImage(image.size(), image.format()));
                QVERIFY(pixelsOf(image, Theme::current().canvas) < image.width() * image.height());
            }
            c.canvas.navigator().zoomIn();
            c.canvas.navigator().zoomIn();
        }
        for (int step = 0; step < 30; ++step) c.canvas.navigator().zoomOut();
        QVERIFY(!c.canvas.grab().isNull());
    }

    void bothThemesAndARunPaint() {
        SmallGraph g;
        for (const Theme* theme : {&Theme::dark(), &Theme::light()}) {
            Theme::apply(*qApp, *theme);
            ShownCanvas c(g.graph);
            RunState run;
            int i = 0;
            for (const Node& node : c.document.graph().nodes())
                run.nodes[node.id] = {
                    static_cast<StepState>(i++ % 7), 1234.0 * i, i % 2 == 0, i % 3 == 0, {}, {}};
            c.canvas.setRunState(&run);
            const QImage fresh = c.canvas.grab().toImage();
            QVERIFY(pixelsOf(fresh, theme->good) + pixelsOf(fresh, theme->text) > 0);
            run.stale = true;
            c.canvas.runStateChanged();
            QVERIFY(c.canvas.grab().toImage() != fresh);
            c.canvas.setRunState(nullptr);
        }
        Theme::apply(*qApp, Theme::dark());
    }

    void selectionIsDrawnInTheAccent() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const QImage before = c.canvas.grab().toImage();
        c.document.select({{g.a}, {}, std::nullopt});
        const QImage after = c.canvas.grab().toImage();
        QVERIFY(pixelsOf(after, Theme::current().accent) > pixelsOf(before, Theme::current().accent) + 200);
    }

    void theTooltipOfAnImportedNodeNamesItsSourceLine() {
        SmallGraph g;
        DeltaBuilder builder(g.graph, "import");
        Node node = *g.graph.find(g.sum);
        node.source = SourceLine{"a<b>/net.py", 11, "forward"};
        builder.change(node);
        g.graph.apply(builder.take());
        ShownCanvas c(g.graph);
        const auto tooltip = [&](NodeId id) {
            Hit hit;
            hit.kind = Hit::Kind::node;
            hit.node = id;
            return tooltipFor(hit, c.document, c.canvas.scene(), nullptr);
        };
        QVERIFY2(tooltip(g.sum).contains(QStringLiteral("from a&lt;b&gt;/net.py:11 in forward")),
                 qPrintable(tooltip(g.sum)));
        QVERIFY(!tooltip(g.out).contains(QStringLiteral("from ")));
    }

    void aRunOnAnotherMachineNamesItWhereItsTimesAreMeasured() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const Edge edge{{g.sum, 0}, {g.out, 0}};
        RunState run;
        run.nodes[g.sum].ns = 2e6;
        run.nodes[g.out].ns = 1e6;
        run.nodes[g.out].modelled = true;
        EdgeRun copy;
        copy.ns = 1e6;
        copy.modelled = copy.predicted = false;
        run.edges[edge] = copy;
        const auto tooltip = [&](Hit::Kind kind, NodeId node) {
            Hit hit;
            hit.kind = kind;
            hit.node = node;
            hit.wire = edge;
            return tooltipFor(hit, c.document, c.canvas.scene(), &run);
        };
        QVERIFY(tooltip(Hit::Kind::node, g.sum).contains(QStringLiteral("2.000 ms (measured)")));
        QVERIFY(!tooltip(Hit::Kind::wire, NodeId::none).contains(QStringLiteral("measured")));
        run.host = QStringLiteral("gpu-server");
        QVERIFY2(
            tooltip(Hit::Kind::node, g.sum).contains(QStringLiteral("2.000 ms (measured on gpu-server)")),
            qPrintable(tooltip(Hit::Kind::node, g.sum)));
        QVERIFY(tooltip(Hit::Kind::node, g.out).contains(QStringLiteral("1.000 ms (modelled)")));
        QVERIFY2(tooltip(Hit::Kind::wire, NodeId::none).contains(QStringLiteral("(measured on gpu-server)")),
                 qPrintable(tooltip(Hit::Kind::wire, NodeId::none)));
    }

    void aPictureShowsTheWholeGraph() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        const QImage once = c.canvas.picture().image(1);
        const QImage twice = c.canvas.picture().image(2);
        QVERIFY(once.width() > c.canvas.scene().extent().width());
        QVERIFY(std::abs(twice.width() - 2 * once.width()) <= 2);
        const QImage huge = c.canvas.picture().image(1000);
        QVERIFY(huge.width() <= 16384 && huge.height() <= 16384);
        QImage page(800, 600, QImage::Format_ARGB32_Premultiplied);
        page.fill(Qt::transparent);
        QPainter painter(&page);
        c.canvas.picture().paint(painter, QRectF(0, 0, 800, 600));
        painter.end();
        QVERIFY(page.pixelColor(2, 2).alpha() == 255);
    }

    void theMinimapLeadsThere() {
        ShownCanvas c(chains(3000));
        c.canvas.minimap().setWanted(true);
        c.canvas.navigator().zoom100();
        auto* map = c.canvas.findChild<Minimap*>();
        QVERIFY(map && map->isVisible());
        map->grab();
        const QPointF before = c.canvas.view().viewport().center();
        QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() - 20, map->height() / 2));
        QVERIFY(c.canvas.view().viewport().center().x() > before.x());
    }

    /// It was an empty box, whatever its text.
    void aNoteTooSmallToReadShowsItsLines() {
        QImage images[2];
        const char* const texts[] = {"first line of the note\nsecond line", "one"};
        for (int i = 0; i < 2; ++i) {
            SmallGraph g;
            DeltaBuilder builder(g.graph, "Add note");
            builder.addNote({NoteId::none, texts[i], g.graph.lanes().begin()->id, {16, 200}, 300, 100});
            g.graph.apply(builder.take());
            ShownCanvas c(g.graph);
            c.canvas.minimap().setWanted(false);
            c.canvas.navigator().zoomAt(c.canvas.rect().center(), 0.3);
            QVERIFY(c.canvas.view().zoom() < kReadableZoom);
            images[i] = c.canvas.grab().toImage();
            Hit hit;
            hit.kind = Hit::Kind::note;
            hit.note = c.canvas.scene().notes().back().id; // SmallGraph has one, too
            const QString shown = tooltipFor(hit, c.document, c.canvas.scene(), nullptr);
            QVERIFY2(shown.contains(QLatin1String(texts[i]).right(3)), qPrintable(shown));
        }
        QVERIFY(images[0] != images[1]);
    }

    /// The start page's pictures had notes and figures in letters of two pixels.
    void aSmallPictureIsFilledByItsCardsAndHasNoNote() {
        const QSize size(222, 120);
        const auto pictureOf = [&](const Graph& graph) {
            const DeviceMap devices = makeDeviceMap(graph, {}, *profiles());
            return Thumbnail(graph, analyze(graph, devices, Policy::strict, nullptr), devices, 0)
                .small(size, 2);
        };
        SmallGraph small;
        const QImage picture = pictureOf(small.graph);
        QCOMPARE(picture.size(), 2 * size);
        QCOMPARE(picture.devicePixelRatio(), 2.0);
        // Each lane has one colour, except at its cards and wires.
        const auto isDrawn = [&](int x) {
            for (int y = 0; y < picture.height(); ++y)
                if (picture.pixel(x, y) != picture.pixel(0, y)) return true;
            return false;
        };
        int first = 0;
        int last = picture.width() - 1;
        while (first < last && !isDrawn(first)) ++first;
        while (last > first && !isDrawn(last)) --last;
        QVERIFY2(last - first > 0.85 * picture.width(), qPrintable(QString::number(last - first)));
        DeltaBuilder builder(small.graph, "remove the note");
        builder.removeNote(small.note);
        small.graph.apply(builder.take());
        QCOMPARE(pictureOf(small.graph), picture);
    }

    void theMinimapCoversNoNote() {
        // Twelve rows of cards, far more than fit into the view, and notes at the minimap's position.
        ShownCanvas c(chains(3000));
        c.canvas.minimap().setWanted(true);
        c.canvas.navigator().zoom100();
        auto* map = c.canvas.findChild<Minimap*>();
        QVERIFY(map->isVisible());
        const auto under = [&] {
            return QRectF(c.canvas.view().toScene(map->geometry().topLeft()),
                          c.canvas.view().toScene(map->geometry().bottomRight()));
        };
        std::vector<QPoint> places;
        for (int i = 0; i < 4 && map->isVisible(); ++i) {
            places.push_back(map->pos());
            const QRectF taken = under();
            const LaneBand* band = c.canvas.scene().lanes().at(taken.center().y());
            DeltaBuilder builder(c.document.graph(), "Add note");
            builder.addNote({NoteId::none,
                             "a note",
                             band->id,
                             {taken.center().x(), taken.center().y() - band->top},
                             80,
                             0});
            c.document.apply(builder.take());
            if (!map->isVisible()) break;
            for (const NoteShape& note : c.canvas.scene().notes()) QVERIFY(!note.rect.intersects(under()));
        }
        QVERIFY(places.size() > 1); // the minimap moved to another corner,
        QVERIFY(!map->isVisible()); // and is hidden when no corner is free
    }

    void aLowLaneSaysThatItIsModelledBeforeItsMemory() {
        for (const double height : {104.0, 120.0, 200.0}) {
            Graph graph;
            DeltaBuilder builder(graph, "make");
            builder.addLane({LaneId::none, Device::cuda(0), "model", 0, height});
            builder.addLane({LaneId::none, Device::cpu(), "", 1, 500});
            graph.apply(builder.take());
            ShownCanvas c(std::move(graph));
            const QImage header = c.canvas.grab().toImage().copy(QRect(0, 0, 160, static_cast<int>(height)));
            // The tag is amber, and no other item is.
            int amber = 0;
            for (int y = 0; y < header.height(); ++y)
                for (int x = 0; x < header.width(); ++x) {
                    const QColor at = header.pixelColor(x, y);
                    amber += at.red() - at.blue() > 80 ? 1 : 0;
                }
            QVERIFY2(amber > 20, qPrintable(QString::number(height)));
        }
    }

    void accessible() {
        SmallGraph g;
        ShownCanvas c(g.graph);
        QVERIFY(!c.canvas.accessibleName().isEmpty());
        QVERIFY(c.canvas.focusPolicy() & Qt::TabFocus);
        c.canvas.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&c.canvas));
        c.canvas.clearFocus();
        c.canvas.setFocus(Qt::TabFocusReason);
        const QImage focused = c.canvas.grab().toImage();
        QCOMPARE(focused.pixelColor(0, 300).rgb(), Theme::current().accent.rgb());
    }
};

TWB_GUI_TEST_MAIN(TestCanvasPaint)
#include "test_canvas_paint.moc"
