#include "runtime/runs.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

using namespace twb;
using namespace twb::test;

class TestMemoryPlan : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sharedMemoryGivesTheSameNumbers_data();
    void sharedMemoryGivesTheSameNumbers();
    void chainAlternatesBetweenTwoSlots();
    void aReshapeUsesTheMemoryOfItsInput();
    void aFreeSlotGrows();
};

void TestMemoryPlan::sharedMemoryGivesTheSameNumbers_data() {
    QTest::addColumn<int>("seed");
    for (int seed = 0; seed < 40; ++seed) QTest::addRow("seed %d", seed) << seed;
}

/// Random graphs on random lanes: with shared memory, in-place ops, three iterations and several devices,
/// every result must be bit by bit that of a plain run on one cpu lane.
void TestMemoryPlan::sharedMemoryGivesTheSameNumbers() {
    QFETCH(int, seed);
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    GraphMaker spread;
    GraphMaker plain;
    std::vector<NodeId> nodes;
    const auto add = [&](const char* op, const Attributes& attributes, const std::vector<NodeId>& inputs) {
        static const char* const devices[] = {"cpu", "cuda:0", "cuda:1"};
        const std::string name = "n" + std::to_string(nodes.size());
        nodes.push_back(spread.node(op, name, devices[random() % 3], attributes, inputs));
        plain.node(op, name, "cpu", attributes, inputs);
    };
    for (int i = 0; i < 4; ++i)
        add("RandomNormal", {{"shape", Ints{6, 6}}, {"seed", static_cast<std::int64_t>(random() % 1000)}},
            {});
    for (int i = 0; i < 60; ++i) {
        static const char* const unary[] = {"Relu", "Tanh", "Neg", "Sigmoid", "Transpose"};
        static const char* const binary[] = {"Add", "Sub", "Mul", "MatMul"};
        // Mostly recent results, so that lifetimes are short and memory is shared.
        const auto pick = [&] {
            const std::size_t back = random() % std::min<std::size_t>(nodes.size(), random() % 4 ? 5 : 40);
            return nodes[nodes.size() - 1 - back];
        };
        // Separate statements, since the order in which a call's arguments are evaluated is unspecified and
        // would change the graph.
        const bool one = random() % 2 != 0;
        const char* const op = one ? unary[random() % 5] : binary[random() % 4];
        const NodeId first = pick();
        add(op, {}, one ? std::vector<NodeId>{first} : std::vector<NodeId>{first, pick()});
    }
    std::set<PortRef> leaves;
    for (NodeId id : nodes)
        if (plain.graph().outgoing(id).empty()) leaves.insert({id, 0});
    const DeviceMap map = simulatedMap(2);
    const RunResult expected = runToEnd(planOf(plain.graph(), map, {.keepAll = true}), {});
    const auto plan = planOf(spread.graph(), map, {.policy = Policy::implicit, .keep = leaves});
    QVERIFY(plan->slots.size() <= plan->values.size());
    const RunResult got = runToEnd(plan, {.iterations = 3});
    QCOMPARE(got.status, RunStatus::finished);
    for (PortRef leaf : leaves) {
        QVERIFY(expected.tensor(leaf) && got.tensor(leaf));
        const Tensor a = *expected.tensor(leaf);
        const Tensor b = toHost(*got.tensor(leaf), map);
        QVERIFY(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.byteCount())) == 0);
    }
}

void TestMemoryPlan::chainAlternatesBetweenTwoSlots() {
    // MatMul cannot run in place: beside the source and the kept end, two slots alternate.
    GraphMaker g;
    const NodeId m = g.node("Ones", "m", "cuda:0", {{"shape", Ints{8, 8}}});
    NodeId at = m;
    for (int i = 0; i < 12; ++i) at = g.node("MatMul", "mm" + std::to_string(i), "cuda:0", {}, {at, m});
    const auto matmuls = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{at, 0}}});
    QCOMPARE(matmuls->values.size(), std::size_t{13});
    QCOMPARE(matmuls->slots.size(), std::size_t{4});
    // Relu can: all results but the kept end share one slot, and each step names the buffer that it reuses.
    GraphMaker r;
    NodeId end = r.node("Ones", "one", "cuda:0", {{"shape", Ints{8}}});
    for (int i = 0; i < 12; ++i) end = r.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {end});
    const auto relus = planOf(r.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    QCOMPARE(relus->slots.size(), std::size_t{3});
    QVERIFY(stepNamed(*relus, "r5").inPlaceOf != kNone);
    QVERIFY(stepNamed(*relus, "r0").inPlaceOf ==
            kNone); // the source is computed once and read in every iteration
}

void TestMemoryPlan::aReshapeUsesTheMemoryOfItsInput() {
    GraphMaker g;
    const NodeId ones = g.node("Ones", "ones", "cpu", {{"shape", Ints{2, 8}}});
    const NodeId product = g.node("Exp", "exp", "cpu", {}, {ones});
    const NodeId shaped = g.node("Reshape", "shaped", "cpu", {{"shape", Ints{4, 4}}}, {product});
    const NodeId wider = g.node("Unsqueeze", "wider", "cpu", {{"axes", Ints{0}}}, {shaped});
    const NodeId end = g.node("ReduceSum", "end", "cpu", {}, {wider});
    const auto plan = planOf(g.graph(), simulatedMap(), {.fuse = false, .keep = {PortRef{end, 0}}});
    QCOMPARE(stepNamed(*plan, "shaped").inPlaceOf, plan->valueOf({product, 0}));
    QCOMPARE(stepNamed(*plan, "wider").inPlaceOf, plan->valueOf({shaped, 0}));
    const RunResult result = runToEnd(plan, {.iterations = 2});
    QVERIFY(std::abs(result.tensor({end, 0})->at(0) - 16 * std::exp(1.0)) < 1e-4);

    // A tensor that another step reads later stays as it is.
    const NodeId other = g.node("Add", "other", "cpu", {}, {product, product});
    const auto read =
        planOf(g.graph(), simulatedMap(), {.fuse = false, .keep = {PortRef{end, 0}, {other, 0}}});
    QCOMPARE(stepNamed(*read, "shaped").inPlaceOf, kNone);
}

/// Instead of a new slot beside one that is free but too small.
void TestMemoryPlan::aFreeSlotGrows() {
    GraphMaker g;
    const NodeId ones = g.node("Ones", "ones", "cpu", {{"shape", Ints{8, 8}}});
    const NodeId small = g.node("MatMul", "small", "cpu", {}, {ones, ones});
    const NodeId sum = g.node("ReduceSum", "sum", "cpu", {}, {small});
    const NodeId large = g.node("Expand", "large", "cpu", {{"shape", Ints{32, 32}}}, {sum});
    const NodeId end = g.node("MatMul", "end", "cpu", {}, {large, large});
    const auto plan = planOf(g.graph(), simulatedMap(), {.keep = {PortRef{end, 0}}});
    const auto slotOf = [&](NodeId node) { return plan->values[plan->valueOf({node, 0})].slot; };
    QCOMPARE(slotOf(large), slotOf(small));
    QCOMPARE(plan->slots[slotOf(large)].bytes, std::size_t{4096});
    QCOMPARE(plan->slots.size(), std::size_t{4});
    QCOMPARE(runToEnd(plan, {.iterations = 2}).tensor({end, 0})->at(0), 32.0 * 64 * 8 * 64 * 8);
}

TWB_TEST_MAIN(TestMemoryPlan)
#include "test_memory_plan.moc"
