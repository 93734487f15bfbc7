#include "profile/ledger.h"
#include "runtime/executor.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QElapsedTimer>
#include <QObject>

#include <atomic>
#include <cstring>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::shared_ptr<const Plan> planOf(const Graph& graph, const DeviceMap& map, CompileOptions options = {},
                                   std::shared_ptr<const TensorFiles> files = nullptr) {
    return compile(graph, analyze(graph, map, options.policy, files.get()), map, files, options);
}

class Recorder final : public RunObserver {
public:
    void started(std::uint64_t run, const Plan&) override { starts.push_back(run); }
    void steps(std::uint64_t, std::span<const StepRecord> batch) override {
        records.insert(records.end(), batch.begin(), batch.end());
    }
    void progress(std::uint64_t, std::int64_t now, std::int64_t) override { done = now; }
    void finished(const RunResult& r) override { result = r; }

    std::vector<std::uint64_t> starts;
    std::vector<StepRecord> records;
    std::atomic<std::int64_t> done{0};
    RunResult result;
};

const Step& stepNamed(const Plan& plan, std::string_view label) {
    for (const Step& step : plan.steps)
        if (step.label == label) return step;
    qFatal("no step %s", std::string(label).c_str());
}

std::vector<float> floats(const RunResult& result, NodeId node, const DeviceMap& map) {
    const Tensor* tensor = result.tensor({node, 0});
    if (!tensor) return {};
    const Tensor host = toHost(*tensor, map);
    const auto values = host.values<float>();
    return {values.begin(), values.end()};
}

} // namespace

class TestExecutor : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void runsOnBothKindsOfDevice();
    void sourcesRunOnceAndTransfersEachIteration();
    void fileOnAGpuLaneIsStaged();
    void copiesOverlapOnTheVirtualClock();
    void blockingCopiesHoldBackWhatComesAfter();
    void aModelledStepTakesWhatTheProfileSays();
    void errorsPoisonTheirDependentsOnly();
    void outOfMemoryNamesTheNodeAndTheRestRuns();
    void cancelTakesEffectSoon();
    void startWhileRunningIsRefused();
    void cacheRunsOnlyWhatChanged();
    void sizesKnownOnlyAtRunTime();
    void toTheSameDeviceIsTheSameTensor();
    void dtypeConversionCrossesTheLinkNarrow();
    void implicitCopiesAreHoisted();
    void sharedMemoryGivesTheSameNumbers_data();
    void sharedMemoryGivesTheSameNumbers();
    void aChainTakesTurnsInTwoSlots();
    void saveWritesOnceAfterTheLastIteration();
    void aSinkDoesNotWaitForOthers();
    void scalarOperandsNeedNoTransfer();
    void compileRefusesErrors();
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

void TestExecutor::sourcesRunOnceAndTransfersEachIteration() {
    GraphMaker g;
    const NodeId a = g.node("Zeros", "a", "cpu", {{"shape", Ints{100}}});
    const NodeId to = g.node("To", "to", "cuda:0", {}, {a});
    const NodeId r = g.node("Relu", "r", "cuda:0", {}, {to});
    g.node("To", "back", "cpu", {}, {r});
    const auto plan = planOf(g.graph(), simulatedMap());
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 50}, &recorder);
    QCOMPARE(result.iterations, 50);
    std::map<std::string, int> counts;
    for (const StepRecord& record : recorder.records) ++counts[plan->steps[record.step].label];
    QCOMPARE(counts["a"], 1);
    QCOMPARE(counts["r"], 50);
    Ledger ledger(plan);
    ledger.add(recorder.records);
    QCOMPARE(ledger.rows().size(), std::size_t{2});
    for (const LedgerRow& row : ledger.rows()) {
        QCOMPARE(row.count, std::uint64_t{50});
        QCOMPARE(row.bytes, std::uint64_t{50 * 400});
    }
    QCOMPARE(ledger.totalBytes(), std::uint64_t{2 * 50 * 400});
}

void TestExecutor::fileOnAGpuLaneIsStaged() {
    auto files = std::make_shared<MemoryFiles>();
    files->put("w.npy", Tensor::of<float>({3}, {1, -2, 3}));
    GraphMaker g;
    const NodeId w = g.node("File", "w", "cuda:0", {{"path", std::string("w.npy")}});
    const NodeId r = g.node("Relu", "r", "cuda:0", {}, {w});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true}, files);
    QCOMPARE(plan->transfers.size(), std::size_t{1});
    QCOMPARE(plan->transfers[0].kind, TransferKind::staging);
    QVERIFY(plan->transfers[0].setup);
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 3}, &recorder);
    QCOMPARE(floats(result, r, map), (std::vector<float>{1, 0, 3}));
    Ledger ledger(plan);
    ledger.add(recorder.records);
    QCOMPARE(ledger.rows()[0].count, std::uint64_t{1});
    QCOMPARE(ledger.rows()[0].bytes, std::uint64_t{12});
}

void TestExecutor::copiesOverlapOnTheVirtualClock() {
    // 4 MB over 5 GB/s is 0.8 ms; the MatMul beside it on the compute stream takes 2 * 700^3 flops at 1
    // TFLOP/s, 0.69 ms.
    GraphMaker g;
    const NodeId big = g.node("Zeros", "big", "cpu", {{"shape", Ints{1000, 1000}}});
    const NodeId to = g.node("To", "to", "cuda:0", {{"non_blocking", true}}, {big});
    const NodeId m = g.node("Zeros", "m", "cuda:0", {{"shape", Ints{700, 700}}});
    const NodeId mm = g.node("MatMul", "mm", "cuda:0", {}, {m, m});
    QVERIFY(value(to) && value(mm));
    const auto plan = planOf(g.graph(), simulatedMap());
    Recorder recorder;
    const RunResult result = runToEnd(plan, {}, &recorder);
    std::map<std::string, StepRecord> by;
    for (const StepRecord& record : recorder.records) by[plan->steps[record.step].label] = record;
    const StepRecord& copy = by["big → cuda:0"];
    const StepRecord& product = by["mm"];
    QCOMPARE(copy.endNs - copy.startNs, 10'000 + 800'000);
    QVERIFY(copy.startNs < product.endNs && product.startNs < copy.endNs);
    QCOMPARE(result.clockNs, std::max(copy.endNs - copy.startNs, product.endNs - product.startNs));
}

void TestExecutor::blockingCopiesHoldBackWhatComesAfter() {
    GraphMaker g;
    const NodeId big = g.node("Zeros", "big", "cpu", {{"shape", Ints{1000, 1000}}});
    const NodeId to = g.node("To", "to", "cuda:0", {}, {big});
    const NodeId m = g.node("Zeros", "m", "cuda:0", {{"shape", Ints{300, 300}}});
    const NodeId mm = g.node("MatMul", "mm", "cuda:0", {}, {m, m});
    QVERIFY(value(to) && value(mm));
    const auto plan = planOf(g.graph(), simulatedMap());
    Recorder recorder;
    runToEnd(plan, {.iterations = 3}, &recorder);
    std::map<std::uint32_t, StepRecord> copies;
    for (const StepRecord& record : recorder.records)
        if (plan->steps[record.step].transfer != kNone) copies[record.iteration] = record;
    for (const StepRecord& record : recorder.records) {
        if (plan->steps[record.step].label != "mm") continue;
        QVERIFY(record.startNs >= copies[record.iteration].endNs);
    }
}

void TestExecutor::aModelledStepTakesWhatTheProfileSays() {
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
                 message.contains(QStringLiteral("4194304 bytes were asked")),
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
    QElapsedTimer timer;
    timer.start();
    executor.cancel();
    executor.wait();
    QVERIFY2(timer.elapsed() < 1000,
             "cancel took more than a second"); // 100 ms unloaded; the test machine may not be
    QCOMPARE(recorder.result.status, RunStatus::cancelled);
    QVERIFY(recorder.result.iterations >= 1 && recorder.result.iterations < 1'000'000);
    QVERIFY(!executor.isRunning());
    // The executor is as good as new.
    Recorder again;
    executor.start(plan, {.iterations = 2}, again);
    executor.wait();
    QCOMPARE(again.result.status, RunStatus::finished);
    QCOMPARE(again.starts, (std::vector<std::uint64_t>{2}));
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

void TestExecutor::sizesKnownOnlyAtRunTime() {
    // The shape comes out of a Cast: nothing but the run knows it.
    GraphMaker g;
    const NodeId data = g.node("Arange", "data", "cuda:0", {{"limit", 12.0}, {"dtype", std::string("f32")}});
    const NodeId raw =
        g.node("Constant", "raw", "cpu", {{"value", std::vector<double>{3, 4}}, {"shape", Ints{2}}});
    const NodeId shape = g.node("Cast", "shape", "cpu", {{"to", std::string("i64")}}, {raw});
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
    QCOMPARE(ledger.totalBytes(), std::uint64_t{4 * 48});
}

void TestExecutor::toTheSameDeviceIsTheSameTensor() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId to = g.node("To", "to", "cpu", {}, {a});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
    QVERIFY(plan->transfers.empty());
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.tensor({a, 0})->data(), result.tensor({to, 0})->data());
}

void TestExecutor::dtypeConversionCrossesTheLinkNarrow() {
    GraphMaker g;
    const NodeId wide = g.node("Ones", "wide", "cpu", {{"shape", Ints{100}}, {"dtype", std::string("f64")}});
    const NodeId narrow = g.node("To", "narrow", "cuda:0", {{"dtype", std::string("f32")}}, {wide});
    const NodeId back = g.node("To", "back", "cpu", {{"dtype", std::string("f64")}}, {narrow});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    QCOMPARE(plan->transfers.size(), std::size_t{2});
    for (const Transfer& transfer : plan->transfers) QCOMPARE(transfer.bytes, std::uint64_t{400});
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.tensor({back, 0})->dtype(), DType::f64);
    QCOMPARE(result.tensor({back, 0})->at(99), 1.0);
}

void TestExecutor::implicitCopiesAreHoisted() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId r = g.node("Relu", "r", "cuda:0", {}, {a});
    const NodeId back = g.node("Relu", "back", "cpu", {}, {r});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.policy = Policy::implicit, .keepAll = true});
    QCOMPARE(plan->transfers.size(), std::size_t{2});
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 7}, &recorder);
    Ledger ledger(plan);
    ledger.add(recorder.records);
    for (std::size_t i = 0; i < 2; ++i) {
        QCOMPARE(plan->transfers[i].kind, TransferKind::implicitTo);
        QCOMPARE(ledger.rows()[i].count,
                 plan->transfers[i].from.node == a ? std::uint64_t{1} : std::uint64_t{7});
    }
    QCOMPARE(floats(result, back, map), (std::vector<float>{1, 1, 1, 1}));
}

void TestExecutor::sharedMemoryGivesTheSameNumbers_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 0; seed < 40; ++seed) QTest::addRow("seed %d", seed) << seed;
}

/// Random graphs on random lanes: with shared memory, in place, three iterations deep and across devices,
/// every result must be bit for bit what a plain run on one cpu lane gives.
void TestExecutor::sharedMemoryGivesTheSameNumbers() {
    QFETCH(int, seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    GraphMaker spread;
    GraphMaker plain;
    std::vector<NodeId> nodes;
    const auto add = [&](const char* op, const Attributes& attributes, const std::vector<NodeId>& inputs) {
        static const char* const devices[] = {"cpu", "cuda:0", "cuda:1"};
        const std::string name = "n" + std::to_string(nodes.size());
        nodes.push_back(spread.node(op, name, devices[random() % 3], attributes, inputs));
        plain.node(op, name, "cpu", attributes, inputs);
    };
    for (int i = 0; i < 4; ++i)
        add("RandomNormal", {{"shape", Ints{6, 6}}, {"seed", static_cast<std::int64_t>(random() % 1000)}},
            {});
    for (int i = 0; i < 60; ++i) {
        static const char* const unary[] = {"Relu", "Tanh", "Neg", "Sigmoid", "Transpose"};
        static const char* const binary[] = {"Add", "Sub", "Mul", "MatMul"};
        // Mostly recent results, so that lives are short and memory is shared.
        const auto pick = [&] {
            const std::size_t back = random() % std::min<std::size_t>(nodes.size(), random() % 4 ? 5 : 40);
            return nodes[nodes.size() - 1 - back];
        };
        // One after the other: the order of a call's arguments is the compiler's choice, and so would be the
        // graph.
        const bool one = random() % 2 != 0;
        const char* const op = one ? unary[random() % 5] : binary[random() % 4];
        const NodeId first = pick();
        add(op, {}, one ? std::vector<NodeId>{first} : std::vector<NodeId>{first, pick()});
    }
    std::set<PortRef> leaves;
    for (NodeId id : nodes)
        if (plain.graph().outgoing(id).empty()) leaves.insert({id, 0});
    const DeviceMap map = simulatedMap(2);
    const RunResult expected = runToEnd(planOf(plain.graph(), map, {.keepAll = true}), {});
    const auto plan = planOf(spread.graph(), map, {.policy = Policy::implicit, .keep = leaves});
    QVERIFY(plan->slots.size() <= plan->values.size());
    const RunResult got = runToEnd(plan, {.iterations = 3});
    QCOMPARE(got.status, RunStatus::finished);
    for (PortRef leaf : leaves) {
        QVERIFY(expected.tensor(leaf) && got.tensor(leaf));
        const Tensor a = *expected.tensor(leaf);
        const Tensor b = toHost(*got.tensor(leaf), map);
        QVERIFY(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.byteCount())) == 0);
    }
}

void TestExecutor::aChainTakesTurnsInTwoSlots() {
    // MatMul cannot work in place: beside the source and the kept end, two slots take turns.
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cuda:0", {{"shape", Ints{8, 8}}});
    NodeId at = m;
    for (int i = 0; i < 12; ++i) at = g.node("MatMul", "mm" + std::to_string(i), "cuda:0", {}, {at, m});
    const auto matmuls = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{at, 0}}});
    QCOMPARE(matmuls->values.size(), std::size_t{13});
    QCOMPARE(matmuls->slots.size(), std::size_t{4});
    // Relu can: all of them but the kept end share one, and each says whose it took.
    GraphMaker r;
    NodeId end = r.node("Ones", "one", "cuda:0", {{"shape", Ints{8}}});
    for (int i = 0; i < 12; ++i) end = r.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {end});
    const auto relus = planOf(r.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QCOMPARE(relus->slots.size(), std::size_t{3});
    QVERIFY(stepNamed(*relus, "r5").inPlaceOf != kNone);
    QVERIFY(stepNamed(*relus, "r0").inPlaceOf ==
            kNone); // the source is made once and read in every iteration
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

/// A sink runs in the last iteration only: what it waits for then, others must wait for in all the iterations
/// before.
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

void TestExecutor::scalarOperandsNeedNoTransfer() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cuda:0", {{"shape", Ints{4}}});
    const NodeId two = g.node("Full", "two", "cpu", {{"shape", Ints{}}, {"value", 2.0}});
    const NodeId m = g.node("Mul", "m", "cuda:0", {}, {a, two});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    QVERIFY(plan->transfers.empty());
    QCOMPARE(floats(runToEnd(plan, {}), m, map), (std::vector<float>{2, 2, 2, 2}));
}

void TestExecutor::compileRefusesErrors() {
    GraphMaker g;
    g.node("Relu", "r");
    QVERIFY_EXCEPTION_THROWN(planOf(g.graph(), simulatedMap()), Error);
}

TWB_TEST_MAIN(TestExecutor)
#include "test_executor.moc"
