#include "backends/cuda/kernels/emulated_blocks.h"
#include "formats/project.h"
#include "runtime/runs.h"
#include "support/cuda_host_backend.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <cmath>

using namespace twb;
using namespace twb::test;

namespace {

/// The tensors of the graph's Probes, by name.
std::map<std::string, std::vector<double>> probesOf(const Graph& graph, const DeviceMap& map) {
    std::map<std::string, PortRef> sources;
    std::set<PortRef> keep;
    for (const Node& node : graph.nodes())
        if (node.op == "Probe") keep.insert(sources[node.name] = *graph.sourceOf({node.id, 0}));
    const RunResult result =
        runToEnd(planOf(graph, map, {.policy = Policy::implicit, .fuse = false, .keep = keep}), {});
    if (result.status != RunStatus::finished) qFatal("%s", result.errors.at(0).message.c_str());
    std::map<std::string, std::vector<double>> out;
    for (const auto& [name, source] : sources) out[name] = valuesOf(toHost(*result.tensor(source), map));
    return out;
}

} // namespace

/// Runs the graphs of tests/gpu.sh with the GPU's kernels on the host and compares them with the cpu.
class TestGpuGraphs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void resultsEqualTheCpus_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("inBlocks");
        for (const char* file : {"kernels", "large_sizes", "transfers"})
            QTest::addRow("%s", file) << file << false;
        for (const char* file : {"kernels", "large_sizes"})
            QTest::addRow("%s, in blocks", file) << file << true;
    }

    /// Each f32 sum of 512 products of standard normal numbers is within 1e-4 of the exact one, so two sums
    /// in different orders differ by 2e-4 at most. Rounded to 16 bits, they may differ by a unit in the last
    /// place of the product, which may be twice as large as the result after an addition.
    void resultsEqualTheCpus() {
        QFETCH(QString, file);
        QFETCH(bool, inBlocks);
        if (inBlocks) cuda::emulateBlocks(); // permanently, and so do all rows after it
        const Graph graph =
            loadProject(std::filesystem::path(TWB_SOURCE_DIR) / "tests/gpu" / (file.toStdString() + ".twb"));
        const auto wanted = probesOf(graph, simulatedMap());
        DeviceMap map;
        map.set(Device::cuda(0), makeCudaHostBackend(Device::cuda(0)), true);
        const auto got = probesOf(graph, map);
        QVERIFY(wanted.size() > 5);
        for (const auto& [name, values] : wanted) {
            const std::vector<double>& others = got.at(name);
            QCOMPARE(others.size(), values.size());
            const QString label = QString::fromStdString(name);
            const double tolerance = label.contains("bf16") ? 0x1p-6 : label.contains("f16") ? 0x1p-9 : 2e-4;
            for (std::size_t i = 0; i < values.size(); ++i) {
                const bool isNear =
                    std::fabs(others[i] - values[i]) <= tolerance * (1 + std::fabs(values[i]));
                QVERIFY2(isNear || (std::isnan(others[i]) && std::isnan(values[i])),
                         qPrintable(QStringLiteral("%1, element %2: %3, and on the cpu %4")
                                        .arg(name.c_str())
                                        .arg(i)
                                        .arg(others[i])
                                        .arg(values[i])));
            }
        }
    }
};

TWB_TEST_MAIN(TestGpuGraphs)
#include "test_gpu_graphs.moc"
