#pragma once

#include "app/program.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QStandardPaths>

#include <csignal>
#include <optional>

namespace twb::test {

/// An MPI implementation on this machine.
struct MpiLauncher {
    QString id; ///< "openmpi"
    QString program;
    QStringList arguments;
};

inline std::vector<MpiLauncher> mpiLaunchers() {
    std::vector<MpiLauncher> out;
    const auto add = [&](const char* id, const char* program, const QStringList& arguments) {
        const QString found = QStandardPaths::findExecutable(program);
        const bool hasPlugin = QFile::exists(QStringLiteral(TWB_BINARY_DIR "/lib/libtwb_mpi_%1.so").arg(id));
        if (!found.isEmpty() && hasPlugin) out.push_back({id, found, arguments});
    };
    // Open MPI refuses root and more ranks than cores, unless told otherwise.
    add("openmpi", "mpirun.openmpi", {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"});
    add("mpich", "mpiexec.mpich", {});
    return out;
}

/// For the data of a test that runs with each of them.
inline void addMpiLaunchers() {
    QTest::addColumn<int>("launcher");
    const auto all = mpiLaunchers();
    for (std::size_t i = 0; i < all.size(); ++i) QTest::newRow(qPrintable(all[i].id)) << static_cast<int>(i);
    if (all.empty()) QTest::newRow("none") << -1;
}
inline MpiLauncher chosenLauncher() {
    QFETCH(const int, launcher);
    return launcher < 0 ? MpiLauncher() : mpiLaunchers()[static_cast<std::size_t>(launcher)];
}
#define TWB_NEED_MPI                                                                                         \
    const MpiLauncher mpi = chosenLauncher();                                                                \
    if (mpi.id.isEmpty()) QSKIP("no MPI: install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev")

/// A process of a job: a rank, or the process that watches it.
struct JobProcess {
    pid_t pid = 0;
    int rank = -1;
    bool isWatch = false;
};

inline QByteArray procFile(const QString& pid, const char* name) {
    QFile file(QStringLiteral("/proc/%1/%2").arg(pid, name));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// The processes of `twb` in a folder.
inline std::vector<JobProcess> jobIn(const QString& folder) {
    std::vector<JobProcess> out;
    const QString real = QFileInfo(folder).canonicalFilePath();
    for (const QString& pid : QDir("/proc").entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
        if (!pid[0].isDigit()) continue;
        if (QFile::symLinkTarget(QStringLiteral("/proc/%1/cwd").arg(pid)) != real) continue;
        if (!QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith("/twb")) continue;
        JobProcess process{pid.toInt(), -1, procFile(pid, "comm").startsWith("twb-watch")};
        const QList<QByteArray> variables = procFile(pid, "environ").split('\0');
        // A run that a rank of a batch has started is no rank.
        const bool isRun = variables.contains("OMPI_COMM_WORLD_SIZE=") || variables.contains("PMI_SIZE=");
        for (const QByteArray& variable : variables)
            for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="})
                if (!isRun && variable.startsWith(name)) process.rank = variable.mid(qstrlen(name)).toInt();
        out.push_back(process);
    }
    return out;
}

inline std::optional<pid_t> processOf(const QString& folder, int rank) {
    for (const JobProcess& process : jobIn(folder))
        if (process.rank == rank && !process.isWatch) return process.pid;
    return std::nullopt;
}

/// `twb` on several ranks, in a Program's folder.
class Job {
public:
    Job(const Program& twb, const MpiLauncher& launcher, int ranks, const QStringList& arguments,
        const QMap<QString, QString>& variables = {})
        : Job(twb, launcher, QStringList{"-n", QString::number(ranks), Program::path()} + arguments,
              variables) {}
    Job(const Program& twb, const MpiLauncher& launcher, const QStringList& arguments,
        const QMap<QString, QString>& variables = {})
        : m_folder(twb.file("")) {
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("OMP_NUM_THREADS", "1");
        for (auto at = variables.begin(); at != variables.end(); ++at)
            environment.insert(at.key(), at.value());
        m_process.setProcessEnvironment(environment);
        m_process.setWorkingDirectory(m_folder);
        m_process.start(launcher.program, launcher.arguments + arguments);
    }
    ~Job() {
        if (m_process.state() != QProcess::NotRunning) {
            m_process.terminate();
            if (!m_process.waitForFinished(5000)) m_process.kill();
            m_process.waitForFinished();
        }
    }

    Ended wait(int timeoutMs = 120000) { return Program::wait(m_process, timeoutMs); }
    bool isRunning() {
        m_process.waitForFinished(1);
        return m_process.state() != QProcess::NotRunning;
    }
    /// The process of a rank, once it runs.
    pid_t process(int rank, int timeoutMs = 120000) {
        QElapsedTimer timer;
        for (timer.start(); timer.elapsed() < timeoutMs; QTest::qWait(20))
            if (const auto pid = processOf(m_folder, rank)) return *pid;
        return 0;
    }

private:
    QString m_folder;
    QProcess m_process;
};

/// Whether all processes of a job end in time; a watch needs a moment more than its rank.
inline bool isEmptyWithin(const QString& folder, int timeoutMs) {
    QElapsedTimer timer;
    for (timer.start(); timer.elapsed() < timeoutMs; QTest::qWait(50))
        if (jobIn(folder).empty()) return true;
    return false;
}

} // namespace twb::test
