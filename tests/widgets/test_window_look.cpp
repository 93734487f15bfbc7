#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/labels.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/problems_panel.h"
#include "widgets/price.h"
#include "widgets/window_fixture.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSet>

using namespace twb;
using namespace twb::test;

namespace {

const char* const kAuto = "resources/examples/05-auto-use-the-gpu-if-there-is-one.twb";
const char* const kTightLoop = "resources/examples/06-a-transfer-in-a-tight-loop.twb";

std::vector<FixButton*> visibleFixes(MainWindow& window) {
    std::vector<FixButton*> out;
    for (FixButton* button : window.findChildren<FixButton*>())
        if (button->isVisible()) out.push_back(button);
    return out;
}

QStringList visibleLabels(QWidget& in) {
    QStringList out;
    for (const QLabel* label : in.findChildren<QLabel*>())
        if (label->isVisible()) out << label->text();
    return out;
}

} // namespace

/// Each fact is shown once, in one form, at a fixed position.
class TestWindowLook : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void aProblemIsShownOnceAndPricedTheSame() {
        const auto window = makeWindow();
        window->load(sourcePath(kMismatch));
        QCoreApplication::processEvents();
        QStringList beside;
        for (FixButton* button : visibleFixes(*window)) beside << button->accessibleDescription();
        QCOMPARE(beside.size(), 3);
        QCOMPARE(beside[0], QStringLiteral("no transfer in the iteration")); // the cheapest first
        QCOMPARE(beside[1], QStringLiteral("4.10 kB · 0.012 ms · modelled"));
        window->showProblems();
        QCoreApplication::processEvents();
        QStringList below;
        for (FixButton* button : visibleFixes(*window)) below << button->accessibleDescription();
        QCOMPARE(below, beside); // each fix is shown once
        window->bottom().showPage(QStringLiteral("log"));
        QCoreApplication::processEvents();
        QCOMPARE(visibleFixes(*window).size(), std::size_t(3));
    }

    /// Twenty operands on a wrong device, explained by two causes.
    void problemsAreCountedByCauseEverywhere() {
        const auto window = makeWindow();
        window->load(sourcePath("resources/screenshots/twenty-mismatches.twb"));
        QCoreApplication::processEvents();
        ProblemCards* cards = nullptr;
        for (ProblemCards* each : window->findChildren<ProblemCards*>())
            if (each->isVisible()) cards = each;
        QVERIFY(cards);
        const QStringList words = visibleLabels(*cards);
        QVERIFY2(words.contains(QStringLiteral("2")), qPrintable(words.join(QLatin1Char('|'))));
        QVERIFY(find<QLabel>(*window, "counts")->text().contains(QStringLiteral("2 problems")));
        QPushButton* more = nullptr;
        for (QPushButton* button : cards->findChildren<QPushButton*>())
            if (button->isVisible() && button->text() == QStringLiteral("18 more with the same causes"))
                more = button;
        QVERIFY(more);
        QTest::mouseClick(more, Qt::LeftButton);
        QVERIFY(window->findChild<ProblemsPanel*>()->isVisible());
    }

    void aPriceHasRoomOfItsOwnWhereTheButtonIsNarrow() {
        Fix fix;
        fix.title = "insert To(cuda:0) on a -> a + b";
        fix.price = {4096, 12'300, true, true};
        FixButton button(fix);
        QVERIFY(button.heightForWidth(200) > button.heightForWidth(600));
        for (const int width : {600, 240, 180, 150, 120}) {
            const QString all = button.lines(width).join(QLatin1Char('|'));
            QVERIFY2(!all.contains(QStringLiteral("…")), qPrintable(all));
            if (width == 600) continue; // both fit into one line
            const QFontMetrics words(twb::font(TextRole::strong));
            const QFontMetrics figures(twb::font(TextRole::smallFigure));
            for (const QString& line : button.lines(width)) {
                const bool isWords = fixText(fix).contains(line);
                QVERIFY2((isWords ? words : figures).horizontalAdvance(line) <= width - 16, qPrintable(line));
            }
        }
        QCOMPARE(button.lines(150).size(), 4);
    }

    void aNoteIsNoProblem() {
        const auto window = makeWindow();
        window->load(sourcePath(kAuto));
        QCoreApplication::processEvents();
        QCOMPARE(window->document().problemCount(), std::size_t(0));
        QCOMPARE(window->document().noteCount(), std::size_t(1));
        const QStringList labels = visibleLabels(*window);
        QVERIFY(labels.contains(QStringLiteral("Notes")));
        QVERIFY(!labels.contains(QStringLiteral("Problems")));
        QVERIFY(find<QLabel>(*window, "counts")->text().contains(QStringLiteral("0 problems · 1 note")));
    }

    void toolbarOffersHardwareForAuto() {
        const auto window = makeWindow();
        window->load(sourcePath(kAuto));
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete); // deletes the previous buttons
        auto* button = find<QPushButton>(*window, "device.cuda:0");
        QCOMPARE(button->text(), QStringLiteral("cuda:0: no hardware"));
        // The note refers to the button by its text.
        QVERIFY(window->document().graph().notes().begin()->text.find(button->text().toStdString()) !=
                std::string::npos);
        window->document().setDeviceChoices({{Device::cuda(0), "h200"}});
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        QVERIFY(!find<QPushButton>(*window, "device.cuda:0")->text().contains(QLatin1String("nothing")));
    }

    void theToolbarDoesNotMoveWithTheName() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        QCoreApplication::processEvents();
        const auto* run = find<QPushButton>(*window, "run");
        const int before = run->mapTo(window.get(), QPoint()).x();
        window->load(sourcePath(kAuto));
        QCoreApplication::processEvents();
        QCOMPARE(run->mapTo(window.get(), QPoint()).x(), before);
        window->selectNode(QStringLiteral("relu"));
        action(*window, QStringLiteral("Duplicate"))->trigger();
        QCoreApplication::processEvents();
        QCOMPARE(run->mapTo(window.get(), QPoint()).x(), before);
    }

    void transfersHaveNamesOfTheirOwn() {
        const auto window = makeWindow();
        window->load(sourcePath(kTightLoop));
        window->runs().run(3);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        const QAbstractItemModel* model = find<QTableView>(*window, "ledgerTable")->model();
        QSet<QString> names;
        for (int row = 0; row < model->rowCount(); ++row)
            names.insert(model->index(row, LedgerModel::EdgeColumn).data().toString());
        QCOMPARE(names.size(), qsizetype(model->rowCount()));
        QVERIFY(names.contains(QStringLiteral("x → cuda:0 for halve")));
        // The same figure as on the canvas, with the unit in the column's header.
        QCOMPARE(model->index(0, LedgerModel::MedianColumn).data().toString(), QStringLiteral("0.345"));
    }

    void aSmallWindowGivesItsRoomToTheGraph() {
        MainWindow window(profiles());
        window.resize(1280, 800);
        window.show();
        QCoreApplication::processEvents();
        QVERIFY(window.canvas().width() > 830);
    }

    /// Whichever view of a tensor is chosen, the inspector keeps the width of its dock in a small window.
    void nothingInTheInspectorIsWiderThanIt() {
        GraphMaker g;
        const std::vector<std::int64_t> shape{2, 5, 16, 16};
        const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", shape}});
        const NodeId to = g.node("To", "there", "cuda:0", {}, {x});
        g.node("Sqrt", "a rather long name of a node", "cuda:0", {}, {to});
        MainWindow window(profiles());
        window.resize(1280, 800);
        window.show();
        window.document().setGraph(g.graph(), {}, {});
        window.runs().run(2);
        QVERIFY(waitForRun(window));
        const auto* inspector = window.findChild<Inspector*>();
        auto* views = find<QComboBox>(window, "tensorView");
        for (const Node& node : window.document().graph().nodes()) {
            QVERIFY(window.selectNode(QString::fromStdString(node.name)));
            for (int view = 0; view < views->count(); ++view) {
                views->setCurrentIndex(view);
                QCoreApplication::processEvents();
                QVERIFY2(inspector->widget()->minimumSizeHint().width() <= inspector->viewport()->width(),
                         qPrintable(QStringLiteral("%1 of %2: %3 in %4")
                                        .arg(views->currentText(), QString::fromStdString(node.name))
                                        .arg(inspector->widget()->minimumSizeHint().width())
                                        .arg(inspector->viewport()->width())));
            }
        }
    }

    /// A combo box would cut it within a letter.
    void aLongLaneTitleIsElided() {
        MainWindow window(profiles());
        window.resize(1280, 800);
        window.load(sourcePath("resources/examples/06-a-transfer-in-a-tight-loop.twb"));
        window.show();
        QVERIFY(window.selectNode(QStringLiteral("halve")));
        auto* lane = find<QComboBox>(window, "laneChoice");
        QCoreApplication::processEvents();
        lane->grab();
        QVERIFY(lane->fontMetrics().horizontalAdvance(lane->currentText()) > lane->width() - 32);
        QCOMPARE(lane->toolTip(), lane->currentText());
        window.resize(2200, 800);
        QVERIFY(window.selectNode(QStringLiteral("x")));
        lane->grab();
        QCOMPARE(lane->toolTip(), QString());
    }

    void placeholderOfTheSearchFieldFits() {
        MainWindow window(profiles());
        window.load(sourcePath(kDigits));
        for (const int width : {900, 1024, 1200, 1280, 1440, 1600, 2000}) {
            window.resize(width, 800);
            window.show();
            QCoreApplication::processEvents();
            const auto* field = find<QLineEdit>(window, "quickFind");
            const QString words = field->placeholderText();
            const bool isNarrow = width < 1200 && words.isEmpty();
            QVERIFY2(isNarrow || words.startsWith(QStringLiteral("Search")), qPrintable(words));
            const QRect room = field->rect().adjusted(32, 0, -12, 0); // beside the icon
            QVERIFY2(field->fontMetrics().horizontalAdvance(words) <= room.width(),
                     qPrintable(QStringLiteral("%1 in %2").arg(words).arg(room.width())));
            if (width >= 1600) QCOMPARE(words, QStringLiteral("Search actions and nodes"));
        }
    }
};

TWB_GUI_TEST_MAIN(TestWindowLook)
#include "test_window_look.moc"
