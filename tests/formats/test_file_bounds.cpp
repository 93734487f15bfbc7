#include "core/error.h"
#include "formats/npy.h"
#include "support/test_main.h"

#include <QObject>
#include <QTemporaryDir>

#include <atomic>
#include <filesystem>
#include <thread>

using namespace twb;
namespace fs = std::filesystem;

/// Files are checked after opening, so that nothing can change between the check and the use.
class TestFileBounds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        QVERIFY(m_folder.isValid());
        fs::remove_all(root() / "project");
        fs::create_directories(root() / "project/real");
        fs::create_directories(root() / "outside");
        writeNpy(root() / "project/real/t.npy", Tensor::of<float>({1}, {1}).view());
        writeNpy(root() / "outside/t.npy", Tensor::of<float>({1}, {2}).view());
    }

    /// `project/t` alternates between a folder inside the project and one outside.
    void changingLinkNeverLeadsOutside() {
        const auto files = makeProjectFiles(root() / "project");
        fs::create_directory_symlink("real", root() / "project/t");
        std::atomic<bool> done{false};
        std::thread changing([&] {
            while (!done)
                for (const fs::path& target : {fs::path("real"), root() / "outside"}) {
                    fs::create_directory_symlink(target, root() / "project/next");
                    fs::rename(root() / "project/next", root() / "project/t");
                }
        });
        constexpr int kReads = 3000;
        int inside = 0;
        int refused = 0;
        int outside = 0;
        for (int i = 0; i < kReads; ++i) {
            const Tensor tensor = Tensor::of<float>({1}, {0});
            try {
                files->read("t/t.npy", tensor.view());
                ++(tensor.at(0) == 1 ? inside : outside);
            } catch (const Error&) {
                ++refused;
            }
            if (i % 10 != 0) continue; // writes are slow, so only a tenth of the rounds has one
            try {
                files->write("t/w.npy", tensor.view());
            } catch (const Error&) {
            }
        }
        done = true;
        changing.join();
        QCOMPARE(outside, 0);
        QVERIFY(!fs::exists(root() / "outside/w.npy"));
        QVERIFY2(inside > 0 && refused > 0, "the link hardly ever changed: the test shows nothing");
    }

    /// Links within the folder are followed.
    void aLinkThatStaysInsideIsFollowed() {
        fs::create_symlink("real/t.npy", root() / "project/link.npy");
        const auto files = makeProjectFiles(root() / "project");
        QVERIFY(files->typeOf("link.npy").shape == Shape{1});
        files->write("link.npy", Tensor::of<float>({2}, {1, 2}).view());
        QVERIFY(fs::is_symlink(root() / "project/link.npy"));
        QVERIFY(files->typeOf("real/t.npy").shape == Shape{2});
    }

private:
    fs::path root() const { return m_folder.path().toStdString(); }
    QTemporaryDir m_folder;
};

TWB_TEST_MAIN(TestFileBounds)
#include "test_file_bounds.moc"
