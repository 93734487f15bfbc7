#include "profile/rank_report.h"

#include "core/format.h"
#include "core/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace twb {
namespace {

std::uint64_t wireBytesOf(const RankReport& report, const CollectiveLog& call) {
    return call.calls == 0 ? 0 : wireBytes(call.kind, call.bytes, report.world.size);
}

} // namespace

int RankReport::slowestOf(const std::vector<RankPace>& ranks) noexcept {
    const auto slowest = std::ranges::max_element(ranks, {}, &RankPace::ownNs);
    return slowest == ranks.end() ? -1 : static_cast<int>(slowest - ranks.begin());
}

RankReport reportRanks(World& world, RankPace own) {
    RankReport out;
    out.world = world.info();
    out.waits = findWaits(world, world.log());
    if (!out.world.simulated) {
        std::int64_t waited = 0;
        for (const CollectiveWait& wait : out.waits) waited += wait.ownNs;
        if (own.iterations > 0) own.waitNs = static_cast<double>(waited) / own.iterations;
        const std::array<double, 4> mine{own.iterationNs, own.iterations, own.samplesPerSecond, own.waitNs};
        std::vector<double> all(mine.size() * static_cast<std::size_t>(world.size()));
        world.run({CollectiveKind::allGather, Reduction::sum, DType::f64, mine.data(), all.data(),
                   static_cast<std::int64_t>(mine.size()), 0, "pace"});
        for (std::size_t at = 0; at < all.size(); at += mine.size())
            out.ranks.push_back({all[at], all[at + 1], all[at + 2], all[at + 3]});
    }
    out.calls = world.log(); // with the call that has found the waits
    out.waits.resize(out.calls.size());
    return out;
}

nlohmann::ordered_json toJson(const std::vector<RankPace>& ranks) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const RankPace& rank : ranks) {
        out.push_back({{"rank", out.size()},
                       {"iteration_ms", rank.iterationNs / 1e6},
                       {"iterations", rank.iterations},
                       {"wait_ms", rank.waitNs / 1e6},
                       {"samples_per_s", nullptr},
                       {"slowest", static_cast<int>(out.size()) == RankReport::slowestOf(ranks)}});
        if (rank.samplesPerSecond > 0) out.back()["samples_per_s"] = rank.samplesPerSecond;
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
    TextTable ranks({right, right, right, right, right, left}, 2);
    ranks.add({"rank", "iteration", "without waiting", "waiting", "samples/s", ""});
    ranks.addRule();
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
        const RankPace& rank = report.ranks[i];
        ranks.add({std::to_string(i), formatMs(rank.iterationNs), formatMs(rank.ownNs()),
                   formatMs(rank.waitNs),
                   rank.samplesPerSecond > 0 ? fmt::format("{:.0f}", rank.samplesPerSecond) : "",
                   static_cast<int>(i) == report.slowest() ? "slowest" : ""});
    }
    return table.toString() + "\n" + ranks.toString();
}

} // namespace twb
