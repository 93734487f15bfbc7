#include "app/program.h"
#include "profile/run_trace.h"
#include "support/test_main.h"
#include "training/training.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sys/resource.h>
#include <sys/types.h>

using namespace twb;
using namespace twb::test;

namespace {

/// A layer with a cross-entropy loss on 120 rows of random data, in batches of 16.
GraphMaker classifier() {
    GraphMaker maker;
    const NodeId data = maker.node("Batches", "data", "cpu",
                                   {{"path", std::string("x.npy")},
                                    {"labels", std::string("y.npy")},
                                    {"batch_size", std::int64_t{16}},
                                    {"validation", 0.2}});
    const NodeId w = maker.node("Parameter", "w", "cpu",
                                {{"shape", Integers{3, 8}}, {"init", std::string("xavier_uniform")}});
    const NodeId b = maker.node("Parameter", "b", "cpu", {{"shape", Integers{3}}});
    const NodeId scores = maker.node("Gemm", "scores", "cpu", {{"transB", true}}, {data, w, b});
    const NodeId loss = maker.node("SoftmaxCrossEntropyLoss", "loss", "cpu", {}, {scores});
    maker.connect(data, loss, 1, 1);
    return maker;
}

/// A folder with the graph and its data.
Program prepared(double bad = 0) {
    Program twb;
    twb.save("net.twb", classifier());
    std::mt19937 random(5);
    Tensor x = Tensor::onHost({DType::f32, Shape{120, 8}});
    Tensor y = Tensor::onHost({DType::i64, Shape{120}});
    std::normal_distribution<float> normal;
    for (int row = 0; row < 120; ++row) {
        y.values<std::int64_t>()[static_cast<std::size_t>(row)] = row % 3;
        for (int column = 0; column < 8; ++column)
            x.values<float>()[8 * static_cast<std::size_t>(row) + static_cast<std::size_t>(column)] =
                normal(random) + (column == row % 3 ? 2.0F : 0.0F);
    }
    for (std::size_t row = 0; row < 60 && std::isnan(bad); ++row) x.values<float>()[8 * row] = std::nanf("");
    writeNpy(twb.fsPath("x.npy"), x.view());
    writeNpy(twb.fsPath("y.npy"), y.view());
    return twb;
}

QStringList training(const QStringList& more = {}) {
    const QStringList epochs = more.contains("--epochs") ? QStringList{} : QStringList{"--epochs", "30"};
    return QStringList{"train", "net.twb", "--loss", "loss", "--lr", "0.01", "--quiet"} + epochs + more;
}

} // namespace

class TestTrain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aGraphLearns() {
        const Program twb = prepared();
        QDir(twb.file("")).mkdir("out");
        const Ended ended =
            twb.run({"train", "net.twb", "--loss", "loss", "--lr", "0.05", "--epochs", "20", "--report",
                     "r.json", "--export-weights", "w.safetensors", "-o", "out/trained.twb"});
        QCOMPARE(ended.err.count("which is not in its folder: copy the file into this folder"), 2);
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.out.count('\n'), 20);
        QVERIFY(ended.out.startsWith("epoch 1/20  loss "));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("status"), "finished");
        QCOMPARE(report.at("epochs").size(), 20U);
        QCOMPARE(report.at("losses").size(), 120U); // 96 rows in batches of 16
        QVERIFY(report.at("epochs").back().at("accuracy").get<double>() > 0.7);
        QVERIFY(report.at("best").at("metric") == "validation_loss");
        QCOMPARE(report.at("confusion").size(), 3U);
        double right = 0;
        double rows = 0;
        for (std::size_t label = 0; label < 3; ++label)
            for (std::size_t predicted = 0; predicted < 3; ++predicted) {
                const double count = report.at("confusion").at(label).at(predicted).get<double>();
                rows += count;
                if (label == predicted) right += count;
            }
        QCOMPARE(rows, 24.0);
        QCOMPARE(right / rows, report.at("epochs").back().at("accuracy").get<double>());
        const auto& parameter = report.at("epochs").back().at("parameters").at(0);
        QCOMPARE(parameter.at("name"), "w");
        QVERIFY(parameter.at("gradient_norm").get<double>() > 0);
        QCOMPARE(parameter.at("update_ratio").get<double>(),
                 parameter.at("update_norm").get<double>() / parameter.at("weight_norm").get<double>());
        QVERIFY(twb.exists("out/trained.safetensors"));
        QCOMPARE(twb.run({"check", "out/trained.twb"}).exit, 3); // its data stays where it was
        for (const char* name : {"x.npy", "y.npy"})
            QFile::copy(twb.file(name), twb.file(QString("out/") + name));
        QCOMPARE(twb.run({"run", "out/trained.twb", "--quiet"}).exit, 0);
    }

    void aFolderMayHaveAnyName() {
        const Program twb = prepared();
        const QByteArray odd = QFile::encodeName(twb.file("bad")) + "\xff";
        std::filesystem::create_directory(odd.toStdString());
        for (const char* name : {"net.twb", "x.npy", "y.npy"})
            std::filesystem::copy(twb.fsPath(name), (odd + '/' + name).toStdString());
        QProcess process;
        process.setWorkingDirectory(twb.file(""));
        // A shell passes bytes that are no text.
        process.start("sh", {"-c",
                             "a=$(printf 'bad\\377') && exec \"$0\" train \"$a/net.twb\" --loss loss "
                             "--epochs 1 --report r.json -o out.twb --quiet",
                             Program::path()});
        const Ended ended = Program::wait(process);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY(twb.exists("out.twb") && twb.exists("r.json"));
    }

    void gradientsAreMeasuredBeforeClipping() {
        const Program twb = prepared();
        const auto normWith = [&](const QStringList& options) {
            twb.run(training(QStringList{"--epochs", "1", "--report", "r.json"} + options));
            return twb.json("r.json")
                .at("epochs")
                .at(0)
                .at("parameters")
                .at(0)
                .at("gradient_norm")
                .get<double>();
        };
        const double large = normWith({"--clip-value", "1000000"});
        QVERIFY(large > 1e-3);
        QVERIFY(normWith({"--clip-value", "0.000001"}) > 1e-3);
    }

    /// The nodes of the backward pass may have other readers than the optimizer.
    void gradientsMayBeWatched() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--save-graph", "learning.twb"})).exit, 0);
        Graph graph = loadProject(twb.fsPath("learning.twb"));
        const PortRef gradient = gradientOf(graph, graph.findByName("b")->id).value();
        const Training parts = trainingOf(graph).value();
        DeltaBuilder builder(graph, {});
        std::vector<PortRef> watched{gradient};
        for (const NodeId id : parts.nodes)
            if (graph.find(id)->frame == parts.backward && id != gradient.node) watched.push_back({id, 0});
        QVERIFY(watched.size() > 2);
        for (std::size_t i = 0; i < watched.size(); ++i) {
            Node probe;
            probe.op = "Probe";
            probe.name = "watch " + std::to_string(i);
            probe.lane = graph.find(gradient.node)->lane;
            builder.connect({watched[i], {builder.addNode(std::move(probe)), 0}});
        }
        saveProject(builder.graph(), twb.fsPath("learning.twb"));
        const Ended ended =
            twb.run({"train", "learning.twb", "--epochs", "1", "--quiet", "--report", "r.json"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
    }

    void simulatedRanksValidateAllRows() {
        const Program twb = prepared();
        const auto accuracyWith = [&](const QStringList& options) {
            const Ended ended =
                twb.run(training(QStringList{"--epochs", "2", "--report", "r.json"} + options));
            if (ended.exit != 0) qFatal("%s", qPrintable(ended.err));
            const auto report = twb.json("r.json");
            double rows = 0;
            for (const auto& row : report.at("confusion"))
                for (const auto& count : row) rows += count.get<double>();
            return rows;
        };
        QCOMPARE(accuracyWith({}), 24.0);
        QCOMPARE(accuracyWith({"--world", "simulated:4:nvlink"}), 24.0);
        QCOMPARE(accuracyWith({"--world", "simulated:4:nvlink", "--batch", "90"}), 24.0);
    }

    void aResumedTrainingKeepsTheConfusionMatrix() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--epochs", "2", "--checkpoint", "saved", "--report", "a.json"})).exit, 0);
        QCOMPARE(
            twb.run(training({"--epochs", "2", "--checkpoint", "saved", "--resume", "--report", "b.json"}))
                .exit,
            0);
        QCOMPARE(twb.json("b.json").at("confusion"), twb.json("a.json").at("confusion"));
    }

    void theTraceHasAllStepsAndValidations() {
        const Program twb = prepared();
        const QStringList call = training({"--epochs", "3", "--trace", "t.json"});
        const Ended ended = twb.run(call);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        // 96 rows in batches of 16, and 24 for validation: a whole batch and one of 8.
        const RunTrace trace = readRunTrace(twb.fsPath("t.json"));
        QCOMPARE(trace.iterations, 3 * (6 + 2));
        std::map<std::string, std::set<std::uint32_t>> iterations; // by step
        std::map<std::uint32_t, std::int64_t> last;                // by iteration
        for (const StepRecord& record : trace.records) {
            const Step& step = trace.plan->steps[record.step];
            if (step.setup) continue;
            const bool isStep = trace.isOfGraph[record.step];
            iterations[(isStep ? "" : "validation ") + step.label].insert(record.iteration);
            last[record.iteration] = std::max(last[record.iteration], record.endNs);
        }
        QCOMPARE(iterations["loss"].size(), 18U);
        QCOMPARE(iterations["validation loss"].size(), 6U);
        for (std::uint32_t i = 1; i < last.size(); ++i) QVERIFY(last[i] >= last[i - 1]);
        // With the figures of each epoch, its last step has a plan of its own.
        QCOMPARE(twb.run(call + QStringList{"--report", "r.json"}).exit, 0);
        QCOMPARE(readRunTrace(twb.fsPath("t.json")).iterations, trace.iterations);
        QCOMPARE(twb.run(call + QStringList{"--report", "t.json"}).exit, 2);
    }

    void aTrainingThatHasEndedHasNoTrace() {
        const Program twb = prepared();
        const QStringList call = training({"--epochs", "2", "--checkpoint", "saved"});
        QCOMPARE(twb.run(call).exit, 0);
        const Ended ended = twb.run(call + QStringList{"--resume", "--trace", "t.json"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.err.contains("--trace writes no file, because the training has run no step"),
                 qPrintable(ended.err));
        QVERIFY(!twb.exists("t.json"));
    }

    /// A killed training goes on from its last checkpoint, whole, whatever it did at that moment.
    void aKilledTrainingEndsAsIfItHadNotBeen() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--export-weights", "whole.safetensors"})).exit, 0);
        std::mt19937 random(11);
        int kills = 0;
        for (int attempt = 0; attempt < 200 && !twb.exists("pieces.safetensors"); ++attempt) {
            QProcess process;
            process.setWorkingDirectory(QFileInfo(twb.file("net.twb")).path());
            QStringList arguments =
                training({"--checkpoint", "saved", "--every", "1", "--export-weights", "pieces.safetensors"});
            if (twb.exists("saved/checkpoint.json")) arguments << "--resume";
            process.start(Program::path(), arguments);
            QVERIFY(process.waitForStarted());
            const int delay = kills < 20 ? std::uniform_int_distribution(20, 120)(random) : 60000;
            if (process.waitForFinished(delay)) {
                QCOMPARE(process.exitCode(), 0);
                break;
            }
            ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
            process.waitForFinished();
            ++kills;
        }
        QVERIFY2(kills >= 3, qPrintable(QString::number(kills)));
        QCOMPARE(twb.read("pieces.safetensors"), twb.read("whole.safetensors"));
    }

    void ctrlCSavesAndEndsWith130() {
        const Program twb = prepared();
        QProcess process;
        process.setWorkingDirectory(QFileInfo(twb.file("net.twb")).path());
        process.start(Program::path(), {"train", "net.twb", "--loss", "loss", "--epochs", "100000000",
                                        "--checkpoint", "saved", "--report", "r.json"});
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY(twb.exists("saved/checkpoint.json"));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QVERIFY(ended.err.endsWith("net.twb: cancelled; continue with --checkpoint DIR --resume\n"));
        QCOMPARE(twb.json("r.json").at("status"), "cancelled");
        QVERIFY(QDir(twb.file("saved")).entryList({"*.safetensors"}).size() <= 3);
    }

    void wrongUseIsNamed_data() {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("no loss") << QStringList{} << 2
                                 << "the graph has no training module: name the loss node with --loss";
        QTest::newRow("not scalar")
            << QStringList{"--loss", "scores"} << 3
            << "the loss Gemm \"scores\" must be a floating-point scalar, but is f32 16×3";
        QTest::newRow("unknown") << QStringList{"--loss", "los"} << 2 << "--loss";
        QTest::newRow("optimizer")
            << QStringList{"--loss", "loss", "--optimizer", "sdg"} << 2
            << "\"sdg\" is not an optimizer; choose one of sgd, adam, adamw, rmsprop, adagrad, lion";
        QTest::newRow("setting") << QStringList{"--loss", "loss", "--nesterov"} << 2
                                 << "--nesterov: the optimizer adamw (the default) has no such setting";
        QTest::newRow("parameter") << QStringList{"--loss", "loss", "--parameters", "scores"} << 3
                                   << "Gemm \"scores\" cannot be a parameter: it is not a source node";
        QTest::newRow("batch")
            << QStringList{"--loss", "loss", "--batch", "500"} << 3
            << "a batch of 500 rows is larger than the training part of \"x.npy\", which has 96";
        QTest::newRow("validation") << QStringList{"--loss",   "loss",         "--val",
                                                   "none.npy", "--val-labels", "y.npy"}
                                    << 4 << "none.npy";
        QTest::newRow("labels of rows") << QStringList{"--loss", "loss", "--val", "x.npy"} << 2
                                        << "--val x.npy: the labels of these rows are missing; give "
                                           "--val-labels";
        QTest::newRow("rows of labels")
            << QStringList{"--loss", "loss", "--val-labels", "y.npy"} << 2 << "--val-labels requires --val";
        QTest::newRow("patience") << QStringList{"--loss", "loss", "--patience", "0"} << 2 << "--patience";
        QTest::newRow("resume") << QStringList{"--loss", "loss", "--checkpoint", "none", "--resume"} << 4
                                << "none";
        QTest::newRow("full disk") << QStringList{"--loss",           "loss",     "--epochs", "1",
                                                  "--export-weights", "/dev/full"}
                                   << 4 << "/dev/full";
    }
    void wrongUseIsNamed() {
        QFETCH(const QStringList, options);
        QFETCH(const int, exit);
        QFETCH(const QString, sentence);
        const Program twb = prepared();
        const Ended ended = twb.run(QStringList{"train", "net.twb"} + options);
        QVERIFY2(ended.err.contains(sentence), qPrintable(ended.err));
        QCOMPARE(ended.exit, exit);
    }

    /// Data that do not fit, and a parameter that the loss does not depend on.
    void badDataAreNamed_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("label out of range")
            << "label" << 1
            << "SoftmaxCrossEntropyLoss \"loss\": Target 7 is out of bounds: there are 3 classes; set "
               "ignore_index";
        QTest::newRow("no rows") << "no rows" << 3 << "\"x.npy\" has no rows";
        QTest::newRow("a single number") << "number" << 3 << "\"x.npy\" is a single number and has no rows";
        QTest::newRow("a label is missing")
            << "labels" << 3 << "\"x.npy\" has 120 rows, but \"y.npy\" has 119; each row needs its label";
        QTest::newRow("batches of no rows") << "batch" << 3 << "\"batch_size\"";
        QTest::newRow("a parameter that does not reach the loss")
            << "parameter" << 3
            << "the loss SoftmaxCrossEntropyLoss \"loss\" does not depend on the parameter Parameter "
               "\"lonely\"";
    }
    void badDataAreNamed() {
        QFETCH(const QString, change);
        QFETCH(const int, exit);
        QFETCH(const QString, sentence);
        const Program twb = prepared();
        QStringList more;
        const auto replace = [&](const char* file, TensorType type, std::int64_t last = 0) {
            const Tensor tensor = Tensor::onHost(std::move(type));
            if (last) tensor.values<std::int64_t>().back() = last;
            writeNpy(twb.fsPath(file), tensor.view());
        };
        if (change == "label") replace("y.npy", {DType::i64, Shape{120}}, 7);
        if (change == "no rows") replace("x.npy", {DType::f32, Shape{0, 8}});
        if (change == "number") replace("x.npy", {DType::f32, Shape{}});
        if (change == "labels") replace("y.npy", {DType::i64, Shape{119}});
        if (change == "batch") {
            QByteArray project = twb.read("net.twb");
            project.replace("\"batch_size\": 16", "\"batch_size\": 0");
            twb.write("net.twb", project);
        }
        if (change == "parameter") {
            GraphMaker maker = classifier();
            maker.node("Parameter", "lonely", "cpu", {{"shape", Integers{3}}});
            twb.save("net.twb", maker);
            more << "--parameters"
                 << "lonely";
        }
        const Ended ended = twb.run(training(more));
        QVERIFY2(ended.err.contains(sentence), qPrintable(ended.err));
        QCOMPARE(ended.exit, exit);
        QCOMPARE(ended.err.count('\n'), 1);
    }

    void aCheckpointOfAnotherGraphIsNamed() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--checkpoint", "saved"})).exit, 0);
        const QByteArray before = twb.read("saved/checkpoint.json");
        twb.write("net.twb", twb.read("net.twb").replace("[3, 8]", "[4, 8]").replace("[3]", "[4]"));
        Ended ended = twb.run(training({"--checkpoint", "saved", "--resume", "--epochs", "40"}));
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("saved: the checkpoint does not match this graph: "),
                 qPrintable(ended.err));
        QVERIFY2(ended.err.contains("resume with the graph and options of the checkpoint"),
                 qPrintable(ended.err));
        // With another optimizer, there is no state of its own.
        twb.write("net.twb", twb.read("net.twb").replace("[4, 8]", "[3, 8]").replace("[4]", "[3]"));
        ended = twb.run(training({"--checkpoint", "saved", "--resume", "--optimizer", "rmsprop"}));
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains("it has no tensor"), qPrintable(ended.err));
        QCOMPARE(twb.read("saved/checkpoint.json"), before);
    }

    /// A file that cannot be written any further, as on a full disk. The checkpoint before it stays whole.
    void aFullDiskLosesNothing() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--export-weights", "whole.safetensors"})).exit, 0);
        QCOMPARE(twb.run(training({"--checkpoint", "saved", "--epochs", "10"})).exit, 0);
        const QByteArray before = twb.read("saved/checkpoint.json");
        const std::pair<QStringList, QString> files[] = {
            {{"--checkpoint", "saved", "--resume"}, "saved/"},
            {{"--report", "r.json"}, "r.json"},
            {{"-o", "trained.twb"}, "trained.safetensors"},
            {{"--export-weights", "w.safetensors"}, "w.safetensors"}};
        for (const auto& [options, file] : files) {
            QProcess process;
            process.setWorkingDirectory(twb.file(QString()));
            process.setChildProcessModifier([] {
                const rlimit most{100, 100}; // bytes of a file
                setrlimit(RLIMIT_FSIZE, &most);
                std::signal(SIGXFSZ, SIG_IGN);
            });
            process.start(Program::path(), training(options));
            const Ended ended = Program::wait(process);
            QCOMPARE(ended.exit, 4);
            QVERIFY2(ended.err.contains(file), qPrintable(ended.err));
            QVERIFY2(ended.err.contains(" cannot be written: File too large"), qPrintable(ended.err));
        }
        for (const char* name : {"r.json", "trained.twb", "trained.safetensors", "w.safetensors"})
            QVERIFY2(!twb.exists(name), name);
        QCOMPARE(twb.read("saved/checkpoint.json"), before);
        QCOMPARE(
            twb.run(training({"--checkpoint", "saved", "--resume", "--export-weights", "rest.safetensors"}))
                .exit,
            0);
        QCOMPARE(twb.read("rest.safetensors"), twb.read("whole.safetensors"));
    }

    void aDamagedCheckpointIsNamed() {
        const Program twb = prepared();
        QCOMPARE(twb.run(training({"--checkpoint", "saved"})).exit, 0);
        const QString state =
            QString::fromStdString(twb.json("saved/checkpoint.json").at("state").get<std::string>());
        const QByteArray bytes = twb.read("saved/" + state);
        twb.write("saved/" + state, bytes.left(bytes.size() / 2));
        Ended ended = twb.run(training({"--checkpoint", "saved", "--resume"}));
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.contains(state), qPrintable(ended.err));
        twb.write("saved/checkpoint.json", "{\"schema\": ");
        ended = twb.run(training({"--checkpoint", "saved", "--resume"}));
        QCOMPARE(ended.exit, 4);
        QVERIFY(ended.err.contains("checkpoint.json: the checkpoint is damaged"));
    }

    void aLossThatIsNotANumberIsReported() {
        const Program twb = prepared(std::nan(""));
        const Ended ended =
            twb.run({"train", "net.twb", "--loss", "loss", "--epochs", "2", "--report", "r.json"});
        QCOMPARE(ended.exit, 0);
        QVERIFY2(ended.err.contains("warning: the loss is nan in step "), qPrintable(ended.err));
        QCOMPARE(ended.err.count('\n'), 1);
        QVERIFY(twb.json("r.json").at("epochs").back().at("loss").is_null());
    }

    void earlyStoppingEndsTheTraining() {
        const Program twb = prepared();
        const Ended ended = twb.run({"train", "net.twb", "--loss", "loss", "--lr", "0", "--epochs", "50",
                                     "--early-stop", "validation-loss", "--patience", "4"});
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.out.count('\n'), 5);
    }

    void seedsMakeTrainingsDiffer() {
        const Program twb = prepared();
        for (const char* seed : {"1", "2"})
            QCOMPARE(
                twb.run(training({"--seed", seed, "--export-weights", QString("w%1.safetensors").arg(seed)}))
                    .exit,
                0);
        QCOMPARE(twb.run(training({"--seed", "2", "--export-weights", "again.safetensors"})).exit, 0);
        QVERIFY(twb.read("w1.safetensors") != twb.read("w2.safetensors"));
        QCOMPARE(twb.read("again.safetensors"), twb.read("w2.safetensors"));
    }
};

TWB_TEST_MAIN(TestTrain)
#include "test_train.moc"
