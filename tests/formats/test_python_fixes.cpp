#include "formats/pytorch/capture.h"
#include "formats/pytorch/python_fixes.h"
#include "placement/analysis.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;

/// Fixes of a captured program in its own lines.
class TestPythonFixes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A script may hold data in a line of any length.
    void longLinesAreRead() {
        const Graph graph =
            importCapture(std::filesystem::path(TWB_SOURCE_DIR) / "tests/data/capture_five_faults.twbcap")
                .graph;
        const Analysis analysis = analyze(graph, DeviceMap(), Policy::strict, nullptr);
        const auto advice = [&](const std::string& first) {
            const auto fixes = pythonFixes(graph, analysis, [&first](const std::string&, int line) {
                return std::optional(line == 1 ? first : std::string("noise = torch.randn(3)"));
            });
            return fixes.empty() ? std::string() : fixes.front().advice;
        };
        const std::string data(1 << 20, 'x');
        QVERIFY2(advice("device = " + data).find("torch.randn(3, device=device)") != std::string::npos,
                 advice("device = " + data).c_str());
        for (const char* other : {"devices = ", "device == ", " device = ", "my.device = ", "device.x = "})
            QVERIFY2(advice(other + data).find("device=\"cuda:0\"") != std::string::npos, other);
    }
};

TWB_TEST_MAIN(TestPythonFixes)
#include "test_python_fixes.moc"
