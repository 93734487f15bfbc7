#include "core/format.h"
#include "core/text_table.h"
#include "profile/report.h"
#include "profile/report_diff.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;
using enum TextTable::Align;

/// "+50 %", "new" from nothing, "gone" to nothing.
std::string growth(double before, double after) {
    if (before == after) return "";
    if (before == 0) return "new";
    if (after == 0) return "gone";
    return fmt::format("{:+.1f} %", 100 * (after / before - 1));
}

std::string ms(double value) { return formatMs(value * 1e6); }

/// The growth of a time, or the reason why it is not compared.
std::string verdict(const TimePair& time) {
    if (!time.isComparable())
        return fmt::format("not compared: {} against {}", time.beforeModelled ? "modelled" : "measured",
                           time.afterModelled ? "modelled" : "measured");
    const std::string label = time.beforeModelled ? "modelled" : "measured";
    if (time.once && !time.beforeModelled) return "too few measurements to compare";
    if (time.isWithinNoise()) return label + ", within noise";
    const std::string grown = growth(time.before, time.after);
    return grown.empty() ? label + ", the same" : grown + " " + label;
}

std::string totals(const ReportDiff& diff) {
    TextTable table({left, right, right, left}, 2);
    table.add({"", "before", "after", ""});
    table.addRule();
    const auto bytes = [&](const char* what, std::uint64_t before, std::uint64_t after) {
        table.add({what, formatExactBytes(before), formatExactBytes(after),
                   growth(static_cast<double>(before), static_cast<double>(after))});
    };
    bytes("moved per iteration", diff.bytesBefore, diff.bytesAfter);
    bytes("moved before the iterations", diff.setupBytesBefore, diff.setupBytesAfter);
    if (diff.iteration)
        table.add({"one iteration", ms(diff.iteration->before), ms(diff.iteration->after),
                   verdict(*diff.iteration)});
    return table.toString();
}

std::string changes(const char* title, const std::vector<ReportChange>& rows, bool withBytes) {
    TextTable table(withBytes ? std::vector{left, left, left, right, right, right, right, left}
                              : std::vector{left, left, left, right, right, left},
                    2);
    std::vector<std::string> head{withBytes ? "transfer" : "step", "change", "devices"};
    if (withBytes) head.insert(head.end(), {"bytes before", "after"});
    head.insert(head.end(), {"median before", "after", ""});
    table.add(head);
    table.addRule();
    std::size_t same = 0;
    for (const ReportChange& change : rows) {
        if (change.kind == ReportChange::Kind::same) {
            ++same;
            continue;
        }
        std::string where = change.from;
        if (change.kind == ReportChange::Kind::added)
            where = change.to;
        else if (change.kind == ReportChange::Kind::changed && change.from != change.to)
            where = change.from + " ⇒ " + change.to;
        std::vector<std::string> row{change.label + (change.setup ? " (setup)" : ""),
                                     std::string(name(change.kind)), where};
        if (withBytes) {
            row.push_back(formatExactBytes(change.bytesBefore));
            row.push_back(formatExactBytes(change.bytesAfter));
        }
        row.push_back(change.time ? ms(change.time->before) : "–");
        row.push_back(change.time ? ms(change.time->after) : "–");
        row.push_back(change.time ? verdict(*change.time) : "");
        table.add(std::move(row));
    }
    std::string out = fmt::format("\n{}\n", title);
    if (same < rows.size()) out += table.toString();
    return out + fmt::format("  {} of {} unchanged\n", same, rows.size());
}

Json toJson(const std::optional<TimePair>& time) {
    if (!time) return nullptr;
    return {{"before", time->before},
            {"after", time->after},
            {"before_modelled", time->beforeModelled},
            {"after_modelled", time->afterModelled},
            {"comparable", time->isComparable()},
            {"changed", time->isComparable() && time->isChanged()},
            {"within_noise", time->isWithinNoise()}};
}

Json toJson(const std::vector<ReportChange>& rows, bool withBytes) {
    Json out = Json::array();
    for (const ReportChange& change : rows) {
        Json row{{"change", name(change.kind)},
                 {"label", change.label},
                 {"from", change.from},
                 {"to", change.to},
                 {"setup", change.setup}};
        if (withBytes) row["bytes"] = {{"before", change.bytesBefore}, {"after", change.bytesAfter}};
        row["ms"] = toJson(change.time);
        out.push_back(std::move(row));
    }
    return out;
}

} // namespace

std::vector<std::string> exceeded(const ReportDiff& diff, const GrowthLimits& limits) {
    std::vector<std::string> out;
    const auto passes = [](double before, double after, double percent) {
        return before == 0 ? after > 0 : after > before * (1 + percent / 100) * (1 + 1e-12);
    };
    const auto bytes = [&](const char* when, std::uint64_t before, std::uint64_t after) {
        if (passes(static_cast<double>(before), static_cast<double>(after), *limits.transferBytes))
            out.push_back(fmt::format("the bytes moved {} grew from {} to {}, by more than {:g} %", when,
                                      formatExactBytes(before), formatExactBytes(after),
                                      *limits.transferBytes));
    };
    if (limits.transferBytes) {
        bytes("per iteration", diff.bytesBefore, diff.bytesAfter);
        bytes("before the iterations", diff.setupBytesBefore, diff.setupBytesAfter);
    }
    if (limits.time) {
        if (!diff.iteration)
            out.emplace_back("the times cannot be compared: one of the runs completed no iteration");
        else if (!diff.iteration->isComparable())
            out.push_back(fmt::format(
                "the times cannot be compared: the times of {} are {}, those of {} are {}; run both with "
                "the same --device-map",
                diff.before, diff.iteration->beforeModelled ? "modelled" : "measured", diff.after,
                diff.iteration->afterModelled ? "modelled" : "measured"));
        else if (passes(diff.iteration->before, diff.iteration->after, *limits.time))
            out.push_back(fmt::format("one iteration takes {} instead of {}, more than {:g} % longer ({}{})",
                                      ms(diff.iteration->after), ms(diff.iteration->before), *limits.time,
                                      diff.iteration->beforeModelled ? "modelled" : "measured",
                                      diff.iteration->isWithinNoise()
                                          ? "; the difference is within the spread of single iterations"
                                          : ""));
    }
    return out;
}

std::string toText(const ReportDiff& diff) {
    std::string out = fmt::format("{} ⇒ {}\n", printable(diff.before), printable(diff.after));
    for (const std::string& sentence : diff.devices) out += "  " + printable(sentence) + '\n';
    for (const std::string& sentence : diff.remarks) out += "  note: " + printable(sentence) + '\n';
    return out + '\n' + totals(diff) + changes("Transfers", diff.transfers, true) +
           changes("Steps", diff.steps, false);
}

std::string toJson(const ReportDiff& diff, const std::vector<std::string>& exceeded) {
    const Json out{{"schema", kReportSchema},
                   {"before", diff.before},
                   {"after", diff.after},
                   {"devices", diff.devices},
                   {"remarks", diff.remarks},
                   {"bytes", {{"before", diff.bytesBefore}, {"after", diff.bytesAfter}}},
                   {"setup_bytes", {{"before", diff.setupBytesBefore}, {"after", diff.setupBytesAfter}}},
                   {"iteration_ms", toJson(diff.iteration)},
                   {"transfers", toJson(diff.transfers, true)},
                   {"steps", toJson(diff.steps, false)},
                   {"exceeded", exceeded}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

} // namespace twb
