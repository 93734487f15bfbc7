#include "profile/report_diff.h"

#include "core/format.h"
#include "profile/saved_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace twb {
namespace {

using Json = nlohmann::json;

/// The key by which a row is found in the other report.
using Key = std::string;

std::string endText(const Json& end) {
    return fmt::format("{}.{}", end.at("node").get<std::uint64_t>(), end.at("port").get<int>());
}

/// Rows by key. A second row with the same key gets a key of its own.
template <class KeyOf>
std::map<Key, const Json*> indexed(const Json& rows, std::vector<Key>& order, const KeyOf& keyOf) {
    std::map<Key, const Json*> out;
    for (const Json& row : rows) {
        std::string key = keyOf(row);
        if (key.empty()) continue;
        while (!out.try_emplace(key, &row).second) key += "'";
        order.push_back(key);
    }
    return out;
}

std::optional<TimePair> timesOf(const Json& before, const Json& after, const char* median, const char* p95) {
    if (before.value("count", std::int64_t{0}) == 0 || after.value("count", std::int64_t{0}) == 0)
        return std::nullopt;
    TimePair out;
    out.before = before.at(median);
    out.after = after.at(median);
    out.spread = std::max(before.at(p95).get<double>() - out.before, after.at(p95).get<double>() - out.after);
    out.once = std::min(before.at("count").get<std::int64_t>(), after.at("count").get<std::int64_t>()) < 3;
    out.beforeModelled = before.value("modelled", false);
    out.afterModelled = after.value("modelled", false);
    return out;
}

/// The transfers of a report, each with the bytes that it moves per iteration, or once if it is outside. In a
/// body, a transfer makes several copies per iteration.
Json transfersOf(const Json& report) {
    // Of a run that failed, the last iteration is not whole.
    const bool isWhole = report.at("status") == "finished";
    const auto iterations = isWhole ? report.value("iterations", std::uint64_t{0}) : std::uint64_t{0};
    Json out = report.at("transfers");
    for (Json& row : out) {
        const bool isSetup = row.at("setup");
        const std::uint64_t times =
            isSetup || iterations == 0 ? row.value("count", std::uint64_t{0}) : iterations;
        row["bytes"] = times == 0 ? 0 : row.value("bytes", std::uint64_t{0}) / times;
    }
    return out;
}

template <class KeyOf, class Fill>
std::vector<ReportChange> changesOf(const Json& before, const Json& after, const KeyOf& keyOf,
                                    const Fill& fill) {
    std::vector<Key> order;
    const auto old = indexed(before, order, keyOf);
    const auto now = indexed(after, order, keyOf);
    std::vector<ReportChange> out;
    std::map<Key, bool> seen;
    for (const Key& key : order) {
        if (std::exchange(seen[key], true)) continue;
        const auto a = old.find(key);
        const auto b = now.find(key);
        ReportChange change;
        change.label = (b != now.end() ? b : a)->second->at("label");
        change.setup = (b != now.end() ? b : a)->second->at("setup");
        if (a != old.end()) fill(*a->second, change.from, change.bytesBefore);
        if (b != now.end()) fill(*b->second, change.to, change.bytesAfter);
        if (a == old.end()) {
            change.kind = ReportChange::Kind::added;
        } else if (b == now.end()) {
            change.kind = ReportChange::Kind::removed;
        } else {
            change.time = timesOf(*a->second, *b->second, "median_ms", "p95_ms");
            const bool moved = change.from != change.to || change.bytesBefore != change.bytesAfter;
            const bool timed = change.time && (!change.time->isComparable() || change.time->isChanged());
            if (moved || timed) change.kind = ReportChange::Kind::changed;
        }
        out.push_back(std::move(change));
    }
    return out;
}

std::map<std::string, std::string> devicesOf(const Json& report) {
    std::map<std::string, std::string> out;
    for (const Json& device : report.at("devices")) {
        const std::string detail = device.at("detail");
        out[device.at("device")] =
            device.at("name").get<std::string>() + (detail.empty() ? "" : ", " + detail);
    }
    return out;
}

std::optional<TimePair> iterationOf(const Json& before, const Json& after) {
    const auto row = [](const Json& report) {
        Json out{{"count", 0}, {"modelled", report.at("clock") == "modelled"}};
        const auto iterations = report.at("iterations").get<std::int64_t>();
        if (report.contains("iteration_ms")) {
            out.update(report["iteration_ms"]);
        } else if (iterations > 0) { // a report of an older version
            const double each = report.at("clock_ms").get<double>() / static_cast<double>(iterations);
            out.update(Json{{"count", iterations}, {"median", each}, {"p95", each}});
        }
        return out;
    };
    return timesOf(row(before), row(after), "median", "p95");
}

void addRemarks(const Json& report, const std::string& file, std::vector<std::string>& remarks) {
    if (report.at("status") != "finished")
        remarks.push_back(fmt::format("{} reports a run that {}", file,
                                      report.at("status") == "failed" ? "failed" : "was cancelled"));
    if (report.at("clock") == "measured" && report.at("iterations").get<int>() < 20)
        remarks.push_back(fmt::format("{} has only {}, too few to compare measured times", file,
                                      counted(report.at("iterations").get<std::uint64_t>(), "iteration")));
}

} // namespace

bool TimePair::isChanged() const noexcept {
    const double apart = std::abs(after - before);
    if (beforeModelled) return apart > std::max(spread, 1e-3 * std::max(before, after));
    // Two runs of the same graph differ by up to a tenth.
    return !once && apart > std::max(spread, 0.1 * before);
}

std::string_view name(ReportChange::Kind kind) noexcept {
    switch (kind) {
    case ReportChange::Kind::same:
        return "same";
    case ReportChange::Kind::changed:
        return "changed";
    case ReportChange::Kind::added:
        return "added";
    case ReportChange::Kind::removed:
        return "removed";
    }
    return {};
}

ReportDiff compareReports(std::string_view before, const std::string& beforeName, std::string_view after,
                          const std::string& afterName) {
    const Json a = parseReport(before, beforeName);
    const Json b = parseReport(after, afterName);
    return withReport(beforeName + " or " + afterName, [&] {
        ReportDiff out;
        out.before = beforeName;
        out.after = afterName;
        const auto old = devicesOf(a);
        const auto now = devicesOf(b);
        for (const auto& [device, is] : old) {
            const auto other = now.find(device);
            if (other == now.end())
                out.devices.push_back(fmt::format("{} is no longer used", device));
            else if (other->second != is)
                out.devices.push_back(fmt::format("{} is {} instead of {}", device, other->second, is));
        }
        for (const auto& [device, is] : now)
            if (!old.contains(device)) out.devices.push_back(fmt::format("{} is new: {}", device, is));
        addRemarks(a, beforeName, out.remarks);
        addRemarks(b, afterName, out.remarks);

        const auto betweenPorts = [](const Json& row) {
            return fmt::format("{} {} {}", endText(row.at("from")), endText(row.at("to")),
                               row.at("setup").get<bool>());
        };
        out.transfers = changesOf(transfersOf(a), transfersOf(b), betweenPorts,
                                  [](const Json& row, std::string& place, std::uint64_t& bytes) {
                                      place = row.at("source").get<std::string>() + " → " +
                                              row.at("target").get<std::string>();
                                      bytes = row.at("bytes");
                                  });
        for (const ReportChange& change : out.transfers) {
            (change.setup ? out.setupBytesBefore : out.bytesBefore) += change.bytesBefore;
            (change.setup ? out.setupBytesAfter : out.bytesAfter) += change.bytesAfter;
        }
        const auto byNode = [](const Json& row) {
            const std::string op = row.at("op");
            return op == "copy" ? std::string()
                                : fmt::format("{} {}", row.at("node").get<std::uint64_t>(), op);
        };
        out.steps =
            changesOf(a.at("steps"), b.at("steps"), byNode,
                      [](const Json& row, std::string& place, std::uint64_t&) { place = row.at("device"); });
        out.iteration = iterationOf(a, b);
        return out;
    });
}

} // namespace twb
