#include "backends/cpu/cpu_backend.h"
#include "profile/calibration.h"
#include "profile/profiles.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>

using namespace twb;

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
};

TWB_TEST_MAIN(TestCalibration)
#include "test_calibration.moc"
