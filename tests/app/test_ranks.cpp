#include "app/rank_training.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"
#include "support/test_main.h"

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

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
