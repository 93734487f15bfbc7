#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/add_op.h"
#include "widgets/keyboard_hand.h"
#include "widgets/panels/ledger_model.h"

#include <QMenuBar>

#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// x on cpu, copied to a lane of rank 1 and negated there; an empty lane of rank 2.
struct ThreeRanks {
    Graph graph;
    LaneId cpu, cuda, there, far;
    NodeId x, to, neg;

    ThreeRanks() {
        DeltaBuilder builder(graph, "make");
        far = builder.addLane({LaneId::none, Device::cpu(2), "", 0, 120});
        cpu = builder.addLane({LaneId::none, Device::cpu(), "", 1, 200});
        there = builder.addLane({LaneId::none, Device::cuda(0, 1), "", 2, 200});
        cuda = builder.addLane({LaneId::none, Device::cuda(0), "", 3, 160});
        x = addNode(builder, cpu, "Ones", "x", 24, 24, {{"shape", std::vector<std::int64_t>{1000}}});
        to = addNode(builder, there, "To", "to", 240, 24);
        neg = addNode(builder, there, "Neg", "neg", 440, 24);
        builder.connect({{x, 0}, {to, 0}});
        builder.connect({{to, 0}, {neg, 0}});
        graph.apply(builder.take());
    }
};

/// Clicks an entry of each menu that opens in turn, by its text without a mnemonic.
class MenuPath : public QObject {
public:
    explicit MenuPath(QStringList texts) : m_left(std::move(texts)) {
        connect(&m_timer, &QTimer::timeout, this, &MenuPath::look);
        m_timer.start(5);
    }
    bool isDone() const { return m_left.isEmpty(); }

private:
    void look() {
        QMenu* menu = openMenu();
        if (!menu || menu == m_clicked) return;
        for (QAction* entry : menu->actions()) {
            if (entry->text().remove(QLatin1Char('&')) != m_left.front()) continue;
            m_clicked = menu;
            m_left.removeFirst();
            if (m_left.isEmpty()) m_timer.stop();
            QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
            return;
        }
    }
    QTimer m_timer;
    QStringList m_left;
    QMenu* m_clicked = nullptr;
};

std::vector<std::string> devicesOf(const Graph& graph) {
    std::vector<std::string> out;
    for (const Lane& lane : graph.lanesInOrder()) out.push_back(lane.device.toString());
    return out;
}

} // namespace

class TestRankLanes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// A value that the host reads is on the cpu of the lane's rank, for which a lane is added: here,
    /// a condition.
    void hostValuesOfAnEntryAreOnTheRank() {
        const ThreeRanks g;
        const auto devicesWith = [&](LaneId lane) {
            Graph graph = g.graph;
            std::vector<NodeId> added;
            graph.apply(addOp(graph, {QStringLiteral("If example"), lane, {600, 40}}, &added));
            std::set<std::string> devices;
            for (const NodeId id : added) devices.insert(graph.deviceOf(*graph.find(id)).toString());
            QString out;
            for (const std::string& device : devices)
                out += QString::fromStdString(device) + QLatin1Char(' ');
            return out;
        };
        QCOMPARE(devicesWith(g.there), QStringLiteral("rank1/cpu rank1/cuda:0 "));
        QCOMPARE(devicesWith(g.cuda), QStringLiteral("cpu cuda:0 "));
    }

    /// The lanes of a rank stand together below its title; the space of the title belongs to no other lane.
    void eachRankHasATitle() {
        const ThreeRanks g;
        WindowHand hand(g.graph);
        QCOMPARE(devicesOf(hand.graph()),
                 (std::vector<std::string>{"cpu", "cuda:0", "rank1/cuda:0", "rank2/cpu"}));
        const LaneStack& lanes = hand.canvas.scene().lanes();
        const auto band = [&](LaneId id) -> const LaneBand& { return *lanes.find(id); };
        QVERIFY(band(g.cpu).rankTitle.isEmpty() && band(g.cuda).rankTitle.isEmpty());
        QCOMPARE(band(g.there).rankTitle, QStringLiteral("Rank 1 · 25 GbE"));
        QCOMPARE(band(g.far).rankTitle, QStringLiteral("Rank 2 · 25 GbE"));
        QCOMPARE(band(g.cuda).top, band(g.cpu).bottom());
        QCOMPARE(band(g.there).top, band(g.cuda).bottom() + LaneStack::kRankTitle);
        QCOMPARE(band(g.far).top, band(g.there).bottom() + LaneStack::kRankTitle);
        QVERIFY(band(g.there).simulated && band(g.far).simulated);
        const double inTitle = band(g.there).top - LaneStack::kRankTitle / 2;
        QCOMPARE(lanes.at(inTitle)->id, g.there);
    }

    /// Its ink is on the canvas, in the column of the headers.
    void theTitleIsDrawn_data() {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("dark") << true;
        QTest::newRow("light") << false;
    }
    void theTitleIsDrawn() {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        Theme::apply(*qobject_cast<QApplication*>(qApp), theme);
        const ThreeRanks g;
        WindowHand hand(g.graph);
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.there);
        const int bottom = hand.pixel({0, band.top}).y();
        const int top = hand.pixel({0, band.top - LaneStack::kRankTitle}).y();
        QVERIFY(bottom - top > 14);
        const QImage image = hand.canvas.grab().toImage();
        const double scale = image.devicePixelRatio();
        int ink = 0;
        for (int y = top + 2; y < bottom - 2; ++y)
            for (int x = 8; x < 150; ++x) {
                const QColor pixel = image.pixelColor(int(x * scale), int(y * scale));
                const int difference = std::abs(pixel.lightness() - theme.canvas.lightness());
                ink += difference > 90 ? 1 : 0;
            }
        QVERIFY2(ink > 40, qPrintable(QString::number(ink)));
    }

    void aLaneOfAnotherRankIsAddedByTheMenu() {
        const ThreeRanks g;
        WindowHand hand(g.graph);
        QMenu* add = nullptr;
        for (QMenu* menu : hand.window->menuBar()->findChildren<QMenu*>())
            if (menu->title().remove(QLatin1Char('&')) == QLatin1String("Lane of another rank")) add = menu;
        QVERIFY(add);
        const auto choose = [&](const char* text) {
            MenuPath path({QString::fromUtf8(text)});
            add->popup({0, 0});
            QTRY_VERIFY(path.isDone());
        };
        choose("rank3/cuda:0 lane"); // the rank after the last one
        QCOMPARE(devicesOf(hand.graph()).back(), std::string("rank3/cuda:0"));
        QCOMPARE(hand.undoSteps(), 1);
        choose("rank1/cuda:1 lane"); // its first GPU without a lane
        choose("rank1/cpu lane");
        QCOMPARE(devicesOf(hand.graph()),
                 (std::vector<std::string>{"cpu", "cuda:0", "rank1/cuda:0", "rank1/cuda:1", "rank1/cpu",
                                           "rank2/cpu", "rank3/cuda:0"}));
        QVERIFY(hand.document.devices().isSimulated(Device::cuda(1, 1)));
        QVERIFY(!hand.document.analysis().hasErrors());
        const Graph read = parseProject(toProjectText(hand.graph()), "here");
        QVERIFY(read == hand.graph());
    }

    /// By the lane's header: its nodes go to another rank, and an edge becomes a mismatch with a fix.
    void theHeaderSetsTheRankOfALane() {
        const ThreeRanks g;
        WindowHand hand(g.graph);
        const LaneBand& band = *hand.canvas.scene().lanes().find(g.there);
        MenuPath path({QStringLiteral("Device of this lane"), QStringLiteral("Of another rank"),
                       QStringLiteral("rank2/cuda:0")});
        hand.click({20, hand.pixel({0, band.top + band.height / 2}).y()});
        QTRY_VERIFY(path.isDone());
        QTRY_COMPARE(hand.graph().find(g.there)->device, Device::cuda(0, 2));
        QCOMPARE(hand.undoSteps(), 1);
        const LaneStack& lanes = hand.canvas.scene().lanes();
        QCOMPARE(lanes.find(g.far)->rankTitle, QStringLiteral("Rank 2 · 25 GbE"));
        QVERIFY(lanes.find(g.there)->rankTitle.isEmpty()); // below the other lane of the rank
        QTRY_VERIFY(!QApplication::activePopupWidget() && hand.canvas.hasFocus()); // all menus are closed
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(hand.graph() == g.graph);
    }

    void aLaneStaysAmongThoseOfItsRank() {
        const ThreeRanks g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.neg)); // the lane at hand is that of the selection
        hand.key(Qt::Key_PageUp, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(hand.undoSteps(), 0);
        const auto header = [&](LaneId id) {
            const LaneBand& band = *hand.canvas.scene().lanes().find(id);
            return QPoint(40, hand.pixel({0, band.top + band.height / 2}).y());
        };
        hand.drag(header(g.cpu), header(g.there) + QPoint(0, 12));
        QCOMPARE(devicesOf(hand.graph()),
                 (std::vector<std::string>{"cuda:0", "cpu", "rank1/cuda:0", "rank2/cpu"}));
    }

    /// Before a run, the ledger has the price of the link by its formula, and names the link.
    void theLedgerNamesTheLink() {
        const ThreeRanks g;
        WindowHand hand(g.graph);
        auto* model = hand.window->findChild<LedgerModel*>();
        QVERIFY(model);
        QCOMPARE(model->rows().size(), std::size_t(1));
        const TransferFigures& figures = model->rows()[0].figures;
        QCOMPARE(figures.link, std::string("25 GbE"));
        QCOMPARE(figures.predictedNs, 30'000 + 4000 / 2.9);
        const auto text = [&](LedgerModel::Column column) {
            return model->data(model->index(0, column), Qt::DisplayRole).toString();
        };
        QCOMPARE(text(LedgerModel::MemoryColumn), QStringLiteral("25 GbE"));
        hand.canvas.grab(); // prices are laid out as they are drawn
        const Scene& scene = hand.canvas.scene();
        const PriceLabel* label = scene.labels().ofNode(scene.nodes().slotOf(g.to));
        QVERIFY(label);
        QVERIFY2(label->remark.text().contains(QLatin1String("25 GbE")), qPrintable(label->remark.text()));
    }

    void everyGpuOfARankHasItsColor() {
        for (const Theme* theme : {&Theme::dark(), &Theme::light()}) {
            std::set<QRgb> colors;
            const std::array devices{Device::cuda(0),    Device::cuda(1),    Device::cuda(0, 1),
                                     Device::cuda(1, 1), Device::cuda(0, 2), Device::cuda(1, 2)};
            for (const Device device : devices) colors.insert(theme->device(device).rgb());
            QCOMPARE(colors.size(), devices.size());
        }
    }
};

TWB_GUI_TEST_MAIN(TestRankLanes)
#include "test_rank_lanes.moc"
