#include "profile/ledger.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <map>

using namespace twb;
using namespace twb::test;

class TestTransfers : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sourcesRunOnceAndTransfersEachIteration();
    void fileOnAGpuLaneIsStaged();
    void copiesOverlapOnTheVirtualClock();
    void blockingCopiesHoldBackWhatComesAfter();
    void toTheSameDeviceIsTheSameTensor();
    void dtypeConversionCrossesTheLinkNarrow();
    void implicitCopiesAreHoisted();
    void scalarOperandsNeedNoTransfer();
};

void TestTransfers::sourcesRunOnceAndTransfersEachIteration() {
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
    // Copies of the setup's results have no defined queue wait.
    QCOMPARE(ledger.rows()[0].waited, std::uint64_t{0});
    QCOMPARE(ledger.rows()[1].waited, std::uint64_t{50});
}

void TestTransfers::fileOnAGpuLaneIsStaged() {
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

void TestTransfers::copiesOverlapOnTheVirtualClock() {
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

void TestTransfers::blockingCopiesHoldBackWhatComesAfter() {
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

void TestTransfers::toTheSameDeviceIsTheSameTensor() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cpu", {{"shape", Ints{4}}});
    const NodeId to = g.node("To", "to", "cpu", {}, {a});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
    QVERIFY(plan->transfers.empty());
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.tensor({a, 0})->data(), result.tensor({to, 0})->data());
}

void TestTransfers::dtypeConversionCrossesTheLinkNarrow() {
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

void TestTransfers::implicitCopiesAreHoisted() {
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

void TestTransfers::scalarOperandsNeedNoTransfer() {
    GraphMaker g;
    const NodeId a = g.node("Ones", "a", "cuda:0", {{"shape", Ints{4}}});
    const NodeId two = g.node("Full", "two", "cpu", {{"shape", Ints{}}, {"value", 2.0}});
    const NodeId m = g.node("Mul", "m", "cuda:0", {}, {a, two});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    QVERIFY(plan->transfers.empty());
    QCOMPARE(floats(runToEnd(plan, {}), m, map), (std::vector<float>{2, 2, 2, 2}));
}

TWB_TEST_MAIN(TestTransfers)
#include "test_transfers.moc"
