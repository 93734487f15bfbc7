#include "placement/causes.h"
#include "placement/fixes.h"
#include "runs.h"
#include "runtime/step_groups.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;
using namespace twb::test;

namespace {

/// A weight of three ones, a gradient of halves, and a step of SGD with a learning rate of 0.1.
struct Descent {
    explicit Descent(const std::string& device = "cpu", Attributes sgd = {{"lr", 0.1}})
        : w(g.node("Parameter", "w", device,
                   {{"shape", Ints{3}}, {"init", std::string("constant")}, {"value", 1.0}})),
          gradient(g.node("Full", "grad", device, {{"shape", Ints{3}}, {"value", 0.5}})),
          update(g.node("SGDUpdate", "sgd", device, std::move(sgd), {w, gradient})) {}

    GraphMaker g;
    NodeId w, gradient, update;
};

RunResult runOf(const Graph& graph, const DeviceMap& map, const RunOptions& options,
                CompileOptions compiled = {}) {
    compiled.policy = graph.info().policy;
    return runToEnd(planOf(graph, map, compiled), options);
}

CompileOptions keeping(std::initializer_list<PortRef> outputs) {
    CompileOptions options;
    options.keep = outputs;
    return options;
}

/// The sentences of the errors of a graph.
QString errorsOf(const Graph& graph) {
    QString out;
    for (const Diagnostic& d : analyze(graph, simulatedMap(), Policy::strict, nullptr).diagnostics)
        if (d.severity == Severity::error) out += QString::fromStdString(d.message) + "\n";
    return out;
}

std::vector<float> thrice(float value) { return {value, value, value}; }

} // namespace

class TestUpdates : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aParameterSurvivesAnIteration_data() {
        QTest::addColumn<QString>("device");
        QTest::newRow("cpu") << "cpu";
        QTest::newRow("simulated") << "cuda:0";
    }
    void aParameterSurvivesAnIteration() {
        QFETCH(QString, device);
        const Descent d(device.toStdString());
        const DeviceMap map = simulatedMap();
        const RunResult result =
            runOf(d.g.graph(), map, {.iterations = 4}, keeping({{d.w, 0}, {d.update, 0}}));
        QCOMPARE(result.status, RunStatus::finished);
        for (const float v : floats(result, d.w, map)) QVERIFY(std::abs(v - 0.8F) < 1e-6F);
        QCOMPARE(floats(result, d.w, map).size(), std::size_t{3});
        QCOMPARE(floats(result, d.update, map), floats(result, d.w, map));
    }

    void aReaderSeesTheValueAtTheStartOfTheIteration() {
        Descent d;
        const NodeId before = d.g.node("Neg", "before", "cpu", {}, {d.w});
        const NodeId after = d.g.node("Neg", "after", "cpu", {}, {d.update});
        const DeviceMap map = simulatedMap();
        const RunResult result =
            runOf(d.g.graph(), map, {.iterations = 2}, keeping({{before, 0}, {after, 0}}));
        QCOMPARE(floats(result, before, map), thrice(-0.95F));
        QCOMPARE(floats(result, after, map), thrice(-0.9F));
    }

    /// The old value is read after the update, so a copy of it is made.
    void oldAndNewValueCanBeCompared() {
        Descent d;
        const NodeId change = d.g.node("Sub", "change", "cpu", {}, {d.update, d.w});
        const DeviceMap map = simulatedMap();
        const RunResult result = runOf(d.g.graph(), map, {.iterations = 3}, keeping({{change, 0}}));
        for (const float v : floats(result, change, map)) QVERIFY(std::abs(v + 0.05F) < 1e-6F);
        QCOMPARE(floats(result, change, map).size(), std::size_t{3});
    }

    /// Packed weights and other constants of a kernel must not outlive an update.
    void aProductReadsTheUpdatedWeight() {
        Descent d;
        const NodeId x = d.g.node("Ones", "x", "cpu", {{"shape", Ints{2, 3}}});
        const NodeId column = d.g.node("Reshape", "column", "cpu", {{"shape", Ints{3, 1}}}, {d.w});
        const NodeId y = d.g.node("MatMul", "y", "cpu", {}, {x, column});
        const DeviceMap map = simulatedMap();
        const RunResult result = runOf(d.g.graph(), map, {.iterations = 3}, keeping({{y, 0}}));
        for (const float v : floats(result, y, map)) QVERIFY(std::abs(v - 2.7F) < 1e-5F);
    }

    void aRunGoesOnFromTheStateOfAnother() {
        const Descent d("cpu", {{"lr", 0.1}});
        const DeviceMap map = simulatedMap();
        const CompileOptions options = keeping({{d.w, 0}});
        const RunResult whole = runOf(d.g.graph(), map, {.iterations = 5}, options);
        const RunResult first = runOf(d.g.graph(), map, {.iterations = 3}, options);
        RunOptions rest{.iterations = 2};
        rest.firstIteration = 3;
        rest.state[{d.w, 0}] = *first.tensor({d.w, 0});
        const RunResult second = runOf(d.g.graph(), map, rest, options);
        QCOMPARE(floats(second, d.w, map), floats(whole, d.w, map));
        rest.state = {{{d.update, 0}, *first.tensor({d.w, 0})}};
        QVERIFY_THROWS_EXCEPTION(Error, runOf(d.g.graph(), map, rest, options));
    }

    void theStateBeforeTheLastIterationIsCopied() {
        for (const char* device : {"cpu", "cuda:0"}) {
            const Descent d(device);
            const DeviceMap map = simulatedMap();
            RunOptions options{.iterations = 5};
            options.lastStateOf = {{d.w, 0}};
            const CompileOptions keeps = keeping({{d.w, 0}, {d.update, 0}});
            const RunResult whole = runOf(d.g.graph(), map, options, keeps);
            QCOMPARE(whole.lastState.size(), std::size_t{1});
            const Tensor& before = whole.lastState.at({d.w, 0});
            QCOMPARE(before.memoryKind(), MemoryKind::pageable);
            for (const double v : valuesOf(before)) QVERIFY(std::abs(v - 0.8) < 1e-6);
            // With it, the last iteration can be repeated.
            RunOptions last{.firstIteration = 4};
            last.state[{d.w, 0}] = toDevice(before, Device::parse(device).value(), map);
            const RunResult again = runOf(d.g.graph(), map, last, keeps);
            QCOMPARE(floats(again, d.w, map), floats(whole, d.w, map));
            for (const double v : valuesOf(before)) QVERIFY(std::abs(v - 0.8) < 1e-6); // it is a copy
            options.iterations = 1;
            QVERIFY(runOf(d.g.graph(), map, options, keeps).lastState.empty());
        }
    }

    /// A copy to another device reads the weight on another stream. The update waits for it, and the copy of
    /// the next iteration waits for the update.
    void copiesAndUpdatesTakeTurns() {
        Descent d("cuda:0");
        const NodeId copy = d.g.node("To", "copy", "cpu", {{"non_blocking", true}}, {d.w});
        d.g.node("Probe", "probe", "cpu", {}, {copy});
        const DeviceMap map = simulatedMap();
        const auto plan = planOf(d.g.graph(), map, keeping({{copy, 0}}));
        const std::uint32_t update = plan->stepsOf(d.update).at(0);
        const std::uint32_t copying = plan->stepsOf(copy).at(0);
        QVERIFY(copying < update);
        QVERIFY(std::ranges::count(plan->steps[update].waits, copying) == 1);
        QVERIFY(std::ranges::count(plan->steps[copying].carriedWaits, update) == 1);
        const RunResult result = runToEnd(plan, {.iterations = 20});
        for (const float v : floats(result, copy, map)) QVERIFY(std::abs(v - (1 - 19 * 0.05F)) < 1e-5F);
    }

    void theImplicitPolicyCopiesAnUpdatedTensorInEachIteration() {
        Descent d("cuda:0");
        const NodeId reader = d.g.node("Neg", "reader", "cpu", {}, {d.w});
        const DeviceMap map = simulatedMap();
        CompileOptions options = keeping({{reader, 0}});
        options.policy = Policy::implicit;
        const auto plan = planOf(d.g.graph(), map, options);
        QCOMPARE(plan->transfers.size(), std::size_t{1});
        QVERIFY(!plan->transfers[0].setup);
        const RunResult result = runToEnd(plan, {.iterations = 3});
        for (const float v : floats(result, reader, map)) QVERIFY(std::abs(v + 0.9F) < 1e-6F);
    }

    /// The update itself has to be on the lane: a copy would receive the new value.
    void noPolicyCopiesTheTensorThatIsWritten() {
        Descent d("cpu");
        const NodeId far = d.g.node("Zeros", "far", "cuda:0", {{"shape", Ints{3}}});
        d.g.node("SGDUpdate", "other", "cpu", {}, {far, d.gradient});
        const Analysis analysis = analyze(d.g.graph(), simulatedMap(), Policy::implicit, nullptr);
        QCOMPARE(analysis.errorCount(), std::size_t{1});
        QCOMPARE(analysis.diagnostics[0].code, std::string("device-mismatch"));
        QVERIFY(!analysis.diagnostics[0].fixes.empty());
        for (const Fix& fix : analysis.diagnostics[0].fixes) QVERIFY(fix.kind != Fix::Kind::insertTo);
        const std::vector<Cause> causes = causesOf(d.g.graph(), analysis, simulatedMap());
        QCOMPARE(causes.size(), std::size_t{1});
        QVERIFY(!causes[0].remedies.empty());
        for (const Remedy& remedy : causes[0].remedies) {
            Graph mended = d.g.graph();
            mended.apply(combineFixes(mended, analysis, simulatedMap(), remedy.fixes, remedy.title));
            QVERIFY2(!analyze(mended, simulatedMap(), Policy::implicit, nullptr).hasErrors(),
                     remedy.title.c_str());
        }
    }

    void wrongUpdatesAreErrors() {
        Descent computed;
        const NodeId sum = computed.g.node("Neg", "sum", "cpu", {}, {computed.w});
        computed.g.node("SGDUpdate", "second", "cpu", {}, {sum, computed.gradient});
        QVERIFY(errorsOf(computed.g.graph()).contains("must read a source such as Parameter directly"));

        Descent twice;
        twice.g.node("SGDUpdate", "second", "cpu", {}, {twice.w, twice.gradient});
        QVERIFY(errorsOf(twice.g.graph()).contains("Parameter \"w\" is updated by SGDUpdate \"sgd\" and by"));

        Descent shapes;
        const NodeId wide = shapes.g.node("Ones", "wide", "cpu", {{"shape", Ints{4}}});
        const NodeId other = shapes.g.node("Zeros", "other", "cpu", {{"shape", Ints{3}}});
        shapes.g.node("SGDUpdate", "second", "cpu", {}, {other, wide});
        QVERIFY(errorsOf(shapes.g.graph()).contains("gradient must have the shape of the parameter, [3]"));

        const Descent state("cpu", {{"momentum", 0.9}});
        QVERIFY(errorsOf(state.g.graph()).contains("SGDUpdate needs its input momentum_buffer"));
    }

    void dropoutDropsOtherElementsInEachIteration() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{64}}});
        const NodeId y = g.node("Dropout", "y", "cpu", {{"training_mode", true}}, {x});
        const DeviceMap map = simulatedMap();
        const auto after = [&](std::int64_t iterations, std::int64_t first) {
            RunOptions options{.iterations = iterations};
            options.firstIteration = first;
            return floats(runOf(g.graph(), map, options, keeping({{y, 0}})), y, map);
        };
        QVERIFY(after(1, 0) != after(2, 0));
        QCOMPARE(after(1, 1), after(2, 0));
    }

    void aStoppedRunEndsBetweenIterations() {
        const Descent d;
        const std::atomic<bool> stop{true};
        RunOptions options{.iterations = 5};
        options.stop = &stop;
        const RunResult result = runOf(d.g.graph(), simulatedMap(), options);
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(result.iterations, std::int64_t{0});
    }

    void aRecordKeepsANumberOfEachIteration() {
        Descent d;
        const NodeId mean = d.g.node("ReduceMean", "mean", "cpu", {{"keepdims", false}}, {d.w});
        const NodeId record = d.g.node("Zeros", "record", "cpu", {{"shape", Ints{4}}});
        d.g.node("Record", "write", "cpu", {}, {record, mean});
        const DeviceMap map = simulatedMap();
        const RunResult result = runOf(d.g.graph(), map, {.iterations = 3}, keeping({{record, 0}}));
        const std::vector<float> values = floats(result, record, map);
        QCOMPARE(values.size(), std::size_t{4});
        for (std::size_t i = 0; i < 4; ++i)
            QVERIFY(std::abs(values[i] - (i < 3 ? 1 - 0.05F * static_cast<float>(i) : 0)) < 1e-6F);
    }

    /// A fused launch would read the weight after the update.
    void noFusionAcrossAnUpdate() {
        Descent d;
        const NodeId early = d.g.node("Neg", "early", "cpu", {}, {d.w});
        d.g.node("Add", "late", "cpu", {}, {early, d.update});
        const auto plan = planOf(d.g.graph(), simulatedMap());
        const std::vector<std::uint32_t> readers = soleReaders(*plan);
        QCOMPARE(readers[plan->valueOf({early, 0})], kNone);
        QVERIFY(readers[plan->valueOf({d.gradient, 0})] != kNone);
    }
};

TWB_TEST_MAIN(TestUpdates)
#include "test_updates.moc"
