#include "placement/journey.h"
#include "profile/profiles.h"
#include "support/graphs.h"
#include "support/test_main.h"

#include <set>

using namespace twb;
using namespace twb::test;

namespace {

DeviceMap oneGpu(const Graph& graph) {
    static const ProfileLibrary library(TWB_SOURCE_DIR "/resources/devices");
    return makeDeviceMap(graph, {}, library);
}

} // namespace

class TestJourney : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fromItsMakerOverItsCopies() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{8}}});
        const NodeId to = g.node("To", "to", "cuda:0", {}, {x});
        const NodeId a = g.node("Relu", "a", "cuda:0", {}, {to});
        const NodeId b = g.node("Abs", "b", "cuda:0", {}, {to});
        const NodeId back = g.node("To", "back", "cpu", {}, {to});
        const NodeId c = g.node("Neg", "c", "cpu", {}, {back});
        const DeviceMap devices = oneGpu(g.graph());
        const Analysis analysis = analyze(g.graph(), devices, Policy::strict, nullptr);
        // The journey is the same from any of its wires.
        for (const NodeId from : {x, to, back}) {
            const std::vector<Residence> journey = journeyOf(g.graph(), analysis, {from, 0});
            QCOMPARE(journey.size(), std::size_t(3));
            QCOMPARE(journey[0].tensor, (PortRef{x, 0}));
            QCOMPARE(journey[0].device, Device::cpu());
            QCOMPARE(journey[0].dies(), to);
            QCOMPARE(journey[1].device, Device::cuda(0));
            QCOMPARE(std::set<NodeId>(journey[1].readers.begin(), journey[1].readers.end()),
                     (std::set{a, b, back}));
            QCOMPARE(journey[2].device, Device::cpu());
            QCOMPARE(journey[2].readers, std::vector{c});
        }
        // The result of an op is a new tensor.
        QCOMPARE(journeyOf(g.graph(), analysis, {a, 0}).size(), std::size_t(1));
    }

    void copiesOfThePolicyCount() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", std::vector<std::int64_t>{8}}});
        const NodeId a = g.node("Relu", "a", "cuda:0", {}, {x});
        const NodeId b = g.node("Abs", "b", "cpu", {}, {x});
        const DeviceMap devices = oneGpu(g.graph());
        const Analysis analysis = analyze(g.graph(), devices, Policy::implicit, nullptr);
        const std::vector<Residence> journey = journeyOf(g.graph(), analysis, {x, 0});
        QCOMPARE(journey.size(), std::size_t(2));
        QCOMPARE(journey[0].readers, std::vector{b});
        QVERIFY(journey[1].isImplicit);
        QCOMPARE(journey[1].device, Device::cuda(0));
        QCOMPARE(journey[1].readers, std::vector{a});
    }
};

TWB_TEST_MAIN(TestJourney)
#include "test_journey.moc"
