#include "backends/parent_launcher.h"
#include "support/test_main.h"

#include <array>
#include <chrono>
#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twb;

namespace {

/// How a program that waits for ever has ended.
struct End {
    int status = 0;
    QByteArray err;
};

/// Runs a program with this name whose only child tells a ParentLauncher to end it. `signals`: which signal
/// is its last; it waits for ever, so if the child has found no mpirun, this function ends it by SIGKILL.
End endOf(const char* name, int signals) {
    std::array<int, 2> err{};
    if (::pipe(err.data()) != 0) return {};
    const pid_t launcher = ::fork();
    if (launcher == 0) {
        ::prctl(PR_SET_NAME, name);
        ::dup2(err[1], STDERR_FILENO);
        static volatile std::sig_atomic_t left;
        left = signals;
        ::signal(SIGTERM, [](int) {
            left = left - 1;
            if (left == 0) ::_exit(7);
        });
        const pid_t rank = ::fork();
        if (rank == 0) {
            ::close(err[0]);
            ::close(err[1]);
            const ParentLauncher parent;
            if (parent.descriptor() < 0) ::kill(::getppid(), SIGKILL);
            parent.endAfter(std::chrono::milliseconds(10));
            ::_exit(0);
        }
        for (;;) ::pause();
    }
    ::close(err[1]);
    End out;
    ::waitpid(launcher, &out.status, 0);
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    char one = 0;
    while (::read(err[0], &one, 1) == 1) out.err += one;
    ::close(err[0]);
    return out;
}

} // namespace

class TestParentLauncher : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QCOMPARE(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }

    void anMpirunThatWaitsIsEnded_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("signals");
        for (const char* name : {"mpirun", "mpirun.openmpi", "orterun", "prterun"})
            QTest::newRow(name) << QByteArray(name) << 1;
        QTest::newRow("that asks for a second signal") << QByteArray("mpirun") << 2;
    }
    void anMpirunThatWaitsIsEnded() {
        QFETCH(const QByteArray, name);
        QFETCH(const int, signals);
        const End end = endOf(name.constData(), signals);
        QVERIFY2(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 7, QByteArray::number(end.status));
        QVERIFY2(end.err.startsWith("twb: ") && end.err.count("may wait for another machine") == 1,
                 end.err);
    }

    /// Such as a daemon that serves other jobs.
    void otherParentsGoOn() {
        const End end = endOf("orted", 1);
        QVERIFY2(WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGKILL, QByteArray::number(end.status));
        QCOMPARE(end.err, QByteArray());
    }

    void anMpirunThatEndsIsLeftAlone() {
        std::array<int, 2> end{};
        QCOMPARE(::pipe(end.data()), 0);
        const pid_t launcher = ::fork();
        if (launcher == 0) {
            ::prctl(PR_SET_NAME, "mpirun");
            ::dup2(end[1], STDERR_FILENO);
            ::signal(SIGTERM, [](int) { ::_exit(7); });
            const pid_t rank = ::fork();
            if (rank == 0) {
                const ParentLauncher parent;
                parent.endAfter(std::chrono::hours(1));
                ::_exit(0);
            }
            ::waitpid(rank, nullptr, 0);
            ::_exit(0);
        }
        ::close(end[1]);
        int status = 0;
        ::waitpid(launcher, &status, 0);
        QVERIFY(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        QVERIFY(::waitpid(-1, nullptr, 0) > 0); // the process that has waited for mpirun ends, too
        char none = 0;
        QCOMPARE(::read(end[0], &none, 1), 0);
        ::close(end[0]);
    }
};

TWB_TEST_MAIN(TestParentLauncher)
#include "test_parent_launcher.moc"
