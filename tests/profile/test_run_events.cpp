#include "profile/example_plan.h"
#include "profile/plan_text.h"
#include "profile/run_course.h"
#include "profile/run_events.h"
#include "profile/trace.h"
#include "support/refusal.h"
#include "support/test_main.h"

#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <sstream>

using namespace twb;
using namespace twb::test;

namespace {

std::shared_ptr<const Plan> wholePlan() {
    const auto plan = examplePlan();
    plan->producers = {0, 1, 2, 3};
    return plan;
}

/// The table, the trace and the critical path of a run.
std::string figuresOf(const std::shared_ptr<const Plan>& plan, const std::vector<StepRecord>& records) {
    Ledger ledger(plan);
    StepTimes times(plan);
    RunTimeline timeline(plan);
    ledger.add(records);
    times.add(records);
    timeline.add(records);
    timeline.finish();
    RunReport report;
    report.file = "g.twb";
    report.plan = plan;
    report.ledger = &ledger;
    report.steps = &times;
    report.timeline = &timeline;
    report.result.iterations = 2;
    TraceRecorder trace(plan);
    trace.add(records);
    std::ostringstream out;
    out << toTable(report, false) << toJson(report);
    trace.write(out);
    out << courseOf(*plan, records).lengthNs;
    return out.str();
}

QList<QByteArray> linesOf(const QString& path) {
    QFile file(path);
    QList<QByteArray> lines;
    if (file.open(QIODevice::ReadOnly)) lines = file.readAll().split('\n');
    if (!lines.isEmpty()) lines.removeLast(); // after the last line
    return lines;
}

} // namespace

class TestRunEvents : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void figuresThereAndHereAreTheSame() {
        const auto plan = wholePlan();
        const std::vector<StepRecord> records = exampleRecords();
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("events"));
        RunResult result;
        result.iterations = 2;
        result.wallNs = 77;
        result.errors.push_back({1, NodeId{3}, ErrorCode::failed, "node \"x\" failed"});
        result.memory.emplace_back(Device::cuda(0), MemoryStats{1, 2, 3, 4});
        ProbeValue probe;
        probe.name = "seen";
        probe.value = std::nan("");
        probe.minimum = -HUGE_VAL;
        probe.digits = "9007199254740993";
        {
            RunEventWriter writer(path.toStdString(), *plan, 2);
            writer.add(records);
            writer.progress(2);
            writer.end(result, {probe}, {{5000, 3, 20, 2000}, {4000, 3, 0, 0}});
        }
        StreamedRun read;
        QVERIFY(!read.plan());
        for (const QByteArray& line : linesOf(path)) read.read(line.toStdString());
        QVERIFY(read.plan());
        QCOMPARE(read.iterations(), std::int64_t(2));
        QCOMPARE(read.leftOut(), std::uint64_t(0));
        const std::vector<StepRecord> again = read.takeRecords();
        QCOMPARE(again.size(), records.size());
        QCOMPARE(figuresOf(read.plan(), again), figuresOf(plan, records));
        QVERIFY(read.result());
        QCOMPARE(read.result()->wallNs, std::int64_t(77));
        QCOMPARE(read.result()->errors.front().message, std::string("node \"x\" failed"));
        QCOMPARE(read.result()->memory.front().second.peak, std::size_t(2));
        QVERIFY(std::isnan(read.probes().front().value));
        QCOMPARE(read.probes().front().minimum, -HUGE_VAL);
        QCOMPARE(read.probes().front().digits, std::string("9007199254740993"));
        QCOMPARE(read.ranks().size(), std::size_t(2));
        QCOMPARE(read.ranks()[0].waitNs, 2000.0);
        QCOMPARE(read.ranks()[0].samplesPerSecond, 20.0);
        QCOMPARE(RankReport::slowestOf(read.ranks()), 1);
        // A described device runs nothing, and says so.
        QCOMPARE(refusal([&] { read.plan()->devices.at(Device::cuda(0)).createStream(QueueKind::compute); }),
                 QStringLiteral("cuda:0 (simulated Test GPU) is on another machine"));
    }

    void aLongRunLeavesOutTimesAndCountsThem() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("events"));
        constexpr std::uint64_t kIterations = 200;
        std::uint64_t given = 0;
        {
            RunEventWriter writer(path.toStdString(), *wholePlan(), kIterations, {}, 1000);
            for (std::uint32_t i = 0; i < kIterations; ++i) {
                std::vector<StepRecord> records = exampleRecords();
                for (StepRecord& record : records) record.iteration = i;
                writer.add(records);
                given += records.size();
                writer.progress(i + 1);
                if (i % 50 != 0) continue;
                const qint64 before = QFileInfo(path).size();
                QTRY_VERIFY(QFileInfo(path).size() > before);
            }
            writer.end({}, {});
        }
        StreamedRun read;
        for (const QByteArray& line : linesOf(path)) read.read(line.toStdString());
        const std::size_t got = read.takeRecords().size();
        QVERIFY2(got < given, "nothing was left out");
        QVERIFY(got > 0);
        QCOMPARE(got + read.leftOut(), given);
    }

    void whatIsNoRunIsRefused_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::newRow("no JSON") << QByteArray("bash: twb: command not found");
        QTest::newRow("another format") << QByteArray(R"({"format":"x","version":1})");
        QTest::newRow("a newer version") << QByteArray(R"({"format":"tensor-workbench-run","version":9})");
        nlohmann::json plan = planToJson(*wholePlan());
        plan["steps"][0]["stream"] = 99;
        const nlohmann::json header{
            {"format", "tensor-workbench-run"}, {"version", 1}, {"iterations", 1}, {"plan", plan}};
        QByteArray nested = R"({"format":"tensor-workbench-run","version":1,"plan":{},"iterations":)";
        nested += QByteArray(200'000, '[') + QByteArray(200'000, ']') + '}';
        QTest::newRow("deep lists in place of a number") << nested;
        QTest::newRow("a stream that is not there") << QByteArray::fromStdString(header.dump());
    }
    void whatIsNoRunIsRefused() {
        QFETCH(const QByteArray, line);
        StreamedRun read;
        QVERIFY2(!refusal([&] { read.read(line.toStdString()); }).isEmpty(), "not refused");
        QVERIFY(!read.plan());
    }

    void aFileThatCannotBeWrittenIsNamed() {
        QCOMPARE(refusal([] { const RunEventWriter writer("/nowhere/events", *wholePlan(), 1); }),
                 QStringLiteral("cannot write /nowhere/events: No such file or directory"));
    }
};

TWB_TEST_MAIN(TestRunEvents)
#include "test_run_events.moc"
