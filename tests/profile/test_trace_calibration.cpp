#include "core/error.h"
#include "profile/kineto_costs.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"
#include "profile/trace_calibration.h"
#include "support/test_main.h"

#include <nlohmann/json.hpp>

#include <cmath>

using namespace twb;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kTraces = fs::path(TWB_SOURCE_DIR) / "tests/data/traces";

DeviceProfile base(const char* id) { return ProfileLibrary(resourceFolder() / "devices").at(id); }

/// A trace of cuda:1, a "Test GPU", with the given link, memory and peak.
class KnownDevice {
public:
    /// `memory`: "Pinned" or "Pageable".
    void copy(const std::string& memory, bool toDevice, double bytes, double us) {
        const std::string name =
            toDevice ? "Memcpy HtoD (" + memory + " -> Device)" : "Memcpy DtoH (Device -> " + memory + ")";
        add("gpu_memcpy", name, us, {{"bytes", std::uint64_t(bytes)}});
    }
    /// An op that launches one kernel.
    void op(const std::string& name, const char* dims, const char* types, double us) {
        m_events.push_back(
            {{"ph", "X"},
             {"cat", "cpu_op"},
             {"name", name},
             {"pid", 1},
             {"tid", 1},
             {"ts", m_called},
             {"dur", 1},
             {"args", {{"Input Dims", json::parse(dims)}, {"Input type", json::parse(types)}}}});
        add("kernel", "k", us, json::object());
    }
    KinetoTrace trace() const {
        return parseKinetoTrace(
            json{{"deviceProperties", {{{"id", 1}, {"name", "Test GPU"}, {"totalGlobalMem", 1000}}}},
                 {"traceEvents", m_events}}
                .dump(),
            "t.json");
    }

private:
    /// All launches come first; the device then works without a pause, with 2 µs between activities.
    void add(const std::string& category, const std::string& name, double us, json arguments) {
        arguments["correlation"] = ++m_correlation;
        m_events.push_back({{"ph", "X"},
                            {"cat", "cuda_runtime"},
                            {"name", "cudaLaunchKernel"},
                            {"pid", 1},
                            {"tid", 1},
                            {"ts", m_called + 0.2},
                            {"dur", 0.5},
                            {"args", {{"correlation", m_correlation}}}});
        m_called += 1;
        arguments["device"] = 1;
        arguments["stream"] = 7;
        m_events.push_back({{"ph", "X"},
                            {"cat", category},
                            {"name", name},
                            {"pid", 1},
                            {"tid", 7},
                            {"ts", m_start},
                            {"dur", us},
                            {"args", std::move(arguments)}});
        m_start += us + 2;
    }

    json m_events = json::array();
    double m_called = 0;
    double m_start = 1000;
    int m_correlation = 0;
};

} // namespace

/// Device profiles from traces.
class TestTraceCalibration : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fitFindsLatencyAndBandwidth() {
        std::vector<MeasuredCopy> copies;
        for (const double bytes : {1e3, 1e5, 1e6, 5e7}) copies.push_back({bytes, 7000 + bytes / 12});
        const auto fit = fitLink(copies);
        QVERIFY(fit);
        QVERIFY(std::abs(fit->latencyNs - 7000) < 1);
        QVERIFY(std::abs(fit->gbPerSecond - 12) < 0.01);
        // Alike sizes do not tell a latency from a bandwidth, nor do times that fall with the size.
        QVERIFY(!fitLink(std::vector<MeasuredCopy>{{1e6, 1e5}, {2e6, 2e5}}));
        QVERIFY(!fitLink(std::vector<MeasuredCopy>{{1e3, 1e5}, {2e6, 2e3}}));
        QVERIFY(!fitLink({}));
    }

    void figuresOfAKnownDeviceAreFound() {
        KnownDevice device;
        for (const double bytes : {4e3, 1e6, 4e7}) {
            device.copy("Pinned", true, bytes, 5 + bytes / 20e3);
            device.copy("Pinned", false, bytes, 7 + bytes / 22e3);
            device.copy("Pageable", true, bytes, 10 + bytes / 6e3);
        }
        for (int i = 0; i < 20; ++i) device.op("aten::relu", "[[4]]", R"(["float"])", 1);
        device.op("aten::add", "[[8000000],[8000000],[]]", R"(["float","float","Scalar"])",
                  1 + 96'000 / 500.0);
        device.op("aten::mm", "[[1024,512],[512,2048]]", R"(["c10::Half","c10::Half"])",
                  1 + 2.0 * 1024 * 512 * 2048 / 30e6);
        const Calibration out = calibrateFromTrace(device.trace(), base("t4"), 1);
        const DeviceProfile& p = out.profile;
        QCOMPARE(p.name, std::string("Test GPU"));
        QCOMPARE(p.id, std::string("test-gpu-traced"));
        QCOMPARE(p.memoryBytes, std::uint64_t(1000));
        QVERIFY(std::abs(p.linkPinnedGBps - 21) < 0.01);
        QVERIFY(std::abs(p.linkLatencyUs - 6) < 0.01);
        QVERIFY(std::abs(p.linkPageableGBps - 6) < 0.01);
        QVERIFY(std::abs(p.pageableLatencyUs - 10) < 0.01);
        QVERIFY(std::abs(p.memoryGBps - 500) < 0.1);
        QVERIFY(std::abs(p.peakGflops[std::size_t(DType::f16)] - 30'000) < 1);
        QVERIFY(std::abs(p.launchUs - 3) < 0.01); // gaps of 2 µs and kernels of 1 µs
        // What the trace does not have is the base's, and says so.
        QCOMPARE(p.peakGflops[std::size_t(DType::f32)], base("t4").peakGflops[std::size_t(DType::f32)]);
        QVERIFY(p.sources.at("peak_tflops.f32").starts_with("not in the trace; value of NVIDIA T4: "));
        QVERIFY(p.sources.at("peak_tflops.f16").starts_with("measured by PyTorch's profiler, t.json"));
        QCOMPARE(p.copyError->count, 9);
        QVERIFY(p.copyError->worst < 0.25); // the directions differ by up to 2 µs of 5
        QCOMPARE(p.kernelError->count, 22);
        QVERIFY(p.kernelError->median < 0.01);
        const DeviceProfile back = parseProfile(profileJson(p), "saved");
        QCOMPARE(back.linkPinnedGBps, p.linkPinnedGBps);
        QVERIFY(back.kernelError.has_value());
    }

    /// Kernels have a fixed time beside that of their work, also if none was queued behind another one.
    void fixedTimeOfKernelsIsFitted() {
        KnownDevice device;
        for (int i = 1; i <= 9; ++i) {
            const std::string n = std::to_string(1'000'000 * i);
            device.op("aten::relu", ("[[" + n + "]]").c_str(), R"(["float"])", 4 + 8e3 * i / 250);
        }
        device.op("aten::relu", "[[20000000]]", R"(["float"])", 4 + 160e3 / 250);
        // A shape that moves more than it computes tells nothing about the arithmetic.
        device.op("aten::mm", "[[1,512],[512,2048]]", R"(["float","float"])", 90);
        const DeviceProfile p = calibrateFromTrace(device.trace(), base("t4"), 1).profile;
        QVERIFY2(std::abs(p.launchUs - 6) < 0.1, qPrintable(QString::number(p.launchUs))); // a gap of 2 µs
        QVERIFY(std::abs(p.memoryGBps - 250) < 1);
        QCOMPARE(p.peakGflops[std::size_t(DType::f32)], base("t4").peakGflops[std::size_t(DType::f32)]);
        QVERIFY(p.kernelError->median < 0.01);
    }

    /// Copies of one size tell the figure that dominates their time.
    void copiesOfOneSizeGiveOneFigure() {
        KnownDevice small;
        for (int i = 0; i < 3; ++i) small.copy("Pinned", false, 1, 2.5);
        const DeviceProfile quick = calibrateFromTrace(small.trace(), base("t4"), 1).profile;
        QVERIFY(std::abs(quick.linkLatencyUs - 2.5) < 0.01);
        QCOMPARE(quick.linkPinnedGBps, base("t4").linkPinnedGBps);
        QVERIFY(quick.copyError->worst < 0.01);
        KnownDevice large;
        for (int i = 0; i < 3; ++i) large.copy("Pageable", true, 1e8, 1e5 / 5 + base("t4").pageableLatencyUs);
        const DeviceProfile wide = calibrateFromTrace(large.trace(), base("t4"), 1).profile;
        QVERIFY(std::abs(wide.linkPageableGBps - 5) < 0.01);
        QCOMPARE(wide.pageableLatencyUs, base("t4").pageableLatencyUs);
    }

    /// Of 41 kernels of one inference, most are far shorter than the arithmetic of their products tells.
    void kernelsOfAnH100AreModelledByTheirFixedTime() {
        const Calibration out = calibrateFromTrace(
            readKinetoTrace(kTraces / "h100-bert-small-inference.json.gz"), base("h100"), 0);
        QCOMPARE(out.profile.kernelError->count, 41);
        QVERIFY(out.profile.kernelError->median < 0.15);
        QVERIFY(out.profile.copyError->median < 0.01);
    }

    /// A V100 has 900 GB/s and PCIe 3.0 x16.
    void v100HasPlausibleFigures() {
        const Calibration out = calibrateFromTrace(
            readKinetoTrace(kTraces / "v100-resnet50-training-2021.json.gz"), base("t4"), 0);
        QVERIFY(out.profile.memoryGBps > 700 && out.profile.memoryGBps < 900);
        QVERIFY(out.profile.linkPageableGBps > 9 && out.profile.linkPageableGBps < 16);
        QCOMPARE(out.profile.copyError->count, 12);
        QVERIFY(out.profile.copyError->median < 0.05);
        QVERIFY(out.profile.kernelError->count > 1000);
        QVERIFY(out.profile.kernelError->median < 0.05);
        QCOMPARE(out.profile.linkPinnedGBps, base("t4").linkPinnedGBps);
    }

    void absentDeviceIsRefused() {
        const KinetoTrace trace = readKinetoTrace(kTraces / "mi250-minitoy-training-rocm.json.gz");
        QVERIFY_THROWS_EXCEPTION(Error, calibrateFromTrace(trace, base("a100"), 0));
        QVERIFY(!calibrateFromTrace(trace, base("a100"), 2).profile.copyError); // no pinned, no pageable
    }

    void workOfOps_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<QString>("shapes");
        QTest::addColumn<QString>("types");
        QTest::addColumn<QString>("values");
        QTest::addColumn<double>("flops"); // -1: unknown
        QTest::addColumn<double>("bytes");
        const auto row = [](const char* name, const char* op, const char* shapes, const char* types,
                            const char* values, double flops, double bytes) {
            QTest::newRow(name) << op << shapes << types << values << flops << bytes;
        };
        row("mm", "aten::mm", "[[2,3],[3,5]]", R"(["float","float"])", "", 60, 4 * (6 + 15 + 10));
        row("addmm", "aten::addmm", "[[5],[2,3],[3,5],[],[]]",
            R"(["float","float","float","Scalar","Scalar"])", "", 60, 4 * (6 + 15 + 10));
        row("bmm", "aten::bmm", "[[4,2,3],[4,3,5]]", R"(["double","double"])", "", 240,
            8 * 4 * (6 + 15 + 10));
        row("relu", "aten::relu_", "[[2,3]]", R"(["c10::Half"])", "", 6, 24);
        row("convolution", "aten::cudnn_convolution", "[[1,2,8,8],[4,2,3,3],[],[],[],[],[],[],[]]",
            R"(["float","float","","","","Scalar","Scalar","Scalar","Scalar"])",
            R"(["","","[1, 1]","[2, 2]","[1, 1]","1","False","True","True"])", 2 * 4 * 16 * 18.0,
            4 * (128 + 72 + 64));
        row("sizes that do not fit", "aten::mm", "[[2,3],[4,5]]", R"(["float","float"])", "", -1, 0);
        row("unknown op", "aten::sort", "[[2,3]]", R"(["float"])", "", -1, 0);
        row("no shapes", "aten::mm", "", "", "", -1, 0);
        row("hostile", "aten::mm", "[[-1,3],{}]", "[3]", "", -1, 0);
        row("enormous", "aten::relu", "[[9223372036854775807,9223372036854775807]]", R"(["float"])", "", -1,
            0);
        row("stride 0", "aten::cudnn_convolution", "[[1,2,8,8],[4,2,3,3]]", R"(["float","float"])",
            R"(["","","[1]","[0]","[1]"])", -1, 0);
    }
    void workOfOps() {
        QFETCH(QString, op);
        QFETCH(QString, shapes);
        QFETCH(QString, types);
        QFETCH(QString, values);
        QFETCH(double, flops);
        QFETCH(double, bytes);
        const auto work =
            workOf(op.toStdString(), shapes.toStdString(), types.toStdString(), values.toStdString());
        QCOMPARE(work.has_value(), flops >= 0);
        if (!work) return;
        QCOMPARE(work->cost.flops, flops);
        QCOMPARE(work->cost.bytes, bytes);
    }
};

TWB_TEST_MAIN(TestTraceCalibration)
#include "test_trace_calibration.moc"
