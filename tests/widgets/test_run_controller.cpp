#include "graph/delta.h"
#include "support/graphs.h"
#include "support/op_runner.h"
#include "support/test_main.h"
#include "training/training.h"
#include "widgets/run_controller.h"
#include "widgets/window_fixture.h"

#include <QFileInfo>
#include <QSignalSpy>

#include <array>
#include <cmath>
#include <sys/inotify.h>
#include <unistd.h>

using namespace twb;
using namespace twb::test;

namespace {

/// Counts the writes of a file of this name in a folder.
class WriteCounter {
public:
    explicit WriteCounter(const QString& folder) : m_watch(inotify_init1(IN_NONBLOCK)) {
        inotify_add_watch(m_watch, folder.toUtf8().constData(), IN_CLOSE_WRITE | IN_MOVED_TO);
    }
    ~WriteCounter() { close(m_watch); }
    Q_DISABLE_COPY_MOVE(WriteCounter)

    int count(std::string_view name) {
        alignas(inotify_event) std::array<char, 65536> buffer{};
        const ssize_t size = read(m_watch, buffer.data(), buffer.size());
        for (ssize_t at = 0; at < size;) {
            const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
            if (event->len > 0 && name == event->name) ++m_count;
            at += ssize_t(sizeof(inotify_event) + event->len);
        }
        return m_count;
    }

private:
    int m_watch;
    int m_count = 0;
};

Node makeNode(LaneId lane, std::string op, std::string name, Attributes attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.name = std::move(name);
    node.lane = lane;
    node.attributes = std::move(attributes);
    return node;
}

bool runToEnd(RunController& runs, std::int64_t iterations) {
    runs.run(iterations);
    return runs.isRunning() && QTest::qWaitFor([&] { return !runs.isRunning(); }, 300'000);
}

} // namespace

class TestRunController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aSaveNodeWritesOnceARun_data();
    void aSaveNodeWritesOnceARun();
    void aStagedFileHasAPriceOfItsOwn();
    void thePeakIsTheSameInEachRun_data();
    void thePeakIsTheSameInEachRun();
    void closedDocumentLeavesNoMemoryFigures();
    void aRunThatCannotStartIsRefused();
    void aStopBeforeTheStartKeepsTheLastResults();
    void nextRunStartsAfterACancelledOne();
    void theMeasuredTensorsAreKept();
    void recomputedTensorsAreOfTheLastIteration();
    void fusedOpsShareATime();
    void theGradientIsOfTheLastIteration_data();
    void theGradientIsOfTheLastIteration();
};

void TestRunController::aSaveNodeWritesOnceARun_data() {
    QTest::addColumn<int>("iterations");
    QTest::addRow("one iteration") << 1;
    QTest::addRow("a measurement") << 5;
}

/// A measured run is followed by one iteration that only recomputes tensors for the inspector.
void TestRunController::aSaveNodeWritesOnceARun() {
    QFETCH(int, iterations);
    const QTemporaryDir folder;
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    const NodeId ones = builder.addNode(makeNode(cpu, "Ones", "ones"));
    const NodeId relu = builder.addNode(makeNode(cpu, "Relu", "relu"));
    const NodeId save = builder.addNode(makeNode(cpu, "Save", "save", {{"path", std::string("out.npy")}}));
    builder.connect({{ones, 0}, {relu, 0}});
    builder.connect({{relu, 0}, {save, 0}});
    graph.apply(builder.take());
    Document document(profiles());
    document.setGraph(std::move(graph), {}, folder.path());
    RunController runs(document);
    WriteCounter writes(folder.path());
    for (int run = 1; run <= 2; ++run) {
        QVERIFY(runToEnd(runs, iterations));
        QVERIFY(runs.result()->status == RunStatus::finished);
        QVERIFY(QFileInfo::exists(folder.filePath(QStringLiteral("out.npy"))));
        QCOMPARE(writes.count("out.npy"), run);
        QVERIFY(runs.tensor({relu, 0}));
    }
}

void TestRunController::aStagedFileHasAPriceOfItsOwn() {
    Document document(profiles());
    document.open(sourcePath("resources/examples/digits.twb"));
    RunController runs(document);
    const NodeId weight = document.graph().findByName("fc1.weight")->id;
    const auto price = [&] { return runs.state().edges.at(stagingOf(weight)); };
    QVERIFY(price().predicted);
    QCOMPARE(price().bytes, 64.0 * 128 * 4);
    QVERIFY(price().ns > 0);
    QVERIFY(!runs.state().edges.contains(stagingOf(document.graph().findByName("images")->id)));
    QVERIFY(runToEnd(runs, 2));
    QVERIFY(!price().predicted);
    QVERIFY(price().modelled);
    QCOMPARE(price().bytes, 64.0 * 128 * 4);
    // The card shows the time of reading the file, which was measured.
    const NodeRun& reading = runs.state().nodes.at(weight);
    QVERIFY(reading.ns > 0);
    QVERIFY(!reading.modelled);
    QVERIFY(runs.state().nodes.at(document.graph().findByName("fc1")->id).modelled);
}

namespace {

std::map<Device, std::size_t> peaksOf(const RunController& runs) {
    std::map<Device, std::size_t> out;
    for (const auto& [device, memory] : runs.result()->memory) out[device] = memory.peak;
    return out;
}

/// A slow chain of products on the cpu, whose result a Probe keeps.
Graph heavyGraph(std::int64_t size, int products) {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    const LaneId cpu = builder.addLane({LaneId::none, Device::cpu(), "", 0, 0});
    NodeId last = builder.addNode(
        makeNode(cpu, "RandomNormal", "x", {{"shape", std::vector<std::int64_t>{size, size}}}));
    for (int i = 0; i < products; ++i) {
        const NodeId next = builder.addNode(makeNode(cpu, "MatMul", "product " + std::to_string(i)));
        builder.connect({{last, 0}, {next, 0}});
        builder.connect({{last, 0}, {next, 1}});
        last = next;
    }
    graph.apply(builder.take());
    return graph;
}

} // namespace

void TestRunController::thePeakIsTheSameInEachRun_data() {
    QTest::addColumn<int>("iterations");
    QTest::addRow("one iteration") << 1;
    QTest::addRow("a measurement") << 5;
}

/// Once, the peak grew from run to run, because tensors kept from the last run counted towards the next peak.
/// The first run of one iteration also packs weights; later ones use its cached results.
void TestRunController::thePeakIsTheSameInEachRun() {
    QFETCH(int, iterations);
    Document document(profiles());
    document.open(sourcePath("resources/examples/digits.twb"));
    RunController runs(document);
    QVERIFY(runToEnd(runs, iterations));
    const std::map<Device, std::size_t> first = peaksOf(runs);
    QVERIFY(first.at(Device::cpu()) > 0);
    QVERIFY(first.at(Device::cuda(0)) > 0);
    const std::optional<Tensor> held = runs.tensor({document.graph().findByName("fc2")->id, 0});
    QVERIFY(held); // held as by a view
    for (int run = 2; run <= 4; ++run) {
        // Steps of the same run that were cached pack no weights.
        QVERIFY(runToEnd(runs, iterations));
        for (const auto& [device, peak] : peaksOf(runs)) QVERIFY(peak <= first.at(device));
        QVERIFY(runToEnd(runs, 7)); // a different run in between
        QVERIFY(runToEnd(runs, iterations));
        QCOMPARE(peaksOf(runs), first);
    }
}

/// Once, a lane's header still showed the memory of the previous document.
void TestRunController::closedDocumentLeavesNoMemoryFigures() {
    Document document(profiles());
    const auto used = [&] { return document.devices().at(Device::cpu()).memory().stats().used; };
    RunController runs(document);
    const std::size_t before = used();
    document.open(sourcePath("resources/examples/digits.twb"));
    for (const int iterations : {1, 5}) {
        QVERIFY(runToEnd(runs, iterations));
        QVERIFY(used() > before);
        document.clear();
        QTRY_COMPARE(used(), before);
        document.open(sourcePath("resources/examples/digits.twb"));
    }
}

/// Once, the program crashed if the executor threw, as it does when a GPU is lost.
void TestRunController::aRunThatCannotStartIsRefused() {
    Document document(profiles());
    document.open(sourcePath("resources/examples/digits.twb"));
    RunController runs(document);
    QSignalSpy refused(&runs, &RunController::refused);
    QSignalSpy finished(&runs, &RunController::finished);
    runs.run(0); // invalid, so the executor throws
    QTRY_VERIFY(!runs.isRunning());
    QCOMPARE(refused.count(), 1);
    QCOMPARE(finished.count(), 1);
    QVERIFY(refused.front().front().toString().contains(QLatin1String("could not start")));
    QVERIFY(!runs.result());
    QVERIFY(runToEnd(runs, 1));
    QVERIFY(runs.result()->status == RunStatus::finished);
}

void TestRunController::aStopBeforeTheStartKeepsTheLastResults() {
    Document document(profiles());
    document.open(sourcePath("resources/examples/digits.twb"));
    RunController runs(document);
    QVERIFY(runToEnd(runs, 2));
    QSignalSpy started(&runs, &RunController::started);
    QSignalSpy finished(&runs, &RunController::finished);
    runs.run(3);
    QVERIFY(runs.isRunning());
    runs.stop(); // the plan is still being compiled on another thread
    QVERIFY(!runs.isRunning());
    QCOMPARE(finished.count(), 1);
    QCOMPARE(runs.result()->iterations, std::int64_t(2));
    QVERIFY(runToEnd(runs, 4)); // and the stopped run does not start late
    QCOMPARE(started.count(), 1);
    QCOMPARE(runs.result()->iterations, std::int64_t(4));
}

/// The window's thread does not wait for the old run, and the old run's end does not affect the new one.
void TestRunController::nextRunStartsAfterACancelledOne() {
    Document document(profiles());
    RunController runs(document);
    for (int round = 0; round < 3; ++round) {
        document.setGraph(heavyGraph(768, 6), {}, QString());
        QSignalSpy started(&runs, &RunController::started);
        runs.run(1000);
        QTRY_COMPARE(started.count(), 1);
        document.setGraph(heavyGraph(8, 2), {}, QString());
        QVERIFY(!runs.isRunning());
        QVERIFY(!runs.figures());
        QVERIFY(runToEnd(runs, 2));
        QVERIFY(runs.result()->status == RunStatus::finished);
        QCOMPARE(runs.result()->iterations, std::int64_t(2));
    }
}

/// The inspector shows tensors of the measured run if the run kept them; otherwise it says that they were
/// recomputed.
void TestRunController::theMeasuredTensorsAreKept() {
    Document document(profiles());
    document.setGraph(heavyGraph(16, 3), {}, QString());
    RunController runs(document);
    const PortRef between{document.graph().findByName("product 1")->id, 0};
    const PortRef end{document.graph().findByName("product 2")->id, 0};
    QVERIFY(runToEnd(runs, 5));
    QVERIFY(runs.tensor(end));
    QVERIFY(!runs.iterationComputedAgain(end));
    QVERIFY(runs.result()->tensor(end));
    QVERIFY(runs.tensor(between));
    QCOMPARE(runs.iterationComputedAgain(between), std::optional<std::int64_t>(5));
    QVERIFY(runToEnd(runs, 1));
    QVERIFY(runs.tensor(between));
    QVERIFY(!runs.iterationComputedAgain(between));
}

/// Dropout drops other elements in each iteration. The measured run keeps its consumer's output.
void TestRunController::recomputedTensorsAreOfTheLastIteration() {
    GraphMaker g;
    const NodeId ones = g.node("Ones", "ones", "cpu", {{"shape", std::vector<std::int64_t>{64}}});
    const NodeId dropout = g.node("Dropout", "dropout", "cpu", {{"training_mode", true}}, {ones});
    const NodeId end = g.node("Sqrt", "end", "cpu", {}, {dropout});
    Document document(profiles());
    document.setGraph(g.graph(), {}, QString());
    RunController runs(document);
    const auto fit = [&] {
        const std::vector<double> dropped = valuesOf(runs.tensor({dropout, 0}).value());
        std::vector<double> roots = valuesOf(runs.tensor({end, 0}).value());
        for (double& root : roots) root = std::round(root * root);
        return dropped == roots ? dropped : std::vector<double>();
    };
    QVERIFY(runToEnd(runs, 5));
    QCOMPARE(runs.iterationComputedAgain({dropout, 0}), std::optional<std::int64_t>(5));
    const std::vector<double> fifth = fit();
    QVERIFY(!fifth.empty());
    QVERIFY(runToEnd(runs, 1)); // does not use cached results of the fifth
    const std::vector<double> first = fit();
    QVERIFY(!first.empty() && first != fifth);
}

/// The last op of a fused step has its time, and the inspector of the others names it.
void TestRunController::fusedOpsShareATime() {
    GraphMaker g;
    const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{4096}}});
    const NodeId first = g.node("Exp", "first", "cpu", {}, {x});
    const NodeId last = g.node("Neg", "last", "cpu", {}, {first});
    Document document(profiles());
    document.setGraph(g.graph(), {}, QString());
    RunController runs(document);
    const auto runOf = [&](NodeId id) { return runs.state().nodes.at(id); };
    QVERIFY(runToEnd(runs, 5));
    QCOMPARE(runOf(first).state, StepState::done);
    QCOMPARE(runOf(first).timedAt, last);
    QCOMPARE(runOf(first).ns, 0.0);
    QCOMPARE(runOf(last).timedAt, last);
    QCOMPARE(runOf(last).fused, std::size_t(2));
    QVERIFY(runOf(last).ns > 0);
    runs.setTimesEachOp(true);
    QVERIFY(runToEnd(runs, 5));
    for (const NodeId id : {first, last}) {
        QVERIFY(runOf(id).ns > 0);
        QCOMPARE(runOf(id).timedAt, NodeId::none);
    }
}

void TestRunController::theGradientIsOfTheLastIteration_data() {
    QTest::addColumn<QString>("device");
    QTest::newRow("cpu") << "cpu";
    QTest::newRow("simulated") << "cuda:0";
}

/// The loss is the sum of w². With a learning rate of 0.25, each step halves w, which starts at 1.
void TestRunController::theGradientIsOfTheLastIteration() {
    QFETCH(const QString, device);
    GraphMaker g;
    const NodeId w =
        g.node("Parameter", "w", device.toStdString(),
               {{"shape", std::vector<std::int64_t>{3}}, {"init", std::string("constant")}, {"value", 1.0}});
    const NodeId square = g.node("Mul", "square", device.toStdString(), {}, {w, w});
    const NodeId loss = g.node("ReduceSum", "loss", device.toStdString(), {{"keepdims", false}}, {square});
    Graph graph = g.graph();
    Optimizer sgd;
    sgd.rate = {{"lr", 0.25}};
    Document document(profiles());
    graph.apply(makeTraining(graph, document.devices(), nullptr, loss, std::vector{w}, sgd));
    const PortRef gradient = gradientOf(graph, w).value();
    document.setGraph(std::move(graph), {}, QString());
    RunController runs(document);
    const auto thrice = [](double value) { return std::vector<double>(3, value); };
    QVERIFY(runToEnd(runs, 4));
    QVERIFY(runs.result()->status == RunStatus::finished);
    QCOMPARE(valuesOf(runs.tensor(gradient).value()), thrice(2 * 0.125));
    QCOMPARE(valuesOf(runs.tensor({w, 0}).value()), thrice(0.0625)); // after the step
    QCOMPARE(runs.iterationComputedAgain(gradient), std::optional<std::int64_t>(4));
    QVERIFY(runToEnd(runs, 1));
    QCOMPARE(valuesOf(runs.tensor(gradient).value()), thrice(2));
    QVERIFY(!runs.iterationComputedAgain(gradient));
    // The user stops a run in the middle of an iteration, so the values before it are not known.
    runs.runContinuously();
    QTRY_VERIFY(runs.done() > 10);
    runs.stop();
    QTRY_VERIFY(!runs.isRunning());
    QCOMPARE(valuesOf(runs.tensor(gradient).value()), thrice(2));
    QCOMPARE(runs.iterationComputedAgain(gradient), std::optional<std::int64_t>(1));
}

TWB_GUI_TEST_MAIN(TestRunController)
#include "test_run_controller.moc"
