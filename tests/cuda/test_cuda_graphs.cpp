#include "backends/cuda/cuda_backend.h"
#include "core/error.h"
#include "cuda/fake_runtime.h"
#include "ops/op_table.h"
#include "profile/report.h"
#include "runtime/runs.h"
#include "support/random_lanes.h"
#include "support/test_main.h"

#include <QObject>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

/// Steps that take too long are left out of graphs. On a busy host the stand-in's kernels may take that long,
/// so its events report shorter times.
DeviceMap gpus(fake::Machine machine, double eventScale = 0.01) {
    machine.eventScale = eventScale;
    fake::start(machine);
    std::string problem;
    DeviceMap map;
    for (const auto& backend : cuda::findGpus(problem)) map.set(backend->info().device, backend, true);
    return map;
}

constexpr int kIterations = 10;
constexpr int kStepByStep = 2; ///< iterations before a graph is captured

/// Steps on cuda:0, each reading the previous one, in i64 so that a division can report a fault.
struct Line {
    GraphMaker g;
    NodeId last;
    Line() {
        last = g.node("Full", "x", "cuda:0",
                      {{"shape", Ints{100}}, {"value", 7.0}, {"dtype", std::string("i64")}});
    }
    NodeId add(const char* op, const std::string& name, const std::vector<NodeId>& more = {}) {
        std::vector<NodeId> inputs{last};
        inputs.insert(inputs.end(), more.begin(), more.end());
        last = g.node(op, name, "cuda:0", {}, inputs);
        return last;
    }
    NodeId constant(std::int64_t value, const char* device = "cuda:0") {
        return g.node("Constant", fmt::format("constant {}", value), device,
                      {{"value", double(value)}, {"dtype", std::string("i64")}});
    }
    std::shared_ptr<const Plan> plan(const DeviceMap& map) const {
        return planOf(g.graph(), map, {.fuse = false, .keep = {{last, 0}}});
    }
};

std::vector<std::int64_t> integers(const RunResult& result, NodeId node, const DeviceMap& map) {
    const Tensor* tensor = result.tensor({node, 0});
    return tensor ? toHost(*tensor, map).toIntegers() : std::vector<std::int64_t>{};
}

std::atomic<int> calls{0};
std::atomic<const void*> scalarOnHost{nullptr};
std::atomic<const void*> lastOperand{nullptr};

} // namespace

/// The CUDA graphs of a repeated plan's stretches, on a stand-in for the runtime that rejects calls not
/// allowed in a capture.
class TestCudaGraphs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void stepsAreCapturedOnceAndReplayed() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 100});
        Line line;
        for (int i = 0; i < 5; ++i) line.add("Neg", fmt::format("n{}", i));
        const auto plan = line.plan(map);
        calls = 0;
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        static const HostKernel negate = neg.kernel;
        neg.kernel = [](const KernelContext& context) {
            ++calls;
            negate(context);
        };
        Recorder recorder;
        const RunResult result = runToEnd(plan, {.iterations = kIterations}, &recorder);
        QCOMPARE(result.status, RunStatus::finished);
        // One graph for each of the two iterations that may be in flight.
        QCOMPARE(fake::captures(), 2);
        QCOMPARE(fake::graphLaunches(), kIterations - kStepByStep);
        QCOMPARE(result.replayed.graphs, 2);
        QCOMPARE(result.replayed.launches, 10);
        QCOMPARE(result.replayed.replays, kIterations - kStepByStep);
        QCOMPARE(result.replayed.refused, 0);
        QCOMPARE(calls.load(), 5 * kIterations);
        QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, -7));
        // Each step has times of its own, in sequence within a replay: the stand-in's times are scaled.
        int steps = 0;
        std::uint32_t iteration = 0;
        std::int64_t end = 0;
        for (const StepRecord& record : recorder.records) {
            if (plan->steps[record.step].setup) continue;
            ++steps;
            if (record.iteration != iteration) end = record.startNs;
            iteration = record.iteration;
            QCOMPARE(record.state, StepState::done);
            if (iteration >= kStepByStep)
                QVERIFY(record.startNs >= end - 1000); // CUDA returns times as float
            QVERIFY(record.endNs >= record.startNs);
            end = record.endNs;
        }
        QCOMPARE(steps, 5 * kIterations);
    }

    void aLaunchWithoutWorkTakesNoTime() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 100});
        Line line;
        line.add("Neg", "a");
        line.last = line.g.node("Reshape", "reshape", "cuda:0", {{"shape", Ints{10, 10}}}, {line.last});
        line.add("Neg", "b");
        const auto plan = line.plan(map);
        Recorder recorder;
        const RunResult result = runToEnd(plan, {.iterations = kIterations}, &recorder);
        QCOMPARE(result.replayed.launches, 6);
        int replays = 0;
        for (const StepRecord& record : recorder.records) {
            if (record.iteration < kStepByStep || plan->steps[record.step].label != "reshape") continue;
            ++replays;
            QCOMPARE(record.endNs, record.startNs);
        }
        QCOMPARE(replays, kIterations - kStepByStep);
    }

    void everyIterationIsASingleLaunch() {
        // Chains and products, too, are captured once and never issued again.
        const DeviceMap map = gpus({.gpus = 1});
        GraphMaker g;
        const Attributes square{{"shape", Ints{6, 6}}, {"seed", std::int64_t{3}}};
        const NodeId x = g.node("RandomNormal", "x", "cuda:0", square);
        const NodeId fc = g.node("MatMul", "fc", "cuda:0", {}, {x, x});
        const NodeId relu = g.node("Relu", "relu", "cuda:0", {}, {fc});
        const NodeId exp = g.node("Exp", "exp", "cuda:0", {}, {relu});
        const NodeId end = g.node("Neg", "neg", "cuda:0", {}, {exp});
        const auto plan = planOf(g.graph(), map, {.keep = {{end, 0}}});
        const int products = fake::productLaunches();
        const int chains = fake::chainLaunches();
        const RunResult result = runToEnd(plan, {.iterations = kIterations});
        QCOMPARE(fake::productLaunches(), products + kStepByStep + 2);
        QCOMPARE(fake::chainLaunches(), chains + kStepByStep + 2);
        const RunResult without = runToEnd(plan, {.iterations = kIterations, .cudaGraphs = false});
        QCOMPARE(fake::productLaunches(), products + kStepByStep + 2 + kIterations);
        QVERIFY(!floats(result, end, map).empty());
        QCOMPARE(floats(result, end, map), floats(without, end, map));
    }

    void optionDisablesGraphs() {
        const DeviceMap map = gpus({.gpus = 1});
        Line line;
        for (int i = 0; i < 5; ++i) line.add("Neg", fmt::format("n{}", i));
        const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations, .cudaGraphs = false});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(fake::captures(), 0);
        QCOMPARE(result.replayed.replays, 0);
    }

    void aFewIterationsGainNothing() {
        const DeviceMap map = gpus({.gpus = 1});
        Line line;
        for (int i = 0; i < 5; ++i) line.add("Neg", fmt::format("n{}", i));
        QCOMPARE(runToEnd(line.plan(map), {.iterations = 7}).status, RunStatus::finished);
        QCOMPARE(fake::captures(), 0);
    }

    void stepsThatMayFindAFaultAreCaptured() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 50});
        Line line;
        const NodeId three = line.constant(3);
        for (const char* name : {"a", "b"}) line.add("Neg", name);
        line.add("Div", "div", {three}); // looks for a division by zero
        for (const char* name : {"c", "d"}) line.add("Neg", name);
        const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations});
        QCOMPARE(result.replayed.graphs, 2); // one for each iteration in flight
        QCOMPARE(result.replayed.launches, 10);
        QCOMPARE(result.replayed.refused, 0);
        QCOMPARE(result.replayed.replays, kIterations - kStepByStep);
        QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, 2));
    }

    /// The host's steps of an iteration never see what a graph made of a faulty result.
    void faultInAReplayIsTheErrorOfItsStep() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 50});
        Op& abs = const_cast<Op&>(*findOp("Abs"));
        Op& sign = const_cast<Op&>(*findOp("Sign"));
        static HostKernel absBefore;
        absBefore = abs.kernel;
        const auto restore = qScopeGuard([&, signBefore = sign.kernel] {
            abs.kernel = absBefore;
            sign.kernel = signBefore;
        });
        calls = 0;
        abs.kernel = [](const KernelContext& c) {
            absBefore(c);
            if (++calls > 6) std::fill_n(static_cast<std::int64_t*>(c.outputs[0].data), 100, 0);
        };
        static std::atomic<int> onHost;
        onHost = 0;
        sign.kernel = [](const KernelContext& c) {
            ++onHost;
            std::fill_n(static_cast<std::int64_t*>(c.outputs[0].data), 100, 1);
        };
        Line line;
        const NodeId divisor = line.add("Abs", "abs");
        const NodeId x = line.constant(9);
        line.last = x;
        line.add("Add", "nines", {divisor});
        line.add("Div", "div", {divisor});
        const NodeId w = line.g.node("Parameter", "w", "cuda:0", {{"shape", Ints{100}}});
        const NodeId gradient =
            line.g.node("Cast", "gradient", "cuda:0", {{"to", std::string("f32")}}, {line.last});
        line.g.node("SGDUpdate", "update", "cuda:0", {{"lr", 0.1}}, {w, gradient});
        // The next iteration, which is already in flight, reads what the update wrote.
        const NodeId copied = line.g.node("To", "w home", "cpu", {}, {w});
        const NodeId saved = line.g.node("Neg", "of w", "cpu", {}, {copied});
        line.add("Div", "again", {line.last}); // finds a fault in the invalid result
        line.add("Neg", "after");
        const NodeId home = line.g.node("To", "home", "cpu", {}, {line.last});
        const NodeId host = line.g.node("Sign", "host", "cpu", {}, {home});
        const auto plan = planOf(line.g.graph(), map,
                                 {.fuse = false, .keep = {{host, 0}, {w, 0}, {copied, 0}, {saved, 0}}});
        const RunResult result = runToEnd(plan, {.iterations = 20});
        QCOMPARE(result.status, RunStatus::failed);
        QVERIFY(result.replayed.replays > 0);
        QCOMPARE(result.errors.size(), std::size_t{1});
        QVERIFY2(result.errors[0].message.starts_with("Div \"div\": ZeroDivisionError"),
                 result.errors[0].message.c_str());
        QCOMPARE(result.states[stepNamed(*plan, "after").index], StepState::poisoned);
        QCOMPARE(result.states[stepNamed(*plan, "host").index], StepState::poisoned);
        QCOMPARE(onHost.load(), 6);
        for (const NodeId invalid : {w, copied, saved}) // the update read an invalid gradient
            QVERIFY2(!result.tensor({invalid, 0}), line.g.graph().find(invalid)->name.c_str());
    }

    void faultNextToAGraphIsTheErrorOfItsStep() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 50});
        Line line;
        const NodeId zero = line.constant(0);
        for (const char* name : {"a", "b"}) line.add("Neg", name);
        line.add("Div", "div", {zero});
        for (const char* name : {"c", "d"}) line.add("Neg", name);
        const auto plan = line.plan(map);
        const RunResult result = runToEnd(plan, {.iterations = kIterations});
        QCOMPARE(result.status, RunStatus::failed);
        QCOMPARE(result.errors.size(), std::size_t{1});
        QVERIFY(result.errors[0].message.starts_with("Div \"div\": ZeroDivisionError"));
        QCOMPARE(result.states[stepNamed(*plan, "d").index], StepState::poisoned);
    }

    /// The scalar of each iteration comes from the GPU, through pinned memory that the host does not wait
    /// for.
    void aHostScalarIsReadAfterItsCopy() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 300});
        Line line;
        const NodeId count = line.g.node("Full", "count", "cuda:0",
                                         {{"shape", Ints{}}, {"value", 1.0}, {"dtype", std::string("i64")}});
        const NodeId next = line.g.node("Add", "next", "cuda:0", {}, {count, line.constant(1)});
        line.g.node("Assign", "keep", "cuda:0", {}, {count, next});
        const NodeId home =
            line.g.node("To", "home", "cpu", {{"pin_memory", true}, {"non_blocking", true}}, {next});
        line.add("Add", "sum", {home});
        const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, 7 + 1 + kIterations));
    }

    void hostScalarsAreTheGraphsOwn() {
        // More scalars than the upload ring holds, so that it is overwritten before the next replay.
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 20});
        Line line;
        std::int64_t sum = 7;
        for (int i = 1; i <= 20; ++i) {
            line.add("Add", fmt::format("add {}", i), {line.constant(i, "cpu")});
            sum += i;
        }
        const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations});
        QCOMPARE(result.replayed.launches, 40);
        QCOMPARE(result.replayed.refused, 0);
        QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, sum));
        QCOMPARE(fake::pageableCopies(), 0);
    }

    /// A kernel gets a device copy of each host scalar, however many operands precede it.
    void hostScalarsBeyondTheSixtyFourthAreCopiedToo() {
        const DeviceMap map = gpus({.gpus = 1});
        Op& max = const_cast<Op&>(*findOp("Max"));
        Op& constant = const_cast<Op&>(*findOp("Constant"));
        static HostKernel maxBefore;
        static HostKernel constantBefore;
        maxBefore = max.kernel;
        constantBefore = constant.kernel;
        const auto restore = qScopeGuard([&] {
            max.kernel = maxBefore;
            constant.kernel = constantBefore;
        });
        constant.kernel = [](const KernelContext& c) {
            if (c.outputs[0].shape.rank() == 0) scalarOnHost = c.outputs[0].data;
            constantBefore(c);
        };
        max.kernel = [](const KernelContext& c) {
            lastOperand = c.inputs.back().data;
            maxBefore(c);
        };
        Line line;
        const NodeId x = line.last;
        std::vector<NodeId> more(68, x);
        more.push_back(line.constant(9, "cpu"));
        line.add("Max", "max", more);
        const RunResult result = runToEnd(line.plan(map), {});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, 9));
        QVERIFY(scalarOnHost && lastOperand && scalarOnHost != lastOperand);
    }

    void longKernelsAreLaunchedOneByOne() {
        const DeviceMap map = gpus({.gpus = 1}, 1);
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = [](const KernelContext&) {
            std::this_thread::sleep_for(
                std::chrono::milliseconds(20)); // within the limit of 25 ms for a graph
        };
        Line line;
        for (int i = 0; i < 4; ++i) line.add("Neg", fmt::format("n{}", i));
        const RunResult result = runToEnd(line.plan(map), {.iterations = 8});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(result.replayed.replays, 0);
    }

    void libraryStartupDoesNotCountAsALongKernel() {
        const DeviceMap map = gpus({.gpus = 1}, 1);
        calls = 0;
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = [](const KernelContext&) {
            if (++calls <= 4)
                std::this_thread::sleep_for(
                    std::chrono::milliseconds(30)); // within the limit of 25 ms for a graph
        };
        Line line;
        for (int i = 0; i < 4; ++i) line.add("Neg", fmt::format("n{}", i));
        const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(result.replayed.launches, 8);
        QCOMPARE(result.replayed.replays, kIterations - kStepByStep);
    }

    void failedGraphsAreLaunchedOneByOne_data() {
        using Graphs = fake::Machine::Graphs;
        QTest::addColumn<int>("graphs");
        QTest::newRow("the capture") << int(Graphs::failToCapture);
        QTest::newRow("no memory to make it") << int(Graphs::failToBeMade);
        QTest::newRow("no memory to launch it") << int(Graphs::failToLaunch);
    }

    void failedGraphsAreLaunchedOneByOne() {
        QFETCH(int, graphs);
        {
            const DeviceMap map =
                gpus({.gpus = 1, .mostDelayUs = 50, .graphs = fake::Machine::Graphs(graphs)});
            Line line;
            for (int i = 1; i <= 5; ++i) line.add("Add", fmt::format("add {}", i), {line.constant(i, "cpu")});
            Recorder recorder;
            const RunResult result = runToEnd(line.plan(map), {.iterations = kIterations}, &recorder);
            QCOMPARE(result.status, RunStatus::finished);
            QCOMPARE(result.iterations, kIterations);
            QCOMPARE(result.replayed.replays, 0);
            QCOMPARE(result.replayed.refused, 2); // the capture is not tried again
            QCOMPARE(integers(result, line.last, map), std::vector<std::int64_t>(100, 7 + 15));
            for (const StepRecord& record : recorder.records) QCOMPARE(record.state, StepState::done);
        }
        QCOMPARE(fake::liveAllocations(), std::size_t{0});
    }

    void replayThatBreaksTheGpuIsReported() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 50});
        calls = 0;
        Op& neg = const_cast<Op&>(*findOp("Neg"));
        const auto restore = qScopeGuard([&neg, before = neg.kernel] { neg.kernel = before; });
        neg.kernel = [](const KernelContext&) {
            if (++calls == 18) throw Error(ErrorCode::failed, "planted");
        };
        Line line;
        for (int i = 0; i < 4; ++i) line.add("Neg", fmt::format("n{}", i));
        const RunResult result = runToEnd(line.plan(map), {.iterations = 1000});
        QCOMPARE(result.status, RunStatus::failed);
        QVERIFY(result.replayed.replays > 0 && result.replayed.replays < 1000);
        QVERIFY2(result.errors.at(0).message.find("cuda:0 can no longer be used") != std::string::npos,
                 result.errors[0].message.c_str());
    }

    void anEditCreatesNewGraphs() {
        const DeviceMap map = gpus({.gpus = 1, .mostDelayUs = 50});
        Executor executor;
        for (const std::int64_t added : {1, 2, 3}) {
            Line line;
            line.add("Neg", "a");
            line.add("Add", "b", {line.constant(added, "cpu")});
            for (std::int64_t i = 0; i < added; ++i) line.add("Neg", fmt::format("n{}", i));
            Recorder recorder;
            executor.start(line.plan(map), {.iterations = kIterations}, recorder);
            executor.wait();
            QCOMPARE(recorder.result.replayed.graphs, 2);
            QCOMPARE(recorder.result.replayed.launches, 2 * (2 + added));
            const std::int64_t wanted = (added % 2 == 0 ? 1 : -1) * (-7 + added);
            QCOMPARE(integers(recorder.result, line.last, map), std::vector<std::int64_t>(100, wanted));
        }
        QCOMPARE(fake::captures(), 6);
    }

    void reportCountsGraphs() {
        const DeviceMap map = gpus({.gpus = 1});
        Line line;
        for (int i = 0; i < 5; ++i) line.add("Neg", fmt::format("n{}", i));
        RunReport report;
        report.plan = line.plan(map);
        report.result = runToEnd(report.plan, {.iterations = kIterations});
        const auto json = nlohmann::json::parse(toJson(report));
        QVERIFY(
            json.at("cuda_graphs") ==
            (nlohmann::json{
                {"graphs", 2}, {"launches", 10}, {"replays", kIterations - kStepByStep}, {"refused", 0}}));
        const std::string text = toTable(report, false);
        QVERIFY2(text.find(" · 2 CUDA graphs launched 8 times") != std::string::npos, text.c_str());
        report.result = runToEnd(report.plan, {.iterations = kIterations, .cudaGraphs = false});
        QVERIFY(!nlohmann::json::parse(toJson(report)).contains("cuda_graphs"));
    }

    void runsOnManyLanesEqualTheCpus() {
        std::int64_t replays = 0;
        for (unsigned seed = 100; seed < 120; ++seed) {
            const DeviceMap map = gpus({.mostDelayUs = 100});
            const auto [onCpu, same] = graphOnRandomLanes(seed, true);
            const auto expected =
                floats(runToEnd(planOf(onCpu, DeviceMap(), {.keep = {{same, 0}}}), {}), same, DeviceMap());
            const auto [graph, last] = graphOnRandomLanes(seed, false);
            const auto plan = planOf(graph, map, {.policy = Policy::implicit, .keep = {{last, 0}}});
            const RunResult result = runToEnd(plan, {.iterations = 9});
            QVERIFY2(result.status == RunStatus::finished,
                     result.errors.empty() ? "" : result.errors[0].message.c_str());
            QVERIFY2(floats(result, last, map) == expected, qPrintable(QString::number(seed)));
            replays += result.replayed.replays;
            QCOMPARE(result.replayed.refused, 0);
        }
        QVERIFY(replays > 50);
        QCOMPARE(fake::pageableCopies(), 0);
    }
};

TWB_TEST_MAIN(TestCudaGraphs)
#include "test_cuda_graphs.moc"
