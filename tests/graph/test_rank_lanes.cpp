#include "core/error.h"
#include "graph/rank_lanes.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <QObject>

using namespace twb;
using namespace twb::test;

class TestRankLanes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theLanesOfARankStandTogether() {
        GraphMaker g;
        for (const char* device : {"rank2/cpu", "cpu", "rank1/cuda:0", "cuda:0", "rank1/cpu"}) g.lane(device);
        std::vector<std::string> order;
        for (const Lane& lane : g.graph().lanesInOrder()) order.push_back(lane.device.toString());
        QCOMPARE(order,
                 (std::vector<std::string>{"cpu", "cuda:0", "rank1/cuda:0", "rank1/cpu", "rank2/cpu"}));
        QCOMPARE(lastRankOf(g.graph()), 2);
        QVERIFY(dividesNodes(g.graph()));
        QVERIFY(!dividesNodes(largeGraph(10, false)));
    }

    /// Its own devices have no prefix; seen twice, the graph is the first one.
    void aRankSeesItsOwnDevicesAsThoseOfRankZero() {
        GraphMaker g;
        for (const char* device : {"cpu", "rank1/cuda:0", "rank2/cuda:1"}) g.lane(device);
        const auto names = [](const Graph& graph) {
            std::vector<std::string> out;
            for (const Lane& lane : graph.lanes()) out.push_back(lane.device.toString());
            return out;
        };
        QCOMPARE(names(asSeenBy(1, g.graph())),
                 (std::vector<std::string>{"rank1/cpu", "cuda:0", "rank2/cuda:1"}));
        QCOMPARE(names(asSeenBy(2, g.graph())),
                 (std::vector<std::string>{"rank2/cpu", "rank1/cuda:0", "cuda:1"}));
        for (const int rank : {0, 1, 2, 3}) {
            const Graph twice = asSeenBy(rank, asSeenBy(rank, g.graph()));
            QVERIFY(twice == g.graph());
        }
    }

    void theDeviceOfAutoIsUnknownToOtherRanks() {
        GraphMaker g;
        g.lane("rank1/cpu");
        g.lane("auto");
        QVERIFY_THROWS_EXCEPTION(Error, asSeenBy(1, g.graph()));
    }
};

TWB_TEST_MAIN(TestRankLanes)
#include "test_rank_lanes.moc"
