#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// Parts of several numbers of channels → Concat → BatchNormalization → Relu → Conv.
struct Network {
    GraphMaker g;
    NodeId joined, norm, relu, last;
    DeviceMap map = simulatedMap();

    explicit Network(bool isConvolved = true, bool hasRelu = true, std::int64_t axis = 1) {
        std::vector<NodeId> parts;
        for (const std::int64_t channels : {5, 32, 16}) {
            const std::string name = std::to_string(channels);
            NodeId part = random("x" + name, {2, 8, 9, 7});
            if (isConvolved)
                part =
                    g.node("Conv", "part" + name, "cpu", {}, {part, random("w" + name, {channels, 8, 1, 1})});
            else
                part = random("y" + name, {2, channels, 9, 7});
            parts.push_back(part);
        }
        std::vector<double> means(53, 0.25);
        means[7] = std::numeric_limits<double>::quiet_NaN(); // must reach the result
        const NodeId mean = g.node("Constant", "mean", "cpu", {{"shape", Ints{53}}, {"value", means}});
        const NodeId variance =
            g.node("RandomUniform", "variance", "cpu", {{"shape", Ints{53}}, {"low", 0.5}, {"high", 2.0}});
        joined = g.node("Concat", "concat", "cpu", {{"axis", axis}}, parts);
        norm = g.node("BatchNormalization", "norm", "cpu", {{"epsilon", 0.01}},
                      {joined, random("scale", {53}), random("bias", {53}), mean, variance});
        relu = hasRelu ? g.node("Relu", "relu", "cpu", {}, {norm}) : norm;
        // A second reader of the joined and normalized tensor, which keeps its bits.
        last = g.node("Identity", "last", "cpu", {}, {relu});
        g.node("Conv", "next", "cpu", {}, {relu, random("v", {4, 53, 1, 1})});
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

std::vector<const Step*> stepsWith(const Plan& plan, std::string_view op) {
    std::vector<const Step*> out;
    for (const Step& step : plan.steps)
        if (step.op && step.op->name.find(op) != std::string::npos) out.push_back(&step);
    return out;
}

} // namespace

/// Normalizations of joined tensors, which a plan computes in one step (CompileOptions::fuseOnCpu).
class TestJoinedNormalizations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theyGiveTheSameBits_data() {
        QTest::addColumn<bool>("isConvolved");
        QTest::addColumn<bool>("hasRelu");
        QTest::addColumn<qint64>("axis");
        for (const bool isConvolved : {true, false})
            for (const bool hasRelu : {true, false})
                QTest::addRow("%s%s", isConvolved ? "channels-last" : "row-major", hasRelu ? ", Relu" : "")
                    << isConvolved << hasRelu << qint64{hasRelu ? 1 : -3};
    }
    void theyGiveTheSameBits() {
        QFETCH(bool, isConvolved);
        QFETCH(bool, hasRelu);
        QFETCH(qint64, axis);
        const Network n(isConvolved, hasRelu, axis);
        const auto fused = n.plan({.fuseOnCpu = true});
        const auto steps = stepsWith(*fused, "BatchNormalization");
        QCOMPARE(steps.size(), std::size_t{1});
        QCOMPARE(steps[0]->op->name,
                 std::string(hasRelu ? "Concat+BatchNormalization+Relu" : "Concat+BatchNormalization"));
        const std::vector<NodeId> members =
            hasRelu ? std::vector{n.joined, n.norm, n.relu} : std::vector{n.joined, n.norm};
        QVERIFY(steps[0]->members == members);
        const auto single = n.plan({.fuse = false});
        QCOMPARE(stepsWith(*single, "BatchNormalization")[0]->op->name, std::string("BatchNormalization"));
        QCOMPARE(stepsWith(*single, "Concat")[0]->op->name, std::string("Concat"));
        const RunResult a = runToEnd(fused, {.iterations = 2});
        const RunResult b = runToEnd(single, {.iterations = 2});
        QCOMPARE(a.status, RunStatus::finished);
        const std::vector<float> got = floats(a, n.last, n.map);
        const std::vector<float> expected = floats(b, n.last, n.map);
        QVERIFY(!got.empty());
        QCOMPARE(got.size(), expected.size());
        if (!isConvolved) QVERIFY(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
        for (std::size_t i = 0; i < got.size(); ++i) {
            QCOMPARE(std::isnan(got[i]), std::isnan(expected[i]));
            if (!std::isnan(got[i])) QVERIFY(std::abs(got[i] - expected[i]) <= 1e-4F);
        }
    }

    void otherStepsStayAlone() {
        const auto isAlone = [](const Plan& plan) {
            const auto joins = stepsWith(plan, "Concat"); // convolutions may share its step
            const auto norms = stepsWith(plan, "BatchNormalization");
            return joins.size() == 1 && norms.size() == 1 && joins[0] != norms[0] &&
                   joins[0]->op->name.ends_with("Concat");
        };
        const Network n;
        QVERIFY(isAlone(*n.plan({.fuseOnCpu = false})));
        QVERIFY(isAlone(*n.plan({.fuseOnCpu = true}, {{n.joined, 0}})));
        Network read;
        read.g.node("Neg", "neg", "cpu", {}, {read.joined});
        QVERIFY(isAlone(*read.plan({.fuseOnCpu = true})));
    }

    void keptNormalizationsEndTheStep() {
        const Network n;
        const auto plan = n.plan({.fuseOnCpu = true}, {{n.norm, 0}});
        QCOMPARE(stepsWith(*plan, "Concat")[0]->op->name, std::string("Concat+BatchNormalization"));
    }
};

TWB_TEST_MAIN(TestJoinedNormalizations)
#include "test_joined_normalizations.moc"
