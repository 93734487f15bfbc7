#include "formats/npy.h"
#include "formats/tensor_archive.h"
#include "support/test_main.h"
#include "widgets/inspector/file_chooser.h"
#include "widgets/window_hand.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QToolButton>

#include <filesystem>
#include <functional>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// Three Gemms that differ in alpha, and sources of two kinds.
struct Several {
    Graph graph;
    NodeId one, two, three, ones, zeros, file;

    Several() {
        DeltaBuilder builder(graph, "make");
        const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 500});
        one = addNode(builder, cpu, "Gemm", "one", 16, 16, {{"alpha", 0.5}});
        two = addNode(builder, cpu, "Gemm", "two", 240, 16, {{"alpha", 2.0}, {"transB", true}});
        three = addNode(builder, cpu, "Gemm", "three", 464, 16);
        ones = addNode(builder, cpu, "Ones", "ones", 16, 160, {{"shape", Ints{2}}});
        zeros = addNode(builder, cpu, "Zeros", "zeros", 240, 160, {{"shape", Ints{3}}});
        file = addNode(builder, cpu, "File", "file", 464, 160);
        graph.apply(builder.take());
    }
};

/// The current editor; editors of the previous selection are deleted later by events.
template <class T> T* editor(WindowHand& hand, const char* attribute) {
    QCoreApplication::processEvents();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    return hand.window->findChild<T*>(QLatin1String("attribute.") + QLatin1String(attribute));
}

/// Replaces the text of a field, without Enter.
void type(QLineEdit* field, const char* text) {
    QTest::mouseClick(field, Qt::LeftButton);
    field->selectAll();
    QTest::keyClicks(field, QLatin1String(text));
}

/// A graph that can run: ones through a LeakyRelu.
Graph leakyGraph() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 320});
    const NodeId ones = addNode(builder, cpu, "Ones", "ones", 16, 16);
    const NodeId leaky = addNode(builder, cpu, "LeakyRelu", "leaky", 240, 16, {{"alpha", 0.5}});
    builder.connect({{ones, 0}, {leaky, 0}});
    graph.apply(builder.take());
    return graph;
}

QLineEdit* line(WindowHand& hand, const char* attribute) { return editor<QLineEdit>(hand, attribute); }

/// Calls a function on the file dialog when it appears.
class Chooser : public QObject {
public:
    explicit Chooser(std::function<void(FileChooser&)> act) : m_act(std::move(act)) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* chooser = qobject_cast<FileChooser*>(QApplication::activeModalWidget());
            if (!chooser) return;
            m_timer.stop();
            isSeen = true;
            m_act(*chooser);
        });
        m_timer.start(10);
    }
    bool isSeen = false;

private:
    std::function<void(FileChooser&)> m_act;
    QTimer m_timer;
};

void openChooser(WindowHand& hand) {
    auto* path = line(hand, "path");
    for (QToolButton* button : path->findChildren<QToolButton*>())
        if (button->isVisible()) {
            QTest::mouseClick(button, Qt::LeftButton);
            return;
        }
    QFAIL("no button beside the path");
}

} // namespace

class TestInspector : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void oneEditSetsAllThatAreSelected() {
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.one));
        hand.click(hand.middle(g.two), Qt::ShiftModifier);
        hand.click(hand.middle(g.three), Qt::ShiftModifier);
        QCOMPARE(hand.document.selection().nodes.size(), std::size_t(3));
        QLineEdit* alpha = line(hand, "alpha");
        QCOMPARE(alpha->text(), QString());
        QCOMPARE(alpha->placeholderText(), QStringLiteral("several"));
        QCOMPARE(line(hand, "beta")->text(), QStringLiteral("1.0"));
        // Confirming an unchanged value is not an edit.
        QTest::mouseClick(alpha, Qt::LeftButton);
        QTest::keyClick(alpha, Qt::Key_Return);
        QCOMPARE(hand.undoSteps(), 0);
        QTest::keyClicks(alpha, QStringLiteral("x"));
        QTest::keyClick(alpha, Qt::Key_Return);
        QCOMPARE(hand.undoSteps(), 0);
        QTest::keyClick(alpha, Qt::Key_Escape);
        QTest::keyClicks(alpha, QStringLiteral("3"));
        QTest::keyClick(alpha, Qt::Key_Return);
        for (const NodeId id : {g.one, g.two, g.three})
            QCOMPARE(hand.node(id).attributes.number("alpha"), 3.0);
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(hand.document.undoStack().undoText(), QStringLiteral("Set alpha of 3 nodes"));
        QCOMPARE(line(hand, "alpha")->text(), QStringLiteral("3.0"));
        hand.document.undoStack().undo();
        QVERIFY(hand.graph() == g.graph);
    }

    void aCheckBoxOfSeveralStandsBetween() {
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.one));
        hand.click(hand.middle(g.two), Qt::ShiftModifier);
        auto* box = editor<QCheckBox>(hand, "transB");
        QCOMPARE(box->checkState(), Qt::PartiallyChecked);
        QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
        QVERIFY(hand.node(g.one).attributes.flag("transB") && hand.node(g.two).attributes.flag("transB"));
        QCOMPARE(box->checkState(), Qt::Checked);
        QTest::mouseClick(box, Qt::LeftButton, {}, QPoint(8, box->height() / 2));
        QVERIFY(!hand.node(g.one).attributes.flag("transB") && !hand.node(g.two).attributes.flag("transB"));
    }

    void differentOpsShowWhatTheyShare() {
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.ones));
        hand.click(hand.middle(g.zeros), Qt::ShiftModifier);
        QLineEdit* shape = line(hand, "shape");
        QTest::mouseClick(shape, Qt::LeftButton);
        QTest::keyClicks(shape, QStringLiteral("4, 5"));
        QTest::keyClick(shape, Qt::Key_Return);
        for (const NodeId id : {g.ones, g.zeros})
            QCOMPARE(hand.node(id).attributes.integers("shape"), (Ints{4, 5}));
        hand.click(hand.middle(g.one), Qt::ShiftModifier);
        QVERIFY(!line(hand, "alpha") && !line(hand, "shape"));
    }

    void resetGoesBackToTheDefaultOfAll() {
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.one));
        hand.click(hand.middle(g.two), Qt::ShiftModifier);
        QVERIFY(line(hand, "alpha"));
        QToolButton* reset = nullptr;
        for (QToolButton* button : hand.window->findChildren<QToolButton*>())
            if (button->isVisible() &&
                button->accessibleName() == QLatin1String("Reset alpha to its default"))
                reset = button;
        QVERIFY(reset);
        QTest::mouseClick(reset, Qt::LeftButton);
        QVERIFY(!hand.node(g.one).attributes.has("alpha") && !hand.node(g.two).attributes.has("alpha"));
        QCOMPARE(hand.undoSteps(), 1);
        QCOMPARE(line(hand, "alpha")->text(), QStringLiteral("1.0"));
    }

    void theChooserShowsWhatAFileHolds() {
        const QTemporaryDir folder;
        const std::filesystem::path at(folder.path().toStdString());
        writeNpy(at / "a.npy", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}).view());
        writeTensor(splitTensorPath((at / "w.npz#bias").string()), Tensor::of<float>({2}, {1, 2}).view());
        writeTensor(splitTensorPath((at / "w.npz#weight").string()),
                    Tensor::of<float>({2, 2}, {1, 2, 3, 4}).view());
        QFile broken(folder.filePath(QStringLiteral("b.npy")));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("no tensor");
        broken.close();
        const Several g;
        WindowHand hand(g.graph);
        hand.document.setGraph(g.graph, folder.filePath(QStringLiteral("p.twb")), folder.path());
        hand.click(hand.middle(g.file));
        {
            Chooser cancels([&](FileChooser& chooser) {
                const auto* facts = chooser.findChild<QLabel*>(QStringLiteral("fileFacts"));
                auto* name = chooser.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
                name->setText(QStringLiteral("a.npy"));
                QTRY_VERIFY2(facts->text().startsWith(QStringLiteral("f32 2×3\n24 B")),
                             qPrintable(facts->text()));
                name->setText(QStringLiteral("b.npy"));
                QTRY_VERIFY2(facts->text().contains(QStringLiteral("b.npy")), qPrintable(facts->text()));
                QTest::keyClick(&chooser, Qt::Key_Escape);
            });
            openChooser(hand);
            QVERIFY(cancels.isSeen);
            QCOMPARE(hand.undoSteps(), 0);
        }
        Chooser takes([&](FileChooser& chooser) {
            chooser.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(QStringLiteral("w.npz"));
            auto* tensors = chooser.findChild<QListWidget*>(QStringLiteral("fileTensors"));
            QTRY_COMPARE(tensors->count(), 2);
            QCOMPARE(tensors->item(1)->text(), QStringLiteral("weight\nf32 2×2"));
            QTest::mouseClick(tensors->viewport(), Qt::LeftButton, {},
                              tensors->visualItemRect(tensors->item(1)).center());
            auto* buttons = chooser.findChild<QDialogButtonBox*>();
            QTest::mouseClick(buttons->button(QDialogButtonBox::Open), Qt::LeftButton);
        });
        openChooser(hand);
        QVERIFY(takes.isSeen);
        QCOMPARE(hand.node(g.file).attributes.text("path"), std::string("w.npz#weight"));
        QVERIFY(hand.document.analysis().find(g.file)->fine);
    }

    /// F5 ran without it, Ctrl+S saved without it, and Ctrl+W closed without a question.
    void anActionTakesOverTheTypedText() {
        WindowHand hand(leakyGraph());
        const QTemporaryDir folder;
        hand.document.save(folder.filePath(QStringLiteral("g.twb")));
        const NodeId leaky = hand.node("leaky")->id;
        const auto alpha = [&] { return hand.node(leaky).attributes.number("alpha"); };
        hand.click(hand.middle(leaky));
        QLineEdit* field = line(hand, "alpha");
        type(field, "0.25");
        QCOMPARE(alpha(), 0.5);
        QTest::keyClick(field, Qt::Key_F5);
        QCOMPARE(alpha(), 0.25);
        QVERIFY(waitForRun(*hand.window));
        QVERIFY(!hand.window->runs().state().stale);
        type(field, "0.125");
        QTest::keyClick(field, Qt::Key_S, Qt::ControlModifier);
        QCOMPARE(alpha(), 0.125);
        QVERIFY(!hand.document.isModified());
        type(field, "2");
        const BoxAnswer cancel(QMessageBox::Cancel);
        QVERIFY(!hand.window->close());
        QVERIFY(cancel.answered());
        QCOMPARE(alpha(), 2.0);
    }

    /// The text became an edit after the undo, and the step could not be done again.
    void undoTakesBackTheTypedText() {
        WindowHand hand(leakyGraph());
        const NodeId leaky = hand.node("leaky")->id;
        const auto alpha = [&] { return hand.node(leaky).attributes.number("alpha"); };
        hand.click(hand.middle(leaky));
        QLineEdit* field = line(hand, "alpha");
        type(field, "0.25");
        QTest::keyClick(field, Qt::Key_Return);
        type(field, "0.125");
        QAction* undo = nullptr;
        for (QAction* one : hand.window->findChildren<QAction*>())
            if (one->shortcut() == QKeySequence(QKeySequence::Undo)) undo = one;
        QVERIFY(undo);
        undo->trigger(); // from the menu: in the field, the keys undo the typing
        QCOMPARE(alpha(), 0.25);
        QCOMPARE(field->text(), QStringLiteral("0.25"));
        QTest::keyClick(&hand.canvas, Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(alpha(), 0.125);
        QCOMPARE(hand.undoSteps(), 2);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        hand.key(Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(alpha(), 0.5);
        QVERIFY(!undo->isEnabled());
        hand.key(Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(alpha(), 0.25);
    }

    void escRestoresTheName() {
        WindowHand hand(leakyGraph());
        hand.click(hand.middle(hand.node("leaky")->id));
        hand.key(Qt::Key_F2);
        auto* name = find<QLineEdit>(*hand.window, "nodeName");
        QVERIFY(name->hasFocus());
        QTest::keyClicks(name, QStringLiteral("other"));
        QTest::keyClick(name, Qt::Key_Escape);
        QCOMPARE(name->text(), QStringLiteral("leaky"));
        hand.canvas.setFocus();
        QVERIFY(hand.node("leaky"));
        QCOMPARE(hand.undoSteps(), 0);
    }

    /// It was erased by the refresh at the end of a run.
    void aRunThatEndsLeavesTheTypedText() {
        WindowHand hand(leakyGraph());
        const NodeId leaky = hand.node("leaky")->id;
        hand.click(hand.middle(leaky));
        QLineEdit* field = line(hand, "alpha");
        type(field, "0.7");
        hand.window->runs().run(1);
        QVERIFY(waitForRun(*hand.window));
        QCOMPARE(field->text(), QStringLiteral("0.7"));
        QCOMPARE(hand.node(leaky).attributes.number("alpha"), 0.5);
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(hand.node(leaky).attributes.number("alpha"), 0.7);
        type(field, "0.9");
        QTest::keyClick(field, Qt::Key_Escape);
        QCOMPARE(field->text(), QStringLiteral("0.7"));
        hand.document.undoStack().undo(); // another value is shown at once
        QCOMPARE(field->text(), QStringLiteral("0.5"));
    }

    /// The value was written into the node that was selected next.
    void typedTextStaysWithItsNode_data() {
        QTest::addColumn<bool>("byKey");
        QTest::newRow("a key selects") << true;
        QTest::newRow("the program selects") << false;
    }
    void typedTextStaysWithItsNode() {
        QFETCH(bool, byKey);
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.two));
        QLineEdit* field = line(hand, "alpha");
        type(field, "4");
        if (byKey) {
            QTest::keyClick(field, Qt::Key_F8); // the next problem: a Gemm without inputs
        } else {
            Selection other;
            other.nodes = {g.one};
            hand.document.select(other);
        }
        QVERIFY(hand.document.selection().nodes == std::set{g.one});
        QCOMPARE(line(hand, "alpha")->text(), QStringLiteral("0.5"));
        QCOMPARE(hand.node(g.two).attributes.number("alpha"), 4.0);
        QCOMPARE(hand.node(g.one).attributes.number("alpha"), 0.5);
        QVERIFY(!hand.node(g.three).attributes.has("alpha"));
        QCOMPARE(hand.undoSteps(), 1);
    }

    /// The editor was deleted while its file dialog was open.
    /// The value said "none: both ends are o…".
    void aLongFactTakesTwoLines() {
        WindowHand hand(leakyGraph());
        hand.window->resize(1280, 800);
        Selection edge;
        edge.edge = hand.graph().edges().front();
        hand.document.select(edge);
        const QLabel* fact = nullptr;
        for (const QLabel* label : hand.window->findChildren<QLabel*>())
            if (label->text() == QStringLiteral("none: both ends are on one device")) fact = label;
        QVERIFY(fact);
        QTRY_VERIFY(fact->isVisible() && fact->height() >= 2 * fact->fontMetrics().lineSpacing());
        hand.window->grab();
        QCOMPARE(fact->toolTip(), QString()); // of an elided text only
    }

    void theChooserOutlivesItsEditor() {
        const Several g;
        WindowHand hand(g.graph);
        hand.click(hand.middle(g.file));
        Chooser chooser([&](FileChooser& dialog) {
            Selection other;
            other.nodes = {g.one};
            hand.document.select(other);
            QTimer::singleShot(50, &dialog, [&dialog] { QTest::keyClick(&dialog, Qt::Key_Escape); });
        });
        openChooser(hand);
        QVERIFY(chooser.isSeen);
        QCOMPARE(hand.undoSteps(), 0);
        QVERIFY(line(hand, "alpha"));
    }

    /// After Save as it used the old folder.
    void theChooserStartsInTheProjectsFolder() {
        const QTemporaryDir folder;
        const Several g;
        WindowHand hand(g.graph, QDir::tempPath());
        hand.click(hand.middle(g.file));
        QVERIFY(line(hand, "path"));
        hand.document.save(folder.filePath(QStringLiteral("p.twb")));
        QString start;
        Chooser chooser([&](FileChooser& dialog) {
            start = dialog.directory().absolutePath();
            QTest::keyClick(&dialog, Qt::Key_Escape);
        });
        openChooser(hand);
        QVERIFY(chooser.isSeen);
        QCOMPARE(start, folder.path());
    }
};

TWB_GUI_TEST_MAIN(TestInspector)
#include "test_inspector.moc"
