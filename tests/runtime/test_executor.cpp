#include "backends/cpu/host_stream.h"
#include "profile/ledger.h"
#include "runtime/run_context.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <cmath>
#include <thread>

using namespace twb;
using namespace twb::test;

class TestExecutor : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runsOnBothKindsOfDevice();
    void measuredTimesCountFromTheStart();
    void modelledStepTakesTheTimeOfTheProfile();
    void errorsPoisonTheirDependentsOnly();
    void outOfMemoryNamesTheNodeAndTheRestRuns();
    void cancelTakesEffectSoon();
    void anInterruptedIterationCountsForNoStep();
    void kernelsTakeTurnsBesideASimulatedDevice();
    void startWhileRunningIsRefused();
    void cacheRunsOnlyWhatChanged();
    void cacheSeparatesTf32Results();
    void aCopyOfACachedTensorDidNotWait();
    void sizesKnownOnlyAtRunTime();
    void readersOfKnownSizeSeeWhatADynamicStepMakes();
    void aDynamicStepThatFailsLeavesOthersAlone();
    void saveWritesOnceAfterTheLastIteration();
    void saveWritesThoughAnotherBranchFailsEarly();
    void watchedOutputsAreReportedDuringTheRun();
    void aSinkDoesNotWaitForOthers();
    void compileRefusesErrors();
    void nodesIndependentOfPlaceholdersRun();
    void thePeakIsThatOfTheRun();
    void scratchOfASimulatedGpuCountsForNoDevice();
    void emptyTensorsArePresent_data();
    void emptyTensorsArePresent();
};

void TestExecutor::runsOnBothKindsOfDevice() {
    for (const char* device : {"cpu", "cuda:0"}) {
        GraphMaker g;
        const NodeId a = g.node("Arange", "a", device, {{"limit", 6.0}, {"dtype", std::string("f32")}});
        const NodeId b = g.node("Full", "b", device, {{"shape", Ints{6}}, {"value", 10.0}});
        const NodeId sum = g.node("Add", "sum", device, {}, {a, b});
        const DeviceMap map = simulatedMap();
        const auto plan = planOf(g.graph(), map, {.keepAll = true});
        const RunResult result = runToEnd(plan, {});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, sum, map), (std::vector<float>{10, 11, 12, 13, 14, 15}));
        QCOMPARE(plan->virtualClock, std::string_view(device) != "cpu");
    }
}

/// An observer that compares the clocks of ranks needs the time from which records count. It may be called
/// much later on a busy machine.
void TestExecutor::measuredTimesCountFromTheStart() {
    class Late final : public RunObserver {
    public:
        void started(std::uint64_t, const Plan&, std::int64_t startNs) override {
            start = startNs;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            called = steadyNs();
        }
        void steps(std::uint64_t, std::span<const StepRecord> batch) override {
            const std::int64_t now = steadyNs();
            for (const StepRecord& record : batch) {
                isAfterCall = isAfterCall && start + record.startNs >= called;
                isBeforeNow = isBeforeNow && start + record.endNs <= now;
            }
        }
        void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
        void finished(RunResult) noexcept override {}

        std::int64_t start = 0;
        std::int64_t called = 0;
        bool isAfterCall = true;
        bool isBeforeNow = true;
    };
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{6}}});
    g.node("Abs", "b", "cpu", {}, {a});
    Late observer;
    QCOMPARE(runToEnd(planOf(g.graph(), simulatedMap()), {}, &observer).status, RunStatus::finished);
    QVERIFY(observer.isAfterCall);
    QVERIFY(observer.isBeforeNow);
}

void TestExecutor::modelledStepTakesTheTimeOfTheProfile() {
    GraphMaker g;
    const NodeId m = g.node("Zeros", "m", "cuda:0", {{"shape", Ints{256, 256}}});
    g.node("MatMul", "mm", "cuda:0", {}, {m, m});
    const auto plan = planOf(g.graph(), simulatedMap());
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 10}, &recorder);
    // 2 µs launch + 2 * 256^3 flops at 10^12 a second.
    const auto expected = static_cast<std::int64_t>(std::llround(2000 + 2.0 * 256 * 256 * 256 / 1000));
    for (const StepRecord& record : recorder.records)
        if (plan->steps[record.step].label == "mm") QCOMPARE(record.endNs - record.startNs, expected);
    QCOMPARE(result.clockNs, 10 * expected);
    QCOMPARE(std::llround(stepNamed(*plan, "mm").predictedNs), static_cast<long long>(expected));
}

void TestExecutor::errorsPoisonTheirDependentsOnly() {
    GraphMaker g;
    const Attributes ints{{"shape", Ints{4}}, {"dtype", std::string("i64")}};
    const NodeId one = g.node("Ones", "one", "cpu", ints);
    const NodeId zero = g.node("Zeros", "zero", "cpu", ints);
    const NodeId bad = g.node("Div", "bad", "cpu", {}, {one, zero});
    const NodeId after = g.node("Add", "after", "cpu", {}, {bad, one});
    const NodeId good = g.node("Add", "good", "cpu", {}, {one, one});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    const RunResult result = runToEnd(plan, {.iterations = 5});
    QCOMPARE(result.status, RunStatus::failed);
    QCOMPARE(result.states[stepNamed(*plan, "bad").index], StepState::failed);
    QCOMPARE(result.states[stepNamed(*plan, "after").index], StepState::poisoned);
    QCOMPARE(result.states[stepNamed(*plan, "good").index], StepState::done);
    QCOMPARE(result.errors.size(), std::size_t{1});
    QVERIFY(QString::fromStdString(result.errors[0].message).contains(QStringLiteral("Div \"bad\"")));
    QVERIFY(result.errors[0].node == bad);
    QVERIFY(!result.tensor({bad, 0}) && !result.tensor({after, 0}));
    QVERIFY(result.tensor({good, 0}));
}

void TestExecutor::outOfMemoryNamesTheNodeAndTheRestRuns() {
    GraphMaker g;
    const Ints shape{1 << 20}; // 4 MiB each, on a device of 6
    const NodeId a = g.node("Zeros", "a", "cuda:0", {{"shape", shape}});
    const NodeId b = g.node("Zeros", "b", "cuda:0", {{"shape", shape}});
    const NodeId ra = g.node("Relu", "ra", "cpu", {}, {g.node("To", "ta", "cpu", {}, {a})});
    const NodeId rb = g.node("Relu", "rb", "cpu", {}, {g.node("To", "tb", "cpu", {}, {b})});
    const DeviceMap map = simulatedMap(1, 6 << 20);
    const auto plan = planOf(g.graph(), map, {.keep = {PortRef{ra, 0}, PortRef{rb, 0}}});
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.status, RunStatus::failed);
    QCOMPARE(result.errors.size(), std::size_t{1});
    QCOMPARE(result.errors[0].code, ErrorCode::outOfMemory);
    const QString message = QString::fromStdString(result.errors[0].message);
    QVERIFY2(message.contains(QStringLiteral("\"b\"")) &&
                 message.contains(QStringLiteral("4.19 MB requested")),
             qPrintable(message));
    QVERIFY(result.tensor({ra, 0}));
    QVERIFY(!result.tensor({rb, 0}));
}

void TestExecutor::cancelTakesEffectSoon() {
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cpu", {{"shape", Ints{128, 128}}});
    NodeId at = m;
    for (int i = 0; i < 200; ++i)
        at = g.node("MatMul", "mm" + std::to_string(i), i % 2 ? "cpu" : "cpu", {}, {at, m});
    const auto plan = planOf(g.graph(), simulatedMap());
    Executor executor;
    Recorder recorder;
    executor.start(plan, {.iterations = 1'000'000}, recorder);
    while (recorder.done < 1) std::this_thread::yield();
    QVERIFY(executor.isRunning());
    QVERIFY(!executor.runningSteps().empty());
    executor.cancel();
    const std::int64_t atCancel = recorder.done;
    executor.wait();
    QCOMPARE(recorder.result.status, RunStatus::cancelled);
    // Counts iterations instead of measuring time, since the machine may be busy. At most two iterations are
    // in flight.
    QVERIFY(recorder.result.iterations >= 1);
    QVERIFY2(recorder.result.iterations <= atCancel + 2,
             qPrintable(QString::number(recorder.result.iterations - atCancel)));
    QVERIFY(!executor.isRunning());
    // The executor can be used again.
    Recorder again;
    executor.start(plan, {.iterations = 2}, again);
    executor.wait();
    QCOMPARE(again.result.status, RunStatus::finished);
    QCOMPARE(again.starts, (std::vector<std::uint64_t>{2}));
}

/// Two iterations are in flight when a run is cancelled: the one that ends counts for all its steps, the
/// other for none.
void TestExecutor::anInterruptedIterationCountsForNoStep() {
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cpu", {{"shape", Ints{16, 16}}});
    NodeId at = m;
    for (int i = 0; i < 10; ++i) {
        at = g.node("To", "there" + std::to_string(i), "cuda:0", {{"non_blocking", i % 2 == 0}}, {at});
        at = g.node("Neg", "neg" + std::to_string(i), "cuda:0", {}, {at});
        at = g.node("To", "back" + std::to_string(i), "cpu", {}, {at});
        at = g.node("Abs", "abs" + std::to_string(i), "cpu", {}, {at});
    }
    const auto plan = planOf(g.graph(), simulatedMap());
    Executor executor;
    for (int round = 0; round < 50; ++round) {
        Recorder recorder;
        executor.start(plan, {.iterations = 1'000'000}, recorder);
        while (recorder.done < 1 + round % 5) std::this_thread::yield();
        executor.cancel();
        executor.wait();
        QCOMPARE(recorder.result.status, RunStatus::cancelled);
        std::vector<std::int64_t> counts(plan->steps.size());
        for (const StepRecord& record : recorder.records)
            if (record.state == StepState::done) ++counts[record.step];
        for (const Step& step : plan->steps)
            QCOMPARE(counts[step.index], step.setup ? 1 : recorder.result.iterations);
    }
}

void TestExecutor::kernelsTakeTurnsBesideASimulatedDevice() {
    for (const char* device : {"cpu", "cuda:0"}) {
        GraphMaker g;
        g.node("Ones", "here", "cpu", {{"shape", Ints{4}}});
        g.node("Ones", "there", device, {{"shape", Ints{4}}});
        const auto plan = planOf(g.graph(), simulatedMap());
        const std::vector<bool> cached(plan->steps.size(), false);
        RunGuard guard(*plan, cached);
        QCOMPARE(guard.of(0)->turn != nullptr, std::string_view(device) != "cpu");
        QCOMPARE(guard.of(1)->turn, guard.of(0)->turn);
    }
}

void TestExecutor::startWhileRunningIsRefused() {
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cpu", {{"shape", Ints{64, 64}}});
    g.node("MatMul", "mm", "cpu", {}, {m, m});
    const auto plan = planOf(g.graph(), simulatedMap());
    Executor executor;
    Recorder recorder;
    executor.start(plan, {.iterations = 1'000'000}, recorder);
    Recorder other;
    QVERIFY_EXCEPTION_THROWN(executor.start(plan, {}, other), Error);
    QVERIFY_EXCEPTION_THROWN(executor.start(plan, {.iterations = 0}, other), Error);
    executor.cancel();
    executor.wait();
    QVERIFY(other.starts.empty());
}

void TestExecutor::cacheRunsOnlyWhatChanged() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId b = g.node("Full", "b", "cpu", {{"shape", Ints{4}}, {"value", 2.0}});
    const NodeId left = g.node("Exp", "left", "cpu", {}, {a});
    const NodeId right = g.node("Neg", "right", "cpu", {}, {b});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {left, right});
    const DeviceMap map = simulatedMap();
    Executor executor;
    const auto run = [&](const Graph& graph) {
        Recorder recorder;
        const auto plan = planOf(graph, map, {.keepAll = true});
        executor.start(plan, {.iterations = 1, .cache = true}, recorder);
        executor.wait();
        std::map<std::string, StepState> states;
        for (const Step& step : plan->steps) states[step.label] = recorder.result.states[step.index];
        return std::pair(states, floats(recorder.result, sum, map));
    };
    auto [first, values] = run(g.graph());
    for (const auto& [label, state] : first) QCOMPARE(state, StepState::done);
    auto [second, same] = run(g.graph());
    for (const auto& [label, state] : second) QCOMPARE(state, StepState::cached);
    QCOMPARE(same, values);
    Graph edited = g.graph();
    DeltaBuilder builder(edited, "edit");
    Node node = *edited.find(b);
    node.attributes.set("value", 3.0);
    builder.change(node);
    edited.apply(builder.take());
    auto [third, changed] = run(edited);
    QCOMPARE(third["a"], StepState::cached);
    QCOMPARE(third["left"], StepState::cached);
    QCOMPARE(third["b"], StepState::done);
    QCOMPARE(third["right"], StepState::done);
    QCOMPARE(third["sum"], StepState::done);
    QCOMPARE(changed[0], values[0] - 1);
    executor.clearCache();
    auto [fourth, again] = run(edited);
    for (const auto& [label, state] : fourth) QCOMPARE(state, StepState::done);
}

void TestExecutor::cacheSeparatesTf32Results() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4, 4}}});
    const NodeId product = g.node("MatMul", "product", "cpu", {}, {a, a});
    QVERIFY(value(product));
    const auto plan = planOf(g.graph(), DeviceMap(), {.keepAll = true});
    Executor executor;
    const auto run = [&](bool allowTf32) {
        Recorder recorder;
        executor.start(plan, {.iterations = 1, .cache = true, .allowTf32 = allowTf32}, recorder);
        executor.wait();
        return recorder.result.states[stepNamed(*plan, "product").index];
    };
    QCOMPARE(run(false), StepState::done);
    QCOMPARE(run(false), StepState::cached);
    QCOMPARE(run(true), StepState::done);
    QCOMPARE(run(true), StepState::cached);
}

void TestExecutor::sizesKnownOnlyAtRunTime() {
    // The shape is converted when it is copied from another device, so it is known only at run time.
    GraphMaker g;
    const NodeId data = g.node("Arange", "data", "cuda:0", {{"limit", 12.0}, {"dtype", std::string("f32")}});
    const NodeId raw = g.node("Constant", "raw", "cuda:0",
                              {{"value", std::vector<double>{3, 4}}, {"dtype", std::string("i32")}});
    const NodeId shape = g.node("To", "shape", "cpu", {{"dtype", std::string("i64")}}, {raw});
    const NodeId reshaped = g.node("Reshape", "reshaped", "cuda:0", {}, {data, shape});
    const NodeId back = g.node("To", "back", "cpu", {}, {reshaped});
    const NodeId doubled = g.node("Add", "doubled", "cpu", {}, {back, back});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keep = {PortRef{doubled, 0}}});
    QVERIFY(stepNamed(*plan, "reshaped").dynamic && stepNamed(*plan, "doubled").dynamic);
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 4}, &recorder);
    QVERIFY2(result.status == RunStatus::finished,
             result.errors.empty() ? "" : result.errors[0].message.c_str());
    QCOMPARE(result.tensor({doubled, 0})->shape(), Shape({3, 4}));
    QCOMPARE(floats(result, doubled, map)[11], 22.0F);
    Ledger ledger(plan);
    ledger.add(recorder.records);
    QCOMPARE(ledger.totalBytes(), std::uint64_t{4 * (48 + 8)});
}

/// It once ended the submission of all later steps.
void TestExecutor::aDynamicStepThatFailsLeavesOthersAlone() {
    GraphMaker g;
    const auto positive = [&](std::int64_t seed) { // where, in 5,000 random values
        const NodeId x = g.node("RandomNormal", "", "cpu", {{"shape", Ints{5000}}, {"seed", seed}});
        return g.node("NonZero", "", "cpu", {}, {g.node("Relu", "", "cpu", {}, {x})});
    };
    const NodeId one = positive(1);
    const NodeId two = positive(2);
    const NodeId bad = g.node("Add", "bad", "cpu", {}, {one, two});
    const NodeId reader = g.node("Neg", "reader", "cpu", {}, {bad});
    const NodeId to = g.node("To", "to", "cuda:0", {}, {reader});
    NodeId fine = g.node("Full", "four", "cpu", {{"shape", Ints{2}}, {"value", 4.0}});
    for (int i = 0; i < 7; ++i) fine = g.node("Neg", "", "cpu", {}, {fine}); // after the others
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.errors.size(), std::size_t(1));
    QVERIFY(result.errors[0].message.starts_with("Add \"bad\": "));
    QCOMPARE(result.states[stepNamed(*plan, "reader").index], StepState::poisoned);
    QCOMPARE(floats(result, to, map), std::vector<float>());
    QCOMPARE(floats(result, fine, map), (std::vector<float>{-4, -4}));
}

void TestExecutor::readersOfKnownSizeSeeWhatADynamicStepMakes() {
    GraphMaker g;
    const NodeId data = g.node("Arange", "data", "cpu", {{"limit", 4.0}, {"dtype", std::string("f32")}});
    const NodeId raw = g.node("Constant", "raw", "cuda:0",
                              {{"value", std::vector<double>{4}}, {"dtype", std::string("i32")}});
    const NodeId shape = g.node("To", "shape", "cpu", {{"dtype", std::string("i64")}}, {raw});
    const NodeId some = g.node("Reshape", "some", "cpu", {}, {data, shape});
    const NodeId ones = g.node("Ones", "ones", "cpu", {{"shape", Ints{4}}});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {some, ones});
    const NodeId negative = g.node("Neg", "negative", "cpu", {}, {sum});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keep = {PortRef{negative, 0}}});
    QVERIFY(stepNamed(*plan, "sum").dynamic && !stepNamed(*plan, "negative").dynamic);
    for (const std::int64_t iterations : {1, 3}) {
        const RunResult result = runToEnd(plan, {.iterations = iterations});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, negative, map), (std::vector<float>{-1, -2, -3, -4}));
    }
}

void TestExecutor::aCopyOfACachedTensorDidNotWait() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId made = g.node("Exp", "made", "cpu", {}, {a});
    const NodeId to = g.node("To", "to", "cuda:0", {}, {made});
    const LaneId other = g.lane("cuda:1");
    const DeviceMap map = simulatedMap(2);
    Executor executor;
    const auto waited = [&](const Graph& graph) {
        Recorder recorder;
        const auto plan = planOf(graph, map, {.keepAll = true});
        executor.start(plan, {.iterations = 1, .cache = true}, recorder);
        executor.wait();
        for (const StepRecord& record : recorder.records)
            if (plan->steps[record.step].transfer != kNone && record.state == StepState::done)
                return std::pair(true, record.waitNs.has_value());
        return std::pair(false, false);
    };
    QCOMPARE(waited(g.graph()), std::pair(true, true));
    Graph edited = g.graph();
    DeltaBuilder builder(edited, "edit");
    Node node = *edited.find(to);
    node.lane = other;
    builder.change(node);
    edited.apply(builder.take());
    QCOMPARE(waited(edited), std::pair(true, false)); // "made" came from the cache
}

void TestExecutor::saveWritesOnceAfterTheLastIteration() {
    auto files = std::make_shared<MemoryFiles>();
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId r = g.node("Neg", "r", "cpu", {}, {a});
    g.node("Save", "s", "cpu", {{"path", std::string("out.npy")}}, {r});
    const auto plan = planOf(g.graph(), simulatedMap(), {}, files);
    const RunResult result = runToEnd(plan, {.iterations = 9});
    QCOMPARE(result.status, RunStatus::finished);
    QCOMPARE(files->writes(), std::size_t{1});
    QCOMPARE(files->get("out.npy").at(3), -1.0);
}

/// A failure ends the iterations, but the results of other branches are complete.
void TestExecutor::saveWritesThoughAnotherBranchFailsEarly() {
    for (const char* device : {"cpu", "cuda:0"}) {
        auto files = std::make_shared<MemoryFiles>();
        GraphMaker g;
        const Attributes ints{{"shape", Ints{4}}, {"dtype", std::string("i64")}};
        const NodeId one = g.node("Ones", "one", "cpu", ints);
        const NodeId zero = g.node("Zeros", "zero", "cpu", ints);
        const NodeId bad = g.node("Div", "bad", "cpu", {}, {one, zero});
        g.node("Save", "lost", "cpu", {{"path", std::string("lost.npy")}}, {bad});
        const NodeId a = g.node("Ones", "a", device, {{"shape", Ints{4}}});
        const NodeId r = g.node("Neg", "r", device, {}, {a});
        const NodeId here = g.node("To", "here", "cpu", {}, {r});
        g.node("Save", "kept", "cpu", {{"path", std::string("kept.npy")}}, {here});
        const auto plan = planOf(g.graph(), simulatedMap(), {}, files);
        Recorder recorder;
        const RunResult result = runToEnd(plan, {.iterations = 9}, &recorder);
        QCOMPARE(result.status, RunStatus::failed);
        QCOMPARE(files->writes(), std::size_t{1});
        QCOMPARE(files->get("kept.npy").at(3), -1.0);
        const auto stateOf = [&](const char* label) {
            std::vector<StepState> out;
            for (const StepRecord& record : recorder.records)
                if (record.step == stepNamed(*plan, label).index) out.push_back(record.state);
            return out;
        };
        QCOMPARE(stateOf("kept"), std::vector{StepState::done});
        QCOMPARE(stateOf("lost"), std::vector{StepState::poisoned});
        QCOMPARE(result.states[stepNamed(*plan, "kept").index], StepState::done);
        QCOMPARE(result.states[stepNamed(*plan, "lost").index], StepState::poisoned);
    }
}

/// Reading the values does not change the modelled times.
void TestExecutor::watchedOutputsAreReportedDuringTheRun() {
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cuda:0", {{"shape", Ints{8, 8}}});
    const NodeId sum = g.node("ReduceSum", "sum", "cuda:0", {{"keepdims", std::int64_t{0}}}, {m});
    const NodeId here = g.node("To", "here", "cpu", {}, {sum});
    g.node("Probe", "seen", "cpu", {}, {here});
    g.node("Probe", "there", "cuda:0", {}, {sum});
    g.node("Probe", "whole", "cuda:0", {}, {m});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map);
    const RunResult alone = runToEnd(plan, {.iterations = 5});
    Recorder recorder;
    const RunResult watched =
        runToEnd(plan, {.iterations = 5, .watched = {{sum, 0}, {here, 0}, {m, 0}}}, &recorder);
    QCOMPARE(watched.iterations, 5);
    QCOMPARE(watched.clockNs, alone.clockNs);
    QVERIFY(!recorder.looks.empty()); // the first one is not late
    for (const auto& look : recorder.looks) {
        QCOMPARE(look.size(), std::size_t(2)); // a tensor of several elements is left out
        for (const auto& [output, value] : look) {
            QVERIFY(output == (PortRef{sum, 0}) || output == (PortRef{here, 0}));
            QCOMPARE(value.values<float>()[0], 64.0F);
        }
    }
}

/// A sink runs in the last iteration only. In all other iterations, its waits must be taken over by other
/// steps.
void TestExecutor::aSinkDoesNotWaitForOthers() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId to = g.node("To", "to", "cuda:0", {{"non_blocking", true}}, {a});
    g.node("Probe", "before", "cuda:0", {}, {to});
    g.node("Relu", "r", "cuda:0", {}, {to});
    g.node("Probe", "after", "cuda:0", {}, {to});
    const auto plan = planOf(g.graph(), simulatedMap());
    const Step& copy = stepNamed(*plan, "a → cuda:0");
    const Step& relu = stepNamed(*plan, "r");
    QVERIFY(stepNamed(*plan, "before").last && stepNamed(*plan, "before").index < relu.index);
    QCOMPARE(relu.waits, (std::vector<std::uint32_t>{copy.index}));
    QCOMPARE(copy.carriedWaits, (std::vector<std::uint32_t>{relu.index}));
}

void TestExecutor::compileRefusesErrors() {
    GraphMaker g;
    g.node("Relu", "r");
    QVERIFY_EXCEPTION_THROWN(planOf(g.graph(), simulatedMap()), Error);
}

void TestExecutor::nodesIndependentOfPlaceholdersRun() {
    GraphMaker g;
    const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{2}}});
    const NodeId before = g.node("Neg", "before", "cpu", {}, {x});
    const NodeId odd = g.node("Odd", "odd", "cpu", {{"opset", std::int64_t{3}}}, {before});
    const NodeId after = g.node("Neg", "after", "cpu", {}, {odd});
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    QVERIFY(analysis.hasErrors() && analysis.mayRun());
    QVERIFY(QString::fromStdString(analysis.diagnostics[0].message)
                .startsWith(QStringLiteral("unknown op \"Odd\" of opset 3 (node \"odd\")")));
    const RunResult result = runToEnd(planOf(g.graph(), map, {.keepAll = true}), {});
    QCOMPARE(result.status, RunStatus::finished);
    QCOMPARE(floats(result, before, map), (std::vector<float>{-1, -1}));
    QVERIFY(!result.tensor({after, 0}));
}

/// Its kernels run on the cpu, whose peak is that of the cpu's own steps.
void TestExecutor::scratchOfASimulatedGpuCountsForNoDevice() {
    const auto peakOfCpu = [](const char* device) {
        GraphMaker g;
        const NodeId a = g.node("RandomNormal", "a", device, {{"shape", Ints{32, 64, 16}}});
        const NodeId b = g.node("RandomNormal", "b", device, {{"shape", Ints{16, 128}}});
        g.node("Einsum", "e", device, {{"equation", std::string("ijk,kl->jil")}}, {a, b});
        const RunResult result = runToEnd(planOf(g.graph(), simulatedMap()), {.iterations = 3});
        const auto cpu =
            std::ranges::find(result.memory, Device::cpu(), &std::pair<Device, MemoryStats>::first);
        return cpu == result.memory.end() ? std::size_t{1} : cpu->second.peak;
    };
    QCOMPARE(peakOfCpu("cuda:0"), std::size_t{0});
    QVERIFY(peakOfCpu("cpu") > 4 * 64 * 32 * 128);
}

/// The peak does not include earlier runs on the same devices.
void TestExecutor::thePeakIsThatOfTheRun() {
    const DeviceMap map = simulatedMap();
    const auto peakOf = [&](std::int64_t size, Device device) {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{size, size}}});
        const NodeId there = g.node("To", "there", "cuda:0", {}, {x});
        g.node("Neg", "y", "cuda:0", {}, {there});
        const RunResult result = runToEnd(planOf(g.graph(), map), {.iterations = 2});
        for (const auto& [of, memory] : result.memory)
            if (of == device) return memory.peak;
        return std::size_t{0};
    };
    for (const Device device : {Device::cpu(), Device::cuda(0)}) {
        const std::size_t small = peakOf(8, device);
        const std::size_t large = peakOf(2048, device);
        QVERIFY(large >= std::size_t{2048} * 2048 * 4);
        QVERIFY2(peakOf(8, device) < large / 4, "the peak of a run before it");
        QVERIFY(small > 0);
    }
}

void TestExecutor::emptyTensorsArePresent_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<QString>("dtype");
    for (const char* device : {"cpu", "cuda:0"})
        for (const char* dtype : {"f16", "bf16", "f32"})
            QTest::addRow("%s %s", device, dtype) << device << dtype;
}

/// An empty tensor has no memory, but its kernels must not take it for an absent optional input.
void TestExecutor::emptyTensorsArePresent() {
    QFETCH(QString, device);
    QFETCH(QString, dtype);
    const std::string lane = device.toStdString();
    GraphMaker g;
    const NodeId full = g.node("Full", "full", lane, {{"shape", Ints{0, 3}}, {"dtype", dtype.toStdString()}});
    const NodeId clip = g.node("Clip", "clip", lane, {}, {full}); // without its optional inputs
    const NodeId sum = g.node("Add", "sum", lane, {}, {clip, full});
    const NodeId total = g.node("Concat", "total", lane, {{"axis", std::int64_t{0}}}, {sum, full});
    g.node("Probe", "seen", lane, {}, {total});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keep = {PortRef{total, 0}}});
    const RunResult result = runToEnd(plan, {.iterations = 2}, nullptr);
    QVERIFY2(result.status == RunStatus::finished,
             result.errors.empty() ? "" : result.errors[0].message.c_str());
    QCOMPARE(result.tensor({total, 0})->shape(), Shape({0, 3}));
}

TWB_TEST_MAIN(TestExecutor)
#include "test_executor.moc"
