#include "placement/causes.h"
#include "placement/fixes.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <set>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

/// Blocks that each read a weight of their own and the previous block's result, all on one device, so that a
/// fault in one block affects only that block.
struct Planted {
    explicit Planted(std::mt19937_64& random, int faults) {
        constexpr int kBlocks = 24;
        NodeId at = g.node("RandomNormal", "x", "cuda:0", {{"shape", Ints{16, 16}}});
        std::set<int> where;
        while (static_cast<int>(where.size()) < faults) {
            // Not in adjacent blocks, where two faults would look like one.
            const int block = static_cast<int>(random() % kBlocks);
            if (!where.contains(block - 1) && !where.contains(block + 1)) where.insert(block);
            if (++m_tries > 10'000) break;
        }
        for (int i = 0; i < kBlocks; ++i) {
            const std::string n = std::to_string(i);
            const int kind = where.contains(i) ? 1 + static_cast<int>(random() % 4) : 0;
            const int readers = 2 + static_cast<int>(random() % 4);
            // 1: the weight is on the host. 2: one op is on the host. 3: the weight is f64. 4: the weight has
            // a wrong shape.
            const NodeId weight = g.node("RandomNormal", "w" + n, kind == 1 ? "cpu" : "cuda:0",
                                         {{"shape", kind == 4 ? Ints{3, 16} : Ints{16, 16}},
                                          {"dtype", std::string(kind == 3 ? "f64" : "f32")}});
            std::vector<NodeId> sums;
            for (int r = 0; r < readers; ++r)
                sums.push_back(g.node("MatMul", "m" + n + "." + std::to_string(r),
                                      kind == 2 && r == 0 ? "cpu" : "cuda:0", {}, {at, weight}));
            if (kind != 0) expected.push_back({kind == 2 ? sums[0] : weight, kind, readers});
            // The next block reads a valid product, so that faults do not hide each other.
            at = g.node("Relu", "r" + n, "cuda:0", {},
                        {kind == 3 || kind == 4
                             ? g.node("RandomNormal", "y" + n, "cuda:0", {{"shape", Ints{16, 16}}})
                             : sums[1]});
            if (kind == 2) g.node("Abs", "abs" + n, "cuda:0", {}, {sums[0]});
        }
    }
    struct Fault {
        NodeId node;
        int kind;
        int readers;
    };
    GraphMaker g;
    std::vector<Fault> expected;

private:
    int m_tries = 0;
};

} // namespace

class TestCauses : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Graphs with 1 to 20 faults of known causes: each cause is found with all its errors, and no other.
    void plantedFaults() {
        const DeviceMap devices = simulatedMap();
        std::mt19937_64 random(21);
        std::size_t planted = 0;
        for (int round = 0; round < 220; ++round) {
            const Planted graph(random, 1 + round % 20);
            const Analysis analysis = analyze(graph.g.graph(), devices, Policy::strict, nullptr);
            const auto causes = causesOf(graph.g.graph(), analysis, devices);
            std::map<NodeId, const Cause*> byNode;
            std::set<std::size_t> seen;
            for (const Cause& cause : causes) {
                for (const std::size_t i : cause.diagnostics) QVERIFY(seen.insert(i).second);
                if (analysis.diagnostics[cause.diagnostics.front()].severity != Severity::error) continue;
                QCOMPARE(cause.nodes.size(), std::size_t{1});
                QVERIFY(byNode.emplace(cause.nodes.front(), &cause).second);
            }
            QCOMPARE(seen.size(), analysis.diagnostics.size());
            QCOMPARE(byNode.size(), graph.expected.size());
            for (const auto& fault : graph.expected) {
                ++planted;
                const auto found = byNode.find(fault.node);
                QVERIFY2(found != byNode.end(), labelOfFault(graph, fault).c_str());
                // An op on the host has two operands and one consumer on the other device.
                QCOMPARE(found->second->diagnostics.size(),
                         static_cast<std::size_t>(fault.kind == 2 ? 3 : fault.readers));
            }
        }
        QVERIFY(planted > 1000);
    }

    void oneSourceThatBreaksFourteen() {
        GraphMaker g;
        const NodeId images = g.node("RandomNormal", "images", "cpu", {{"shape", Ints{8, 8}}});
        for (int i = 0; i < 14; ++i) g.node("Relu", "r" + std::to_string(i), "cuda:0", {}, {images});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const auto causes = causesOf(g.graph(), analysis, devices);
        QCOMPARE(causes.size(), std::size_t{1});
        QCOMPARE(causes[0].sentence, std::string("images is on cpu, and 14 ops on cuda:0 read it"));
        QCOMPARE(causes[0].decided, std::string("from RandomNormal, created on cpu"));
        QCOMPARE(causes[0].remedies.size(), std::size_t{2});
        QCOMPARE(causes[0].remedies[0].title, std::string("move images to cuda:0"));
        QCOMPARE(causes[0].remedies[1].title,
                 std::string("insert one To(cuda:0) on images for all 14 consumers"));
        for (const Remedy& remedy : causes[0].remedies) {
            Graph graph = g.graph();
            graph.apply(toDelta(graph, remedy.fixes, remedy.title));
            QVERIFY(!analyze(graph, devices, Policy::strict, nullptr).hasErrors());
        }
        // One To serves all consumers, and its cost counts once.
        QCOMPARE(causes[0].remedies[1].price.bytes, std::uint64_t{256});
    }

    void neighboursThatWentTogether() {
        GraphMaker g;
        NodeId at = g.node("RandomNormal", "x", "cuda:0", {{"shape", Ints{8, 8}}});
        for (int i = 0; i < 6; ++i) {
            const NodeId w =
                g.node("RandomNormal", "w" + std::to_string(i), "cuda:0", {{"shape", Ints{8, 8}}});
            at = g.node("MatMul", "m" + std::to_string(i), i == 2 || i == 3 ? "cpu" : "cuda:0", {}, {at, w});
        }
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const auto causes = causesOf(g.graph(), analysis, devices);
        QCOMPARE(causes.size(), std::size_t{1});
        QCOMPARE(causes[0].nodes.size(), std::size_t{2});
        QCOMPARE(causes[0].diagnostics.size(), std::size_t{4});
        QCOMPARE(causes[0].sentence,
                 std::string("m3 and 1 other node are on cpu; the 3 tensors that they read and the op that "
                             "reads their outputs are on cuda:0"));
    }

private:
    static std::string labelOfFault(const Planted& graph, const Planted::Fault& fault) {
        return graph.g.graph().find(fault.node)->name + " of kind " + std::to_string(fault.kind);
    }
};

TWB_TEST_MAIN(TestCauses)
#include "test_causes.moc"
