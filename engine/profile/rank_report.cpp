#include "profile/rank_report.h"

#include "core/format.h"
#include "core/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace twb {
namespace {

std::uint64_t wireBytesOf(const RankReport& report, const CollectiveLog& call) {
    return call.calls == 0 ? 0 : wireBytes(call.kind, call.bytes, report.world.size);
}

/// Of the calls in its iterations.
std::set<std::string> labelsOfCalls(const Plan& plan) {
    std::set<std::string> out;
    for (const Step& step : plan.steps)
        if (plan.isCollective(step) && !step.setup) out.insert(step.label);
    return out;
}

std::string samplesOf(const RankPace& rank) {
    return rank.samplesPerSecond > 0 ? fmt::format("{:.0f}", rank.samplesPerSecond) : "";
}

/// Of ranks of which at least one is modelled.
std::string modelledTable(const std::vector<RankPace>& ranks) {
    using enum TextTable::Align;
    TextTable table({right, right, right, left}, 2);
    table.add({"rank", "iteration", "samples/s", ""});
    table.addRule();
    for (std::size_t i = 0; i < ranks.size(); ++i)
        table.add({std::to_string(i), formatMs(ranks[i].iterationNs), samplesOf(ranks[i]),
                   ranks[i].isModelled ? "modelled" : "measured"});
    return table.toString();
}

} // namespace

int RankReport::slowestOf(const std::vector<RankPace>& ranks) noexcept {
    if (isModelled(ranks)) return -1;
    const auto slowest = std::ranges::max_element(ranks, {}, &RankPace::ownNs);
    return slowest == ranks.end() ? -1 : static_cast<int>(slowest - ranks.begin());
}

bool RankReport::isModelled(const std::vector<RankPace>& ranks) noexcept {
    return std::ranges::any_of(ranks, &RankPace::isModelled);
}

double rowsOfBatch(const Plan& plan) {
    for (const Step& step : plan.steps) {
        if (!step.op || step.op->name != "Batches" || step.outputs.empty()) continue;
        const TensorType& rows = plan.values[step.outputs.front()].type;
        return rows.isKnown() && rows.shape.rank() > 0 ? static_cast<double>(rows.shape[0]) : 0;
    }
    return 0;
}

RankReport reportRanks(World& world, RankPace own, const Plan& plan) {
    RankReport out;
    out.world = world.info();
    const std::vector<CollectiveLog> log = world.log();
    out.waits = findWaits(world, log);
    if (!out.world.simulated) {
        const std::set<std::string> labels = labelsOfCalls(plan);
        std::int64_t waited = 0;
        for (std::size_t i = 0; i < out.waits.size(); ++i)
            if (labels.contains(log[i].label))
                // A rank that receives a message can do no more than wait for it.
                waited += log[i].kind == CollectiveKind::receive ? log[i].ns : out.waits[i].ownNs;
        if (own.iterations > 0) own.waitNs = static_cast<double>(waited) / own.iterations;
        const std::array<double, 6> mine{own.iterationNs,
                                         own.iterations,
                                         own.samplesPerSecond,
                                         own.waitNs,
                                         plan.virtualClock ? 1.0 : 0.0,
                                         static_cast<double>(world.clockErrorNs())};
        std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
        world.run({CollectiveKind::allGather, Reduction::sum, DType::f64, mine.data(), all.data(),
                   static_cast<std::int64_t>(mine.size()), 0, "pace"});
        for (std::size_t at = 0; at < all.size(); at += mine.size())
            out.ranks.push_back(
                {all[at], all[at + 1], all[at + 2], all[at + 3], all[at + 4] != 0, all[at + 5]});
        if (RankReport::isModelled(out.ranks))
            for (RankPace& rank : out.ranks) rank.waitNs = rank.clockErrorNs = 0;
    }
    out.calls = world.log(); // with the call that has found the waits
    out.waits.resize(out.calls.size());
    return out;
}

nlohmann::ordered_json toJson(const std::vector<RankPace>& ranks) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const RankPace& rank : ranks) {
        nlohmann::ordered_json row{{"rank", out.size()},
                                   {"modelled", rank.isModelled},
                                   {"iteration_ms", rank.iterationNs / 1e6},
                                   {"iterations", rank.iterations},
                                   {"samples_per_s", nullptr}};
        if (rank.samplesPerSecond > 0) row["samples_per_s"] = rank.samplesPerSecond;
        if (!RankReport::isModelled(ranks)) {
            row["wait_ms"] = rank.waitNs / 1e6;
            row["clock_error_ms"] = rank.clockErrorNs / 1e6;
            row["slowest"] = static_cast<int>(out.size()) == RankReport::slowestOf(ranks);
        }
        out.push_back(std::move(row));
    }
    return out;
}

std::vector<RankPace> pacesFrom(const nlohmann::json& ranks) {
    std::vector<RankPace> out;
    for (const auto& rank : ranks) {
        RankPace pace;
        pace.iterationNs = rank.at("iteration_ms").get<double>() * 1e6;
        pace.iterations = rank.at("iterations");
        pace.isModelled = rank.value("modelled", false);
        pace.waitNs = rank.value("wait_ms", 0.0) * 1e6; // only where all ranks are measured
        pace.clockErrorNs = rank.value("clock_error_ms", 0.0) * 1e6;
        if (const auto& samples = rank.at("samples_per_s"); samples.is_number())
            pace.samplesPerSecond = samples;
        out.push_back(pace);
    }
    return out;
}

nlohmann::ordered_json toJson(const RankReport& report) {
    nlohmann::ordered_json calls = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < report.calls.size(); ++i) {
        const CollectiveLog& call = report.calls[i];
        nlohmann::ordered_json row{{"kind", name(call.kind)},
                                   {"label", call.label},
                                   {"count", call.calls},
                                   {"bytes", call.bytes},
                                   {"wire_bytes", wireBytesOf(report, call)},
                                   {"total_ms", toMs(call.ns)},
                                   {"waited_for", nullptr},
                                   {"wait_ms", nullptr}};
        if (const CollectiveWait& wait = report.waits[i]; wait.rank >= 0) {
            row["waited_for"] = wait.rank;
            row["wait_ms"] = toMs(wait.ownNs);
        }
        calls.push_back(std::move(row));
    }
    nlohmann::ordered_json out{{"world", report.world.name},
                               {"rank", report.world.rank},
                               {"size", report.world.size},
                               {"modelled", report.world.simulated},
                               {"calls", std::move(calls)}};
    if (!report.ranks.empty()) out["each"] = toJson(report.ranks);
    return out;
}

std::string toTable(const RankReport& report) {
    using enum TextTable::Align;
    TextTable table({left, left, right, right, right, right, left}, 2);
    table.add({"call", "of", "count", "bytes", "sent at least", "time", "waited for"});
    table.addRule();
    for (std::size_t i = 0; i < report.calls.size(); ++i) {
        const CollectiveLog& call = report.calls[i];
        const CollectiveWait& wait = report.waits[i];
        table.add({std::string(name(call.kind)), call.label, std::to_string(call.calls),
                   formatExactBytes(call.bytes), formatExactBytes(wireBytesOf(report, call)),
                   formatMs(static_cast<double>(call.ns)),
                   wait.rank < 0
                       ? ""
                       : fmt::format("rank {}, {}", wait.rank, formatMs(static_cast<double>(wait.ownNs)))});
    }
    if (report.ranks.empty()) return table.toString();
    if (RankReport::isModelled(report.ranks)) return table.toString() + "\n" + modelledTable(report.ranks);
    TextTable ranks({right, right, right, right, right, left}, 2);
    ranks.add({"rank", "iteration", "own time", "waiting", "samples/s", ""});
    ranks.addRule();
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
        const RankPace& rank = report.ranks[i];
        ranks.add({std::to_string(i), formatMs(rank.iterationNs), formatMs(rank.ownNs()),
                   formatMs(rank.waitNs), samplesOf(rank),
                   static_cast<int>(i) == report.slowest() ? "slowest" : ""});
    }
    return table.toString() + "\n" + ranks.toString();
}

} // namespace twb
