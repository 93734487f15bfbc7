#include "core/error.h"
#include "formats/project.h"
#include "support/test_main.h"

#include <QDir>
#include <QTemporaryDir>

#include <csignal>
#include <random>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace twb;
namespace fs = std::filesystem;

class TestAtomicSave : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    fs::path path(const char* name) const { return fs::path(m_folder.path().toStdString()) / name; }

    /// A graph in which every part has the value `n`, so that a mixture of two saves would show.
    static Graph graph(int n) {
        Graph graph;
        Delta delta;
        delta.info = Change<GraphInfo>{graph.info(), GraphInfo{std::to_string(n), "", Policy::strict, 1, {}}};
        delta.lanes.push_back({std::nullopt, Lane{LaneId(1), Device::cpu(), "", 0, 0}});
        for (std::uint64_t i = 1; i <= 300; ++i)
            delta.nodes.push_back(
                {std::nullopt, Node{NodeId(i), "Relu", std::to_string(n), LaneId(1), FrameId::none, {}, {}}});
        graph.apply(delta);
        return graph;
    }

    QStringList entries() const {
        return QDir(m_folder.path()).entryList(QDir::Files | QDir::Hidden | QDir::System, QDir::Name);
    }

private Q_SLOTS:
    void init() {
        for (const QString& name : entries()) QFile::remove(QDir(m_folder.path()).filePath(name));
    }

    void saveAndLoad() {
        saveProject(graph(1), path("a.twb"));
        saveProject(graph(2), path("a.twb"));
        QVERIFY(loadProject(path("a.twb")) == graph(2));
        QCOMPARE(entries(), QStringList{QStringLiteral("a.twb")});
    }

    void killedWhileSavingLosesNothing() {
        const fs::path file = path("killed.twb");
        saveProject(graph(0), file);
        std::mt19937 random(5);
        std::set<std::string> seen;
        constexpr int kKills = 60;
        for (int round = 0; round < kKills; ++round) {
            int saved[2];
            QCOMPARE(::pipe(saved), 0);
            const pid_t child = ::fork();
            QVERIFY(child >= 0);
            if (child == 0) {
                for (int n = 1;; ++n) {
                    saveProject(graph(round * 1000 + n), file);
                    if (::write(saved[1], "", 1) != 1) ::_exit(1);
                }
            }
            // The kill comes after a few saves, at a random point within one.
            char done = 0;
            for (long left = random() % 4; left >= 0; --left)
                QCOMPARE(::read(saved[0], &done, 1), ssize_t(1));
            ::usleep(random() % 3000);
            ::kill(child, SIGKILL);
            ::close(saved[0]);
            ::close(saved[1]);
            int status = 0;
            QCOMPARE(::waitpid(child, &status, 0), child);
            QVERIFY(WIFSIGNALED(status)); // the process was still saving and had not failed
            const Graph after = loadProject(file);
            QVERIFY(after == graph(std::stoi(after.info().title)));
            seen.insert(after.info().title);
        }
        QVERIFY2(seen.size() > kKills / 4,
                 "the children hardly ever finished a save: the test shows nothing");
    }

    void permissionsAndLinksStay() {
        saveProject(graph(1), path("real.twb"));
        QCOMPARE(::chmod(path("real.twb").c_str(), 0640), 0);
        fs::create_symlink("real.twb", path("link.twb"));
        saveProject(graph(2), path("link.twb"));
        QVERIFY(fs::is_symlink(path("link.twb")));
        QVERIFY(loadProject(path("real.twb")) == graph(2));
        struct stat status {};
        QCOMPARE(::stat(path("real.twb").c_str(), &status), 0);
        QCOMPARE(status.st_mode & 07777, mode_t(0640));
    }

    void newFilesFollowTheUmask() {
        const mode_t before = ::umask(027);
        saveProject(graph(1), path("new.twb"));
        ::umask(before);
        struct stat status {};
        QCOMPARE(::stat(path("new.twb").c_str(), &status), 0);
        QCOMPARE(status.st_mode & 07777, mode_t(0640));
    }

    void aFailedWriteLeavesTheOldFile() {
        const fs::path file = path("full.twb");
        saveProject(graph(1), file);
        // A file size limit stands in for a full disk.
        const pid_t child = ::fork();
        QVERIFY(child >= 0);
        if (child == 0) {
            ::signal(SIGXFSZ, SIG_IGN);
            const rlimit limit{1000, 1000};
            ::setrlimit(RLIMIT_FSIZE, &limit);
            try {
                saveProject(graph(2), file);
                ::_exit(1);
            } catch (const Error& e) {
                const std::string said = e.what();
                ::_exit(e.code() == ErrorCode::io &&
                                said.find("full.twb cannot be written: ") != std::string::npos
                            ? 0
                            : 2);
            }
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        QVERIFY(WIFEXITED(status));
        QCOMPARE(WEXITSTATUS(status), 0);
        QVERIFY(loadProject(file) == graph(1));
        QCOMPARE(entries(), QStringList{QStringLiteral("full.twb")});
    }

    void unwritablePathsAreReported() {
        const auto refusal = [](const fs::path& file) -> QString {
            try {
                saveProject(graph(1), file);
                return {};
            } catch (const Error& e) {
                return QString::fromStdString(e.what());
            }
        };
        QVERIFY(refusal(path("no folder/a.twb")).contains(QLatin1String("No such file")));
        fs::create_directory(path("folder.twb"));
        QVERIFY(refusal(path("folder.twb")).contains(QLatin1String("cannot be written")));
        QVERIFY(refusal("/proc/a.twb").contains(QLatin1String("/proc/a.twb cannot be written")));
    }

    void aProtectedFileStays() {
        if (::geteuid() == 0) QSKIP("root may write anywhere: permissions are not tested");
        saveProject(graph(1), path("protected.twb"));
        ::chmod(path("protected.twb").c_str(), 0444);
        QVERIFY_EXCEPTION_THROWN(saveProject(graph(2), path("protected.twb")), Error);
        QVERIFY(loadProject(path("protected.twb")) == graph(1));
    }

    void unreadableFilesAreReported() {
        const auto refusal = [](const fs::path& file) -> QString {
            try {
                loadProject(file);
                return {};
            } catch (const Error& e) {
                return QString::fromStdString(e.what());
            }
        };
        QVERIFY(refusal(path("none.twb")).contains(QLatin1String("none.twb cannot be read: No such file")));
        QVERIFY(refusal(m_folder.path().toStdString()).contains(QLatin1String("it is not a file")));
        // A sparse file, which uses no disk space.
        {
            QFile huge(QString::fromStdString(path("huge.twb").string()));
            QVERIFY(huge.open(QIODevice::WriteOnly));
            QVERIFY(huge.resize((qint64(1) << 30) + 1));
        }
        QVERIFY(refusal(path("huge.twb"))
                    .contains(QLatin1String("it has 1073741825 bytes, but the limit is 1073741824")));
        QCOMPARE(::mkfifo(path("pipe.twb").c_str(), 0600), 0);
        QVERIFY(refusal(path("pipe.twb")).contains(QLatin1String("it is not a file")));
    }
};

TWB_TEST_MAIN(TestAtomicSave)
#include "test_atomic_save.moc"
