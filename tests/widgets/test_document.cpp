#include "core/error.h"
#include "formats/project.h"
#include "support/open_count.h"
#include "support/test_main.h"
#include "widgets/window_fixture.h"

#include <QSignalSpy>

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

Delta addRelu(const Graph& graph) {
    DeltaBuilder builder(graph, "Add relu");
    Node node;
    node.op = "Relu";
    node.name = graph.uniqueName("relu");
    node.lane = graph.lanesInOrder().front().id;
    builder.addNode(node);
    return builder.take();
}

} // namespace

class TestDocument : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void startsWithALaneForEachKindOfDevice();
    void applyIsOneUndoStep();
    void undoAndRedoGiveTheSameGraphs();
    void aRefusedDeltaChangesNothing();
    void selectionForgetsWhatIsGone();
    void aNewGraphIsUnmodified();
    void aBrokenFileLeavesEverything();
    void saveAndOpenGiveTheSameGraph();
    void anUnreadableProfileChoiceIsRefused();
    void aChosenProfileIsReadOncePerDocument();
    void aSnapshotStaysAsItIs();
    void causesAreDescribedOnDemand();
};

void TestDocument::startsWithALaneForEachKindOfDevice() {
    Document document(profiles());
    const std::vector<Lane> lanes = document.graph().lanesInOrder();
    QCOMPARE(lanes.size(), std::size_t(2));
    QVERIFY(lanes[0].device.isCpu());
    QVERIFY(lanes[1].device == Device::cuda(0));
    QVERIFY(!document.isModified());
    QVERIFY(document.devices().isSimulated(Device::cuda(0)));
}

void TestDocument::applyIsOneUndoStep() {
    Document document(profiles());
    QSignalSpy changed(&document, &Document::changed);
    QSignalSpy modified(&document, &Document::modifiedChanged);
    const std::uint64_t revision = document.revision();
    document.apply(addRelu(document.graph()));
    QCOMPARE(changed.count(), 1);
    QCOMPARE(modified.count(), 1);
    QCOMPARE(document.undoStack().count(), 1);
    QCOMPARE(document.undoStack().undoText(), QStringLiteral("Add relu"));
    QVERIFY(document.revision() > revision);
    // The new Relu has no input, and the analysis is up to date.
    QCOMPARE(document.analysis().errorCount(), std::size_t(1));
    document.apply(Delta());
    QCOMPARE(document.undoStack().count(), 1);
}

void TestDocument::undoAndRedoGiveTheSameGraphs() {
    Document document(profiles());
    const Graph start = document.graph();
    for (int i = 0; i < 5; ++i) document.apply(addRelu(document.graph()));
    const Graph end = document.graph();
    QVERIFY(!(start == end));
    while (document.undoStack().canUndo()) document.undoStack().undo();
    QVERIFY(document.graph() == start);
    QVERIFY(!document.isModified());
    QCOMPARE(document.analysis().errorCount(), std::size_t(0));
    while (document.undoStack().canRedo()) document.undoStack().redo();
    QVERIFY(document.graph() == end);
    QCOMPARE(document.analysis().errorCount(), std::size_t(5));
}

void TestDocument::aRefusedDeltaChangesNothing() {
    Document document(profiles());
    const Delta delta = addRelu(document.graph());
    document.apply(delta);
    const Graph before = document.graph();
    QSignalSpy changed(&document, &Document::changed);
    QVERIFY_EXCEPTION_THROWN(document.apply(delta), Error); // the node exists already
    QVERIFY(document.graph() == before);
    QCOMPARE(changed.count(), 0);
    QCOMPARE(document.undoStack().count(), 1);
}

void TestDocument::selectionForgetsWhatIsGone() {
    Document document(profiles());
    document.apply(addRelu(document.graph()));
    const NodeId id = document.graph().nodes().begin()->id;
    Selection selection;
    selection.nodes = {id, NodeId(999)};
    document.select(selection);
    QCOMPARE(document.selection().nodes.size(), std::size_t(1));
    QSignalSpy changed(&document, &Document::selectionChanged);
    document.undoStack().undo();
    QVERIFY(document.selection().empty());
    QCOMPARE(changed.count(), 1);
}

/// Without an edit in between: there was no undo step whose removal makes the stack clean.
void TestDocument::aNewGraphIsUnmodified() {
    Document document(profiles());
    document.import(Graph(), QStringLiteral("model.twb"), std::make_shared<QTemporaryDir>());
    QVERIFY(document.isModified());
    document.clear();
    QVERIFY(!document.isModified());
    document.markModified();
    document.setGraph(document.graph(), {}, {});
    QVERIFY(!document.isModified());
    document.apply(addRelu(document.graph()));
    QVERIFY(document.isModified());
    document.undoStack().undo();
    QVERIFY(!document.isModified());
}

void TestDocument::aBrokenFileLeavesEverything() {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("broken.twb"));
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"format\": \"tensor-workbench\", \"version\": 1, \"nodes\": [");
    file.close();
    Document document(profiles());
    document.apply(addRelu(document.graph()));
    const Graph before = document.graph();
    QSignalSpy reset(&document, &Document::reset);
    QVERIFY_EXCEPTION_THROWN(document.open(path), Error);
    QVERIFY_EXCEPTION_THROWN(document.open(folder.filePath(QStringLiteral("none.twb"))), Error);
    QVERIFY(document.graph() == before);
    QVERIFY(document.isModified());
    QVERIFY(document.path().isEmpty());
    QCOMPARE(reset.count(), 0);
}

void TestDocument::saveAndOpenGiveTheSameGraph() {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("a.twb"));
    Document document(profiles());
    document.apply(addRelu(document.graph()));
    document.save(path);
    QVERIFY(!document.isModified());
    QCOMPARE(document.title(), QStringLiteral("a.twb"));
    QCOMPARE(document.folder(), folder.path());
    Document other(profiles());
    other.open(path);
    QVERIFY(other.graph() == document.graph());
    QVERIFY_EXCEPTION_THROWN(document.save(folder.filePath(QStringLiteral("no/such/folder.twb"))), Error);
    QCOMPARE(document.path(), path);
}

void TestDocument::anUnreadableProfileChoiceIsRefused() {
    Document document(profiles());
    QVERIFY_EXCEPTION_THROWN(document.setDeviceChoices({{Device::cuda(0), "no-such-gpu"}}), Error);
    QVERIFY(document.deviceChoices().empty());
    document.setDeviceChoices({{Device::cuda(0), "t4"}});
    QVERIFY(QString::fromStdString(document.devices().at(Device::cuda(0)).info().name)
                .contains(QLatin1String("T4")));
}

void TestDocument::aChosenProfileIsReadOncePerDocument() {
    const QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("own.json"));
    DeviceProfile own = profiles()->at("t4");
    own.name = "Own GPU";
    writeFileAtomically(path.toStdString(), profileJson(own));
    Document document(profiles());
    const auto name = [&] { return document.devices().at(Device::cuda(0)).info().name; };
    OpenCount opened(path);
    document.setDeviceChoices({{Device::cuda(0), path.toStdString()}});
    QCOMPARE(opened.take(), 1);
    document.open(sourcePath(kMismatch));
    QCOMPARE(opened.take(), 1);
    document.setStandIn("l4");
    QCOMPARE(opened.take(), 1);
    QCOMPARE(name(), std::string("simulated Own GPU"));
    // Without its file, the device is that of a graph without a choice.
    QVERIFY(QFile::remove(path));
    document.open(sourcePath(kMismatch));
    QCOMPARE(name(), std::string("simulated NVIDIA L4"));
    // It can still be chosen for no other device, but other hardware can be chosen.
    const std::vector<DeviceChoice> lost = document.deviceChoices();
    const DeviceChoice kept = lost.front();
    QVERIFY_EXCEPTION_THROWN(document.setDeviceChoices({kept, {Device::cuda(1), kept.profile}}), Error);
    QCOMPARE(document.deviceChoices().size(), lost.size());
    document.setDeviceChoices({kept, {Device::cuda(1), "t4"}});
    QCOMPARE(document.deviceChoices().size(), std::size_t(2));
    QCOMPARE(name(), std::string("simulated NVIDIA L4"));
}

void TestDocument::aSnapshotStaysAsItIs() {
    Document document(profiles());
    document.open(sourcePath(kMismatch));
    const Graph graph = document.graph();
    const std::size_t problems = document.analysis().diagnostics.size();
    const DocumentSnapshot snapshot = document.snapshot();
    document.apply(addRelu(document.graph()));
    document.setDeviceChoices({{Device::cuda(0), "t4"}});
    document.clear();
    QVERIFY(snapshot.graph == graph);
    QCOMPARE(snapshot.analysis.diagnostics.size(), problems);
    QCOMPARE(snapshot.devices.at(Device::cuda(0)).info().name, std::string("simulated NVIDIA H200"));
    QVERIFY(snapshot.hardware.choices.empty() && snapshot.files);
}

/// Counting the causes does not describe them; causes() does, once after each change.
void TestDocument::causesAreDescribedOnDemand() {
    Document document(profiles());
    document.open(sourcePath(kMismatch));
    for (std::size_t problems = 1; problems < 3; ++problems) {
        QCOMPARE(document.problemCount(), problems);
        QCOMPARE(document.causeGroups().size(), problems);
        const auto isDescribed = [](const Cause& cause) {
            return !cause.sentence.empty() && !cause.remedies.empty();
        };
        QVERIFY(std::ranges::none_of(document.causeGroups(), isDescribed));
        QVERIFY(std::ranges::any_of(document.causes(), isDescribed));
        QVERIFY(std::ranges::any_of(document.causeGroups(), isDescribed));
        document.apply(addRelu(document.graph())); // another problem: it has no input
    }
}

TWB_GUI_TEST_MAIN(TestDocument)
#include "test_document.moc"
