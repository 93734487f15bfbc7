#include "backends/simulated/simulated_backend.h"
#include "profile/prediction.h"
#include "runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace twb;
using namespace twb::test;

namespace {

constexpr std::int64_t kRows = 24;
constexpr std::int64_t kSize = 4; // rows per batch
constexpr double kCopyNs = 1e6;
constexpr double kKernelNs = 2e6;

/// Batches on cpu, copied to a GPU, and averaged there: a copy takes 1 ms, a kernel 2 ms.
struct Loading {
    explicit Loading(std::int64_t prefetch, const Attributes& to = {}) {
        std::vector<double> rows(kRows * 8);
        std::iota(rows.begin(), rows.end(), 0);
        files->put("x.npy", tensorOf(DType::f32, {kRows, 8}, rows));
        data = g.node("Batches", "data", "cpu",
                      {{"path", std::string("x.npy")},
                       {"batch_size", kSize},
                       {"shuffle", false},
                       {"prefetch", prefetch}});
        scaled = g.node("Neg", "scaled", "cpu", {}, {data});
        there = g.node("To", "there", "cuda:0", to, {scaled});
        // One kernel, in whose result the order of the batches shows.
        average = g.node("Zeros", "average", "cuda:0", {{"shape", Ints{kSize, 8}}});
        g.node("AverageUpdate", "keep", "cuda:0", {{"decay", 0.5}}, {average, there});
        DeviceProfile profile;
        profile.name = "slow link";
        profile.memoryBytes = std::uint64_t{1} << 30;
        profile.memoryGBps = 1e6;
        profile.peakGflops.fill(1e9);
        profile.linkPinnedGBps = profile.linkPageableGBps = 1e6;
        profile.linkLatencyUs = profile.pageableLatencyUs = kCopyNs * 1e-3;
        profile.launchUs = kKernelNs * 1e-3;
        map.set(Device::cuda(0), makeSimulatedBackend(Device::cuda(0), profile), true);
    }

    std::shared_ptr<const Plan> plan() const {
        CompileOptions options;
        options.fuse = false;
        options.keep.insert({average, 0});
        return planOf(g.graph(), map, options, files);
    }

    GraphMaker g;
    std::shared_ptr<MemoryFiles> files = std::make_shared<MemoryFiles>();
    DeviceMap map;
    NodeId data, scaled, there, average;
};

struct Ran {
    explicit Ran(const Loading& loading, std::shared_ptr<const Plan> of, std::int64_t count = 12)
        : plan(std::move(of)), result(runToEnd(plan, {.iterations = count}, &recorder)) {
        for (const StepRecord& record : recorder.records) {
            const Step& step = plan->steps[record.step];
            if (step.setup) continue;
            at[{record.iteration, record.step}] = record;
            if (plan->streams[step.stream].device.isCpu())
                hostNs += static_cast<double>(record.endNs - record.startNs);
        }
        average = floats(result, loading.average, loading.map);
    }

    /// The first step that starts before a step whose result it reads, or whose memory it overwrites, is
    /// done.
    QString firstRace() const {
        for (const auto& [key, record] : at) {
            const auto& [iteration, index] = key;
            const Step& step = plan->steps[index];
            const auto startsBefore = [&](std::int64_t other, std::uint32_t user) {
                const auto before = at.find({static_cast<std::uint32_t>(other), user});
                return before != at.end() && record.startNs < before->second.endNs;
            };
            for (const std::uint32_t v : step.inputs) {
                const std::uint32_t producer = v == kNone ? kNone : plan->producers[v];
                if (producer != kNone && startsBefore(iteration, producer))
                    return QString::fromStdString(step.label) + " reads too early";
            }
            for (const std::uint32_t v : step.outputs)
                for (const Step& user : plan->steps) {
                    const bool reads = std::ranges::find(user.inputs, v) != user.inputs.end();
                    const std::int64_t other =
                        std::int64_t{iteration} - (plan->values[v].ahead ? plan->inFlight : 1);
                    if (reads && other >= 0 && startsBefore(other, user.index))
                        return QString::fromStdString(step.label) + " overwrites what " +
                               QString::fromStdString(user.label) + " reads";
                }
        }
        return {};
    }

    std::shared_ptr<const Plan> plan;
    Recorder recorder;
    RunResult result;
    std::map<std::pair<std::uint32_t, std::uint32_t>, StepRecord> at; ///< by iteration and step
    double hostNs = 0;                                                ///< measured, of the steps on cpu
    std::vector<float> average;
};

} // namespace

class TestPrefetch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void copyAndComputeTakeTheirMaximum() {
        constexpr double count = 12;
        const Loading one(0);
        const Ran plain(one, one.plan());
        QCOMPARE(plain.result.status, RunStatus::finished);
        QVERIFY2(static_cast<double>(plain.result.clockNs) >= count * (kCopyNs + kKernelNs),
                 qPrintable(QString::number(plain.result.clockNs)));
        for (const std::int64_t ahead : {1, 3}) {
            const Loading two(ahead);
            const Ran ran(two, two.plan());
            QCOMPARE(ran.result.status, RunStatus::finished);
            QCOMPARE(ran.plan->inFlight, static_cast<std::uint32_t>(ahead + 1));
            // The first batch is not hidden, and loading is measured, so that it may take any time.
            const double most = count * std::max(kCopyNs, kKernelNs) + kCopyNs + ran.hostNs + 1;
            QVERIFY2(static_cast<double>(ran.result.clockNs) <= most,
                     qPrintable(QStringLiteral("%1 > %2").arg(ran.result.clockNs).arg(most)));
            QCOMPARE(ran.average, plain.average);
            QCOMPARE(ran.firstRace(), QString());
        }
    }

    void aCopyThatTheHostDoesNotWaitForRunsBesideTheComputeOfThePreviousIteration() {
        constexpr double count = 12;
        const Loading loading(0, {{"pin_memory", true}, {"non_blocking", true}});
        const Ran ran(loading, loading.plan());
        QCOMPARE(ran.result.status, RunStatus::finished);
        QVERIFY(ran.plan->values[ran.plan->valueOf({loading.there, 0})].ahead); // memory for each iteration
        QVERIFY(!ran.plan->values[ran.plan->valueOf({loading.scaled, 0})].ahead);
        const double most = count * std::max(kCopyNs, kKernelNs) + kCopyNs + ran.hostNs + 1;
        QVERIFY2(static_cast<double>(ran.result.clockNs) <= most,
                 qPrintable(QStringLiteral("%1 > %2").arg(ran.result.clockNs).arg(most)));
        QCOMPARE(ran.firstRace(), QString());
        const double predicted = predict(*ran.plan).iterationNs;
        QVERIFY2(std::abs(predicted - kKernelNs) < 0.01 * kKernelNs, qPrintable(QString::number(predicted)));
        for (const Attributes& waits :
             {Attributes{{"pin_memory", true}}, Attributes{{"non_blocking", true}}}) {
            const Loading other(0, waits);
            const Ran one(other, other.plan());
            QVERIFY(!one.plan->values[one.plan->valueOf({other.there, 0})].ahead);
            QVERIFY(static_cast<double>(one.result.clockNs) >= count * (kCopyNs + kKernelNs));
            QCOMPARE(one.average, ran.average);
        }
    }

    void oneIterationHasOneMemoryForWhatIsWrittenAhead() {
        const Loading loading(0, {{"pin_memory", true}, {"non_blocking", true}});
        const auto plan = loading.plan();
        const auto batch =
            static_cast<std::size_t>(plan->values[plan->valueOf({loading.there, 0})].type.byteCount());
        const Device gpu = Device::cuda(0);
        QCOMPARE(plan->bytesOn(gpu, 1) + batch, plan->bytesOn(gpu));
        QCOMPARE(plan->bytesOn(gpu, 2), plan->bytesOn(gpu));
        for (const std::int64_t iterations : {1, 2}) {
            const Prediction predicted = predict(*plan, iterations);
            const auto row = std::ranges::find(predicted.devices, gpu, &Prediction::DeviceUse::device);
            QVERIFY(row != predicted.devices.end());
            QCOMPARE(row->plannedBytes, plan->bytesOn(gpu, iterations));
        }
        const Ran one(loading, plan, 1);
        const Ran two(loading, plan, 2);
        QCOMPARE(one.result.requested, 1);
        QCOMPARE(two.result.requested, 2);
        const auto peak = [&](const RunResult& result) {
            return std::ranges::find(result.memory, gpu, &std::pair<Device, MemoryStats>::first)->second.peak;
        };
        QCOMPARE(peak(one.result) + batch, peak(two.result));
    }

    void withoutItsWaitsBatchesAreOverwritten() {
        const Loading loading(2);
        const auto plan = loading.plan();
        const auto without = [&](auto&& change) {
            auto mutant = std::make_shared<Plan>(*plan);
            for (Step& step : mutant->steps) change(step);
            return Ran(loading, mutant).firstRace();
        };
        QCOMPARE(without([](Step&) {}), QString());
        QVERIFY(!without([](Step& step) { step.lapWaits.clear(); }).isEmpty());
        QVERIFY(!without([](Step& step) { step.waits.clear(); }).isEmpty());
    }

    void whatPreparesABatchRunsAhead() {
        const Loading loading(1, {{"non_blocking", false}});
        const auto plan = loading.plan();
        for (const char* label : {"data", "scaled"}) {
            const Step& step = stepNamed(*plan, label);
            QVERIFY2(step.ahead, label);
            QCOMPARE(plan->streams[step.stream].label, std::string("cpu loader"));
        }
        QVERIFY(stepNamed(*plan, "scaled → cuda:0").ahead);
        QVERIFY(plan->transfers.at(0).pinned);
        QVERIFY(!stepNamed(*plan, "keep").ahead);
        // Two memories for the batch on each side of the copy, one for what only the loader uses.
        const auto isAhead = [&](NodeId node) { return plan->values[plan->valueOf({node, 0})].ahead; };
        QVERIFY(!isAhead(loading.data));
        QVERIFY(isAhead(loading.scaled));
        QVERIFY(isAhead(loading.there));
    }

    void theHostMayReadABatchToo() {
        Loading loading(1);
        const NodeId total = loading.g.node("Zeros", "host total", "cpu", {{"shape", Ints{kSize, 8}}});
        const NodeId next = loading.g.node("Add", "host next", "cpu", {}, {total, loading.scaled});
        loading.g.node("Assign", "host keep", "cpu", {}, {total, next});
        CompileOptions options;
        options.keep.insert({total, 0});
        const auto plan = planOf(loading.g.graph(), loading.map, options, loading.files);
        QVERIFY(!stepNamed(*plan, "host next").ahead); // it reads what changes in each iteration
        const Ran ran(loading, plan);
        QCOMPARE(ran.firstRace(), QString());
        const std::vector<float> sums = floats(ran.result, total, loading.map);
        // Twelve batches are two epochs: each place has had its rows twice.
        double wanted = 0;
        for (int batch = 0; batch < 6; ++batch) wanted -= 2 * 32.0 * batch;
        QCOMPARE(static_cast<double>(sums.at(0)), wanted);
    }

    void aPredictionOverlapsThem() {
        const Loading one(0);
        const Loading two(1);
        const double plain = predict(*one.plan()).iterationNs;
        const double ahead = predict(*two.plan()).iterationNs;
        QVERIFY(plain >= kCopyNs + kKernelNs);
        QVERIFY2(std::abs(ahead - kKernelNs) < 0.01 * kKernelNs, qPrintable(QString::number(ahead)));
    }
};

TWB_TEST_MAIN(TestPrefetch)
#include "test_prefetch.moc"
