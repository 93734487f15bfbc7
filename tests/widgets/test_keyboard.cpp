#include "support/test_main.h"
#include "widgets/keyboard_hand.h"
#include "widgets/panels/ledger_model.h"

#include <QClipboard>
#include <QComboBox>
#include <QLineEdit>
#include <QTableView>

using namespace twb;
using namespace twb::test;

/// The jobs of the manual's pages, by keyboard alone.
class TestKeyboard : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    /// resources/manual/first-graph.md
    void firstGraph() {
        const Keyboard keys;
        keys.press(Qt::Key_N, Qt::ControlModifier);
        QVERIFY(keys.graph().nodes().empty());
        keys.addOp("RandomNormal");
        QVERIFY(keys.isSelected("randomnormal"));
        keys.press(Qt::Key_1, Qt::ControlModifier | Qt::AltModifier); // to the lane cpu
        auto* shape = find<QLineEdit>(*keys.window, "attribute.shape");
        QVERIFY(keys.tabTo(*shape));
        shape->selectAll();
        keys.type(QStringLiteral("[16, 16]"));
        keys.press(Qt::Key_Return);
        QCOMPARE(keys.node("randomnormal")->attributes.integers("shape"),
                 (std::vector<std::int64_t>{16, 16}));
        keys.toCanvas();
        keys.press(Qt::Key_D, Qt::ControlModifier); // its twin
        keys.press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
        keys.addOp("MatMul");
        keys.press(Qt::Key_2, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(keys.graph().nodes().size(), std::size_t(3));
        for (const char* source : {"randomnormal", "randomnormal 2"}) {
            keys.goTo(source);
            QVERIFY(keys.isSelected(source));
            DialogKeys choice([&](QDialog& dialog) {
                auto* inputs = dialog.findChild<QComboBox*>();
                QVERIFY(inputs->itemText(0).startsWith(QStringLiteral("matmul · ")));
                QTest::keyClick(inputs, Qt::Key_Return);
            });
            keys.press(Qt::Key_E, Qt::ControlModifier);
            QVERIFY(choice.isSeen);
            keys.activate();
        }
        QCOMPARE(keys.graph().edgeCount(), std::size_t(2));
        QCOMPARE(keys.errors(), std::size_t(1)); // one operand is on cpu
        keys.press(Qt::Key_F8);
        keys.press(Qt::Key_Period, Qt::ControlModifier); // the first fix
        QCOMPARE(keys.errors(), std::size_t(0));
        keys.press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(keys.errors(), std::size_t(1));
        // All mismatches, after a look at the changes.
        DialogKeys review([](QDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Return); });
        keys.press(Qt::Key_Period, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(review.isSeen);
        keys.activate();
        QCOMPARE(keys.errors(), std::size_t(0));
        keys.press(Qt::Key_I, Qt::ControlModifier); // iterations
        keys.type(QStringLiteral("5"));
        keys.press(Qt::Key_Return);
        keys.toCanvas();
        QVERIFY(keys.run());
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("first.twb"));
        DialogKeys save([&](QDialog& dialog) {
            auto* name = find<QLineEdit>(dialog, "fileNameEdit");
            QTRY_VERIFY(name->hasFocus());
            name->setText(path); // typing opens a completion list over the dialog
            QTest::keyClick(name, Qt::Key_Return);
        });
        keys.press(Qt::Key_S, Qt::ControlModifier);
        QVERIFY(save.isSeen);
        QVERIFY(QFile::exists(path));
    }

    /// resources/manual/mismatches.md
    void mismatches() {
        const Keyboard keys;
        keys.window->load(sourcePath(kMismatch));
        keys.toCanvas();
        QCOMPARE(keys.errors(), std::size_t(1));
        keys.press(Qt::Key_F8); // shows and selects it
        QCOMPARE(keys.window->document().selection().nodes.size() +
                     (keys.window->document().selection().edge ? 1U : 0U),
                 std::size_t(1));
        keys.press(Qt::Key_Period, Qt::ControlModifier);
        QCOMPARE(keys.errors(), std::size_t(0));
        keys.press(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(keys.errors(), std::size_t(1));
        keys.press(Qt::Key_I, Qt::ControlModifier | Qt::AltModifier); // implicit policy
        QCOMPARE(keys.errors(), std::size_t(0));
        QVERIFY(keys.run());
        keys.press(Qt::Key_S, Qt::ControlModifier | Qt::AltModifier);
        QCOMPARE(keys.errors(), std::size_t(1));
    }

    /// resources/manual/transfers.md
    void transfers() {
        const Keyboard keys;
        keys.window->load(sourcePath("resources/examples/06-a-transfer-in-a-tight-loop.twb"));
        keys.toCanvas();
        QVERIFY(keys.run());
        keys.press(Qt::Key_1, Qt::AltModifier);
        keys.press(Qt::Key_M, Qt::AltModifier | Qt::ShiftModifier); // the whole ledger, by total time
        auto* ledger = find<QTableView>(*keys.window, "ledgerTable");
        QVERIFY(ledger->hasFocus());
        const int rows = ledger->model()->rowCount();
        const auto total = [&](int row) {
            return ledger->model()
                ->index(row, LedgerModel::TotalColumn)
                .data()
                .toString()
                .section(QLatin1Char(' '), 0, 0)
                .toDouble();
        };
        QVERIFY(rows > 2 && total(0) >= total(1) && total(1) >= total(2));
        keys.press(Qt::Key_Down);
        QVERIFY(keys.window->document().selection().edge.has_value());
        keys.press(Qt::Key_R, Qt::AltModifier | Qt::ShiftModifier); // its filter
        keys.type(QStringLiteral("half"));
        QVERIFY(ledger->model()->rowCount() < rows);
        keys.press(Qt::Key_Escape);
        // The times of each copy, as CSV.
        keys.press(Qt::Key_T, Qt::AltModifier | Qt::ShiftModifier);
        keys.press(Qt::Key_V, Qt::AltModifier | Qt::ShiftModifier);
        QTableView* table = nullptr;
        for (QWidget* window : QApplication::topLevelWidgets())
            if (window->objectName() == QLatin1String("plotTableWindow"))
                table = window->findChild<QTableView*>();
        QVERIFY(table);
        QTRY_VERIFY(table->hasFocus());
        keys.press(Qt::Key_C, Qt::ControlModifier);
        QVERIFY(QApplication::clipboard()->text().startsWith(QLatin1String("iteration,")));
        keys.press(Qt::Key_Escape);
    }

    /// resources/manual/training.md
    void training() {
        const Keyboard keys;
        keys.window->load(sourcePath("resources/examples/11-a-model-learns.twb"));
        keys.toCanvas();
        keys.press(Qt::Key_9, Qt::AltModifier);
        auto* epochs = find<QWidget>(*keys.window, "epochs");
        QVERIFY(keys.tabTo(*epochs));
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.type(QStringLiteral("9999"));
        auto* train = find<QPushButton>(*keys.window, "train");
        QVERIFY(train);
        QVERIFY(keys.tabTo(*train));
        keys.press(Qt::Key_Space);
        QTRY_VERIFY_WITH_TIMEOUT(keys.window->training().course().losses.size() > 50, 30'000);
        auto* stop = find<QPushButton>(*keys.window, "stopTraining");
        QVERIFY(stop);
        QVERIFY(keys.tabTo(*stop));
        keys.press(Qt::Key_Space);
        QTRY_VERIFY(keys.window->training().state() == TrainingRun::State::idle);
    }

    /// resources/manual/modules.md
    void modules() {
        const Keyboard keys;
        keys.window->load(sourcePath(kMismatch));
        keys.toCanvas();
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.press(Qt::Key_G, Qt::ControlModifier);
        QCOMPARE(keys.graph().frames().size(), std::size_t(1));
        keys.press(Qt::Key_E, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(keys.graph().frames().begin()->collapsed);
        keys.press(Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(keys.window->canvas().navigator().inside() != FrameId::none);
        keys.press(Qt::Key_Backspace, Qt::ControlModifier);
        QVERIFY(keys.window->canvas().navigator().inside() == FrameId::none);
        keys.press(Qt::Key_G, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(keys.graph().frames().empty());
    }

    /// resources/manual/runs.md
    void runsAndBreakpoints() {
        const Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        keys.goTo("relu");
        keys.press(Qt::Key_B); // pause after it
        keys.press(Qt::Key_F5);
        QTRY_VERIFY(keys.window->runs().isStopped());
        QCOMPARE(keys.window->runs().state().stop->node, keys.node("relu")->id);
        keys.press(Qt::Key_F10);
        QTRY_VERIFY(keys.window->runs().isStopped() &&
                    keys.window->runs().state().stop->node != keys.node("relu")->id);
        keys.press(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*keys.window));
        keys.press(Qt::Key_X, Qt::ControlModifier | Qt::AltModifier); // no breakpoints
        QVERIFY(keys.run());
        keys.press(Qt::Key_F5, Qt::ControlModifier); // continuously
        QTRY_VERIFY(keys.window->runs().isRunning());
        keys.press(Qt::Key_F5, Qt::ShiftModifier);
        QVERIFY(waitForRun(*keys.window));
    }

    /// resources/manual/onnx.md
    void exportsAndOpensAModel() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("digits.onnx"));
        const auto answer = [&](QDialog& dialog) {
            auto* name = find<QLineEdit>(dialog, "fileNameEdit");
            QTRY_VERIFY(name->hasFocus());
            name->setText(path); // typing opens a completion list over the dialog
            QTest::keyClick(name, Qt::Key_Return);
        };
        const Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        {
            DialogKeys save(answer);
            keys.press(Qt::Key_O, Qt::ControlModifier | Qt::AltModifier);
            QVERIFY(save.isSeen);
        }
        QVERIFY(QFile::exists(path));
        keys.activate();
        keys.toCanvas();
        DialogKeys open(answer);
        keys.press(Qt::Key_O, Qt::ControlModifier);
        QVERIFY(open.isSeen);
        QVERIFY(keys.node("accuracy"));
        QVERIFY(!keys.node("relu"));                       // the export computed what is constant
        QVERIFY(keys.window->document().path().isEmpty()); // an unsaved project
        keys.activate();
        keys.toCanvas();
        QVERIFY(keys.run());
    }

    /// resources/manual/analysis.md
    void proposals() {
        const Keyboard keys;
        keys.window->load(sourcePath("resources/examples/06-a-transfer-in-a-tight-loop.twb"));
        keys.toCanvas();
        const Graph before = keys.graph();
        DialogKeys review([](QDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Return); });
        keys.press(Qt::Key_M, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(review.isSeen);
        QVERIFY(keys.graph() != before);
        keys.activate();
        keys.press(Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(keys.graph() == before);
        DialogKeys what([](QDialog& dialog) { QTest::keyClick(&dialog, Qt::Key_Escape); });
        keys.press(Qt::Key_W, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(what.isSeen);
        QVERIFY(keys.graph() == before);
    }

    /// resources/manual/panels.md: from pane to pane, each panel by its key.
    void panels() {
        const Keyboard keys;
        keys.window->load(sourcePath(kDigits));
        keys.toCanvas();
        QVERIFY(keys.run());
        const QStringList pages = keys.window->bottom().keys();
        for (const auto& [key, page] : {std::pair{Qt::Key_1, "transfers"},
                                        {Qt::Key_2, "timeline"},
                                        {Qt::Key_3, "memory"},
                                        {Qt::Key_4, "problems"},
                                        {Qt::Key_5, "log"},
                                        {Qt::Key_6, "nodes"},
                                        {Qt::Key_7, "history"},
                                        {Qt::Key_8, "breakpoints"},
                                        {Qt::Key_9, "training"}}) {
            keys.press(key, Qt::AltModifier);
            QCOMPARE(pages.value(keys.window->bottom().currentIndex()), QLatin1String(page));
        }
        std::set<QWidget*> seen;
        for (int i = 0; i < 6; ++i) {
            keys.press(Qt::Key_F6);
            QVERIFY(QApplication::focusWidget());
            seen.insert(QApplication::focusWidget());
        }
        QVERIFY(seen.size() >= 4); // toolbar, palette, canvas, inspector, panel
        keys.goTo("fc1");
        keys.press(Qt::Key_F1, Qt::AltModifier);
        QCOMPARE(QApplication::focusWidget(), find<QWidget>(*keys.window, "opHelpText"));
    }

    /// The inputs of Concat have one name, and a number each.
    void connectsToTheChosenInput() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 600});
        const NodeId a = addNode(builder, cpu, "Ones", "a", 16, 16);
        const NodeId b = addNode(builder, cpu, "Ones", "b", 16, 160);
        const NodeId source = addNode(builder, cpu, "Ones", "source", 16, 304);
        const NodeId concat = addNode(builder, cpu, "Concat", "concat", 400, 16);
        builder.connect({{a, 0}, {concat, 0}});
        builder.connect({{b, 0}, {concat, 1}});
        graph.apply(builder.take());
        const Keyboard keys;
        keys.window->document().setGraph(std::move(graph), {}, {});
        keys.toCanvas();
        keys.goTo("source");
        QVERIFY(keys.isSelected("source"));
        {
            DialogKeys choice([](QDialog& dialog) {
                auto* inputs = dialog.findChild<QComboBox*>();
                QCOMPARE(inputs->count(), 3);
                QCOMPARE(inputs->itemText(0), QStringLiteral("concat · inputs 3"));
                inputs->setCurrentText(QStringLiteral("concat · inputs 2 (replaces its wire)"));
                QTest::keyClick(inputs, Qt::Key_Return);
            });
            keys.press(Qt::Key_E, Qt::ControlModifier);
            QVERIFY(choice.isSeen);
        }
        QCOMPARE(keys.graph().sourceOf({concat, 0}), std::optional(PortRef{a, 0}));
        QCOMPARE(keys.graph().sourceOf({concat, 1}), std::optional(PortRef{source, 0}));
        QVERIFY(!keys.graph().sourceOf({concat, 2}));
        keys.activate();
        DialogKeys again([](QDialog& dialog) {
            auto* inputs = dialog.findChild<QComboBox*>();
            QCOMPARE(inputs->count(), 2); // not the one that it has
            QTest::keyClick(&dialog, Qt::Key_Escape);
        });
        keys.press(Qt::Key_E, Qt::ControlModifier);
        QVERIFY(again.isSeen);
    }

    void connectingSaysWhatIsMissing() {
        const Keyboard keys;
        keys.window->load(sourcePath(kMismatch));
        keys.toCanvas();
        keys.press(Qt::Key_A, Qt::ControlModifier);
        keys.press(Qt::Key_E, Qt::ControlModifier);
        QVERIFY(!QApplication::activeModalWidget());
        QCOMPARE(keys.window->document().undoStack().count(), 0);
        // A node whose consumers are all upstream of it has no input to go to.
        keys.goTo("sum");
        keys.press(Qt::Key_E, Qt::ControlModifier);
        QVERIFY(!QApplication::activeModalWidget());
    }
};

TWB_GUI_TEST_MAIN(TestKeyboard)
#include "test_keyboard.moc"
