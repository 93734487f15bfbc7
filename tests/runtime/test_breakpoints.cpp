#include "profile/ledger.h"
#include "runtime/runs.h"
#include "support/test_main.h"

#include <QElapsedTimer>
#include <QObject>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

using namespace twb;
using namespace twb::test;

namespace {

/// Records all notifications of a run and passes its stops to the test's thread.
class Stopper final : public RunObserver {
public:
    AtStop answer = AtStop::wait;
    std::vector<StepRecord> records;
    std::vector<RunStop> stops;
    RunResult result;

    void started(std::uint64_t, const Plan&, std::int64_t) override {}
    void steps(std::uint64_t, std::span<const StepRecord> batch) override {
        records.insert(records.end(), batch.begin(), batch.end());
    }
    void progress(std::uint64_t, std::int64_t, std::int64_t) override {}
    AtStop stopped(const RunStop& stop) override {
        const std::scoped_lock lock(m_mutex);
        stops.push_back(stop);
        m_changed.notify_all();
        return answer;
    }
    void finished(RunResult r) noexcept override { result = std::move(r); }

    /// The n-th stop, from 0.
    RunStop waitFor(std::size_t n) {
        std::unique_lock lock(m_mutex);
        if (!m_changed.wait_for(lock, std::chrono::seconds(120), [&] { return stops.size() > n; }))
            qFatal("the run did not stop");
        return stops[n];
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_changed;
};

Breakpoints at(const char* text) { return *parseBreakpoints(text); }

/// x = 1 on cuda:0 -> doubled = x + x -> home on the cpu -> root = sqrt(home) -> minus = -root.
struct Line {
    GraphMaker maker;
    NodeId x, doubled, home, root, minus;
    DeviceMap map = simulatedMap();
    std::shared_ptr<const Plan> plan;

    explicit Line(bool keepAll = true) {
        x = maker.node("Ones", "x", "cuda:0", {{"shape", Ints{4}}});
        doubled = maker.node("Add", "doubled", "cuda:0", {}, {x, x});
        home = maker.node("To", "home", "cpu", {}, {doubled});
        root = maker.node("Sqrt", "root", "cpu", {}, {home});
        minus = maker.node("Neg", "minus", "cpu", {}, {root});
        plan = planOf(maker.graph(), map, {.keepAll = keepAll});
    }
    std::string label(const RunStop& stop) const { return plan->steps[stop.step].label; }
};

std::vector<float> values(const std::optional<Tensor>& tensor) {
    if (!tensor) return {};
    const auto span = tensor->values<float>();
    return {span.begin(), span.end()};
}

} // namespace

class TestBreakpoints : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void itStopsBeforeAndAfterANode();
    void stepsGoFromOneToTheNext();
    void aConditionDecides();
    void anInputDecides();
    void tensorsReadByABodyAreNotInputs();
    void severalAtOneNode();
    void breakpointsSetDuringTheRunApply();
    void everyLoopIterationIsChecked();
    void cancelAtAStopEndsAtOnce();
    void theObserverMayEndTheRun();
    void stopsAreNotMeasured();
    void modelledTimesAreThoseWithoutStops();
    void cachedResultsDoNotHideIt();
    void aFailedStepHasNothingToLookAt();
};

void TestBreakpoints::itStopsBeforeAndAfterANode() {
    for (const bool keepAll : {true, false}) {
        const Line line(keepAll);
        Executor executor;
        Stopper stopper;
        executor.start(line.plan,
                       {.iterations = 2,
                        .breakpoints = {{line.doubled, at("after")},
                                        {line.root, at("before")},
                                        {line.minus, at("off after")}}},
                       stopper);
        for (std::size_t i = 0; i < 2; ++i) {
            const RunStop first = stopper.waitFor(2 * i);
            QCOMPARE(line.label(first), std::string("doubled"));
            QVERIFY(first.after);
            QCOMPARE(first.iteration, std::int64_t(i));
            QCOMPARE(first.states[stepNamed(*line.plan, "x").index], StepState::done);
            QCOMPARE(first.states[first.step], StepState::done);
            QCOMPARE(first.states[stepNamed(*line.plan, "root").index], StepState::pending);
            QCOMPARE(values(executor.tensorAtStop({line.doubled, 0})), std::vector<float>(4, 2));
            QVERIFY(!executor.tensorAtStop({line.home, 0})); // not computed yet in this iteration
            QVERIFY(executor.isRunning());
            executor.proceed();
            const RunStop second = stopper.waitFor(2 * i + 1);
            QCOMPARE(line.label(second), std::string("root"));
            QVERIFY(!second.after);
            QCOMPARE(second.states[second.step], StepState::pending);
            QCOMPARE(values(executor.tensorAtStop({line.home, 0})), std::vector<float>(4, 2)); // its input
            QVERIFY(!executor.tensorAtStop({line.root, 0}));
            QCOMPARE(!values(executor.tensorAtStop({line.doubled, 0})).empty(), keepAll);
            executor.proceed();
        }
        executor.wait();
        QCOMPARE(stopper.stops.size(), std::size_t(4));
        QCOMPARE(stopper.result.status, RunStatus::finished);
        QVERIFY(!executor.tensorAtStop({line.doubled, 0}));
        Ledger ledger(line.plan);
        ledger.add(stopper.records);
        QCOMPARE(ledger.rows()[0].count, std::uint64_t(2));
    }
}

void TestBreakpoints::stepsGoFromOneToTheNext() {
    const Line line;
    Executor executor;
    Stopper stopper;
    executor.start(line.plan, {.iterations = 2, .breakpoints = {{line.root, at("before")}}}, stopper);
    QCOMPARE(line.label(stopper.waitFor(0)), std::string("root"));
    std::vector<std::string> seen;
    for (std::size_t n = 1; n <= 4; ++n) {
        executor.step();
        const RunStop stop = stopper.waitFor(n);
        QVERIFY(stop.after);
        seen.push_back(line.label(stop) + " " + std::to_string(stop.iteration));
    }
    // In iteration 1, the breakpoint before "root" adds no stop, since single-stepping stops there anyway.
    QCOMPARE(seen.size(), std::size_t(4));
    QCOMPARE(seen[0], std::string("root 0"));
    QCOMPARE(seen[1], std::string("minus 0"));
    QCOMPARE(seen[2], std::string("doubled 1"));
    executor.setBreakpoints({});
    executor.proceed();
    executor.wait();
    QCOMPARE(stopper.stops.size(), std::size_t(5));
    QCOMPARE(stopper.result.iterations, std::int64_t(2));
}

void TestBreakpoints::aConditionDecides() {
    GraphMaker g;
    const NodeId zero = g.node("Zeros", "zero", "cuda:0", {{"shape", Ints{3}}});
    const NodeId y = g.node("Log", "y", "cuda:0", {}, {zero});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
    const auto stopsOf = [&](const char* text) {
        Stopper stopper;
        stopper.answer = AtStop::goOn;
        runToEnd(plan, {.iterations = 3, .breakpoints = {{y, at(text)}}}, &stopper);
        return stopper.stops;
    };
    QCOMPARE(stopsOf("nan or inf").size(), std::size_t(3));
    QCOMPARE(stopsOf("nan or inf")[0].found, std::string("0 NaN, 3 inf"));
    QCOMPARE(stopsOf("inf == 3").size(), std::size_t(3));
    QCOMPARE(stopsOf("inf > 3").size(), std::size_t(0));
    QCOMPARE(stopsOf("max < 0").size(), std::size_t(0)); // not finite
    QCOMPARE(stopsOf("off nan or inf").size(), std::size_t(0));
}

/// A breakpoint before a step checks the tensor to be read, on any device.
void TestBreakpoints::anInputDecides() {
    const Line line;
    const auto stopsOf = [&](NodeId node, const char* text) {
        Stopper stopper;
        stopper.answer = AtStop::goOn;
        runToEnd(line.plan, {.iterations = 3, .breakpoints = {{node, at(text)}}}, &stopper);
        return stopper.stops;
    };
    const std::vector<RunStop> stops = stopsOf(line.root, "input max > 1.5");
    QCOMPARE(stops.size(), std::size_t(3));
    QVERIFY(!stops[0].after);
    QCOMPARE(line.label(stops[0]), std::string("root"));
    QCOMPARE(stops[0].states[stops[0].step], StepState::pending);
    QCOMPARE(stops[0].found, std::string("max of an input is 2"));
    QCOMPARE(stopsOf(line.root, "input max > 2").size(), std::size_t(0));
    QCOMPARE(stopsOf(line.doubled, "input min == 1").size(),
             std::size_t(3)); // the result of a source on cuda:0
    QCOMPARE(stopsOf(line.home, "input mean == 2").size(), std::size_t(3)); // the result of a copy
    QCOMPARE(stopsOf(line.x, "input max > 0").size(), std::size_t(0));      // it has none
    QCOMPARE(stopsOf(line.root, "off input max > 1.5").size(), std::size_t(0));
}

/// The inputs of an If or Loop are its condition and initial values, not the outer tensors that its body
/// reads.
void TestBreakpoints::tensorsReadByABodyAreNotInputs() {
    using Ints = std::vector<std::int64_t>;
    GraphMaker g;
    const NodeId cond =
        g.node("Full", "cond", "cpu", {{"value", 1.0}, {"shape", Ints{}}, {"dtype", std::string("bool")}});
    const NodeId a = g.node("Full", "a", "cpu", {{"value", 3.0}, {"shape", Ints{2}}});
    const NodeId then = g.node("Neg", "then", "cpu", {}, {a});
    const NodeId other = g.node("Exp", "other", "cpu", {}, {a});
    const NodeId choice = g.node("If", "choice", "cpu", {}, {cond, then, other});
    g.body(choice, "then_branch", {then});
    g.body(choice, "else_branch", {other});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keepAll = true});
    const auto stopsOf = [&](const char* text) {
        Stopper stopper;
        stopper.answer = AtStop::goOn;
        runToEnd(plan, {.iterations = 2, .breakpoints = {{choice, at(text)}}}, &stopper);
        return stopper.stops.size();
    };
    QCOMPARE(stopsOf("input max > 2"), std::size_t(0));
    QCOMPARE(stopsOf("input max == 1"), std::size_t(2));
}

/// There is at most one stop before a step and one after it; the stop reports the condition that holds.
void TestBreakpoints::severalAtOneNode() {
    const Line line;
    const auto stopsOf = [&](const char* text) {
        Stopper stopper;
        stopper.answer = AtStop::goOn;
        runToEnd(line.plan, {.iterations = 2, .breakpoints = {{line.minus, at(text)}}}, &stopper);
        std::vector<std::pair<bool, std::string>> out;
        for (const RunStop& stop : stopper.stops) out.emplace_back(stop.after, stop.found);
        return out;
    };
    using Stops = std::vector<std::pair<bool, std::string>>;
    const Stops both{{false, ""}, {true, "min is -1.41421"}, {false, ""}, {true, "min is -1.41421"}};
    QCOMPARE(stopsOf("before; after; max > 0; min < 0"), both);
    QCOMPARE(stopsOf("before; max > 0; min < 0"), both);
    QCOMPARE(stopsOf("off before; nan or inf; max > 0"), Stops{});
    QCOMPARE(stopsOf("input max > 9; off after; input min > 0"),
             (Stops{{false, "min of an input is 1.41421"}, {false, "min of an input is 1.41421"}}));
}

void TestBreakpoints::breakpointsSetDuringTheRunApply() {
    const Line line(false);
    Executor executor;
    Stopper stopper;
    executor.start(line.plan, {.iterations = 1'000'000'000}, stopper);
    executor.setBreakpoints({{line.minus, at("max < 0")}});
    const RunStop stop = stopper.waitFor(0);
    QCOMPARE(line.label(stop), std::string("minus"));
    QCOMPARE(stop.found, std::string("max is -1.41421"));
    QCOMPARE(values(executor.tensorAtStop({line.minus, 0})).size(), std::size_t(4));
    executor.cancel();
    executor.wait();
    QCOMPARE(stopper.result.status, RunStatus::cancelled);
}

void TestBreakpoints::everyLoopIterationIsChecked() {
    // 1 is doubled three times an iteration.
    GraphMaker g;
    const NodeId initial = g.node("Ones", "initial", "cpu", {{"shape", Ints{2}}});
    const NodeId x = g.node("Carried", "x", "cpu", {{"index", std::int64_t{0}}}, {initial});
    const NodeId more = g.node("Add", "more", "cpu", {}, {x, x});
    const NodeId loop = g.node("Loop", "loop", "cpu", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
    g.connect(more, loop, 3);
    g.body(loop, "body", {x, more});
    const auto plan = planOf(g.graph(), DeviceMap(), {.keepAll = true});
    Executor executor;
    Stopper stopper;
    executor.start(plan, {.iterations = 2, .breakpoints = {{more, at("after")}}}, stopper);
    for (std::size_t n = 0; n < 6; ++n) {
        QCOMPARE(stopper.waitFor(n).iteration, std::int64_t(n / 3));
        QCOMPARE(values(executor.tensorAtStop({more, 0}))[0], float(1 << (n % 3 + 1)));
        executor.proceed();
    }
    executor.wait();
    QCOMPARE(stopper.stops.size(), std::size_t(6));
    QCOMPARE(stopper.result.status, RunStatus::finished);
    // A condition is checked in every iteration of the body; the loop itself stops once per iteration.
    Stopper counter;
    counter.answer = AtStop::goOn;
    runToEnd(plan, {.iterations = 2, .breakpoints = {{more, at("max >= 4")}, {loop, at("after")}}}, &counter);
    QCOMPARE(counter.stops.size(), std::size_t(6));
    QCOMPARE(counter.stops[0].found, std::string("max is 4"));
    QCOMPARE(counter.stops[1].found, std::string("max is 8"));
    QCOMPARE(plan->steps[counter.stops[2].step].label, std::string("loop"));
}

void TestBreakpoints::cancelAtAStopEndsAtOnce() {
    const Line line;
    Stopper stopper;
    {
        Executor executor;
        executor.start(line.plan, {.iterations = 5, .breakpoints = {{line.doubled, at("after")}}}, stopper);
        stopper.waitFor(0);
        executor.cancel();
        executor.wait(); // otherwise the test hangs
        QCOMPARE(stopper.result.status, RunStatus::cancelled);
        QCOMPARE(stopper.result.iterations, std::int64_t(0));
        executor.start(line.plan, {.iterations = 5, .breakpoints = {{line.doubled, at("after")}}}, stopper);
        stopper.waitFor(1);
    } // destroying the executor cancels the run
    QCOMPARE(stopper.result.status, RunStatus::cancelled);
    QCOMPARE(stopper.stops.size(), std::size_t(2));
}

void TestBreakpoints::theObserverMayEndTheRun() {
    const Line line;
    Stopper stopper;
    stopper.answer = AtStop::end;
    const RunResult result =
        runToEnd(line.plan, {.iterations = 5, .breakpoints = {{line.root, at("max > 1")}}}, &stopper);
    QCOMPARE(result.status, RunStatus::cancelled);
    QCOMPARE(stopper.stops.size(), std::size_t(1));
    QCOMPARE(stopper.stops[0].found, std::string("max is 1.41421"));
}

/// Times on the host's clock: the step before a stop, the step after it, a copy's queue wait and the total
/// all exclude the time of the stops. The run's times and the stops fit into the wall time around them only
/// if no stop is counted twice, however busy the machine is.
void TestBreakpoints::stopsAreNotMeasured() {
    GraphMaker g;
    const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{64}}});
    const NodeId y = g.node("Neg", "y", "cpu", {}, {x});
    const NodeId z = g.node("Abs", "z", "cpu", {}, {y});
    const auto plan = planOf(g.graph(), DeviceMap(), {.keepAll = true});
    Executor executor;
    Stopper stopper;
    QElapsedTimer around;
    around.start();
    executor.start(plan, {.iterations = 2, .breakpoints = {{y, at("after")}, {z, at("before")}}}, stopper);
    constexpr std::int64_t kLook = 50'000'000;
    for (std::size_t n = 0; n < 4; ++n) {
        stopper.waitFor(n);
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(kLook)); // stands for the user's time at the stop
        executor.proceed();
    }
    executor.wait();
    const std::int64_t available = around.nsecsElapsed() - stopper.result.stoppedNs;
    QVERIFY(stopper.result.stoppedNs >= 4 * kLook);
    QVERIFY2(stopper.result.wallNs + stopper.result.setupNs <= available,
             qPrintable(QString::number(stopper.result.wallNs)));
    std::int64_t last = 0;
    for (const StepRecord& record : stopper.records) {
        QVERIFY(record.startNs >= last && record.endNs >= record.startNs);
        last = record.endNs;
    }
    QVERIFY(!stopper.records.empty());
    QVERIFY2(last <= available, qPrintable(QString::number(last)));
}

void TestBreakpoints::modelledTimesAreThoseWithoutStops() {
    GraphMaker g;
    const NodeId m = g.node("Zeros", "m", "cuda:0", {{"shape", Ints{256, 256}}});
    const NodeId mm = g.node("MatMul", "mm", "cuda:0", {}, {m, m});
    g.node("Relu", "relu", "cuda:0", {}, {mm});
    const auto plan = planOf(g.graph(), simulatedMap());
    const auto timesOf = [&](const std::map<NodeId, Breakpoints>& breakpoints) {
        Stopper stopper;
        stopper.answer = AtStop::goOn;
        runToEnd(plan, {.iterations = 4, .breakpoints = breakpoints}, &stopper);
        std::vector<std::pair<std::int64_t, std::int64_t>> times;
        for (const StepRecord& record : stopper.records) times.emplace_back(record.startNs, record.endNs);
        return std::pair(times, stopper.stops.size());
    };
    const auto [without, none] = timesOf({});
    const auto [with, four] = timesOf({{mm, at("after")}});
    QCOMPARE(none, std::size_t(0));
    QCOMPARE(four, std::size_t(4));
    QVERIFY(with == without);
}

void TestBreakpoints::cachedResultsDoNotHideIt() {
    const Line line;
    Executor executor;
    Stopper stopper;
    stopper.answer = AtStop::goOn;
    for (int run = 0; run < 2; ++run) {
        executor.start(line.plan, {.cache = true, .breakpoints = {{line.root, at("after")}}}, stopper);
        executor.wait();
    }
    QCOMPARE(stopper.stops.size(), std::size_t(2));
}

void TestBreakpoints::aFailedStepHasNothingToLookAt() {
    GraphMaker g;
    const Attributes ints{{"shape", Ints{4}}, {"dtype", std::string("i64")}};
    const NodeId one = g.node("Ones", "one", "cpu", ints);
    const NodeId zero = g.node("Zeros", "zero", "cpu", ints);
    const NodeId bad = g.node("Div", "bad", "cpu", {}, {one, zero});
    const NodeId after = g.node("Add", "after", "cpu", {}, {bad, one});
    const auto plan = planOf(g.graph(), DeviceMap());
    Stopper stopper;
    stopper.answer = AtStop::goOn;
    const RunResult result =
        runToEnd(plan, {.breakpoints = {{bad, at("after")}, {after, at("after")}}}, &stopper);
    QCOMPARE(result.status, RunStatus::failed);
    QVERIFY(stopper.stops.empty());
}

TWB_TEST_MAIN(TestBreakpoints)
#include "test_breakpoints.moc"
