#pragma once

#include "graph/rank_lanes.h"
#include "placement/analysis.h"
#include "profile/rank_report.h"
#include "profile/trace.h"
#include "runtime/plan.h"
#include "support/ranks.h"

#include <QFile>

#include <array>
#include <functional>
#include <sstream>

namespace twb::test {

/// Writes the trace of two ranks with these plans, and with these records of each iteration. Rank 1's run
/// starts 7 ms after that of rank 0.
inline void writeJointTrace(
    const QString& path, std::uint32_t iterations,
    const std::function<std::shared_ptr<const Plan>(const std::shared_ptr<World>&)>& planOf,
    const std::function<std::vector<StepRecord>(const Plan&, int rank, std::uint32_t iteration)>& recordsOf) {
    std::ostringstream text;
    const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
        const auto plan = planOf(world);
        TraceRecorder recorder(plan);
        for (std::uint32_t i = 0; i < iterations; ++i) recorder.add(recordsOf(*plan, world->rank(), i));
        std::ostringstream part;
        const double count = iterations;
        const double own = plan->virtualClock ? 1 : 0;
        std::array<double, 2> areModelled{};
        world->run(
            {CollectiveKind::allGather, Reduction::sum, DType::f64, &own, areModelled.data(), 1, 0, "pace"});
        std::vector<RankPace> paces{{5000, count, 20, 2000}, {5000, count, 20, 0}};
        for (std::size_t rank = 0; rank < paces.size(); ++rank)
            paces[rank].isModelled = areModelled[rank] > 0;
        recorder.writeTogether(part, *world, world->rank() * 7'000'000, paces);
        if (world->rank() == 0) text << part.str();
    });
    for (const std::string& error : errors)
        if (!error.empty()) qFatal("%s", error.c_str());
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(path));
    file.write(QByteArray::fromStdString(text.str()));
}

/// Two ranks that sum a tensor in each iteration. Rank 1 computes 3 µs before the call, rank 0 only 1 µs, and
/// waits.
struct RankJob {
    RankJob() {
        const NodeId x = maker.node("Full", "x", "cpu", {{"shape", std::vector<std::int64_t>{4}}});
        work = maker.node("Neg", "work", "cpu", {}, {x});
        sum = maker.node("AllReduce", "sum", "cpu", {}, {work});
        maker.node("Probe", "seen", "cpu", {}, {sum});
    }

    std::shared_ptr<const Plan> plan(const std::shared_ptr<World>& world) const {
        DeviceMap devices;
        devices.setWorld(world);
        return compile(maker.graph(), analyze(maker.graph(), devices, Policy::strict, nullptr), devices,
                       nullptr, {.fuse = false});
    }
    /// The steps of one iteration of a rank, which starts at 5 µs times `iteration`.
    std::vector<StepRecord> records(const Plan& of, int rank, std::uint32_t iteration) const {
        const std::int64_t own = rank == 0 ? 1000 : 3000;
        const std::int64_t start = std::int64_t{iteration} * 5000;
        std::vector<StepRecord> out;
        for (const Step& step : of.steps) {
            if (step.node == work)
                out.push_back({step.index, iteration, StepState::done, start, start + own, {}, 0});
            if (step.node == sum)
                out.push_back({step.index, iteration, StepState::done, start + own, start + 4000, {}, 16});
        }
        return out;
    }
    void writeTrace(const QString& path, std::uint32_t iterations) const {
        writeJointTrace(
            path, iterations, [&](const std::shared_ptr<World>& world) { return plan(world); },
            [&](const Plan& of, int rank, std::uint32_t i) { return records(of, rank, i); });
    }

    GraphMaker maker;
    NodeId work{};
    NodeId sum{};
};

/// x on rank 0, its square on rank 1's simulated GPU or another lane, and their difference on rank 0 again.
/// Each rank computes its nodes. A step takes 1 µs, and one of rank 1 2 µs; an iteration takes 50 µs.
struct DividedJob {
    explicit DividedJob(const std::string& other = "rank1/cuda:0") {
        x = maker.node("Full", "x", "cpu", {{"shape", std::vector<std::int64_t>{100}}, {"value", 3.0}});
        there = maker.node("To", "there", other, {}, {x});
        product = maker.node("Mul", "product", other, {}, {there, there});
        back = maker.node("To", "back", "cpu", {}, {product});
        difference = maker.node("Sub", "difference", "cpu", {}, {back, x});
        maker.node("Probe", "seen", "cpu", {}, {difference});
    }

    std::shared_ptr<const Plan> plan(const std::shared_ptr<World>& world) const {
        const Graph seen = asSeenBy(world->rank(), maker.graph());
        DeviceMap devices = simulatedRanks(2);
        devices.setWorld(world);
        CompileOptions options;
        options.ownPart = true;
        return compile(seen, analyze(seen, devices, Policy::strict, nullptr), devices, nullptr, options);
    }
    static std::vector<StepRecord> records(const Plan& plan, int rank, std::uint32_t iteration) {
        std::vector<StepRecord> out;
        std::int64_t start = std::int64_t{iteration} * 50'000;
        for (const Step& step : plan.steps) {
            if (step.setup && iteration > 0) continue;
            const std::int64_t end = start + 1000 * (rank + 1);
            out.push_back({step.index, iteration, StepState::done, start, end, {}, 0});
            start = end;
        }
        return out;
    }
    void writeTrace(const QString& path, std::uint32_t iterations) const {
        writeJointTrace(
            path, iterations, [&](const std::shared_ptr<World>& world) { return plan(world); }, records);
    }

    GraphMaker maker;
    NodeId x{};
    NodeId there{};
    NodeId product{};
    NodeId back{};
    NodeId difference{};
};

} // namespace twb::test
