#include "app/random_moments.h"
#include "app/rank_training.h"
#include "formats/checkpoint.h"
#include "support/test_main.h"

#include <optional>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

QStringList endlessTraining() {
    return {"--epochs", "1000000", "--quiet", "--checkpoint", "c", "--every", "5", "--report", "r.json"};
}

struct Victim {
    int rank = 0;
    pid_t process = 0;
};

/// A random rank of three that train, at a random moment after the first checkpoint; nothing if there is
/// none.
std::optional<Victim> chooseVictim(const Program& twb, Job& job, std::mt19937& random) {
    if (!waitFor([&] { return twb.exists("c/checkpoint.json"); })) return std::nullopt;
    QTest::qWait(static_cast<int>(random() % 700));
    const int rank = static_cast<int>(random() % 3);
    const pid_t process = job.process(rank);
    return process > 0 ? std::optional(Victim{rank, process}) : std::nullopt;
}

} // namespace

/// Jobs of several ranks that end with an error, or by the loss of a rank.
class TestRankEnds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        for (const char* name : {"TWB_MPI", "TWB_STALL_SECONDS"}) qunsetenv(name);
    }

    void differentGraphsEndWith3_data() { addMpiLaunchers(); }
    void differentGraphsEndWith3() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QStringList one{"-n", "1", Program::path()};
        const Ended ended = Job(twb, mpi,
                                one + training({"--epochs", "2"}) + QStringList{":"} + one +
                                    training({"--epochs", "2", "--batch", "8"}))
                                .wait();
        QCOMPARE(ended.exit, 3);
        QVERIFY2(ended.err.contains("rank 1 would not run the same graph as rank 0: ") &&
                     ended.err.contains("Batches \"data\" of rank 0 is the first that differs"),
                 qPrintable(ended.err));
    }

    /// The launcher of one implementation and the library of the other: each process would be alone.
    void theLauncherOfAnotherImplementationIsRefused_data() { addMpiLaunchers(); }
    void theLauncherOfAnotherImplementationIsRefused() {
        TWB_NEED_MPI;
        if (mpiLaunchers().size() < 2) QSKIP("this test needs Open MPI and MPICH");
        const Program twb = prepared();
        const QString other = mpi.id == "mpich" ? "openmpi" : "mpich";
        const Ended ended = Job(twb, mpi, 2, training({"--epochs", "2"}), {{"TWB_MPI", other}}).wait();
        QCOMPARE(ended.exit, 5);
        QVERIFY2(ended.err.contains("has started 2 ranks, but ") && ended.err.contains(" finds 1: "),
                 qPrintable(ended.err));
    }

    void aMissingPluginIsNamed_data() { addMpiLaunchers(); }
    void aMissingPluginIsNamed() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const Ended ended =
            Job(twb, mpi, 2, training({"--epochs", "2"}), {{"TWB_MPI", "/nowhere/plugin.so"}}).wait();
        QCOMPARE(ended.exit, 5);
        QVERIFY2(ended.err.contains("MPI plugin not found: /nowhere/plugin.so"), qPrintable(ended.err));
    }

    void anErrorOfOneRankEndsTheJob_data() { addMpiLaunchers(); }
    void anErrorOfOneRankEndsTheJob() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QStringList one{"-n", "1", Program::path()};
        Job job(twb, mpi,
                one + training({"--epochs", "9"}) + QStringList{":"} + one +
                    training({"--epochs", "9", "--set", "data.path=no.npy"}));
        const Ended ended = job.wait();
        QVERIFY2(ended.exit > 0 && ended.exit != 130, qPrintable(QString::number(ended.exit)));
        QVERIFY2(ended.err.contains("twb: rank 1 failed: ") && ended.err.contains("no.npy"),
                 qPrintable(ended.err));
        QVERIFY(isEmptyWithin(twb.file(""), 60000));
    }

    /// As in a folder where the user may not write, such as that of the installed examples.
    void aLogThatCannotBeWrittenEndsTheJob_data() { addMpiLaunchers(); }
    void aLogThatCannotBeWrittenEndsTheJob() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        twb.write("net.ranks", "a file where the folder of the logs would be");
        const Ended ended = Job(twb, mpi, 2, training()).wait();
        QCOMPARE(ended.exit, 4);
        QVERIFY2(ended.err.count("/net.ranks/rank1.log, the log of rank 1: ") == 1 &&
                     ended.err.contains("name another folder with --rank-logs"),
                 qPrintable(ended.err));
        QCOMPARE(Job(twb, mpi, 2, training({"--rank-logs", "logs"})).wait().exit, 0);
        QVERIFY(twb.read("logs/rank1.log").contains("epoch"));
    }

    void aKilledRankEndsTheJob_data() { addMpiLaunchers(); }
    void aKilledRankEndsTheJob() {
        TWB_NEED_MPI;
        std::mt19937 random = randomMoments();
        for (int round = 0; round < randomRounds(1); ++round) {
            const Program twb = prepared();
            Job job(twb, mpi, 3, training(endlessTraining()));
            const std::optional<Victim> victim = chooseVictim(twb, job, random);
            QVERIFY(victim);
            QElapsedTimer timer;
            timer.start();
            QCOMPARE(::kill(victim->process, SIGKILL), 0);
            const Ended ended = job.wait();
            // 5 s, where nothing else runs.
            QVERIFY2(timer.elapsed() < 100000, qPrintable(QString::number(timer.elapsed())));
            QVERIFY2(ended.exit != 0, qPrintable(ended.err));
            const QString wanted = QString("twb: rank %1 of 3 was killed or has ended early (process %2)")
                                       .arg(victim->rank)
                                       .arg(victim->process);
            QVERIFY2(ended.err.contains(wanted) && ended.err.contains("its last step was \""),
                     qPrintable(ended.err));
            QVERIFY(isEmptyWithin(twb.file(""), 60000));
            QVERIFY(loadCheckpoint(twb.fsPath("c")).place.steps >= 5);
            const auto report = twb.json("r.json");
            QVERIFY2(report.is_object(), qPrintable(ended.err));
            QCOMPARE(report.at("status"), "failed");
            QVERIFY(report.at("error").get<std::string>().starts_with(
                QString("rank %1").arg(victim->rank).toStdString()));
        }
    }

    /// MPI writes to the connection of a rank on another machine that was killed. The signal of that must not
    /// end the rank that writes, which would then be named instead.
    void aBrokenConnectionEndsNoRankBySignal_data() { addMpiLaunchers(); }
    void aBrokenConnectionEndsNoRankBySignal() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        Job job(twb, mpi, 2, training(endlessTraining()));
        QVERIFY(waitFor([&] { return twb.exists("c/checkpoint.json"); }));
        for (int rank = 0; rank < 2; ++rank) QCOMPARE(::kill(job.process(rank), SIGPIPE), 0);
        const auto steps = [&] { return loadCheckpoint(twb.fsPath("c")).place.steps; };
        const auto before = steps();
        QVERIFY(waitFor([&] { return !job.isRunning() || steps() > before + 10; }));
        QVERIFY(job.isRunning());
    }

    /// The launcher ends the other ranks only after the lost one was named, and leaves no file behind.
    void aLossIsNamedBeforeTheLauncherLearnsOfIt_data() { addMpiLaunchers(); }
    void aLossIsNamedBeforeTheLauncherLearnsOfIt() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        QDir().mkpath(twb.file("tmp"));
        Job job(twb, mpi, 3, training(endlessTraining()),
                {{"TWB_STALL_SECONDS", "0"}, {"TMPDIR", twb.file("tmp")}});
        QVERIFY(waitFor([&] { return twb.exists("c/checkpoint.json") || !job.isRunning(); }, 300'000));
        const auto process = [&](const char* name) -> pid_t {
            for (const JobProcess& one : jobIn(twb.file("")))
                if (one.rank == 1 && procFile(QString::number(one.pid), "comm").trimmed() == name)
                    return one.pid;
            return 0;
        };
        const pid_t watch = process("twb-watch");
        const pid_t rank = process("twb");
        const pid_t known = process("twb-watch-wait");
        QVERIFY(watch > 0 && rank > 0 && known > 0);
        QCOMPARE(::kill(watch, SIGSTOP), 0);
        QCOMPARE(::kill(rank, SIGKILL), 0);
        QVERIFY(waitFor([&] { return ::kill(rank, 0) != 0; }, 300'000));
        QCOMPARE(::kill(known, 0), 0); // the launcher would wait for it
        QVERIFY(job.isRunning());
        QCOMPARE(::kill(watch, SIGCONT), 0);
        const Ended ended = job.wait(300'000);
        QVERIFY(ended.exit != 0);
        const QString wanted =
            QString("twb: rank 1 of 3 was killed or has ended early (process %1)").arg(rank);
        QCOMPARE(ended.err.count(" was killed or has ended early"), 1);
        QVERIFY2(ended.err.contains(wanted), qPrintable(ended.err));
        QCOMPARE(twb.json("r.json").at("status"), "failed");
        QVERIFY(isEmptyWithin(twb.file(""), 60'000));
        QCOMPARE(QDir(twb.file("tmp")).entryList({"twb-ranks-*"}), QStringList());
    }

    void aStoppedRankEndsTheJob_data() { addMpiLaunchers(); }
    void aStoppedRankEndsTheJob() {
        TWB_NEED_MPI;
        std::mt19937 random = randomMoments();
        for (int round = 0; round < randomRounds(1); ++round) {
            const Program twb = prepared();
            Job job(twb, mpi, 3, training(endlessTraining()), {{"TWB_STALL_SECONDS", "3"}});
            const std::optional<Victim> victim = chooseVictim(twb, job, random);
            QVERIFY(victim);
            QElapsedTimer timer;
            timer.start();
            QCOMPARE(::kill(victim->process, SIGSTOP), 0);
            const Ended ended = job.wait();
            const qint64 took = timer.elapsed();
            ::kill(victim->process, SIGCONT);
            QVERIFY2(took > 2000, qPrintable(QString::number(took)));
            QVERIFY2(ended.exit != 0, qPrintable(ended.err));
            // Another rank may wait for the victim, be silent, too, and be missed first.
            QVERIFY2(
                (ended.err.contains(QString("twb: rank %1 has not answered for 3 s").arg(victim->rank)) ||
                 ended.err.contains(QString("; rank %1 has been silent for ").arg(victim->rank))) &&
                    ended.err.contains("its last step was \""),
                qPrintable(ended.err));
            QVERIFY(isEmptyWithin(twb.file(""), 60000));
            QVERIFY(loadCheckpoint(twb.fsPath("c")).place.steps >= 5);
            QCOMPARE(twb.json("r.json").at("status"), "failed");
        }
    }

    /// A rank that another library ends with exit code 0: the report says so, whatever the launcher returns.
    void aRankThatLeavesFailsTheRun_data() { addMpiLaunchers(); }
    void aRankThatLeavesFailsTheRun() {
        TWB_NEED_MPI;
        const Program twb = prepared();
        const QString counter =
            QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_test_mpi_counter_%1.so").arg(mpi.id);
        Job job(twb, mpi, 3, training({"--epochs", "1000", "--quiet", "--report", "r.json"}),
                {{"LD_PRELOAD", counter}, {"TWB_MPI_LEAVE", "1:150"}});
        const Ended ended = job.wait();
        QVERIFY2(ended.err.contains("twb: rank 1 of 3 was killed or has ended early"), qPrintable(ended.err));
        QVERIFY(isEmptyWithin(twb.file(""), 60000));
        QCOMPARE(twb.json("r.json").at("status"), "failed");
        QVERIFY(twb.json("r.json").at("error").get<std::string>().starts_with("rank 1 "));
    }
};

TWB_TEST_MAIN(TestRankEnds)
#include "test_rank_ends.moc"
