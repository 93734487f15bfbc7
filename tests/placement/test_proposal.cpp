#include "placement/proposal.h"
#include "profile/prediction.h"
#include "support/random_networks.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

namespace {

PlacementProposal propose(const Graph& graph, const DeviceMap& devices) {
    return proposePlacement(graph, analyze(graph, devices, Policy::strict, nullptr), devices, nullptr);
}

/// The minimum over all devices of every node, for a graph without To nodes.
double leastNs(const Graph& graph, const DeviceMap& devices) {
    std::vector<NodeId> nodes;
    for (const Node& node : graph.nodes()) nodes.push_back(node.id);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t bits = 0; bits < std::size_t{1} << nodes.size(); ++bits) {
        Graph tried = graph;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            tried = moved(tried, nodes[i], bits >> i & 1 ? Device::cuda(0) : Device::cpu());
        least = std::min(least, sumNs(withTos(tried, devices), devices));
    }
    return least;
}

} // namespace

class TestProposal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void againstEveryPlacement() {
        const DeviceMap devices = simulatedMap();
        std::mt19937_64 random(11);
        for (int round = 0; round < 12; ++round) {
            RandomNetwork network(random, 2 + static_cast<int>(random() % 4), {"cpu", "cuda:0"});
            addLanes(network.g, {"cpu", "cuda:0"});
            const Graph graph = withTos(network.g.graph(), devices);
            const PlacementProposal proposal = propose(graph, devices);
            QVERIFY(proposal.isExact);
            const double least = leastNs(network.g.graph(), devices);
            QVERIFY2(std::abs(proposal.ns - least) < 1,
                     qPrintable(QStringLiteral("%1, not %2").arg(proposal.ns).arg(least)));
        }
    }

    void theDeltaGivesWhatIsPromised() {
        const DeviceMap devices = simulatedMap(2);
        std::mt19937_64 random(12);
        int moves = 0;
        for (int round = 0; round < 40; ++round) {
            RandomNetwork network(random, 4 + static_cast<int>(random() % 20), {"cpu", "cuda:0", "cuda:1"});
            addLanes(network.g, {"cpu", "cuda:0", "cuda:1"});
            const Graph graph = withTos(network.g.graph(), devices);
            const PlacementProposal proposal = propose(graph, devices);
            Graph placed = graph;
            placed.apply(proposal.delta);
            QVERIFY(!analyze(placed, devices, Policy::strict, nullptr).hasErrors());
            QVERIFY(std::abs(sumNs(graph, devices) - proposal.nsNow) < 1);
            const double then = sumNs(placed, devices);
            QVERIFY2(std::abs(then - proposal.ns) < 1,
                     qPrintable(QStringLiteral("%1, not %2").arg(then).arg(proposal.ns)));
            QVERIFY(proposal.ns <= proposal.nsNow && proposal.atLeastNs <= proposal.ns);
            QCOMPARE(proposal.moves.empty(), proposal.delta.empty());
            moves += static_cast<int>(proposal.moves.size());
            Graph back = placed;
            back.apply(proposal.delta.inverse());
            QVERIFY(back == graph);
        }
        QVERIFY(moves > 40);
    }

    /// Each node stays on its rank.
    void onlyARankItselfPlacesItsNodes() {
        const DeviceMap devices = simulatedRanks(2);
        const std::vector<std::string> names{"cpu", "cuda:0", "rank1/cpu", "rank1/cuda:0"};
        std::mt19937_64 random(15);
        int moves = 0;
        for (int round = 0; round < 40; ++round) {
            RandomNetwork network(random, 4 + static_cast<int>(random() % 20), names);
            addLanes(network.g, names);
            const Graph graph = withTos(network.g.graph(), devices);
            const PlacementProposal proposal = propose(graph, devices);
            Graph placed = graph;
            placed.apply(proposal.delta);
            QVERIFY(!analyze(placed, devices, Policy::strict, nullptr).hasErrors());
            const double then = sumNs(placed, devices);
            QVERIFY2(std::abs(then - proposal.ns) < 1,
                     qPrintable(QStringLiteral("%1, not %2").arg(then).arg(proposal.ns)));
            for (const PlacementMove& move : proposal.moves) QCOMPARE(move.from.rank, move.to.rank);
            for (const Node& node : network.g.graph().nodes())
                QCOMPARE(placed.deviceOf(*placed.find(node.id)).rank, graph.deviceOf(node).rank);
            moves += static_cast<int>(proposal.moves.size());
        }
        QVERIFY(moves > 20);
    }

    /// Two branches, one per device. The sum of costs alone would put both on one device.
    void overlappingBranchesStayOnTheirDevices() {
        const DeviceMap devices = simulatedMap();
        std::mt19937_64 random(14);
        const auto iterationNs = [&](const Graph& graph) {
            const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
            return predict(*compile(graph, analysis, devices, nullptr, {})).iterationNs;
        };
        int gained = 0;
        for (int round = 0; round < 30; ++round) {
            RandomNetwork network(random, 12, {"cpu", "cuda:0"});
            const Graph graph = withTos(network.g.graph(), devices);
            const Analysis analysis = analyze(graph, devices, Policy::strict, nullptr);
            const auto timeWith = [&](const IterationNs& scheduled) {
                Graph placed = graph;
                placed.apply(proposePlacement(graph, analysis, devices, nullptr, scheduled).delta);
                return iterationNs(placed);
            };
            const double bySum = timeWith({});
            const double bySchedule = timeWith(iterationNs);
            QVERIFY(bySchedule <= bySum && bySchedule <= iterationNs(graph));
            gained += bySchedule < bySum;
        }
        QVERIFY(gained > 0);
    }

    void pinnedNodesStay() {
        const DeviceMap devices = simulatedMap();
        std::mt19937_64 random(13);
        for (int round = 0; round < 20; ++round) {
            RandomNetwork network(random, 10, {"cpu", "cuda:0"});
            Graph graph = withTos(network.g.graph(), devices);
            DeltaBuilder builder(graph, "pin");
            std::map<NodeId, Device> pinned;
            for (Node node : graph.nodes())
                if (random() % 2) {
                    node.pinned = true;
                    pinned.emplace(node.id, graph.deviceOf(node));
                    builder.change(node);
                }
            graph.apply(builder.take());
            graph.apply(propose(graph, devices).delta);
            for (const auto& [node, device] : pinned) {
                QVERIFY(graph.find(node));
                QCOMPARE(graph.deviceOf(*graph.find(node)), device);
            }
        }
    }

    void reasonsAreInWords() {
        GraphMaker g;
        const NodeId x =
            g.node("RandomNormal", "x", "cuda:0", {{"shape", std::vector<std::int64_t>{512, 512}}});
        const NodeId a = g.node("MatMul", "a", "cuda:0", {}, {x, x});
        const NodeId down = g.node("To", "down", "cpu", {}, {a});
        const NodeId relu = g.node("Relu", "relu", "cpu", {}, {down});
        const NodeId up = g.node("To", "up", "cuda:0", {}, {relu});
        const NodeId b = g.node("MatMul", "b", "cuda:0", {}, {up, x});
        g.node("Probe", "out", "cuda:0", {}, {b});
        const DeviceMap devices = simulatedMap();
        const PlacementProposal proposal = propose(g.graph(), devices);
        QCOMPARE(proposal.moves.size(), std::size_t{1});
        QVERIFY(proposal.moves[0].nodes == std::vector<NodeId>{relu});
        QCOMPARE(proposal.moves[0].copies, -2);
        QVERIFY2(proposal.moves[0].reason.starts_with("relu to cuda:0: removes 2 copies"),
                 proposal.moves[0].reason.c_str());
        Graph placed = g.graph();
        placed.apply(proposal.delta);
        QVERIFY(!placed.find(down) && !placed.find(up)); // nothing would be copied
        QVERIFY(placed.sourceOf({b, 0}) == PortRef({relu, 0}));
    }

    void whatDoesNotFitStays() {
        GraphMaker g;
        const NodeId x =
            g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{1024, 1024}}});
        NodeId at = x;
        for (int i = 0; i < 6; ++i) at = g.node("MatMul", "m" + std::to_string(i), "cpu", {}, {at, at});
        g.node("Probe", "out", "cpu", {}, {at});
        addLanes(g, {"cuda:0"});
        const auto onGpu = [&](std::uint64_t memory) {
            const DeviceMap devices = simulatedMap(1, memory);
            Graph graph = g.graph();
            const PlacementProposal proposal = propose(graph, devices);
            graph.apply(proposal.delta);
            std::uint64_t bytes = 0;
            for (const Node& node : graph.nodes())
                if (node.op == "MatMul" && graph.deviceOf(node) == Device::cuda(0)) bytes += 4 << 20;
            return bytes;
        };
        QCOMPARE(onGpu(std::uint64_t{1} << 30), std::uint64_t{6 * (4 << 20)});
        const std::uint64_t little = onGpu(std::uint64_t{13} << 20);
        QVERIFY(little > 0 && little <= std::uint64_t{13} << 20);
    }

    void aPredictionIsTheSchedule() {
        GraphMaker g;
        const NodeId x = g.node("RandomNormal", "x", "cpu", {{"shape", std::vector<std::int64_t>{64, 64}}});
        const NodeId to = g.node("To", "to", "cuda:0", {}, {x});
        const NodeId relu = g.node("Relu", "relu", "cuda:0", {}, {to});
        g.node("Probe", "out", "cuda:0", {}, {relu});
        const DeviceMap devices = simulatedMap();
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        const auto plan = compile(g.graph(), analysis, devices, nullptr, {});
        const Prediction p = predict(*plan);
        // In a chain, every node is on the critical path.
        QCOMPARE(p.criticalPath.size(), std::size_t{2});
        QVERIFY(std::abs(p.latencyNs - sumNs(g.graph(), devices)) < 1e-6);
        QVERIFY(std::abs(p.critical.compute + p.critical.transfer + p.critical.overhead - p.latencyNs) <
                1e-6);
        QCOMPARE(p.transferBytes, 64.0 * 64 * 4);
        QVERIFY(p.isComplete && p.fits());
        QVERIFY(p.iterationNs <= p.latencyNs);
        QVERIFY(p.setupNs > 0);
    }
};

TWB_TEST_MAIN(TestProposal)
#include "test_proposal.moc"
