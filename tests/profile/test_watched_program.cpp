#include "core/error.h"
#include "profile/ledger.h"
#include "profile/profiles.h"
#include "profile/watched_program.h"
#include "support/test_main.h"

#include <fmt/format.h>

#include <cmath>

using namespace twb;

namespace {

constexpr const char* kHeader =
    R"({"format":"tensor-workbench-watch","version":1,"pid":7,"torch":"2.9.0","script":"/a/train.py","gpus":[],"step":2,"at":10})";
constexpr const char* kBatch =
    R"({"kind":"site","id":1,"cause":"to","from":"cpu","to":"cuda:0","pinned":true,"non_blocking":true,"file":"/a/train.py","line":20,"function":"main"})";
constexpr const char* kLoss =
    R"({"kind":"site","id":2,"cause":"item","from":"cuda:0","to":"cpu","pinned":false,"non_blocking":false,"file":"/a/train.py","line":25,"function":"main"})";
constexpr const char* kWait = R"({"kind":"site","id":3,"cause":"synchronize","from":"cuda"})";

const ProfileLibrary& library() {
    static const ProfileLibrary profiles(std::filesystem::path(TWB_SOURCE_DIR "/resources/devices"));
    return profiles;
}

Graph apply(Graph graph, Delta delta) {
    graph.apply(delta);
    return graph;
}

} // namespace

class TestWatchedProgram : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void linesBecomeATensorAndATo() {
        WatchedProgram program;
        QVERIFY(!program.hasStarted());
        for (const char* line : {kHeader, kBatch, kLoss, kWait}) program.read(line);
        QVERIFY(program.hasStarted());
        QCOMPARE(program.script(), std::string("/a/train.py"));
        QCOMPARE(program.step(), 2);
        program.read(R"({"kind":"transfer","site":1,"step":2,"bytes":4096,"at":100,"ns":50})");
        QVERIFY(program.hasGrown());
        const Graph graph = apply(Graph(), program.grow(Graph()));
        QVERIFY(!program.hasGrown());
        QCOMPARE(graph.nodes().size(), std::size_t(4)); // a wait has no node
        QCOMPARE(graph.lanes().size(), std::size_t(2));
        const Node* to = graph.findByName("to train.py:20");
        QVERIFY(to);
        QCOMPARE(to->op, std::string("To"));
        QCOMPARE(graph.deviceOf(*to), Device::cuda(0));
        QVERIFY(to->attributes.flag("non_blocking") && to->attributes.flag("pin_memory"));
        QCOMPARE(toString(*to->source), std::string("/a/train.py:20 in main"));
        const auto from = graph.sourceOf({to->id, 0});
        QVERIFY(from);
        QCOMPARE(graph.deviceOf(*graph.find(from->node)), Device::cpu());
    }

    void ledgerCountsTheProgramsTransfers() {
        WatchedProgram program;
        for (const char* line : {kHeader, kBatch, kLoss}) program.read(line);
        program.read(R"({"kind":"transfer","site":1,"step":2,"bytes":4096,"at":100,"ns":50})");
        program.read(R"({"kind":"transfer","site":1,"step":3,"bytes":4096,"at":300,"ns":70})");
        program.read(R"({"kind":"transfer","site":2,"step":3,"bytes":4,"at":400,"wait":30})");
        program.read(R"({"kind":"step","step":3,"ns":200,"at":500})");
        const Graph graph = apply(Graph(), program.grow(Graph()));
        const std::shared_ptr<const Plan> plan = program.plan(makeDeviceMap(graph, {}, library()));
        Ledger ledger(plan);
        const std::vector<StepRecord> records = program.takeRecords();
        QCOMPARE(records.size(), std::size_t(3));
        QCOMPARE(records[1].iteration, 1U); // counted from the first step that the window saw
        ledger.add(records);
        QCOMPARE(ledger.rows()[0].count, std::uint64_t(2));
        QCOMPARE(ledger.rows()[0].bytes, std::uint64_t(8192));
        QCOMPARE(ledger.rows()[0].totalNs, 120);
        QCOMPARE(ledger.rows()[1].totalNs, 30); // the CPU waited; no other time is known
        QVERIFY(!plan->transfers[0].modelled);
        QCOMPARE(program.step(), 4);
        QCOMPARE(program.steps(), 2);
        QVERIFY(program.takeRecords().empty());
    }

    void claimedTransfersHaveModelledTimes() {
        WatchedProgram program;
        program.read(kHeader);
        program.read(
            R"({"kind":"site","id":1,"cause":"to","from":"cpu","to":"cuda:0","pinned":false,"non_blocking":false,"claimed":true})");
        program.read(R"({"kind":"transfer","site":1,"step":2,"bytes":100000000,"at":100,"wait":3})");
        const Graph graph = apply(Graph(), program.grow(Graph()));
        const std::shared_ptr<const Plan> plan = program.plan(makeDeviceMap(graph, {}, library()));
        QVERIFY(plan->transfers[0].modelled);
        QVERIFY(plan->virtualClock);
        const StepRecord record = program.takeRecords().front();
        QVERIFY(plan->transfers[0].predictedNs > 1e5);
        QCOMPARE(double(record.endNs - record.startNs), std::floor(plan->transfers[0].predictedNs));
    }

    /// Lines that are met later extend the plan; older records keep their meaning.
    void laterLinesExtendThePlan() {
        WatchedProgram program;
        for (const char* line : {kHeader, kWait, kBatch}) program.read(line);
        program.read(R"({"kind":"transfer","site":1,"step":2,"bytes":8,"at":1,"ns":5})");
        Graph graph = apply(Graph(), program.grow(Graph()));
        const std::size_t nodes = graph.nodes().size();
        const std::shared_ptr<const Plan> first = program.plan(makeDeviceMap(graph, {}, library()));
        QCOMPARE(program.takeRecords().size(), std::size_t(1));
        program.read(kLoss);
        program.read(R"({"kind":"transfer","site":2,"step":2,"bytes":4,"at":2,"ns":5})");
        QVERIFY(program.takeRecords().empty()); // its step is not in the plan yet
        graph = apply(graph, program.grow(graph));
        QCOMPARE(graph.nodes().size(), nodes + 2);
        const std::shared_ptr<const Plan> second = program.plan(makeDeviceMap(graph, {}, library()));
        QCOMPARE(program.takeRecords().size(), std::size_t(1));
        QCOMPARE(program.records().size(), std::size_t(2));
        QCOMPARE(second->steps[1].node, first->steps[1].node);
        QCOMPARE(second->steps[1].transfer, first->steps[1].transfer);
        QCOMPARE(second->transfers.size(), std::size_t(2));
    }

    void endAndLossAreTold() {
        WatchedProgram program;
        program.read(kHeader);
        program.read(R"({"kind":"something new"})"); // of a newer package
        program.read(R"({"kind":"lost","events":12})");
        QCOMPARE(program.lost(), std::uint64_t(12));
        QVERIFY(!program.hasEnded());
        program.read(R"({"kind":"end","step":9,"at":900})");
        QVERIFY(program.hasEnded());
        QCOMPARE(program.clockNs(), 900);
    }

    void wrongLinesAreRefused_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const char* line, const char* reason) {
            QTest::newRow(name) << QString::fromUtf8(line) << QString::fromUtf8(reason);
        };
        row("no JSON", "{\"kind\"", "not a JSON object");
        row("list", "[]", "not a JSON object");
        row("no kind", "{}", "\"kind\" must be a string");
        row("unknown site", R"({"kind":"transfer","site":9,"step":2,"bytes":1,"at":1})",
            "\"site\" is unknown");
        row("no bytes", R"({"kind":"transfer","site":1,"step":2,"at":1})", "\"bytes\" must be an integer");
        row("negative bytes", R"({"kind":"transfer","site":1,"step":2,"bytes":-1,"at":1})",
            "must be at least 0");
        row("half a byte", R"({"kind":"transfer","site":1,"step":2,"bytes":0.5,"at":1})",
            "must be an integer");
        row("other kind", R"({"kind":"sync","site":1,"step":2,"at":1})", "wrong kind for this event");
        row("early step", R"({"kind":"transfer","site":1,"step":1,"bytes":1,"at":1})", "wrong \"step\"");
        row("overflow", R"({"kind":"transfer","site":1,"step":2,"bytes":1,"at":9223372036854775807,"ns":9})",
            "a time is too large");
        row("large", R"({"kind":"transfer","site":1,"step":2,"bytes":18446744073709551615,"at":1})",
            "too large");
        row("device", R"({"kind":"site","id":5,"cause":"to","from":"tpu","to":"cpu"})",
            "must be a device such as cpu or cuda:0, but is \"tpu\"");
        row("line 0",
            R"({"kind":"site","id":5,"cause":"to","from":"cpu","to":"cpu","file":"a","line":0,"function":""})",
            "\"line\" must be at least 1");
        row("id 0", R"({"kind":"site","id":0,"cause":"to","from":"cpu"})", "\"id\" must be at least 1");
    }
    void wrongLinesAreRefused() {
        QFETCH(const QString, line);
        QFETCH(const QString, reason);
        WatchedProgram program;
        program.read(kHeader);
        program.read(kBatch);
        try {
            program.read(line.toStdString());
            QFAIL("accepted");
        } catch (const Error& error) {
            QVERIFY2(QString::fromUtf8(error.what()).contains(reason), error.what());
        }
        program.read(R"({"kind":"transfer","site":1,"step":2,"bytes":4,"at":1,"ns":5})"); // goes on
        const Graph graph = apply(Graph(), program.grow(Graph()));
        QVERIFY(program.plan(makeDeviceMap(graph, {}, library())));
        QCOMPARE(program.takeRecords().size(), std::size_t(1));
    }

    void headersOfOthersAreRefused() {
        for (const char* header : {"{}", "[1]", "", "GET / HTTP/1.1", R"({"format":"other","version":1})"}) {
            WatchedProgram program;
            if (*header) QVERIFY_EXCEPTION_THROWN(program.read(header), Error);
            QVERIFY(!program.hasStarted());
        }
        WatchedProgram program;
        try {
            program.read(R"({"format":"tensor-workbench-watch","version":2})");
            QFAIL("accepted");
        } catch (const Error& error) {
            QVERIFY2(QString::fromUtf8(error.what()).contains(QStringLiteral("version 2")), error.what());
        }
    }

    /// A program with more lines than can be shown loses events, but does no harm.
    void linesBeyondTheLimitAreCounted() {
        WatchedProgram program;
        program.read(kHeader);
        for (std::size_t i = 1; i <= WatchedProgram::kMostSites + 3; ++i)
            program.read(
                fmt::format(R"({{"kind":"site","id":{},"cause":"to","from":"cpu","to":"cuda:0"}})", i));
        program.read(fmt::format(R"({{"kind":"transfer","site":{},"step":2,"bytes":1,"at":1}})",
                                 WatchedProgram::kMostSites + 1));
        QCOMPARE(program.lost(), std::uint64_t(1));
        const Graph graph = apply(Graph(), program.grow(Graph()));
        QCOMPARE(program.plan(makeDeviceMap(graph, {}, library()))->steps.size(), WatchedProgram::kMostSites);
    }
};

TWB_TEST_MAIN(TestWatchedProgram)
#include "test_watched_program.moc"
