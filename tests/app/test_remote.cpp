#include "app/program.h"
#include "app/random_moments.h"
#include "formats/npz.h"
#include "formats/tensor_archive.h"
#include "profile/run_trace.h"
#include "support/remote_host.h"
#include "support/test_main.h"

#include <QElapsedTimer>
#include <QRegularExpression>
#include <QScopeGuard>
#include <QStandardPaths>

#include <csignal>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// With graph g.twb.
QStringList longRun(const QString& on, const QByteArray& iterations) {
    return {"run", "g.twb", "--on", on, "--iterations", iterations, "--report", "r.json"};
}

/// A PATH with all programs but rsync.
QByteArray withoutRsync(const Program& twb) {
    QDir().mkpath(twb.file("bin"));
    for (const char* program : {"ssh", "scp"})
        QFile::link(QStandardPaths::findExecutable(program), twb.file("bin/") + program);
    return twb.file("bin").toUtf8();
}

} // namespace

class TestRemote : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<SshHost> m_host;
    QString m_on;

    void start(QProcess& process, const Program& twb, const QStringList& arguments) const {
        process.setWorkingDirectory(twb.file(""));
        process.start(Program::path(), arguments);
    }

private Q_SLOTS:
    void cleanup() {
        m_host->killRuns(true);
        for (const pid_t pid : m_host->followers()) ::kill(pid, SIGKILL);
        QDir(m_host->folder()).removeRecursively();
    }
    void init() { qputenv("TWB_REMOTE_PROGRAM", Program::path().toUtf8()); }
    void initTestCase() {
        m_host = std::make_unique<SshHost>();
        if (!m_host->isUp())
            QSKIP("no sshd that can be started here: install openssh-server and openssh-client");
        qputenv("TWB_SSH", m_host->command().toUtf8());
        m_on = "ssh:there:" + m_host->folder();
    }

    void severalRanksThereReportTheirPace() {
        if (QStandardPaths::findExecutable("mpirun").isEmpty()) QSKIP("no mpirun");
        const Program twb;
        GraphMaker maker;
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", Integers{4}}, {"value", 1.5}});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("AllReduce", "sum", "cpu", {}, {x})});
        twb.save("g.twb", maker);
        const Ended ended = twb.run({"run", "g.twb", "--on", m_on, "--ranks", "2", "--iterations", "3",
                                     "--report", "r.json", "--trace", "t.json"});
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        const auto report = twb.json("r.json");
        QCOMPARE(report.at("host"), "there");
        QCOMPARE(report.at("ranks").at("each").size(), 2U);
        QCOMPARE(report.at("probes").at(0).at("mean"), 3.0);
        QCOMPARE(readRunTrace(twb.fsPath("t.json")).ranks.size(), 2U);
        QCOMPARE(m_host->runs(), QStringList());
        QCOMPARE(twb.run({"run", "g.twb", "--ranks", "2"}).exit, 2);
    }

    void aDeviceThereIsMeasured() {
        const Program twb;
        const Ended ended =
            twb.run({"calibrate", "--on", m_on, "--device", "cpu", "-o", "there.json"}, 600000);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY(ended.err.contains("measured on there"));
        QVERIFY2(ended.out.startsWith("what ") && ended.out.contains("link, pinned") &&
                     ended.out.endsWith("cuda:0=simulated:there.json\n") &&
                     ended.out.count("profile of") == 1,
                 qPrintable(ended.out));
        const auto profile = twb.json("there.json");
        QVERIFY(QString::fromStdString(profile.at("name")).endsWith(" (there)"));
        QVERIFY(QString::fromStdString(profile.at("id")).endsWith("-on-there-measured"));
        const QString measured = "measured by twb calibrate on there on ";
        QVERIFY(QString::fromStdString(profile.at("source")).startsWith(measured));
        QVERIFY(QString::fromStdString(profile.at("sources").at("launch_us")).startsWith(measured));
        // A run can simulate it.
        twb.save("g.twb", crossingGraph());
        const Ended run =
            twb.run({"run", "g.twb", "--device-map", "cuda:0=simulated:there.json", "--report", "r.json"});
        QVERIFY2(run.exit == 0 && run.out.contains("(there)"), qPrintable(run.out));
        // Nothing is left there, and what is missing is named.
        QCOMPARE(m_host->processes().size(), std::size_t(0));
        const Ended gpu = twb.run({"calibrate", "--on", m_on, "--device", "cuda:0"});
        QCOMPARE(gpu.exit, 5);
        QVERIFY2(gpu.err.contains("there: --device cuda:0 cannot be measured: "), qPrintable(gpu.err));
        QCOMPARE(twb.run({"calibrate", "--on", "there"}).exit, 2);
        QCOMPARE(twb.run({"calibrate", "--on", m_on, "--base", "l4"}).exit, 2);
        QCOMPARE(twb.run({"calibrate", "--on", "ssh:nobody"}).exit, 5);
    }

    void aRunThereGivesItsReportHere_data() {
        QTest::addColumn<bool>("rsync");
        QTest::newRow("rsync") << true;
        QTest::newRow("scp") << false;
    }
    void aRunThereGivesItsReportHere() {
        QFETCH(const bool, rsync);
        if (rsync && QStandardPaths::findExecutable("rsync").isEmpty()) QSKIP("no rsync");
        const Program twb;
        GraphMaker maker;
        const NodeId data = maker.node("File", "data", "cpu", {{"path", std::string("deep/data.npy")}});
        maker.node("Probe", "seen", "cpu", {}, {maker.node("Neg", "minus", "cpu", {}, {data})});
        twb.save("sub/it's.twb", maker);
        QDir(twb.file("sub")).mkpath("deep");
        twb.saveTensor<float>("sub/deep/data.npy", Shape{}, {4.5F});
        const QByteArray path = qgetenv("PATH");
        if (!rsync) qputenv("PATH", withoutRsync(twb));
        const Ended ended = twb.run({"run", "sub/it's.twb", "--on", m_on, "--set", "seen.disabled=false",
                                     "--iterations", "2", "--report", "r.json", "--trace", "t.json"});
        qputenv("PATH", path);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QVERIFY2(ended.out.contains("-4.5"), qPrintable(ended.out));
        QVERIFY(ended.err.contains("measured on there"));
        QCOMPARE(twb.json("r.json").at("host"), "there");
        QCOMPARE(twb.json("r.json").at("iterations"), 2);
        QVERIFY(twb.json("t.json").contains("traceEvents"));
        QCOMPARE(m_host->runs(), QStringList()); // nothing is left there
    }

    void filesThatTheRunWritesComeBack_data() {
        QTest::addColumn<bool>("rsync");
        QTest::newRow("rsync") << true;
        QTest::newRow("scp") << false;
    }
    void filesThatTheRunWritesComeBack() {
        QFETCH(const bool, rsync);
        if (rsync && QStandardPaths::findExecutable("rsync").isEmpty()) QSKIP("no rsync");
        const Program twb;
        GraphMaker maker;
        const NodeId data = maker.node("File", "data", "cpu", {{"path", std::string("missing.npy")}});
        const NodeId minus = maker.node("Neg", "minus", "cpu", {}, {data});
        maker.node("Save", "one", "cpu", {{"path", std::string("deep/it's.npy")}}, {minus});
        maker.node("Save", "two", "cpu", {{"path", std::string("all.npz#new")}}, {minus});
        twb.save("sub/g.twb", maker);
        twb.saveTensor<float>("sub/a.npy", Shape{}, {4.5F});
        twb.saveTensor<float>("sub/b.npy", Shape{}, {6.5F});
        const std::string archive = twb.fsPath("sub/all.npz").string();
        writeTensor({archive, "old"}, readNpy(twb.fsPath("sub/b.npy")).view());
        const QByteArray path = qgetenv("PATH");
        if (!rsync) qputenv("PATH", withoutRsync(twb));
        const Ended ended = twb.run({"run", "sub/g.twb", "--on", m_on, "--set", "data.path=a.npy"});
        qputenv("PATH", path);
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        QCOMPARE(twb.tensor("sub/deep/it's.npy"), std::vector<double>{-4.5});
        const Npz all(archive);
        for (const auto& [name, wanted] : {std::pair("new", -4.5F), std::pair("old", 6.5F)}) {
            const Tensor tensor = Tensor::onHost(all.typeOf(name));
            all.read(name, tensor.view());
            QCOMPARE(tensor.at(0), wanted);
        }
        QCOMPARE(m_host->runs(), QStringList());
    }

    void noFileIsDestroyed() {
        const Program twb;
        twb.save("g.twb", smallGraph());
        const QByteArray before = twb.read("g.twb");
        const Ended ended = twb.run({"run", "g.twb", "--on", m_on, "--report", "g.twb"});
        QCOMPARE(ended.exit, 2);
        QCOMPARE(twb.read("g.twb"), before);
    }

    /// Data that have changed make another run, even if their size is the same.
    void anOldRunIsNotTakenForThatOfNewData() {
        const Program twb;
        twb.saveTensor<float>("in.npy", {2}, {1, 2});
        GraphMaker maker = longGraph();
        maker.node("Probe", "p", "cpu", {},
                   {maker.node("File", "f", "cpu", {{"path", std::string("in.npy")}})});
        twb.save("g.twb", maker);
        QProcess process;
        const HeldProgram held(Program::path());
        qputenv("TWB_REMOTE_PROGRAM", held.path().toUtf8());
        start(process, twb, longRun(m_on, "10"));
        QVERIFY(m_host->isFollowed());
        m_host->cut();
        QCOMPARE(Program::wait(process).exit, 1);
        QCOMPARE(m_host->runs().size(), 1);
        const QString old = m_host->folder() + "/" + m_host->runs().first();
        held.release();
        QTRY_VERIFY(QFile::exists(old + "/exit"));
        twb.saveTensor<float>("in.npy", {2}, {5, 6});
        const Ended ended = twb.run(longRun(m_on, "1"));
        QVERIFY2(ended.exit == 0, qPrintable(ended.err));
        twb.saveTensor<float>("in.npy", {2}, {7, 8});
        const Ended again = twb.run(longRun(m_on, "10"));
        QVERIFY2(again.exit == 0, qPrintable(again.err));
        QVERIFY2(!again.err.contains("has this run already"), qPrintable(again.err));
        for (const auto json = twb.json("r.json"); const auto& probe : json.at("probes"))
            if (probe.at("name") == "p") QCOMPARE(probe.at("mean"), 7.5);
        QCOMPARE(m_host->runs(), {QFileInfo(old).fileName()});
    }

    void anErrorThereHasItsExitCodeHere() {
        const Program twb;
        twb.save("g.twb", crossingGraph(false));
        const Ended ended = twb.run({"run", "g.twb", "--on", m_on});
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains("Expected all tensors to be on the same device"), qPrintable(ended.err));
    }

    /// Of MPICH's launcher, for example; it is that of ssh without a connection, too.
    void anExitCodeOfALauncherThereIsAFailure() {
        const Program twb;
        twb.save("g.twb", smallGraph());
        twb.write("there.sh", QString("#!/bin/sh\n[ \"$1\" = run ] && exit 255\nexec %1 \"$@\"\n")
                                  .arg(Program::path())
                                  .toUtf8());
        QFile::setPermissions(twb.file("there.sh"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        qputenv("TWB_REMOTE_PROGRAM", twb.file("there.sh").toUtf8());
        const Ended ended = twb.run({"run", "g.twb", "--on", m_on});
        QCOMPARE(ended.exit, 1);
        QVERIFY2(!ended.err.contains("the connection to there was lost"), qPrintable(ended.err));
        QCOMPARE(m_host->runs(), QStringList());
    }

    /// The rank is named; the program there was not killed as a whole.
    void aKilledRankThereIsNamed() {
        if (QStandardPaths::findExecutable("mpirun").isEmpty()) QSKIP("no mpirun");
        const Program twb;
        GraphMaker maker = longGraph();
        maker.node("AllReduce", "sum", "cpu", {}, {maker.graph().findByName("b")->id});
        twb.save("g.twb", maker);
        QProcess process;
        start(process, twb,
              longRun(m_on, "1000000") << "--ranks"
                                       << "2");
        pid_t rank = 0;
        const auto isWatched = [](const QString& pid) {
            QFile status(QStringLiteral("/proc/%1/status").arg(pid));
            if (!status.open(QIODevice::ReadOnly)) return false;
            static const QRegularExpression parent(QStringLiteral("PPid:\\s*(\\d+)"));
            QFile name(QStringLiteral("/proc/%1/comm")
                           .arg(parent.match(QString::fromUtf8(status.readAll())).captured(1)));
            return name.open(QIODevice::ReadOnly) && name.readAll() == "twb-watch-wait\n";
        };
        const auto findRank = [&] {
            for (const QString& pid : QDir("/proc").entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
                const QString work = QFile::symLinkTarget(QStringLiteral("/proc/%1/cwd").arg(pid));
                QFile environ(QStringLiteral("/proc/%1/environ").arg(pid));
                QFile name(QStringLiteral("/proc/%1/comm").arg(pid));
                if (!work.startsWith(m_host->folder()) || !environ.open(QIODevice::ReadOnly) ||
                    !name.open(QIODevice::ReadOnly) || name.readAll() != "twb\n" || !isWatched(pid))
                    continue;
                const QList<QByteArray> variables = environ.readAll().split('\0');
                if (variables.contains("OMPI_COMM_WORLD_RANK=1") || variables.contains("PMI_RANK=1"))
                    rank = pid.toInt();
            }
            return rank > 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(findRank(), 300'000);
        ::kill(rank, SIGKILL);
        const Ended ended = Program::wait(process, 300'000);
        QCOMPARE(ended.exit, 1);
        QVERIFY2(ended.err.contains("rank 1 of 2 was killed or has ended early") &&
                     !ended.err.contains("the run on there was killed"),
                 qPrintable(ended.err));
        QCOMPARE(twb.json("r.json").at("status"), "failed");
        QTRY_VERIFY(m_host->processes().empty());
        QCOMPARE(m_host->runs(), QStringList());
    }

    void ctrlCStopsTheRunThere() {
        const Program twb;
        twb.save("g.twb", longGraph());
        QProcess process;
        start(process, twb, longRun(m_on, "1000000"));
        QVERIFY(m_host->isFollowed());
        QTRY_VERIFY(!m_host->processes().empty());
        QTest::qWait(500); // so that it computes
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process);
        QCOMPARE(ended.exit, 130);
        QVERIFY2(ended.err.contains("cancelled"), qPrintable(ended.err));
        QCOMPARE(twb.json("r.json").at("status"), "cancelled");
        QCOMPARE(m_host->runs(), QStringList());
    }

    /// A launcher that is stopped ends with 1.
    void ctrlCStopsSeveralRanksThere() {
        if (QStandardPaths::findExecutable("mpirun").isEmpty()) QSKIP("no mpirun");
        const Program twb;
        twb.save("g.twb", longGraph());
        QProcess process;
        start(process, twb,
              longRun(m_on, "1000000") << "--ranks"
                                       << "2");
        QTRY_VERIFY(m_host->processes().size() >= 2); // each rank has a second process that watches it
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process, 60000);
        QVERIFY2(ended.exit == 130, qPrintable(QString::number(ended.exit) + ended.err));
        QVERIFY2(ended.err.contains("g.twb: cancelled on there"), qPrintable(ended.err));
        QTRY_VERIFY(m_host->processes().empty());
        QCOMPARE(m_host->runs(), QStringList());
    }

    void ctrlCOfACalibrationSpeaksOfIt() {
        const Program twb;
        twb.write("ssh", "#!/bin/sh\n: > started\nexec sleep 600\n"); // it never answers
        QFile::setPermissions(twb.file("ssh"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const QByteArray ssh = qgetenv("TWB_SSH");
        qputenv("TWB_SSH", twb.file("ssh").toUtf8());
        QProcess process;
        start(process, twb, {"calibrate", "--on", "ssh:there"});
        qputenv("TWB_SSH", ssh);
        QTRY_VERIFY(twb.exists("started"));
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const Ended ended = Program::wait(process, 60000);
        QCOMPARE(ended.exit, 130);
        QVERIFY2(ended.err.contains("the calibration on there was cancelled"), qPrintable(ended.err));
    }

    void aLostConnectionIsASentenceAndTheRunGoesOn() {
        const Program twb;
        twb.save("g.twb", longGraph());
        QProcess process;
        const HeldProgram held(Program::path());
        qputenv("TWB_REMOTE_PROGRAM", held.path().toUtf8());
        start(process, twb, longRun(m_on, "100"));
        QVERIFY(m_host->isFollowed());
        m_host->cut();
        const Ended lost = Program::wait(process);
        QCOMPARE(lost.exit, 1);
        QVERIFY2(lost.err.contains("the connection to there was lost; the run goes on there"),
                 qPrintable(lost.err));
        QVERIFY(!twb.exists("r.json"));
        held.release();
        const Ended again = twb.run(longRun(m_on, "100"));
        QVERIFY2(again.exit == 0, qPrintable(again.err));
        QVERIFY2(again.err.contains("there has this run already"), qPrintable(again.err));
        QCOMPARE(twb.json("r.json").at("iterations"), 100);
        QCOMPARE(twb.json("r.json").at("host"), "there");
        QCOMPARE(m_host->runs(), QStringList());
    }

    /// The program here is killed while its ssh is about to start the run, which the same command starts,
    /// too.
    void aRunIsStartedOnce() {
        if (QStandardPaths::findExecutable("rsync").isEmpty()) QSKIP("no rsync");
        const Program twb;
        twb.save("g.twb", smallGraph());
        const auto script = [&](const char* name, const QString& text) {
            twb.write(name, text.toUtf8());
            QFile::setPermissions(twb.file(name), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        };
        // The fourth connection starts the run, after those that look for it, make its folder and copy.
        script("ssh", QString("#!/bin/sh\ncd %1; echo >> calls\n"
                              "[ $(wc -l < calls) = 4 ] || exec %2 \"$@\"\n"
                              ": > waits; while [ -e held ]; do sleep 0.05; done\n%2 \"$@\"; : > done\n")
                          .arg(twb.file(""), m_host->command()));
        script("there.sh", QString("#!/bin/sh\n[ \"$1\" = run ] && echo >> %1\nexec %2 \"$@\"\n")
                               .arg(twb.file("starts"), Program::path()));
        QDir(twb.file("")).mkdir("held");
        const QByteArray ssh = qgetenv("TWB_SSH");
        const auto restore = qScopeGuard([&] { qputenv("TWB_SSH", ssh); });
        qputenv("TWB_SSH", twb.file("ssh").toUtf8());
        qputenv("TWB_REMOTE_PROGRAM", twb.file("there.sh").toUtf8());
        QProcess first;
        start(first, twb, longRun(m_on, "1000000"));
        QTRY_VERIFY(twb.exists("waits"));
        first.kill();
        QVERIFY(first.waitForFinished());
        QProcess second;
        start(second, twb, longRun(m_on, "1000000"));
        QTRY_COMPARE(twb.read("starts").size(), 1);
        QDir(twb.file("")).rmdir("held");
        QTRY_VERIFY(twb.exists("done"));
        QCOMPARE(twb.read("starts").size(), 1);
        QVERIFY(m_host->isFollowed());
        ::kill(static_cast<pid_t>(second.processId()), SIGINT);
        QCOMPARE(Program::wait(second).exit, 130);
        QCOMPARE(twb.read("starts").size(), 1);
    }

    /// The connection, this program or the run there ends at a random moment, also while the project is
    /// copied.
    void nothingIsLostByAKill() {
        enum class Victim { connection, here, runThere, sessionThere };
        const int rounds = randomRounds(4);
        std::mt19937 random = randomMoments();
        int count = 400;
        for (int round = 0; round < rounds;) {
            const QByteArray iterations = QByteArray::number(count);
            const auto victim = static_cast<Victim>(round % 4);
            const int delay = static_cast<int>(random() % 1500);
            const QByteArray what =
                "victim " + QByteArray::number(round % 4) + " after " + QByteArray::number(delay) + " ms: ";
            const Program twb;
            twb.save("g.twb", longGraph());
            QProcess process;
            start(process, twb, longRun(m_on, iterations));
            const bool isThere = victim == Victim::runThere || victim == Victim::sessionThere;
            if (isThere) QTRY_VERIFY(!m_host->processes().empty());
            QTest::qWait(delay);
            QElapsedTimer timer;
            timer.start();
            if (victim == Victim::connection) m_host->cut();
            if (victim == Victim::here) process.kill();
            if (isThere) m_host->killRuns(victim == Victim::sessionThere);
            const Ended ended = Program::wait(process, 120000);
            // Just before the kill, or the kill came before the connection.
            const bool hasFinished = ended.exit == 0 && twb.exists("r.json");
            QVERIFY2(hasFinished || timer.elapsed() < 100000, what + QByteArray::number(timer.elapsed()));
            if (!hasFinished && victim == Victim::connection)
                QVERIFY2(ended.err.contains("the connection to there was lost") ||
                             ended.err.contains("cannot reach there by ssh") ||
                             ended.err.contains("cannot copy"),
                         what + ended.err.toUtf8());
            if (!hasFinished && isThere) {
                QCOMPARE(ended.exit, 1);
                QVERIFY2(ended.err.contains("the run on there was killed"), what + ended.err.toUtf8());
                QCOMPARE(m_host->runs(), QStringList());
            }
            // The same command ends it, whatever has been done already.
            if (!hasFinished) {
                const Ended again = twb.run(longRun(m_on, iterations), 120000);
                QVERIFY2(again.exit == 0, what + again.err.toUtf8());
            }
            QCOMPARE(twb.json("r.json").at("iterations"), count);
            QCOMPARE(twb.json("r.json").at("host"), "there");
            QTRY_COMPARE(m_host->runs(), QStringList());
            QTRY_VERIFY(m_host->processes().empty());
            // A run that ended before the kill is repeated with more iterations, however fast the machine is.
            if (hasFinished)
                count *= 2;
            else
                ++round;
        }
    }

    /// The other end of the connection is stopped, as one behind a router that has forgotten it.
    void aConnectionThatDoesNotAnswerIsLost() {
        const int rounds = randomRounds(1);
        std::mt19937 random = randomMoments();
        for (int round = 0; round < rounds; ++round) {
            const Program twb;
            twb.save("g.twb", smallGraph());
            QProcess process;
            start(process, twb, longRun(m_on, "100000000"));
            QVERIFY(m_host->isFollowed());
            QTest::qWait(static_cast<int>(random() % 1000));
            m_host->signalConnections(SIGSTOP);
            const Ended lost = Program::wait(process);
            m_host->cut(); // it would go on, once it is continued
            QCOMPARE(lost.exit, 1);
            QVERIFY2(lost.err.contains("the connection to there was lost; the run goes on there"),
                     qPrintable(lost.err));
            // The run is still there.
            const std::set<pid_t> before = m_host->followers();
            start(process, twb, longRun(m_on, "100000000"));
            QVERIFY(m_host->isFollowed(before));
            QCOMPARE(m_host->processes().size(), 1U);
            ::kill(static_cast<pid_t>(process.processId()), SIGINT);
            const Ended again = Program::wait(process);
            QCOMPARE(again.exit, 130);
            QVERIFY2(again.err.contains("there has this run already"), qPrintable(again.err));
            QCOMPARE(m_host->runs(), QStringList());
        }
    }

    void whatIsMissingIsNamed() {
        const Program twb;
        twb.save("g.twb", smallGraph());
        QCOMPARE(twb.run({"run", "g.twb", "--on", "there"}).exit, 2);
        QCOMPARE(twb.run({"run", "g.twb", "--on", "ssh:-oProxyCommand=true"}).exit, 2);
        qputenv("TWB_REMOTE_PROGRAM", "/nowhere/twb");
        const Ended none = twb.run({"run", "g.twb", "--on", m_on});
        QCOMPARE(none.exit, 5);
        QVERIFY2(none.err.contains("there has no /nowhere/twb: install Tensor Workbench there"),
                 qPrintable(none.err));
        const QString old = twb.file("old");
        twb.write("old", "#!/bin/sh\necho twb 0.0.1\n");
        QFile::setPermissions(old, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        qputenv("TWB_REMOTE_PROGRAM", old.toUtf8());
        const Ended other = twb.run({"run", "g.twb", "--on", m_on});
        QCOMPARE(other.exit, 5);
        QVERIFY2(other.err.contains("there has twb 0.0.1, but this is twb "), qPrintable(other.err));
        qputenv("TWB_REMOTE_PROGRAM", Program::path().toUtf8());
        QVERIFY(twb.run({"run", "g.twb", "--on", "ssh:nobody"}).err.contains("cannot reach nobody by ssh"));
        GraphMaker maker;
        maker.node("Probe", "seen", "cpu", {},
                   {maker.node("File", "data", "cpu", {{"path", std::string("../data.npy")}})});
        twb.save("out.twb", maker);
        const Ended outside = twb.run({"run", "out.twb", "--on", m_on});
        QCOMPARE(outside.exit, 2);
        QVERIFY(outside.err.contains("is outside of its folder"));
    }
};

TWB_TEST_MAIN(TestRemote)
#include "test_remote.moc"
