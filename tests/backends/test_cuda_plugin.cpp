#include "backends/cuda_plugin.h"
#include "support/test_main.h"

#include <QFile>
#include <QObject>
#include <QProcess>
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
        QVERIFY2(
            problem.contains(QLatin1String("belongs to another build (0123456789abcdef, this program: ")),
            qPrintable(problem));
        QVERIFY2(problem.contains(QLatin1String("install both from the same build")), qPrintable(problem));
    }

    /// The hash depends on every header that the interface includes, and on no other file.
    void theHashFollowsTheHeaders() {
        QTemporaryDir folder;
        const auto write = [&](const char* name, const QByteArray& text) {
            QFile file(folder.filePath(QLatin1String(name)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(text);
        };
        const auto hash = [&](const char* compiler = "GNU-12") {
            QProcess cmake;
            const QString out = folder.filePath(QStringLiteral("out.h"));
            cmake.start(QStringLiteral("cmake"), {"-DROOT=" + folder.path(), "-DHEADER=plugin.h",
                                                  QLatin1String("-DCOMPILER=") + compiler, "-DOUTPUT=" + out,
                                                  "-DDEPFILE=" + out + ".d", "-P",
                                                  TWB_SOURCE_DIR "/engine/backends/interface_hash.cmake"});
            if (!cmake.waitForFinished() || cmake.exitCode() != 0) qFatal("cmake failed");
            QFile file(out);
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        write("plugin.h", "#pragma once\n#include \"type.h\"\n#include <vector>\n");
        write("type.h", "#include \"plugin.h\"\nstruct Type { int a; };\n");
        write("other.h", "struct Other {};\n");
        const QByteArray before = hash();
        QVERIFY(before.contains("kCudaInterfaceBuild[] = \""));
        QCOMPARE(hash(), before);
        QVERIFY(hash("GNU-13") != before);
        write("other.h", "struct Other { int a; };\n");
        QCOMPARE(hash(), before);
        write("type.h", "#include \"plugin.h\"\nstruct Type { int a, b; };\n");
        QVERIFY(hash() != before);
    }

    void aLibraryThatItNeedsIsMissing() {
        const QString problem = problemOf(kLibraries / "libtwb_test_needy.so");
        QVERIFY2(problem.contains(QLatin1String("needs libtwb_test_gone.so, which is not on this machine")),
                 qPrintable(problem));
    }

    void realPluginWithoutADriver() {
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
                                                    : QLatin1String("no CUDA plugin (libtwb_cuda.so)")),
                 qPrintable(problem));
    }
};

TWB_TEST_MAIN(TestCudaPlugin)
#include "test_cuda_plugin.moc"
