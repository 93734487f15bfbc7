#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <limits>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// Conv → GlobalAveragePool → Conv → activation → Conv → Sigmoid → Mul with the first → Conv, or without the
/// first and the last.
struct Network {
    GraphMaker g;
    NodeId x, pool, first, activation, second, gate, scaled, last;
    DeviceMap map = simulatedMap();

    explicit Network(bool isConvolved = true, const std::string& op = "Swish", bool gateIsFirst = true,
                     std::int64_t size = 13) {
        const std::int64_t channels = 24;
        x = isConvolved ? g.node("Conv", "before", "cpu", {},
                                 {random("image", {2, 8, size, size}), random("u", {channels, 8, 1, 1})})
                        : random("x", {2, channels, size, size});
        std::vector<double> bias(6, 0.25);
        pool = g.node("GlobalAveragePool", "pool", "cpu", {}, {x});
        first = g.node("Conv", "first", "cpu", {},
                       {pool, random("w", {6, channels, 1, 1}),
                        g.node("Constant", "bias", "cpu", {{"shape", Ints{6}}, {"value", bias}})});
        activation = g.node(op, "activation", "cpu", {}, {first});
        second = g.node("Conv", "second", "cpu", {}, {activation, random("v", {channels, 6, 1, 1})});
        gate = g.node("Sigmoid", "gate", "cpu", {}, {second});
        scaled =
            g.node("Mul", "scaled", "cpu", {}, gateIsFirst ? std::vector{gate, x} : std::vector{x, gate});
        last = isConvolved ? g.node("Conv", "after", "cpu", {}, {scaled, random("t", {4, channels, 1, 1})})
                           : g.node("Identity", "after", "cpu", {}, {scaled});
    }
    NodeId random(const std::string& name, const Ints& shape) {
        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", m_seed++}});
    }
    std::shared_ptr<const Plan> plan(CompileOptions options, std::set<PortRef> keep = {}) const {
        keep.insert({last, 0});
        options.keep = std::move(keep);
        return planOf(g.graph(), map, options);
    }

private:
    std::int64_t m_seed = 1;
};

const Step* stepWith(const Plan& plan, std::string_view op) {
    for (const Step& step : plan.steps)
        if (step.op && step.op->name.find(op) != std::string::npos) return &step;
    return nullptr;
}

bool isAlone(const Plan& plan) {
    return stepWith(plan, "GlobalAveragePool")->op->name == "GlobalAveragePool";
}

} // namespace

/// Squeeze-and-excitation blocks, which a plan computes in one step (CompileOptions::fuseOnCpu).
class TestExcitations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theyGiveTheSameNumbers_data() {
        QTest::addColumn<bool>("isConvolved");
        QTest::addColumn<QString>("op");
        QTest::addColumn<bool>("gateIsFirst");
        QTest::addColumn<qint64>("size");
        for (const bool isConvolved : {true, false})
            for (const char* op : {"Swish", "Relu"})
                for (const qint64 size : {1, 13, 40})
                    QTest::addRow("%s, %s, %d", isConvolved ? "channels-last" : "row-major", op, int(size))
                        << isConvolved << QString(op) << (size == 13) << size;
    }
    void theyGiveTheSameNumbers() {
        QFETCH(bool, isConvolved);
        QFETCH(QString, op);
        QFETCH(bool, gateIsFirst);
        QFETCH(qint64, size);
        const Network n(isConvolved, op.toStdString(), gateIsFirst, size);
        const auto fused = n.plan({.fuseOnCpu = true});
        const Step* const step = stepWith(*fused, "GlobalAveragePool");
        QCOMPARE(step->op->name, "GlobalAveragePool+Conv+" + op.toStdString() + "+Conv+Sigmoid+Mul");
        QVERIFY((step->members == std::vector{n.pool, n.first, n.activation, n.second, n.gate, n.scaled}));
        const auto single = n.plan({.fuse = false});
        QVERIFY(isAlone(*single));
        const RunResult a = runToEnd(fused, {.iterations = 2});
        const RunResult b = runToEnd(single, {.iterations = 2});
        QCOMPARE(a.status, RunStatus::finished);
        const std::vector<float> got = floats(a, n.last, n.map);
        const std::vector<float> expected = floats(b, n.last, n.map);
        QVERIFY(!got.empty());
        QCOMPARE(got.size(), expected.size());
        float largest = 0;
        for (const float element : expected) largest = std::max(largest, std::abs(element));
        for (std::size_t i = 0; i < got.size(); ++i)
            QVERIFY(std::abs(got[i] - expected[i]) <= 1e-5F * largest);
    }

    void otherStepsStayAlone() {
        const Network n;
        QVERIFY(!isAlone(*n.plan({.fuseOnCpu = true})));
        QVERIFY(isAlone(*n.plan({.fuseOnCpu = false})));
        for (const NodeId kept : {n.pool, n.first, n.activation, n.second, n.gate})
            QVERIFY(isAlone(*n.plan({.fuseOnCpu = true}, {{kept, 0}})));
        QVERIFY(isAlone(*Network(true, "Tanh").plan({.fuseOnCpu = true})));
        Network read;
        read.g.node("Neg", "neg", "cpu", {}, {read.gate});
        QVERIFY(isAlone(*read.plan({.fuseOnCpu = true})));
    }

    /// A tensor that another step reads, or that is kept, is not overwritten.
    void theirInputsStay() {
        const Network n;
        const auto plan = n.plan({.fuseOnCpu = true}, {{n.x, 0}});
        QVERIFY(!isAlone(*plan));
        const std::vector<float> got = floats(runToEnd(plan, {.iterations = 2}), n.x, n.map);
        const auto single = n.plan({.fuse = false}, {{n.x, 0}});
        const std::vector<float> expected = floats(runToEnd(single, {.iterations = 2}), n.x, n.map);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(std::abs(got[i] - expected[i]) <= 1e-5F);
    }
};

TWB_TEST_MAIN(TestExcitations)
#include "test_excitations.moc"
