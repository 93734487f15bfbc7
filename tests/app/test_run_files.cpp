#include "app/program.h"
#include "support/test_main.h"

#include <sys/stat.h>
#include <sys/types.h>

using namespace twb;
using namespace twb::test;

/// The files that a run reads and writes.
class TestRunFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void inputsComeFromAnywhere() {
        const Program twb;
        const Program elsewhere;
        twb.save("inner/a.twb", smallGraph());
        elsewhere.saveTensor<float>("in.npy", {3}, {1, 2, 6});
        const Ended ended = twb.run({"run", "inner/a.twb", "--input", "base=" + elsewhere.file("in.npy"),
                                     "--output", "scaled=out.npy", "--quiet"});
        QCOMPARE(ended.err, "");
        QCOMPARE(ended.exit, 0);
        QCOMPARE(twb.tensor("out.npy"), (std::vector<double>{2, 4, 12}));
    }

    void projectMayNotReadOutsideItsFolder() {
        const Program twb;
        twb.saveTensor<float>("outside.npy", {1}, {1});
        GraphMaker maker;
        const NodeId file = maker.node("File", "f", "cpu", {{"path", std::string("../outside.npy")}});
        const NodeId other = maker.node("Zeros", "z");
        maker.node("Probe", "p", "cpu", {}, {file});
        maker.node("Probe", "q", "cpu", {}, {other});
        twb.save("inner/a.twb", maker);
        QCOMPARE(twb.run({"run", "inner/a.twb"}).exit, 3);
        // This holds even if the user names that file for another node.
        QCOMPARE(twb.run({"run", "inner/a.twb", "--input", "z=outside.npy"}).exit, 3);
        const Ended ended = twb.run({"check", "inner/a.twb"});
        QVERIFY2(ended.out.contains("run twb with --allow-outside"), qPrintable(ended.out));
        for (const char* command : {"check", "run", "batch"})
            QCOMPARE(twb.run({command, "inner/a.twb", "--allow-outside"}).exit, 0);
    }

    void outputsLieWhereTheyWereMade() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended ended = twb.run({"run", "a.twb", "--output", "scaled=gpu.npy", "--output",
                                     "seen=probe.npy", "--output", "there=moved.npy", "--quiet"});
        QCOMPARE(ended.err, "");
        QCOMPARE(ended.exit, 0);
        QCOMPARE(twb.tensor("gpu.npy"), (std::vector<double>{6, 6, 6, 6}));
        QCOMPARE(twb.tensor("probe.npy"), (std::vector<double>{6, 6, 6, 6}));
        QCOMPARE(twb.tensor("moved.npy"), (std::vector<double>{3, 3, 3, 3}));
    }

    void archivesHoldSeveralTensors() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        for (const QString file : {"all.npz", "all.safetensors"}) {
            const Ended ended = twb.run({"run", "a.twb", "--quiet", "--output", "scaled=" + file + "#layer/y",
                                         "--output", "base=" + file + "#x"});
            QCOMPARE(ended.err, "");
            QCOMPARE(ended.exit, 0);
            const Ended again = twb.run({"run", "a.twb", "--quiet", "--input", "base=" + file + "#layer/y",
                                         "--output", "scaled=out.npy"});
            QCOMPARE(again.err, "");
            QCOMPARE(twb.tensor("out.npy"), (std::vector<double>{12, 12, 12, 12}));
        }
        const Ended unnamed = twb.run({"run", "a.twb", "--quiet", "--input", "base=all.npz"});
        QVERIFY2(unnamed.err.contains("it has 2 tensors, layer/y, x; name one of them"),
                 qPrintable(unnamed.err));
        QCOMPARE(unnamed.exit, 4);
        const Ended twice =
            twb.run({"run", "a.twb", "--output", "scaled=o.npz#x", "--output", "base=./o.npz#x"});
        QVERIFY2(twice.err.contains("are the same file"), qPrintable(twice.err));
        QCOMPARE(twice.exit, 2);
    }

    void wrongInputsAndOutputs_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("says");
        QTest::newRow("no file") << QStringList{"--input", "base=none.npy"} << 4 << "--input base: ";
        QTest::newRow("no tensor") << QStringList{"--input", "base=a.twb"} << 4 << "a.twb";
        QTest::newRow("form") << QStringList{"--input", "base"} << 2 << "must have the form node=file.npy";
        QTest::newRow("node") << QStringList{"--input", "bsae=in.npy"} << 2 << "did you mean \"base\"";
        QTest::newRow("not a source")
            << QStringList{"--input", "scaled=in.npy"} << 2 << "computes its tensor";
        QTest::newRow("unknown output") << QStringList{"--output", "x=o.npy"} << 2 << "no node named \"x\"";
        QTest::newRow("no such folder")
            << QStringList{"--output", "scaled=no/o.npy"} << 4 << "create it first";
        QTest::newRow("report folder") << QStringList{"--report", "no/r.json"} << 4 << "create it first";
        QTest::newRow("trace is a folder") << QStringList{"--trace", "."} << 4 << "is a folder";
        QTest::newRow("device map") << QStringList{"--device-map", "cuda:0"} << 2 << "cuda:0";
        QTest::newRow("profile") << QStringList{"--device-map", "cuda:0=simulated:h900"} << 2 << "h900";
        QTest::newRow("no GPU") << QStringList{"--device-map", "cuda:0=real"} << 5 << "real GPU";
        QTest::newRow("required") << QStringList{"--require-gpu"} << 5 << "real GPU";
        QTest::newRow("policy") << QStringList{"--policy", "lax"} << 2 << "lax";
        QTest::newRow("iterations") << QStringList{"--iterations", "0"} << 2 << "iterations";
        QTest::newRow("option") << QStringList{"--nonsense"} << 2 << "nonsense";
    }

    void wrongInputsAndOutputs() {
        QFETCH(QStringList, arguments);
        QFETCH(int, exit);
        QFETCH(QString, says);
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended ended = twb.run(QStringList{"run", "a.twb"} + arguments);
        QVERIFY2(ended.err.contains(says), qPrintable(ended.err));
        QCOMPARE(ended.exit, exit);
        QCOMPARE(ended.out, "");
    }

    void fullDisksAreNoticed() {
        if (!QFile::exists("/dev/full")) QSKIP("no /dev/full here");
        const Program twb;
        twb.save("a.twb", smallGraph());
        QProcess process;
        process.setWorkingDirectory(twb.file(""));
        process.setStandardOutputFile("/dev/full");
        process.start(Program::path(), {"run", "a.twb"});
        QCOMPARE(Program::wait(process).exit, 4);
    }

    /// Once, the rename of an atomic write replaced a device by a regular file.
    void devicesAndPipesAreNotReplaced() {
        const Program twb;
        twb.save("a.twb", smallGraph());
        const QString pipe = twb.file("pipe");
        QCOMPARE(::mkfifo(qPrintable(pipe), 0600), 0);
        const Ended nobodyReads = twb.run({"run", "a.twb", "--quiet", "--report", "pipe"});
        QCOMPARE(nobodyReads.exit, 4);
        QVERIFY(nobodyReads.err.contains("pipe cannot be written"));
        QProcess reader;
        reader.start("cat", {pipe});
        QVERIFY(reader.waitForStarted());
        bool written = false; // after that the pipe has no reader
        QTRY_VERIFY(written ||
                    (written = twb.run({"run", "a.twb", "--quiet", "--report", "pipe"}).exit == 0));
        QVERIFY(reader.waitForFinished());
        QVERIFY(reader.readAllStandardOutput().contains("\"schema\""));
        struct stat status {};
        QVERIFY(::stat(qPrintable(pipe), &status) == 0 && S_ISFIFO(status.st_mode));
        const Ended full = twb.run({"run", "a.twb", "--quiet", "--trace", "/dev/full"});
        QCOMPARE(full.exit, 4);
        QVERIFY(::stat("/dev/full", &status) == 0 && S_ISCHR(status.st_mode));
    }

    void resultsDoNotOverwriteEachOtherOrTheProject_data() {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("report") << QStringList{"--report", "a.twb"};
        QTest::newRow("output") << QStringList{"--output", "scaled=./a.twb"};
        QTest::newRow("two outputs") << QStringList{"--output", "scaled=o.npy", "--output", "base=o.npy"};
        QTest::newRow("report and trace") << QStringList{"--report", "same.json", "--trace", "same.json"};
    }

    void resultsDoNotOverwriteEachOtherOrTheProject() {
        QFETCH(QStringList, options);
        const Program twb;
        twb.save("a.twb", smallGraph());
        const QByteArray before = twb.read("a.twb");
        const Ended ended = twb.run(QStringList{"run", "a.twb"} + options);
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.contains("are the same file"), qPrintable(ended.err));
        QCOMPARE(twb.read("a.twb"), before);
    }
};

TWB_TEST_MAIN(TestRunFiles)
#include "test_run_files.moc"
