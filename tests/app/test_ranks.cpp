#include "app/ranks.h"
#include "formats/checkpoint.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "profile/run_trace.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <cmath>
#include <optional>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// Rounds of the tests that kill ranks; TWB_RANK_ROUNDS=20 for a thorough one.
int rounds() {
    const int set = qEnvironmentVariableIntValue("TWB_RANK_ROUNDS");
    return set > 0 ? set : 1;
}

/// The largest error of a comparison of times of two ranks in a trace, whose times are in whole ns.
std::int64_t clockError(const RunTrace& trace) {
    double error = 2;
    for (const RankPace& rank : trace.ranks) error += rank.clockErrorNs;
    return static_cast<std::int64_t>(std::ceil(error));
}

/// A layer in f64 with a cross-entropy loss on 93 rows, in batches of 10.
Program prepared() {
    Program twb;
    GraphMaker maker;
    const NodeId data = maker.node(
        "Batches", "data", "cpu",
        {{"path", std::string("x.npy")}, {"labels", std::string("y.npy")}, {"batch_size", std::int64_t{10}}});
    const NodeId w = maker.node(
        "Parameter", "w", "cpu",
        {{"shape", Integers{3, 8}}, {"init", std::string("xavier_uniform")}, {"dtype", std::string("f64")}});
    const NodeId b =
        maker.node("Parameter", "b", "cpu", {{"shape", Integers{3}}, {"dtype", std::string("f64")}});
    const NodeId scores = maker.node("Gemm", "scores", "cpu", {{"transB", true}}, {data, w, b});
    const NodeId loss = maker.node("SoftmaxCrossEntropyLoss", "loss", "cpu", {}, {scores});
    maker.connect(data, loss, 1, 1);
    twb.save("net.twb", maker);
    Dice dice(5);
    std::vector<double> x;
    std::vector<double> y;
    for (int row = 0; row < 93; ++row) {
        for (int k = 0; k < 8; ++k) x.push_back(dice.real(-1, 1) + (k == row % 3 ? 1 : 0));
        y.push_back(row % 3);
    }
    writeNpy(twb.fsPath("x.npy"), tensorOf(DType::f64, {93, 8}, x).view());
    writeNpy(twb.fsPath("y.npy"), tensorOf(DType::i64, {93}, y).view());
    return twb;
}

QStringList training(const QStringList& more = {}) {
    return QStringList{"train", "net.twb",    "--loss", "loss", "--optimizer",
                       "sgd",   "--momentum", "0.9",    "--lr", "0.1"} +
           more;
}

/// The mean distance of x · w from y on 80 rows of whole numbers, in batches of 16: gradients are sums of
/// whole numbers over a power of two, so they are exact in any order.
Program preparedExactly() {
    Program twb;
    GraphMaker maker;
    const NodeId data = maker.node(
        "Batches", "data", "cpu",
        {{"path", std::string("x.npy")}, {"labels", std::string("y.npy")}, {"batch_size", std::int64_t{16}}});
    const NodeId w =
        maker.node("Parameter", "w", "cpu", {{"shape", Integers{3, 1}}, {"dtype", std::string("f64")}});
    const NodeId product = maker.node("MatMul", "product", "cpu", {}, {data, w});
    const NodeId difference = maker.node("Sub", "difference", "cpu", {}, {product});
    maker.connect(data, difference, 1, 1);
    const NodeId distance = maker.node("Abs", "distance", "cpu", {}, {difference});
    maker.node("ReduceMean", "loss", "cpu", {{"keepdims", false}}, {distance});
    twb.save("net.twb", maker);
    Dice dice(4);
    std::vector<double> x;
    std::vector<double> y;
    for (int row = 0; row < 80; ++row) {
        for (int k = 0; k < 3; ++k) x.push_back(static_cast<double>(dice.integer(-4, 4)));
        y.push_back(static_cast<double>(dice.integer(-8, 8)));
    }
    writeNpy(twb.fsPath("x.npy"), tensorOf(DType::f64, {80, 3}, x).view());
    writeNpy(twb.fsPath("y.npy"), tensorOf(DType::f64, {80, 1}, y).view());
    return twb;
}

/// The layer of prepared(), and a BatchNormalization before the loss.
Program preparedNormalized() {
    Program twb = prepared();
    Graph graph = loadProject(twb.fsPath("net.twb"));
    DeltaBuilder builder(graph, {});
    const auto nodeOf = [&](std::string_view name) {
        return std::ranges::find(builder.graph().nodes(), name, &Node::name)->id;
    };
    const NodeId scores = nodeOf("scores");
    const NodeId loss = nodeOf("loss");
    Node node = *graph.find(scores);
    node.op = "BatchNormalization";
    node.name = "bn";
    node.attributes = {};
    const NodeId bn = builder.addNode(node);
    builder.connect({{scores, 0}, {bn, 0}});
    std::int32_t port = 1;
    for (const char* name : {"scale", "bias", "mean", "variance"}) {
        node.op = port <= 2 ? "Parameter" : port == 3 ? "Zeros" : "Full";
        node.name = name;
        node.attributes = {{"shape", Integers{3}}, {"dtype", std::string("f64")}};
        if (port == 1) node.attributes.set("init", std::string("normal"));
        if (port == 4) node.attributes.set("value", 1.0);
        builder.connect({{builder.addNode(node), 0}, {bn, port++}});
    }
    builder.connect({{bn, 0}, {loss, 0}});
    graph.apply(builder.take());
    saveProject(graph, twb.fsPath("net.twb"));
    return twb;
}

std::map<std::string, std::vector<double>>
weightsIn(const Program& twb, const QString& name, const std::vector<std::string>& parameters = {"w", "b"}) {
    std::map<std::string, std::vector<double>> out;
    const auto archive = openTensorArchive(twb.fsPath(name));
    for (const std::string& parameter : parameters) {
        const Tensor tensor = Tensor::onHost(archive->typeOf(parameter));
        archive->read(parameter, tensor.view());
        out[parameter] = valuesOf(tensor);
    }
    return out;
}

double farthest(const std::map<std::string, std::vector<double>>& a,
                const std::map<std::string, std::vector<double>>& b) {
    double out = 0;
    for (const auto& [name, values] : a)
        for (std::size_t i = 0; i < values.size(); ++i)
            out = std::max(out, std::abs(values[i] - b.at(name).at(i)));
    return out;
}

QStringList endlessTraining() {
    return {"--epochs", "1000000", "--quiet", "--checkpoint", "c", "--every", "5", "--report", "r.json"};
}

bool waitFor(const std::function<bool()>& condition, int timeoutMs = 60000) {
    QElapsedTimer timer;
    for (timer.start(); timer.elapsed() < timeoutMs; QTest::qWait(20))
        if (condition()) return true;
    return false;
}

struct Victim {
    int rank = 0;
    pid_t process = 0;
};

/// A random rank of three that train, at a random moment after the first checkpoint; nothing if there is
/// none.
std::optional<Victim> chooseVictim(const Program& twb, Job& job, std::mt19937& random) {
    if (!waitFor([&] { return twb.exists("c/checkpoint.json"); })) return std::nullopt;
    QTest::qWait(static_cast<int>(random() % 700));
    const int rank = static_cast<int>(random() % 3);
    const pid_t process = job.process(rank);
    return process > 0 ? std::optional(Victim{rank, process}) : std::nullopt;
}

} // namespace

class TestRanks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        for (const char* name : {"TWB_MPI", "TWB_STALL_SECONDS"}) qunsetenv(name);
    }

    /// The programs start where there is no MPI.
    void theProgramLinksNoMpi() {
        QProcess ldd;
        ldd.start("ldd", {Program::path()});
        QVERIFY(ldd.waitForFinished());
        const QString out = QString::fromUtf8(ldd.readAllStandardOutput());
        QVERIFY(out.contains("libc.so"));
        QVERIFY2(!out.contains("mpi"), qPrintable(out));
    }

    void ranksLearnWhatOneProcessLearns_data() { addMpiLaunchers(); }
    void ranksLearnWhatOneProcessLearns() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QStringList five{"--epochs", "5"};
        QCOMPARE(twb.run(training(five + QStringList{"--export-weights", "alone.safetensors", "--report",
                                                     "alone.json"}))
                     .exit,
                 0);
        const auto alone = weightsIn(twb, "alone.safetensors");
        for (int n = 1; n <= 4; ++n) {
            Job job(twb, mpi, n,
                    training(five + QStringList{"--export-weights", "w.safetensors", "--report", "r.json"}));
            const Ended ended = job.wait();
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            QCOMPARE(ended.out.count("\nepoch") + 1, 5); // only rank 0 prints
            const double far = farthest(weightsIn(twb, "w.safetensors"), alone);
            QVERIFY2(far <= 1e-12, qPrintable(QString("%1 ranks: %2").arg(n).arg(far)));
            const auto report = twb.json("r.json");
            QCOMPARE(report.at("status"), "finished");
            QCOMPARE(report.at("losses").size(), 50U);
            for (std::size_t i = 0; i < 50; ++i)
                QVERIFY(std::abs(report["losses"][i].get<double>() -
                                 twb.json("alone.json")["losses"][i].get<double>()) <= 1e-12);
            QCOMPARE(report.contains("ranks"), n > 1);
            if (n == 1) continue;
            QCOMPARE(report["ranks"]["size"], n);
            std::uint64_t sums = 0;
            for (const auto& call : report["ranks"]["calls"])
                if (call["label"] == "sum of gradients 1") sums = call["bytes"];
            QCOMPARE(sums, 50U * 27 * 8);
            for (int r = 1; r < n; ++r)
                QVERIFY(twb.read(QString("net.ranks/rank%1.log").arg(r)).contains("epoch 5/5"));
        }
    }

    /// 50 steps.
    void exactSumsGiveTheSameBits_data() { addMpiLaunchers(); }
    void exactSumsGiveTheSameBits() {
        TWB_NEED_MPI;
        const Program twb = preparedExactly();
        const auto trained = [](const QString& epochs, const QString& weights) {
            return QStringList{
                "train",    "net.twb", "--loss",   "loss",   "--optimizer",      "sgd",  "--lr", "0.125",
                "--epochs", epochs,    "--report", "r.json", "--export-weights", weights};
        };
        QCOMPARE(twb.run(trained("10", "alone.safetensors")).exit, 0);
        QCOMPARE(twb.json("r.json").at("losses").size(), 50U);
        const QByteArray alone = twb.read("alone.safetensors");
        QCOMPARE(twb.run(trained("9", "earlier.safetensors")).exit, 0);
        QVERIFY(twb.read("earlier.safetensors") != alone); // the last steps still change bits
        for (int n = 1; n <= 4; ++n) {
            const Ended ended = Job(twb, mpi, n, trained("10", "w.safetensors")).wait();
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            QCOMPARE(twb.read("w.safetensors"), alone);
            if (n == 1) continue;
            const auto hashes =
                twb.json("r.json").at("ranks").at("parameter_hashes").get<std::vector<std::string>>();
            QCOMPARE(hashes, std::vector<std::string>(static_cast<std::size_t>(n), hashes[0]));
        }
    }

    /// One bit of one sum is wrong on one rank.
    void aRankWithOtherParametersIsNamed_data() { addMpiLaunchers(); }
    void aRankWithOtherParametersIsNamed() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QString counter =
            QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_%1.so").arg(mpi.id);
        const Ended ended = Job(twb, mpi, 3, training({"--epochs", "2", "--report", "r.json"}),
                                {{"LD_PRELOAD", counter}, {"TWB_MPI_FLIP", "2:1"}})
                                .wait();
        QVERIFY2(ended.exit != 0, qPrintable(ended.err));
        QVERIFY2(ended.err.contains("after step 10, rank 2 has other parameters than rank 0"),
                 qPrintable(ended.err));
        QCOMPARE(twb.json("r.json").at("status"), "failed");
    }

    void statisticsCanBeSynchronized_data() { addMpiLaunchers(); }
    void statisticsCanBeSynchronized() {
        TWB_NEED_MPI;
        const Program twb = preparedNormalized();
        const std::vector<std::string> names{"w", "b", "scale", "bias", "mean", "variance"};
        const auto options = [&](const QString& weights) {
            return training(
                {"--epochs", "3", "--sync-batch-norm", "--export-weights", weights, "--report", "r.json"});
        };
        QCOMPARE(twb.run(options("alone.safetensors")).exit, 0);
        const auto alone = weightsIn(twb, "alone.safetensors", names);
        const Ended ended = Job(twb, mpi, 3, options("w.safetensors")).wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const double far = farthest(weightsIn(twb, "w.safetensors", names), alone);
        QVERIFY2(far <= 1e-12, qPrintable(QString::number(far)));
        const auto report = twb.json("r.json");
        int gathers = 0;
        for (const auto& call : report.at("ranks").at("calls"))
            if (call["label"] == "bn statistics") gathers += call["count"].get<int>();
        QCOMPARE(gathers, 30);
        const Ended saved = twb.run(training({"--sync-batch-norm", "--save-graph", "t.twb"}));
        QCOMPARE(saved.exit, 2);
    }

    void aTrainingResumesWithAnotherNumberOfRanks_data() { addMpiLaunchers(); }
    void aTrainingResumesWithAnotherNumberOfRanks() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--epochs", "6", "--export-weights", "alone.safetensors"})).exit, 0);
        const Ended first = Job(twb, mpi, 3, training({"--epochs", "2", "--checkpoint", "c"})).wait();
        QVERIFY2(first.exit == 0, qPrintable(first.err));
        const Ended second = Job(twb, mpi, 2,
                                 training({"--epochs", "6", "--checkpoint", "c", "--resume", "--report",
                                           "r.json", "--export-weights", "w.safetensors"}))
                                 .wait();
        QVERIFY2(second.exit == 0, qPrintable(second.err));
        QVERIFY(second.err.contains("resumed from epoch 3, step 20"));
        // Only rank 0 knows the earlier epochs; the pace is that of the steps since.
        for (const auto json = twb.json("r.json"); const auto& rank : json.at("ranks").at("each")) {
            QCOMPARE(rank["iterations"], 40);
            QVERIFY(rank["samples_per_s"] > 0.0);
        }
        QVERIFY(farthest(weightsIn(twb, "w.safetensors"), weightsIn(twb, "alone.safetensors")) <= 1e-12);
    }

    void differentGraphsEndWith3_data() { addMpiLaunchers(); }
    void differentGraphsEndWith3() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QStringList one{"-n", "1", Program::path()};
        const Ended ended = Job(twb, mpi,
                                one + training({"--epochs", "2"}) + QStringList{":"} + one +
                                    training({"--epochs", "2", "--batch", "8"}))
                                .wait();
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains("rank 1 would not run the same graph as rank 0: ") &&
                     ended.err.contains("Batches \"data\" of rank 0 is the first that differs"),
                 qPrintable(ended.err));
    }

    /// The launcher of one implementation and the library of the other: each process would be alone.
    void theLauncherOfAnotherImplementationIsRefused_data() { addMpiLaunchers(); }
    void theLauncherOfAnotherImplementationIsRefused() {
        TWB_NEED_MPI;
        if (mpiLaunchers().size() < 2) QSKIP("this test needs Open MPI and MPICH");
        const Program twb = prepared();
        const QString other = mpi.id == "mpich" ? "openmpi" : "mpich";
        const Ended ended = Job(twb, mpi, 2, training({"--epochs", "2"}), {{"TWB_MPI", other}}).wait();
        QCOMPARE(ended.exit, 5);
        QVERIFY2(ended.err.contains("has started 2 ranks, but ") && ended.err.contains(" finds 1: "),
                 qPrintable(ended.err));
    }

    void aMissingPluginIsNamed_data() { addMpiLaunchers(); }
    void aMissingPluginIsNamed() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const Ended ended =
            Job(twb, mpi, 2, training({"--epochs", "2"}), {{"TWB_MPI", "/nowhere/plugin.so"}}).wait();
        QCOMPARE(ended.exit, 5);
        QVERIFY2(ended.err.contains("MPI plugin not found: /nowhere/plugin.so"), qPrintable(ended.err));
    }

    void anErrorOfOneRankEndsTheJob_data() { addMpiLaunchers(); }
    void anErrorOfOneRankEndsTheJob() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QStringList one{"-n", "1", Program::path()};
        Job job(twb, mpi,
                one + training({"--epochs", "9"}) + QStringList{":"} + one +
                    training({"--epochs", "9", "--set", "data.path=no.npy"}));
        const Ended ended = job.wait();
        QVERIFY2(ended.exit > 0 && ended.exit != 130, qPrintable(QString::number(ended.exit)));
        QVERIFY2(ended.err.contains("twb: rank 1 failed: ") && ended.err.contains("no.npy"),
                 qPrintable(ended.err));
        QVERIFY(isEmptyWithin(twb.file(""), 60000));
    }

    /// As in a folder where the user may not write, such as that of the installed examples.
    void aLogThatCannotBeWrittenEndsTheJob_data() { addMpiLaunchers(); }
    void aLogThatCannotBeWrittenEndsTheJob() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        twb.write("net.ranks", "a file where the folder of the logs would be");
        const Ended ended = Job(twb, mpi, 2, training()).wait();
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.count("/net.ranks/rank1.log, the log of rank 1: ") == 1 &&
                     ended.err.contains("name another folder with --rank-logs"),
                 qPrintable(ended.err));
        QCOMPARE(Job(twb, mpi, 2, training({"--rank-logs", "logs"})).wait().exit, 0);
        QVERIFY(twb.read("logs/rank1.log").contains("epoch"));
    }

    void aKilledRankEndsTheJob_data() { addMpiLaunchers(); }
    void aKilledRankEndsTheJob() {
        TWB_NEED_MPI;
        std::mt19937 random(static_cast<unsigned>(QDateTime::currentMSecsSinceEpoch()));
        for (int round = 0; round < rounds(); ++round) {
            const Program twb = prepared();
            Job job(twb, mpi, 3, training(endlessTraining()));
            const std::optional<Victim> victim = chooseVictim(twb, job, random);
            QVERIFY(victim);
            QElapsedTimer timer;
            timer.start();
            QCOMPARE(::kill(victim->process, SIGKILL), 0);
            const Ended ended = job.wait();
            // 5 s, where nothing else runs.
            QVERIFY2(timer.elapsed() < 100000, qPrintable(QString::number(timer.elapsed())));
            QVERIFY2(ended.exit != 0, qPrintable(ended.err));
            const QString wanted = QString("twb: rank %1 of 3 was killed or has ended early (process %2)")
                                       .arg(victim->rank)
                                       .arg(victim->process);
            QVERIFY2(ended.err.contains(wanted) && ended.err.contains("its last step was \""),
                     qPrintable(ended.err));
            QVERIFY(isEmptyWithin(twb.file(""), 60000));
            QVERIFY(loadCheckpoint(twb.fsPath("c")).place.steps >= 5);
            const auto report = twb.json("r.json");
            QVERIFY2(report.is_object(), qPrintable(ended.err));
            QCOMPARE(report.at("status"), "failed");
            QVERIFY(report.at("error").get<std::string>().starts_with(
                QString("rank %1").arg(victim->rank).toStdString()));
        }
    }

    void aStoppedRankEndsTheJob_data() { addMpiLaunchers(); }
    void aStoppedRankEndsTheJob() {
        TWB_NEED_MPI;
        std::mt19937 random(static_cast<unsigned>(QDateTime::currentMSecsSinceEpoch()) + 1);
        for (int round = 0; round < rounds(); ++round) {
            const Program twb = prepared();
            Job job(twb, mpi, 3, training(endlessTraining()), {{"TWB_STALL_SECONDS", "3"}});
            const std::optional<Victim> victim = chooseVictim(twb, job, random);
            QVERIFY(victim);
            QElapsedTimer timer;
            timer.start();
            QCOMPARE(::kill(victim->process, SIGSTOP), 0);
            const Ended ended = job.wait();
            const qint64 took = timer.elapsed();
            ::kill(victim->process, SIGCONT);
            QVERIFY2(took > 2000, qPrintable(QString::number(took)));
            QVERIFY2(ended.exit != 0, qPrintable(ended.err));
            QVERIFY2(ended.err.contains(QString("twb: rank %1 has not answered for 3 s").arg(victim->rank)) &&
                         ended.err.contains("its last step was \""),
                     qPrintable(ended.err));
            QVERIFY(isEmptyWithin(twb.file(""), 60000));
            QVERIFY(loadCheckpoint(twb.fsPath("c")).place.steps >= 5);
            QCOMPARE(twb.json("r.json").at("status"), "failed");
        }
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

    /// A stand-in between the program and MPI counts what passes.
    void theReportCountsWhatMpiGets_data() { addMpiLaunchers(); }
    void theReportCountsWhatMpiGets() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QString counter =
            QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_%1.so").arg(mpi.id);
        Job job(twb, mpi, 3, training({"--epochs", "4", "--report", "r.json"}),
                {{"LD_PRELOAD", counter}, {"TWB_MPI_COUNTS", twb.file("counts")}});
        const Ended ended = job.wait();
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        using Counts = std::map<QString, std::pair<qlonglong, qlonglong>>;
        Counts counted;
        for (const QString& line : QString::fromUtf8(twb.read("counts.0")).split('\n', Qt::SkipEmptyParts)) {
            const QStringList words = line.split(' ');
            if (words[1] != "0") counted[words[0]] = {words[1].toLongLong(), words[2].toLongLong()};
        }
        Counts reported;
        const auto report = twb.json("r.json");
        for (const auto& call : report.at("ranks").at("calls")) {
            const QString kind = QString::fromStdString(call["kind"]);
            if (kind == "Barrier") continue;
            reported[kind].first += call["count"].get<qlonglong>();
            reported[kind].second += call["bytes"].get<qlonglong>();
        }
        QVERIFY(counted["AllReduce"].first >= 40);
        QCOMPARE(reported, counted);
    }

    /// Open MPI sums few ranks by a tree, unless it is told otherwise.
    void fewRanksAreSummedByARing() {
        const auto all = mpiLaunchers();
        const auto open = std::ranges::find(all, "openmpi", &MpiLauncher::id);
        if (open == all.end()) QSKIP("no Open MPI: install openmpi-bin and libopenmpi-dev");
        const Program twb = prepared();
        const auto algorithm = [&](int ranks, QMap<QString, QString> variables) {
            variables.insert("LD_PRELOAD",
                             QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_openmpi.so"));
            variables.insert("TWB_MPI_COUNTS", twb.file("counts"));
            const Ended ended =
                Job(twb, *open, ranks, training({"--epochs", "1", "--quiet"}), variables).wait();
            return ended.exit == 0 ? QString::fromUtf8(twb.read("counts.algorithm")) : ended.err;
        };
        QCOMPARE(algorithm(3, {}), QString("ring"));
        QCOMPARE(algorithm(4, {}), QString("its own"));
        QCOMPARE(algorithm(2, {{"OMPI_MCA_coll_libnbc_iallreduce_algorithm", "binomial"}}),
                 QString("binomial"));
    }

    /// A rank that another library ends with exit code 0: the report says so, whatever the launcher returns.
    void aRankThatLeavesFailsTheRun_data() { addMpiLaunchers(); }
    void aRankThatLeavesFailsTheRun() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QString counter =
            QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_%1.so").arg(mpi.id);
        Job job(twb, mpi, 3, training({"--epochs", "1000", "--quiet", "--report", "r.json"}),
                {{"LD_PRELOAD", counter}, {"TWB_MPI_LEAVE", "1:150"}});
        const Ended ended = job.wait();
        QVERIFY2(ended.err.contains("twb: rank 1 of 3 was killed or has ended early"), qPrintable(ended.err));
        QVERIFY(isEmptyWithin(twb.file(""), 60000));
        QCOMPARE(twb.json("r.json").at("status"), "failed");
        QVERIFY(twb.json("r.json").at("error").get<std::string>().starts_with("rank 1 "));
    }

    /// A sweep of which a rank is killed twice: each run has one result.
    void aBatchRunsEachMemberOnce_data() { addMpiLaunchers(); }
    void aBatchRunsEachMemberOnce() {
        TWB_NEED_MPI;
        const int members = 1000; // more than the ranks finish before two jobs have ended
        const Program twb;
        twb.save("g.twb", smallGraph());
        QStringList values;
        for (int i = 0; i < members; ++i) values << QString::number(i);
        const QStringList batch{"batch",    "g.twb", "--set", "factor.value=" + values.join(','),
                                "--report", "out"};
        std::map<QString, QByteArray> before;
        const auto reports = [&] { return QDir(twb.file("out")).entryList({"g*.json"}); };
        /// The first report that was written again, as it was; the times in it differ between runs.
        const auto rewritten = [&] {
            for (const auto& [name, text] : before)
                if (twb.read("out/" + name) != text) return name.toUtf8() + " was " + text.left(300);
            return QByteArray();
        };
        for (int kill = 0; kill < 2; ++kill) {
            Job job(twb, mpi, 3, batch);
            const auto known = static_cast<int>(reports().size());
            QVERIFY(waitFor([&] { return reports().size() >= known + 6; }));
            const pid_t pid = job.process(1 + kill);
            QVERIFY(pid > 0);
            ::kill(pid, SIGKILL);
            QVERIFY(job.wait().exit != 0);
            QVERIFY(isEmptyWithin(twb.file(""), 60000));
            QCOMPARE(rewritten(), QByteArray());
            for (const QString& name : reports()) before[name] = twb.read("out/" + name);
        }
        QVERIFY(static_cast<int>(before.size()) < members);
        const Ended last = Job(twb, mpi, 3, batch).wait(300000);
        QVERIFY2(last.exit == 0, qPrintable(last.err));
        QCOMPARE(rewritten(), QByteArray());
        QCOMPARE(last.out.count("run  "), 1); // one summary
        const auto summary = twb.json("out/summary.json");
        QCOMPARE(summary.at("count"), members);
        QCOMPARE(summary.at("failed"), 0);
        std::set<std::string> names;
        std::set<double> results;
        int skipped = 0;
        for (const auto& run : summary.at("runs")) {
            names.insert(run["name"]);
            results.insert(run["probes"].empty() ? -1 : 0);
            skipped += run["skipped"].get<bool>() ? 1 : 0;
        }
        QCOMPARE(static_cast<int>(names.size()), members);
        QCOMPARE(skipped, static_cast<int>(before.size()));
        QCOMPARE(static_cast<int>(reports().size()), members);
        QCOMPARE(QDir(twb.file("out")).entryList({"*.part"}), QStringList());
    }

    /// Without a launcher that ends the others, they take over the member of a killed rank.
    void otherRanksTakeOverAMember() {
        const Program twb;
        twb.save("g.twb", longGraph());
        std::vector<std::unique_ptr<QProcess>> ranks;
        for (const char* rank : {"0", "1"}) {
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            for (const auto& [name, value] :
                 {std::pair("PMI_SIZE", "2"), std::pair("PMI_RANK", rank), std::pair("MPI_LOCALNRANKS", "2"),
                  std::pair("OMP_NUM_THREADS", "1")})
                environment.insert(name, value);
            ranks.push_back(std::make_unique<QProcess>());
            ranks.back()->setProcessEnvironment(environment);
            ranks.back()->setWorkingDirectory(twb.file(""));
            ranks.back()->start(Program::path(), {"batch", "g.twb", "--set", "a.seed=1,2,3,4,5,6",
                                                  "--iterations", "60", "--report", "out"});
        }
        QVERIFY(waitFor([&] {
            return !QDir(twb.file("out")).entryList({"*.rank1.part", "*.log"}).isEmpty();
        }));
        QTest::qWait(200);
        ranks[1]->kill();
        QVERIFY(ranks[1]->waitForFinished());
        const Ended ended = Program::wait(*ranks[0], 120000);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(twb.json("out/summary.json").at("count"), 6);
        QCOMPARE(twb.json("out/summary.json").at("failed"), 0);
        QVERIFY2(ended.out.contains("6 runs: 6 finished now, 0 finished earlier, 0 failed"),
                 qPrintable(ended.out));
        QCOMPARE(QDir(twb.file("out")).entryList({"*.part"}), QStringList());
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

    void aBatchOnRanksNeedsAFolder_data() { addMpiLaunchers(); }
    void aBatchOnRanksNeedsAFolder() {
        TWB_NEED_MPI;
        const Program twb;
        twb.save("g.twb", smallGraph());
        const Ended ended = Job(twb, mpi, 2, {"batch", "g.twb"}).wait();
        QCOMPARE(ended.exit, 2);
        QVERIFY(ended.err.contains("a batch on 2 ranks needs --report DIR"));
    }

    void aSimulatedWorldIsAWhatIf() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--save-graph", "t.twb"})).exit, 0);
        const Ended ended = twb.run({"run", "t.twb", "--world", "simulated:4:25gbe", "--report", "r.json"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("clock"), "modelled");
        QCOMPARE(report["ranks"]["modelled"], true);
        bool isSeen = false;
        for (const auto& row : report.at("transfers")) {
            if (row["label"] != "sum of gradients 1") continue;
            isSeen = true;
            QCOMPARE(row["modelled"], true);
            QCOMPARE(row["bytes"], 27 * 8);
            QVERIFY(std::abs(row["median_ms"].get<double>() - row["predicted_ms"].get<double>()) < 1e-5);
        }
        QVERIFY(isSeen);
        QCOMPARE(twb.run({"run", "t.twb", "--world", "four"}).exit, 2);
    }
};

TWB_TEST_MAIN(TestRanks)
#include "test_ranks.moc"
