#include "graph/rank_lanes.h"
#include "profile/ledger.h"
#include "profile/transfer_figures.h"
#include "runtime/rank_part.h"
#include "runtime/runs.h"
#include "runtime/same_plan.h"
#include "support/ranks.h"
#include "support/test_main.h"

#include <QObject>

#include <cmath>
#include <random>

using namespace twb;
using namespace twb::test;

namespace {

/// x on rank 0, the product of it on rank 1's GPU, and its difference with x on rank 0 again.
struct ThereAndBack {
    GraphMaker g;
    NodeId x, there, product, back, difference;

    ThereAndBack() {
        x = g.node("Full", "x", "cpu", {{"shape", Ints{1000}}, {"value", 3.0}});
        there = g.node("To", "there", "rank1/cuda:0", {}, {x});
        product = g.node("Mul", "product", "rank1/cuda:0", {}, {there, there});
        back = g.node("To", "back", "cpu", {}, {product});
        difference = g.node("Sub", "difference", "cpu", {}, {back, x});
        g.node("Probe", "seen", "cpu", {}, {difference});
    }
};

/// What a rank has computed of its part, by node.
using Values = std::map<NodeId, std::vector<float>>;

/// Runs a rank's part in a world of threads.
Values runPart(const std::shared_ptr<World>& world, const Graph& graph, std::int64_t iterations = 1) {
    const int rank = world->rank();
    const Graph seen = asSeenBy(rank, graph);
    DeviceMap map = simulatedRanks(world->size());
    map.setWorld(world);
    const Analysis analysis = analyze(seen, map, Policy::strict, nullptr);
    requireRanks(graph, *world);
    requireParts(seen, analysis, rank);
    CompileOptions options;
    requireSamePlan(*compile(seen, analysis, map, nullptr, options), rank);
    options.ownPart = true;
    for (const Node& node : seen.nodes()) options.keep.insert({node.id, 0});
    const auto plan = compile(seen, analysis, map, nullptr, options);
    for (const PlanStream& stream : plan->streams)
        if (stream.device.rank != 0) throw Error(ErrorCode::failed, "a part has a stream of another rank");
    RunOptions run;
    run.iterations = iterations;
    const RunResult result = runToEnd(plan, run);
    if (result.status != RunStatus::finished)
        throw Error(ErrorCode::failed, result.errors.empty() ? "cancelled" : result.errors.front().message);
    Values out;
    for (const Node& node : seen.nodes())
        if (const Tensor* tensor = result.tensor({node.id, 0});
            tensor && tensor->type().dtype == DType::f32 && seen.deviceOf(node).rank == 0)
            out[node.id] = floats(result, node.id, plan->devices);
    return out;
}

Values valuesAlone(const Graph& graph, int ranks) {
    const DeviceMap map = simulatedRanks(ranks);
    const RunResult result = runToEnd(planOf(graph, map, {.keepAll = true}), {});
    Values out;
    for (const Node& node : graph.nodes())
        if (node.op != "Probe") out[node.id] = floats(result, node.id, map);
    return out;
}

std::string refusalOf(const std::function<void()>& call, ErrorCode wanted) {
    try {
        call();
    } catch (const Error& error) {
        return error.code() == wanted ? error.what() : std::string("another code: ") + error.what();
    }
    return {};
}

} // namespace

class TestRankLanes : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aCopyToAnotherRankTakesTheTimeOfTheLink_data() {
        QTest::addColumn<QByteArray>("world");
        QTest::addColumn<QByteArray>("link");
        QTest::addColumn<double>("ns");
        // Latency and bytes over bandwidth; 1 GB/s is 1 byte per ns.
        QTest::newRow("alone") << QByteArray() << QByteArray("25 GbE") << 30'000 + 4000 / 2.9;
        QTest::newRow("nvlink") << QByteArray("2:nvlink") << QByteArray("NVLink 4") << 3'000 + 4000 / 450.0;
        QTest::newRow("own") << QByteArray("4:7us,2GB/s") << QByteArray("link of 7 µs and 2 GB/s")
                             << 7'000 + 4000 / 2.0;
    }
    void aCopyToAnotherRankTakesTheTimeOfTheLink() {
        QFETCH(const QByteArray, world);
        QFETCH(const QByteArray, link);
        QFETCH(const double, ns);
        const ThereAndBack made;
        DeviceMap map = simulatedRanks(2);
        if (!world.isEmpty()) map.setWorld(makeSimulatedWorld(world.toStdString()));
        const TensorType type{DType::f32, Shape{1000}};
        const Price price = priceOfTransfer(type, Device::cpu(), Device::cuda(0, 1), false, map);
        QVERIFY(price.isKnown && price.modelled);
        QCOMPARE(price.ns, ns);
        const auto plan = planOf(made.g.graph(), map);
        QVERIFY(plan->virtualClock);
        Recorder recorder;
        const RunResult result = runToEnd(plan, {.iterations = 7}, &recorder);
        QCOMPARE(result.status, RunStatus::finished);
        QCOMPARE(floats(result, made.difference, map), std::vector<float>(1000, 6));
        Ledger ledger(plan);
        ledger.add(recorder.records);
        const auto figures = figuresOf(*plan, &ledger, nullptr);
        QCOMPARE(figures.size(), std::size_t{2});
        for (std::size_t i = 0; i < figures.size(); ++i) {
            QCOMPARE(plan->transfers[i].kind, TransferKind::explicitTo);
            QCOMPARE(figures[i].link, link.toStdString());
            QVERIFY(figures[i].modelled);
            QCOMPARE(figures[i].predictedNs, ns);
            QCOMPARE(figures[i].count, std::uint64_t{7});
            QCOMPARE(figures[i].totalNs, static_cast<double>(7 * std::llround(ns)));
        }
    }

    void aCopyWithinAnotherRankTakesTheTimeOfItsDevice() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "rank1/cpu", {{"shape", Ints{1000}}});
        g.node("Probe", "seen", "rank1/cuda:0", {}, {g.node("To", "to", "rank1/cuda:0", {}, {x})});
        const auto plan = planOf(g.graph(), simulatedRanks(2));
        QCOMPARE(plan->transfers.size(), std::size_t{1});
        QCOMPARE(plan->transfers[0].predictedNs, 10'000 + 4000 / 5.0); // pageable memory
        QCOMPARE(plan->transfers[0].link, std::string());
    }

    /// A copy of a copy is named after that copy, so that each hop has a name of its own.
    void eachHopHasAName() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{1000}}});
        const NodeId there = g.node("To", "there", "rank1/cuda:0", {}, {x});
        const NodeId down = g.node("To", "down", "rank1/cpu", {}, {there});
        g.node("Probe", "seen", "rank1/cuda:0", {}, {g.node("To", "up", "rank1/cuda:0", {}, {down})});
        std::string labels;
        const auto plan = planOf(g.graph(), simulatedRanks(2));
        for (const Transfer& transfer : plan->transfers) labels += transfer.label + "; ";
        QCOMPARE(labels, std::string("x → rank1/cuda:0; there → rank1/cpu; down → rank1/cuda:0; "));
    }

    /// No simulated device computes, but a modelled copy takes part.
    void aCopyBetweenTwoCpusIsModelled() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "cpu", {{"shape", Ints{1000}}});
        g.node("Probe", "seen", "rank1/cpu", {}, {g.node("To", "to", "rank1/cpu", {}, {x})});
        const auto plan = planOf(g.graph(), simulatedRanks(2));
        QVERIFY(plan->virtualClock && plan->transfers.at(0).modelled);
        const PlanStream& stream = plan->streams[stepNamed(*plan, "x → rank1/cpu").stream];
        QCOMPARE(stream.label, std::string("cpu 25 GbE"));
        QVERIFY(stream.modelled);
    }

    void aBlockingCopyHoldsBackItsOwnRankOnly() {
        GraphMaker g;
        const NodeId big = g.node("Zeros", "big", "rank1/cpu", {{"shape", Ints{1000, 1000}}});
        g.node("Probe", "there", "rank1/cuda:0", {}, {g.node("To", "to", "rank1/cuda:0", {}, {big})});
        const NodeId m = g.node("Zeros", "m", "cuda:0", {{"shape", Ints{300, 300}}});
        const NodeId n = g.node("Zeros", "n", "rank1/cuda:0", {{"shape", Ints{300, 300}}});
        for (const auto& [name, device, of] :
             {std::tuple("here", "cuda:0", m), std::tuple("behind", "rank1/cuda:0", n)})
            g.node("Probe", std::string("seen ") + name, device, {},
                   {g.node("MatMul", name, device, {}, {of, of})});
        CompileOptions options;
        options.fuse = false;
        const auto plan = planOf(g.graph(), simulatedRanks(2), options);
        const std::uint32_t copy = stepNamed(*plan, "big → rank1/cuda:0").index;
        QVERIFY(std::ranges::count(stepNamed(*plan, "behind").waits, copy) == 1);
        QVERIFY(std::ranges::count(stepNamed(*plan, "here").waits, copy) == 0);
    }

    void shapesAreReadOnTheHostOfTheRank() {
        GraphMaker g;
        const NodeId x = g.node("Zeros", "x", "rank1/cuda:0", {{"shape", Ints{6}}});
        const NodeId shape =
            g.node("Constant", "shape", "rank1/cpu", {{"value", Ints{2, 3}}, {"dtype", std::string("i64")}});
        const NodeId reshaped = g.node("Reshape", "reshaped", "rank1/cuda:0", {}, {x, shape});
        g.node("Probe", "seen", "rank1/cuda:0", {}, {reshaped});
        const Analysis fine = analyze(g.graph(), simulatedRanks(2), Policy::strict, nullptr);
        QCOMPARE(fine.errorCount(), std::size_t{0});
        GraphMaker wrong;
        const NodeId y = wrong.node("Zeros", "x", "rank1/cuda:0", {{"shape", Ints{6}}});
        const NodeId far =
            wrong.node("Constant", "shape", "cpu", {{"value", Ints{2, 3}}, {"dtype", std::string("i64")}});
        wrong.node("Reshape", "reshaped", "rank1/cuda:0", {}, {y, far});
        const Analysis bad = analyze(wrong.graph(), simulatedRanks(2), Policy::strict, nullptr);
        QCOMPARE(bad.errorCount(), std::size_t{1});
        QVERIFY2(bad.diagnostics.front().message.starts_with("Expected shape to be on rank1/cpu, where the "
                                                             "host reads it, but got shape is on cpu"),
                 bad.diagnostics.front().message.c_str());
    }

    void theLinkIsNamedBeforeARun() {
        const ThereAndBack made;
        DeviceMap map = simulatedRanks(2);
        const auto notes = [&] {
            std::vector<std::string> out;
            for (const Diagnostic& d : analyze(made.g.graph(), map, Policy::strict, nullptr).diagnostics)
                if (d.code == "rank-link") out.push_back(d.message);
            return out;
        };
        QCOMPARE(notes(),
                 std::vector<std::string>{"copies between ranks take the times of 25 GbE (modelled); "
                                          "other links: Predict on several ranks in the window, or "
                                          "twb run --world simulated:RANKS:LINK"});
        map.setWorld(makeSimulatedWorld("2:pcie"));
        QCOMPARE(notes(),
                 std::vector<std::string>{"copies between ranks take the times of PCIe 4.0 x16 (modelled)"});
    }

    void callsOfAllRanksAreRefused() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "cpu", {{"shape", Ints{4}}});
        g.node("AllReduce", "sum", "cpu", {}, {x});
        QCOMPARE(analyze(g.graph(), simulatedRanks(2), Policy::strict, nullptr).errorCount(), std::size_t{0});
        g.lane("rank1/cpu");
        const Analysis refused = analyze(g.graph(), simulatedRanks(2), Policy::strict, nullptr);
        QCOMPARE(refused.errorCount(), std::size_t{1});
        QVERIFY2(
            refused.diagnostics.front().message.starts_with(
                "AllReduce \"sum\" is a call of all ranks, but the lanes of other ranks divide the nodes"),
            refused.diagnostics.front().message.c_str());
    }

    void eachRankRunsItsPart() {
        const ThereAndBack made;
        const Values alone = valuesAlone(made.g.graph(), 3);
        std::vector<Values> parts(3);
        const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
            parts[static_cast<std::size_t>(world->rank())] = runPart(world, made.g.graph(), 4);
        });
        QCOMPARE(errors, std::vector<std::string>(3));
        QCOMPARE(parts[0].size(), std::size_t{3});
        QCOMPARE(parts[1].size(), std::size_t{2});
        QCOMPARE(parts[2].size(), std::size_t{0}); // it has no lane
        for (const Values& part : parts)
            for (const auto& [node, values] : part) QCOMPARE(values, alone.at(node));
    }

    /// Copies in both directions between three ranks, independent of each other: without one order of all
    /// messages, ranks would wait for each other for ever.
    void randomGraphsGiveTheResultsOfOneProcess() {
        for (unsigned seed = 1; seed <= 20; ++seed) {
            std::mt19937 random(seed);
            const auto pick = [&](std::size_t below) { return random() % below; };
            const std::array devices{"cpu", "cuda:0", "rank1/cpu", "rank1/cuda:0", "rank2/cpu"};
            GraphMaker g;
            std::vector<std::pair<NodeId, std::string>> made;
            for (int i = 0; i < 60; ++i) {
                const std::string name = "n" + std::to_string(i);
                const std::size_t kind = i < 5 ? 0 : 1 + pick(5);
                if (kind == 0) {
                    const std::string device = devices[static_cast<std::size_t>(i)];
                    made.emplace_back(g.node("Full", name, device, {{"shape", Ints{8}}, {"value", 1.0 + i}}),
                                      device);
                    continue;
                }
                const auto [from, at] = made[pick(made.size())];
                if (kind >= 3) {
                    const std::string device = devices[pick(devices.size())];
                    made.emplace_back(g.node("To", name, device, {}, {from}), device);
                } else if (kind == 1) {
                    made.emplace_back(g.node("Neg", name, at, {}, {from}), at);
                } else {
                    std::vector<NodeId> here;
                    for (const auto& [other, where] : made)
                        if (where == at) here.push_back(other);
                    made.emplace_back(g.node("Add", name, at, {}, {from, here[pick(here.size())]}), at);
                }
            }
            const Values alone = valuesAlone(g.graph(), 3);
            std::vector<Values> parts(3);
            const auto errors = onRanks(3, [&](const std::shared_ptr<World>& world) {
                parts[static_cast<std::size_t>(world->rank())] = runPart(world, g.graph(), 3);
            });
            QCOMPARE(errors, std::vector<std::string>(3));
            std::size_t compared = 0;
            for (const Values& part : parts)
                for (const auto& [node, values] : part) {
                    QVERIFY(!values.empty());
                    QCOMPARE(values, alone.at(node));
                    ++compared;
                }
            QCOMPARE(compared, alone.size());
        }
    }

    /// The sender converts, so that both ranks know the bytes of the message.
    void theSenderConvertsTheDtype() {
        GraphMaker g;
        const NodeId x = g.node("Full", "x", "cpu", {{"shape", Ints{1000}}, {"value", 2.0}});
        const NodeId half = g.node("To", "half", "rank1/cpu", {{"dtype", std::string("f16")}}, {x});
        const NodeId whole = g.node("To", "whole", "cpu", {{"dtype", std::string("f32")}}, {half});
        g.node("Probe", "seen", "cpu", {}, {whole});
        std::vector<Values> parts(2);
        std::vector<std::vector<CollectiveLog>> logs(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            parts[rank] = runPart(world, g.graph());
            logs[rank] = world->log();
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(parts[0].at(whole), std::vector<float>(1000, 2));
        const auto bytesOf = [&](std::size_t rank, CollectiveKind kind, const char* label) {
            for (const CollectiveLog& row : logs[rank])
                if (row.kind == kind && row.label == label) return row.bytes;
            return std::uint64_t{0};
        };
        QCOMPARE(bytesOf(0, CollectiveKind::send, "half"), std::uint64_t{2000});
        QCOMPARE(bytesOf(1, CollectiveKind::receive, "half"), std::uint64_t{2000});
        QCOMPARE(bytesOf(1, CollectiveKind::send, "whole"), std::uint64_t{4000});
    }

    void anyDTypeGoesToAnotherRank_data() {
        QTest::addColumn<int>("dtype");
        for (const DType dtype : kAllDTypes)
            QTest::newRow(std::string(name(dtype)).c_str()) << static_cast<int>(dtype);
    }
    /// From a GPU, which has no kernels for narrow dtypes, to a cpu and back.
    void anyDTypeGoesToAnotherRank() {
        QFETCH(const int, dtype);
        const std::string type(name(static_cast<DType>(dtype)));
        GraphMaker g;
        const NodeId x = g.node("Constant", "x", "cuda:0",
                                {{"value", std::vector<double>{0, 1, 1, 0, 1, 1, 1}}, {"shape", Ints{7}}});
        const NodeId there = g.node("To", "there", "rank1/cpu", {{"dtype", type}}, {x});
        const NodeId same = g.node("Identity", "same", "rank1/cpu", {}, {there});
        const NodeId back = g.node("To", "back", "cpu", {}, {same});
        const NodeId wide = g.node("Cast", "wide", "cpu", {{"to", std::string("f32")}}, {back});
        g.node("Probe", "seen", "cpu", {}, {wide});
        const DeviceMap map = simulatedRanks(2);
        const std::vector<float> wanted =
            floats(runToEnd(planOf(g.graph(), map, {.keepAll = true}), {}), wide, map);
        std::vector<Values> parts(2);
        std::vector<std::vector<CollectiveLog>> logs(2);
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto rank = static_cast<std::size_t>(world->rank());
            parts[rank] = runPart(world, g.graph(), 2);
            logs[rank] = world->log();
        });
        QCOMPARE(errors, std::vector<std::string>(2));
        QCOMPARE(parts[0].at(wide), wanted);
        if (type != "f8e8m0") QCOMPARE(wanted, (std::vector<float>{0, 1, 1, 0, 1, 1, 1}));
        for (const CollectiveLog& row : logs[0])
            if (row.label == "there" || row.label == "back")
                QCOMPARE(row.bytes,
                         2 * static_cast<std::uint64_t>(Shape{7}.byteCount(static_cast<DType>(dtype))));
    }

    void aRankThatFailsEndsTheOthers() {
        GraphMaker g;
        const NodeId x = g.node("Ones", "x", "rank1/cpu", {{"shape", Ints{4}}});
        const NodeId at = g.node("Full", "at", "rank1/cpu",
                                 {{"shape", Ints{1}}, {"value", 9.0}, {"dtype", std::string("i64")}});
        const NodeId picked = g.node("Gather", "picked", "rank1/cpu", {}, {x, at});
        g.node("Probe", "seen", "cpu", {}, {g.node("To", "to", "cpu", {}, {picked})});
        const auto errors =
            onRanks(2, [&](const std::shared_ptr<World>& world) { runPart(world, g.graph(), 2); });
        for (const std::string& error : errors)
            QVERIFY2(error.find("Gather \"picked\"") != std::string::npos, error.c_str());
    }

    void aGraphThatDiffersIsFound() {
        const ThereAndBack made;
        GraphMaker other;
        const NodeId x = other.node("Full", "x", "cpu", {{"shape", Ints{1000}}, {"value", 4.0}});
        other.node("Probe", "seen", "rank1/cuda:0", {}, {other.node("To", "there", "rank1/cuda:0", {}, {x})});
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            runPart(world, world->rank() == 0 ? made.g.graph() : other.graph());
        });
        for (const std::string& error : errors)
            QVERIFY2(error.starts_with("rank 1 would not run the same graph as rank 0: Full \"x\""),
                     error.c_str());
    }

    void whatCannotBeDividedIsRefused() {
        // A rank that does not take part.
        GraphMaker far;
        far.lane("rank3/cpu");
        QCOMPARE(refusalOf([&] { requireRanks(far.graph(), *makeSimulatedWorld("2:pcie")); },
                           ErrorCode::missingDevice),
                 std::string("the graph has a lane of rank 3, but this run has ranks 0 to 1; start it with 4 "
                             "ranks, or set the lane to a device of another rank"));
        requireRanks(far.graph(), *makeSimulatedWorld("4:pcie"));
        requireRanks(far.graph(), *aloneWorld()); // it simulates the others

        // A copy by the policy, as the file names the devices, whichever rank says it.
        GraphMaker implicit;
        const NodeId x = implicit.node("Ones", "x", "cpu", {{"shape", Ints{4}}});
        implicit.node("Neg", "neg", "rank1/cpu", {}, {x});
        for (const int rank : {0, 1}) {
            const Graph seen = asSeenBy(rank, implicit.graph());
            const Analysis analysis = analyze(seen, simulatedRanks(2), Policy::implicit, nullptr);
            QCOMPARE(refusalOf([&] { requireParts(seen, analysis, rank); }, ErrorCode::badGraph),
                     std::string("x is on cpu and read on rank1/cpu: between ranks, the policy makes no "
                                 "copies; insert a To"));
        }
    }
};

TWB_TEST_MAIN(TestRankLanes)
#include "test_rank_lanes.moc"
