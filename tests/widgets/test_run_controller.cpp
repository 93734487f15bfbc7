#include "graph/delta.h"
#include "support/test_main.h"
#include "widgets/run_controller.h"
#include "widgets/window_fixture.h"

#include <QFileInfo>

#include <array>
#include <sys/inotify.h>
#include <unistd.h>

using namespace twb;
using namespace twb::test;

namespace {

/// How often a file of this name was written in a folder, since it is watched.
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
    return runs.isRunning() && QTest::qWaitFor([&] { return !runs.isRunning(); }, 30'000);
}

} // namespace

class TestRunController : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aSaveNodeWritesOnceARun_data();
    void aSaveNodeWritesOnceARun();
    void aStagedFileHasAPriceOfItsOwn();
};

void TestRunController::aSaveNodeWritesOnceARun_data() {
    QTest::addColumn<int>("iterations");
    QTest::addRow("one iteration") << 1;
    QTest::addRow("a measurement") << 5;
}

/// A measurement is followed by an iteration that only brings the tensors back to look at.
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
    // What the card says is the reading, which was measured.
    const NodeRun& reading = runs.state().nodes.at(weight);
    QVERIFY(reading.ns > 0);
    QVERIFY(!reading.modelled);
    QVERIFY(runs.state().nodes.at(document.graph().findByName("fc1")->id).modelled);
}

TWB_GUI_TEST_MAIN(TestRunController)
#include "test_run_controller.moc"
