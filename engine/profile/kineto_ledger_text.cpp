#include "core/format.h"
#include "core/text_table.h"
#include "profile/csv.h"
#include "profile/kineto_ledger.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;
using enum TextTable::Align;

constexpr std::size_t kMostRows = 20;

std::string ms(std::int64_t ns) { return formatMs(static_cast<double>(ns)); }

double percent(std::int64_t part, std::int64_t whole) {
    return twb::percent(static_cast<double>(part), static_cast<double>(whole));
}
std::string share(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? fmt::format("{:.0f} %", percent(part, whole)) : "–";
}

std::string deviceText(std::uint32_t device) { return fmt::format("cuda:{}", device); }

/// A kernel's name without its types and arguments: "void at::native::copy<float>(int)" is
/// "at::native::copy".
std::string shortName(const std::string& name) {
    if (name.size() <= 40) return name;
    std::string_view text = name;
    if (text.starts_with("void ")) text.remove_prefix(5);
    std::string out;
    int depth = 0;
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i).starts_with(kAnonymous)) {
            i += kAnonymous.size() - 1;
            continue;
        }
        if (text[i] == '(' && depth == 0) break;
        if (text[i] == '<') ++depth;
        if (depth == 0) out += text[i];
        if (text[i] == '>') --depth;
    }
    return out;
}

std::string placeText(const std::string& line, const std::string& op) {
    if (!line.empty()) return line;
    return op.empty() ? "(no op)" : shortName(op);
}

std::string directionText(CopyKind kind) {
    switch (kind) {
    case CopyKind::hostToDevice:
        return "host→device";
    case CopyKind::deviceToHost:
        return "device→host";
    case CopyKind::withinDevice:
        return "within device";
    case CopyKind::peer:
        return "device→device";
    case CopyKind::hostToHost:
        return "host→host";
    case CopyKind::unknown:
        break;
    }
    return "unknown";
}

std::string causeText(IdleCause cause) {
    switch (cause) {
    case IdleCause::sync:
        return "CPU in a synchronisation";
    case IdleCause::copy:
        return "CPU in a blocking copy";
    case IdleCause::memory:
        return "CPU allocating or freeing memory";
    case IdleCause::dataLoading:
        return "CPU loading data";
    case IdleCause::ops:
        return "CPU running ops";
    case IdleCause::python:
        return "CPU running no op (Python)";
    case IdleCause::launch:
        return "launch latency";
    case IdleCause::queued:
        return "between queued kernels";
    case IdleCause::unknown:
        break;
    }
    return "unknown: launch not in the trace";
}

std::string movedText(const KinetoTransfer& row) {
    return row.sized < row.count ? row.sized == 0 ? "unknown" : ">= " + formatExactBytes(row.bytes)
                                 : formatExactBytes(row.bytes);
}

/// Adds the first rows and a line that counts the others.
template <class Rows, class Add>
void addRows(std::string& out, TextTable& table, const Rows& rows, const Add& add) {
    table.addRule();
    for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) add(rows[i]);
    out += table.toString();
    if (rows.size() > kMostRows)
        out += fmt::format("  … and {} shorter ones; --json and --csv have all\n", rows.size() - kMostRows);
}

void addTransfers(std::string& out, const KinetoLedger& ledger) {
    if (ledger.transfers.empty()) {
        out += "\nNo transfers.\n";
        return;
    }
    out += "\nTransfers\n";
    TextTable table({left, left, left, left, right, right, right, right, right, right, left}, 2);
    table.add({"at", "op", "direction", "memory", "count", "moved", "time", "rate", "hidden", "CPU waited",
               "next on the stream"});
    addRows(out, table, ledger.transfers, [&](const KinetoTransfer& row) {
        const auto rate = row.gbPerSecond();
        table.add({placeText(row.line, {}), shortName(row.op),
                   directionText(row.kind) + (ledger.devices.size() > 1 ? " " + deviceText(row.device) : ""),
                   row.memory == HostMemory::none ? "–" : std::string(name(row.memory)),
                   std::to_string(row.count), movedText(row), ms(row.totalNs),
                   rate ? formatRate(*rate) : "unknown", share(row.hiddenNs, row.totalNs), ms(row.cpuWaitNs),
                   row.waiter.empty() ? "–" : shortName(row.waiter)});
    });
    std::uint64_t unsized = 0;
    std::uint64_t fromCalls = 0;
    for (const KinetoTransfer& row : ledger.transfers) {
        unsized += row.count - row.sized;
        fromCalls += row.fromCalls;
    }
    if (fromCalls > 0)
        out += fmt::format(
            "  The trace does not record the bytes of {}; they are taken from the calls that launched the "
            "copies.\n",
            counted(fromCalls, "copy", "copies"));
    if (unsized > 0)
        out +=
            fmt::format("  The trace does not record the bytes of {}.\n", counted(unsized, "copy", "copies"));
}

void addSyncs(std::string& out, const KinetoLedger& ledger) {
    if (ledger.syncs.empty()) return;
    out += "\nSynchronisations\n";
    TextTable table({left, left, left, right, right, right}, 2);
    table.add({"at", "op", "call", "count", "time", "GPU worked"});
    addRows(out, table, ledger.syncs, [&](const KinetoSync& row) {
        table.add({placeText(row.line, {}), shortName(row.op), row.call, std::to_string(row.count),
                   ms(row.totalNs), share(row.busyNs, row.totalNs)});
    });
}

void addIdle(std::string& out, const KinetoLedger& ledger) {
    for (const KinetoDevice& device : ledger.devices) {
        if (device.idle.empty()) continue;
        out += fmt::format("\nIdle time of {}\n", deviceText(device.device));
        std::map<IdleCause, std::int64_t> byCause;
        for (const KinetoIdle& row : device.idle) byCause[row.cause] += row.totalNs;
        std::vector<std::pair<IdleCause, std::int64_t>> causes(byCause.begin(), byCause.end());
        std::stable_sort(causes.begin(), causes.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        TextTable table({left, right, right, left}, 2);
        table.add({"cause", "time", "share", "longest before"});
        addRows(out, table, causes, [&](const std::pair<IdleCause, std::int64_t>& cause) {
            const auto longest =
                std::find_if(device.idle.begin(), device.idle.end(),
                             [&](const KinetoIdle& row) { return row.cause == cause.first; });
            table.add({causeText(cause.first), ms(cause.second),
                       share(cause.second, device.spanNs - device.busyNs),
                       fmt::format("{} ({})",
                                   longest->line.empty() ? shortName(longest->op)
                                                         : shortName(longest->op) + " at " + longest->line,
                                   ms(longest->totalNs))});
        });
    }
}

Json optionalText(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

} // namespace

std::string toText(const KinetoLedger& ledger) {
    std::string out =
        fmt::format("{}: {}, {}", ledger.file, counted(ledger.events, "event"), ms(ledger.spanNs));
    if (ledger.steps > 0) out += ", " + counted(ledger.steps, "step");
    out += "; all times measured by PyTorch's profiler\n\nDevices\n";
    TextTable table({left, left, right, right, right, right, right}, 2);
    table.add({"device", "is", "used for", "kernels", "kernel time", "busy", "idle"});
    table.addRule();
    for (const KinetoDevice& device : ledger.devices)
        table.add({deviceText(device.device), device.name.empty() ? "unknown" : device.name,
                   ms(device.spanNs), std::to_string(device.kernels), ms(device.kernelNs),
                   share(device.busyNs, device.spanNs), ms(device.spanNs - device.busyNs)});
    out += ledger.devices.empty() ? "  No GPU took part.\n" : table.toString();
    addTransfers(out, ledger);
    addSyncs(out, ledger);
    addIdle(out, ledger);
    if (ledger.activities > 0)
        out += fmt::format("\nMatched {} of {} GPU activities to their launch, and {} of them to an op.\n",
                           ledger.launchesFound, ledger.activities, ledger.launchesInOps);
    if (ledger.linesAreFunctions)
        out += "Line numbers are those where the Python functions begin; this kind of trace has no others.\n";
    return out;
}

std::string toJson(const KinetoLedger& ledger) {
    Json devices = Json::array();
    for (const KinetoDevice& device : ledger.devices) {
        Json idle = Json::array();
        for (const KinetoIdle& row : device.idle)
            idle.push_back({{"cause", name(row.cause)},
                            {"before_line", optionalText(row.line)},
                            {"before_op", optionalText(row.op)},
                            {"count", row.count},
                            {"total_ms", toMs(row.totalNs)}});
        devices.push_back({{"device", deviceText(device.device)},
                           {"name", optionalText(device.name)},
                           {"span_ms", toMs(device.spanNs)},
                           {"busy_ms", toMs(device.busyNs)},
                           {"idle_ms", toMs(device.spanNs - device.busyNs)},
                           {"kernels", device.kernels},
                           {"kernel_ms", toMs(device.kernelNs)},
                           {"idle", std::move(idle)}});
    }
    Json transfers = Json::array();
    for (const KinetoTransfer& row : ledger.transfers) {
        const auto rate = row.gbPerSecond();
        transfers.push_back(
            {{"line", optionalText(row.line)},
             {"op", optionalText(row.op)},
             {"device", deviceText(row.device)},
             {"direction", name(row.kind)},
             {"memory", row.memory == HostMemory::none ? Json(nullptr) : Json(name(row.memory))},
             {"count", row.count},
             {"bytes", row.sized == row.count ? Json(row.bytes) : Json(nullptr)},
             {"known_bytes", row.bytes},
             {"bytes_from_calls", row.fromCalls},
             {"total_ms", toMs(row.totalNs)},
             {"median_ms", row.times.quantile(0.5) / 1e6},
             {"p95_ms", row.times.quantile(0.95) / 1e6},
             {"gb_per_s", rate ? Json(*rate) : Json(nullptr)},
             {"hidden_percent", percent(row.hiddenNs, row.totalNs)},
             {"cpu_wait_ms", toMs(row.cpuWaitNs)},
             {"next_on_stream", optionalText(row.waiter)}});
    }
    Json syncs = Json::array();
    for (const KinetoSync& row : ledger.syncs)
        syncs.push_back({{"call", row.call},
                         {"line", optionalText(row.line)},
                         {"op", optionalText(row.op)},
                         {"count", row.count},
                         {"total_ms", toMs(row.totalNs)},
                         {"gpu_busy_ms", toMs(row.busyNs)}});
    const Json out{{"schema", 1},
                   {"file", ledger.file},
                   {"events", ledger.events},
                   {"span_ms", toMs(ledger.spanNs)},
                   {"steps", ledger.steps},
                   {"lines", ledger.linesAreFunctions ? "functions" : "statements"},
                   {"devices", std::move(devices)},
                   {"transfers", std::move(transfers)},
                   {"syncs", std::move(syncs)},
                   {"joined",
                    {{"activities", ledger.activities},
                     {"with_launch", ledger.launchesFound},
                     {"with_op", ledger.launchesInOps}}},
                   {"faulty_events", ledger.faultyEvents},
                   {"problems", ledger.problems}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string toCsv(const KinetoLedger& ledger) {
    std::string out =
        csvLine({"line", "op", "device", "direction", "memory", "count", "bytes", "total_ms", "median_ms",
                 "p95_ms", "gb_per_s", "hidden_percent", "cpu_wait_ms", "next_on_stream"});
    const auto number = [](double value) { return fmt::format("{}", value); };
    for (const KinetoTransfer& row : ledger.transfers) {
        const auto rate = row.gbPerSecond();
        out += csvLine({row.line, row.op, deviceText(row.device), std::string(name(row.kind)),
                        row.memory == HostMemory::none ? "" : std::string(name(row.memory)),
                        std::to_string(row.count), row.sized == row.count ? std::to_string(row.bytes) : "",
                        number(toMs(row.totalNs)), number(row.times.quantile(0.5) / 1e6),
                        number(row.times.quantile(0.95) / 1e6), rate ? number(*rate) : "",
                        number(percent(row.hiddenNs, row.totalNs)), number(toMs(row.cpuWaitNs)), row.waiter});
    }
    return out;
}

} // namespace twb
