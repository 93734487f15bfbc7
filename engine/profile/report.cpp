#include "profile/report.h"

#include "core/whole_number.h"
#include "ops/collectives.h"
#include "profile/profiles.h"
#include "profile/rank_report.h"
#include "profile/report_parts.h"
#include "profile/transfer_figures.h"

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <set>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name(ErrorCode code) noexcept {
    switch (code) {
    case ErrorCode::invalidArgument:
        return "invalid-argument";
    case ErrorCode::badGraph:
        return "bad-graph";
    case ErrorCode::badFile:
        return "bad-file";
    case ErrorCode::io:
        return "io";
    case ErrorCode::outOfMemory:
        return "out-of-memory";
    case ErrorCode::unsupported:
        return "unsupported";
    case ErrorCode::missingDevice:
        return "missing-device";
    case ErrorCode::cancelled:
        return "cancelled";
    case ErrorCode::failed:
        return "failed";
    }
    return {};
}

/// JSON has no NaN and no infinities.
Json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

std::string text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

Json toJson(PortRef port) { return {{"node", value(port.node)}, {"port", port.port}}; }

Json toJson(const Price& price) {
    if (!price.isKnown) return nullptr;
    return {{"bytes", price.bytes}, {"ms", toMs(price.ns)}, {"modelled", price.modelled}};
}

Json toJson(const Diagnostic& diagnostic, const Graph* graph) {
    Json out{{"severity", name(diagnostic.severity)}, {"code", diagnostic.code}};
    if (diagnostic.node != NodeId::none) {
        out["node"] = value(diagnostic.node);
        if (const Node* node = graph ? graph->find(diagnostic.node) : nullptr) {
            out["name"] = node->name;
            if (node->source)
                out["source"] = {{"file", node->source->file},
                                 {"line", node->source->line},
                                 {"function", node->source->function}};
        }
    }
    if (diagnostic.root != NodeId::none) out["root"] = value(diagnostic.root);
    if (diagnostic.price.isKnown) out["price"] = toJson(diagnostic.price);
    if (diagnostic.port >= 0) out["port"] = diagnostic.port;
    if (diagnostic.edge)
        out["edge"] = {{"from", toJson(diagnostic.edge->from)}, {"to", toJson(diagnostic.edge->to)}};
    out["message"] = diagnostic.message;
    Json& operands = out["operands"] = Json::array();
    for (const Operand& o : diagnostic.operands)
        operands.push_back({{"argument", o.argument},
                            {"label", o.label},
                            {"device", o.device.toString()},
                            {"origin", o.origin}});
    Json& fixes = out["fixes"] = Json::array();
    for (const Fix& fix : diagnostic.fixes)
        fixes.push_back({{"title", fix.title}, {"price", toJson(fix.price)}});
    return out;
}

Json toJson(const std::vector<Diagnostic>& diagnostics, const Graph* graph) {
    Json out = Json::array();
    for (const Diagnostic& diagnostic : diagnostics) out.push_back(toJson(diagnostic, graph));
    return out;
}

Json profileOf(const DeviceProfile& profile) {
    return {{"id", profile.id},
            {"name", profile.name},
            {"link", profile.link},
            {"source", profile.source},
            {"known_error", errorsJson(profile)}};
}

/// A figure, or null if it has no meaning.
Json figure(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json devicesOf(const RunReport& report) {
    Json out = Json::array();
    for (const Device device : report.plan->devices.devices()) {
        const DeviceInfo& info = report.plan->devices.at(device).info();
        Json row{{"device", device.toString()},
                 {"name", info.name},
                 {"detail", info.detail},
                 {"simulated", info.simulated},
                 {"profile", profileOf(report.plan->devices.at(device).profile())},
                 {"planned_bytes", report.plan->bytesOn(device, report.result.requested)}};
        if (const std::string remark = report.plan->devices.remark(device); !remark.empty())
            row["remark"] = remark;
        for (const auto& [owner, memory] : report.result.memory) {
            if (owner != device) continue;
            row["used_bytes"] = memory.used;
            row["peak_bytes"] = memory.peak;
            row["total_bytes"] = memory.total;
        }
        out.push_back(std::move(row));
    }
    return out;
}

Json stepsOf(const RunReport& report) {
    const Plan& plan = *report.plan;
    Json out = Json::array();
    for (const Step& step : plan.steps) {
        const PlanStream& stream = plan.streams[step.stream];
        Json row{{"node", value(step.node)},
                 {"label", step.label},
                 {"op", step.op ? step.op->name : "copy"},
                 {"device", stream.device.toString()},
                 {"stream", stream.label},
                 {"setup", step.setup}};
        if (!step.members.empty()) {
            row["members"] = Json::array();
            for (const NodeId node : step.members) row["members"].push_back(value(node));
        }
        if (report.steps) {
            const StepTimes::Row& times = report.steps->rows()[step.index];
            row["state"] = name(times.state);
            row["count"] = times.count;
            row["median_ms"] = toMs(times.times.quantile(0.5));
            row["p95_ms"] = toMs(times.times.quantile(0.95));
            row["last_ms"] = toMs(times.lastNs);
            row["total_ms"] = toMs(times.totalNs);
        }
        row["predicted_ms"] = toMs(step.predictedNs);
        row["modelled"] = isModelled(plan, step);
        out.push_back(std::move(row));
    }
    return out;
}

/// What all calls of a collective transfer send. Sizes that only the run knows are not in the plan.
std::uint64_t wireBytesOf(const Plan& plan, std::size_t transfer, const TransferFigures& figures) {
    if (const std::uint64_t planned = plan.transfers[transfer].wireBytes; planned > 0)
        return planned * figures.count;
    const int ranks = plan.devices.world().size();
    for (const Step& step : plan.steps)
        if (step.transfer == transfer && step.op && figures.count > 0)
            return wireBytes(collectiveLoad(*step.op, {}, ranks).kind, figures.bytes, ranks);
    return 0;
}

Json transfersOf(const RunReport& report) {
    const Plan& plan = *report.plan;
    Json out = Json::array();
    const std::vector<TransferFigures> allFigures = figuresOf(plan, report.ledger, report.timeline);
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
        const Transfer& transfer = plan.transfers[i];
        const TransferFigures& figures = allFigures[i];
        Json row{{"label", transfer.label},
                 {"kind", name(figures.kind)},
                 {"from", toJson(transfer.from)},
                 {"to", toJson(transfer.to)},
                 {"source", transfer.source.toString()},
                 {"target", transfer.target.toString()},
                 {"setup", figures.setup},
                 {"pinned", figures.pinned}};
        const bool isCollective = figures.kind == TransferKind::collective;
        if (isCollective) row["wire_bytes"] = wireBytesOf(plan, i, figures);
        if (report.ledger) {
            row["count"] = figures.count;
            row["bytes"] = figures.bytes;
            row["last_ms"] = toMs(figures.lastNs);
            row["min_ms"] = toMs(figures.minNs);
            row["median_ms"] = toMs(figures.medianNs);
            row["p95_ms"] = toMs(figures.p95Ns);
            row["total_ms"] = toMs(figures.totalNs);
            row["wait_ms"] = figures.waitNs ? Json(toMs(*figures.waitNs)) : Json(nullptr);
            row["gb_per_s"] = figures.count > 0 ? figures.gbPerSecond() : 0;
        }
        row["predicted_ms"] = toMs(figures.predictedNs);
        row["modelled"] = figures.modelled;
        const bool isBetweenRanks = isCollective || !figures.link.empty();
        row["direction"] = isBetweenRanks ? "between-ranks" : name(figures.direction);
        if (!figures.link.empty()) row["link"] = figures.link;
        row["link_peak_gb_per_s"] = figure(figures.linkPeakGBps);
        row["of_link_peak_percent"] = figure(figures.ofPeakPercent);
        row["queue_wait_ms"] = figures.queueWaitNs ? Json(toMs(*figures.queueWaitNs)) : Json(nullptr);
        row["overlapped_percent"] = figure(figures.overlapPercent);
        row["prediction_error_percent"] = figure(figures.errorPercent);
        out.push_back(std::move(row));
    }
    return out;
}

Json probesOf(const RunReport& report) {
    Json out = Json::array();
    for (const ProbeValue& probe : report.probes) {
        Json row{{"name", probe.name}, {"type", probe.type}, {"elements", probe.elements}};
        if (probe.elements == 1) {
            row["value"] = probe.digits.empty() ? number(probe.value) : Json::parse(probe.digits);
        } else if (probe.elements > 1) {
            row["min"] = number(probe.minimum);
            row["max"] = number(probe.maximum);
            row["mean"] = number(probe.mean);
            row["nan"] = probe.notANumber;
        }
        out.push_back(std::move(row));
    }
    return out;
}

Json errorsOf(const RunReport& report) {
    Json out = Json::array();
    for (const StepError& error : report.result.errors)
        out.push_back({{"node", value(error.node)},
                       {"label", error.step == kNone ? std::string() : report.plan->steps[error.step].label},
                       {"code", name(error.code)},
                       {"message", error.message}});
    return out;
}

} // namespace

std::string_view name(RunStatus status) noexcept {
    switch (status) {
    case RunStatus::finished:
        return "finished";
    case RunStatus::failed:
        return "failed";
    case RunStatus::cancelled:
        return "cancelled";
    }
    return {};
}

bool isModelled(const Plan& plan, const Step& step) {
    if (step.transfer != kNone) return plan.transfers[step.transfer].modelled;
    return plan.virtualClock && plan.devices.isSimulated(plan.streams[step.stream].device);
}

ProbeValue probe(std::string name, const Tensor& tensor) {
    ProbeValue out;
    out.name = std::move(name);
    out.type = tensor.type().toString();
    out.elements = tensor.elementCount();
    if (out.elements == 1 && holdsIntegers(tensor.dtype())) out.digits = wholeNumberAt(tensor, 0).toString();
    double sum = 0;
    std::int64_t numbers = 0;
    for (std::int64_t i = 0; i < out.elements; ++i) {
        const double value = tensor.at(i);
        if (i == 0) out.value = value;
        if (std::isnan(value)) {
            ++out.notANumber;
            continue;
        }
        out.minimum = numbers == 0 ? value : std::min(out.minimum, value);
        out.maximum = numbers == 0 ? value : std::max(out.maximum, value);
        sum += value;
        ++numbers;
    }
    const double nan = std::nan("");
    if (numbers == 0) out.minimum = out.maximum = nan;
    out.mean = numbers == 0 ? nan : sum / static_cast<double>(numbers);
    return out;
}

std::string dateNow() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::vector<RunInputFile> inputFiles(const Plan& plan) {
    std::vector<RunInputFile> out;
    std::set<std::string> paths;
    for (const Step& step : plan.steps) {
        if (!step.op || step.op->role == OpRole::sink || !plan.files) continue;
        for (const AttributeSpec& spec : step.op->attributes)
            if (const auto* path = step.attributes.find(spec.name); path && spec.type == AttributeType::file)
                paths.insert(toString(*path));
    }
    for (const std::string& path : paths)
        if (!path.empty()) out.push_back({path, plan.files->fingerprint(path)});
    return out;
}

std::string toJson(const RunReport& report) {
    Json out{{"schema", kReportSchema},
             {"file", report.file},
             {"policy", report.policy},
             {"allow_tf32", report.allowTf32},
             {"status", name(report.result.status)},
             {"iterations", report.result.iterations},
             {"clock", report.plan->virtualClock ? "modelled" : "measured"},
             {"wall_ms", toMs(report.result.wallNs)},
             {"clock_ms", toMs(report.result.clockNs)},
             {"setup_ms", toMs(report.result.setupNs)}};
    if (!report.date.empty()) out["date"] = report.date;
    if (!report.host.empty()) out["host"] = report.host;
    if (report.graph && !report.graph->info().title.empty()) out["title"] = report.graph->info().title;
    if (report.result.prepareNs > 0) out["prepare_ms"] = toMs(report.result.prepareNs);
    if (const ReplayCounts& graphs = report.result.replayed; graphs.graphs + graphs.refused > 0)
        out["cuda_graphs"] = {{"graphs", graphs.graphs},
                              {"launches", graphs.launches},
                              {"replays", graphs.replays},
                              {"refused", graphs.refused}};
    if (report.timeline && report.timeline->iterations().count() > 0) {
        const Histogram& iterations = report.timeline->iterations();
        out["iteration_ms"] = {{"median", toMs(iterations.quantile(0.5))},
                               {"p95", toMs(iterations.quantile(0.95))},
                               {"count", iterations.count()}};
    }
    out["devices"] = devicesOf(report);
    out["steps"] = stepsOf(report);
    out["transfers"] = transfersOf(report);
    if (report.ranks) out["ranks"] = twb::toJson(*report.ranks);
    out["probes"] = probesOf(report);
    if (report.timeline) {
        out["timeline"] = timelineToJson(*report.timeline, *report.plan);
        out["memory"] = memoryToJson(*report.timeline, *report.plan);
    }
    if (report.graph) out["graph"] = graphToJson(*report.graph, *report.plan);
    Json& inputs = out["inputs"] = Json::array();
    for (const RunInputFile& file : report.inputs)
        inputs.push_back({{"path", file.path}, {"fingerprint", file.fingerprint}});
    out["errors"] = errorsOf(report);
    out["diagnostics"] = toJson(report.diagnostics, nullptr);
    return text(out);
}

std::string diagnosticsToJson(const std::string& file, const std::vector<Diagnostic>& diagnostics,
                              const Graph& graph) {
    const auto count = [&](Severity severity) {
        return std::count_if(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& d) {
            return d.severity == severity && d.root == NodeId::none;
        });
    };
    return text({{"schema", kReportSchema},
                 {"file", file},
                 {"errors", count(Severity::error)},
                 {"warnings", count(Severity::warning)},
                 {"diagnostics", toJson(diagnostics, &graph)}});
}

} // namespace twb
