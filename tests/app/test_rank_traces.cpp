#include "app/rank_training.h"
#include "profile/run_trace.h"
#include "support/test_main.h"

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

/// The largest error of a comparison of times of two ranks in a trace, whose times are in whole ns.
std::int64_t clockError(const RunTrace& trace) {
    double error = 2;
    for (const RankPace& rank : trace.ranks) error += rank.clockErrorNs;
    return static_cast<std::int64_t>(std::ceil(error));
}

} // namespace

/// The trace and the table of a job of several ranks.
class TestRankTraces : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        for (const char* name : {"TWB_MPI", "TWB_STALL_SECONDS"}) qunsetenv(name);
    }

    void graphsOverRanksRun_data() { addMpiLaunchers(); }
    void graphsOverRanksRun() {
        TWB_NEED_MPI;
        Program twb;
        GraphMaker maker;
        const NodeId a = maker.node("Full", "a", "cpu", {{"shape", Integers{4}}, {"value", 1.5}});
        const NodeId all = maker.node("AllGather", "all", "cpu", {}, {a});
        const NodeId sum = maker.node("AllReduce", "sum", "cpu", {}, {all});
        const NodeId part = maker.node("ReduceScatter", "part", "cpu", {}, {sum});
        const NodeId moved = maker.node("SendReceive", "moved", "cpu",
                                        {{"source", std::int64_t{1}}, {"target", std::int64_t{0}}}, {part});
        const NodeId met = maker.node("Barrier", "met", "cpu", {}, {moved});
        maker.node("Probe", "seen", "cpu", {}, {met});
        twb.save("g.twb", maker);
        Job job(twb, mpi, 2,
                {"run", "g.twb", "--iterations", "3", "--report", "r.json", "--output", "met=out.npy",
                 "--trace", "t.json"});
        const Ended ended = job.wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(twb.tensor("out.npy"), std::vector<double>(4, 6)); // 1.5, summed twice over two ranks
        QVERIFY(ended.out.contains("Ranks"));
        const auto report = twb.json("r.json");
        std::map<std::string, std::pair<int, int>> rows;
        for (const auto& row : report.at("transfers")) {
            QCOMPARE(row["kind"], "collective");
            rows[row["label"]] = {row["count"], row["bytes"]};
        }
        const std::map<std::string, std::pair<int, int>> wanted{
            {"all", {3, 96}}, {"sum", {3, 96}}, {"part", {3, 96}}, {"moved", {3, 48}}, {"met", {3, 0}}};
        QCOMPARE(rows, wanted);
        QCOMPARE(report["ranks"]["size"], 2);
        QVERIFY(QString::fromStdString(report["ranks"]["world"])
                    .contains(mpi.id == "mpich" ? "MPICH" : "Open MPI"));
        QCOMPARE(report["ranks"]["each"].size(), 2U);
        int slowest = 0;
        for (const auto& rank : report["ranks"]["each"]) {
            QVERIFY(rank["iteration_ms"] > 0.0 && rank["wait_ms"] >= 0.0);
            QVERIFY(rank["samples_per_s"].is_null());
            slowest += rank["slowest"] ? 1 : 0;
        }
        QCOMPARE(slowest, 1);
        QVERIFY2(ended.out.contains("own time") && ended.out.contains("slowest"), qPrintable(ended.out));
        // One trace for both ranks, on one clock: no barrier ends before the other rank has reached it.
        const RunTrace trace = readRunTrace(twb.fsPath("t.json"));
        QCOMPARE(trace.plan->steps.size(), 2 * std::size_t(std::ranges::count(trace.isOfGraph, true)));
        QCOMPARE(trace.iterations, 3);
        QCOMPARE(trace.ranks.size(), 2U);
        std::map<std::uint32_t, std::vector<StepRecord>> barriers; // by iteration
        for (const StepRecord& record : trace.records)
            if (trace.plan->steps[record.step].label == "met") barriers[record.iteration].push_back(record);
        QCOMPARE(barriers.size(), 3U);
        const std::int64_t slack = clockError(trace);
        QVERIFY(trace.ranks[1].clockErrorNs > 0);
        for (const auto& [iteration, both] : barriers) {
            QCOMPARE(both.size(), 2U);
            QVERIFY2(both[0].endNs + slack > both[1].startNs && both[1].endNs + slack > both[0].startNs,
                     qPrintable(QStringLiteral("%1 to %2, %3 to %4")
                                    .arg(both[0].startNs)
                                    .arg(both[0].endNs)
                                    .arg(both[1].startNs)
                                    .arg(both[1].endNs)));
        }
    }

    void aTrainingHasOneTraceOfAllRanks_data() { addMpiLaunchers(); }
    void aTrainingHasOneTraceOfAllRanks() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const Ended ended = Job(twb, mpi, 3, training({"--epochs", "2", "--trace", "t.json"})).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const RunTrace trace = readRunTrace(twb.fsPath("t.json"));
        QCOMPARE(trace.ranks.size(), 3U);
        QCOMPARE(trace.iterations, 2 * 10);                    // nine batches of 10 rows, and the last of 3
        std::map<std::string, int> losses;                     // by track
        std::map<std::uint32_t, std::vector<StepRecord>> sums; // by iteration: of the first bucket
        for (const StepRecord& record : trace.records) {
            const Step& step = trace.plan->steps[record.step];
            if (step.label == "loss") ++losses[trace.plan->streams[step.stream].label];
            if (step.label == "sum of gradients 1") sums[record.iteration].push_back(record);
        }
        QCOMPARE(losses,
                 (std::map<std::string, int>{
                     {"rank0/cpu compute", 20}, {"rank1/cpu compute", 20}, {"rank2/cpu compute", 20}}));
        // On one clock: no sum ends before all ranks have begun it.
        QCOMPARE(sums.size(), 20U);
        for (const auto& [iteration, all] : sums) {
            QCOMPARE(all.size(), 3U);
            const auto latest = std::ranges::max(all, {}, &StepRecord::startNs).startNs;
            const auto earliest = std::ranges::min(all, {}, &StepRecord::endNs).endNs;
            QVERIFY2(earliest > latest - clockError(trace), qPrintable(QString::number(latest - earliest)));
        }
    }

    /// A simulated GPU: its iterations are on the virtual clock, but ranks wait in real time.
    void modelledRanksSayNothingOfWaits_data() { addMpiLaunchers(); }
    void modelledRanksSayNothingOfWaits() {
        TWB_NEED_MPI;
        Program twb;
        GraphMaker maker;
        const NodeId a = maker.node("Full", "a", "cuda:0", {{"shape", Integers{4}}, {"value", 1.5}});
        const NodeId back = maker.node("To", "back", "cpu", {}, {a});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("AllReduce", "sum", "cpu", {}, {back})});
        twb.save("g.twb", maker);
        const Ended ended = Job(twb, mpi, 2,
                                {"run", "g.twb", "--iterations", "3", "--device-map", "cuda:0=simulated:h200",
                                 "--report", "r.json", "--trace", "t.json"})
                                .wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        for (const auto json = twb.json("r.json"); const auto& rank : json.at("ranks").at("each")) {
            QCOMPARE(rank["modelled"], true);
            QVERIFY(!rank.contains("wait_ms") && !rank.contains("slowest"));
        }
        QVERIFY2(!ended.out.contains("own time"), qPrintable(ended.out));
        for (const RankPace& rank : readRunTrace(twb.fsPath("t.json")).ranks) QVERIFY(rank.isModelled);
    }
};

TWB_TEST_MAIN(TestRankTraces)
#include "test_rank_traces.moc"
