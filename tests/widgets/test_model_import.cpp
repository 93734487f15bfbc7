#include "formats/onnx/onnx_export.h"
#include "graph/delta.h"
#include "support/test_main.h"
#include "widgets/file_answer.h"
#include "widgets/settings.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QDropEvent>
#include <QMimeData>
#include <QPlainTextEdit>
#include <QProgressDialog>
#include <QStandardPaths>
#include <QTimer>
#include <QUrl>

using namespace twb;
using namespace twb::test;

namespace {

/// y = Gemm(x, weight), with a weight large enough for a file of its own, and an Identity before y.
Graph smallNetwork() {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    const auto add = [&](const char* op, const char* name, Attributes attributes) {
        Node node;
        node.op = op;
        node.name = name;
        node.lane = lane;
        node.attributes = std::move(attributes);
        return builder.addNode(node);
    };
    const std::vector<std::int64_t> square{16, 16};
    const NodeId x = add("Input", "x", {{"shape", square}});
    const NodeId weight = add("Ones", "fc.weight", {{"shape", square}});
    const NodeId fc = add("Gemm", "/net/fc/Gemm", {});
    const NodeId relu = add("Relu", "/net/relu/Relu", {});
    const NodeId same = add("Identity", "same", {});
    const NodeId y = add("Probe", "y", {});
    builder.connect({{x, 0}, {fc, 0}});
    builder.connect({{weight, 0}, {fc, 1}});
    builder.connect({{fc, 0}, {relu, 0}});
    builder.connect({{relu, 0}, {same, 0}});
    builder.connect({{same, 0}, {y, 0}});
    graph.apply(builder.take());
    return graph;
}

} // namespace

class TestModelImport : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::light());
    }

    void init() {
        m_folder = std::make_unique<QTemporaryDir>();
        m_model = m_folder->filePath(QStringLiteral("net.onnx"));
        exportOnnx(smallNetwork(), nullptr, m_model.toStdString());
    }

    /// Once, the program asked for a name before it read the model, and wrote a project without being asked
    /// to save.
    void opensAsAnUnsavedDocument() {
        const auto window = makeWindow();
        QVERIFY(window->openFile(m_model));
        const Document& document = window->document();
        QVERIFY(document.path().isEmpty());
        QVERIFY(document.isModified());
        QCOMPARE(document.title(), QStringLiteral("net"));
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files), QStringList(QStringLiteral("net.onnx")));
        const Node* weight = document.graph().findByName("fc.weight");
        QVERIFY(weight && weight->folded);
        QCOMPARE(document.graph().frames().begin()->title, "net");
        QVERIFY(document.analysis().typeOf({weight->id, 0}));
        QCOMPARE(QSettings().value(QStringLiteral("recent")).toStringList().first(), m_model);
        const QString folder = document.folder();
        QVERIFY(QDir(folder).exists(QStringLiteral("net.safetensors")));
        window->document().clear();
        QVERIFY(!QDir(folder).exists()); // no window uses it any more
    }

    void isSavedWithItsTensors_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("tensors");
        QTest::addRow("as proposed") << QStringLiteral("net") << QStringLiteral("net.safetensors");
        QTest::addRow("under another name") << QStringLiteral("other") << QStringLiteral("net.safetensors");
        QTest::addRow("beside the tensors of others")
            << QStringLiteral("taken") << QStringLiteral("taken-2.safetensors");
    }

    void isSavedWithItsTensors() {
        QFETCH(QString, name);
        QFETCH(QString, tensors);
        const auto write = [&](const QString& file) {
            QFile others(m_folder->filePath(file));
            QVERIFY(others.open(QIODevice::WriteOnly));
            others.write("weights from somewhere else");
        };
        write(QStringLiteral("taken.safetensors"));
        if (name == QStringLiteral("taken")) write(QStringLiteral("net.safetensors"));
        const auto window = makeWindow();
        QVERIFY(window->openFile(m_model));
        const QString project = m_folder->filePath(name + QStringLiteral(".twb"));
        FileAnswer answer(QStringLiteral("*.twb"), project);
        QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
        QVERIFY(answer.answered());
        QCOMPARE(window->document().path(), project);
        QVERIFY(!window->document().isModified());
        QVERIFY(QFile::exists(m_folder->filePath(tensors)));
        QFile others(m_folder->filePath(QStringLiteral("taken.safetensors")));
        QVERIFY(others.open(QIODevice::ReadOnly));
        QCOMPARE(others.readAll(), QByteArray("weights from somewhere else"));
        // The rename of a tensor file cannot be undone: the weights would be missing.
        while (window->document().undoStack().canUndo()) window->document().undoStack().undo();
        QVERIFY(!window->document().analysis().hasErrors());
        window->load(project);
        QVERIFY(!window->document().analysis().hasErrors());
        const Node* weight = window->document().graph().findByName("fc.weight");
        QVERIFY(window->document().analysis().typeOf({weight->id, 0}));
        window->runs().run(1);
        QVERIFY(waitForRun(*window));
        QVERIFY(window->runs().result()->status == RunStatus::finished);
    }

    /// After a save that failed, the next one copied no tensors and deleted the folder that had them.
    void aFailedSaveLosesNoTensors() {
        const auto window = makeWindow();
        QVERIFY(window->openFile(m_model));
        const QString to = m_folder->filePath(QStringLiteral("to"));
        QVERIFY(QDir().mkpath(to));
        QFile others(to + QStringLiteral("/net.safetensors"));
        QVERIFY(others.open(QIODevice::WriteOnly));
        others.close();
        const Graph before = window->document().graph();
        {
            // The name is as long as a name may be, so the temporary file cannot be made.
            const FileAnswer answer(QStringLiteral("*.twb"), to + QLatin1Char('/') +
                                                                 QString(240, QLatin1Char('a')) +
                                                                 QStringLiteral(".twb"));
            const BoxAnswer refused(QMessageBox::Ok);
            QTest::keyClick(window.get(), Qt::Key_S, Qt::ControlModifier);
            QVERIFY(refused.answered());
        }
        QVERIFY(window->document().graph() == before);
        QCOMPARE(QDir(to).entryList(QDir::Files), QStringList(QStringLiteral("net.safetensors")));
        const FileAnswer answer(QStringLiteral("*.twb"), to + QStringLiteral("/mine.twb"));
        action(*window, QStringLiteral("Save"))->trigger();
        QCOMPARE(window->document().path(), to + QStringLiteral("/mine.twb"));
        QVERIFY(QFile::exists(to + QStringLiteral("/mine.safetensors")));
        QVERIFY(!window->document().analysis().hasErrors());
    }

    void isSimplifiedInAStepOfItsOwn() {
        const auto window = makeWindow();
        QVERIFY(window->openFile(m_model));
        Document& document = window->document();
        QVERIFY(!document.graph().findByName("same"));
        QCOMPARE(document.undoStack().undoText(), QStringLiteral("Simplify the import"));
        const QString log = find<QPlainTextEdit>(*window, "log")->toPlainText();
        QVERIFY2(log.contains(QStringLiteral("Simplified from ")), qPrintable(log));
        QVERIFY2(log.contains(QStringLiteral(" that passed on an input unchanged")), qPrintable(log));
        const Graph simpler = document.graph();
        for (const bool isSimple : {false, true}) {
            isSimple ? document.undoStack().redo() : document.undoStack().undo();
            QCOMPARE(document.graph().findByName("same") == nullptr, isSimple);
            QVERIFY(!document.analysis().hasErrors());
            window->runs().run(1);
            QVERIFY(waitForRun(*window));
            QVERIFY(window->runs().result()->status == RunStatus::finished);
        }
        QVERIFY(document.graph() == simpler);
        document.undoStack().undo();
        QVERIFY(!document.undoStack().canUndo());
    }

    void isSimplifiedLaterIfTheSettingsSaySo() {
        settings::setSimplifiesImports(false);
        const auto window = makeWindow();
        QVERIFY(window->openFile(m_model));
        settings::setSimplifiesImports(true);
        Document& document = window->document();
        QVERIFY(document.graph().findByName("same"));
        QVERIFY(!document.undoStack().canUndo());
        const Position place = document.graph().findByName("y")->position;
        QTest::keyClick(window.get(), Qt::Key_I, Qt::AltModifier | Qt::ShiftModifier);
        QVERIFY(!document.graph().findByName("same"));
        QVERIFY(document.graph().findByName("y")->position == place);
        QCOMPARE(document.undoStack().index(), 1);
        action(*window, QStringLiteral("Simplify"))->trigger(); // nothing more to do
        QCOMPARE(document.undoStack().index(), 1);
        document.undoStack().undo();
        QVERIFY(document.graph().findByName("same"));
    }

    void isDroppedOnTheWindow() {
        const auto window = makeWindow();
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(m_model)});
        QDragEnterEvent enter({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(window.get(), &drop);
        QTRY_COMPARE(window->document().title(), QStringLiteral("net"));
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/tmp/picture.png"))});
        QDragEnterEvent other({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
        other.ignore();
        QApplication::sendEvent(window.get(), &other);
        QVERIFY(!other.isAccepted());
    }

    void aBrokenModelLeavesTheDocument() {
        QFile broken(m_folder->filePath(QStringLiteral("broken.onnx")));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("this is no protocol buffer");
        broken.close();
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        const Graph before = window->document().graph();
        BoxAnswer box(QMessageBox::Ok);
        QVERIFY(!window->openFile(broken.fileName()));
        QVERIFY(box.answered());
        QVERIFY2(box.detail().contains(QLatin1String("broken.onnx")), qPrintable(box.detail()));
        QVERIFY(window->document().graph() == before);
        QVERIFY(!QFile::exists(m_folder->filePath(QStringLiteral("broken.twb"))));
    }

    void aCancelledImportLeavesTheDocument() {
        constexpr int kNodes = 6000;
        Graph chain;
        DeltaBuilder builder(chain, "make");
        const LaneId lane = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
        NodeId last = addNode(builder, lane, "Input", "x", 0, 0, {{"shape", std::vector<std::int64_t>{2}}});
        for (int i = 0; i < kNodes; ++i) {
            const NodeId next = addNode(builder, lane, "Relu", "relu" + std::to_string(i), 0, 0);
            builder.connect({{last, 0}, {next, 0}});
            last = next;
        }
        builder.connect({{last, 0}, {addNode(builder, lane, "Probe", "y", 0, 0), 0}});
        chain.apply(builder.take());
        exportOnnx(chain, nullptr, m_model.toStdString());
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        const Graph before = window->document().graph();
        bool isPressed = false;
        QTimer press;
        connect(&press, &QTimer::timeout, this, [&] {
            auto* dialog = qobject_cast<QProgressDialog*>(QApplication::activeModalWidget());
            if (!dialog) return;
            QTest::mouseClick(dialog->findChild<QPushButton*>(), Qt::LeftButton);
            isPressed = true;
        });
        press.start(5);
        QVERIFY(!window->openFile(m_model));
        QVERIFY(isPressed);
        QVERIFY(window->document().graph() == before);
        const QDir cache(QStandardPaths::writableLocation(QStandardPaths::CacheLocation));
        QVERIFY(QDir(cache.filePath(QStringLiteral("models"))).isEmpty());
    }

    void parametersFoldAndUnfoldFromTheMenu() {
        const auto window = makeWindow();
        window->load(m_model);
        const int steps = window->document().undoStack().index();
        QVERIFY(window->selectNode(QStringLiteral("/net/fc/Gemm")));
        QAction* fold = action(*window, QStringLiteral("Fold parameters into cards"));
        QAction* unfold = action(*window, QStringLiteral("Unfold parameters from cards"));
        QVERIFY(!fold->isEnabled() && unfold->isEnabled());
        unfold->trigger();
        const Graph& graph = window->document().graph();
        QVERIFY(!graph.findByName("fc.weight")->folded);
        QVERIFY(fold->isEnabled() && !unfold->isEnabled());
        fold->trigger();
        QVERIFY(graph.findByName("fc.weight")->folded);
        QCOMPARE(window->document().undoStack().index(), steps + 2);
    }

    void allOfItIsSentToAnotherLaneInOneStep() {
        const auto window = makeWindow();
        window->load(m_model);
        const Graph before = window->document().graph();
        const int steps = window->document().undoStack().index();
        QCOMPARE(before.lanes().size(), std::size_t{1});
        action(*window, QStringLiteral("New cuda:0 lane"))->trigger(); // without a selection, all nodes move
        const Graph& graph = window->document().graph();
        QCOMPARE(graph.lanes().size(), std::size_t{2});
        for (const Node& node : graph.nodes()) QCOMPARE(graph.deviceOf(node), Device::cuda(0));
        QCOMPARE(window->document().undoStack().index(), steps + 1);
        // Moves one op back, together with its parameter.
        QVERIFY(window->selectNode(QStringLiteral("/net/fc/Gemm")));
        action(*window, QStringLiteral("cpu"))->trigger();
        QCOMPARE(graph.deviceOf(*graph.findByName("fc.weight")), Device::cpu());
        QCOMPARE(graph.deviceOf(*graph.findByName("x")), Device::cuda(0));
        window->document().undoStack().undo();
        window->document().undoStack().undo();
        QVERIFY(graph == before);
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
    QString m_model;
};

TWB_GUI_TEST_MAIN(TestModelImport)
#include "test_model_import.moc"
