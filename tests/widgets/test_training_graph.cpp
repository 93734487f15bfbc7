#include "formats/project.h"
#include "support/test_main.h"
#include "training/training.h"
#include "widgets/dialog_answer.h"
#include "widgets/inspector/inspector.h"
#include "widgets/inspector/tensor_panel.h"
#include "widgets/text.h"
#include "widgets/training_hand.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QListWidget>

using namespace twb;
using namespace twb::test;

/// The nodes of a training in the window: they are made, followed, and removed.
class TestTrainingGraph : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { isolateSettings(); }

    void mixedPrecisionIsOneUndoStep() {
        const auto window = windowWith(kLearns);
        Document& document = window->document();
        const std::size_t before = document.graph().nodes().size();
        action(*window, QStringLiteral("Mixed precision with bf16"))->trigger();
        QVERIFY(document.graph().nodes().size() != before);
        QCOMPARE(document.analysis().typeOf({nodeNamed(document.graph(), "fc1"), 0})->dtype, DType::bf16);
        QCOMPARE(document.analysis().errorCount(), 0);
        const Training training = trainingOf(document.graph()).value();
        QVERIFY(!lossScaleOf(document.graph(), training)); // only f16 needs one
        document.undoStack().undo();
        QCOMPARE(document.graph().nodes().size(), before);
        action(*window, QStringLiteral("Mixed precision with f16"))->trigger();
        QVERIFY(lossScaleOf(document.graph(), trainingOf(document.graph()).value()));
        QCOMPARE(document.analysis().errorCount(), 0);
    }

    /// The lesson on labels: apply its fix, make the graph learn in the dialog, and train it.
    void aGraphIsMadeToLearn() {
        const auto window = windowWith(kLabels);
        Document& document = window->document();
        QVERIFY(document.analysis().hasErrors());
        QVERIFY(action(*window, QStringLiteral("Apply first fix")));
        action(*window, QStringLiteral("Apply first fix"))->trigger();
        QVERIFY(!document.analysis().hasErrors());
        const Graph before = document.graph();
        DialogAnswer answer("learn", QDialogButtonBox::Ok, [](QDialog& dialog) {
            QCOMPARE(dialog.findChild<QComboBox*>(QStringLiteral("loss"))->currentText(),
                     QStringLiteral("loss (SoftmaxCrossEntropyLoss)"));
            QCOMPARE(dialog.findChild<QListWidget*>(QStringLiteral("parameters"))->count(), 4);
            dialog.findChild<QComboBox*>(QStringLiteral("optimizer"))->setCurrentText(QStringLiteral("SGD"));
            dialog.findChild<QDoubleSpinBox*>(QStringLiteral("rate"))->setValue(0.1);
            dialog.findChild<QDoubleSpinBox*>(QStringLiteral("momentum"))->setValue(0.9);
        });
        click(*window, "learn");
        QVERIFY(answer.answered());
        QVERIFY(!document.analysis().hasErrors());
        const Training training = trainingOf(document.graph()).value();
        QVERIFY(training.nodes.size() > 12);
        for (const NodeId id : training.nodes)
            QCOMPARE(document.graph().deviceOf(*document.graph().find(id)), Device::cuda(0));
        find<QSpinBox>(*window, "epochs")->setValue(1);
        click(*window, "train");
        QTRY_COMPARE_WITH_TIMEOUT(buttonText(*window), QStringLiteral("Train"), 300'000);
        QVERIFY2(factsOf(*window).contains(QStringLiteral("Samples/s, modelled")),
                 qPrintable(factsOf(*window)));
        document.undoStack().undo();
        QVERIFY(document.graph() == before);
    }

    /// An edit of the forward graph and the new backward pass are one undo step.
    void theBackwardPassFollowsAnEdit() {
        const auto window = windowWith(kLearns);
        Document& document = window->document();
        const Graph before = document.graph();
        const NodeId relu = nodeNamed(before, "relu");
        DeltaBuilder builder(before, "Tanh");
        Node tanh = *before.find(relu);
        tanh.op = "Tanh";
        builder.change(tanh);
        document.apply(builder.take());
        QVERIFY(!document.analysis().hasErrors());
        bool isFound = false;
        for (const Node& node : document.graph().nodes())
            isFound = isFound || (node.forward == relu && node.op == "Sub");
        QVERIFY(isFound); // 1 − Y²
        QVERIFY(!(document.graph() == before));
        document.undoStack().undo();
        QVERIFY(document.graph() == before);
        document.undoStack().redo();
        QCOMPARE(document.graph().find(relu)->op, std::string("Tanh"));
        QVERIFY(!document.analysis().hasErrors());
    }

    void gradientAndForwardNodeLeadToEachOther() {
        const auto window = windowWith(kLearns);
        Document& document = window->document();
        const NodeId relu = nodeNamed(document.graph(), "relu");
        QAction* partner = action(*window, QStringLiteral("Go to gradient or forward node"));
        QVERIFY(partner);
        document.select({{relu}, {}, {}});
        partner->trigger();
        QVERIFY(!document.selection().nodes.empty());
        for (const NodeId id : document.selection().nodes) QCOMPARE(document.graph().find(id)->forward, relu);
        partner->trigger();
        QCOMPARE(document.selection().nodes, std::set<NodeId>{relu});
        // From a parameter to the node whose output the optimizer reads.
        document.select({{nodeNamed(document.graph(), "fc2.weight")}, {}, {}});
        partner->trigger();
        QCOMPARE(document.selection().nodes, std::set<NodeId>{nodeNamed(document.graph(), "fc2 grad 2")});
    }

    /// The modules of the training open and close on the way.
    void aDoubleClickLeadsToTheGradientAndBack() {
        WindowHand hand(loadProject(sourcePath(kLearns).toStdString()));
        const NodeId relu = hand.node("relu")->id;
        const NodeId where = hand.node("relu grad 4")->id;
        const auto doubleClick = [&](NodeId id) {
            QTest::mouseDClick(&hand.canvas, Qt::LeftButton, {}, hand.middle(id));
        };
        const auto isShown = [&](NodeId id) {
            return hand.document.selection().nodes.contains(id) && hand.canvas.scene().nodes().drawn(id) &&
                   hand.canvas.rect().contains(hand.middle(id));
        };
        doubleClick(relu);
        QVERIFY(isShown(where));
        QVERIFY(!hand.document.selection().nodes.contains(relu));
        QCOMPARE(hand.canvas.navigator().inside(), trainingOf(hand.graph())->backward);
        doubleClick(where);
        QCOMPARE(hand.document.selection().nodes, std::set<NodeId>{relu});
        QVERIFY(isShown(relu));
        QCOMPARE(hand.canvas.navigator().inside(), FrameId::none);
        // A node without a gradient is renamed, and so is one with a gradient by F2.
        const auto* name = find<QLineEdit>(*hand.window, "nodeName");
        QVERIFY(!name->hasFocus());
        doubleClick(hand.node("digits")->id);
        QVERIFY(name->hasFocus());
        hand.canvas.setFocus();
        hand.document.select({{relu}, {}, {}});
        hand.key(Qt::Key_F2);
        QVERIFY(name->hasFocus());
    }

    /// After a training its figures, after a run those of the run.
    void theInspectorShowsTheGradientOfAParameter() {
        WindowHand hand(loadProject(sourcePath(kLearns).toStdString()), sourcePath("resources/examples"));
        MainWindow& window = *hand.window;
        window.bottom().showPage(QStringLiteral("training"));
        const NodeId weight = hand.node("fc2.weight")->id;
        auto* panel = find<TensorPanel>(window, "gradient");
        hand.click(hand.middle(hand.node("relu")->id));
        QVERIFY(!panel->isVisible()); // it is no parameter
        hand.click(hand.middle(weight));
        QVERIFY(panel->isVisible());
        QVERIFY(textsOf(*panel).contains(QStringLiteral("Train or run the graph to see this gradient.")));
        find<QSpinBox>(window, "epochs")->setValue(1);
        click(window, "train");
        QTRY_COMPARE_WITH_TIMEOUT(buttonText(window), QStringLiteral("Train"), 300'000);
        const Inspector& inspector = *window.findChild<Inspector*>();
        QVERIFY2(textsOf(inspector).contains(QStringLiteral("trained, 36 steps")),
                 qPrintable(textsOf(inspector)));
        const auto isShown = [&](const TensorStatistics& statistics) {
            const QString texts = textsOf(*panel);
            return statistics.max > 0 && statistics.finite == 640 &&
                   texts.contains(compact(statistics.min)) && texts.contains(compact(statistics.max)) &&
                   texts.contains(compact(statistics.std));
        };
        QVERIFY2(isShown(statisticsOf(window.training().gradient(weight).value())),
                 qPrintable(textsOf(*panel)));
        hand.key(Qt::Key_F5);
        QVERIFY(waitForRun(window));
        const PortRef gradient = gradientOf(hand.graph(), weight).value();
        QVERIFY2(isShown(statisticsOf(window.runs().tensor(gradient).value())), qPrintable(textsOf(*panel)));
        QVERIFY(!textsOf(inspector).contains(QStringLiteral("trained, 36 steps")));
        // After several iterations, the inspector names the one whose gradient it shows.
        window.runs().run(3);
        QVERIFY(waitForRun(window));
        QVERIFY2(isShown(statisticsOf(window.runs().tensor(gradient).value())), qPrintable(textsOf(*panel)));
        QVERIFY2(textsOf(inspector).contains(QStringLiteral("iteration 3")), qPrintable(textsOf(inspector)));
    }

    /// The square root of 0 is 0, but its slope is infinite.
    void aStopAtAnInfiniteGradientNamesTheForwardNode() {
        Graph graph;
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 260});
        const NodeId x =
            addNode(builder, cpu, "Parameter", "x", 24, 24, {{"shape", std::vector<std::int64_t>{4}}});
        const NodeId root = addNode(builder, cpu, "Sqrt", "root", 240, 24);
        const NodeId loss = addNode(builder, cpu, "ReduceSum", "loss", 440, 24, {{"keepdims", false}});
        builder.connect({{x, 0}, {root, 0}});
        builder.connect({{root, 0}, {loss, 0}});
        graph.apply(builder.take());
        graph.apply(makeTraining(graph, {}, nullptr, loss, std::vector{x}, Optimizer()));
        WindowHand hand(graph);
        const auto stopAt = [&](NodeId id) {
            hand.canvas.navigator().reveal(id);
            hand.click(hand.middle(id));
            hand.key(Qt::Key_Q, Qt::ControlModifier | Qt::AltModifier);
            hand.key(Qt::Key_F5);
            const bool isStopped = QTest::qWaitFor([&] { return hand.window->runs().isStopped(); }, 300'000);
            const QString status = find<QLabel>(*hand.window, "status")->text();
            hand.key(Qt::Key_F5, Qt::ShiftModifier);
            return waitForRun(*hand.window) && isStopped ? status : QString();
        };
        const NodeId gradient = gradientOf(hand.graph(), x)->node;
        QCOMPARE(hand.node(gradient).forward, root);
        const QString atGradient = stopAt(gradient);
        QVERIFY2(atGradient.contains(QStringLiteral("(gradient of root), iteration 1: 0 NaN, 4 inf")),
                 qPrintable(atGradient));
        hand.document.undoStack().undo(); // the breakpoint
        const auto update = std::ranges::find(hand.graph().nodes(), std::string("SGDUpdate"), &Node::op);
        const QString atUpdate = stopAt(update->id);
        QVERIFY2(atUpdate.contains(QStringLiteral("x update (update of x), iteration 1")),
                 qPrintable(atUpdate));
    }

    void aTrainingIsRemoved() {
        const auto window = windowWith(kLearns);
        action(*window, QStringLiteral("Remove training"))->trigger();
        QVERIFY(!trainingOf(window->document().graph()));
        QVERIFY(!window->document().analysis().hasErrors());
        QVERIFY(factsOf(*window).contains(QStringLiteral("Add a training module to train this graph.")));
    }
};

TWB_GUI_TEST_MAIN(TestTrainingGraph)
#include "test_training_graph.moc"
