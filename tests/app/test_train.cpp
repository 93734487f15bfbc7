#include "app/program.h"
#include "support/test_main.h"

#include <cmath>
#include <csignal>
#include <random>
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
            x.values<float>()[static_cast<std::size_t>(8 * row + column)] =
                normal(random) + (column == row % 3 ? 2.0F : 0.0F);
    }
    for (std::size_t row = 0; row < 60 && std::isnan(bad); ++row) x.values<float>()[8 * row] = std::nanf("");
    writeNpy(twb.fsPath("x.npy"), x.view());
    writeNpy(twb.fsPath("y.npy"), y.view());
    return twb;
}

QStringList training(const QStringList& more = {}) {
    return QStringList{"train", "net.twb", "--loss", "loss", "--lr", "0.01", "--epochs", "30", "--quiet"} +
           more;
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
        QTest::newRow("validation") << QStringList{"--loss", "loss", "--val", "none.npy"} << 4 << "none.npy";
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
