#include "support/test_main.h"
#include "widgets/window_hand.h"

#include <QImage>
#include <QSplitter>

#include <cmath>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// One source of each rank from 0 to 3 with a consumer, one below the other, each with its own dtype.
struct Ranks {
    Graph graph;
    LaneId cpu;
    std::vector<NodeId> sources, readers;

    Ranks() {
        DeltaBuilder builder(graph, "make");
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 500});
        const std::vector<std::int64_t> shapes[] = {{}, {8}, {8, 8}, {4, 4, 4}};
        const char* const dtypes[] = {"f32", "i64", "bool", "f64"};
        for (std::size_t i = 0; i < 4; ++i) {
            const std::string number = std::to_string(i);
            sources.push_back(addNode(builder, cpu, "Ones", "s" + number, 16, 16 + 120.0 * double(i),
                                      {{"shape", shapes[i]}, {"dtype", std::string(dtypes[i])}}));
            readers.push_back(addNode(builder, cpu, "Probe", "r" + number, 520, 16 + 120.0 * double(i)));
            builder.connect({{sources.back(), 0}, {readers.back(), 0}});
        }
        graph.apply(builder.take());
    }
};

int apart(const QColor& a, const QColor& b) {
    return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue());
}

/// The number of segments along a line whose colour is closer to the wire's than to the background's.
int piecesAlong(const QImage& image, QPointF from, QPointF to, const QColor& color, const QColor& ground) {
    int pieces = 0;
    bool isOn = false;
    const int steps = int(std::hypot(to.x() - from.x(), to.y() - from.y()) * 4);
    for (int i = 0; i <= steps; ++i) {
        const QPointF at = from + (to - from) * i / steps;
        const QColor seen = image.pixelColor(int(std::lround(at.x())), int(std::lround(at.y())));
        const bool now = apart(seen, color) < apart(seen, ground) * 3 / 2;
        pieces += now && !isOn ? 1 : 0;
        isOn = now;
    }
    return pieces;
}

} // namespace

class TestWireStyle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { isolateSettings(); }

    void aWireTellsDTypeAndRank_data() {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("dark") << true;
        QTest::newRow("light") << false;
    }
    void aWireTellsDTypeAndRank() {
        QFETCH(const bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        Theme::apply(*qobject_cast<QApplication*>(qApp), theme);
        const Ranks g;
        WindowHand hand(g.graph);
        hand.canvas.navigator().zoom100();
        const QColor colors[] = {theme.floatWire, theme.integerWire, theme.boolWire, theme.floatWire};
        hand.canvas.navigator().centerOn({420, 260});
        const QImage image = hand.canvas.grab().toImage();
        for (std::size_t i = 0; i < 4; ++i) {
            const WireShape& wire = *hand.canvas.scene().wires().find({{g.sources[i], 0}, {g.readers[i], 0}});
            QCOMPARE(int(wire.rank), int(i));
            const QPointF end = hand.canvas.view().toPixel(wire.end);
            const QColor ground = image.pixelColor((end + QPointF(-60, -9)).toPoint());
            // Beside the wire there are only its rank marks.
            QCOMPARE(piecesAlong(image, end + QPointF(-34, -3), end + QPointF(-9, -3), colors[i], ground),
                     int(i));
            // Along the wire, rank 0 is dotted and every other rank is solid.
            const int along =
                piecesAlong(image, end + QPointF(-90, 0), end + QPointF(-50, 0), colors[i], ground);
            if (i == 0)
                QVERIFY2(along > 5, qPrintable(QString::number(along)));
            else
                QCOMPARE(along, 1);
        }
    }

    void legendExplainsTheStyle() {
        const Ranks g;
        WindowHand hand(g.graph);
        auto* legend = find<QWidget>(*hand.window, "legend");
        QVERIFY(!legend->isVisible());
        hand.key(Qt::Key_F1, Qt::ShiftModifier);
        QVERIFY(legend->isVisible());
        const QStringList rows = legend->accessibleDescription().split(QStringLiteral("; "));
        for (const char* row :
             {"floating point", "integers", "bool", "strokes: dimensions", "scalar (0-dimensional)",
              "thickness: bytes", "number of wires to a collapsed lane"})
            QVERIFY2(rows.contains(QLatin1String(row)), row);
        // The legend is fully visible, and each row has a sample beside its text.
        QVERIFY(hand.canvas.rect().contains(legend->geometry()));
        const QImage image = legend->grab().toImage();
        const double height = double(image.height() - 24) / double(rows.size());
        for (qsizetype i = 0; i < rows.size(); ++i) {
            std::set<QRgb> seen;
            for (int y = int(12 + height * double(i)); y < int(12 + height * double(i + 1)); ++y)
                for (int x = 12; x < 56; ++x) seen.insert(image.pixel(x, y));
            QVERIFY2(seen.size() > 1, qPrintable(rows[i]));
        }
        hand.key(Qt::Key_F1, Qt::ShiftModifier);
        QVERIFY(!legend->isVisible());
    }

    /// Its first rows were cut off.
    void aLowCanvasShowsTheWholeLegend() {
        const Ranks g;
        WindowHand hand(g.graph);
        hand.key(Qt::Key_F1, Qt::ShiftModifier);
        auto* legend = find<QWidget>(*hand.window, "legend");
        const QSize before = legend->size();
        hand.window->resize(1400, 600);
        auto* splitter = qobject_cast<QSplitter*>(hand.window->bottom().parentWidget());
        QVERIFY(splitter);
        splitter->setSizes({1, 10'000});
        QCoreApplication::processEvents();
        QVERIFY2(hand.canvas.height() < before.height(),
                 qPrintable(QStringLiteral("%1 and %2").arg(hand.canvas.height()).arg(before.height())));
        const QRect place = legend->geometry();
        QVERIFY2(hand.canvas.rect().contains(place), qPrintable(QStringLiteral("%1 × %2 at %3, %4 in %5 × %6")
                                                                    .arg(place.width())
                                                                    .arg(place.height())
                                                                    .arg(place.x())
                                                                    .arg(place.y())
                                                                    .arg(hand.canvas.width())
                                                                    .arg(hand.canvas.height())));
        QVERIFY(legend->width() > before.width());
    }
};

TWB_GUI_TEST_MAIN(TestWireStyle)
#include "test_wire_style.moc"
