#include "ops/op_table.h"
#include "placement/fix_set.h"
#include "placement/fixes.h"
#include "placement/placement_model.h"
#include "placement/proposal.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <array>

using namespace twb;
using namespace twb::test;

namespace {

using Ints = std::vector<std::int64_t>;

Analysis analysisOf(const Graph& graph) { return analyze(graph, simulatedRanks(2), Policy::strict, nullptr); }

/// The time of a copy of 1000 floats.
double copyNs(Device from, Device to) {
    return priceOfTransfer({DType::f32, Shape{1000}}, from, to, false, simulatedRanks(2)).ns;
}

NodeId named(const Graph& graph, std::string_view name) {
    const Node* node = graph.findByName(name);
    return node ? node->id : NodeId::none;
}

/// x on rank 0's GPU goes by the cpus of both ranks to rank 1's GPU.
struct Chain {
    GraphMaker g;
    NodeId x, atHome, away, onGpu, reader;

    explicit Chain(const std::string& readerOn = "rank1/cuda:0") {
        x = g.node("Zeros", "x", "cuda:0", {{"shape", Ints{1000}}});
        atHome = g.node("To", "at home", "cpu", {}, {x});
        away = g.node("To", "away", "rank1/cpu", {}, {atHome});
        onGpu = g.node("To", "on gpu", "rank1/cuda:0", {}, {away});
        reader = g.node("Neg", "reader", readerOn, {}, {onGpu});
    }
};

} // namespace

class TestRankCopies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void eachHopOfAChainHasItsPrice() {
        const Chain chain;
        const Analysis analysis = analysisOf(chain.g.graph());
        PlacementModel::Options options;
        options.throughTransfers = true;
        const DeviceMap devices = simulatedRanks(2);
        const PlacementModel model(chain.g.graph(), analysis, devices, options);
        const PlacementModel whole(chain.g.graph(), analysis, devices, {});
        const double steps =
            devices.at(Device::cuda(0, 1))
                .profile()
                .kernelNs(costOf(*findOp("Neg"), std::array{TensorType{DType::f32, Shape{1000}}},
                                 std::array{TensorType{DType::f32, Shape{1000}}}, {}));
        const double wanted = steps + copyNs(Device::cuda(0), Device::cpu()) +
                              copyNs(Device::cpu(), Device::cpu(1)) +
                              copyNs(Device::cpu(1), Device::cuda(0, 1));
        QCOMPARE(model.problem().nsOf(model.problem().now()), wanted);
        QCOMPARE(whole.problem().nsOf(whole.problem().now()), wanted);
    }

    /// A tensor that goes to another rank and comes back takes both ways.
    void aWayBackHasItsPrice() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{1000}}});
        const NodeId there = g.node("To", "there", "rank1/cpu", {}, {x});
        const NodeId back = g.node("To", "back", "cpu", {}, {there});
        g.node("Probe", "seen", "cpu", {}, {back});
        const PlacementProposal proposal =
            proposePlacement(g.graph(), analysisOf(g.graph()), simulatedRanks(2), nullptr);
        QCOMPARE(proposal.nsNow, 2 * copyNs(Device::cpu(), Device::cpu(1)));
    }

    /// The copy on the rank is read by a proposal, too, and stays.
    void aProposalKeepsTheCopyBetweenTheRanks() {
        Chain chain("rank1/cpu"); // it reads the copy on the GPU, which is a mismatch
        const Analysis analysis = analysisOf(chain.g.graph());
        QCOMPARE(analysis.errorCount(), std::size_t{1});
        const FixSet set = minimalFixSet(chain.g.graph(), analysis, simulatedRanks(2), nullptr, {});
        Graph mended = chain.g.graph();
        mended.apply(set.delta);
        QCOMPARE(analysisOf(mended).errorCount(), std::size_t{0});
        QVERIFY(mended.find(chain.away) && mended.find(chain.atHome));
        QCOMPARE(mended.sourceOf({chain.away, 0})->node, chain.atHome);
        QVERIFY(set.isExact);
    }

    /// The fix of a second reader on the other rank does not send the tensor again.
    void aFixReadsTheCopyOnTheRank() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{1000}}});
        const NodeId there = g.node("To", "there", "rank1/cpu", {}, {x});
        g.node("Probe", "seen", "rank1/cpu", {}, {there});
        const NodeId other = g.node("Neg", "other", "rank1/cuda:0", {}, {x});
        const Analysis analysis = analysisOf(g.graph());
        QCOMPARE(analysis.errorCount(), std::size_t{1});
        const std::vector<Fix>& fixes = analysis.diagnostics.front().fixes;
        const auto insert = std::ranges::find(fixes, Fix::Kind::insertTo, &Fix::kind);
        QVERIFY(insert != fixes.end());
        QCOMPARE(insert->title, std::string("insert To(rank1/cuda:0) on there -> other"));
        QCOMPARE(insert->price.ns, copyNs(Device::cpu(1), Device::cuda(0, 1)));
        Graph mended = g.graph();
        mended.apply(toDelta(mended, *insert));
        const NodeId copy = mended.sourceOf({other, 0})->node;
        QCOMPARE(mended.find(copy)->op, std::string("To"));
        QCOMPARE(mended.sourceOf({copy, 0})->node, there);
        QCOMPARE(mended.find(copy)->name, std::string("there on rank1/cuda:0"));
        QCOMPARE(analysisOf(mended).errorCount(), std::size_t{0});

        const FixSet set = minimalFixSet(g.graph(), analysis, simulatedRanks(2), nullptr, {});
        mended = g.graph();
        mended.apply(set.delta);
        QCOMPARE(analysisOf(mended).errorCount(), std::size_t{0});
        std::size_t links = 0;
        for (const Node& node : mended.nodes())
            if (const auto from = mended.sourceOf({node.id, 0}); from && node.op == "To")
                links += !mended.deviceOf(node).sharesRankWith(mended.deviceOf(*mended.find(from->node)));
        QCOMPARE(links, std::size_t{1});
        QVERIFY(set.isExact);
    }

    /// The original of a copy is on the rank of its reader.
    void aFixReadsTheOriginalOnTheRank() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "rank1/cuda:0", {{"shape", Ints{1000}}});
        const NodeId home = g.node("To", "home", "cpu", {}, {x});
        const NodeId reader = g.node("Neg", "reader", "rank1/cpu", {}, {home});
        const Analysis analysis = analysisOf(g.graph());
        const std::vector<Fix>& fixes = analysis.diagnostics.front().fixes;
        const auto insert = std::ranges::find(fixes, Fix::Kind::insertTo, &Fix::kind);
        QVERIFY(insert != fixes.end());
        QCOMPARE(insert->title, std::string("insert To(rank1/cpu) on x -> reader"));
        QCOMPARE(insert->price.ns, copyNs(Device::cuda(0, 1), Device::cpu(1)));
        Graph mended = g.graph();
        mended.apply(toDelta(mended, *insert));
        const NodeId copy = mended.sourceOf({reader, 0})->node;
        QCOMPARE(mended.sourceOf({copy, 0})->node, x);
        QCOMPARE(named(mended, "home"), NodeId::none); // nobody reads it now
        QCOMPARE(analysisOf(mended).errorCount(), std::size_t{0});
    }
};

TWB_TEST_MAIN(TestRankCopies)
#include "test_rank_copies.moc"
