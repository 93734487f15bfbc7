#include "app/program.h"
#include "support/test_main.h"

#include <QRegularExpression>
#include <QStandardPaths>

using namespace twb;
using namespace twb::test;

/// Wrong command lines, and the calls in the documentation.
class TestUsage : public QObject {
    Q_OBJECT

    /// The README, the manual and the READMEs of folders.
    static QStringList pages() {
        const QDir source(QStringLiteral(TWB_SOURCE_DIR));
        QStringList out{source.filePath("README.md"), source.filePath("engine/ops/README.md"),
                        source.filePath("engine/backends/cuda/README.md"), source.filePath("tests/README.md"),
                        source.filePath("tests/bench/README.md")};
        const QDir manual(source.filePath("resources/manual"));
        for (const QString& name : manual.entryList({"*.md"})) out << manual.filePath(name);
        return out;
    }
    static QStringList linesOf(const QString& path) {
        QFile page(path);
        return page.open(QIODevice::ReadOnly) ? QString::fromUtf8(page.readAll()).split('\n') : QStringList();
    }

    /// A graph whose lanes divide it among two ranks.
    static GraphMaker pipeline() {
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{4}}, {"value", 3.0}});
        const NodeId there = maker.node("To", "there", "rank1/cpu", {}, {x});
        maker.node("Neg", "result", "rank1/cpu", {}, {there});
        return maker;
    }
    static bool has(const char* program) {
        return !QStandardPaths::findExecutable(QLatin1String(program)).isEmpty();
    }
    /// Whether a call of the manual needs something that this machine does not have, or belongs to
    /// tests/packages.sh, which installs the packages.
    static bool cannotRun(const QString& call) {
        if (call.contains("twb capture ") || call.contains(".twbcap")) return !hasTorch();
        if (call.startsWith("mpirun ")) return !has("mpirun") || !hasMpiPlugin();
        if (call.startsWith("srun ")) return !has("srun");
        if (call.startsWith("cmake ")) return !has("cmake");
        if (call.startsWith("tensor-workbench "))
            return !QFile::exists(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench"));
        static const QRegularExpression packages(QStringLiteral(
            "^(bash resources/package\\.sh|podman|cp -r /usr/share/tensor-workbench/examples|cd) "));
        return packages.match(call).hasMatch();
    }
    static bool hasMpiPlugin() {
        const QString launcher = QFileInfo(QStandardPaths::findExecutable("mpirun")).canonicalFilePath();
        const bool isMpich = launcher.contains("mpich") || launcher.contains("hydra");
        return QFile::exists(QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_mpi_%1.so")
                                 .arg(isMpich ? QStringLiteral("mpich") : QStringLiteral("openmpi")));
    }
    /// The programs of this build are on the PATH, with Debian's interpreter. Open MPI refuses root and more
    /// ranks than cores, unless told otherwise.
    static QProcessEnvironment environmentOfCalls() {
        QProcessEnvironment out = QProcessEnvironment::systemEnvironment();
        out.insert("PATH", QStringLiteral(TWB_BINARY_DIR "/bin:/usr/bin:") + out.value("PATH"));
        for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                 "OMPI_MCA_rmaps_base_oversubscribe"})
            out.insert(name, "1");
        return out;
    }

private Q_SLOTS:
    void wrongArgumentIsNamed_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const auto row = [](const QStringList& arguments, const char* says) {
            QTest::newRow(qPrintable(arguments.join(' '))) << arguments << QString::fromUtf8(says);
        };
        row({}, "missing command; the commands are: check, run, batch, ");
        row({"bogus"}, "unknown command \"bogus\"; the commands are: check, run, batch, ");
        row({"chekc", "a.twb"}, "unknown command \"chekc\"; did you mean \"check\"?\n");
        row({"--quiet", "run"}, "unknown option --quiet before a command; the commands are: ");
        row({"run"}, "run: FILE is required; see `twb run --help`\n");
        row({"run", "a.twb", "b.twb"}, "run: unexpected argument \"b.twb\"; see `twb run --help`");
        row({"run", "--iteratons", "3", "a.twb"},
            "run: unknown option --iteratons; did you mean \"--iterations\"?\n");
        row({"run", "--nonsense=3", "a.twb"}, "run: unknown option --nonsense; see `twb run --help`");
        row({"run", "a.twb", "--iterations", "1e5"},
            "--iterations: 1e5 is not a whole number from 1 to 1000000000");
        row({"batch", "a.twb", "--iterations", "0"}, "--iterations: 0 is not a whole number from 1");
        row({"check", "a.twb", "--max-syncs", "-1"}, "--max-syncs: -1 is not a whole number of at least 0");
        row({"check", "a.twb", "--max-syncs", "99999999999999999999"},
            "--max-syncs: 99999999999999999999 is");
        row({"quantize", "a.twb", "-o", "b.twb", "--percentile", "nan"},
            "--percentile: nan is not a number from 50 to 100");
        for (const char* option : {"--lr", "--momentum", "--weight-decay", "--clip-norm", "--clip-value"})
            for (const char* number : {"nan", "inf", "-1"}) row({"train", "a.twb", option, number}, option);
        for (const char* option : {"--clip-norm", "--clip-value"})
            row({"train", "a.twb", option, "0"}, "0 is not a number above 0");
        for (const char* number : {"nan", "0", "1"})
            row({"train", "a.twb", "--ema", number}, "is not a number above 0 and below 1");
        row({"batch", "a.twb", "--jobs", "nan"}, "--jobs: nan is not a whole number from 1 to 1024");
        row({"capture", "--gpus", "65", "a.py"}, "--gpus: 65 is not a whole number from 1 to 64");
        row({"run", "a.twb", "--on", "ssh:h", "--ranks", "nan"}, "--ranks: nan is not a whole number");
        row({"train", "a.twb", "--warmup", "-1"}, "--warmup: -1 is not a whole number of at least 0");
        row({"train", "a.twb", "--checkpoint", "c", "--every", "0"}, "--every: 0 is not a whole number");
        row({"run", "a.twb", "--device-map", "tpu:0=real"},
            "--device-map \"tpu:0=real\" is not a device mapping");
        row({"run", "a.twb", "--device-map", "cuda:0=simulated:t4", "--device-map", "cuda:0=simulated:l4"},
            "--device-map names cuda:0 twice; give it once");
        row({"export", "a.twb", "--to", "tflite", "-o", "x"},
            "export: --to: \"tflite\" is not one of onnx, pytorch, dot; see `twb export --help`\n");
        row({"export", "a.twb", "--to", "dot", "-o"}, "export: --output needs a value: ");
        row({"completion", "tcsh"},
            "SHELL: \"tcsh\" is not one of bash, fish, zsh; see `twb completion --help`\n");
        row({"ops", "Xyzzy"}, "there is no op \"Xyzzy\"; twb ops lists all ops\n");
        row({"import", "a.twb", "-o", "b.twb"}, "a.twb is a project already; twb import reads ONNX models");
    }
    /// A pattern of the shell may stand for thousands of files.
    void manyArgumentsAreNoCrash() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended ended = twb.run(QStringList{"run", "a.twb"} + QStringList(9000, "values.npy"));
        QCOMPARE(ended.exit, 2);
        QCOMPARE(ended.err, "twb: run: unexpected argument \"values.npy\"; see `twb run --help`\n");
    }
    void wrongArgumentIsNamed() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const Ended ended = twb.run(arguments);
        QCOMPARE(ended.exit, 2);
        QCOMPARE(ended.out, "");
        QVERIFY2(ended.err.startsWith("twb: ") && ended.err.contains(says), qPrintable(ended.err));
        QCOMPARE(ended.err.count('\n'), 1);
    }

    /// They were reported with the text of the JSON library: "[json.exception.parse_error.101] parse error
    /// at…".
    void aFileThatIsNotJsonIsExplained() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        twb.write("empty.json", "");
        twb.write("text.json", "hello");
        twb.write("cut.json", "{\"schema\": 1, \"steps\": [");
        twb.write("other.json", "{\"a\": 1}");
        const auto says = [&](const QStringList& arguments) {
            const Ended ended = twb.run(arguments);
            if (ended.exit != 4) qFatal("%s", qPrintable(arguments.join(' ') + ": " + ended.err));
            return ended.err;
        };
        const QString report = QStringLiteral(" is not a report from twb run --report: ");
        QCOMPARE(says({"report", "empty.json", "-o", "r.html"}),
                 "twb: empty.json" + report + "the text is empty\n");
        QCOMPARE(says({"report", "text.json", "-o", "r.html"}),
                 "twb: text.json" + report + "unexpected text 'h'\n");
        QCOMPARE(says({"compare", "cut.json", "cut.json"}),
                 "twb: cut.json" + report + "the text ends too early\n");
        QCOMPARE(says({"compare", "other.json", "other.json"}),
                 "twb: other.json" + report + "\"schema\" is missing\n");
        QVERIFY(
            says({"check", "empty.json"}).contains("line 1, column 1: not valid JSON: the text is empty\n"));
        QVERIFY(says({"profile", "cut.json"})
                    .contains("not JSON, or cut off, at byte 25: the text ends too early\n"));
        const auto device = [&](const char* file) {
            return says({"run", "a.twb", "--device-map", QStringLiteral("cuda:0=simulated:%1").arg(file)});
        };
        QCOMPARE(device("text.json"), QStringLiteral("twb: text.json: not JSON: unexpected text 'h'\n"));
        QCOMPARE(device("none.json"),
                 QStringLiteral("twb: none.json cannot be read: No such file or directory\n"));
    }

    void aFolderWithoutProjectsIsNamed() {
        const Program twb;
        QVERIFY(QDir(twb.file("")).mkdir("folder"));
        const Ended ended = twb.run({"batch", "folder"});
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.startsWith("twb: no .twb file found in folder; "), qPrintable(ended.err));
    }

    void helpGoesToStdout() {
        const Program twb;
        for (const QStringList& arguments : {QStringList{"--help"}, {"run", "--help"}, {"--version"}}) {
            const Ended ended = twb.run(arguments);
            QCOMPARE(ended.exit, 0);
            QCOMPARE(ended.err, "");
            QVERIFY(!ended.out.isEmpty());
        }
    }

    void everyCallInTheDocumentationWorks_data() {
        QTest::addColumn<QString>("path");
        for (const QString& path : pages())
            QTest::newRow(qPrintable(QDir(QStringLiteral(TWB_SOURCE_DIR)).relativeFilePath(path))) << path;
    }
    /// The calls of a page run in order, in a copy of the examples. If a call begins with `$`, its output
    /// follows: it may contain the errors that the page shows, and its first line must be the page's. In the
    /// manual, each line of a block of commands is a call.
    void everyCallInTheDocumentationWorks() {
        QFETCH(QString, path);
        const Program twb;
        QProcess copy;
        copy.start("cp", {"-r", QStringLiteral(TWB_SOURCE_DIR "/resources/examples"), twb.file("examples")});
        QVERIFY(copy.waitForFinished() && copy.exitCode() == 0);
        QVERIFY(QFile::copy(QStringLiteral(TWB_SOURCE_DIR "/tests/data/pt2/torch2.9-encoder.pt2"),
                            twb.file("examples/net.pt2")));
        twb.save("examples/pipeline.twb", pipeline());
        const bool isManual = path.contains("/manual/");
        const QStringList lines = linesOf(path);
        QString block; // "sh" in a block of commands
        int calls = 0;
        bool isBuilt = true; // the plug-in whose build the page shows
        for (qsizetype i = 0; i < lines.size(); ++i) {
            if (lines[i].startsWith("```")) block = block.isEmpty() ? lines[i].mid(3) + " " : QString();
            const bool isShown = lines[i].startsWith("$ ");
            const QString call = lines[i].mid(isShown ? 2 : 0);
            const bool isCommand =
                isManual && ((block == "sh " && !call.startsWith("```")) || (block == "console " && isShown));
            if (!call.startsWith("twb ") && !isCommand) continue;
            if (call.startsWith("cmake ")) isBuilt = !cannotRun(call);
            if (cannotRun(call) || (!isBuilt && call.startsWith("TWB_OPS="))) continue;
            ++calls;
            QProcess process;
            process.setWorkingDirectory(twb.file("examples"));
            process.setProcessEnvironment(environmentOfCalls());
            if (call.startsWith("twb "))
                process.start(Program::path(),
                              QProcess::splitCommand(call.section('#', 0, 0).remove('\'')).mid(1));
            else
                process.start("bash", {"-c", call});
            const Ended ended = Program::wait(process);
            const QString output = isShown ? lines.value(i + 1) : QString();
            QVERIFY2(ended.exit == (output.contains(": error[") ? 3 : 0),
                     qPrintable(lines[i] + "\n" + ended.err));
            if (output.contains(": error[")) QCOMPARE(ended.out.section('\n', 0, 0), output);
        }
        if (path == pages().front()) QVERIFY(calls >= 1);
        if (path.endsWith("command-line.md")) QVERIFY(calls >= 20);
        if (path.endsWith("plugins.md")) QVERIFY(calls >= (has("cmake") ? 4 : 2));
    }

    void everyLinkInTheDocumentationLeadsToAFile() {
        static const QRegularExpression link(QStringLiteral("\\[[^\\]]+\\]\\(([^)#]+)\\)"));
        int links = 0;
        for (const QString& path : pages())
            for (const QString& line : linesOf(path))
                for (auto found = link.globalMatch(line); found.hasNext();) {
                    const QString target = found.next().captured(1);
                    if (target.startsWith("http")) continue;
                    ++links;
                    QVERIFY2(QFileInfo::exists(QFileInfo(path).dir().filePath(target)),
                             qPrintable(path + ": " + target));
                }
        QVERIFY(links > 30);
    }

    /// Those of imported models need PyTorch's networks; render.sh makes them by hand.
    void thePicturesOfTheManualAreMadeByTheProgram() {
        if (!QFile::exists(QStringLiteral(TWB_BINARY_DIR "/bin/tensor-workbench")))
            QSKIP("the build has no window");
        const QString folder = QStringLiteral(TWB_SOURCE_DIR "/resources/screenshots/");
        const Program made;
        QProcess process;
        process.start("bash", {folder + "render.sh", QStringLiteral(TWB_BINARY_DIR "/bin"),
                               "--without-models", made.file(QString())});
        const Ended ended = Program::wait(process, 900000);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        static const QRegularExpression picture(
            QStringLiteral("!\\[[^\\]]+\\]\\([^)]*screenshots/([^)]+)\\)"));
        int pictures = 0;
        for (const QString& path : pages())
            for (const QString& line : linesOf(path))
                for (auto found = picture.globalMatch(line); found.hasNext();) {
                    const QString name = found.next().captured(1);
                    if (name.startsWith("resnet18-")) continue;
                    ++pictures;
                    const QByteArray now = made.read(name);
                    QFile kept(folder + name);
                    QVERIFY2(kept.open(QIODevice::ReadOnly), qPrintable(name));
                    // The header of a PNG has the size of the picture.
                    QVERIFY2(now.size() > 24 && now.left(24) == kept.read(24), qPrintable(name));
                }
        QVERIFY(pictures >= 5);
    }

    /// libgomp prints its settings when it is loaded. The user's own setting counts.
    void threadsWaitBriefly_data() {
        QTest::addColumn<QStringList>("variables");
        QTest::addColumn<QString>("setting");
        QTest::newRow("default") << QStringList() << "1000";
        QTest::newRow("spins") << QStringList{"GOMP_SPINCOUNT=77"} << "77";
        QTest::newRow("policy") << QStringList{"OMP_WAIT_POLICY=PASSIVE"} << "0";
    }
    void threadsWaitBriefly() {
        QFETCH(QStringList, variables);
        QFETCH(QString, setting);
        QProcess process;
        QStringList environment = QProcess::systemEnvironment().filter(
            QRegularExpression(QStringLiteral("^(?!GOMP_SPINCOUNT=|OMP_WAIT_POLICY=)")));
        environment << variables << "OMP_DISPLAY_ENV=VERBOSE";
        process.setEnvironment(environment);
        process.start(Program::path(), {"--version"});
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 0);
        QVERIFY(ended.out.startsWith("twb "));
        const QString last = ended.err.mid(ended.err.lastIndexOf("GOMP_SPINCOUNT"));
        QVERIFY2(last.contains("'" + setting + "'"), qPrintable(ended.err));
    }

    void unusedDeviceMapEntryIsRemarked() {
        const Program twb;
        twb.save("a.twb", crossingGraph());
        const QString remark =
            "warning: --device-map cuda:1 has no effect: the graph's lanes are on cpu, cuda:0\n";
        const QStringList map{"--device-map", "cuda:1=simulated:t4"};
        const Ended run = twb.run(QStringList{"run", "a.twb"} + map);
        QCOMPARE(run.exit, 0);
        // The other line names the hardware that simulates cuda:0, and why.
        const QStringList said = run.err.split('\n', Qt::SkipEmptyParts);
        QCOMPARE(said.size(), 2);
        QCOMPARE(said[0] + "\n", "twb: " + remark);
        QVERIFY2(said[1].startsWith("twb: note: cuda:0 uses a simulated NVIDIA H200: "), qPrintable(said[1]));
        const Ended check = twb.run(QStringList{"check", "a.twb"} + map);
        QCOMPARE(check.exit, 0);
        QCOMPARE(check.err, "twb: a.twb: " + remark);
        QCOMPARE(twb.run(QStringList{"run", "a.twb", "--quiet"} + map).err, "");
        QCOMPARE(twb.run({"run", "a.twb", "--device-map", "cuda:0=simulated:t4"}).err, "");
    }
};

TWB_TEST_MAIN(TestUsage)
#include "test_usage.moc"
