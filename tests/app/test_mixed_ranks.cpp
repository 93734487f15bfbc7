#include "app/ranks.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QSysInfo>

using namespace twb;
using namespace twb::test;

#ifndef TWB_FAKE_GPUS
#define TWB_FAKE_GPUS ""
#endif

namespace {

/// A job of two ranks, of which rank `real` has GPUs and the other has none.
Ended runMixed(const Program& twb, const MpiLauncher& mpi, int real, const QStringList& command) {
    QStringList arguments;
    for (int rank = 0; rank < 2; ++rank) {
        if (rank > 0) arguments << ":";
        arguments << "-n"
                  << "1"
                  << "env" << QStringLiteral("TWB_CUDA_PLUGIN=%1").arg(rank == real ? TWB_FAKE_GPUS : "none")
                  << Program::path() << command;
    }
    return Job(twb, mpi, arguments, {{"TWB_NCCL", "none"}}).wait();
}

/// A graph that all ranks compute. `lane`: "cuda:0" or "auto".
Program wholeGraph(const char* lane) {
    Program twb;
    GraphMaker maker;
    const NodeId x = maker.node("Full", "x", lane, {{"shape", Integers{4}}, {"value", 1.5}});
    const NodeId sum = maker.node("AllReduce", "sum", lane, {}, {maker.node("Neg", "neg", lane, {}, {x})});
    maker.node("Probe", "seen", lane, {}, {sum});
    twb.save("g.twb", maker);
    return twb;
}

/// A tensor that rank 0's device sends to rank 1's GPU and gets back.
Program dividedGraph(const char* first) {
    Program twb;
    GraphMaker maker;
    const NodeId x = maker.node("Full", "x", first, {{"shape", Integers{4}}, {"value", 1.5}});
    const NodeId there = maker.node("To", "there", "rank1/cuda:0", {}, {x});
    const NodeId neg = maker.node("Neg", "neg", "rank1/cuda:0", {}, {there});
    maker.node("Probe", "seen", first, {}, {maker.node("To", "back", first, {}, {neg})});
    twb.save("g.twb", maker);
    return twb;
}

} // namespace

#define TWB_NEED_FAKE_GPUS                                                                                   \
    if (!*TWB_FAKE_GPUS) QSKIP("built without the CUDA plugin, which the stand-in for GPUs needs")

/// Jobs in which one rank has GPUs and another has none.
class TestMixedRanks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        for (const char* name : {"TWB_MPI", "TWB_STALL_SECONDS"}) qunsetenv(name);
    }

    void aRankWithoutTheGpuOfAnotherEndsWith3_data() { addMpiLaunchers(); }
    void aRankWithoutTheGpuOfAnotherEndsWith3() {
        TWB_NEED_MPI;
        TWB_NEED_FAKE_GPUS;
        for (const int real : {0, 1}) {
            const Program twb = wholeGraph("cuda:0");
            const Ended ended = runMixed(twb, mpi, real, {"run", "g.twb"});
            QCOMPARE(ended.exit, 3);
            const QString sentence =
                QStringLiteral("twb: the lane cuda:0 is a real GPU on rank %1, but it is simulated on rank "
                               "%2 (TWB_CUDA_PLUGIN=none disables GPUs): measured times would contain waits "
                               "for a simulation; start rank %2 where it has a GPU, or simulate all GPUs "
                               "with --device-map cuda:0=simulated:h200")
                    .arg(real)
                    .arg(1 - real);
            QCOMPARE(ended.err.count(sentence), 1);
            QVERIFY(twb.read("g.ranks/rank1.log").contains(sentence.toUtf8()));
            // The way out of the sentence.
            const Ended simulated =
                runMixed(twb, mpi, real, {"run", "g.twb", "--device-map", "cuda:0=simulated:h200"});
            QVERIFY2(simulated.exit == 0, qPrintable(simulated.err));
        }
    }

    void aTrainingOnSuchRanksEndsWith3_data() { addMpiLaunchers(); }
    void aTrainingOnSuchRanksEndsWith3() {
        TWB_NEED_MPI;
        TWB_NEED_FAKE_GPUS;
        const Ended ended = runMixed(
            wholeGraph("cuda:0"), mpi, 0,
            {"train", "g.twb", "--loss", "sum", "--optimizer", "sgd", "--lr", "0.1", "--epochs", "1"});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains("the lane cuda:0 is a real GPU on rank 0, but it is simulated on rank 1"),
                 qPrintable(ended.err));
    }

    void autoMustBecomeTheSameOnAllRanks_data() { addMpiLaunchers(); }
    void autoMustBecomeTheSameOnAllRanks() {
        TWB_NEED_MPI;
        TWB_NEED_FAKE_GPUS;
        const Program twb = wholeGraph("auto");
        const Ended ended = runMixed(twb, mpi, 1, {"run", "g.twb"});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains("the lane auto becomes a GPU on rank 1, but the cpu on rank 0; set it to "
                                    "cpu, or start rank 0 where it has a GPU"),
                 qPrintable(ended.err));
    }

    void aDividedGraphEndsWith3_data() { addMpiLaunchers(); }
    void aDividedGraphEndsWith3() {
        TWB_NEED_MPI;
        TWB_NEED_FAKE_GPUS;
        const Program twb = dividedGraph("cuda:0");
        const QString way = ": measured times would contain waits for a simulation; start rank %1 where it "
                            "has a GPU, or simulate all GPUs with --device-map %2=simulated:h200";
        for (const int real : {0, 1}) {
            const char* const lanes[] = {"cuda:0", "rank1/cuda:0"};
            const Ended ended = runMixed(twb, mpi, real, {"run", "g.twb"});
            QCOMPARE(ended.exit, 3);
            const QString sentence =
                QStringLiteral("the lane %1 is a real GPU on rank %2, but the lane %3 is simulated on rank "
                               "%4 (TWB_CUDA_PLUGIN=none disables GPUs)")
                    .arg(lanes[real])
                    .arg(real)
                    .arg(lanes[1 - real])
                    .arg(1 - real) +
                way.arg(1 - real).arg(lanes[real]);
            QVERIFY2(ended.err.contains(sentence), qPrintable(ended.err));
            const Ended simulated = runMixed(
                twb, mpi, real,
                {"run", "g.twb", "--device-map", QStringLiteral("%1=simulated:h200").arg(lanes[real])});
            QVERIFY2(simulated.exit == 0, qPrintable(simulated.err));
        }
    }

    /// A rank that has only its cpu measures; that the other one simulates is said by rank 0.
    void aSimulatedRankBesideACpuIsSaid_data() { addMpiLaunchers(); }
    void aSimulatedRankBesideACpuIsSaid() {
        TWB_NEED_MPI;
        const Program twb = dividedGraph("cpu");
        const QStringList run{"run", "g.twb", "--report", "r.json", "--trace", "t.json"};
        const Ended ended = Job(twb, mpi, 2, run, {{"TWB_CUDA_PLUGIN", "none"}}).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY2(ended.err.contains(
                     "note: rank1/cuda:0 is simulated on rank 1: TWB_CUDA_PLUGIN=none disables GPUs"),
                 qPrintable(ended.err));
        std::vector<bool> modelled;
        for (const auto json = twb.json("r.json"); const auto& rank : json.at("ranks").at("each"))
            modelled.push_back(rank["modelled"]);
        QCOMPARE(modelled, (std::vector<bool>{false, true}));
        const auto trace = twb.json("t.json");
        QCOMPARE(trace.at("otherData").at("clock"), "mixed");
        std::vector<std::string> processes;
        for (const auto& event : trace.at("traceEvents"))
            if (event.at("name") == "process_name") processes.push_back(event["args"]["name"]);
        const std::string host = QSysInfo::machineHostName().toStdString();
        QCOMPARE(processes, (std::vector<std::string>{"rank 0 on " + host + " (measured)",
                                                      "rank 1 on " + host + " (modelled)"}));
    }
};

TWB_TEST_MAIN(TestMixedRanks)
#include "test_mixed_ranks.moc"
