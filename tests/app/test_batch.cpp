#include "app/program.h"
#include "profile/run_trace.h"
#include "support/test_main.h"

#include <QRegularExpression>

#include <csignal>
#include <set>
#include <sys/types.h>

using namespace twb;
using namespace twb::test;

namespace {

/// The first child of a process; 0 if it has none.
qlonglong childOf(const QProcess& process) {
    QFile list(QString("/proc/%1/task/%1/children").arg(process.processId()));
    return list.open(QIODevice::ReadOnly) ? list.readAll().split(' ').value(0).toLongLong() : 0;
}

/// Whether this kernel lists child processes.
bool listsChildren() { return QFile::exists("/proc/thread-self/children"); }

/// Starts a batch with 20,000 iterations per run and its reports in the folder out.
void startBatch(QProcess& process, const Program& twb, const QStringList& projects) {
    process.setWorkingDirectory(twb.file(""));
    process.start(Program::path(),
                  QStringList("batch") + projects + QStringList{"--iterations", "20000", "--report", "out"});
    QVERIFY(process.waitForStarted());
}

} // namespace

class TestBatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aSweepRunsEveryCombination() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"batch", "a.twb", "--set", "base.value=1,2,3", "--set",
                                     "base.shape=[2,3],[1]", "--report", "out", "--jobs", "2"});
        QCOMPARE(ended.exit, 0);
        const auto summary = twb.json("out/summary.json");
        QCOMPARE(summary.at("schema"), 1);
        QCOMPARE(summary.at("count"), 6);
        QCOMPARE(summary.at("failed"), 0);
        std::set<std::string> names;
        for (const auto& run : summary.at("runs")) {
            names.insert(run.at("name"));
            const auto report = twb.json("out/" + QString::fromStdString(run.at("report")));
            QCOMPARE(report.at("status"), "finished");
            QCOMPARE(report.at("batch").at("set"), run.at("set"));
            const double wanted = 2 * std::stod(run.at("set").at("base.value").get<std::string>());
            const auto& probe = report.at("probes").at(0);
            QCOMPARE((probe.contains("mean") ? probe.at("mean") : probe.at("value")).get<double>(), wanted);
        }
        QCOMPARE(names.size(), 6U);
        QVERIFY(names.contains("a__base.value=1__base.shape=2x3"));
        QVERIFY(ended.out.contains("6 runs: 6 finished now, 0 finished earlier, 0 failed"));
        QCOMPARE(twb.read("out/summary.csv").count("\r\n"), 7);
        QVERIFY(twb.read("out/summary.csv").contains("\"[2,3]\""));
        for (const QString& left : QDir(twb.file("out")).entryList(QDir::Files))
            QVERIFY2(left.endsWith(".json") || left.endsWith(".csv"), qPrintable(left));
    }

    void eachRunHasItsTrace() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        QStringList call{"batch", "a.twb", "--set", "base.value=1,2", "--report", "out"};
        QCOMPARE(twb.run(call).exit, 0);
        QVERIFY(!twb.exists("out/traces"));
        // Runs without a trace run again, runs with one do not.
        call << "--trace"
             << "--iterations"
             << "3";
        QVERIFY(twb.run(call).out.contains("2 runs: 2 finished now"));
        for (const char* name : {"a__base.value=1", "a__base.value=2"})
            QCOMPARE(readRunTrace(twb.fsPath(QStringLiteral("out/traces/%1.json").arg(name))).iterations, 3);
        QVERIFY(QFile::remove(twb.file("out/traces/a__base.value=2.json")));
        QVERIFY(twb.run(call).out.contains("2 runs: 1 finished now, 1 finished earlier"));
        QVERIFY(twb.exists("out/traces/a__base.value=2.json"));
        const Ended alone = twb.run({"batch", "a.twb", "--trace"});
        QCOMPARE(alone.exit, 2);
        QVERIFY2(alone.err.contains("--report"), qPrintable(alone.err));
    }

    void filesNamedLikeOptions() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        twb.save("-odd.twb", smallGraph());
        const Ended ended = twb.run({"batch", "a.twb", "--report", "out", "--", "-odd.twb"});
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.out.contains("2 runs: 2 finished now, 0 finished earlier, 0 failed"));
    }

    void oneFailureLeavesTheOthers() {
        const Program twb;
        twb.save("graphs/bad.twb", crossingGraph(false));
        twb.save("graphs/deeper/good.twb", smallGraph());
        twb.save("graphs/good.twb", smallGraph());
        twb.write("graphs/broken.twb", "{");
        twb.write("graphs/readme.txt", "no graph");
        const Ended ended = twb.run({"batch", "graphs", "--report", "out"});
        QCOMPARE(ended.exit, 4); // the worst of 3 and 4
        const auto summary = twb.json("out/summary.json");
        QCOMPARE(summary.at("count"), 4);
        QCOMPARE(summary.at("failed"), 2);
        std::map<std::string, int> exits;
        for (const auto& run : summary.at("runs")) exits[run.at("name")] = run.at("exit");
        QCOMPARE(exits["bad"], 3);
        QCOMPARE(exits["broken"], 4);
        QCOMPARE(exits["good"], 0);
        QVERIFY(twb.exists("out/good.json"));
        QCOMPARE(twb.json("out/bad.json").at("status"), "failed");
        QVERIFY(ended.err.contains("bad: failed: graphs/bad.twb: not run"));
        QVERIFY(QFile::exists(twb.file("out/bad.log")));
    }

    void finishedRunsAreSkipped() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        twb.save("b.twb", crossingGraph(false));
        const QStringList call{"batch", "a.twb", "b.twb", "--report", "out", "--set", "base.value=1,2"};
        QCOMPARE(twb.run(call).exit, 3);
        const QByteArray before = twb.read("out/a__base.value=1.json");

        Ended again = twb.run(call);
        QCOMPARE(again.exit, 3);
        QCOMPARE(again.err.count("finished earlier, skipped"), 2);
        QVERIFY(again.out.contains("4 runs: 0 finished now, 2 finished earlier, 2 failed"));
        QCOMPARE(twb.read("out/a__base.value=1.json"), before);

        // A run with another value, another option or another graph counts as a new run.
        again = twb.run({"batch", "a.twb", "--report", "out", "--set", "base.value=2,3"});
        QVERIFY(again.out.contains("2 runs: 1 finished now, 1 finished earlier, 0 failed"));
        again =
            twb.run({"batch", "a.twb", "--report", "out", "--set", "base.value=2,3", "--iterations", "2"});
        QVERIFY(again.out.contains("2 runs: 2 finished now, 0 finished earlier, 0 failed"));
        GraphMaker changed = smallGraph();
        changed.node("Zeros", "more");
        twb.save("a.twb", changed);
        again = twb.run({"batch", "a.twb", "--report", "out", "--set", "base.value=2,3"});
        QVERIFY(again.out.contains("2 runs: 2 finished now, 0 finished earlier, 0 failed"));

        // A truncated report does not count as a finished run.
        twb.write("out/a__base.value=2.json", before.left(before.size() / 2));
        again = twb.run({"batch", "a.twb", "--report", "out", "--set", "base.value=2,3"});
        QVERIFY(again.out.contains("2 runs: 1 finished now, 1 finished earlier, 0 failed"));
    }

    void changedDataIsRunAgain() {
        const Program twb;
        twb.saveTensor<float>("in.npy", {2}, {1, 2});
        GraphMaker maker;
        const NodeId file = maker.node("File", "f", "cpu", {{"path", std::string("in.npy")}});
        maker.node("Probe", "p", "cpu", {}, {file});
        twb.save("a.twb", maker);
        QCOMPARE(twb.run({"batch", "a.twb", "--report", "out"}).exit, 0);
        QVERIFY(twb.run({"batch", "a.twb", "--report", "out"})
                    .out.contains("0 finished now, 1 finished earlier"));
        twb.saveTensor<float>("in.npy", {3}, {1, 2, 3});
        QVERIFY(twb.run({"batch", "a.twb", "--report", "out"})
                    .out.contains("1 finished now, 0 finished earlier"));
        QCOMPARE(twb.json("out/a.json").at("probes").at(0).at("mean"), 2.0);

        // The data of Batches count, too.
        GraphMaker learns;
        const NodeId rows = learns.node("Batches", "rows", "cpu",
                                        {{"path", std::string("in.npy")}, {"batch_size", std::int64_t{3}}});
        learns.node("Probe", "p", "cpu", {}, {rows});
        twb.save("b.twb", learns);
        QCOMPARE(twb.run({"batch", "b.twb", "--report", "out"}).exit, 0);
        twb.saveTensor<float>("in.npy", {3}, {4, 5, 6});
        QVERIFY(twb.run({"batch", "b.twb", "--report", "out"})
                    .out.contains("1 finished now, 0 finished earlier"));
        QCOMPARE(twb.json("out/b.json").at("probes").at(0).at("mean"), 5.0);
    }

    void aChangedProfileIsRunAgain() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        QByteArray profile;
        QFile shipped(QStringLiteral(TWB_SOURCE_DIR "/resources/devices/h200.json"));
        QVERIFY(shipped.open(QIODevice::ReadOnly));
        profile = shipped.readAll();
        twb.write("my.json", profile);
        const QStringList call{"batch",    "a.twb", "--device-map", "cuda:0=simulated:my.json",
                               "--report", "out"};
        QCOMPARE(twb.run(call).exit, 0);
        QVERIFY(twb.run(call).out.contains("0 finished now, 1 finished earlier"));
        twb.write("my.json", profile.replace("\"name\": \"", "\"name\": \"another "));
        const Ended again = twb.run(call);
        QVERIFY2(again.out.contains("1 finished now, 0 finished earlier"), qPrintable(again.out));
    }

    void aRunThatDidNotEndWellIsRunAgain() {
        const Program twb;
        twb.write("a.twb", R"({"format": "tensor-workbench", "version": 1,
            "lanes": [{"id": 1, "device": "cpu"}],
            "nodes": [{"id": 1, "op": "Full", "name": "a", "lane": 1},
                      {"id": 2, "op": "NoSuchOp", "name": "b", "lane": 1}]})");
        const QStringList call{"batch", "a.twb", "--report", "out"};
        QCOMPARE(twb.run(call).exit, 3);
        QCOMPARE(twb.json("out/a.json").at("status"), "finished"); // all that can run has run
        const Ended again = twb.run(call);
        QCOMPARE(again.exit, 3);
        QVERIFY2(again.out.contains("0 finished earlier"), qPrintable(again.out));
    }

    void aProjectMayHaveTheNameOfTheSummary() {
        const Program twb;
        twb.save("summary.twb", smallGraph());
        const QStringList call{"batch", "summary.twb", "--report", "out"};
        QCOMPARE(twb.run(call).exit, 0);
        QVERIFY(twb.run(call).out.contains("0 finished now, 1 finished earlier"));
        QCOMPARE(twb.json("out/summary.json").at("count"), 1);
    }

    void longMessagesAreCutInTheTableOnly() {
        const Program twb;
        twb.save("bad.twb", crossingGraph(false));
        twb.save("good.twb", crossingGraph());
        const Ended ended = twb.run({"batch", "bad.twb", "good.twb", "--iterations", "3", "--report", "out"});
        const QStringList lines = ended.out.split('\n');
        const QStringList head = lines.at(0).split(QRegularExpression("  +"));
        QCOMPARE(head.mid(0, 6), (QStringList{"run", "status", "iterations", "one iteration", "all transfers",
                                              "all bytes moved"}));
        for (const QString& line : lines) QVERIFY2(line.size() < 200, qPrintable(line));
        QVERIFY(ended.out.contains("not run, because the graph has an error: Expected all"));
        QVERIFY(ended.out.contains("…"));
        const auto message = twb.json("out/summary.json").at("runs").at(0).at("message").get<std::string>();
        QVERIFY2(message.ends_with("(when checking arguments of Mul \"scaled\")"), message.c_str());
    }

    void explainsHowToResumeWithoutAReportFolder() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        QVERIFY(twb.run({"batch", "a.twb"})
                    .err.endsWith(
                        "twb: no reports are kept; use --report DIR to keep them and to resume the batch\n"));
        QVERIFY(!twb.run({"batch", "a.twb", "--report", "out"}).err.contains("--report"));
    }

    void onlyTheTableRemainsWithoutAReportFolder() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const Ended ended = twb.run({"batch", "a.twb", "--set", "base.value=1,2", "--quiet"});
        QCOMPARE(ended.exit, 0);
        QCOMPARE(ended.err, "");
        QVERIFY(ended.out.contains("a__base.value=2"));
        QCOMPARE(QDir(twb.file("")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList{"a.twb"});
    }

    void sameNamesOfTwoFolders() {
        const Program twb;
        twb.save("x/net.twb", smallGraph());
        twb.save("y/net.twb", smallGraph());
        twb.save("-odd name.twb", smallGraph());
        QCOMPARE(twb.run({"batch", "x", "y", "x/net.twb", "--report", "out", "./-odd name.twb"}).exit, 0);
        QVERIFY(twb.exists("out/net.json"));
        QVERIFY(twb.exists("out/y-net.json"));
        QVERIFY(twb.exists("out/graph-odd-name.json"));
        QCOMPARE(twb.json("out/summary.json").at("count"), 3); // counted once, although it is listed twice
    }

    void ctrlCKeepsWhatIsFinished() {
        const Program twb;
        twb.save("a_quick.twb", smallGraph());
        twb.save("b_long.twb", longGraph());
        twb.save("c_never.twb", smallGraph());
        QProcess process;
        startBatch(process, twb, {"a_quick.twb", "b_long.twb", "c_never.twb"});
        QTRY_VERIFY(twb.exists("out/a_quick.json") && twb.exists("out/b_long.log"));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QVERIFY(ended.out.contains("3 runs: 1 finished now, 0 finished earlier, 0 failed, 2 not run"));
        QVERIFY(!twb.exists("out/b_long.json"));
        QVERIFY(!twb.exists("out/b_long.part"));
        QCOMPARE(twb.json("out/summary.json").at("count"), 1);
    }

    /// As a launcher does that signals the processes of a job one after the other.
    void aRunThatIsToldToEndBeforeTheBatchHasNotCrashed() {
        if (!listsChildren()) QSKIP("this kernel does not list child processes");
        const Program twb;
        twb.save("a_long.twb", longGraph());
        QProcess process;
        startBatch(process, twb, {"a_long.twb"});
        QTRY_VERIFY(childOf(process) > 0 && twb.exists("out/a_long.log"));
        ::kill(static_cast<pid_t>(childOf(process)), SIGTERM);
        ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QVERIFY(ended.out.contains("0 failed, 1 not run"));
        QVERIFY(!twb.exists("out/a_long.json"));
    }

    /// A crash, or the kernel's out-of-memory kill, ends only one run.
    void aCrashLeavesTheOthers() {
        if (!listsChildren()) QSKIP("this kernel does not list child processes");
        const Program twb;
        twb.save("a_long.twb", longGraph());
        twb.save("b_quick.twb", smallGraph());
        QProcess process;
        startBatch(process, twb, {"a_long.twb", "b_quick.twb"});
        QTRY_VERIFY(childOf(process) > 0 && twb.exists("out/a_long.log"));
        // Not SIGSEGV, which a sanitizer would catch.
        ::kill(static_cast<pid_t>(childOf(process)), SIGABRT);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 1);
        QCOMPARE(twb.json("out/a_long.json").at("status"), "crashed");
        QCOMPARE(twb.json("out/b_quick.json").at("status"), "finished");
        QVERIFY(ended.out.contains("ended by signal 6"));
        QVERIFY(ended.out.contains("2 runs: 1 finished now, 0 finished earlier, 1 failed"));
    }

    void runsEndWithTheBatchThatStartedThem() {
        const Program twb;
        twb.save("orphan.twb", longGraph());
        QProcess batch;
        batch.setWorkingDirectory(twb.file("."));
        batch.start(Program::path(), {"batch", "orphan.twb", "--iterations", "1000000", "--report", "out"});
        QVERIFY(batch.waitForStarted());
        const auto runs = [] {
            const QStringList processes = QDir(QStringLiteral("/proc")).entryList(QDir::Dirs);
            return std::any_of(processes.begin(), processes.end(), [](const QString& process) {
                QFile line(QStringLiteral("/proc/%1/cmdline").arg(process));
                if (!line.open(QIODevice::ReadOnly)) return false;
                const QByteArray words = line.readAll();
                return words.contains("run") && words.contains("orphan.twb") && !words.contains("batch");
            });
        };
        QTRY_VERIFY(runs());
        batch.kill();
        QVERIFY(batch.waitForFinished());
        QTRY_VERIFY(!runs());
    }

    void hostileNamesMakeHarmlessFiles() {
        const Program twb;
        GraphMaker maker;
        const NodeId node =
            maker.node("Full", "../a b$(x)\n", "cpu", {{"shape", Integers{1}}, {"value", 1.0}});
        maker.node("Probe", "seen, \"here\"", "cpu", {}, {node});
        twb.save("a.twb", maker);
        QCOMPARE(twb.run({"batch", "a.twb", "--set", "../a b$(x)\n.value=1,2", "--report", "out"}).exit, 0);
        QVERIFY(twb.exists("out/a__..-a-b--x--.value=2.json"));
        QVERIFY(twb.read("out/summary.csv").contains("\"probe seen, \"\"here\"\"\""));
    }

    void wrongUsage_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exit");
        QTest::newRow("no graph") << QStringList{} << 2;
        QTest::newRow("missing") << QStringList{"none.twb"} << 4;
        QTest::newRow("empty folder") << QStringList{"empty"} << 4;
        QTest::newRow("set") << QStringList{"a.twb", "--set", "x"} << 2;
        QTest::newRow("jobs") << QStringList{"a.twb", "--jobs", "0"} << 2;
        QTest::newRow("unknown node") << QStringList{"a.twb", "--set", "x.y=1"} << 2;
        QTest::newRow("GPU") << QStringList{"a.twb", "--device-map", "cuda:0=real"} << 5;
        QTest::newRow("folder is a file") << QStringList{"a.twb", "--report", "a.twb"} << 4;
    }
    void wrongUsage() {
        QFETCH(QStringList, arguments);
        const Program twb;
        twb.save("a.twb", crossingGraph());
        QDir(twb.file("")).mkpath("empty");
        const Ended ended = twb.run(QStringList{"batch"} + arguments);
        QTEST(ended.exit, "exit");
        QVERIFY(!ended.err.isEmpty());
    }

    void tooLargeSweepsAreRefused() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        QStringList arguments{"batch", "a.twb"};
        for (int i = 0; i < 64; ++i) arguments << "--set" << QString("base.value=1,2,3");
        const Ended ended = twb.run(arguments);
        QCOMPARE(ended.exit, 2);
        QVERIFY(ended.err.contains("more than 100000 runs"));
    }
};

TWB_TEST_MAIN(TestBatch)
#include "test_batch.moc"
