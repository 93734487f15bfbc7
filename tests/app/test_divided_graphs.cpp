#include "app/ranks.h"
#include "formats/project.h"
#include "profile/run_trace.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QSysInfo>

#include <cmath>
#include <set>

using namespace twb;
using namespace twb::test;

// Graphs whose lanes belong to several ranks, under mpirun.

namespace {

/// x on rank 0, its square on rank 1, and their difference on rank 0.
Program preparedParts() {
    Program twb;
    GraphMaker maker;
    const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{100}}, {"value", 3.0}});
    const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
    const NodeId product = maker.node("Mul", "product", "rank1/cpu", {}, {there, there});
    const NodeId back = maker.node("To", "back", "cpu", {}, {product});
    const NodeId difference = maker.node("Sub", "difference", "cpu", {}, {back, x});
    maker.node("Probe", "seen", "cpu", {}, {difference});
    twb.save("g.twb", maker);
    return twb;
}

/// From rank 0 to rank 1's cpu, to its GPU, to rank 0, to rank 2 and to rank 1's cpu again; and two lanes of
/// rank 1 that read the same tensor of rank 0.
Program preparedHops() {
    Program twb;
    GraphMaker maker;
    const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{100}}, {"value", 3.0}});
    const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
    const NodeId onGpu = maker.node("To", "on gpu", "rank1/cuda:0", {}, {there});
    const NodeId product = maker.node("Mul", "product", "rank1/cuda:0", {}, {onGpu, onGpu});
    const NodeId home = maker.node("To", "home", "cpu", {}, {product});
    const NodeId far = maker.node("To", "far", "rank2/cpu", {}, {home});
    const NodeId again = maker.node("To", "again", "rank1/cpu", {}, {far});
    maker.node("Probe", "again seen", "rank1/cpu", {}, {again});
    maker.node("Probe", "there seen", "rank1/cpu", {}, {there});
    const NodeId second = maker.node("To", "second", "rank1/cuda:0", {{"dtype", std::string("f16")}}, {x});
    maker.node("Probe", "second seen", "rank1/cuda:0", {}, {second});
    twb.save("g.twb", maker);
    return twb;
}

/// What MPI has counted for a rank, by kind: calls and bytes.
using Counts = std::map<QString, std::pair<qlonglong, qlonglong>>;

Counts countsOf(const Program& twb, int rank) {
    Counts out;
    const QString text = QString::fromUtf8(twb.read(QStringLiteral("counts.%1").arg(rank).toUtf8()));
    for (const QString& line : text.split('\n', Qt::SkipEmptyParts)) {
        const QStringList words = line.split(' ');
        out[words[0]] = {words[1].toLongLong(), words[2].toLongLong()};
    }
    return out;
}

} // namespace

class TestDividedGraphs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        for (const char* name : {"TWB_MPI", "TWB_STALL_SECONDS"}) qunsetenv(name);
    }

    /// Lanes of two ranks divide the graph: each rank computes its nodes, and a To is a message.
    void ranksRunTheirPartsOfAGraph_data() { addMpiLaunchers(); }
    void ranksRunTheirPartsOfAGraph() {
        TWB_NEED_MPI;
        const Program twb = preparedParts();
        const QStringList run{"run",    "g.twb",    "--iterations",  "3",        "--report",
                              "r.json", "--output", "product=p.npy", "--output", "difference=d.npy"};
        // Alone, this process simulates the other rank.
        const Ended alone = twb.run(run);
        QVERIFY2(alone.exit == 0, qPrintable(alone.err));
        QVERIFY2(alone.out.contains("25 GbE"), qPrintable(alone.out));
        QCOMPARE(twb.tensor("p.npy"), std::vector<double>(100, 9));
        QCOMPARE(twb.tensor("d.npy"), std::vector<double>(100, 6));
        for (const auto json = twb.json("r.json"); const auto& row : json.at("transfers")) {
            QCOMPARE(row["link"], "25 GbE");
            QCOMPARE(row["direction"], "between-ranks");
            QCOMPARE(row["modelled"], true);
            QVERIFY(std::abs(row["predicted_ms"].get<double>() - (0.030 + 400 / 2.9e6)) < 1e-9);
        }
        for (const char* file : {"p.npy", "d.npy", "r.json"}) QVERIFY(QFile::remove(twb.file(file)));

        const Ended ended = Job(twb, mpi, 2, run + QStringList{"--trace", "t.json"}).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(twb.tensor("p.npy"), std::vector<double>(100, 9)); // written by rank 1
        QCOMPARE(twb.tensor("d.npy"), std::vector<double>(100, 6));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("devices").size(), 1U); // those of rank 0
        std::map<std::string, std::pair<int, int>> rows;
        for (const auto& row : report.at("transfers")) {
            QCOMPARE(row["kind"], "collective");
            QCOMPARE(row["modelled"], false);
            rows[row["label"]] = {row["count"], row["bytes"]};
        }
        QCOMPARE(rows,
                 (std::map<std::string, std::pair<int, int>>{{"there", {3, 1200}}, {"back", {3, 1200}}}));
        QCOMPARE(report["ranks"]["each"].size(), 2U);
        const RunTrace trace = readRunTrace(twb.fsPath("t.json"));
        std::set<std::string> tracks;
        for (const StepRecord& record : trace.records) {
            const Step& step = trace.plan->steps[record.step];
            if (step.label == "product" || step.label == "difference")
                tracks.insert(step.label + " " + trace.plan->streams[step.stream].label);
        }
        QCOMPARE(tracks,
                 (std::set<std::string>{"product rank1/cpu compute", "difference rank0/cpu compute"}));
        // Every node of the graph has the times of the rank that computes it.
        std::map<std::string, Device> computed;
        for (const Step& step : trace.plan->steps)
            if (trace.isOfGraph[step.index]) computed[step.label] = trace.plan->streams[step.stream].device;
        QCOMPARE(computed.at("product"), Device::cpu(1));
        QCOMPARE(computed.at("difference"), Device::cpu());
        // A process for each rank, and on one clock, no message arrives before it was sent.
        const std::string host = QSysInfo::machineHostName().toStdString();
        std::set<std::string> processes;
        std::map<std::pair<std::string, int>, std::map<std::string, double>> messages;
        for (const auto json = twb.json("t.json"); const auto& event : json.at("traceEvents")) {
            if (event.at("name") == "process_name") processes.insert(event["args"]["name"]);
            if (event.value("cat", "") == "message")
                messages[{event["name"], event["id"]}][event["ph"]] = event["ts"];
        }
        QCOMPARE(processes, (std::set<std::string>{"rank 0 on " + host, "rank 1 on " + host}));
        QCOMPARE(messages.size(), 6U);
        constexpr double slack = 100'000; // µs, of the clocks' comparison on a busy machine
        for (const auto& [message, ends] : messages) QVERIFY(ends.at("f") > ends.at("s") - slack);
    }

    /// Each hop is one message, and its bytes are those that MPI gets.
    void copiesOfCopiesAreSentOnce_data() { addMpiLaunchers(); }
    void copiesOfCopiesAreSentOnce() {
        TWB_NEED_MPI;
        const Program twb = preparedHops();
        const Ended alone = twb.run({"run", "g.twb", "--report", "r.json"});
        QVERIFY2(alone.exit == 0, qPrintable(alone.err));
        std::map<std::string, double> wanted;
        for (const auto json = twb.json("r.json"); const auto& probe : json.at("probes"))
            wanted[probe["name"]] = probe["mean"];
        QCOMPARE(wanted,
                 (std::map<std::string, double>{{"again seen", 9}, {"there seen", 3}, {"second seen", 3}}));
        // By rank, what 2 and 7 iterations have sent and received.
        std::map<int, std::vector<Counts>> counted;
        for (const int iterations : {2, 7}) {
            const Ended ended =
                Job(twb, mpi, 3,
                    {"run", "g.twb", "--iterations", QString::number(iterations), "--report", "r.json"},
                    {{"LD_PRELOAD",
                      QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_%1.so").arg(mpi.id)},
                     {"TWB_MPI_COUNTS", twb.file("counts")}})
                    .wait();
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            for (const int rank : {0, 1, 2}) counted[rank].push_back(countsOf(twb, rank));
        }
        // The comparison of clocks sends some messages of 8 bytes, not the same number in each run. Other
        // than these, the runs differ by the messages of 5 iterations.
        const auto perIteration = [&](int rank, const char* kind) {
            const auto few = counted[rank][0][kind];
            const auto many = counted[rank][1][kind];
            return static_cast<double>((many.second - few.second) - 8 * (many.first - few.first)) / 5;
        };
        const auto messages = [](double calls, double bytes) { return bytes - 8 * calls; };
        QCOMPARE(perIteration(0, "Send"), messages(3, 400 + 200 + 400)); // there, second, far
        QCOMPARE(perIteration(0, "Receive"), messages(1, 400));          // home
        QCOMPARE(perIteration(1, "Send"), messages(1, 400));
        QCOMPARE(perIteration(1, "Receive"), messages(3, 400 + 200 + 400)); // there, second, again
        QCOMPARE(perIteration(2, "Send"), messages(1, 400));
        QCOMPARE(perIteration(2, "Receive"), messages(1, 400));
        // The ledger of rank 0 has the same, a row for each message.
        const auto report = twb.json("r.json");
        std::map<std::string, std::pair<int, int>> rows;
        for (const auto& row : report.at("transfers"))
            if (row["kind"] == "collective")
                QVERIFY(rows.emplace(row["label"], std::pair(row["count"], row["bytes"])).second);
        QCOMPARE(rows,
                 (std::map<std::string, std::pair<int, int>>{
                     {"there", {7, 2800}}, {"second", {7, 1400}}, {"home", {7, 2800}}, {"far", {7, 2800}}}));
        std::map<std::string, double> values;
        for (const auto& probe : report.at("probes")) values[probe["name"]] = probe["mean"];
        QCOMPARE(values, wanted);
    }

    void aGraphThatNamesAMissingRankEndsWith5_data() { addMpiLaunchers(); }
    void aGraphThatNamesAMissingRankEndsWith5() {
        TWB_NEED_MPI;
        const Program twb = preparedParts();
        const QStringList far{"run", "g.twb", "--set", "product.device=rank3/cpu"};
        const Ended ended = Job(twb, mpi, 2, far).wait();
        QCOMPARE(ended.exit, 5);
        QVERIFY2(ended.err.contains("the graph has a lane of rank 3, but this run has ranks 0 to 1; start it "
                                    "with 4 ranks"),
                 qPrintable(ended.err));
        QCOMPARE(twb.run(far + QStringList{"--world", "simulated:2:nvlink"}).exit, 5);
        const Ended training = Job(twb, mpi, 2,
                                   {"train", "g.twb", "--loss", "difference", "--optimizer", "sgd", "--lr",
                                    "0.1", "--epochs", "1"})
                                   .wait();
        QCOMPARE(training.exit, 3);
        QVERIFY2(training.err.contains("g.twb has lanes of other ranks, which divide its nodes"),
                 qPrintable(training.err));
    }

    void anyDTypeGoesToAnotherRank_data() { addMpiLaunchers(); }
    /// All of them in one graph, there and back; seven elements, so that packed dtypes end inside a byte.
    void anyDTypeGoesToAnotherRank() {
        TWB_NEED_MPI;
        Program twb;
        GraphMaker maker;
        const NodeId x =
            maker.node("Constant", "x", "cpu",
                       {{"value", std::vector<double>{0, 1, 1, 0, 1, 1, 1}}, {"shape", Integers{7}}});
        QStringList outputs;
        for (const DType dtype : kAllDTypes) {
            const std::string type(name(dtype));
            const NodeId there = maker.node("To", type + " there", "rank1/cpu", {{"dtype", type}}, {x});
            const NodeId same = maker.node("Identity", type + " same", "rank1/cpu", {}, {there});
            const NodeId back = maker.node("To", type + " back", "cpu", {}, {same});
            maker.node("Cast", type, "cpu", {{"to", std::string("f64")}}, {back});
            outputs << "--output" << QString::fromStdString(type + "=" + type + ".npy");
        }
        twb.save("g.twb", maker);
        const QStringList run = QStringList{"run", "g.twb", "--report", "r.json"} + outputs;
        const Ended alone = twb.run(run);
        QVERIFY2(alone.exit == 0, qPrintable(alone.err));
        std::map<std::string, std::vector<double>> wanted;
        for (const DType dtype : kAllDTypes) {
            const QString file = QString::fromUtf8(name(dtype).data()) + ".npy";
            wanted[std::string(name(dtype))] = twb.tensor(file);
            QVERIFY(QFile::remove(twb.file(file)));
        }
        const Ended ended = Job(twb, mpi, 2, run).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        for (const auto& [type, values] : wanted)
            QCOMPARE(twb.tensor(QString::fromStdString(type) + ".npy"), values);
        QCOMPARE(wanted.at("i2"), (std::vector<double>{0, 1, 1, 0, 1, 1, 1}));
        std::map<std::string, int> bytes;
        for (const auto json = twb.json("r.json"); const auto& row : json.at("transfers"))
            bytes[row["label"]] = row["bytes"];
        for (const DType dtype : kAllDTypes)
            QCOMPARE(bytes.at(std::string(name(dtype)) + " there"),
                     static_cast<int>(Shape{7}.byteCount(dtype)));
    }

    void aNanIsNamedWithItsNodeAndRank_data() { addMpiLaunchers(); }
    void aNanIsNamedWithItsNodeAndRank() {
        TWB_NEED_MPI;
        Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{10}}, {"value", -3.0}});
        const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
        const NodeId root = maker.node("Sqrt", "root", "rank1/cpu", {}, {there});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("To", "back", "cpu", {}, {root})});
        twb.save("g.twb", maker);
        twb.write("r.json", "{\"status\": \"of an earlier run\"}");
        const Ended ended =
            Job(twb, mpi, 2, {"run", "g.twb", "--fail-on-nan", "--iterations", "3", "--report", "r.json"})
                .wait();
        QCOMPARE(ended.exit, 1);
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("status"), "failed");
        QVERIFY(report.at("errors")[0]["message"].get<std::string>().find("Sqrt \"root\"") !=
                std::string::npos);
        const QString sentence = "rank 1 failed: Sqrt \"root\": its output has ";
        QVERIFY2(ended.err.contains(sentence) && ended.err.contains("10 NaN") &&
                     ended.err.contains("in iteration 1"),
                 qPrintable(ended.err));
        QVERIFY2(!ended.err.contains("cancelled"), qPrintable(ended.err));
        QVERIFY(twb.read("g.ranks/rank1.log").contains("Sqrt \"root\": its output has "));
    }

    void aKilledRankIsInTheReport_data() { addMpiLaunchers(); }
    void aKilledRankIsInTheReport() {
        TWB_NEED_MPI;
        for (const int rank : {0, 1}) {
            Program twb;
            GraphMaker maker = longGraph();
            maker.node("AllReduce", "sum", "cpu", {}, {maker.graph().findByName("b")->id});
            twb.save("g.twb", maker);
            Job job(twb, mpi, 2,
                    {"run", "g.twb", "--iterations", "1000000", "--events", "events", "--report", "r.json"});
            QTRY_VERIFY_WITH_TIMEOUT(twb.read("events").count('\n') > 2 || !job.isRunning(), 300'000);
            const pid_t victim = job.process(rank);
            QVERIFY(victim > 0 && ::kill(victim, SIGKILL) == 0);
            QVERIFY(job.wait().exit != 0);
            QVERIFY(isEmptyWithin(twb.file(""), 60'000));
            const auto report = twb.json("r.json");
            QVERIFY(report.is_object());
            QCOMPARE(report.at("status"), "failed");
            const std::string sentence = report.at("errors")[0]["message"];
            QVERIFY2(QString::fromStdString(sentence).contains(
                         QString("rank %1 of 2 was killed or has ended early").arg(rank)),
                     sentence.c_str());
        }
    }

    void theReportHasTheProbesOfAllRanks_data() { addMpiLaunchers(); }
    void theReportHasTheProbesOfAllRanks() {
        TWB_NEED_MPI;
        Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{10}}, {"value", 3.0}});
        const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
        const NodeId sum = maker.node("ReduceSum", "sum", "rank1/cpu", {{"keepdims", false}}, {there});
        maker.node("Probe", "x seen", "cpu", {}, {x});
        maker.node("Probe", "sum seen", "rank1/cpu", {}, {sum});
        maker.node("Probe", "back seen", "cpu", {}, {maker.node("To", "back", "cpu", {}, {sum})});
        twb.save("g.twb", maker);
        const Ended ended = Job(twb, mpi, 2, {"run", "g.twb", "--report", "r.json"}).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        std::map<std::string, double> values;
        const auto report = twb.json("r.json");
        for (const auto& probe : report.at("probes"))
            values[probe["name"]] = probe["elements"] == 1 ? probe["value"] : probe["mean"];
        QCOMPARE(values, (std::map<std::string, double>{{"x seen", 3}, {"sum seen", 30}, {"back seen", 30}}));
        QVERIFY2(ended.out.contains("sum seen"), qPrintable(ended.out));
        QVERIFY(twb.read("g.ranks/rank1.log").contains("sum seen"));
    }
};

TWB_TEST_MAIN(TestDividedGraphs)
#include "test_divided_graphs.moc"
