#include "formats/onnx/onnx_export.h"
#include "graph/delta.h"
#include "support/test_main.h"
#include "widgets/model_import.h"
#include "widgets/window_fixture.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QDropEvent>
#include <QFileDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QUrl>

using namespace twb;
using namespace twb::test;

namespace {

/// y = Gemm(x, weight), the weight large enough to lie in a file of its own.
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
    const NodeId y = add("Probe", "y", {});
    builder.connect({{x, 0}, {fc, 0}});
    builder.connect({{weight, 0}, {fc, 1}});
    builder.connect({{fc, 0}, {relu, 0}});
    builder.connect({{relu, 0}, {y, 0}});
    graph.apply(builder.take());
    return graph;
}

/// Says where the project is to be kept: where the dialog proposes, or at `path`.
class PlaceAnswer : public QObject {
public:
    explicit PlaceAnswer(QString path = {}) : m_path(std::move(path)) {
        connect(&m_timer, &QTimer::timeout, this, &PlaceAnswer::look);
        m_timer.start(10);
    }
    QString proposed() const { return m_proposed; }

private:
    void look() {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        if (!dialog) return;
        m_timer.stop();
        auto* name = find<QLineEdit>(*dialog, "fileNameEdit");
        m_proposed = name->text();
        if (!m_path.isEmpty()) name->setText(m_path);
        QTest::mouseClick(find<QDialogButtonBox>(*dialog, "buttonBox")->button(QDialogButtonBox::Save),
                          Qt::LeftButton);
    }
    QTimer m_timer;
    QString m_path;
    QString m_proposed;
};

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

    void opensWithItsProjectBesideIt() {
        const auto window = makeWindow();
        PlaceAnswer place;
        QVERIFY(window->openFile(m_model));
        QCOMPARE(place.proposed(), QStringLiteral("net.twb"));
        QCOMPARE(window->document().path(), m_folder->filePath(QStringLiteral("net.twb")));
        QVERIFY(QFile::exists(m_folder->filePath(QStringLiteral("net.safetensors"))));
        const Graph& graph = window->document().graph();
        const Node* weight = graph.findByName("fc.weight");
        QVERIFY(weight && weight->folded);
        QCOMPARE(graph.frames().begin()->title, "net");
        QVERIFY(window->document().analysis().typeOf({weight->id, 0}));
        QCOMPARE(QSettings().value(QStringLiteral("recent")).toStringList().first(),
                 window->document().path());
    }

    void isDroppedOnTheWindow() {
        const auto window = makeWindow();
        const QString project = m_folder->filePath(QStringLiteral("elsewhere.twb"));
        PlaceAnswer place(project);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(m_model)});
        QDragEnterEvent enter({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(window.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({5, 5}, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(window.get(), &drop);
        QTRY_COMPARE(window->document().path(), project);
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
        PlaceAnswer place;
        BoxAnswer box(QMessageBox::Ok);
        QVERIFY(!window->openFile(broken.fileName()));
        QVERIFY(box.answered());
        QVERIFY2(box.detail().contains(QLatin1String("broken.onnx")), qPrintable(box.detail()));
        QVERIFY(window->document().graph() == before);
        QVERIFY(!QFile::exists(m_folder->filePath(QStringLiteral("broken.twb"))));
    }

    void noTensorsOfOthersAreWrittenOver() {
        const QString others = m_folder->filePath(QStringLiteral("net.safetensors"));
        QFile file(others);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("weights from somewhere else");
        file.close();
        const QString project = m_folder->filePath(QStringLiteral("net.twb"));
        importModel(m_model, project);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("weights from somewhere else"));
        QVERIFY(QFile::exists(m_folder->filePath(QStringLiteral("net-2.safetensors"))));
        const auto window = makeWindow();
        window->load(project);
        QVERIFY(!window->document().analysis().hasErrors());
    }

    void parametersFoldAndUnfoldFromTheMenu() {
        const auto window = makeWindow();
        importModel(m_model, m_folder->filePath(QStringLiteral("net.twb")));
        window->load(m_folder->filePath(QStringLiteral("net.twb")));
        QVERIFY(window->selectNode(QStringLiteral("/net/fc/Gemm")));
        QAction* fold = action(*window, QStringLiteral("Fold parameters"));
        QAction* unfold = action(*window, QStringLiteral("Unfold parameters"));
        QVERIFY(!fold->isEnabled() && unfold->isEnabled());
        unfold->trigger();
        const Graph& graph = window->document().graph();
        QVERIFY(!graph.findByName("fc.weight")->folded);
        QVERIFY(fold->isEnabled() && !unfold->isEnabled());
        fold->trigger();
        QVERIFY(graph.findByName("fc.weight")->folded);
        QCOMPARE(window->document().undoStack().index(), 2);
    }

    void allOfItIsSentToAnotherLaneInOneStep() {
        const auto window = makeWindow();
        importModel(m_model, m_folder->filePath(QStringLiteral("net.twb")));
        window->load(m_folder->filePath(QStringLiteral("net.twb")));
        const Graph before = window->document().graph();
        QCOMPARE(before.lanes().size(), std::size_t{1});
        action(*window, QStringLiteral("New cuda:0 lane"))->trigger(); // nothing is selected: all of it
        const Graph& graph = window->document().graph();
        QCOMPARE(graph.lanes().size(), std::size_t{2});
        for (const Node& node : graph.nodes()) QCOMPARE(graph.deviceOf(node), Device::cuda(0));
        QCOMPARE(window->document().undoStack().index(), 1);
        // One op back, and its parameter with it.
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
