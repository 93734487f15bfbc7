#include "support/test_main.h"
#include "widgets/panels/node_table.h"
#include "widgets/window_hand.h"

#include <QHeaderView>
#include <QLabel>

using namespace twb;
using namespace twb::test;

namespace {

QStringList headsOf(const QTableView& table) {
    QStringList out;
    for (int column = 0; column < table.model()->columnCount(); ++column)
        out << table.model()->headerData(column, Qt::Horizontal).toString();
    return out;
}

QStringList columnOf(const QTableView& table, const QString& head) {
    QStringList out;
    const int column = int(headsOf(table).indexOf(head));
    for (int row = 0; row < table.model()->rowCount(); ++row)
        out << table.model()->index(row, column).data().toString();
    return out;
}

void clickHead(QTableView& table, const QString& head) {
    QHeaderView& header = *table.horizontalHeader();
    const int column = int(headsOf(table).indexOf(head));
    table.scrollTo(table.model()->index(0, column));
    const QPoint at(header.sectionViewportPosition(column) + header.sectionSize(column) / 2,
                    header.height() / 2);
    QTest::mouseClick(header.viewport(), Qt::LeftButton, {}, at);
}

} // namespace

class TestNodeTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void timesComeWithTheRunAndSort() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        auto& table = *find<QTableView>(*window, "nodeTable");
        const QStringList unsorted = columnOf(table, QStringLiteral("node"));
        QVERIFY(columnOf(table, QStringLiteral("time")).join(QString()).isEmpty());
        window->runs().run(3);
        QVERIFY(waitForRun(*window));
        const QStringList times = columnOf(table, QStringLiteral("time"));
        QVERIFY(!times.join(QString()).isEmpty());
        QCOMPARE(columnOf(table, QStringLiteral("node")), unsorted);
        for (int column = 0; column < table.model()->columnCount(); ++column) // headings stand above figures
            QCOMPARE(table.model()->headerData(column, Qt::Horizontal, Qt::TextAlignmentRole),
                     table.model()->index(0, column).data(Qt::TextAlignmentRole));
        const auto& graph = window->document().graph();
        for (int row = 0; row < table.model()->rowCount(); ++row) {
            const Node* node = graph.findByName(unsorted[row].toStdString());
            const NodeRun& run = window->runs().state().nodes.at(node->id);
            QCOMPARE(times[row].isEmpty(), run.ns <= 0);
            const QString kind = columnOf(table, QStringLiteral("timing"))[row];
            if (run.ns > 0)
                QVERIFY2(
                    kind.startsWith(run.modelled ? QStringLiteral("modelled") : QStringLiteral("measured")),
                    qPrintable(QStringLiteral("%1 %2 %3").arg(unsorted[row], kind).arg(run.ns)));
        }
        // The second click sorts by time, slowest first.
        clickHead(table, QStringLiteral("time"));
        clickHead(table, QStringLiteral("time"));
        double last = 1e300;
        for (const QString& name : columnOf(table, QStringLiteral("node"))) {
            const double ns = window->runs().state().nodes.at(graph.findByName(name.toStdString())->id).ns;
            QVERIFY2(ns <= last, qPrintable(name));
            last = ns;
        }
        // A row still selects its own node after sorting.
        clickRow(table, 0);
        const auto& selected = window->document().selection().nodes;
        QCOMPARE(selected.size(), std::size_t(1));
        QCOMPARE(toQtName(graph, *selected.begin()), columnOf(table, QStringLiteral("node")).front());
        // Selecting a node selects its row.
        QVERIFY(window->selectNode(QStringLiteral("fc2")));
        QCOMPARE(table.model()->index(table.currentIndex().row(), 0).data().toString(),
                 QStringLiteral("fc2"));
    }

    void timesAndDevicesAreNeverElided() {
        const auto window = makeWindow();
        window->resize(1280, 800);
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        window->runs().run(2);
        QVERIFY(waitForRun(*window));
        for (const char* name : {"nodeTable", "edgeTable"}) {
            auto& table = *find<QTableView>(*window, name);
            for (const char* head : {"device", "transfer", "timing"}) {
                const int column = int(headsOf(table).indexOf(QLatin1String(head)));
                if (column < 0) continue; // one of the other table
                QVERIFY(!table.isColumnHidden(column));
                QVERIFY2(static_cast<QAbstractItemView&>(table).sizeHintForColumn(column) <=
                             table.columnWidth(column),
                         head);
            }
            const int time = int(headsOf(table).indexOf(QStringLiteral("time")));
            QVERIFY(table.columnWidth(time) >=
                    table.fontMetrics().horizontalAdvance(QStringLiteral("999.999 ms")) + 16);
        }
    }

    /// Only a change of the current row was followed, and no change of the selection in the table of edges.
    void rowsFollowTheSelectionAndAClickOnTheCurrentRowSelects() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        Document& document = window->document();
        auto& nodes = *find<QTableView>(*window, "nodeTable");
        auto& edges = *find<QTableView>(*window, "edgeTable");
        const auto rowsOf = [](const QTableView& table) { return table.selectionModel()->selectedRows(); };
        clickRow(nodes, 1);
        const Selection node = document.selection();
        QCOMPARE(node.nodes.size(), std::size_t(1));
        clickRow(edges, 2);
        const Selection edge = document.selection();
        QVERIFY(edge.edge && edge.nodes.empty());
        QVERIFY(rowsOf(nodes).empty());
        QCOMPARE(rowsOf(edges).size(), 1);
        clickRow(nodes, 1);
        QVERIFY(document.selection() == node);
        QVERIFY(rowsOf(edges).empty());
        clickRow(edges, 2);
        QVERIFY(document.selection() == edge);
        // An item that was selected elsewhere, also the one of the current row.
        document.select(node);
        QCOMPARE(rowsOf(nodes).size(), 1);
        QCOMPARE(rowsOf(nodes).front().row(), 1);
        QVERIFY(rowsOf(edges).empty());
        document.select(edge);
        QCOMPARE(rowsOf(edges).size(), 1);
        QCOMPARE(rowsOf(edges).front().row(), 2);
    }

    void aProbeShowsItsNumber() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        auto& table = *find<QTableView>(*window, "nodeTable");
        for (const int iterations : {1, 4}) {
            window->runs().run(iterations);
            QVERIFY(waitForRun(*window));
            const NodeRun& run =
                window->runs().state().nodes.at(window->document().graph().findByName("accuracy")->id);
            QCOMPARE(run.value, QStringLiteral("0.911111"));
            QVERIFY(run.state != StepState::pending);
            QVERIFY(columnOf(table, QStringLiteral("output")).contains(QStringLiteral("0.911111")));
        }
    }

    void aProbeShowsItsNumberDuringTheRun() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        auto& table = *find<QTableView>(*window, "nodeTable");
        const NodeId probe = window->document().graph().findByName("accuracy")->id;
        const auto onCard = [&] {
            const Scene& scene = window->canvas().scene();
            const NodeCard* card = scene.texts().find(scene.nodes().slotOf(probe));
            return card ? card->remark.text() : QString();
        };
        QTest::keyClick(&window->canvas(), Qt::Key_F5, Qt::ControlModifier);
        QTRY_VERIFY(window->runs().done() > 2);
        QTRY_COMPARE(window->runs().state().nodes.at(probe).value, QStringLiteral("0.911111"));
        QTRY_COMPARE(onCard(), QStringLiteral("0.911111"));
        QTRY_VERIFY(columnOf(table, QStringLiteral("output")).contains(QStringLiteral("0.911111")));
        QVERIFY(window->runs().isRunning());
        QTest::keyClick(&window->canvas(), Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*window));
    }

    /// Once, "modelled" was shown for runs without simulated devices.
    void aMeasuredRunIsNowhereCalledModelled() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        builder.addLane({LaneId::none, Device::cuda(0), "", 1, 260}); // an empty lane
        const NodeId x = addNode(builder, cpu, "Ones", "x", 24, 24);
        const NodeId relu = addNode(builder, cpu, "Relu", "relu", 240, 24);
        builder.connect({{x, 0}, {relu, 0}});
        graph.apply(builder.take());
        WindowHand hand(graph);
        hand.window->runs().run(4);
        QVERIFY(waitForRun(*hand.window));
        for (const QString& page : hand.window->bottom().keys()) {
            hand.window->bottom().showPage(page);
            QCoreApplication::processEvents();
            for (const QLabel* label : hand.window->findChildren<QLabel*>())
                if (label->isVisible())
                    QVERIFY2(!label->text().contains(QLatin1String("modelled"), Qt::CaseInsensitive),
                             qPrintable(page + QStringLiteral(": ") + label->text()));
        }
        for (const auto& [id, run] : hand.window->runs().state().nodes) QVERIFY(!run.modelled);
    }

private:
    static QString toQtName(const Graph& graph, NodeId id) {
        return QString::fromStdString(graph.find(id)->name);
    }
};

TWB_GUI_TEST_MAIN(TestNodeTable)
#include "test_node_table.moc"
