#include "backends/cpu/cpu_backend.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/simulated/simulated_backend.h"
#include "core/error.h"
#include "cuda/fake_runtime.h"
#include "profile/ledger.h"
#include "runtime/runs.h"
#include "support/random_lanes.h"
#include "support/test_main.h"

#include <QObject>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

std::vector<std::shared_ptr<Backend>> gpus(const fake::Machine& machine) {
    fake::start(machine);
    std::string problem;
    return cuda::findGpus(problem);
}

DeviceMap mapOf(const std::vector<std::shared_ptr<Backend>>& backends) {
    DeviceMap map;
    for (const auto& backend : backends) map.set(backend->info().device, backend, true);
    return map;
}

void increment(const KernelContext& context) { ++*context.outputs[0].as<std::int64_t>(); }

std::atomic<int> sleepMs{0};
std::atomic<int> begun{0};
void sleepAWhile(const KernelContext&) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(sleepMs));
}

/// The result of this seed's graph on cpu alone, and the graph's plan for `map`.
struct RandomRun {
    RandomRun(unsigned seed, const DeviceMap& map) {
        const auto [onCpu, same] = graphOnRandomLanes(seed, true);
        expected = floats(runToEnd(planOf(onCpu, DeviceMap(), {.keep = {{same, 0}}}), {}), same, DeviceMap());
        const auto [graph, end] = graphOnRandomLanes(seed, false);
        last = end;
        plan = planOf(graph, map, {.policy = Policy::implicit, .keep = {{last, 0}}});
    }
    std::vector<float> expected;
    std::shared_ptr<const Plan> plan;
    NodeId last{};
};

} // namespace

/// The real CUDA backend on a stand-in for the CUDA runtime: order, memory, failures, times. The real runtime
/// and kernels are tested on machines with a GPU.
class TestCudaBackend : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void reasonForAMissingGpu() {
        std::string problem;
        fake::start({.driver = 0});
        QVERIFY(cuda::findGpus(problem).empty());
        QVERIFY2(problem.starts_with("no NVIDIA driver is running"), problem.c_str());
        fake::start({.driver = 12000});
        QVERIFY(cuda::findGpus(problem).empty());
        QVERIFY2(
            problem.starts_with("the NVIDIA driver is too old: it supports CUDA 12.0, but this build needs"),
            problem.c_str());
        fake::start({.gpus = 0});
        QVERIFY(cuda::findGpus(problem).empty());
        QCOMPARE(problem, std::string("the NVIDIA driver finds no GPU in this machine"));
    }

    void eachGpuIsADevice() {
        const auto found = gpus({});
        QCOMPARE(found.size(), std::size_t{2});
        QCOMPARE(found[1]->info().device.toString(), std::string("cuda:1"));
        QCOMPARE(found[1]->info().name, std::string("Fake GPU 1"));
        QVERIFY(!found[1]->info().simulated);
        QVERIFY(found[0]->canCopyTo(*found[1]));
        QVERIFY(!found[0]->supports("Erf", nullptr, {}));
        QCOMPARE(fake::liveAllocations(), std::size_t{0});
    }

    void unusedGpuHasNoContext() {
        const auto found = gpus({});
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
        const NodeId there = g.node("To", "there", "cuda:1", {}, {x});
        const NodeId y = g.node("Neg", "y", "cuda:1", {}, {there});
        const NodeId back = g.node("To", "back", "cpu", {}, {y});
        const auto plan = planOf(g.graph(), mapOf(found), {.keep = {{back, 0}}});
        const RunResult result = runToEnd(plan, {.iterations = 20});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, back, mapOf(found)), std::vector<float>(4, -1.0F));
        QVERIFY(fake::hasContext(1));
        QVERIFY(!fake::hasContext(0));
    }

    void copiesArePinnedOrStaged() {
        const auto found = gpus({.mostDelayUs = 300});
        Backend& gpu = *found[0];
        std::mt19937 random(3);
        for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
            for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{21'000'003}}) {
                Allocator& host = kind == MemoryKind::pinned ? gpu.pinnedMemory() : hostAllocator();
                const BufferPtr from = host.allocate(bytes, kind);
                const BufferPtr to = host.allocate(bytes, kind);
                const BufferPtr there = gpu.memory().allocate(bytes, MemoryKind::device);
                for (std::size_t i = 0; i < bytes; ++i)
                    static_cast<unsigned char*>(from->data())[i] = static_cast<unsigned char>(random());
                const auto up = gpu.createStream(QueueKind::hostToDevice);
                const auto down = gpu.createStream(QueueKind::deviceToHost);
                const auto event = gpu.createEvent();
                LaunchTiming timing;
                Copy copy;
                copy.target = there->data();
                copy.source = from->data();
                copy.bytes = bytes;
                copy.hostMemory = kind;
                copy.timing = &timing;
                Copy back;
                back.target = to->data();
                back.source = there->data();
                back.bytes = bytes;
                back.direction = CopyDirection::deviceToHost;
                up->copy(copy);
                up->record(*event);
                down->wait(*event);
                down->copy(back);
                down->synchronize();
                QVERIFY(std::memcmp(from->data(), to->data(), bytes) == 0);
                gpu.collect({});
                QVERIFY(timing.end >= timing.start && timing.start > 0);
                QCOMPARE(timing.virtualEnd - timing.virtualStart, timing.end - timing.start);
            }
        }
        QCOMPARE(fake::pageableCopies(), 0);
    }

    void eventsOrderStreamsOfAllKinds() {
        // Four streams pass a number on: two of one GPU, one of another, one of the host.
        const auto found = gpus({.mostDelayUs = 100});
        std::vector<std::unique_ptr<Stream>> streams;
        std::vector<std::unique_ptr<Event>> events;
        for (Backend* backend : {found[0].get(), found[0].get(), found[1].get(), cpuBackend().get()}) {
            streams.push_back(backend->createStream(QueueKind::compute));
            events.push_back(backend->createEvent());
        }
        const BufferPtr number = found[0]->pinnedMemory().allocate(8, MemoryKind::pinned);
        *static_cast<std::int64_t*>(number->data()) = 0;
        const Attributes none;
        const std::array<TensorView, 1> out{TensorView{number->data(), DType::i64, Shape{}, {}}};
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = increment;
        Launch launch;
        launch.op = "Neg";
        launch.kernel = increment;
        launch.outputs = out;
        launch.attributes = &none;
        constexpr int kRounds = 200;
        for (int i = 0; i < kRounds; ++i)
            for (std::size_t s = 0; s < streams.size(); ++s) {
                streams[s]->wait(*events[(s + streams.size() - 1) % streams.size()]);
                streams[s]->launch(launch);
                streams[s]->record(*events[s]);
                streams[s]->flush();
            }
        for (const auto& stream : streams) stream->synchronize();
        QCOMPARE(*static_cast<std::int64_t*>(number->data()), std::int64_t{4} * kRounds);
        QVERIFY(events.back()->isDone() && events.front()->isDone());
    }

    void runsEqualTheCpus() {
        const auto found = gpus({.mostDelayUs = 150});
        for (unsigned seed = 0; seed < 20; ++seed) {
            const DeviceMap map = mapOf(found);
            const auto& [expected, plan, last] = RandomRun(seed, map);
            QVERIFY(!plan->virtualClock);
            Recorder recorder;
            const RunResult result = runToEnd(plan, {.iterations = 4}, &recorder);
            QVERIFY2(result.status == RunStatus::finished,
                     result.errors.empty() ? "" : result.errors[0].message.c_str());
            QVERIFY2(floats(result, last, map) == expected, qPrintable(QString::number(seed)));
            for (const StepRecord& record : recorder.records)
                QVERIFY(record.state == StepState::done && record.endNs >= record.startNs &&
                        record.startNs > -50'000);
        }
        QCOMPARE(fake::pageableCopies(), 0);
    }

    /// Shows that the test above would detect a GPU that does not wait.
    void missingWaitIsDetected() {
        int wrong = 0;
        for (unsigned seed = 0; seed < 10; ++seed) {
            const auto found = gpus({.mostDelayUs = 400, .forgetWaits = true});
            const DeviceMap map = mapOf(found);
            const auto& [expected, plan, last] = RandomRun(seed, map);
            if (floats(runToEnd(plan, {}), last, map) != expected) ++wrong;
        }
        QVERIFY(wrong > 0);
    }

    void simulatedAndRealTogether() {
        fake::start({.gpus = 1, .mostDelayUs = 100});
        std::string problem;
        DeviceMap map = mapOf(cuda::findGpus(problem));
        map.set(Device::cuda(1), makeSimulatedBackend(Device::cuda(1), roundProfile()), true);
        for (unsigned seed = 0; seed < 10; ++seed) {
            const auto& [expected, plan, last] = RandomRun(seed, map);
            Recorder recorder;
            const RunResult result = runToEnd(plan, {.iterations = 3}, &recorder);
            QVERIFY(result.status == RunStatus::finished);
            QVERIFY2(floats(result, last, map) == expected, qPrintable(QString::number(seed)));
            for (const StepRecord& record : recorder.records) QVERIFY(record.endNs >= record.startNs);
        }
        QCOMPARE(fake::pageableCopies(), 0);
    }

    void pinMemoryGivesPinnedMemory() {
        const auto found = gpus({.gpus = 1});
        const DeviceMap map = mapOf(found);
        GraphMaker g;
        const NodeId a = g.node("Ones", "a", "cpu", {{"shape", std::vector<std::int64_t>{1000}}});
        const NodeId to = g.node("To", "to", "cuda:0", {{"pin_memory", true}}, {a});
        const NodeId r = g.node("Relu", "r", "cuda:0", {}, {to});
        const NodeId back = g.node("To", "back", "cpu", {{"pin_memory", true}}, {r});
        const auto plan = planOf(g.graph(), map, {.keep = {{a, 0}, {back, 0}}});
        const RunResult result = runToEnd(plan, {});
        QCOMPARE(result.tensor({a, 0})->memoryKind(), MemoryKind::pinned);
        QCOMPARE(floats(result, back, map), std::vector<float>(1000, 1.0F));
    }

    void tf32IsUsedWhereItIsAllowed() {
        const auto found = gpus({.gpus = 1});
        GraphMaker g;
        const NodeId a = g.node("Ones", "a", "cuda:0", {{"shape", std::vector<std::int64_t>{4, 4}}});
        const NodeId product = g.node("MatMul", "product", "cuda:0", {}, {a, a});
        QVERIFY(value(product));
        const auto plan = planOf(g.graph(), mapOf(found), {.keepAll = true});
        const int before = fake::tf32Launches();
        QVERIFY(runToEnd(plan, {.iterations = 2}).status == RunStatus::finished);
        QCOMPARE(fake::tf32Launches(), before);
        QVERIFY(runToEnd(plan, {.iterations = 2, .allowTf32 = true}).status == RunStatus::finished);
        QCOMPARE(fake::tf32Launches(), before + 3); // one for the source, two for the product
    }

    void memoryRunsOut() {
        const auto found = gpus({.gpus = 1, .memoryBytes = 8 << 20});
        const DeviceMap map = mapOf(found);
        {
            // Freed memory stays in the pool and is used again.
            const BufferPtr first = found[0]->memory().allocate(5 << 20, MemoryKind::device);
        }
        const BufferPtr second = found[0]->memory().allocate(6 << 20, MemoryKind::device);
        QCOMPARE(found[0]->memory().stats().used, std::size_t{6 << 20});
        QCOMPARE(found[0]->memory().stats().peak, std::size_t{6 << 20});
        GraphMaker g;
        const std::vector<std::int64_t> large{1 << 20};
        const NodeId big = g.node("Ones", "big", "cuda:0", {{"shape", large}});
        const NodeId after = g.node("Relu", "after", "cuda:0", {}, {big});
        const NodeId small = g.node("Ones", "small", "cuda:0", {{"shape", std::vector<std::int64_t>{4}}});
        QVERIFY(value(after) && value(small));
        const auto plan = planOf(g.graph(), map, {.keepAll = true});
        const RunResult result = runToEnd(plan, {});
        QVERIFY(result.status == RunStatus::failed);
        QCOMPARE(result.errors[0].code, ErrorCode::outOfMemory);
        const QString said = QString::fromStdString(result.errors[0].message);
        QVERIFY2(said.startsWith(QLatin1String(
                     "Ones \"big\": cuda:0 is out of memory: 4.19 MB requested, 2.10 MB of 8.39 MB")),
                 qPrintable(said));
        QCOMPARE(floats(result, small, map), (std::vector<float>{1, 1, 1, 1}));
    }

    void faultIsTheErrorOfItsStep() {
        const auto found = gpus({.gpus = 1, .mostDelayUs = 200});
        const DeviceMap map = mapOf(found);
        GraphMaker g;
        const Attributes four{{"shape", std::vector<std::int64_t>{4}}, {"dtype", std::string("i64")}};
        const NodeId a = g.node("Ones", "a", "cuda:0", four);
        const NodeId zero = g.node("Zeros", "zero", "cuda:0", four);
        const NodeId bad = g.node("Div", "bad", "cuda:0", {}, {a, zero});
        const NodeId after = g.node("Neg", "after", "cuda:0", {}, {bad});
        const NodeId other = g.node("Neg", "other", "cuda:0", {}, {a});
        QVERIFY(value(after) && value(other));
        const auto plan = planOf(g.graph(), map, {.keepAll = true});
        const RunResult result = runToEnd(plan, {});
        QVERIFY(result.status == RunStatus::failed);
        QCOMPARE(result.errors.size(), std::size_t{1});
        QVERIFY(result.errors[0].message.starts_with("Div \"bad\": ZeroDivisionError"));
        QCOMPARE(result.states[stepNamed(*plan, "after").index], StepState::poisoned);
        QCOMPARE(result.states[stepNamed(*plan, "other").index], StepState::done);
    }

    void brokenGpuIsReported() {
        auto found = gpus({.gpus = 1, .mostDelayUs = 100});
        const DeviceMap map = mapOf(found);
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = [](const KernelContext&) { throw Error(ErrorCode::failed, "planted"); };
        GraphMaker g;
        const NodeId a = g.node("Ones", "a", "cuda:0", {{"shape", std::vector<std::int64_t>{4}}});
        const NodeId bad = g.node("Neg", "bad", "cuda:0", {}, {a});
        const NodeId after = g.node("Relu", "after", "cuda:0", {}, {bad});
        QVERIFY(value(after));
        const auto plan = planOf(g.graph(), map, {.keepAll = true});
        const RunResult result = runToEnd(plan, {.iterations = 3});
        QVERIFY(result.status == RunStatus::failed);
        const QString said = QString::fromStdString(result.errors[0].message);
        QVERIFY2(said.contains(
                     QLatin1String("cuda:0 can no longer be used; restart the program, or "
                                   "simulate cuda:0: CUDA reports: an illegal memory access was encountered "
                                   "(cudaErrorIllegalAddress)")),
                 qPrintable(said));
        // The device stays broken: no run starts.
        QVERIFY_THROWS_EXCEPTION(Error, runToEnd(plan, {}));
    }

    /// A cancel takes effect within one kernel, or within the few short ones already submitted to the GPU.
    void aCancelTakesEffectSoon_data() {
        QTest::addColumn<int>("kernelMs");
        QTest::addColumn<int>("kernelsBefore");
        QTest::addColumn<int>("mostAfter");
        QTest::newRow("the first kernel, before anything is known of it") << 60 << 1 << 1;
        QTest::newRow("long kernels") << 60 << 8 << 1;
        QTest::newRow("short kernels") << 2 << 200 << 50;
    }

    void aCancelTakesEffectSoon() {
        QFETCH(int, kernelMs);
        QFETCH(int, kernelsBefore);
        QFETCH(int, mostAfter);
        const auto found = gpus({.gpus = 1});
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = sleepAWhile; // the profile predicts microseconds
        sleepMs = kernelMs;
        begun = 0;
        GraphMaker g;
        NodeId at = g.node("Ones", "a", "cuda:0", {{"shape", std::vector<std::int64_t>{4}}});
        for (int i = 0; i < 100; ++i) at = g.node("Neg", fmt::format("n{}", i), "cuda:0", {}, {at});
        const auto plan = planOf(g.graph(), mapOf(found), {.fuse = false});
        Recorder recorder;
        Executor executor;
        executor.start(plan, {.iterations = 1000}, recorder);
        QTRY_VERIFY_WITH_TIMEOUT(begun >= kernelsBefore, 20000);
        executor.cancel();
        const int atCancel = begun;
        executor.wait();
        // Counts launches instead of measuring time, since kernels take real time here and the machine may be
        // busy.
        QVERIFY2(begun <= atCancel + mostAfter, qPrintable(QString::number(begun - atCancel)));
        QCOMPARE(recorder.result.status, RunStatus::cancelled);
    }

    void allMemoryIsFreed() {
        {
            auto found = gpus({.mostDelayUs = 50});
            runToEnd(RandomRun(5, mapOf(found)).plan, {.iterations = 2});
        }
        QCOMPARE(fake::liveAllocations(), std::size_t{0});
    }
};

TWB_TEST_MAIN(TestCudaBackend)
#include "test_cuda_backend.moc"
