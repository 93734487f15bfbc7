#include "app/program.h"
#include "support/json_schema.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <csignal>

using namespace twb;
using namespace twb::test;

namespace {

const QString kExamples = QStringLiteral(TWB_SOURCE_DIR "/resources/examples/");

/// x of `rows` × 16 times a weight, plus a bias, in a project with its weights.
void saveNet(const Program& twb, std::int64_t rows = 4) {
    Dice dice(2);
    GraphMaker g;
    const NodeId x = g.node("Input", "x", "cpu", {{"shape", Integers{rows, 16}}});
    const NodeId w = g.node("File", "w", "cpu", {{"path", std::string("w.npy")}});
    const NodeId b = g.node("File", "b", "cpu", {{"path", std::string("b.npy")}});
    g.node("Gemm", "y", "cpu", {}, {x, w, b});
    twb.save(QStringLiteral("net.twb"), g);
    writeNpy(twb.fsPath("w.npy"), dice.tensor(DType::f32, {16, 10}, -1, 1).view());
    writeNpy(twb.fsPath("b.npy"), dice.tensor(DType::f32, {10}, -1, 1).view());
    twb.write(QStringLiteral("samples/README"), "ignored");
    writeNpy(twb.fsPath("x.npy"), dice.tensor(DType::f32, {rows, 16}, -2, 2).view());
    writeNpy(twb.fsPath("samples/x.npy"), dice.tensor(DType::f32, {6 * rows, 16}, -2, 2).view());
}

} // namespace

class TestQuantize : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aNetworkIsConverted() {
        const Program twb;
        saveNet(twb);
        for (const auto& [to, dtype, most] : {std::tuple{"int8", "i8", 0.02}, {"bf16", "bf16", 0.01}}) {
            const Ended ended = twb.run({"quantize", "net.twb", "-o", "low.twb", "--force", "--calibrate",
                                         "samples", "--to", to, "--report", "r.json"});
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            QVERIFY2(ended.out.contains(QStringLiteral("1 product in ") + to), qPrintable(ended.out));
            QVERIFY2(ended.out.contains("6 samples"), qPrintable(ended.out));
            const nlohmann::json report = twb.json("r.json");
            QCOMPARE(report.at("products"), 1);
            QCOMPARE(report.at("samples"), 6);
            const nlohmann::json& y = report.at("outputs").at(0);
            QCOMPARE(y.at("name"), "y");
            QVERIFY(y.at("relative_error") > 0 && y.at("relative_error") < most);
            QVERIFY(report.at("weight_bytes_after") < report.at("weight_bytes_before"));
            const Schema schema(nlohmann::json::parse(readFile(
                                    TWB_SOURCE_DIR "/resources/schema/quantize.schema.json", 1 << 20)),
                                true);
            QCOMPARE(schema.problem(report), std::string());
            nlohmann::json broken = report;
            broken["to"] = "i4";
            QVERIFY(!schema.problem(broken).empty());
            // The converted project runs, with its weights beside it, and gives nearly the same.
            QVERIFY(twb.read("low.twb").contains(dtype) || twb.exists("low.safetensors"));
            for (const char* project : {"net", "low"})
                QCOMPARE(twb.run({"run", QStringLiteral("%1.twb").arg(project), "--quiet", "--input",
                                  "x=x.npy", "--output", QStringLiteral("y=%1.npy").arg(project)})
                             .exit,
                         0);
            const std::vector<double> expected = twb.tensor("net.npy");
            const std::vector<double> got = twb.tensor("low.npy");
            for (std::size_t i = 0; i < expected.size(); ++i) QVERIFY(std::abs(expected[i] - got[i]) < 0.5);
            QCOMPARE(twb.run({"check", "low.twb"}).exit, 0);
        }
        QCOMPARE(twb.run({"quantize", "net.twb", "--calibrate", "samples", "--quiet"}).out, QString());
        const Ended clipped = twb.run(
            {"quantize", "net.twb", "--calibrate", "samples", "--percentile", "99.9", "--report", "r.json"});
        QVERIFY2(clipped.exit == 0, qPrintable(clipped.err));
        QCOMPARE(twb.json("r.json").at("percentile"), 99.9);
        QCOMPARE(twb.json("r.json").at("keep_first_last"), false);
    }

    /// The test images, of which PyTorch's f32 network recognises 91 %.
    void digitsAreRecognisedAsBefore() {
        const Program twb;
        QDir().mkpath(twb.file("digits"));
        for (const QString& name : QDir(kExamples + "digits").entryList(QDir::Files))
            QVERIFY(QFile::copy(kExamples + "digits/" + name, twb.file("digits/" + name)));
        QVERIFY(QFile::copy(kExamples + "digits.twb", twb.file("digits.twb")));
        for (const char* to : {"int8", "bf16"}) {
            const Ended ended = twb.run({"quantize", "digits.twb", "--to", to, "--report", "r.json"});
            QVERIFY2(ended.exit == 0, qPrintable(ended.err));
            const nlohmann::json report = twb.json("r.json");
            QCOMPARE(report.at("samples"), 1);
            QCOMPARE(report.at("products"), 2);
            QCOMPARE(report.at("modelled"), true); // its lane cuda:0 is simulated
            const nlohmann::json& accuracy = report.at("outputs").at(0);
            QCOMPARE(accuracy.at("name"), "accuracy");
            QVERIFY(accuracy.at("value_before") > 0.9);
            QVERIFY2(std::abs(accuracy.at("value_before").get<double>() -
                              accuracy.at("value_after").get<double>()) < 0.006, // two of 360 images
                     accuracy.dump().c_str());
        }
    }

    void refusalsAreSentences_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const QStringList& arguments, int exit, const char* words) {
            QTest::newRow(name) << arguments << exit << words;
        };
        row("no data", {"net.twb"}, 2, "there is no calibration data for the graph (its Input: \"x\")");
        row("empty folder", {"net.twb", "--calibrate", "empty"}, 2, "has no samples");
        row("no folder", {"net.twb", "--calibrate", "none"}, 4, "none");
        row("other names", {"net.twb", "--calibrate", "wrong"}, 2, "no input \"z\"");
        row("other shape", {"net.twb", "--calibrate", "shape"}, 2, "save it with that shape");
        row("other dtype", {"net.twb", "--calibrate", "samples", "--to", "i4"}, 2, "i4");
        row("percentile", {"net.twb", "--calibrate", "samples", "--percentile", "40"}, 2, "--percentile");
        row("for int8", {"net.twb", "--calibrate", "samples", "--to", "bf16", "--keep-first-last"}, 2,
            "are for int8");
        row("only ends", {"net.twb", "--calibrate", "samples", "--keep-first-last"}, 1,
            "besides the first and the last, which --keep-first-last keeps");
        row("no file", {"none.twb"}, 4, "none.twb");
        row("its own file", {"net.twb", "-o", "net.twb", "--calibrate", "samples"}, 2, "net.twb");
        row("report over the project", {"net.twb", "--report", "net.twb", "--calibrate", "samples"}, 2,
            "net.twb");
        row("nothing to convert", {"plain.twb"}, 1, "nothing to convert");
        row("a graph with an error", {"wrong.twb"}, 3, "has 1 error");
        row("a missing device", {"net.twb", "--calibrate", "samples", "--device-map", "cuda:0=real"}, 5,
            "cuda");
    }
    void refusalsAreSentences() {
        QFETCH(const QStringList, arguments);
        QFETCH(const int, exit);
        QFETCH(const QString, words);
        const Program twb;
        saveNet(twb);
        twb.save(QStringLiteral("plain.twb"), smallGraph());
        twb.save(QStringLiteral("wrong.twb"), crossingGraph(false));
        QDir().mkpath(twb.file("empty"));
        QDir().mkpath(twb.file("wrong"));
        QDir().mkpath(twb.file("shape"));
        twb.saveTensor<float>("shape/x.npy", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
        twb.saveTensor<float>("wrong/z.npy", {1}, {1});
        QVERIFY(QFile::copy(twb.file("samples/x.npy"), twb.file("wrong/x.npy")));
        const QByteArray before = twb.read("net.twb");
        const Ended ended = twb.run(QStringList{"quantize"} + arguments);
        QVERIFY2(ended.exit == exit, qPrintable(QString::number(ended.exit) + ended.err));
        QVERIFY2(ended.err.contains(words), qPrintable(ended.err));
        QCOMPARE(twb.read("net.twb"), before);
    }

    void ctrlCLeavesNoFile() {
        const Program twb;
        saveNet(twb, 4096);
        QProcess process;
        process.setWorkingDirectory(QFileInfo(twb.file("net.twb")).path());
        process.start(Program::path(), {"quantize", "net.twb", "-o", "low.twb", "--calibrate", "samples"});
        QVERIFY(process.waitForStarted());
        QVERIFY(Program::handlesInterrupts(process));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QCOMPARE(Program::wait(process).exit, 130);
        QVERIFY(!twb.exists("low.twb") && !twb.exists("low.safetensors"));
    }
};

TWB_TEST_MAIN(TestQuantize)
#include "test_quantize.moc"
