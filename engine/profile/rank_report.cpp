#include "profile/rank_report.h"

#include "core/format.h"
#include "core/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twb {
namespace {

std::uint64_t wireBytesOf(const RankReport& report, const CollectiveLog& call) {
    return call.calls == 0 ? 0 : wireBytes(call.kind, call.bytes, report.world.size);
}

} // namespace

RankReport reportRanks(World& world) {
    RankReport out;
    out.world = world.info();
    out.waits = findWaits(world, world.log());
    out.calls = world.log(); // with the call that has found the waits
    out.waits.resize(out.calls.size());
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
    return {{"world", report.world.name},
            {"rank", report.world.rank},
            {"size", report.world.size},
            {"modelled", report.world.simulated},
            {"calls", std::move(calls)}};
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
    return table.toString();
}

} // namespace twb
