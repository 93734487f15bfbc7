#include "backends/simulated/simulated_backend.h"
#include "backends/world.h"
#include "profile/prediction.h"
#include "profile/run_timeline.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kElements = 1'000'000;
constexpr int kRanks = 4;

DeviceMap devicesWithGpu() {
    DeviceProfile profile;
    profile.id = profile.name = "test";
    profile.memoryBytes = std::uint64_t{1} << 40;
    profile.linkPinnedGBps = profile.linkPageableGBps = profile.memoryGBps = 1000;
    profile.peakGflops[std::size_t(DType::f32)] = 1000;
    DeviceMap devices;
    devices.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), profile), true);
    return devices;
}

/// An AllReduce of 4 MB, and, if wanted, a product beside it and a reader on cuda:0.
Graph callBeside(std::int64_t productSize) {
    GraphMaker g;
    const NodeId x = g.node("Full", "x", "cpu", {{"shape", Integers{kElements}}});
    const NodeId all = g.node("AllReduce", "all", "cpu", {}, {x});
    if (productSize == 0) return g.graph();
    const NodeId a = g.node("Full", "a", "cuda:0", {{"shape", Integers{productSize, productSize}}});
    g.node("MatMul", "product", "cuda:0", {}, {a, a});
    g.node("Relu", "reader", "cuda:0", {}, {g.node("To", "up", "cuda:0", {}, {all})});
    return g.graph();
}

double callNs(const LinkProfile& link) {
    return link.timeNs(CollectiveKind::allReduce, 4 * kElements, kRanks);
}

} // namespace

class TestPrediction : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void communicationHasTheTimeOfTheLink() {
        for (const LinkProfile& link : linkProfiles()) {
            const Prediction p = predictOnRanks(callBeside(0), devicesWithGpu(), nullptr, kRanks, link);
            QCOMPARE(p.communicationNs, callNs(link));
            QVERIFY2(p.hiddenNs < 0.01 * p.communicationNs, "nothing computes beside it");
            QVERIFY(p.iterationNs >= p.communicationNs);
        }
    }

    void oneRankExchangesNothing() {
        const Prediction p =
            predictOnRanks(callBeside(100), devicesWithGpu(), nullptr, 1, linkProfiles().front());
        QCOMPARE(p.communicationNs, 0.0);
        QCOMPARE(p.hiddenNs, 0.0);
    }

    void aLongerStepHidesAllOfIt() {
        const LinkProfile& link = linkProfiles().front();
        const Prediction p = predictOnRanks(callBeside(2000), devicesWithGpu(), nullptr, kRanks, link);
        QVERIFY(p.iterationNs > p.communicationNs);
        QVERIFY(std::abs(p.hiddenNs - p.communicationNs) < 1);
    }

    /// The run on the virtual clock takes the same times, and counts the overlap by itself.
    void aRunInTheSimulatedWorldHidesAsMuch() {
        const LinkProfile& link = linkProfiles().back();
        const Graph graph = callBeside(900);
        DeviceMap devices = devicesWithGpu();
        const Prediction p = predictOnRanks(graph, devices, nullptr, kRanks, link);
        const double share = p.hiddenNs / p.communicationNs;
        QVERIFY2(share > 0.1 && share < 0.9, qPrintable(QString::number(share)));
        devices.setWorld(makeSimulatedWorld(kRanks, link));
        const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
        const auto plan = compile(graph, analysis, devices, nullptr, {});
        class Watch final : public RunObserver {
        public:
            explicit Watch(const std::shared_ptr<const Plan>& of) : plan(*of), timeline(of) {}
            void started(std::uint64_t, const Plan&, std::int64_t) override {}
            void steps(std::uint64_t, std::span<const StepRecord> records) override {
                for (const StepRecord& record : records)
                    if (plan.isCollective(plan.steps[record.step])) ns += record.endNs - record.startNs;
                timeline.add(records);
            }
            void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
            void finished(RunResult) noexcept override {}
            const Plan& plan;
            RunTimeline timeline;
            std::int64_t ns = 0;
        } watch(plan);
        RunOptions options;
        options.iterations = 50;
        QCOMPARE(runToEnd(plan, options, &watch).status, RunStatus::finished);
        watch.timeline.finish();
        const auto call = std::ranges::find(plan->transfers, TransferKind::collective, &Transfer::kind);
        const double ran = double(watch.timeline.overlapNs()[std::size_t(call - plan->transfers.begin())]) /
                           double(watch.ns);
        QVERIFY2(std::abs(ran - share) < 0.1, qPrintable(QStringLiteral("%1 %2").arg(ran).arg(share)));
    }

    void moreRanksExchangeMore() {
        const LinkProfile& link = linkProfiles().back();
        double before = 0;
        for (const int ranks : {2, 4, 8}) {
            const Prediction p = predictOnRanks(callBeside(0), devicesWithGpu(), nullptr, ranks, link);
            QVERIFY(p.communicationNs > before);
            before = p.communicationNs;
        }
    }
};

TWB_TEST_MAIN(TestPrediction)
#include "test_prediction.moc"
