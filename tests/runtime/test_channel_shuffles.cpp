#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// n convolutions → Concat → Reshape → Transpose → Reshape → Split, whose first half is added to the
/// convolution of the second. Without a split, a convolution follows.
struct Network {
    GraphMaker g;
    NodeId grouped, split, last;
    DeviceMap map = simulatedMap();

    explicit Network(std::int64_t count = 2, bool splits = true, std::int64_t axis = 1,
                     const Ints& order = {0, 2, 1, 3, 4}, bool isConvolved = true) {
        const std::int64_t channels = 6;
        std::vector<NodeId> parts;
        for (std::int64_t i = 0; i < count; ++i) {
            NodeId part = random("x" + std::to_string(i), {2, channels, 5, 4});
            if (isConvolved)
                part = g.node("Conv", "part" + std::to_string(i), "cpu", {},
                              {part, random("w" + std::to_string(i), {channels, channels, 1, 1})});
            parts.push_back(part);
        }
        const std::int64_t all = count * channels;
        const NodeId joined = g.node("Concat", "concat", "cpu", {{"axis", axis}}, parts);
        grouped = g.node("Reshape", "group", "cpu", {{"shape", Ints{2, count, channels, 5, 4}}}, {joined});
        const NodeId swapped = g.node("Transpose", "swap", "cpu", {{"perm", order}}, {grouped});
        const NodeId back = g.node("Reshape", "back", "cpu", {{"shape", Ints{2, all, 5, 4}}}, {swapped});
        if (!splits) {
            last = g.node("Conv", "last", "cpu", {}, {back, random("v", {3, all, 1, 1})});
            return;
        }
        split = g.node("Split", "split", "cpu", {{"axis", axis}, {"num_outputs", std::int64_t{2}}}, {back});
        const NodeId other = g.node("Conv", "other", "cpu", {});
        g.connect(split, other, 0, 1);
        g.connect(random("v", {all / 2, all / 2, 1, 1}), other, 1);
        last = g.node("Add", "last", "cpu", {});
        g.connect(split, last, 0);
        g.connect(other, last, 1);
    }
    NodeId random(const std::string& name, const Ints& shape) {
        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", m_seed++}});
    }
    std::shared_ptr<const Plan> plan(const CompileOptions& options, std::set<PortRef> keep = {}) const {
        CompileOptions all = options;
        keep.insert({last, 0});
        all.keep = std::move(keep);
        return planOf(g.graph(), map, all);
    }
    /// The steps with a Transpose in them.
    std::vector<Step> shuffles(const Plan& plan) const {
        std::vector<Step> out;
        for (const Step& step : plan.steps)
            if (step.op && step.op->name.find("Transpose") != std::string::npos) out.push_back(step);
        return out;
    }
    std::vector<float> resultOf(const std::shared_ptr<const Plan>& plan) const {
        const RunResult result = runToEnd(plan, {.iterations = 2});
        if (result.status != RunStatus::finished) qFatal("the run failed");
        return floats(result, last, map);
    }

private:
    std::int64_t m_seed = 1;
};

} // namespace

/// Channel shuffles, which a plan moves in one step per result (CompileOptions::fuseOnCpu).
class TestChannelShuffles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theyGiveTheSameBits_data() {
        QTest::addColumn<qint64>("count");
        QTest::addColumn<bool>("splits");
        QTest::addColumn<qint64>("axis");
        QTest::addColumn<bool>("isConvolved");
        QTest::newRow("halves") << qint64{2} << true << qint64{1} << true;
        QTest::newRow("whole") << qint64{2} << false << qint64{1} << true;
        QTest::newRow("of three") << qint64{3} << false << qint64{1} << true;
        QTest::newRow("axis from the end") << qint64{2} << true << qint64{-3} << true;
        QTest::newRow("row-major") << qint64{2} << true << qint64{1} << false;
    }
    void theyGiveTheSameBits() {
        QFETCH(qint64, count);
        QFETCH(bool, splits);
        QFETCH(qint64, axis);
        QFETCH(bool, isConvolved);
        const Network n(count, splits, axis, {0, 2, 1, 3, 4}, isConvolved);
        const auto fused = n.plan({.fuseOnCpu = true});
        const std::vector<Step> steps = n.shuffles(*fused);
        QCOMPARE(steps.size(), std::size_t(splits ? 2 : 1));
        for (const Step& step : steps) {
            QCOMPARE(step.op->name, std::string(splits ? "Concat+Reshape+Transpose+Reshape+Split"
                                                       : "Concat+Reshape+Transpose+Reshape"));
            QCOMPARE(step.members.size(), std::size_t(splits ? 5 : 4));
            QCOMPARE(step.node, step.members.back());
            QCOMPARE(fused->values[step.outputs[0]].channelsLast, isConvolved);
        }
        const auto single = n.plan({.fuse = false});
        const std::vector<Step> alone = n.shuffles(*single);
        QCOMPARE(alone.size(), std::size_t{1});
        QCOMPARE(alone[0].op->name, std::string("Transpose"));
        const std::vector<float> expected = n.resultOf(single);
        QVERIFY(!expected.empty());
        const std::vector<float> got = n.resultOf(fused);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY(std::abs(got[i] - expected[i]) <= 1e-4F);
    }

    void otherStepsStayAlone() {
        const auto isAlone = [](const Network& n, const Plan& plan) {
            const std::vector<Step> steps = n.shuffles(plan);
            return steps.size() == 1 && steps[0].op->name == "Transpose" && steps[0].members.empty();
        };
        const Network kept;
        QVERIFY(isAlone(kept, *kept.plan({.fuseOnCpu = true}, {{kept.grouped, 0}})));
        QVERIFY(isAlone(kept, *kept.plan({.fuseOnCpu = false})));
        Network read;
        read.g.node("Neg", "neg", "cpu", {}, {read.grouped});
        QVERIFY(isAlone(read, *read.plan({.fuseOnCpu = true})));
    }

    /// Each half has its own step, so a half may be kept.
    void halvesMayBeKept() {
        const Network n;
        const auto plan = n.plan({.fuseOnCpu = true}, {{n.split, 1}});
        QCOMPARE(n.shuffles(*plan).size(), std::size_t{2});
        const RunResult fused = runToEnd(plan, {});
        const RunResult alone = runToEnd(n.plan({.fuse = false}, {{n.split, 1}}), {});
        const Tensor* const a = fused.tensor({n.split, 1});
        const Tensor* const b = alone.tensor({n.split, 1});
        QVERIFY(a && b && a->type() == b->type());
        for (std::int64_t i = 0; i < a->elementCount(); ++i) QVERIFY(std::abs(a->at(i) - b->at(i)) <= 1e-4);
    }
};

TWB_TEST_MAIN(TestChannelShuffles)
#include "test_channel_shuffles.moc"
