#include "backends/cuda_plugin.h"
#include "backends/simulated/simulated_backend.h"
#include "core/error.h"
#include "ops/op_table.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QByteArray>
#include <QObject>
#include <QTemporaryDir>

#include <dlfcn.h>

using namespace twb;
using namespace twb::test;

#ifndef TWB_FAKE_GPUS
#define TWB_FAKE_GPUS ""
#endif

namespace {

/// The example of the interface with a CUDA kernel, and the same op in a library from before there were any.
const char* const kPlugin = TWB_BINARY_DIR "/tests/ops/twb_op_cuda.so";
const char* const kOldPlugin = TWB_BINARY_DIR "/tests/ops/twb_op_older.so";

template <class Function> Function find(const char* file, const char* name) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}
int calls() { return find<int (*)()>(kPlugin, "twb_test_calls")(); }
int misaligned() { return find<int (*)()>(kPlugin, "twb_test_misaligned")(); }

/// Random numbers, transposed, and the op, on a lane; and the result on cpu.
struct Clipped {
    GraphMaker maker;
    NodeId back;

    explicit Clipped(const char* op, double limit = 2.0, const Ints& shape = {2, 3},
                     const char* lane = "cuda:0") {
        const NodeId x = maker.node("RandomNormal", "x", lane, {{"shape", shape}, {"seed", std::int64_t{5}}});
        const NodeId turned = maker.node("Transpose", "turned", lane, {}, {x});
        const NodeId clipped = maker.node(op, "clipped", lane, {{"limit", limit}}, {turned});
        back = maker.node("To", "back", "cpu", {}, {clipped});
    }
};

} // namespace

/// CUDA kernels of plug-ins (resources/sdk/twb_op.h), on stand-ins for GPUs.
class TestCudaOpPlugins : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    CudaDevices m_gpus;

    DeviceMap devices() const {
        DeviceMap map;
        for (const auto& backend : m_gpus.backends) map.set(backend->info().device, backend, true);
        return map;
    }

private Q_SLOTS:
    void initTestCase() {
        qputenv("TWB_OPS", QByteArray(kPlugin) + ':' + kOldPlugin);
        qputenv("XDG_CACHE_HOME", m_cache.path().toUtf8());
        QVERIFY(findOp("Softclip") && findOp("SoftclipA") && findOp("SoftclipB"));
        if (QByteArray(TWB_FAKE_GPUS).isEmpty()) QSKIP("no CUDA toolkit: no stand-in for GPUs was built");
        using Enqueue = void (*)(void*, void (*)(void*), void*);
        m_gpus = loadCudaDevices(TWB_FAKE_GPUS);
        QVERIFY2(!m_gpus.backends.empty(), m_gpus.problem.c_str());
        const auto enqueue = find<Enqueue>(TWB_FAKE_GPUS, "twb_fake_enqueue");
        const auto give = find<void (*)(Enqueue)>(kPlugin, "twb_test_set_enqueue");
        QVERIFY(enqueue && give);
        give(enqueue);
    }

    /// Its input is a transposed view, which it gets row-major.
    void theKernelRunsOnTheStreamOfTheGpu() {
        const Clipped graph("Softclip");
        const int before = calls();
        const RunResult result =
            runToEnd(planOf(graph.maker.graph(), devices(), {.keep = {{graph.back, 0}}}), {.iterations = 3});
        QCOMPARE(result.status, RunStatus::finished);
        QVERIFY(calls() > before);
        QCOMPARE(misaligned(), 0);
        const Clipped onCpu("Softclip", 2.0, {2, 3}, "cpu");
        const auto expected = runToEnd(planOf(onCpu.maker.graph(), {}, {.keep = {{onCpu.back, 0}}}), {});
        const std::vector<float> y = floats(result, graph.back, devices());
        QCOMPARE(y.size(), std::size_t(6));
        QCOMPARE(y, floats(expected, onCpu.back, {}));
    }

    void aTensorWithoutElementsHasMemory() {
        const Clipped graph("Softclip", 2.0, {0, 3});
        const int before = calls();
        const auto plan = planOf(graph.maker.graph(), devices(), {.keep = {{graph.back, 0}}});
        QCOMPARE(runToEnd(plan, {}).status, RunStatus::finished);
        QVERIFY(calls() > before);
        QCOMPARE(misaligned(), 0);
    }

    void aSentenceOfTheKernelIsShown() {
        const Clipped graph("Softclip", 77.0);
        const auto plan = planOf(graph.maker.graph(), devices(), {.keep = {{graph.back, 0}}});
        const RunResult result = runToEnd(plan, {});
        QCOMPARE(result.status, RunStatus::failed);
        QVERIFY(!result.errors.empty());
        const std::string& told = result.errors.front().message;
        QVERIFY2(told.find("clipped") != std::string::npos, told.c_str());
        QVERIFY2(told.find("no kernel image is available") != std::string::npos, told.c_str());
    }

    /// A library that was built with an older header has no such field; it is usable without it.
    void anOpWithoutAKernelForGpusIsADiagnostic() {
        const Clipped graph("SoftclipA");
        const Analysis analysis = analyze(graph.maker.graph(), devices(), Policy::strict, nullptr);
        QCOMPARE(analysis.errorCount(), std::size_t(1));
        const Diagnostic& first = analysis.diagnostics.front();
        QCOMPARE(first.code, std::string("unsupported"));
        QCOMPARE(
            QString::fromStdString(first.message),
            QStringLiteral(
                "SoftclipA \"clipped\" has no kernel for f32 on cuda:0 (Fake GPU 0): the plug-in older has "
                "kernels of SoftclipA for the cpu only; move the node to a cpu lane"));
        QCOMPARE(first.fixes.size(), std::size_t(1));
    }

    void aSimulatedGpuRunsTheKernelOfTheCpu() {
        const Clipped onCpu("Softclip", 2.0, {2, 3}, "cpu");
        const auto expected = runToEnd(planOf(onCpu.maker.graph(), {}, {.keep = {{onCpu.back, 0}}}), {});
        const int before = calls();
        DeviceMap simulated;
        simulated.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), roundProfile()), true);
        for (const char* op : {"Softclip", "SoftclipA"}) {
            const Clipped graph(op);
            const auto plan = planOf(graph.maker.graph(), simulated, {.keep = {{graph.back, 0}}});
            QCOMPARE(floats(runToEnd(plan, {}), graph.back, simulated), floats(expected, onCpu.back, {}));
        }
        QCOMPARE(calls(), before);
    }
};

TWB_TEST_MAIN(TestCudaOpPlugins)
#include "test_cuda_op_plugins.moc"
