#include "support/test_main.h"
#include "widgets/panels/figure_ticker.h"
#include "widgets/window_fixture.h"

#include <QLineEdit>
#include <QMouseEvent>
#include <QScrollBar>
#include <QSpinBox>
#include <QSplitter>
#include <QTabBar>

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

QRect inWindow(const QWidget& widget, const QWidget& window) {
    return {widget.mapTo(&window, QPoint(0, 0)), widget.size()};
}

} // namespace

class TestSmallWindow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// Once, the minimum width was 1195 px.
    void theWindowGoesDownTo900By600() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->runs().run(3);
        QVERIFY(waitForRun(*window));
        for (const QString& page : window->bottom().keys()) {
            window->bottom().showPage(page);
            window->resize(900, 600);
            QCoreApplication::processEvents();
            QCOMPARE(window->size(), QSize(900, 600));
        }
    }

    /// From 1,000,000 on, the first digits were cut off.
    void theFieldOfIterationsShowsAllDigits() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        auto* field = window->findChild<QSpinBox*>(QStringLiteral("iterations"));
        const auto* edit = field->findChild<QLineEdit*>();
        const auto isWhole = [&] {
            QCoreApplication::processEvents();
            constexpr int kMargins = 4; // of a line edit, px
            return edit->width() >= edit->fontMetrics().horizontalAdvance(edit->text()) + kMargins;
        };
        for (const int width : {1280, 900}) {
            window->resize(width, 600);
            field->setValue(10);
            QVERIFY(isWhole());
            const int usual = field->width();
            for (const int number : {999'999, 1'000'000, 1'000'000'000}) {
                field->setValue(number);
                QVERIFY2(isWhole(), qPrintable(edit->text()));
                QVERIFY(window->rect().contains(inWindow(*field, *window)));
            }
            field->setValue(1);
            field->selectAll();
            QTest::keyClicks(field, QStringLiteral("123456789"));
            QVERIFY2(isWhole(), qPrintable(edit->text()));
            field->setValue(10);
            QCOMPARE(field->width(), usual);
        }
    }

    /// The action did not know of the panel that another action had shown.
    void aPanelIsHiddenByOneKey() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window.get()));
        CanvasWidget& canvas = window->canvas();
        canvas.setFocus();
        QVERIFY(window->selectNode(QStringLiteral("relu")));
        auto* inspector = canvas.window()->findChild<QLineEdit*>(QStringLiteral("nodeName"));
        const QAction* mark = action(*window, QStringLiteral("Inspector"));
        QTest::keyClick(&canvas, Qt::Key_F9, Qt::ControlModifier);
        QVERIFY(!inspector->isVisible() && !mark->isChecked());
        QTest::keyClick(&canvas, Qt::Key_F1, Qt::AltModifier); // shows the help in the inspector
        QVERIFY(inspector->isVisible() && mark->isChecked());
        canvas.setFocus();
        QTest::keyClick(&canvas, Qt::Key_F9, Qt::ControlModifier);
        QVERIFY(!inspector->isVisible() && !mark->isChecked());
        const QAction* bottom = action(*window, QStringLiteral("Bottom panel"));
        QTest::keyClick(&canvas, Qt::Key_F9, Qt::ShiftModifier);
        QVERIFY(!window->bottom().isVisible() && !bottom->isChecked());
        QTest::keyClick(&canvas, Qt::Key_4, Qt::AltModifier);
        QVERIFY(window->bottom().isVisible() && bottom->isChecked());
        canvas.setFocus();
        QTest::keyClick(&canvas, Qt::Key_F9, Qt::ShiftModifier);
        QVERIFY(!window->bottom().isVisible());
    }

    /// No menu and no key brought back a panel that was dragged shut.
    void aSplitterLeavesItsPanelsOpen() {
        const auto window = makeWindow();
        for (QSplitter* splitter : window->findChildren<QSplitter*>()) {
            if (!splitter->isVisible() || splitter->count() < 2) continue;
            for (int i = 1; i < splitter->count(); ++i)
                for (const int far : {-4000, 4000}) {
                    QSplitterHandle* handle = splitter->handle(i);
                    const QPoint from = handle->rect().center();
                    const QPoint to = from + QPoint(far, far);
                    QTest::mousePress(handle, Qt::LeftButton, {}, from);
                    QMouseEvent move(QEvent::MouseMove, to, handle->mapToGlobal(to), Qt::NoButton,
                                     Qt::LeftButton, {});
                    QApplication::sendEvent(handle, &move);
                    QTest::mouseRelease(handle, Qt::LeftButton, {}, to);
                    for (const int size : splitter->sizes())
                        QVERIFY2(size > 100, qPrintable(splitter->objectName()));
                }
        }
    }

    /// A modelled time stays beside the word "modelled".
    void theNodesTableNeedsNoSidewaysScrolling() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("nodes"));
        for (const int width : {900, 1280, 1920, 900}) {
            window->resize(width, 600);
            QCoreApplication::processEvents();
            for (auto* table : window->findChildren<QTableView*>()) {
                if (!table->isVisible()) continue;
                if (!table->accessibleName().endsWith(QLatin1String("of the graph"))) continue;
                QVERIFY2(table->horizontalScrollBar()->maximum() == 0,
                         qPrintable(QStringLiteral("%1 at %2").arg(table->accessibleName()).arg(width)));
            }
            auto& nodes = *find<QTableView>(*window, "nodeTable");
            for (const char* head : {"node", "op", "device", "time", "timing"}) {
                bool isShown = false;
                for (int column = 0; column < nodes.model()->columnCount(); ++column)
                    isShown = isShown || (!nodes.isColumnHidden(column) &&
                                          nodes.model()->headerData(column, Qt::Horizontal) ==
                                              QString::fromLatin1(head));
                QVERIFY2(isShown, head);
            }
        }
    }

    void theToolbarIsWholeInANarrowWindow_data() {
        QTest::addColumn<int>("width");
        for (const int width : {900, 1024, 1280, 1440}) QTest::addRow("%d", width) << width;
    }

    void theToolbarIsWholeInANarrowWindow() {
        QFETCH(int, width);
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->resize(width, 600);
        QCoreApplication::processEvents();
        std::vector<QRect> seen;
        for (const char* name : {"run", "runContinuously", "stop", "iterations", "policy", "device.cuda:0"}) {
            // Buttons of the previous lanes may still exist until deleted, hidden.
            const auto all = window->findChildren<QWidget*>(QString::fromLatin1(name));
            const auto shown =
                std::find_if(all.begin(), all.end(), [](const QWidget* one) { return one->isVisible(); });
            QVERIFY2(shown != all.end(), name);
            const QWidget* widget = *shown;
            const QRect rect = inWindow(*widget, *window);
            QVERIFY2(window->rect().contains(rect), name);
            const auto* button = qobject_cast<const QPushButton*>(widget);
            const int words = button ? button->fontMetrics().horizontalAdvance(button->text()) : 0;
            QVERIFY2(widget->width() >= words + (words > 0 ? 20 : 0), name);
            for (const QRect& other : seen) QVERIFY2(!other.intersects(rect), name);
            seen.push_back(rect);
        }
        // Each button still has an accessible name.
        QCOMPARE(find<QPushButton>(*window, "runContinuously")->accessibleName(),
                 QStringLiteral("Run continuously"));
        QTest::mouseClick(find<QPushButton>(*window, "runContinuously"), Qt::LeftButton);
        QVERIFY(window->runs().isContinuous());
        QTest::mouseClick(find<QPushButton>(*window, "stop"), Qt::LeftButton);
        QVERIFY(waitForRun(*window));
    }

    /// Once, tabs that were scrolled in a narrow window stayed so in a wide one.
    void tabsComeBackWhenThereIsRoom() {
        const auto window = makeWindow();
        auto* tabs = find<QTabBar>(*window, "bottomTabs");
        window->resize(900, 600);
        QCoreApplication::processEvents();
        for (const QString& page : window->bottom().keys()) {
            window->bottom().showPage(page);
            QCoreApplication::processEvents();
            QVERIFY2(tabs->rect().intersects(tabs->tabRect(tabs->currentIndex())), qPrintable(page));
        }
        window->resize(1600, 900);
        QCoreApplication::processEvents();
        QCOMPARE(tabs->tabRect(0).left(), 0);
        QTest::mouseClick(tabs, Qt::LeftButton, {}, tabs->tabRect(0).center());
        QCOMPARE(tabs->currentIndex(), 0);
    }

    /// Once, ticks were at 0, 3, 5 and 8, which are steps of 2.5, rounded.
    void ticksOfIterationsAreEvenlySpaced() {
        FigureTicker<WholeTicker> ticker;
        for (const double upper : {1.0, 3.0, 7.0, 8.0, 10.0, 19.0, 99.0, 100.0, 250.0, 12345.0})
            for (const int count : {2, 3, 4, 5, 8}) {
                ticker.setTickCount(count);
                QVector<double> ticks;
                QVector<QString> labels;
                ticker.generate(QCPRange(0, upper), QLocale::c(), QLatin1Char('f'), 0, ticks, nullptr,
                                &labels);
                for (qsizetype i = 0; i < ticks.size(); ++i) {
                    QCOMPARE(ticks[i], std::round(ticks[i]));
                    QCOMPARE(labels[i].toDouble(), ticks[i]);
                    if (i > 1) QCOMPARE(ticks[i] - ticks[i - 1], ticks[1] - ticks[0]);
                }
                QVERIFY(ticks.size() <= 2 * count + 3);
            }
    }
};

TWB_GUI_TEST_MAIN(TestSmallWindow)
#include "test_small_window.moc"
