#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/file_answer.h"
#include "widgets/panels/export_plot.h"
#include "widgets/panels/ledger_view.h"
#include "widgets/panels/rolling_band.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/window_hand.h"

#include <QHeaderView>
#include <QHelpEvent>
#include <QImage>
#include <QToolTip>
#include <QWheelEvent>

#include <cmath>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// `count` tensors of increasing size, each copied from the cpu to cuda:0 in every iteration.
Graph manyTransfers(int count) {
    GraphMaker g;
    for (int i = 0; i < count; ++i) {
        const std::string name = "x" + std::to_string(i);
        const NodeId x = g.node("RandomNormal", name, "cpu",
                                {{"shape", std::vector<std::int64_t>{64, std::int64_t(64 + 256 * i * i)}}});
        g.node("To", "to_" + name, "cuda:0", {}, {x});
    }
    return g.graph();
}

struct Bench {
    std::unique_ptr<MainWindow> window = makeWindow();
    TransferPlot& plot = *find<TransferPlot>(*window, "transferPlot");
    LedgerView& ledger = *find<LedgerView>(*window, "ledgerTable");

    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::AltModifier | Qt::ShiftModifier) {
        window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window.get()));
        QTest::keyClick(window.get(), key, modifiers);
    }
    void run(std::int64_t iterations) {
        window->runs().run(iterations);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
    }
    QPushButton* segment(const char* text) const {
        for (QPushButton* button : window->findChildren<QPushButton*>())
            if (button->text() == QLatin1String(text)) return button;
        qCritical("no segment %s", text);
        return nullptr;
    }
    /// Clicks the mark of a row.
    void clickMark(int row) {
        const QRect cell = ledger.visualRect(ledger.model()->index(row, 0));
        QTest::mouseClick(ledger.viewport(), Qt::LeftButton, {}, {cell.left() + 12, cell.center().y()});
    }
    int shown() const { return int(plot.legendEntries().size()); }
    QString cell(int row, LedgerModel::Column column) const {
        return ledger.model()->index(row, column).data().toString();
    }
};

} // namespace

class TestTransfers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theUnitsOfTheSwitchAndTheMenuAreOne() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.run(20);
        QCOMPARE(bench.plot.unitText(), QStringLiteral("ms · modelled · dashed: predicted"));
        QTest::mouseClick(bench.segment("bytes/s"), Qt::LeftButton);
        QCOMPARE(bench.plot.unitText(), QStringLiteral("bytes/s over whole iterations · modelled"));
        QVERIFY(action(*bench.window, QStringLiteral("Average bytes per second"))->isChecked());
        bench.key(Qt::Key_4);
        QCOMPARE(bench.plot.unitText(), QStringLiteral("% of the iterations' time · modelled"));
        QVERIFY(bench.segment("share")->isChecked());
        // The shares of one iteration add up to at most the number of streams.
        double sum = 0;
        for (int row = 0; row < 2; ++row) {
            const std::optional<QPointF> pixel = bench.plot.pixelOf(row, 10);
            QVERIFY(pixel);
            sum += bench.plot.yAxis->pixelToCoord(pixel->y());
        }
        QVERIFY2(sum > 10 && sum < 200, qPrintable(QString::number(sum)));
        bench.key(Qt::Key_5);
        QCOMPARE(bench.plot.unitText(), QStringLiteral("ms, cumulative · modelled · dashed: predicted"));
        // The final total equals the ledger's.
        for (int row = 0; row < 2; ++row) {
            const std::optional<QPointF> last = bench.plot.pixelOf(row, 19);
            QVERIFY(last);
            const QString total = bench.cell(row, LedgerModel::TotalColumn);
            const double plotted = bench.plot.yAxis->pixelToCoord(last->y());
            QVERIFY2(std::abs(plotted - total.toDouble()) < 0.01 * plotted, qPrintable(total));
        }
    }

    void aLogarithmicScale() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.run(20);
        bench.key(Qt::Key_L);
        QCOMPARE(bench.plot.yAxis->scaleType(), QCPAxis::stLogarithmic);
        for (int row = 0; row < 2; ++row) {
            const std::optional<QPointF> pixel = bench.plot.pixelOf(row, 5);
            QVERIFY(pixel && bench.plot.axisRect()->rect().contains(pixel->toPoint()));
        }
        bench.key(Qt::Key_L);
        QCOMPARE(bench.plot.yAxis->scaleType(), QCPAxis::stLinear);
    }

    /// On every scale, the axis has at least two ticks, and each is labelled correctly.
    void theAxisSaysWhereItsTicksStand() {
        Bench bench;
        bench.window->document().setGraph(manyTransfers(5), {}, {});
        bench.run(20);
        QCPAxis& axis = *bench.plot.yAxis;
        for (const bool isLogarithmic : {false, true}) {
            bench.plot.setLogarithmic(isLogarithmic);
            for (const double top : {0.1, 0.23, 1.0, 7.0, 120.0}) {
                axis.setRange(isLogarithmic ? top / 30 : 0, top);
                bench.plot.replot();
                QVERIFY2(axis.tickVector().size() >= 2, qPrintable(QString::number(top)));
                for (int i = 0; i < axis.tickVector().size(); ++i) {
                    const double at = axis.tickVector()[i];
                    const QString said = axis.tickVectorLabels()[i];
                    QVERIFY2(std::abs(said.toDouble() - at) <= 1e-9 + 1e-6 * at,
                             qPrintable(QStringLiteral("%1 at %2").arg(said).arg(at)));
                }
            }
        }
    }

    void thePointUnderThePointerIsReadOut() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.run(20);
        const std::optional<QPointF> pixel = bench.plot.pixelOf(0, 7);
        QVERIFY(pixel);
        QVERIFY(bench.plot.readout().isEmpty());
        QTest::mouseMove(&bench.plot, pixel->toPoint() + QPoint(2, -5));
        const QStringList said = bench.plot.readout().split(QLatin1Char('\n'));
        QCOMPARE(said.value(0), QStringLiteral("images → cuda:0"));
        QCOMPARE(said.value(1), QStringLiteral("iteration 7"));
        QCOMPARE(said.value(2), QStringLiteral("0.020 ms · modelled"));
        QCOMPARE(said.value(3), QStringLiteral("92.2 kB · 4.7 GB/s"));
        QTest::mouseMove(&bench.plot, QPoint(4, 4));
        QVERIFY(bench.plot.readout().isEmpty());
    }

    void theWheelZoomsAndADoubleClickFollowsAgain() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.run(50);
        const QCPRange whole = bench.plot.xAxis->range();
        const QPoint middle = bench.plot.axisRect()->center();
        QWheelEvent wheel(middle, bench.plot.mapToGlobal(middle), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&bench.plot, &wheel);
        QVERIFY(bench.plot.xAxis->range().size() < whole.size());
        QVERIFY(!bench.plot.isFollowing());
        QAction* follow = action(*bench.window, QStringLiteral("Follow the run"));
        QVERIFY(follow->isEnabled());
        const double left = bench.plot.xAxis->range().lower;
        bench.plot.setFocus();
        QTest::keyClick(&bench.plot, Qt::Key_Right);
        QVERIFY(bench.plot.xAxis->range().lower > left);
        QTest::mouseDClick(&bench.plot, Qt::LeftButton, {}, middle);
        QCOMPARE(bench.plot.xAxis->range(), whole);
        QVERIFY(bench.plot.isFollowing());
        QVERIFY(!follow->isEnabled());
    }

    void aPausedPlotKeepsWhatItShowsAndNothingIsLost() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.window->runContinuously();
        QTRY_VERIFY(bench.plot.pixelOf(0, 40).has_value());
        bench.key(Qt::Key_P);
        QVERIFY(bench.plot.isPaused());
        const auto count = [&] { return bench.window->runs().figures()->ledger().rows()[0].count; };
        const std::uint64_t before = std::max<std::uint64_t>(bench.window->runs().done(), count());
        const double right = bench.plot.xAxis->range().upper;
        // The series has merged points by now; the plotted range has not.
        const auto cell = [&] { return bench.window->runs().figures()->series()->cell(); };
        const std::uint32_t cellBefore = cell();
        const auto isFar = [&] {
            return bench.window->runs().done() > std::int64_t(before + 200) && cell() >= 16 * cellBefore;
        };
        QVERIFY(QTest::qWaitFor(isFar, 300'000));
        QCOMPARE(bench.plot.xAxis->range().upper, right);
        QVERIFY(!bench.plot.pixelOf(0, std::uint32_t(before + 150)));
        bench.window->runs().stop();
        QVERIFY(waitForRun(*bench.window));
        bench.key(Qt::Key_P);
        QVERIFY(bench.plot.pixelOf(0, std::uint32_t(before + 150)));
        QVERIFY(bench.plot.xAxis->range().upper > right);
    }

    void theMarksOfTheLegendShowAndHideCurves() {
        Bench bench;
        bench.window->document().setGraph(manyTransfers(14), {}, {});
        bench.run(10);
        QCOMPARE(bench.shown(), 10); // the largest
        QVERIFY(!bench.plot.pixelOf(0, 3));
        QVERIFY(bench.plot.pixelOf(13, 3));
        bench.clickMark(0);
        QCOMPARE(bench.shown(), 11);
        QVERIFY(bench.plot.pixelOf(0, 3));
        QVERIFY(!bench.window->document().selection().edge); // a mark does not select an edge
        bench.clickMark(0);
        QCOMPARE(bench.shown(), 10);
        bench.key(Qt::Key_6);
        QCOMPARE(bench.shown(), 3);
        bench.key(Qt::Key_9);
        QCOMPARE(bench.shown(), 14);
        // By keyboard: down to a row, then Space.
        clickRow(bench.ledger, 1);
        QTest::keyClick(&bench.ledger, Qt::Key_Down);
        QTest::keyClick(&bench.ledger, Qt::Key_Space);
        QCOMPARE(bench.shown(), 13);
        QVERIFY(!bench.plot.pixelOf(2, 3));
        bench.key(Qt::Key_0); // of the selection only
        QCOMPARE(bench.shown(), 1);
        QVERIFY(bench.plot.pixelOf(2, 3));
    }

    void rowAndEdgeAndCurveAreOne() {
        Bench bench;
        bench.window->document().setGraph(manyTransfers(4), {}, {});
        bench.run(10);
        const std::optional<QPointF> pixel = bench.plot.pixelOf(2, 5);
        QVERIFY(pixel);
        QTest::mouseClick(&bench.plot, Qt::LeftButton, {}, pixel->toPoint());
        const std::optional<Edge> edge = bench.window->document().selection().edge;
        QVERIFY(edge);
        QCOMPARE(bench.window->document().graph().find(edge->from.node)->name, std::string("x2"));
        QCOMPARE(bench.ledger.currentRow(), 2);
        QVERIFY(bench.ledger.selectionModel()->isRowSelected(2, {}));
        Selection other;
        other.edge = Edge{{bench.window->document().graph().findByName("x1")->id, 0},
                          {bench.window->document().graph().findByName("to_x1")->id, 0}};
        bench.window->document().select(other); // as a click on the wire does
        QVERIFY(bench.ledger.selectionModel()->isRowSelected(1, {}));
    }

    void theWholeLedgerSortsAndFilters() {
        Bench bench;
        bench.window->document().setGraph(manyTransfers(6), {}, {});
        bench.run(10);
        QVERIFY(bench.ledger.isColumnHidden(LedgerModel::KindColumn));
        QTest::mouseClick(find<QPushButton>(*bench.window, "wholeLedger"), Qt::LeftButton);
        QVERIFY(!bench.plot.isVisible());
        for (int column = 0; column < LedgerModel::ColumnCount; ++column)
            QCOMPARE(bench.ledger.isColumnHidden(column), column == LedgerModel::SourceColumn); // no program
        QHeaderView& head = *bench.ledger.horizontalHeader();
        const auto clickHead = [&](LedgerModel::Column column) {
            bench.ledger.scrollTo(bench.ledger.model()->index(0, column));
            const QPoint at(head.sectionViewportPosition(column) + head.sectionSize(column) / 2,
                            head.height() / 2);
            QTest::mouseClick(head.viewport(), Qt::LeftButton, {}, at);
        };
        clickHead(LedgerModel::TotalColumn);
        const QString first = bench.cell(0, LedgerModel::EdgeColumn);
        clickHead(LedgerModel::TotalColumn);
        const QString other = bench.cell(0, LedgerModel::EdgeColumn);
        QCOMPARE(QSet({first, other}), QSet({QStringLiteral("x0 → cuda:0"), QStringLiteral("x5 → cuda:0")}));
        clickHead(LedgerModel::TotalColumn); // in the plan's order
        QCOMPARE(bench.cell(3, LedgerModel::EdgeColumn), QStringLiteral("x3 → cuda:0"));

        const LedgerRow& cost = bench.window->runs().figures()->ledger().rows()[2];
        QCOMPARE(bench.cell(2, LedgerModel::KindColumn), QStringLiteral("explicit"));
        QCOMPARE(bench.cell(2, LedgerModel::CountColumn), QString::number(cost.count));
        QCOMPARE(bench.cell(2, LedgerModel::MovedColumn),
                 QString::fromStdString(formatBytes(double(cost.bytes))));
        QCOMPARE(bench.cell(2, LedgerModel::TimesColumn), QStringLiteral("modelled"));
        QCOMPARE(bench.cell(2, LedgerModel::MemoryColumn), QStringLiteral("pageable"));
        QCOMPARE(bench.cell(2, LedgerModel::ErrorColumn),
                 QStringLiteral("–")); // undefined for modelled times
        QVERIFY(bench.cell(2, LedgerModel::PeakColumn).endsWith(QLatin1String(" %")));

        auto* filter = find<QLineEdit>(*bench.window, "ledgerFilter");
        QTest::keyClicks(filter, QStringLiteral("X4 explicit"));
        QCOMPARE(bench.ledger.model()->rowCount(), 1);
        clickRow(bench.ledger, 0); // at the right edge
        QCOMPARE(
            bench.window->document().graph().find(bench.window->document().selection().edge->from.node)->name,
            std::string("x4"));
        QTest::mouseClick(find<QPushButton>(*bench.window, "wholeLedger"), Qt::LeftButton);
        QVERIFY(bench.plot.isVisible());
        QCOMPARE(bench.ledger.model()->rowCount(), 6);
    }

    void exportsSayWhatIsModelled() {
        Bench bench;
        const QTemporaryDir folder;
        bench.window->load(sourcePath(kDigits));
        {
            BoxAnswer box(QMessageBox::Ok);
            bench.key(Qt::Key_C);
            QVERIFY(box.answered());
            QVERIFY(box.detail().contains(QStringLiteral("Run the graph")));
        }
        const auto exported = [&](const char* type, Qt::Key key, const char* ending) {
            FileAnswer answer(QString::fromLatin1(type), folder.filePath(QStringLiteral("out")));
            bench.key(key);
            QFile file(folder.filePath(QStringLiteral("out") + QLatin1String(ending)));
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        // Before a run the ledger has predictions, without measured columns.
        const QByteArray before = exported("csv", Qt::Key_S, ".csv");
        QVERIFY(before.contains("\r\nimages → cuda:0,explicit,false,0,92160,0,,,,,,,"));
        QCOMPARE(before.count(",\"predicted, modelled\"\r\n"), before.count("\r\n") - 1);
        bench.run(20);
        const QByteArray csv = exported("csv", Qt::Key_C, ".csv");
        QVERIFY(csv.startsWith("edge,kind,iteration,"));
        QCOMPARE(csv.count("\r\n"), 1 + 2 * 20);
        QCOMPARE(csv.count(",modelled\r\n"), 2 * 20);
        // Both copies per iteration and the three parameters staged once; the filter shows only the former.
        QTest::mouseClick(find<QPushButton>(*bench.window, "wholeLedger"), Qt::LeftButton);
        QTest::keyClicks(find<QLineEdit>(*bench.window, "ledgerFilter"), QStringLiteral("explicit"));
        const QByteArray ledger = exported("csv", Qt::Key_S, ".csv");
        QVERIFY(ledger.startsWith("edge,kind,setup,count,bytes_of_one,bytes,"));
        QCOMPARE(ledger.count("\r\n"), 1 + 2);
        QVERIFY(ledger.contains("\r\nimages → cuda:0,explicit,false,20,92160,1843200,"));
        QCOMPARE(ledger.count(",modelled\r\n"), 2);
        find<QLineEdit>(*bench.window, "ledgerFilter")->clear();
        QVERIFY(exported("csv", Qt::Key_S, ".csv").contains(",staging,true,1,"));
        const QByteArray svg = exported("SVG", Qt::Key_E, ".svg");
        QVERIFY(svg.contains("modelled"));
        QVERIFY(svg.contains("images"));
        QVERIFY(svg.count("<poly") + svg.count("<path") > 4);
        const QImage image = QImage::fromData(exported("PNG", Qt::Key_E, ".png"));
        QVERIFY(image.width() > 2000);
    }

    void aPlotOfARunOnAnotherMachineNamesIt() {
        Bench bench;
        bench.window->load(sourcePath(kDigits));
        bench.run(3);
        const std::shared_ptr<const RunFigures> figures = bench.window->runs().sharedFigures();
        auto& ledger = *bench.window->findChild<LedgerModel*>();
        std::vector<LedgerModel::Row> rows(ledger.rows().begin(), ledger.rows().begin() + 2);
        rows[0].figures.modelled = false;
        TransferPlot plot;
        plot.begin(figures->series(), 3, QStringLiteral("gpu-server"));
        plot.setRows(rows, {true, true});
        plot.refresh();
        QCOMPARE(plot.timesOf(plot.legendEntries().at(0)), QStringLiteral("measured on gpu-server"));
        QCOMPARE(plot.timesOf(plot.legendEntries().at(1)), QStringLiteral("modelled"));
        const QTemporaryDir folder;
        QVERIFY(exportPlot(plot, QStringLiteral("title"), folder.filePath(QStringLiteral("p.svg"))));
        QFile file(folder.filePath(QStringLiteral("p.svg")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("measured on gpu-server"));
    }

    void aLaneSaysWhereItsTimesComeFrom() {
        WindowHand hand(manyTransfers(1));
        for (const LaneBand& band : hand.canvas.scene().lanes().bands()) {
            const QPoint at(40, int(hand.canvas.view().toPixel({0, band.top + band.height / 2}).y()));
            QHelpEvent help(QEvent::ToolTip, at, hand.canvas.mapToGlobal(at));
            QApplication::sendEvent(&hand.canvas, &help);
            QVERIFY2(QToolTip::text().contains(
                         band.simulated ? QStringLiteral("Modelled times: NVIDIA H200 Tensor Core GPU "
                                                         "datasheet (SXM); error unknown.")
                                        : QStringLiteral("Predictions: ")),
                     qPrintable(QToolTip::text()));
        }
    }

    void aWireTellsOfItsTensorsJourney() {
        WindowHand hand(manyTransfers(1));
        const Edge edge = hand.graph().outgoing(hand.node("x0")->id).front();
        const QPoint at = hand.onWire(edge, 0.4);
        QHelpEvent help(QEvent::ToolTip, at, hand.canvas.mapToGlobal(at));
        QApplication::sendEvent(&hand.canvas, &help);
        for (const char* word : {"created on cpu by x0, last read by to_x0", "copied to cuda:0 by to_x0"})
            QVERIFY2(QToolTip::text().contains(QLatin1String(word)), qPrintable(QToolTip::text()));
        QToolTip::hideText();
    }

    /// Compared with sorting each window separately.
    void aRollingBandOfNumbers() {
        std::mt19937_64 random(5);
        for (const std::size_t window : {1, 2, 9, 100}) {
            std::vector<double> values;
            for (int i = 0; i < 60; ++i)
                values.push_back(random() % 5 == 0 ? std::nan("") : double(random() % 20));
            const RollingBand band = rollingBand(values, window);
            for (std::size_t at = 0; at < values.size(); ++at) {
                std::vector<double> around;
                for (std::size_t i = 0; i < values.size(); ++i) {
                    const bool isIn = i + window / 2 >= at && i < at + (window - window / 2);
                    if (isIn && !std::isnan(values[i])) around.push_back(values[i]);
                }
                std::sort(around.begin(), around.end());
                QCOMPARE(std::isnan(band.median[at]), around.empty());
                if (around.empty()) continue;
                const auto rank = [&](double q) {
                    return around[std::max<std::size_t>(std::size_t(std::ceil(q * double(around.size()))),
                                                        1) -
                                  1];
                };
                QCOMPARE(band.median[at], rank(0.5));
                QCOMPARE(band.p95[at], rank(0.95));
            }
        }
        QVERIFY(rollingBand({}, 9).median.empty());
    }

    void theBandRollsOverWhatIsInView() {
        Bench bench;
        bench.window->document().setGraph(manyTransfers(1), {}, {});
        bench.run(40);
        const QCPGraph* low = bench.plot.graph(0);
        const QCPGraph* high = bench.plot.graph(1);
        QCOMPARE(high->channelFillGraph(), low);
        const auto check = [&](int first, int last) {
            std::vector<double> times;
            for (int i = first; i <= last; ++i)
                times.push_back(
                    double(bench.window->runs().figures()->series()->at(std::size_t(i), 0).slowestNs) / 1e6);
            const RollingBand expected = rollingBand(times, 9);
            QCOMPARE(low->data()->size(), int(times.size()));
            for (std::size_t i = 0; i < times.size(); ++i) {
                QCOMPARE(low->data()->at(int(i))->key, double(first) + double(i));
                QCOMPARE(low->data()->at(int(i))->value, expected.median[i]);
                QCOMPARE(high->data()->at(int(i))->value, expected.p95[i]);
            }
        };
        check(0, 39);
        QVERIFY(bench.plot.unitText().contains(QLatin1String("band: median to p95 over 9 iterations")));
        bench.plot.xAxis->setRange(10, 25);
        check(10, 25);
        bench.key(Qt::Key_3); // bytes per second has no band
        QVERIFY(low->data()->isEmpty());
        QVERIFY(!bench.plot.unitText().contains(QLatin1String("band")));
    }
};

TWB_GUI_TEST_MAIN(TestTransfers)
#include "test_transfers.moc"
