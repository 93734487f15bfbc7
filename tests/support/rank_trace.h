#pragma once

#include "placement/analysis.h"
#include "profile/rank_report.h"
#include "profile/trace.h"
#include "runtime/plan.h"
#include "support/ranks.h"

#include <QFile>

#include <sstream>

namespace twb::test {

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
        std::ostringstream text;
        const auto errors = onRanks(2, [&](const std::shared_ptr<World>& world) {
            const auto made = plan(world);
            TraceRecorder recorder(made);
            for (std::uint32_t i = 0; i < iterations; ++i) recorder.add(records(*made, world->rank(), i));
            std::ostringstream part;
            const double count = iterations;
            recorder.writeTogether(part, *world, 0, {{5000, count, 20, 2000}, {5000, count, 20, 0}});
            if (world->rank() == 0) text << part.str();
        });
        for (const std::string& error : errors)
            if (!error.empty()) qFatal("%s", error.c_str());
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(path));
        file.write(QByteArray::fromStdString(text.str()));
    }

    GraphMaker maker;
    NodeId work{};
    NodeId sum{};
};

} // namespace twb::test
