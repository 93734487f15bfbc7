#include "ops/op_table.h"
#include "profile/report.h"
#include "profile/run_timeline.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

Attributes full(double value, Ints shape = {}) { return {{"value", value}, {"shape", std::move(shape)}}; }
Attributes integer(std::int64_t value) {
    return {{"value", value}, {"shape", Ints{}}, {"dtype", std::string("i64")}};
}
Attributes index(std::int64_t i) { return {{"index", i}}; }

/// A Loop that computes x = x * factor `times` times, starting from `initial`.
struct Power {
    GraphMaker g;
    NodeId initial, x, factor, product, loop;
    explicit Power(const char* device, std::int64_t times) {
        initial = g.node("Full", "initial", device, full(1, {4}));
        x = g.node("Carried", "x", device, index(0), {initial});
        factor = g.node("Full", "factor", device, full(2));
        product = g.node("Mul", "product", device, {}, {x, factor});
        loop = g.node("Loop", "loop", device, {{"M", times}, {"carried", std::int64_t{1}}});
        g.connect(product, loop, 3);
        g.body(loop, "body", {x, factor, product});
    }
};

RunResult run(const GraphMaker& g, const DeviceMap& map, std::int64_t iterations = 1,
              RunObserver* observer = nullptr) {
    return runToEnd(planOf(g.graph(), map, {.keepAll = true}), {.iterations = iterations}, observer);
}

} // namespace

class TestControlFlow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anIfRunsOneBranch_data() { devices(); }
    void anIfRunsOneBranch();
    void theBranchThatDoesNotRunMayHaveAnotherRank();
    void aLoopCarriesValues_data() { devices(); }
    void aLoopCarriesValues();
    void noIterationsGiveTheInitialValue();
    void aConditionEndsALoop();
    void aConditionThatTheBodyReadsKeepsItsMemory();
    void iterationsWithABodyAreReportedOneByOne();
    void resultsAreStacked();
    void sizesMayVary();
    void readersOfKnownSizeSeeEachIteration_data() { devices(); }
    void readersOfKnownSizeSeeEachIteration();
    void aLoopThatDidNotRunLeavesItsInitialValueAlone_data() { devices(); }
    void aLoopThatDidNotRunLeavesItsInitialValueAlone();
    void carriedValuesMayChangePlaces();
    void bodiesMayBeNested();
    void aScanTakesSlices_data() { devices(); }
    void aScanTakesSlices();
    void outerTensorsKeepTheirMemory();
    void weightsStayPackedFromOneRunToTheNext();
    void transfersInABodyAreCounted();
    void aCopyForABodyWaitsForItsTensor();
    void stepsAfterABodyAreNotCached();
    void anErrorInABodyPoisonsItsOwner();
    void whatABodyReadsFailed();
    void anEndlessLoopCanBeCancelled();

private:
    static void devices() {
        QTest::addColumn<QString>("device");
        QTest::newRow("cpu") << "cpu";
        QTest::newRow("cuda:0") << "cuda:0";
    }
};

void TestControlFlow::anIfRunsOneBranch() {
    QFETCH(QString, device);
    const std::string d = device.toStdString();
    for (const bool taken : {true, false}) {
        GraphMaker g;
        const NodeId cond =
            g.node("Full", "cond", "cpu",
                   {{"value", taken ? 1.0 : 0.0}, {"shape", Ints{}}, {"dtype", std::string("bool")}});
        const NodeId a = g.node("Full", "a", d, full(3, {2}));
        const NodeId then = g.node("Neg", "then", d, {}, {a});
        const NodeId other = g.node("Exp", "other", d, {}, {a});
        const NodeId choice = g.node("If", "choice", d, {}, {cond, then, other});
        const NodeId after = g.node("Abs", "after", d, {}, {choice});
        g.body(choice, "then_branch", {then});
        g.body(choice, "else_branch", {other});
        const DeviceMap map = simulatedMap();
        const auto plan = planOf(g.graph(), map, {.keepAll = true});
        Recorder recorder;
        const RunResult result = runToEnd(plan, {.iterations = 3}, &recorder);
        QCOMPARE(result.status, RunStatus::finished);
        const float expected = taken ? 3.0F : std::exp(3.0F);
        QCOMPARE(floats(result, after, map), (std::vector<float>{expected, expected}));
        QCOMPARE(result.states[stepNamed(*plan, "then").index], taken ? StepState::done : StepState::skipped);
        QCOMPARE(result.states[stepNamed(*plan, "other").index],
                 taken ? StepState::skipped : StepState::done);
        // A branch that did not run has no results.
        QCOMPARE(floats(result, taken ? other : then, map), std::vector<float>());
        QCOMPARE(floats(result, taken ? then : other, map).size(), std::size_t(2));
        const std::uint32_t skipped = stepNamed(*plan, taken ? "other" : "then").index;
        StepTimes times(plan);
        times.add(recorder.records);
        QCOMPARE(times.rows()[skipped].state, StepState::skipped);
        QCOMPARE(times.rows()[skipped].count, std::uint64_t{0});
    }
}

void TestControlFlow::aLoopCarriesValues() {
    QFETCH(QString, device);
    const Power power(qPrintable(device), 5);
    const DeviceMap map = simulatedMap();
    Recorder recorder;
    const auto plan = planOf(power.g.graph(), map, {.keepAll = true});
    const RunResult result = runToEnd(plan, {.iterations = 4}, &recorder);
    QCOMPARE(result.status, RunStatus::finished);
    QCOMPARE(floats(result, power.loop, map), (std::vector<float>{32, 32, 32, 32}));
    QCOMPARE(floats(result, power.product, map),
             (std::vector<float>{32, 32, 32, 32})); // the last iteration's
    const std::uint32_t product = stepNamed(*plan, "product").index;
    const auto ran =
        std::count_if(recorder.records.begin(), recorder.records.end(), [&](const StepRecord& r) {
            return r.step == product && r.state == StepState::done && r.endNs >= r.startNs;
        });
    QCOMPARE(ran, 4 * 5);
    const std::uint32_t loop = stepNamed(*plan, "loop").index;
    for (const StepRecord& r : recorder.records)
        if (r.step == loop) QVERIFY(r.endNs > r.startNs);
}

void TestControlFlow::noIterationsGiveTheInitialValue() {
    Power power("cuda:0", 0);
    power.g.connect(power.product, power.loop, 4);
    DeltaBuilder builder(power.g.graph(), "");
    Node loop = *power.g.graph().find(power.loop);
    loop.attributes.set("num_outputs", std::int64_t{2});
    builder.change(loop);
    Graph graph = power.g.graph();
    graph.apply(builder.take());
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(graph, map, {.keepAll = true});
    const RunResult result = runToEnd(plan, {});
    QCOMPARE(result.status, RunStatus::finished);
    QCOMPARE(floats(result, power.loop, map), (std::vector<float>{1, 1, 1, 1}));
    QCOMPARE(result.tensor({power.loop, 1})->shape(), (Shape{0, 4}));
    QCOMPARE(result.states[stepNamed(*plan, "product").index], StepState::skipped);
}

void TestControlFlow::aConditionEndsALoop() {
    GraphMaker g;
    const NodeId initial = g.node("Full", "initial", "cpu", full(1));
    const NodeId limit = g.node("Full", "limit", "cpu", full(100));
    const NodeId x = g.node("Carried", "x", "cpu", index(0), {initial});
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {x, x});
    const NodeId goesOn = g.node("Less", "goes on", "cpu", {}, {sum, limit});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"carried", std::int64_t{1}}});
    g.connect(goesOn, loop, 2);
    g.connect(sum, loop, 3);
    g.body(loop, "body", {x, sum, goesOn});
    const DeviceMap map = simulatedMap();
    QCOMPARE(floats(run(g, map), loop, map), (std::vector<float>{128}));
}

/// A step of the body that reads the condition may not write over it.
void TestControlFlow::aConditionThatTheBodyReadsKeepsItsMemory() {
    GraphMaker g;
    const NodeId zero = g.node("Full", "zero", "cpu", full(0));
    const NodeId count = g.node("Carried", "count", "cpu", index(0), {zero});
    const NodeId one = g.node("Full", "one", "cpu", full(1));
    const NodeId next = g.node("Add", "next", "cpu", {}, {count, one});
    const NodeId limit = g.node("Full", "limit", "cpu", full(5));
    const NodeId goesOn = g.node("Less", "goes on", "cpu", {}, {next, limit});
    const NodeId stops = g.node("Not", "stops", "cpu", {}, {goesOn});
    const NodeId stacked = g.node("Cast", "stacked", "cpu", {{"to", std::string("f32")}}, {stops});
    const NodeId loop =
        g.node("Loop", "loop", "cpu",
               {{"M", std::int64_t{100}}, {"carried", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}});
    g.connect(goesOn, loop, 2);
    g.connect(next, loop, 3);
    g.connect(stacked, loop, 4);
    g.body(loop, "body", {count, one, next, limit, goesOn, stops, stacked});
    const DeviceMap map = simulatedMap();
    for (const bool fuses : {false, true}) {
        CompileOptions options;
        options.keep = {{loop, 0}, {loop, 1}};
        options.fuseOnCpu = fuses;
        const RunResult result = runToEnd(planOf(g.graph(), map, options), {.iterations = 1});
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, loop, map), std::vector<float>{5});
        QCOMPARE(result.tensor({loop, 1})->type().shape, (Shape{5}));
    }
}

void TestControlFlow::iterationsWithABodyAreReportedOneByOne() {
    const Power power("cpu", 3);
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(power.g.graph(), map, {.keepAll = true});
    Recorder recorder;
    QCOMPARE(runToEnd(plan, {.iterations = 20}, &recorder).status, RunStatus::finished);
    RunTimeline timeline(plan);
    timeline.add(recorder.records);
    timeline.finish();
    QCOMPARE(timeline.iterations().count(), std::uint64_t(20));
    QVERIFY(std::ranges::is_sorted(recorder.records, {}, &StepRecord::iteration));
}

void TestControlFlow::resultsAreStacked() {
    GraphMaker g;
    const NodeId i = g.node("Iteration", "i");
    const NodeId f = g.node("Cast", "f", "cpu", {{"to", std::string("f32")}}, {i});
    const NodeId base = g.node("Arange", "base", "cpu", {{"limit", 2.0}, {"dtype", std::string("f32")}});
    const NodeId row = g.node("Add", "row", "cpu", {}, {base, f});
    const NodeId times = g.node("Constant", "times", "cpu", integer(3));
    const NodeId loop = g.node("Loop", "loop");
    g.connect(times, loop, 0);
    g.connect(row, loop, 3);
    g.body(loop, "body", {i, f, row});
    const DeviceMap map = simulatedMap();
    const Analysis analysis = analyze(g.graph(), map, Policy::strict, nullptr);
    QCOMPARE(analysis.typeOf({loop, 0})->shape, (Shape{3, 2})); // known before the run
    const RunResult result = run(g, map, 2);
    QCOMPARE(floats(result, loop, map), (std::vector<float>{0, 1, 1, 2, 2, 3}));
    QCOMPARE(floats(result, row, map), (std::vector<float>{2, 3})); // the last part
}

void TestControlFlow::theBranchThatDoesNotRunMayHaveAnotherRank() {
    for (const double condition : {1.0, 0.0}) {
        GraphMaker g;
        Attributes truth = full(condition);
        truth.set("dtype", std::string("bool"));
        const NodeId x = g.node("Full", "x", "cpu", full(3, {2}));
        const NodeId yes = g.node("Neg", "yes", "cpu", {}, {x});
        const NodeId no = g.node("ReduceSum", "no", "cpu", {{"keepdims", false}}, {x});
        const NodeId choice =
            g.node("If", "choice", "cpu", {}, {g.node("Full", "truth", "cpu", truth), yes, no});
        g.body(choice, "then_branch", {yes});
        g.body(choice, "else_branch", {no});
        const NodeId after = g.node("Neg", "after", "cpu", {}, {choice});
        const DeviceMap map = simulatedMap();
        QCOMPARE(floats(run(g, map, 2), after, map),
                 condition != 0 ? std::vector<float>({3, 3}) : std::vector<float>{-6});
    }
}

void TestControlFlow::sizesMayVary() {
    GraphMaker g;
    const NodeId initial = g.node("Full", "initial", "cuda:0", full(7, {1}));
    const NodeId x = g.node("Carried", "x", "cuda:0", {{"varies", true}}, {initial});
    const NodeId longer = g.node("Concat", "longer", "cuda:0", {{"axis", std::int64_t{0}}}, {x, initial});
    const NodeId loop =
        g.node("Loop", "loop", "cuda:0", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    g.connect(longer, loop, 3);
    g.body(loop, "body", {x, longer});
    const NodeId after = g.node("Neg", "after", "cuda:0", {}, {loop});
    const DeviceMap map = simulatedMap();
    QCOMPARE(floats(run(g, map, 3), after, map), (std::vector<float>{-7, -7, -7, -7}));
}

/// `sum` reads a value of unknown size but has a known size itself, so its consumers are bound to its memory
/// before the body runs.
void TestControlFlow::readersOfKnownSizeSeeEachIteration() {
    QFETCH(QString, device);
    const std::string d = device.toStdString();
    GraphMaker g;
    const NodeId initial = g.node("Full", "initial", d, full(1, {4}));
    const NodeId varying =
        g.node("Carried", "varying", d, {{"index", std::int64_t{0}}, {"varies", true}}, {initial});
    const NodeId fixed = g.node("Carried", "fixed", d, index(1), {initial});
    const NodeId sum = g.node("Add", "sum", d, {}, {varying, initial});
    const NodeId next = g.node("Identity", "next", d, {}, {sum});
    const NodeId negative = g.node("Neg", "negative", d, {}, {sum});
    const NodeId loop =
        g.node("Loop", "loop", d,
               {{"M", std::int64_t{3}}, {"carried", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}});
    g.connect(next, loop, 3);
    g.connect(negative, loop, 4);
    g.connect(negative, loop, 5);
    g.body(loop, "body", {varying, fixed, sum, next, negative});
    const DeviceMap map = simulatedMap();
    for (const bool keepAll : {true, false}) {
        const auto plan =
            planOf(g.graph(), map,
                   {.keepAll = keepAll, .keep = {PortRef{loop, 0}, PortRef{loop, 1}, PortRef{loop, 2}}});
        QVERIFY(stepNamed(*plan, "sum").dynamic && !stepNamed(*plan, "negative").dynamic);
        for (const std::int64_t iterations : {1, 3}) {
            const RunResult result = runToEnd(plan, {.iterations = iterations});
            QCOMPARE(result.status, RunStatus::finished);
            QCOMPARE(floats(result, loop, map), (std::vector<float>(4, 4)));
            const auto last = toHost(*result.tensor({loop, 1}), map).values<float>();
            QCOMPARE(std::vector<float>(last.begin(), last.end()), (std::vector<float>(4, -4)));
            const auto stack = toHost(*result.tensor({loop, 2}), map).values<float>();
            QCOMPARE(std::vector<float>(stack.begin(), stack.end()),
                     (std::vector<float>{-2, -2, -2, -2, -3, -3, -3, -3, -4, -4, -4, -4}));
        }
    }
}

void TestControlFlow::aLoopThatDidNotRunLeavesItsInitialValueAlone() {
    QFETCH(QString, device);
    const std::string d = device.toStdString();
    GraphMaker g; // for i in 0..3: 1 doubled i times
    const NodeId initial = g.node("Full", "initial", d, full(1, {2}));
    const NodeId factor = g.node("Full", "factor", d, full(2, {2}));
    const NodeId i = g.node("Iteration", "i");
    const NodeId x = g.node("Carried", "x", d, index(0), {initial});
    const NodeId product = g.node("Mul", "product", d, {}, {x, factor});
    const NodeId inner = g.node("Loop", "inner", d, {{"carried", std::int64_t{1}}});
    g.connect(i, inner, 0);
    g.connect(product, inner, 3);
    const NodeId outer = g.node("Loop", "outer", d, {{"M", std::int64_t{4}}});
    g.connect(inner, outer, 3);
    const FrameId outerBody = g.body(outer, "body", {i, inner});
    const FrameId innerBody = g.body(inner, "body", {x, product});
    DeltaBuilder builder(g.graph(), "");
    Frame frame = *g.graph().find(innerBody);
    frame.parent = outerBody;
    builder.change(frame);
    Graph graph = g.graph();
    graph.apply(builder.take());
    const DeviceMap map = simulatedMap();
    const RunResult result = runToEnd(planOf(graph, map, {.keepAll = true}), {.iterations = 2});
    QVERIFY2(result.status == RunStatus::finished,
             result.errors.empty() ? "" : result.errors[0].message.c_str());
    QCOMPARE(floats(result, outer, map), (std::vector<float>{1, 1, 2, 2, 4, 4, 8, 8}));
}

void TestControlFlow::carriedValuesMayChangePlaces() {
    GraphMaker g; // Fibonacci's numbers: (a, b) becomes (b, a + b)
    const NodeId zero = g.node("Full", "zero", "cpu", full(0));
    const NodeId one = g.node("Full", "one", "cpu", full(1));
    const NodeId a = g.node("Carried", "a", "cpu", index(0), {zero});
    const NodeId b = g.node("Carried", "b", "cpu", index(1), {one});
    const NodeId next = g.node("Add", "next", "cpu", {}, {a, b});
    const NodeId loop =
        g.node("Loop", "loop", "cpu",
               {{"M", std::int64_t{10}}, {"carried", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}});
    g.connect(b, loop, 3);
    g.connect(next, loop, 4);
    g.connect(a, loop, 5); // and all of them, stacked
    g.body(loop, "body", {a, b, next});
    const DeviceMap map = simulatedMap();
    const RunResult result = run(g, map, 2);
    QCOMPARE(floats(result, loop, map), (std::vector<float>{55}));
    const auto all = toHost(*result.tensor({loop, 2}), map).values<float>();
    QCOMPARE(std::vector<float>(all.begin(), all.end()),
             (std::vector<float>{0, 1, 1, 2, 3, 5, 8, 13, 21, 34}));
}

void TestControlFlow::bodiesMayBeNested() {
    GraphMaker g; // adds the odd numbers below 6
    const NodeId initial = g.node("Constant", "initial", "cpu", integer(0));
    const NodeId two = g.node("Constant", "two", "cpu", integer(2));
    const NodeId i = g.node("Iteration", "i");
    const NodeId sum = g.node("Carried", "sum", "cpu", index(0), {initial});
    const NodeId rest = g.node("Mod", "rest", "cpu", {}, {i, two});
    const NodeId odd = g.node("Cast", "odd", "cpu", {{"to", std::string("bool")}}, {rest});
    const NodeId more = g.node("Add", "more", "cpu", {}, {sum, i});
    const NodeId choice = g.node("If", "choice", "cpu", {}, {odd, more, sum});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{6}}, {"carried", std::int64_t{1}}});
    g.connect(choice, loop, 3);
    const FrameId outer = g.body(loop, "body", {i, sum, rest, odd, choice});
    const FrameId inner = g.body(choice, "then_branch", {more});
    DeltaBuilder builder(g.graph(), "");
    Frame frame = *g.graph().find(inner);
    frame.parent = outer;
    builder.change(frame);
    Graph graph = g.graph();
    graph.apply(builder.take());
    const RunResult result = runToEnd(planOf(graph, simulatedMap(), {.keepAll = true}), {.iterations = 2});
    QCOMPARE(result.status, RunStatus::finished);
    QCOMPARE(result.tensor({loop, 0})->toIntegers(), (Ints{1 + 3 + 5}));
}

void TestControlFlow::aScanTakesSlices() {
    QFETCH(QString, device);
    const std::string d = device.toStdString();
    for (const bool reverse : {false, true}) {
        GraphMaker g; // running sums of the columns of [[0, 1, 2], [3, 4, 5]]
        const NodeId flat = g.node("Arange", "flat", d, {{"limit", 6.0}, {"dtype", std::string("f32")}});
        const NodeId all = g.node("Reshape", "all", d, {{"shape", Ints{2, 3}}}, {flat});
        const NodeId zero = g.node("Full", "zero", d, full(0, {2}));
        const NodeId before = g.node("Carried", "before", d, index(0), {zero});
        const NodeId column =
            g.node("ScanSlice", "column", d, {{"axis", std::int64_t{1}}, {"reverse", reverse}}, {all});
        const NodeId sum = g.node("Add", "sum", d, {}, {before, column});
        const NodeId scan = g.node("Scan", "scan", d,
                                   {{"carried", std::int64_t{1}},
                                    {"num_outputs", std::int64_t{2}},
                                    {"scan_output_axes", Ints{1}},
                                    {"scan_output_directions", Ints{reverse ? 1 : 0}}},
                                   {sum, sum});
        g.body(scan, "body", {before, column, sum});
        const DeviceMap map = simulatedMap();
        const RunResult result = run(g, map, 2);
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, scan, map), (std::vector<float>{3, 12}));
        const auto sums = toHost(*result.tensor({scan, 1}), map).values<float>();
        QCOMPARE(std::vector<float>(sums.begin(), sums.end()),
                 reverse ? (std::vector<float>{3, 3, 2, 12, 9, 5}) : (std::vector<float>{0, 1, 3, 3, 7, 12}));
    }
}

void TestControlFlow::outerTensorsKeepTheirMemory() {
    // Only the end is kept, so that all other memory may be shared; outer tensors that the body reads must
    // outlive all its iterations.
    GraphMaker g;
    const NodeId ones = g.node("Ones", "ones", "cpu", {{"shape", Ints{64}}});
    const NodeId outside = g.node("Neg", "outside", "cpu", {}, {ones});
    const NodeId initial = g.node("Neg", "initial", "cpu", {}, {outside});
    const NodeId x = g.node("Carried", "x", "cpu", index(0), {initial});
    const NodeId a = g.node("Exp", "a", "cpu", {}, {x});
    const NodeId b = g.node("Log", "b", "cpu", {}, {a});
    const NodeId c = g.node("Sub", "c", "cpu", {}, {b, outside});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{5}}, {"carried", std::int64_t{1}}});
    g.connect(c, loop, 3);
    g.body(loop, "body", {x, a, b, c});
    const NodeId later = g.node("Neg", "later", "cpu", {}, {loop});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keep = {{later, 0}}});
    const RunResult result = runToEnd(plan, {.iterations = 3});
    for (const float v : floats(result, later, map)) QVERIFY(std::abs(v + 6) < 1e-5F);
    QCOMPARE(floats(result, later, map).size(), std::size_t{64});
}

void TestControlFlow::weightsStayPackedFromOneRunToTheNext() {
    const DeviceMap map = simulatedMap();
    const Attributes image{{"shape", Ints{1, 8, 6, 6}}, {"seed", std::int64_t{1}}};
    const Attributes weights{{"shape", Ints{8, 8, 3, 3}}, {"scale", 0.1}, {"seed", std::int64_t{2}}};
    const Attributes same{{"pads", Ints{1, 1, 1, 1}}};
    GraphMaker looped;
    const NodeId initial = looped.node("RandomNormal", "initial", "cpu", image);
    const NodeId w = looped.node("RandomNormal", "w", "cpu", weights);
    const NodeId x = looped.node("Carried", "x", "cpu", index(0), {initial});
    const NodeId conv = looped.node("Conv", "conv", "cpu", same, {x, w});
    const NodeId loop =
        looped.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    looped.connect(conv, loop, 3);
    looped.body(loop, "body", {x, conv});
    GraphMaker unrolled;
    const NodeId filter = unrolled.node("RandomNormal", "w", "cpu", weights);
    NodeId at = unrolled.node("RandomNormal", "initial", "cpu", image);
    for (int i = 0; i < 3; ++i) at = unrolled.node("Conv", "conv", "cpu", same, {at, filter});
    const std::vector<float> wanted = floats(run(unrolled, map), at, map);
    const std::vector<float> got = floats(run(looped, map, 2), loop, map);
    QCOMPARE(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(std::abs(got[i] - wanted[i]) < 1e-5F);
}

void TestControlFlow::transfersInABodyAreCounted() {
    Power power("cuda:0", 5);
    GraphMaker& g = power.g;
    const NodeId to = g.node("To", "to the host", "cpu", {}, {power.product});
    const NodeId watched = g.node("Neg", "watched", "cpu", {}, {to});
    DeltaBuilder builder(g.graph(), "");
    for (const NodeId id : {to, watched}) {
        Node node = *g.graph().find(id);
        node.frame = g.graph().find(power.product)->frame;
        builder.change(node);
    }
    Graph graph = g.graph();
    graph.apply(builder.take());
    const auto plan = planOf(graph, simulatedMap(), {.keepAll = true});
    Recorder recorder;
    const RunResult result = runToEnd(plan, {.iterations = 2}, &recorder);
    QCOMPARE(result.status, RunStatus::finished);
    std::uint64_t bytes = 0;
    std::size_t copies = 0;
    for (const StepRecord& record : recorder.records) {
        if (plan->steps[record.step].transfer == kNone) continue;
        bytes += record.bytes;
        ++copies;
        QVERIFY(record.endNs > record.startNs && record.waitNs.value_or(0) >= 0);
    }
    QCOMPARE(copies, std::size_t{10});
    QCOMPARE(bytes, std::uint64_t{10 * 16});
}

/// A wait of a step in the body once replaced that of the copy before it.
void TestControlFlow::aCopyForABodyWaitsForItsTensor() {
    GraphMaker g;
    const NodeId x =
        g.node("RandomNormal", "x", "cuda:0", {{"shape", Ints{8, 8}}, {"seed", std::int64_t{1}}});
    const NodeId square = g.node("MatMul", "square", "cuda:0", {}, {x, x});
    const NodeId t = g.node("MatMul", "t", "cuda:0", {}, {square, x});
    const NodeId e = g.node("Neg", "e", "cuda:0", {}, {x});
    const NodeId f = g.node("Exp", "f", "cpu", {}, {e});
    const NodeId c = g.node("Carried", "c", "cpu", index(0), {t});
    const NodeId a = g.node("Abs", "a", "cpu", {}, {c});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{1}}, {"carried", std::int64_t{1}}});
    g.connect(a, loop, 3);
    g.body(loop, "body", {e, f, c, a});
    const auto plan = planOf(g.graph(), simulatedMap(), {.policy = Policy::implicit, .keepAll = true});
    const std::uint32_t maker = stepNamed(*plan, "t").index;
    int copies = 0;
    for (const Step& step : plan->steps) {
        if (step.transfer == kNone || plan->producers[step.inputs[0]] != maker) continue;
        ++copies;
        QCOMPARE(step.waits, std::vector<std::uint32_t>{maker});
    }
    QCOMPARE(copies, 1);
}

void TestControlFlow::stepsAfterABodyAreNotCached() {
    // Carried values are not part of a step's signature, so another M must give another result.
    Executor executor;
    const DeviceMap map = simulatedMap();
    for (const std::int64_t times : {3, 4}) {
        Power power("cpu", times);
        const NodeId after = power.g.node("Neg", "after", "cpu", {}, {power.loop});
        Recorder recorder;
        executor.start(planOf(power.g.graph(), map, {.keepAll = true}), {.iterations = 1, .cache = true},
                       recorder);
        executor.wait();
        const float expected = times == 3 ? -8.0F : -16.0F;
        QCOMPARE(floats(recorder.result, after, map), (std::vector<float>(4, expected)));
    }
}

void TestControlFlow::anErrorInABodyPoisonsItsOwner() {
    GraphMaker g;
    const NodeId one = g.node("Constant", "one", "cpu", integer(1));
    const NodeId i = g.node("Iteration", "i");
    const NodeId left = g.node("Sub", "left", "cpu", {}, {i, g.node("Constant", "two", "cpu", integer(2))});
    const NodeId bad = g.node("Div", "bad", "cpu", {}, {one, left}); // 1 / 0 in the third iteration
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{10}}});
    g.connect(bad, loop, 3);
    g.body(loop, "body", {i, left, bad});
    g.node("Neg", "after", "cpu", {}, {loop});
    const NodeId apart = g.node("Neg", "apart", "cpu", {}, {one});
    const DeviceMap map = simulatedMap();
    const auto plan = planOf(g.graph(), map, {.keepAll = true});
    const RunResult result = runToEnd(plan, {.iterations = 3});
    QCOMPARE(result.status, RunStatus::failed);
    QCOMPARE(result.errors.size(), std::size_t{1});
    QVERIFY(result.errors[0].node == bad);
    QCOMPARE(result.states[stepNamed(*plan, "loop").index], StepState::poisoned);
    QCOMPARE(result.states[stepNamed(*plan, "after").index], StepState::poisoned);
    QVERIFY(result.tensor({apart, 0}) && !result.tensor({loop, 0}));
}

void TestControlFlow::whatABodyReadsFailed() {
    GraphMaker g;
    const NodeId zero = g.node("Constant", "zero", "cpu", integer(0));
    const NodeId bad = g.node("Div", "bad", "cpu", {}, {zero, zero});
    const NodeId i = g.node("Iteration", "i");
    const NodeId sum = g.node("Add", "sum", "cpu", {}, {i, bad});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{10}}});
    g.connect(sum, loop, 3);
    g.body(loop, "body", {i, sum});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
    Recorder recorder;
    const RunResult result = runToEnd(plan, {}, &recorder);
    QCOMPARE(result.errors.size(), std::size_t{1});
    for (const char* name : {"sum", "loop"}) {
        const std::uint32_t step = stepNamed(*plan, name).index;
        QCOMPARE(result.states[step], StepState::poisoned);
        QVERIFY(std::any_of(recorder.records.begin(), recorder.records.end(), [&](const StepRecord& r) {
            return r.step == step && r.state == StepState::poisoned;
        }));
    }
}

void TestControlFlow::anEndlessLoopCanBeCancelled() {
    Power power("cuda:0", 1);
    DeltaBuilder builder(power.g.graph(), "");
    Node loop = *power.g.graph().find(power.loop);
    loop.attributes.erase("M"); // without M, nothing ends the loop
    builder.change(loop);
    Graph graph = power.g.graph();
    graph.apply(builder.take());
    const auto plan = std::make_shared<Plan>(*planOf(graph, simulatedMap(), {.keepAll = true}));
    static std::atomic<int> rounds;
    rounds = 0;
    Op counting = *findOp("Mul");
    counting.kernel = [](const KernelContext& context) {
        ++rounds;
        findOp("Mul")->kernel(context);
    };
    for (Step& step : plan->steps)
        if (step.label == "product") step.op = &counting;
    Executor executor;
    Recorder recorder;
    executor.start(plan, {}, recorder);
    while (rounds < 3 && executor.isRunning()) std::this_thread::yield();
    QVERIFY(rounds >= 3);
    executor.cancel();
    executor.wait(); // otherwise the test hangs
    QCOMPARE(recorder.result.status, RunStatus::cancelled);
    QCOMPARE(recorder.result.states[stepNamed(*plan, "loop").index], StepState::cancelled);
}

TWB_TEST_MAIN(TestControlFlow)
#include "test_control_flow.moc"
