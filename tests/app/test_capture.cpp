#include "app/program.h"
#include "support/test_main.h"

#include <QFileInfo>

#include <csignal>

using namespace twb;
using namespace twb::test;

namespace {

/// The lines of a capture that are whole.
std::vector<nlohmann::json> linesOf(const Program& twb, const QString& name) {
    std::vector<nlohmann::json> out;
    for (const QByteArray& line : twb.read(name).split('\n'))
        if (!line.isEmpty()) out.push_back(nlohmann::json::parse(line.toStdString(), nullptr, false));
    return out;
}

const QByteArray kEndless = "import time, torch\n"
                            "for i in range(100): torch.ones(2, device='cuda') + 1\n"
                            "print('ready', flush=True)\n"
                            "while True: time.sleep(0.01)\n";

} // namespace

/// `twb capture`: the interpreter, the script's arguments and end, and the capture that remains.
class TestCapture : public QObject {
    Q_OBJECT

    /// Says its arguments instead of running them.
    static QString echo(const Program& twb) {
        twb.write("echo.sh",
                  "#!/bin/sh\necho \"path: $PYTHONPATH\"\nfor a in \"$@\"; do echo \"<$a>\"; done\n");
        QFile::setPermissions(twb.file("echo.sh"), QFile::ReadOwner | QFile::ExeOwner);
        return twb.file("echo.sh");
    }
    /// A capture of the endless script that has printed "ready".
    static void start(QProcess& process, const Program& twb) {
        twb.write("train.py", kEndless);
        process.setWorkingDirectory(QFileInfo(twb.file("train.py")).path());
        process.start(Program::path(), {"capture", "--python", debiansPython(), "train.py"});
        while (!process.canReadLine()) QVERIFY(process.waitForReadyRead(120000));
        QCOMPARE(process.readLine(), "ready\n");
    }

private Q_SLOTS:
    void startsTheCarriedPackageWithTheScriptsOwnArguments() {
        const Program twb;
        twb.write("train.py", "");
        const Ended ended =
            twb.run({"capture", "--python", echo(twb), "--gpus", "2", "--fake", "--quiet", "--steps", "1:3",
                     "-o", "-out", "train.py", "--gpus", "8", "run", "--", "-o", "--help"});
        QCOMPARE(ended.exit, 0);
        const QStringList lines = ended.out.split('\n', Qt::SkipEmptyParts);
        QCOMPARE(
            lines.mid(1).join(' '),
            "<-m> <tensor_workbench> <capture> <--gpus> <2> <--fake> <--quiet> <--steps=1:3> <-o> <./-out> "
            "<train.py> <--gpus> <8> <run> <--> <-o> <--help>");
        const QString folder = lines[0].section(": ", 1).section(':', 0, 0);
        QVERIFY2(QFileInfo::exists(folder + "/tensor_workbench/__main__.py"), qPrintable(folder));
    }

    void theCaptureIsNamedAfterTheScript() {
        const Program twb;
        twb.write("sub/train.py", "");
        const Ended ended = twb.run({"capture", "--python", echo(twb), "--", "sub/train.py", "x"});
        QVERIFY2(ended.out.endsWith("<-o>\n<train.twbcap>\n<sub/train.py>\n<x>\n"), qPrintable(ended.out));
    }

    void withoutPythonOrPyTorchThereIsASentence() {
        const Program twb;
        twb.write("train.py", "");
        const Ended python = twb.run({"capture", "--python", "no/python3", "train.py"});
        QCOMPARE(python.exit, 4);
        QCOMPARE(python.err,
                 "twb: cannot start no/python3: No such file or directory; install Python 3 with PyTorch, or "
                 "name its python3 with --python\n");
        if (!QFileInfo::exists(debiansPython())) QSKIP("Debian's python3 is not installed");
        twb.write("torch.py", "raise ImportError(\"No module named 'torch'\")\n");
        const Ended torch = twb.run({"capture", "--python", debiansPython(), "train.py"});
        QCOMPARE(torch.exit, 4);
        QVERIFY2(torch.err.contains("PyTorch is not installed for " + debiansPython()) &&
                     torch.err.contains("--python PATH"),
                 qPrintable(torch.err));
        QCOMPARE(torch.err.count('\n'), 1);
    }

    void wrongOptionsAreNamed_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        QTest::newRow("no script") << QStringList{} << "SCRIPT is required";
        QTest::newRow("gpus") << QStringList{"--gpus", "0", "a.py"} << "--gpus: ";
        QTest::newRow("steps") << QStringList{"--steps", "3", "a.py"}
                               << "--steps: \"3\" is not a range of steps; write A:B, A: or :B";
        QTest::newRow("no step") << QStringList{"--steps", "3:3", "a.py"} << "the range 3:3 is empty";
        QTest::newRow("misspelt") << QStringList{"--stpes", "3:4", "a.py"} << "did you mean \"--steps\"?";
        QTest::newRow("over the script")
            << QStringList{"-o", "./a.py", "a.py"} << "SCRIPT and -o are the same file";
        QTest::newRow("over a project") << QStringList{"-o", "g.twb", "a.py"} << "this file is a project";
    }
    void wrongOptionsAreNamed() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const Program twb;
        twb.write("a.py", "print(1)\n");
        twb.save("g.twb", smallGraph());
        const Ended ended = twb.run(QStringList{"capture", "--python", echo(twb)} + arguments);
        QCOMPARE(ended.exit, 2);
        QVERIFY2(ended.err.startsWith("twb: ") && ended.err.contains(says), qPrintable(ended.err));
        QCOMPARE(ended.out, "");
        QCOMPARE(twb.read("a.py"), "print(1)\n");
    }

    void aScriptsEndDecidesTheExitCode_data() {
        QTest::addColumn<QByteArray>("last");
        QTest::addColumn<int>("exit");
        QTest::addColumn<QString>("status");
        QTest::addColumn<QString>("says");
        QTest::newRow("end") << QByteArray() << 0 << "finished"
                             << "1 mismatch";
        QTest::newRow("exit 0") << QByteArray("raise SystemExit(0)\n") << 0 << "finished"
                                << "1 mismatch";
        QTest::newRow("raises") << QByteArray("raise ValueError('broken')\n") << 1 << "failed"
                                << "ValueError: broken";
        QTest::newRow("exit 7") << QByteArray("import sys; sys.exit(7)\n") << 1 << "failed"
                                << "exit code 7";
    }
    void aScriptsEndDecidesTheExitCode() {
        if (!hasTorch()) QSKIP("PyTorch is not installed");
        QFETCH(QByteArray, last);
        QFETCH(int, exit);
        const Program twb;
        twb.write("train.py", "import torch\ntorch.ones(2, device='cuda') + torch.ones(2)\n" + last);
        const Ended ended = twb.run({"capture", "--python", debiansPython(), "train.py"}, 300000);
        QCOMPARE(ended.exit, exit);
        QTEST(QString::fromStdString(linesOf(twb, "train.twbcap").back().value("status", "")), "status");
        QFETCH(QString, says);
        QVERIFY2(ended.err.contains(says) && ended.err.contains("train.py:2"), qPrintable(ended.err));
    }

    void ctrlCKeepsTheCapture() {
        if (!hasTorch()) QSKIP("PyTorch is not installed");
        const Program twb;
        QProcess process;
        start(process, twb);
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        QCOMPARE(Program::wait(process).exit, 130);
        const nlohmann::json end = linesOf(twb, "train.twbcap").back();
        QCOMPARE(end.value("status", ""), "interrupted");
        QCOMPARE(end.value("ops", 0), 200);
    }

    void aKilledScriptLeavesItsLines() {
        if (!hasTorch()) QSKIP("PyTorch is not installed");
        const Program twb;
        QProcess process;
        start(process, twb);
        process.kill();
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitStatus(), QProcess::CrashExit);
        const auto lines = linesOf(twb, "train.twbcap");
        QCOMPARE(std::count_if(lines.begin(), lines.end(),
                               [](const nlohmann::json& line) { return line.value("kind", "") == "op"; }),
                 200);
    }
};

TWB_TEST_MAIN(TestCapture)
#include "test_capture.moc"
