#include "backends/cuda_plugin.h"
#include "support/test_main.h"

#include <QFile>
#include <QObject>
#include <QTemporaryDir>

#include <dlfcn.h>

using namespace twb;
namespace fs = std::filesystem;

namespace {

const fs::path kLibraries = fs::path(TWB_BINARY_DIR) / "lib";
const fs::path kReal = kLibraries / "libtwb_cuda.so";

QString problemOf(const fs::path& plugin) {
    const CudaDevices devices = loadCudaDevices(plugin);
    return devices.backends.empty() ? QString::fromStdString(devices.problem) : QString();
}

bool hasDriver() {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (driver) dlclose(driver);
    return driver != nullptr;
}

} // namespace

/// Each reason for a missing GPU has its own message.
class TestCudaPlugin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void noFile() {
        QCOMPARE(problemOf("/nowhere/libtwb_cuda.so"),
                 QStringLiteral("CUDA plugin not found: /nowhere/libtwb_cuda.so"));
    }

    void noLibraryAtAll() {
        QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("libtwb_cuda.so"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("this is no library");
        file.close();
        const QString problem = problemOf(path.toStdString());
        QVERIFY2(problem.contains(QLatin1String("cannot be loaded: ")), qPrintable(problem));
        QVERIFY2(problem.contains(path), qPrintable(problem));
    }

    void aLibraryThatIsNoPlugin() {
        const QString problem = problemOf(kLibraries / "libtwb_test_no_plugin.so");
        QVERIFY2(problem.endsWith(QLatin1String("is not a CUDA plugin of Tensor Workbench")),
                 qPrintable(problem));
    }

    void anotherInterface() {
        const QString problem = problemOf(kLibraries / "libtwb_test_other_interface.so");
        QVERIFY2(problem.contains(QLatin1String("has interface 999, but this program needs ")),
                 qPrintable(problem));
        QVERIFY2(problem.contains(QLatin1String("install both from the same build")), qPrintable(problem));
    }

    void aLibraryThatItNeedsIsMissing() {
        const QString problem = problemOf(kLibraries / "libtwb_test_needy.so");
        QVERIFY2(problem.contains(QLatin1String("needs libtwb_test_gone.so, which is not on this machine")),
                 qPrintable(problem));
    }

    void theRealOneWithoutADriver() {
        if (!fs::exists(kReal)) QSKIP("skipped: no CUDA toolkit, so no plugin was built");
        if (hasDriver()) QSKIP("skipped: this machine has a driver");
        const QString problem = problemOf(kReal);
        QVERIFY2(problem.startsWith(QLatin1String("no NVIDIA driver is running")), qPrintable(problem));
    }

    void thisMachinesDevicesAreFoundOnce() {
        qunsetenv("TWB_CUDA_PLUGIN");
        const CudaDevices& devices = cudaDevices();
        QCOMPARE(devices.backends.empty(), !devices.problem.empty());
        QCOMPARE(&cudaDevices(), &devices);
        if (hasDriver()) QSKIP("skipped: this machine has a driver");
        const QString problem = QString::fromStdString(devices.problem);
        QVERIFY2(problem.contains(fs::exists(kReal) ? QLatin1String("NVIDIA driver not found")
                                                    : QLatin1String("this build has no CUDA plugin")),
                 qPrintable(problem));
    }
};

TWB_TEST_MAIN(TestCudaPlugin)
#include "test_cuda_plugin.moc"
