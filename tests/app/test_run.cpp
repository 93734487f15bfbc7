#include "app/program.h"
#include "core/host_memory.h"
#include "formats/npy.h"
#include "support/test_main.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <limits>
#include <set>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

using namespace twb;
using namespace twb::test;

namespace {

nlohmann::json probeOf(const nlohmann::json& report, const std::string& name) {
    for (const auto& probe : report.at("probes"))
        if (probe.at("name") == name) return probe;
    return nullptr;
}

/// The CPU time of a process so far, from /proc.
double cpuSeconds(qint64 process) {
    QFile file(QStringLiteral("/proc/%1/stat").arg(process));
    if (!file.open(QIODevice::ReadOnly)) return 0;
    const QByteArray all = file.readAll(); // the second field, a name in parentheses, may contain spaces
    const QList<QByteArray> fields = all.mid(all.lastIndexOf(')') + 2).split(' ');
    return (fields.value(11).toDouble() + fields.value(12).toDouble()) / double(::sysconf(_SC_CLK_TCK));
}

} // namespace

class TestRun : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFileNamedLikeAnOption() {
        const Program twb;
        twb.save("-odd.twb", smallGraph());
        QCOMPARE(twb.run({"run", "--quiet", "--", "-odd.twb"}).exit, 0);
    }

    /// Inf minus inf is a NaN with a sign on some processors.
    void aProbeWithoutANameIsShownByItsOp() {
        const Program twb;
        GraphMaker maker;
        const NodeId x = maker.node(
            "Full", "x", "cpu", {{"shape", Integers{1}}, {"value", std::numeric_limits<double>::infinity()}});
        maker.node("Probe", "", "cpu", {}, {maker.node("Sub", "difference", "cpu", {}, {x, x})});
        twb.save("g.twb", maker);
        const Ended ended = twb.run({"run", "g.twb", "--report", "r.json"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY2(ended.out.contains("\n  Probe  nan  f32 1\n"), qPrintable(ended.out));
        QCOMPARE(twb.json("r.json").at("probes").at(0).at("name"), "Probe");
    }

    /// The sizes of one iteration were once counted for another one.
    void copiesOfVaryingSizeAreCountedExactly() {
        const Program twb;
        std::vector<float> rows(200);
        rows[0] = 1;
        std::fill(rows.begin() + 100, rows.end(), 1.0F);
        Tensor data = Tensor::onHost({DType::f32, Shape{2, 100}});
        std::copy(rows.begin(), rows.end(), data.values<float>().begin());
        writeNpy(twb.fsPath("data.npy"), data.view());
        GraphMaker g;
        const NodeId batches =
            g.node("Batches", "data", "cpu",
                   {{"path", std::string("data.npy")}, {"batch_size", std::int64_t{1}}, {"shuffle", false}});
        const NodeId where = g.node("NonZero", "where", "cpu", {}, {batches});
        g.node("Probe", "seen", "cuda:0", {}, {g.node("To", "there", "cuda:0", {}, {where})});
        twb.save("a.twb", g);
        const Ended ended = twb.run({"run", "a.twb", "--iterations", "4", "--report", "r.json"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(twb.json("r.json").at("transfers").at(0).at("bytes"), 2 * (1 + 100) * 2 * 8);
    }

    void aRunEndsWithATable() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"run", "a.twb"});
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.err, "");
        QVERIFY(ended.out.startsWith("a.twb: finished, 1 iteration, "));
        QVERIFY(ended.out.contains("(measured)"));
        QVERIFY(!ended.out.contains("modelled"));
        QVERIFY(ended.out.contains("min 6  max 6  mean 6"));
        QVERIFY(!ended.out.contains('\x1b'));
    }

    void quietPrintsNothing() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"run", "a.twb", "--quiet"});
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.out + ended.err, "");
    }

    void reportSeparatesModelledFromMeasured() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended ended = twb.run({"run", "a.twb", "--iterations", "3", "--report", "r.json"});
        QCOMPARE(ended.exit, 0);
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("schema"), 1);
        QCOMPARE(report.at("status"), "finished");
        QCOMPARE(report.at("iterations"), 3);
        QCOMPARE(report.at("clock"), "modelled");
        for (const auto& step : report.at("steps"))
            if (step.at("device") == "cuda:0") QCOMPARE(step.at("modelled"), true);
        QCOMPARE(report.at("transfers").size(), 2U);
        for (const auto& transfer : report.at("transfers")) {
            QCOMPARE(transfer.at("modelled"), true);
            QCOMPARE(transfer.at("bytes").get<int>(), transfer.at("count").get<int>() * 16);
        }
        QCOMPARE(probeOf(report, "seen").at("mean"), 6.0);
        for (const QString& line : ended.out.split('\n'))
            if (line.contains("→")) QVERIFY2(line.contains("modelled"), qPrintable(line));
    }

    void tf32IsRequestedAndReported() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended plain = twb.run({"run", "a.twb", "--report", "plain.json"});
        QCOMPARE(plain.exit, 0);
        QVERIFY(!plain.out.contains("TF32"));
        QCOMPARE(twb.json("plain.json").at("allow_tf32"), nlohmann::json(false));
        const Ended allowed = twb.run({"run", "a.twb", "--allow-tf32", "--report", "allowed.json"});
        QCOMPARE(allowed.exit, 0);
        QVERIFY(allowed.out.contains("TF32 allowed"));
        QVERIFY2(allowed.err.contains("--allow-tf32 has no effect: no step of this run is on a real GPU"),
                 qPrintable(allowed.err));
        QCOMPARE(twb.json("allowed.json").at("allow_tf32"), nlohmann::json(true));
    }

    void aSimulatedGpuHasNoCudaGraphs() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        for (const QStringList& more : {QStringList(), QStringList("--no-cuda-graphs")}) {
            const Ended ended =
                twb.run(QStringList{"run", "a.twb", "--iterations", "20", "--report", "r.json"} + more);
            QCOMPARE(ended.exit, 0);
            QVERIFY(!ended.out.contains("CUDA graph"));
            QVERIFY(!twb.json("r.json").contains("cuda_graphs"));
        }
    }

    void mismatchedGraphsDoNotRun() {
        const Program twb;
        twb.save("a.twb", crossingGraph(false));
        const Ended ended = twb.run({"run", "a.twb"});
        QCOMPARE(ended.exit, 3);
        QCOMPARE(ended.out, "");
        QVERIFY(ended.err.startsWith("error[device-mismatch]: Expected all tensors"));
        QCOMPARE(twb.run({"run", "a.twb", "--policy", "implicit", "--quiet"}).exit, 0);
    }

    void traceOpensInAViewer() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        QCOMPARE(twb.run({"run", "a.twb", "--iterations", "20", "--trace", "t.json"}).exit, 0);
        const auto trace = twb.json("t.json");
        std::map<std::pair<int, int>, double> end;
        std::map<std::string, int> phases;
        for (const auto& event : trace.at("traceEvents")) {
            ++phases[event.at("ph")];
            if (event.at("ph") != "X") continue;
            const std::pair<int, int> track{event.at("pid"), event.at("tid")};
            const double start = event.at("ts");
            QVERIFY2(start >= end[track] - 1e-6, "slices of one track overlap");
            end[track] = start + event.at("dur").get<double>();
        }
        QVERIFY(phases["X"] >= 60); // two copies and the Mul, 20 times
        QVERIFY(phases["s"] >= 20);
        QCOMPARE(phases["s"], phases["f"]);
        QCOMPARE(phases["s"], phases["t"]);
        QVERIFY(phases["C"] > 0);
    }

    void hostileNamesStayText() {
        const Program twb;
        const std::string name = "\"a\"\n\x1b[31m\\ 🚀 \u202e";
        GraphMaker maker;
        const NodeId base = maker.node("Full", name, "cpu", {{"shape", Integers{1}}, {"value", 7.0}});
        const NodeId moved = maker.node("To", name, "cuda:0", {}, {base});
        maker.node("Probe", name, "cuda:0", {}, {moved});
        twb.save("a.twb", maker);
        const Ended ended = twb.run({"run", "a.twb", "--report", "r.json", "--trace", "t.json"});
        QCOMPARE(ended.exit, 0);
        QVERIFY(!ended.out.contains('\x1b'));
        QVERIFY(!ended.out.contains(QChar(0x202e)));
        QCOMPARE(probeOf(twb.json("r.json"), name).at("value"), 7.0);
        const auto trace = twb.json("t.json");
        QVERIFY(std::any_of(trace.at("traceEvents").begin(), trace.at("traceEvents").end(),
                            [&](const auto& event) { return event.at("name") == name; }));
    }

    void settings_data() {
        QTest::addColumn<QStringList>("sets");
        QTest::addColumn<double>("mean");
        QTest::addColumn<int>("elements");
        QTest::newRow("number") << QStringList{"base.value=5"} << 10.0 << 4;
        QTest::newRow("later wins") << QStringList{"base.value=5", "base.value=0.5"} << 1.0 << 4;
        QTest::newRow("shape in brackets") << QStringList{"base.shape=[3, 2]"} << 6.0 << 6;
        QTest::newRow("shape without") << QStringList{"base.shape=3,2"} << 6.0 << 6;
        QTest::newRow("scalar shape") << QStringList{"base.shape=[]"} << 6.0 << 1;
        QTest::newRow("list") << QStringList{"factor.value=[1,3]"} << 6.0 << 4;
        QTest::newRow("dtype") << QStringList{"base.dtype=float64", "factor.dtype=f64"} << 6.0 << 4;
        QTest::newRow("exponent") << QStringList{"base.value=+1e2"} << 200.0 << 4;
    }
    void settings() {
        QFETCH(QStringList, sets);
        const Program twb;
        twb.save("a.twb", smallGraph());
        QStringList arguments{"run", "a.twb", "--quiet", "--report", "r.json"};
        for (const QString& set : sets) arguments << "--set" << set;
        const Ended ended = twb.run(arguments);
        QCOMPARE(ended.err, "");
        QCOMPARE(ended.exit, 0);
        const auto seen = probeOf(twb.json("r.json"), "seen");
        QTEST(seen.at("elements").get<int>(), "elements");
        QTEST((seen.contains("mean") ? seen.at("mean") : seen.at("value")).get<double>(), "mean");
    }

    void integersKeepAllDigits() {
        const Program twb;
        GraphMaker maker;
        const NodeId c = maker.node("Constant", "c", "cpu", {{"dtype", std::string("i64")}, {"value", 1.0}});
        maker.node("Probe", "seen", "cpu", {}, {c});
        twb.save("a.twb", maker);
        const Ended ended = twb.run({"run", "a.twb", "--quiet", "--set", "c.value=[9007199254740993, -3]",
                                     "--output", "seen=out.npy"});
        QCOMPARE(ended.err, "");
        QCOMPARE(readNpy(twb.file("out.npy").toStdString()).toIntegers(),
                 (std::vector<std::int64_t>{9007199254740993, -3}));
    }

    void wrongSettings_data() {
        QTest::addColumn<QString>("set");
        QTest::addColumn<QString>("says");
        QTest::newRow("no value") << "base.value"
                                  << "must have the form node.attribute=value";
        QTest::newRow("no attribute") << "base=3"
                                      << "must have the form node.attribute=value";
        QTest::newRow("unknown node") << "bass.value=3"
                                      << "did you mean \"base\"?";
        QTest::newRow("unknown attribute") << "base.valu=3"
                                           << "did you mean \"value\"?";
        QTest::newRow("not a number")
            << "base.value=three"
            << "the attribute \"value\" must be a number, but the value is \"three\"";
        QTest::newRow("not an integer")
            << "base.shape=[2, 1.5]"
            << "the attribute \"shape\" must be a list of integers, but the value is \"[2, 1.5]\"";
        QTest::newRow("too large") << "base.shape=99999999999999999999"
                                   << "must be a list of integers, but the value is \"9999";
        QTest::newRow("out of range") << "base.shape=-4"
                                      << "Full \"base\"";
        QTest::newRow("not a dtype")
            << "base.dtype=f33"
            << "the attribute \"dtype\" must be a dtype, but the value is \"f33\"; did you mean";
        QTest::newRow("not a device") << "base.device=gpu"
                                      << "is not a device";
    }
    void wrongSettings() {
        QFETCH(QString, set);
        QFETCH(QString, says);
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"run", "a.twb", "--set", set});
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.contains(says), qPrintable(ended.err));
        QVERIFY2(ended.err.startsWith("twb: --set "), qPrintable(ended.err));
        QVERIFY2(ended.err.contains(set.section('=', 0, 0)), qPrintable(ended.err));
        QCOMPARE(ended.out, "");
    }

    void aNodeCanBeMoved() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        QStringList moved{"run", "a.twb", "--quiet", "--report", "r.json"};
        for (const char* node : {"there", "factor", "scaled"})
            moved << "--set" << QString(node) + ".device=cpu";
        QCOMPARE(twb.run(moved).exit, 0);
        const auto report = twb.json("r.json");
        QVERIFY(report.at("transfers").empty());
        QCOMPARE(probeOf(report, "seen").at("mean"), 6.0);
    }

    void namesWithDots() {
        const Program twb;
        GraphMaker maker;
        const NodeId weight =
            maker.node("Full", "fc1.weight", "cpu", {{"shape", Integers{}}, {"value", 1.0}});
        maker.node("Probe", "p", "cpu", {}, {weight});
        twb.save("a.twb", maker);
        QCOMPARE(twb.run({"run", "a.twb", "--set", "fc1.weight.value=2.5", "--report", "r.json"}).exit, 0);
        QCOMPARE(probeOf(twb.json("r.json"), "p").at("value"), 2.5);
    }
    void theDeviceMapDecidesTheTimes() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        std::map<QString, double> predicted;
        for (const QString profile : {"h200", "t4"}) {
            QCOMPARE(twb.run({"run", "a.twb", "--device-map", "cuda:0=simulated:" + profile, "--set",
                              "base.shape=[1000,1000]", "--set", "factor.shape=[1000,1000]", "--report",
                              "r.json", "--quiet"})
                         .exit,
                     0);
            const auto report = twb.json("r.json");
            predicted[profile] = report.at("transfers").at(0).at("predicted_ms");
            QVERIFY(report.at("devices").at(1).at("name").get<std::string>().find("simulated") !=
                    std::string::npos);
        }
        QVERIFY(predicted["t4"] > predicted["h200"]);
    }

    void aFailingStepFailsTheRun() {
        const Program twb;
        GraphMaker maker;
        const NodeId zeros = maker.node("Zeros", "huge", "cuda:0", {{"shape", Integers{1 << 20, 1 << 19}}});
        const NodeId relu = maker.node("Relu", "r", "cuda:0", {}, {zeros});
        maker.node("Probe", "p", "cuda:0", {}, {relu});
        const NodeId small = maker.node("Ones", "small", "cpu", {{"shape", Integers{1}}});
        maker.node("Probe", "q", "cpu", {}, {small});
        twb.save("a.twb", maker); // 2 TB on a device of 141 GB
        const Ended ended = twb.run({"run", "a.twb", "--output", "small=o.npy"});
        QVERIFY2(ended.exit == 1 || ended.exit == 3, qPrintable(ended.out + ended.err));
        QVERIFY(ended.err.contains("huge"));
        QVERIFY(!twb.exists("o.npy"));
    }

    /// Once, a simulated device of 141 GB took all of the machine's memory until the system killed the
    /// program.
    void simulatedMemoryMustFitIntoThisMachine() {
        const std::int64_t elements = static_cast<std::int64_t>(systemMemoryBytes()) / 4 / 10 * 11;
        if (elements * 4 > 141'000'000'000) QSKIP("this machine holds all that the simulated device does");
        const Program twb;
        GraphMaker maker;
        const NodeId a = maker.node("RandomNormal", "a", "cuda:0", {{"shape", Integers{elements}}});
        maker.node("Probe", "p", "cuda:0", {}, {a});
        twb.save("a.twb", maker);
        const Ended ended = twb.run({"run", "a.twb", "--quiet"});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.err.contains("cuda:0 is out of memory: ") && ended.err.contains(" requested, ") &&
                     ended.err.contains(" free in the host's memory, which holds the simulated tensors"),
                 qPrintable(ended.err));
    }

    void ctrlCLeavesOutputsIntact_data() {
        QTest::addColumn<int>("signal");
        QTest::newRow("SIGINT") << SIGINT;
        QTest::newRow("SIGTERM") << SIGTERM;
    }
    void ctrlCLeavesOutputsIntact() {
        QFETCH(int, signal);
        const Program twb;
        const GraphMaker maker = longGraph();
        twb.save("a.twb", maker);
        twb.write("o.npy", "what was here before");
        QProcess process;
        process.setWorkingDirectory(twb.file(""));
        process.start(Program::path(), {"run", "a.twb", "--iterations", "1000000000", "--output", "b=o.npy",
                                        "--report", "r.json"});
        QVERIFY(process.waitForStarted());
        // After that much CPU time, well beyond the start-up, some iterations have ended.
        QTRY_VERIFY_WITH_TIMEOUT(cpuSeconds(process.processId()) > 2, 120000);
        QCOMPARE(process.state(), QProcess::Running);
        ::kill(static_cast<pid_t>(process.processId()), signal);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QCOMPARE(twb.read("o.npy"), "what was here before");
        QVERIFY(ended.err.contains("cancelled"));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("status"), "cancelled");
        QVERIFY(report.at("iterations") > 0);
        const QStringList left = QDir(twb.file("")).entryList(QDir::Files | QDir::Hidden);
        QCOMPARE(left, (QStringList{"a.twb", "o.npy", "r.json"}));
    }

    /// Once, the program printed nothing while a long kernel ran.
    void ctrlCNamesTheStepItWaitsFor() {
        const Program twb;
        GraphMaker maker;
        const NodeId one = maker.node("Ones", "one", "cpu", {{"shape", Integers{1}}});
        maker.node("Save", "sign of life", "cpu", {{"path", std::string("alive.npy")}}, {one});
        const NodeId a =
            maker.node("Full", "a", "cpu",
                       {{"shape", Integers{6000, 6000}}, {"value", 1.0}, {"dtype", std::string("f64")}});
        const NodeId b = maker.node("MatMul", "long one", "cpu", {}, {a, a}); // seconds
        maker.node("Probe", "seen", "cpu", {}, {b});
        twb.save("a.twb", maker);
        twb.write("o.npy", "what was here before");
        QProcess process;
        process.setWorkingDirectory(twb.file(""));
        process.start(Program::path(), {"run", "a.twb", "--output", "a=o.npy"});
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(twb.exists("alive.npy"), 60000); // only then does the product start
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        process.setReadChannel(QProcess::StandardError);
        QVERIFY(process.waitForReadyRead());
        QCOMPARE(process.state(), QProcess::Running);
        QCOMPARE(process.readAllStandardError(), "twb: cancelling, waiting for the step \"long one\" to end; "
                                                 "press Ctrl-C again to stop immediately\n");
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QCOMPARE(Program::wait(process).exit, 130);
        QCOMPARE(twb.read("o.npy"), "what was here before");
    }
    void failOnNanStopsAtTheFirstNan() {
        const Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cuda:0", {{"shape", Integers{3}}, {"value", -2.0}});
        const NodeId root = maker.node("Sqrt", "root", "cuda:0", {}, {x});
        const NodeId after = maker.node("Neg", "after", "cuda:0", {}, {root});
        maker.node("Probe", "seen", "cuda:0", {}, {after});
        twb.save("nan.twb", maker);
        QCOMPARE(twb.run({"run", "nan.twb", "--quiet"}).exit, 0);
        const Ended ended = twb.run(
            {"run", "nan.twb", "--iterations", "5", "--quiet", "--fail-on-nan", "--report", "r.json"});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.err.startsWith("twb: Sqrt \"root\": its output has 3 NaN, 0 inf in iteration 1; "),
                 qPrintable(ended.err));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("status"), "failed");
        QCOMPARE(report.at("errors").size(), std::size_t(1));
        QCOMPARE(twb.run({"run", "nan.twb", "--set", "x.value=2", "--quiet", "--fail-on-nan"}).exit, 0);
    }
};

TWB_TEST_MAIN(TestRun)
#include "test_run.moc"
