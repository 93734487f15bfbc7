#pragma once

#include <QDeadlineTimer>
#include <QDir>
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <functional>
#include <map>
#include <set>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace twb::test {

/// A machine "there" that ssh reaches; another one, "nobody", it does not.
class RemoteHost {
public:
    /// No run outlives its host.
    virtual ~RemoteHost() { killRuns(true); }
    /// Ends all connections, but not the runs.
    virtual void cut() const = 0;

    QString folder() const { return file(QStringLiteral("there")); } ///< on the host
    QStringList runs() const { return QDir(folder()).entryList(QDir::Dirs | QDir::NoDotAndDotDot); }
    /// The programs of runs there.
    std::set<pid_t> processes() const { return programsIn(QLatin1String("/twb")); }
    /// The programs that show the output of a run to a connection; that of a lost one stays until it writes.
    std::set<pid_t> followers() const { return programsIn(QLatin1String("/tail")); }
    /// Waits until a connection, other than those of before, shows the output of a run.
    bool isFollowed(const std::set<pid_t>& before = {}) const {
        return QTest::qWaitFor(
            [&] {
                const std::set<pid_t> now = followers();
                return std::any_of(now.begin(), now.end(), [&](pid_t p) { return !before.contains(p); });
            },
            60'000);
    }
    /// Kills the program of each run or, with its shell, its whole session.
    void killRuns(bool withSession) const {
        for (const pid_t pid : processes()) ::kill(withSession ? -::getsid(pid) : pid, SIGKILL);
    }
    /// Cuts the connections while the program of each run is stopped, so that no run ends before the cut.
    void cutBesideRuns() const {
        whileRunsWait([this] { cut(); });
    }
    void whileRunsWait(const std::function<void()>& work) const {
        const std::set<pid_t> programs = processes();
        for (const pid_t pid : programs) ::kill(pid, SIGSTOP);
        work();
        for (const pid_t pid : programs) ::kill(pid, SIGCONT);
    }
    /// "HOST:PATH" of the folder.
    QString place() const { return QStringLiteral("there:") + folder(); }

protected:
    QString file(const QString& name) const { return m_folder.filePath(name); }
    void write(const QString& name, const QString& text) const {
        QFile out(file(name));
        if (out.open(QIODevice::WriteOnly)) out.write(text.toUtf8());
    }

private:
    /// The processes in the folder of a run whose program's file ends like this.
    std::set<pid_t> programsIn(QLatin1String end) const {
        std::set<pid_t> out;
        for (const QString& pid : QDir(QStringLiteral("/proc")).entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            if (pid[0].isDigit() &&
                QFile::symLinkTarget(QStringLiteral("/proc/%1/cwd").arg(pid))
                    .startsWith(folder() + QLatin1Char('/')) &&
                QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith(end))
                out.insert(pid.toInt());
        return out;
    }

    QTemporaryDir m_folder;
};

/// A program for TWB_REMOTE_PROGRAM: `twb`, but its runs wait for release(), or for the end of this object.
class HeldProgram {
public:
    explicit HeldProgram(const QString& twb) {
        QFile script(path());
        if (script.open(QIODevice::WriteOnly))
            script.write(QStringLiteral("#!/bin/sh\n"
                                        "[ \"$1\" = run ] && while [ -e %1 ]; do sleep 0.05; done\n"
                                        "exec %2 \"$@\"\n")
                             .arg(gate(), twb)
                             .toUtf8());
        script.close();
        QDir().mkpath(gate());
        script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }
    QString path() const { return m_folder.filePath(QStringLiteral("twb.sh")); }
    void release() const { QDir().rmdir(gate()); }

private:
    QString gate() const { return m_folder.filePath(QStringLiteral("held")); }

    QTemporaryDir m_folder;
};

/// An sshd of the test's own, on the loopback, with keys of its own.
class SshHost final : public RemoteHost {
public:
    SshHost() {
        const QString sshd = QStringLiteral("/usr/sbin/sshd");
        if (!QFile::exists(sshd) || QStandardPaths::findExecutable(QStringLiteral("ssh")).isEmpty() ||
            QStandardPaths::findExecutable(QStringLiteral("ssh-keygen")).isEmpty())
            return;
        if (::geteuid() == 0) QDir().mkpath(QStringLiteral("/run/sshd")); // where sshd gives up its rights
        for (const QString& key : {QStringLiteral("host"), QStringLiteral("user")}) {
            QProcess make;
            make.start(QStringLiteral("ssh-keygen"),
                       QStringLiteral("-q -t ed25519 -f").split(QLatin1Char(' '))
                           << file(key) << QStringLiteral("-N") << QString());
            if (!make.waitForFinished() || make.exitCode() != 0) return;
        }
        QDir().mkpath(file(QStringLiteral("home")));
        // Another program may take a free port before sshd does.
        const QDeadlineTimer end(60'000);
        for (int attempt = 0; attempt < 5 && !m_isUp && !end.hasExpired(); ++attempt)
            m_isUp = start(sshd, freePort(), end);
    }
    ~SshHost() override {
        m_sshd.terminate();
        m_sshd.waitForFinished();
    }

    bool isUp() const { return m_isUp; }
    QString command() const { return QStringLiteral("ssh -F ") + file(QStringLiteral("ssh_config")); }
    void cut() const override { signalConnections(SIGKILL); }
    /// Of some versions of sshd, a child of its child has the connection.
    void signalConnections(int signal) const {
        std::multimap<qint64, pid_t> servers; // by parent: the processes of sshd
        for (const QString& pid :
             QDir(QStringLiteral("/proc")).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
            QFile stat(QStringLiteral("/proc/%1/stat").arg(pid));
            if (!pid[0].isDigit() || !stat.open(QIODevice::ReadOnly)) continue;
            const QByteArray text = stat.readAll(); // "PID (NAME) STATE PARENT …"
            const QList<QByteArray> fields = text.mid(text.lastIndexOf(')') + 2).split(' ');
            if (text.contains("(sshd")) servers.emplace(fields.value(1).toLongLong(), pid.toInt());
        }
        std::vector<qint64> parents{m_sshd.processId()};
        while (!parents.empty()) {
            const auto [first, end] = servers.equal_range(parents.back());
            parents.pop_back();
            for (auto it = first; it != end; ++it) {
                parents.push_back(it->second);
                ::kill(it->second, signal);
            }
        }
    }

private:
    /// False if sshd does not get the port, or nobody can log in before `end`.
    bool start(const QString& sshd, int port, QDeadlineTimer end) {
        write(QStringLiteral("sshd_config"),
              QStringLiteral("Port %1\nListenAddress 127.0.0.1\nHostKey %2\nAuthorizedKeysFile %3\n"
                             "StrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                             "PermitRootLogin prohibit-password\nPidFile none\nSubsystem sftp internal-sftp\n"
                             "SetEnv %4\n")
                  .arg(port)
                  .arg(file(QStringLiteral("host")), file(QStringLiteral("user.pub")), environment()));
        write(QStringLiteral("ssh_config"),
              QStringLiteral("Host there\n  HostName 127.0.0.1\n  Port %1\n  IdentityFile %2\n"
                             "  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile %3\n"
                             "  LogLevel ERROR\n"
                             "Host nobody\n  HostName 127.0.0.1\n  Port 1\n")
                  .arg(port)
                  .arg(file(QStringLiteral("user")), file(QStringLiteral("known"))));
        m_sshd.setStandardErrorFile(QProcess::nullDevice()); // nobody reads it
        m_sshd.start(sshd, {QStringLiteral("-D"), QStringLiteral("-e"), QStringLiteral("-f"),
                            file(QStringLiteral("sshd_config"))});
        if (!m_sshd.waitForStarted()) return false;
        // A connection that comes before sshd listens is refused. Without a port sshd ends.
        while (m_sshd.state() == QProcess::Running && !end.hasExpired()) {
            QProcess ssh;
            ssh.start(QStringLiteral("ssh"), {QStringLiteral("-F"), file(QStringLiteral("ssh_config")),
                                              QStringLiteral("there"), QStringLiteral("true")});
            if (ssh.waitForFinished(int(end.remainingTime())) && ssh.exitCode() == 0) return true;
            ssh.kill();
            ssh.waitForFinished();
            m_sshd.waitForFinished(50);
        }
        m_sshd.kill();
        m_sshd.waitForFinished();
        return false;
    }

    /// What runs there need: sshd passes no environment on. The home is empty, since the files that a shell
    /// reads at a login may take a minute.
    QString environment() const {
        QStringList out{QStringLiteral("HOME=") + file(QStringLiteral("home")),
                        QStringLiteral("OMPI_ALLOW_RUN_AS_ROOT=1"),
                        QStringLiteral("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")};
        for (const char* name : {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMPI_MCA_rmaps_base_oversubscribe",
                                 "PRTE_MCA_rmaps_default_mapping_policy", "TWB_CUDA_PLUGIN", "TWB_OPS"})
            if (qEnvironmentVariableIsSet(name))
                out << QStringLiteral("%1=%2").arg(QString::fromLatin1(name), qEnvironmentVariable(name));
        return out.join(QLatin1Char(' '));
    }

    static int freePort() {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
        ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
        ::close(listener);
        return ntohs(address.sin_port);
    }

    QProcess m_sshd;
    bool m_isUp = false;
};

/// A stand-in for ssh, the first one in the PATH: runs the command on this machine.
class StandInHost final : public RemoteHost {
public:
    StandInHost() : m_path(qgetenv("PATH")) {
        QDir().mkpath(file(QStringLiteral("bin")));
        const QString ssh = QStringLiteral("bin/ssh");
        write(ssh, QStringLiteral("#!/bin/sh\n"
                                  "while [ \"${1#-}\" != \"$1\" ]; do [ \"$1\" = -o ] && shift; shift; done\n"
                                  "host=$1; shift\n"
                                  "[ \"$host\" = slow ] && exec sleep 100\n"
                                  "[ \"$host\" = there ] || exit 255\n"
                                  "echo $$ >> %1\n"
                                  "sh -c \"$*\"\n")
                       .arg(file(QStringLiteral("connections"))));
        QFile::setPermissions(file(ssh), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        qputenv("PATH", (file(QStringLiteral("bin")) + QLatin1Char(':')).toLocal8Bit() + m_path);
    }
    ~StandInHost() override { qputenv("PATH", m_path); }

    void cut() const override {
        QFile connections(file(QStringLiteral("connections")));
        if (!connections.open(QIODevice::ReadOnly)) return;
        // Each has a process group of its own.
        for (const QByteArray& pid : connections.readAll().split('\n'))
            if (pid.toInt() > 1) ::kill(-pid.toInt(), SIGKILL);
    }

private:
    const QByteArray m_path;
};

} // namespace twb::test
