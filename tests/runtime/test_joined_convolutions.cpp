#include "runtime/runs.h"
#include "support/op_runner.h"
#include "support/test_main.h"

#include <QObject>
#include <QTest>

#include <limits>

using namespace twb;
using namespace twb::test;

namespace {

struct Branch {
    std::int64_t channels, kernel, stride = 1, group = 1;
    bool hasBias = true, hasRelu = true;
};

/// x → branches of Conv and Relu → Concat → Conv. The first convolution makes x channels-last.
struct Network {
    GraphMaker g;
    NodeId firstPart, joined, last;
    DeviceMap map = simulatedMap();

    Network(const std::vector<Branch>& branches, std::int64_t inner, std::int64_t size,
            std::int64_t batch = 1, bool isConvolved = true, double special = 1, std::int64_t axis = 1) {
        std::vector<double> factors(std::size_t(size), 1.0);
        factors[std::size_t(size) / 2] = special;
        NodeId x = g.node("Mul", "x", "cpu", {},
                          {random("normal", {batch, inner, size, size}),
                           g.node("Constant", "factor", "cpu", {{"shape", Ints{size}}, {"value", factors}})});
        if (isConvolved) x = g.node("Conv", "first", "cpu", {}, {x, random("v", {inner, inner, 1, 1})});
        std::vector<NodeId> parts;
        std::int64_t channels = 0;
        for (const Branch& b : branches) {
            const std::string name = std::to_string(parts.size());
            std::vector<NodeId> inputs{x,
                                       random("w" + name, {b.channels, inner / b.group, b.kernel, b.kernel})};
            if (b.hasBias) inputs.push_back(random("b" + name, {b.channels}));
            NodeId part = g.node(
                "Conv", "part" + name, "cpu",
                {{"strides", Ints{b.stride, b.stride}}, {"pads", Ints(4, b.kernel / 2)}, {"group", b.group}},
                inputs);
            if (parts.empty()) firstPart = part;
            if (b.hasRelu) part = g.node("Relu", "relu" + name, "cpu", {}, {part});
            parts.push_back(part);
            channels += b.channels;
        }
        joined = g.node("Concat", "concat", "cpu", {{"axis", axis}}, parts);
        last = g.node(
            "Conv", "last", "cpu", {},
            {joined, random("u", {5, axis == 1 || axis == -3 ? channels : branches[0].channels, 1, 1})});
    }
    NodeId random(const std::string& name, const Ints& shape) {
        return g.node("RandomNormal", name, "cpu", {{"shape", shape}, {"seed", m_seed++}});
    }
    std::shared_ptr<const Plan> plan(CompileOptions options, std::set<PortRef> keep = {}) const {
        keep.insert({last, 0});
        options.keep = std::move(keep);
        return planOf(g.graph(), map, options);
    }
    static const Step* joinOf(const Plan& plan) {
        const auto at = std::ranges::find_if(plan.steps, [](const Step& step) {
            return step.op && step.op->name.starts_with("Conv+") && step.op->name.ends_with("+Concat");
        });
        return at == plan.steps.end() ? nullptr : &*at;
    }
    Tensor resultOf(const std::shared_ptr<const Plan>& plan, NodeId node) const {
        const RunResult result = runToEnd(plan, {.iterations = 2});
        if (result.status != RunStatus::finished || !result.tensor({node, 0})) qFatal("the run failed");
        return *result.tensor({node, 0});
    }

private:
    std::int64_t m_seed = 1;
};

} // namespace

/// Convolutions whose results a Concat joins, in one step (CompileOptions::fuseOnCpu).
class TestJoinedConvolutions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Kernels that write a part of the joined tensor, others, and Winograd's algorithm with both tile sizes;
    /// with NaN and infinities, which stay in their places.
    void theyGiveTheSameNumbers() {
        struct Case {
            std::vector<Branch> branches;
            std::int64_t inner, size, batch;
            bool isConvolved;
        };
        const Case all[] = {
            {{{64, 1}, {64, 3}}, 48, 14, 1, true},
            {{{32, 3}, {48, 1}}, 16, 56, 1, true},
            {{{33, 1}, {20, 3}, {17, 5}}, 24, 9, 2, true},
            {{{24, 3, 2, 1, false}, {18, 1, 2, 1, true}}, 12, 11, 2, true},
            {{{16, 3, 1, 4}, {40, 1}}, 16, 8, 1, true},
            {{{16, 3, 1, 1, true, false}, {30, 1, 1, 1, true, false}}, 16, 13, 1, true},
            {{{20, 1}, {12, 3}}, 8, 7, 1, false},
            {{{20, 1}, {12, 3}}, 3, 5, 2, true},
            {{{7, 1}, {9, 1}}, 6, 2, 1, true},
        };
        for (const Case& c : all)
            for (const double special :
                 {1.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()})
                for (const bool isKept : {false, true}) {
                    const Network n(c.branches, c.inner, c.size, c.batch, c.isConvolved, special);
                    const std::set<PortRef> keep =
                        isKept ? std::set<PortRef>{{n.joined, 0}} : std::set<PortRef>{};
                    const auto fused = n.plan({.fuseOnCpu = true}, keep);
                    const Step* const join = Network::joinOf(*fused);
                    QVERIFY(join);
                    QCOMPARE(join->node, n.joined);
                    QCOMPARE(fused->values[join->outputs[0]].channelsLast, !isKept);
                    std::size_t members = 1;
                    for (const Branch& b : c.branches) members += b.hasRelu ? 2 : 1;
                    QCOMPARE(join->members.size(), members);
                    const auto alone = n.plan({.fuse = false}, keep);
                    const NodeId seen = isKept ? n.joined : n.last;
                    const Tensor expected = n.resultOf(alone, seen);
                    const QString problem = difference(n.resultOf(fused, seen), expected.shape(),
                                                       valuesOf(expected), {1e-5, 2e-3});
                    QVERIFY2(
                        problem.isEmpty(),
                        qPrintable(
                            QStringLiteral("%1 channels, %2: %3").arg(c.inner).arg(special).arg(problem)));
                }
    }

    void othersStayAlone() {
        const std::vector<Branch> plain{{16, 1}, {16, 3}};
        const auto isJoined = [](const Network& n, std::set<PortRef> keep = {}) {
            return Network::joinOf(*n.plan({.fuseOnCpu = true}, std::move(keep))) != nullptr;
        };
        const Network n(plain, 8, 6);
        QVERIFY(isJoined(n));
        QVERIFY(!isJoined(n, {{n.firstPart, 0}}));                                // a kept part
        QVERIFY(!Network::joinOf(*n.plan({.fuse = true})));                       // not asked for
        QVERIFY(!isJoined(Network({{16, 1}, {16, 3, 1, 1, true, false}}, 8, 6))); // one without Relu
        QVERIFY(!isJoined(Network(plain, 8, 6, 1, true, 1, 2)));                  // another axis
        QVERIFY(isJoined(Network(plain, 8, 6, 1, true, 1, -3)));
        Network twice(plain, 8, 6);
        twice.last =
            twice.g.node("Sum", "sum", "cpu", {},
                         {twice.last, twice.g.node("Conv", "other", "cpu", {},
                                                   {twice.firstPart, twice.random("t", {5, 16, 1, 1})})});
        QVERIFY(!isJoined(twice)); // a part with two consumers
    }
};

TWB_TEST_MAIN(TestJoinedConvolutions)
#include "test_joined_convolutions.moc"
