#include "runtime/runs.h"
#include "runtime/stretches.h"
#include "support/random_lanes.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

/// "a b | c d"
QString stretchesIn(const Plan& plan) {
    QStringList out;
    for (const std::vector<std::uint32_t>& steps : stretchesOf(plan)) {
        QStringList labels;
        for (const std::uint32_t step : steps) labels += QString::fromStdString(plan.steps[step].label);
        out += labels.join(' ');
    }
    return out.join(" | ");
}

/// Steps on cuda:0, each reading the previous one.
struct Line {
    GraphMaker g;
    NodeId last;
    Line() {
        last = g.node("RandomNormal", "x", "cuda:0", {{"shape", Ints{100'000}}, {"seed", std::int64_t{1}}});
    }
    NodeId add(const char* op, const char* name, const Attributes& attributes = {},
               const std::vector<NodeId>& more = {}) {
        std::vector<NodeId> inputs{last};
        inputs.insert(inputs.end(), more.begin(), more.end());
        last = g.node(op, name, "cuda:0", attributes, inputs);
        return last;
    }
    std::shared_ptr<const Plan> plan(const CompileOptions& options = {}) const {
        return planOf(g.graph(), simulatedMap(), options);
    }
    QString stretches() const { return stretchesIn(*plan()); }
};

} // namespace

/// The steps of a repeated plan that are submitted to a GPU together.
class TestStretches : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void independentStepsAreOneStretch() {
        Line line;
        line.add("Neg", "a");
        line.add("Relu", "b");
        line.add("Exp", "c");
        QCOMPARE(line.stretches(), QString("a b c"));
    }

    void singleStepIsNoStretch() {
        Line line;
        line.add("Neg", "a");
        QCOMPARE(line.stretches(), QString());
    }

    void cpuHasNoStretches() {
        GraphMaker g;
        NodeId at = g.node("RandomNormal", "x", "cpu", {{"shape", Ints{4}}});
        for (const char* name : {"a", "b"}) at = g.node("Neg", name, "cpu", {}, {at});
        QCOMPARE(stretchesIn(*planOf(g.graph(), simulatedMap())), QString());
    }

    void copyFromTheDeviceEndsAStretch() {
        Line line;
        line.add("Neg", "a");
        const NodeId seen = line.add("Relu", "b");
        line.g.node("To", "out", "cpu", {{"non_blocking", true}}, {seen});
        line.add("Exp", "c");
        line.add("Neg", "d");
        QCOMPARE(line.stretches(),
                 QString("c d")); // b must not overwrite a tensor that is still being copied
    }

    void copyToTheDeviceEndsAStretch() {
        Line line;
        line.add("Neg", "a");
        line.add("Relu", "b");
        const NodeId host = line.g.node("RandomNormal", "host", "cpu", {{"shape", Ints{100'000}}});
        const NodeId in = line.g.node("To", "in", "cuda:0", {{"non_blocking", true}}, {host});
        line.add("Add", "c", {}, {in}); // the next copy waits for it
        line.add("Exp", "d");
        line.add("Neg", "e");
        QCOMPARE(line.stretches(), QString("a b | d e"));
    }

    void everyGpuHasStretchesOfItsOwn() {
        GraphMaker g;
        for (const char* lane : {"cuda:0", "cuda:1"}) {
            NodeId at = g.node("RandomNormal", std::string("x ") + lane, lane, {{"shape", Ints{4}}});
            for (const char* name : {"a ", "b "})
                at = g.node("Neg", std::string(name) + lane, lane, {}, {at});
        }
        QCOMPARE(stretchesIn(*planOf(g.graph(), simulatedMap(2))),
                 QString("a cuda:0 b cuda:0 | a cuda:1 b cuda:1"));
    }

    void aHostScalarMustStay() {
        for (const bool isMadeInIterations : {false, true}) {
            Line line;
            NodeId two = line.g.node("Constant", "two", "cpu", {{"value", 2.0}});
            if (isMadeInIterations) two = line.g.node("Neg", "minus two", "cpu", {}, {two});
            line.add("Neg", "a");
            line.add("Relu", "b");
            line.add("Mul", "c", {}, {two});
            line.add("Exp", "d");
            line.add("Neg", "e");
            QCOMPARE(line.stretches(), isMadeInIterations ? QString("a b | d e") : QString("a b c d e"));
        }
    }

    void dynamicSizesEndAStretch() {
        Line line;
        line.add("Neg", "a");
        line.add("Relu", "b");
        line.add("NonZero", "where");
        line.add("Neg", "c");
        line.add("Neg", "d");
        QCOMPARE(line.stretches(), QString("a b"));
    }

    void planWithBodiesHasNoStretches() {
        Line line;
        line.add("Neg", "a");
        line.add("Relu", "b");
        QVERIFY(!line.stretches().isEmpty());
        GraphMaker& g = line.g;
        const NodeId initial = g.node("Full", "initial", "cuda:0", {{"value", 1.0}, {"shape", Ints{4}}});
        const NodeId x = g.node("Carried", "carried", "cuda:0", {{"index", std::int64_t{0}}}, {initial});
        const NodeId next = g.node("Neg", "next", "cuda:0", {}, {x});
        const NodeId loop =
            g.node("Loop", "loop", "cuda:0", {{"M", std::int64_t{3}}, {"carried", std::int64_t{1}}});
        g.connect(next, loop, 3);
        g.body(loop, "body", {x, next});
        QCOMPARE(line.stretches(), QString());
    }

    /// A stretch is submitted at its first step, before intermediate steps of other streams; the values show
    /// that no step runs too early.
    void stretchesGiveTheSameValues() {
        const DeviceMap map = simulatedMap(2);
        std::size_t stretches = 0;
        for (unsigned seed = 200; seed < 220; ++seed) {
            const auto [graph, last] = graphOnRandomLanes(seed, false);
            const auto plan = planOf(graph, map, {.policy = Policy::implicit, .keep = {{last, 0}}});
            stretches += stretchesOf(*plan).size();
            const RunResult alone = runToEnd(plan, {.iterations = 6, .cudaGraphs = false});
            const RunResult together = runToEnd(plan, {.iterations = 6});
            QCOMPARE(together.iterations, 6);
            QVERIFY(!floats(alone, last, map).empty());
            QVERIFY2(floats(together, last, map) == floats(alone, last, map),
                     qPrintable(QString::number(seed)));
            QCOMPARE(together.replayed.graphs, 0); // simulated GPUs have none
        }
        QVERIFY2(stretches > 10, qPrintable(QString::number(stretches)));
    }
};

TWB_TEST_MAIN(TestStretches)
#include "test_stretches.moc"
