#include "backends/world.h"
#include "core/format.h"
#include "placement/analysis.h"
#include "profile/prediction.h"
#include "support/graphs.h"
#include "support/test_main.h"
#include "widgets/busy_dialog.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/review_dialog.h"
#include "widgets/window_hand.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QTabBar>
#include <QTableWidget>
#include <QTemporaryDir>

using namespace twb;
using namespace twb::test;

namespace {

/// Reads the rows of the next review dialog, then accepts or closes it.
class Reviewer : public QObject {
public:
    explicit Reviewer(bool accept) : m_accept(accept) {
        connect(&m_timer, &QTimer::timeout, this, &Reviewer::look);
        m_timer.start(10);
    }
    QStringList rows;
    QString text;
    bool seen = false;

private:
    void look() {
        auto* dialog = qobject_cast<ReviewDialog*>(QApplication::activeModalWidget());
        if (!dialog) return;
        m_timer.stop();
        seen = true;
        const auto* table = dialog->findChild<QTableWidget*>(QStringLiteral("reviewTable"));
        for (int row = 0; row < table->rowCount(); ++row) {
            QStringList cells;
            for (int column = 0; column < table->columnCount(); ++column)
                cells << table->item(row, column)->text();
            rows << cells.join(QLatin1Char('|'));
        }
        for (const QLabel* label : dialog->findChildren<QLabel*>()) text += label->text() + QLatin1Char('\n');
        QTest::keyClick(dialog, m_accept ? Qt::Key_Return : Qt::Key_Escape);
    }

    QTimer m_timer;
    bool m_accept;
};

/// Presses a key in the window, which must first be activated after a dialog.
void press(MainWindow& window, Qt::Key key, Qt::KeyboardModifiers modifiers) {
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window));
    QTest::keyClick(&window, key, modifiers);
}

/// A source on the host that many ops on the GPU read.
Graph brokenGraph() {
    GraphMaker g;
    const NodeId images =
        g.node("RandomNormal", "images", "cpu", {{"shape", std::vector<std::int64_t>{1024, 1024}}});
    for (int i = 0; i < 5; ++i) g.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {images});
    return g.graph();
}

} // namespace

class TestMainAnalysis : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void allMismatchesAtOnce() {
        const auto window = makeWindow();
        window->document().setGraph(brokenGraph(), {}, {});
        QCOMPARE(window->document().analysis().errorCount(), std::size_t(5));
        {
            Reviewer closes(false);
            press(*window, Qt::Key_Period, Qt::ControlModifier | Qt::ShiftModifier);
            QVERIFY(closes.seen);
            QVERIFY(window->document().analysis().hasErrors());
        }
        Reviewer accepts(true);
        press(*window, Qt::Key_Period, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(accepts.rows, QStringList{QStringLiteral("Move images to cuda:0|–|–")});
        QVERIFY(accepts.text.contains(QStringLiteral("The times are modelled")));
        QVERIFY(!window->document().analysis().hasErrors());
        window->document().undoStack().undo(); // one undo step
        QCOMPARE(window->document().analysis().errorCount(), std::size_t(5));
    }

    /// Compares moved nodes with the graph as saved.
    void whatIfComparesWithTheFile() {
        const QTemporaryDir folder;
        GraphMaker g;
        const Attributes shape{{"shape", std::vector<std::int64_t>{512, 512}}};
        const NodeId a = g.node("RandomNormal", "a", "cuda:0", shape);
        const NodeId b = g.node("MatMul", "b", "cuda:0", {}, {a, a});
        const NodeId c = g.node("Relu", "c", "cuda:0", {}, {b});
        const LaneId cpu = g.lane("cpu");
        const auto window = makeWindow();
        window->document().setGraph(g.graph(), {}, {});
        window->document().save(folder.filePath(QStringLiteral("g.twb")));
        const auto rows = [&] {
            Reviewer reviewer(false);
            press(*window, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
            return reviewer.rows;
        };
        const QStringList before = rows();
        QVERIFY(!before.isEmpty() && before[0].startsWith(QStringLiteral("this graph|")));
        QVERIFY(before.filter(QStringLiteral("saved version")).isEmpty());
        DeltaBuilder builder(window->document().graph(), "move");
        for (const NodeId id : {a, b, c}) {
            Node node = *g.graph().find(id);
            node.lane = cpu;
            builder.change(node);
        }
        window->document().apply(builder.take());
        const QStringList after = rows();
        QCOMPARE(after[1].section(QLatin1Char('|'), 1), before[0].section(QLatin1Char('|'), 1));
        QVERIFY(after[1].startsWith(QStringLiteral("saved version|")));
        QVERIFY(after[0].section(QLatin1Char('|'), 1, 1) != after[1].section(QLatin1Char('|'), 1, 1));
    }

    /// The work read the document, which may change meanwhile.
    void anEditDuringAnAnalysisDoesNotTouchIt() {
        QStringList rows;
        for (int ops = 500; rows.isEmpty() && ops < 100'000; ops *= 2) {
            GraphMaker g;
            NodeId last = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{4, 4}}});
            last = g.node("To", "there", "cuda:0", {}, {last});
            for (int i = 0; i < ops; ++i)
                last = g.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {last});
            const auto window = makeWindow();
            Document& document = window->document();
            document.setGraph(g.graph(), {}, {});
            const Prediction expected = predict(document.graph(), document.devices(), document.files());
            bool isEdited = false;
            QTimer edit;
            QObject::connect(&edit, &QTimer::timeout, [&] {
                if (isEdited || !isBusy(*window)) return;
                isEdited = true;
                document.setDeviceChoices({{Device::cuda(0), "t4"}});
                document.clear();
            });
            edit.start(0);
            Reviewer reviewer(false);
            press(*window, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(reviewer.seen);
            if (!isEdited) continue; // the work was too short for it
            rows = reviewer.rows;
            QCOMPARE(rows[0].section(QLatin1Char('|'), 1, 1),
                     QString::fromStdString(formatMs(expected.iterationNs)));
            QCOMPARE(rows.size(), qsizetype(1 + profiles()->all().size()));
        }
        QVERIFY(!rows.isEmpty());
    }

    void ranksAreSimulatedAndTheirCommunicationIsPriced() {
        const auto window = makeWindow();
        const auto review = [&] {
            Reviewer reviewer(false);
            press(*window, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
            return std::pair(reviewer.rows, reviewer.text);
        };
        window->load(sourcePath(kDigits));
        QVERIFY(review().first.isEmpty()); // no dialog: nothing is exchanged
        QVERIFY2(find<QLabel>(*window, "status")
                     ->text()
                     .startsWith(QStringLiteral("This graph has no communication between ranks.")),
                 qPrintable(find<QLabel>(*window, "status")->text()));
        // A graph with training sums its gradients.
        window->load(sourcePath("resources/examples/11-a-model-learns.twb"));
        const std::uint64_t revision = window->document().revision();
        const auto [rows, text] = review();
        QCOMPARE(rows.size(), 10);
        QVERIFY2(rows[0].startsWith(QStringLiteral("1 rank (this graph)|")), qPrintable(rows[0]));
        QVERIFY(rows[0].endsWith(QStringLiteral("|–|–|–|1.00 ×")));
        const auto row = [&](const char* name) {
            return rows.filter(QString::fromUtf8(name)).value(0).split(QLatin1Char('|'));
        };
        const auto ms = [](const QString& cell) { return cell.section(QLatin1Char(' '), 0, 0).toDouble(); };
        const double fast = ms(row("4 ranks on NVLink 4").value(2));
        const double slow = ms(row("4 ranks on 25 GbE").value(2));
        QVERIFY2(fast > 0 && slow > fast, qPrintable(rows.join(QLatin1Char('\n'))));
        QVERIFY(row("4 ranks on 25 GbE").value(3).endsWith(QStringLiteral(" %")));
        const double waiting = ms(row("4 ranks on 25 GbE").value(4));
        const double hidden = ms(row("4 ranks on 25 GbE").value(3)) / 100;
        QVERIFY2(std::abs(waiting - slow * (1 - hidden)) < 0.01 * slow + 0.001,
                 qPrintable(rows.join(QLatin1Char('\n'))));
        QVERIFY(text.contains(QStringLiteral("Nothing is measured")));
        QVERIFY(text.contains(QStringLiteral("The times are modelled")));
        QCOMPARE(window->document().revision(), revision); // the graph stays as it is
        // The menu of a GPU offers the same.
        window->load(sourcePath(kDigits));
        auto* menu = find<QPushButton>(*window, "device.cuda:0")->menu();
        const QString entry = QStringLiteral("Predict on several ranks…");
        QStringList offered;
        for (const QAction* one : menu->actions()) offered << one->text();
        QVERIFY2(offered.contains(entry), qPrintable(offered.join(QLatin1Char(','))));
        find<QLabel>(*window, "status")->clear();
        menu->actions().at(offered.indexOf(entry))->trigger();
        QVERIFY(find<QLabel>(*window, "status")->text().startsWith(QStringLiteral("This graph has no")));
    }

    void theLinksOfADividedGraphAreCompared() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", std::vector<std::int64_t>{1000, 1000}}});
        g.node("Probe", "seen", "rank1/cpu", {}, {g.node("To", "there", "rank1/cpu", {}, {x})});
        const auto window = makeWindow();
        window->document().setGraph(g.graph(), {}, {});
        Reviewer reviewer(false);
        press(*window, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(reviewer.seen);
        QCOMPARE(reviewer.rows.size(), qsizetype(linkProfiles().size()));
        for (std::size_t i = 0; i < linkProfiles().size(); ++i) {
            const LinkProfile& link = linkProfiles()[i];
            const QStringList cells = reviewer.rows[qsizetype(i)].split(QLatin1Char('|'));
            QCOMPARE(cells.value(0), QString::fromStdString(link.name));
            QCOMPARE(cells.value(2), QString::fromStdString(formatMs(link.alphaNs + 4e6 / link.gbPerSecond)));
        }
        QVERIFY(reviewer.text.contains(QStringLiteral("Nothing is measured")));
    }

    void oneCauseIsOneRow() {
        const auto window = makeWindow();
        window->document().setGraph(brokenGraph(), {}, {});
        window->showProblems();
        QCoreApplication::processEvents();
        auto* table = find<QTableView>(*window, "problemsTable");
        QCOMPARE(table->model()->rowCount(), 1);
        // The number of problems is the number of causes.
        QVERIFY(find<QLabel>(*window, "counts")->text().contains(QStringLiteral(" 1 problem ·")));
        QCOMPARE(find<QTabBar>(*window, "bottomTabs")->tabText(3), QStringLiteral("Problems (1)"));
        window->run();
        QVERIFY(find<QLabel>(*window, "status")->text().contains(QStringLiteral("has 1 problem.")));
        QCOMPARE(table->model()->index(0, 3).data().toString(),
                 QStringLiteral("images is on cpu, and 5 ops on cuda:0 read it"));
        clickRow(*table, 0);
        QCoreApplication::processEvents();
        FixButton* move = nullptr;
        for (FixButton* button : window->findChildren<FixButton*>())
            if (button->isVisible() && button->text() == QStringLiteral("Move images to cuda:0") && !move)
                move = button;
        QVERIFY(move);
        QTest::mouseClick(move, Qt::LeftButton);
        QVERIFY(!window->document().analysis().hasErrors());
        QCOMPARE(window->document().undoStack().count(), 1);
    }

    void theNextProblemFollowsTheCurrentOne() {
        GraphMaker g;
        for (int i = 0; i < 40; ++i) g.node("Relu", "r" + std::to_string(i), "cpu");
        WindowHand hand(g.graph());
        const auto selected = [&] {
            const std::set<NodeId>& nodes = hand.document.selection().nodes;
            return nodes.size() == 1 ? QString::fromStdString(hand.node(*nodes.begin()).name) : QString();
        };
        auto* table = find<QTableView>(*hand.window, "problemsTable");
        const auto nodeIn = [&](int row) { return table->model()->index(row, 2).data().toString(); };
        hand.key(Qt::Key_F8);
        QCOMPARE(table->model()->rowCount(), 40);
        hand.key(Qt::Key_F8);
        QCOMPARE(selected(), nodeIn(1));
        const QString third = nodeIn(2);
        const QString fourth = nodeIn(3);
        // An edit leaves the current row and the scroll bar where they are.
        table->verticalScrollBar()->setValue(12);
        const int scrolled = table->verticalScrollBar()->value();
        QVERIFY(scrolled > 0);
        hand.key(Qt::Key_Right, Qt::ControlModifier);
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(table->currentIndex().row(), 1);
        QCOMPARE(table->verticalScrollBar()->value(), scrolled);
        hand.key(Qt::Key_F8);
        QCOMPARE(selected(), third);
        hand.key(Qt::Key_Delete);
        QCOMPARE(table->model()->rowCount(), 39);
        hand.key(Qt::Key_F8);
        QCOMPARE(selected(), fourth);
        hand.key(Qt::Key_F8, Qt::ShiftModifier);
        QCOMPARE(selected(), nodeIn(1));
    }

    void theOnlyProblemComesIntoViewAgain() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 300});
        const NodeId lost = addNode(builder, cpu, "Relu", "lost", 16, 16);
        addNode(builder, cpu, "Ones", "far", 5000, 16);
        graph.apply(builder.take());
        WindowHand hand(graph);
        hand.key(Qt::Key_F8);
        QCOMPARE(hand.document.selection().nodes, std::set{lost});
        const auto isInView = [&] { return hand.canvas.view().viewport().intersects(hand.shape(lost).rect); };
        QVERIFY(isInView());
        hand.canvas.navigator().zoom100();
        hand.canvas.navigator().centerOn({5000, 100});
        QVERIFY(!isInView());
        hand.key(Qt::Key_F8);
        QVERIFY(isInView());
        hand.document.select({});
        hand.key(Qt::Key_F8);
        QCOMPARE(hand.document.selection().nodes, std::set{lost});
    }

    /// Includes moves, if they make no other problem worse.
    void allFixesOfAKindAtOnce() {
        GraphMaker g;
        for (int i = 0; i < 3; ++i) {
            const std::string name = "x" + std::to_string(i);
            const NodeId x =
                g.node("RandomNormal", name, "cpu", {{"shape", std::vector<std::int64_t>{1024, 1024}}});
            const NodeId to = g.node("To", "to_" + name, "cuda:0", {}, {x});
            g.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {to});
        }
        const auto window = makeWindow();
        window->document().setGraph(g.graph(), {}, {});
        QCOMPARE(window->document().noteCount(), std::size_t(3)); // copied in every iteration
        window->showProblems();
        QCoreApplication::processEvents();
        auto* all = find<QPushButton>(*window, "fixAlike");
        QVERIFY(all);
        QTest::mouseClick(all, Qt::LeftButton);
        for (int i = 0; i < 3; ++i) {
            const Node* x = window->document().graph().findByName("x" + std::to_string(i));
            QCOMPARE(window->document().analysis().find(x->id)->device, Device::cuda(0));
        }
        QCOMPARE(window->document().undoStack().count(), 1);
    }

    void aPlacementIsShownBeforeItIsMade() {
        const auto window = makeWindow();
        window->load(sourcePath("resources/examples/06-a-transfer-in-a-tight-loop.twb"));
        const Graph before = window->document().graph();
        Reviewer accepts(true);
        press(*window, Qt::Key_M, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(accepts.seen);
        QVERIFY2(accepts.rows.join(QLatin1Char('\n')).contains(QStringLiteral("removes")),
                 qPrintable(accepts.rows.join(QLatin1Char('\n'))));
        for (const QString& row : std::as_const(accepts.rows)) { // decreases have a minus sign, not a hyphen
            QVERIFY2(row.contains(QStringLiteral("copies")) == row.contains(QStringLiteral("|−2|")),
                     qPrintable(row));
            QVERIFY2(!row.contains(QStringLiteral("|-")), qPrintable(row));
        }
        QVERIFY(window->document().graph() != before);
        QVERIFY(!window->document().analysis().hasErrors());
        window->document().undoStack().undo();
        QVERIFY(window->document().graph() == before);
    }

    void pinnedNodesStay() {
        const auto window = makeWindow();
        window->load(sourcePath("resources/examples/06-a-transfer-in-a-tight-loop.twb"));
        window->activateWindow();
        window->canvas().setFocus();
        QTest::keyClick(&window->canvas(), Qt::Key_A, Qt::ControlModifier);
        press(*window, Qt::Key_K, Qt::ControlModifier | Qt::AltModifier);
        for (const Node& node : window->document().graph().nodes()) QVERIFY(node.pinned);
        Reviewer none(false);
        press(*window, Qt::Key_M, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(!none.seen);
        press(*window, Qt::Key_K, Qt::ControlModifier | Qt::AltModifier);
        for (const Node& node : window->document().graph().nodes()) QVERIFY(!node.pinned);
    }

    void otherGpusAndOtherPolicies() {
        const auto window = makeWindow();
        window->load(sourcePath("resources/examples/digits.twb"));
        {
            Reviewer reads(false);
            press(*window, Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(reads.seen);
            QCOMPARE(reads.rows.size(), qsizetype(1 + window->document().profiles().all().size()));
            QVERIFY(reads.text.contains(QStringLiteral("The times are modelled")));
        }
        window->document().setGraph(brokenGraph(), {}, {});
        Reviewer reads(false);
        press(*window, Qt::Key_J, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(reads.seen);
        QCOMPARE(reads.rows.size(), qsizetype(5));
        const QString once = QStringLiteral("copied once, before the iterations");
        QCOMPARE(reads.rows[0], QStringLiteral("images → r0|fails|%1|%1").arg(once));
    }

    void guardIsAChoiceByDirection() {
        const auto window = makeWindow();
        window->document().setGraph(brokenGraph(), {}, {});
        auto* policy = find<QComboBox>(*window, "policy");
        policy->setFocus();
        QTest::keyClick(policy, Qt::Key_End);
        QVERIFY(window->document().graph().info().policy.kind() == Policy::Kind::guard);
        QVERIFY(!window->document().analysis().hasErrors());
        // The first "Disallow" is for copies from the host.
        action(*window, QStringLiteral("Disallow"))->trigger();
        QCOMPARE(window->document().graph().info().policy.toString(),
                 std::string("guard:h2d=disallow,d2h=log,d2d=log"));
        QCOMPARE(window->document().analysis().errorCount(), std::size_t(5));
        QCOMPARE(policy->currentText(), QStringLiteral("Guard"));
    }
};

TWB_GUI_TEST_MAIN(TestMainAnalysis)
#include "test_main_analysis.moc"
