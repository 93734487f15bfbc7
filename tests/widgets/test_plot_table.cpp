#include "support/test_main.h"
#include "widgets/panels/memory_bars.h"
#include "widgets/panels/memory_stack.h"
#include "widgets/panels/plot_table.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/window_hand.h"

#include <QAccessible>
#include <QClipboard>
#include <QMenu>
#include <QTableView>

using namespace twb;
using namespace twb::test;

/// The values of the plots as tables, for people who cannot see the plots or want the figures.
class TestPlotTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        m_window = makeWindow();
        m_window->load(sourcePath(kDigits));
    }
    void cleanupTestCase() { m_window.reset(); }

    void everyPlotHasATable_data() {
        QTest::addColumn<QString>("page");
        QTest::addColumn<QString>("object");
        QTest::addColumn<QStringList>("columns");
        QTest::newRow("transfers") << "transfers"
                                   << "transferPlot" << QStringList{QStringLiteral("iteration")};
        QTest::newRow("timeline") << "timeline"
                                  << "timeline"
                                  << QStringList{QStringLiteral("stream"), QStringLiteral("step"),
                                                 QStringLiteral("iteration"), QStringLiteral("start, ms")};
        QTest::newRow("memory") << "memory"
                                << "memoryBars"
                                << QStringList{QStringLiteral("device"), QStringLiteral("hardware")};
        QTest::newRow("memory over time")
            << "memory"
            << "memoryStack" << QStringList{QStringLiteral("time, ms"), QStringLiteral("all, bytes")};
    }

    /// By keys alone: run, open the table, copy it.
    void everyPlotHasATable() {
        QFETCH(QString, page);
        QFETCH(QString, object);
        QFETCH(QStringList, columns);
        run();
        QVERIFY(m_window->bottom().showPage(page));
        QCoreApplication::processEvents();
        auto* plot = find<QWidget>(*m_window, object.toLatin1().constData());
        QVERIFY(plot->isVisible());
        QVERIFY(plot->focusPolicy() & Qt::TabFocus);
        m_window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(m_window.get()));
        plot->setFocus(Qt::TabFocusReason);
        QVERIFY(plot->hasFocus());
        QTest::keyClick(plot, Qt::Key_V, Qt::AltModifier | Qt::ShiftModifier);
        auto* table = openTable();
        QVERIFY(table);
        QVERIFY(table->model()->rowCount() > 0);
        for (int i = 0; i < columns.size(); ++i)
            QCOMPARE(table->model()->headerData(i, Qt::Horizontal).toString(), columns[i]);
        QVERIFY(!table->accessibleName().isEmpty());
        QTRY_VERIFY(table->hasFocus());

        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        const QStringList lines =
            QApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), table->model()->rowCount() + 1);
        QCOMPARE(lines[0].count(QLatin1Char(',')), table->model()->columnCount() - 1);
        // Only the selected rows.
        QTest::keyClick(table, Qt::Key_Down);
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts).size(), 2);
        QTest::keyClick(table, Qt::Key_Escape);
        QTRY_VERIFY(!openTable());
    }

    void theFiguresAreThoseOfThePlot() {
        run();
        QVERIFY(m_window->bottom().showPage(QStringLiteral("timeline")));
        QCoreApplication::processEvents();
        auto* timeline = find<QWidget>(*m_window, "timeline");
        const PlotValues values = timeline->findChild<PlotTable*>()->values();
        double last = -1;
        for (int row = 0; row < values.rows; ++row) {
            QVERIFY(values.at(row, 3).toDouble() >= last);
            last = values.at(row, 3).toDouble();
            QVERIFY(values.at(row, 4).toDouble() >= 0);
        }
        const std::string csv = toCsv(values);
        QVERIFY(
            csv.starts_with("stream,step,iteration,start_ms,duration_ms,queue_ms,bytes,critical,modelled"));
        QVERIFY(csv.find("true") != std::string::npos); // some step is on the critical path
    }

    void theTransfersSayTheirUnitAndThatTheyAreModelled() {
        run();
        QVERIFY(m_window->bottom().showPage(QStringLiteral("transfers")));
        QCoreApplication::processEvents();
        auto& plot = *find<TransferPlot>(*m_window, "transferPlot");
        const PlotValues times = plot.values();
        QVERIFY(times.columns.size() > 1);
        for (std::size_t i = 1; i < times.columns.size(); ++i) {
            QVERIFY2(times.columns[i].key.ends_with("_ms_modelled"), times.columns[i].key.c_str());
            QVERIFY2(times.columns[i].heading.endsWith(QLatin1String(", ms, modelled")),
                     qPrintable(times.columns[i].heading));
        }
        const TransferPlot::Unit unit = plot.unit();
        plot.setUnit(TransferPlot::Unit::rate);
        const PlotValues rates = plot.values();
        plot.setUnit(unit);
        QVERIFY(rates.columns[1].key.ends_with("_gb_per_s_modelled"));
        QVERIFY(rates.columns[1].heading.endsWith(QLatin1String(", GB/s, modelled")));
    }

    void thePeakIsEmptyUntilItIsKnown() {
        MemoryBars bars;
        bars.setRows({{Device::cpu(), QStringLiteral("host"), 100, 0, 1000}});
        QVERIFY(!bars.values().at(0, 3).isValid());
        QCOMPARE(bars.values().at(0, 2).toLongLong(), 100LL);
        bars.setRows({{Device::cpu(), QStringLiteral("host"), 100, 80, 1000}});
        QCOMPARE(bars.values().at(0, 3).toLongLong(), 80LL);
    }

    /// A key has no translated words.
    void theOtherBandsHaveOneKey() {
        auto plan = std::make_shared<Plan>();
        MemoryCourse course;
        course.endNs = 1000;
        for (const char* label : {"large", "small", "tiny"}) {
            Step step;
            step.index = std::uint32_t(plan->steps.size());
            step.label = label;
            course.tensors.push_back({step.index, Device::cpu(), 900U >> step.index, 0, kToTheEnd});
            plan->steps.push_back(step);
        }
        course.atPeak = course.tensors;
        MemoryStack stack;
        stack.resize(700, 60); // room for one band and the others
        stack.setCourse(plan, course, 0, 0);
        const PlotValues values = stack.values();
        QCOMPARE(values.columns.size(), std::size_t(4));
        QCOMPARE(values.columns[2].key, std::string("large_bytes"));
        QCOMPARE(values.columns[3].key, std::string("others_bytes"));
        QCOMPARE(values.columns[3].heading, QStringLiteral("2 others, bytes"));
    }

    void screenReadersFindCharts() {
        run();
        for (const auto& [page, object] : {std::pair{"transfers", "transferPlot"},
                                           {"timeline", "timeline"},
                                           {"memory", "memoryStack"},
                                           {"memory", "memoryBars"}}) {
            QVERIFY(m_window->bottom().showPage(QString::fromLatin1(page)));
            QCoreApplication::processEvents();
            auto* plot = find<QWidget>(*m_window, object);
            QAccessibleInterface* chart = QAccessible::queryAccessibleInterface(plot);
            QVERIFY(chart);
            QCOMPARE(chart->role(), QAccessible::Chart);
            QVERIFY(!chart->text(QAccessible::Name).isEmpty());
            QVERIFY2(chart->text(QAccessible::Description).contains(QLatin1String("rows of values")), object);
        }
    }

    void theMenuKeyOpensIt() {
        run();
        QVERIFY(m_window->bottom().showPage(QStringLiteral("timeline")));
        QCoreApplication::processEvents();
        auto* timeline = find<QWidget>(*m_window, "timeline");
        QContextMenuEvent asked(QContextMenuEvent::Keyboard, {10, 10}, timeline->mapToGlobal(QPoint(10, 10)));
        QApplication::sendEvent(timeline, &asked);
        auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
        QVERIFY(menu);
        QTest::keyClick(menu, Qt::Key_T);
        QVERIFY(openTable());
        openTable()->window()->close();
    }

private:
    void run() {
        if (m_window->runs().figures()) return;
        m_window->run();
        QTRY_VERIFY(m_window->runs().result().has_value());
        QVERIFY(m_window->runs().figures());
    }
    static QTableView* openTable() {
        for (QWidget* window : QApplication::topLevelWidgets())
            if (window->isVisible() && window->objectName() == QLatin1String("plotTableWindow"))
                return window->findChild<QTableView*>(QStringLiteral("plotTable"));
        return nullptr;
    }

    std::unique_ptr<MainWindow> m_window;
};

TWB_GUI_TEST_MAIN(TestPlotTable)
#include "test_plot_table.moc"
