#include "core/format.h"
#include "core/text_table.h"
#include "profile/rank_report.h"
#include "profile/report.h"
#include "profile/transfer_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

using enum TextTable::Align;

std::string clockOf(bool modelled) { return modelled ? "modelled" : "measured"; }

/// The text for a missing figure.
constexpr const char* kNoFigure = "–";

std::string heading(const std::string& title, bool color) {
    return color ? "\n\x1b[1m" + title + "\x1b[0m\n" : '\n' + title + '\n';
}

/// "37 %"; with a sign if `plus` is set, "+12 %".
std::string percent(const std::optional<double>& value, std::string_view plus = {}) {
    if (!value) return kNoFigure;
    return fmt::format("{}{:.0f} %", *value >= 0.5 ? plus : "", *value);
}

std::string summary(const RunReport& report) {
    const RunResult& result = report.result;
    std::string out = fmt::format("{}: {}, {} iteration{}", printable(report.file), name(result.status),
                                  result.iterations, result.iterations == 1 ? "" : "s");
    if (result.iterations > 0)
        out += fmt::format(
            ", {} each ({})",
            formatMs(static_cast<double>(result.clockNs) / static_cast<double>(result.iterations)),
            clockOf(report.plan->virtualClock));
    if (result.prepareNs > 0)
        out += fmt::format(" · kernels compiled in {}", formatMs(static_cast<double>(result.prepareNs)));
    if (const ReplayCounts& graphs = result.replayed; graphs.replays > 0)
        out += fmt::format(" · {} CUDA graphs launched {} times", graphs.graphs, graphs.replays);
    out +=
        fmt::format(" · setup {}, run {} on this machine{}\n", formatMs(static_cast<double>(result.setupNs)),
                    formatMs(static_cast<double>(result.wallNs)), report.allowTf32 ? " · TF32 allowed" : "");
    return out;
}

std::string devices(const RunReport& report, bool color) {
    TextTable table({left, left, left, right, right}, 2);
    table.add({"device", "hardware", "timing", "planned", "peak"});
    table.addRule();
    for (const Device device : report.plan->devices.devices()) {
        const DeviceInfo& info = report.plan->devices.at(device).info();
        std::string peak = kNoFigure;
        for (const auto& [owner, memory] : report.result.memory)
            if (owner == device) peak = formatBytes(static_cast<double>(memory.peak));
        table.add({device.toString(), info.detail.empty() ? info.name : info.name + ", " + info.detail,
                   clockOf(info.simulated),
                   formatBytes(static_cast<double>(report.plan->bytesOn(device, report.result.requested))),
                   peak});
    }
    return heading("Devices", color) + table.toString();
}

std::string steps(const RunReport& report, bool color) {
    const Plan& plan = *report.plan;
    TextTable table({left, left, left, left, right, right, right, left}, 2);
    table.add({"step", "op", "device", "state", "count", "median", "p95", ""});
    table.addRule();
    for (const Step& step : plan.steps) {
        if (step.transfer != kNone) continue;
        std::vector<std::string> row{step.label, step.op ? step.op->name : "copy",
                                     plan.streams[step.stream].device.toString()};
        const StepTimes::Row* times = report.steps ? &report.steps->rows()[step.index] : nullptr;
        row.emplace_back(name(times ? times->state : StepState::pending));
        if (times && times->count > 0) {
            row.push_back(std::to_string(times->count));
            row.push_back(formatMs(times->times.quantile(0.5)));
            row.push_back(formatMs(times->times.quantile(0.95)));
            row.push_back(clockOf(isModelled(plan, step)) + (step.setup ? ", setup" : ""));
        } else {
            row.insert(row.end(), {"0", kNoFigure, kNoFigure, step.setup ? "setup" : ""});
        }
        table.add(std::move(row));
    }
    return heading("Steps", color) + table.toString();
}

std::string transfers(const RunReport& report, bool color) {
    const Plan& plan = *report.plan;
    if (plan.transfers.empty())
        return heading("Transfers", color) + "  none: every tensor is where it is used\n";
    TextTable table(
        {left, left, right, right, right, right, right, right, right, right, right, right, left, left}, 2);
    table.add({"transfer", "kind", "count", "moved", "median", "p95", "rate", "of peak", "waited", "overlap",
               "predicted", "error", "memory", ""});
    table.addRule();
    const std::vector<TransferFigures> allFigures = figuresOf(plan, report.ledger, report.timeline);
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
        const TransferFigures& figures = allFigures[i];
        std::vector<std::string> row{plan.transfers[i].label, std::string(name(figures.kind))};
        if (figures.direction == CopyDirection::peer && figures.link.empty()) row.back() += ", peer";
        if (figures.count > 0) {
            row.push_back(std::to_string(figures.count));
            row.push_back(formatExactBytes(figures.bytes));
            row.push_back(formatMs(figures.medianNs));
            row.push_back(formatMs(figures.p95Ns));
            row.push_back(formatRate(figures.gbPerSecond()));
            row.push_back(percent(figures.ofPeakPercent));
            row.push_back(figures.queueWaitNs ? formatMs(*figures.queueWaitNs) : kNoFigure);
            row.push_back(percent(figures.overlapPercent));
        } else {
            row.insert(row.end(), {"0", "0 B"});
            row.insert(row.end(), 6, kNoFigure);
        }
        // Messages and calls of real ranks have no prediction.
        row.push_back(figures.predictedNs > 0 ? formatMs(figures.predictedNs) : kNoFigure);
        row.push_back(percent(figures.errorPercent, "+"));
        row.emplace_back(!figures.link.empty() ? figures.link : figures.pinned ? "pinned" : "pageable");
        row.push_back(clockOf(figures.modelled) + (figures.setup ? ", setup" : ""));
        table.add(std::move(row));
    }
    return heading("Transfers", color) + table.toString();
}

std::string probes(const RunReport& report, bool color) {
    if (report.probes.empty()) return {};
    TextTable table({left, left, left}, 2);
    for (const ProbeValue& probe : report.probes) {
        std::string seen = "no elements";
        if (probe.elements == 1)
            seen = probe.digits.empty() ? formatNumber(probe.value) : probe.digits;
        else if (probe.elements > 1)
            seen = fmt::format("min {}  max {}  mean {}", formatNumber(probe.minimum),
                               formatNumber(probe.maximum), formatNumber(probe.mean));
        if (probe.elements > 1 && probe.notANumber > 0) seen += fmt::format("  nan {}", probe.notANumber);
        table.add({probe.name, seen, probe.type});
    }
    return heading("Probes", color) + table.toString();
}

std::string errors(const RunReport& report, bool color) {
    if (report.result.errors.empty()) return {};
    std::string out = heading("Errors", color);
    for (const StepError& error : report.result.errors) out += "  " + printable(error.message) + '\n';
    return out;
}

} // namespace

std::string toTable(const RunReport& report, bool color) {
    return summary(report) + devices(report, color) + steps(report, color) + transfers(report, color) +
           (report.ranks ? heading("Ranks", color) + twb::toTable(*report.ranks) : std::string()) +
           probes(report, color) + errors(report, color);
}

} // namespace twb
