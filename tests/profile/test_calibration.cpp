#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/host_backend.h"
#include "profile/calibration.h"
#include "profile/profiles.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

using namespace twb;

namespace {

/// A device on a clock of its own, whose single launches take longer than those of a stretch.
class ClockedStream final : public Stream {
public:
    void launch(const Launch& launch) override { run(launch, 100'000); }
    void launchStretch(std::span<const Launch* const> stretch) override {
        for (const Launch* one : stretch) run(*one, 0);
    }
    void copy(const Copy& copy) override {
        advance(copy.timing, 5'000 + static_cast<double>(copy.bytes) / 10);
    }
    void record(Event&) override {}
    void wait(Event&) override {}
    void flush() override {}
    void synchronize() override {}
    std::uint64_t passed() const override { return 0; }
    std::int64_t clock() const override { return m_now; }
    void resetClock(std::int64_t now) override { m_now = now; }

private:
    void run(const Launch& launch, double more) {
        advance(launch.timing,
                2'000 + more + std::max(launch.cost.bytes / 1'000, launch.cost.flops / 20'000));
    }
    void advance(LaunchTiming* timing, double ns) {
        const std::int64_t start = m_now;
        m_now += std::llround(ns);
        if (timing) *timing = {start, m_now, start, m_now};
    }

    std::int64_t m_now = 0;
};

class ClockedBackend final : public HostBackend {
public:
    ClockedBackend()
        : HostBackend(cpuBackend()->info(), cpuBackend()->profile(), std::make_unique<MeasuredDurations>()) {}
    Allocator& memory() override { return hostAllocator(); }
    Allocator& pinnedMemory() override { return hostAllocator(); }
    bool canCopyTo(const Backend&) const override { return false; }
    std::unique_ptr<Stream> createStream(QueueKind) override { return std::make_unique<ClockedStream>(); }
};

} // namespace

class TestCalibration : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theCpusFiguresMakeAProfile() {
        const Calibration measured = calibrate(*cpuBackend(), "2000-01-02",
                                               {.mostBytes = 1 << 20, .mostProduct = 256, .enoughNs = 1e5});
        const DeviceProfile p = parseProfile(profileJson(measured.profile), "here");
        QVERIFY(p.id.ends_with("-measured"));
        QVERIFY(p.sources.at("memory_gb_per_s").starts_with("measured by twb calibrate on 2000-01-02, "));
        // Limits that hold for any machine, from a slow disk to a large GPU.
        QVERIFY(p.memoryGBps > 0.05 && p.memoryGBps < 10'000);
        QVERIFY(p.linkPinnedGBps > 0.05 && p.linkPinnedGBps < 10'000);
        QVERIFY(p.launchUs > 0.001 && p.launchUs < 10'000);
        for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8})
            QVERIFY2(p.peakGflops[static_cast<std::size_t>(dtype)] > 0, std::string(name(dtype)).c_str());
        // 4 KiB to 1 MiB in powers of four for two kinds of memory and two directions; memory in powers of
        // sixteen, five products, launches.
        QCOMPARE(measured.rows.size(), std::size_t{5 * 2 * 2 + 3 + 5 + 1});
        QCOMPARE(p.copyError->count, 5 * 2 * 2);
        QCOMPARE(p.kernelError->count, 3 + 5);
        // Latency and bandwidth alone do not predict every measurement exactly.
        for (const auto& error : {p.copyError, p.kernelError})
            QVERIFY(error->median > 0 && error->median < error->worst && std::isfinite(error->worst));
        for (const CalibrationRow& row : measured.rows) QVERIFY(row.ns > 0 && row.count > 0);
    }

    /// The latency of a launch and the times that it is compared with come from the same kind of launches.
    void kernelsAreComparedAsARunLaunchesThem() {
        ClockedBackend device;
        const Calibration measured =
            calibrate(device, "2000-01-02", {.mostBytes = 1 << 24, .mostProduct = 1024, .enoughNs = 1e5});
        QVERIFY(std::abs(measured.profile.launchUs - 2) < 0.1);
        QVERIFY2(measured.profile.kernelError->worst < 0.3,
                 qPrintable(QString::number(measured.profile.kernelError->worst)));
    }
};

TWB_TEST_MAIN(TestCalibration)
#include "test_calibration.moc"
