#include "profile/overlay.h"

#include "core/format.h"
#include "core/text_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMost = 12; ///< rows of a list on the terminal

std::string shapeText(const Shape& shape) {
    Json out = Json::array();
    for (const std::int64_t dim : shape.dims()) out.push_back(dim);
    return out.dump();
}

CopyKind kindOf(const Transfer& transfer) {
    if (transfer.source.isCpu()) return CopyKind::hostToDevice;
    return transfer.target.isCpu() ? CopyKind::deviceToHost : CopyKind::peer;
}

/// "net.py:11", without folders and function, as both sides may shorten paths differently.
std::string placeOf(const std::optional<SourceLine>& line) {
    return line ? fmt::format("{}:{}", std::filesystem::path(line->file).filename().string(), line->line)
                : std::string();
}

class Matcher {
public:
    Matcher(const Graph& graph, const Plan& plan, const TracedOps& traced)
        : m_graph(graph), m_plan(plan), m_traced(traced), m_isTaken(traced.ops.size()),
          m_hasOp(plan.steps.size()) {}

    Overlay match() {
        m_out.profiler = m_traced.profiler;
        m_out.device = m_traced.device;
        m_out.problems = m_traced.problems;
        m_out.spanNs = m_traced.spanNs;
        m_out.transfers = m_plan.transfers.size();
        matchNames();
        const bool hasShapes = std::any_of(m_traced.ops.begin(), m_traced.ops.end(),
                                           [](const TracedOp& op) { return !op.shape.empty(); });
        matchKeys(hasShapes, true);
        matchKeys(hasShapes, false);
        matchCopies();
        for (const Step& step : m_plan.steps) {
            if (!computes(step)) continue;
            ++m_out.steps;
            if (!m_hasOp[step.index]) m_out.unmatched.push_back(step.index);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            const TracedOp& op = m_traced.ops[i];
            m_out.opsNs += op.ns;
            if (m_isTaken[i]) {
                m_out.matchedNs += op.ns;
                continue;
            }
            Overlay::OtherOp& other = m_out.otherOps[op.name];
            ++other.count;
            other.ns += op.ns;
        }
        return std::move(m_out);
    }

private:
    /// Sinks such as Probe are this program's own; no framework runs them.
    static bool computes(const Step& step) {
        return step.op && step.transfer == kNone && !step.setup && !step.outputs.empty();
    }

    void take(std::size_t at, const Step& step, std::int64_t ns) {
        m_isTaken[at] = true;
        m_hasOp[step.index] = true;
        std::uint32_t& count = m_counts[step.index];
        StepRecord record;
        record.step = step.index;
        record.iteration = count++;
        record.state = StepState::done;
        record.startNs = m_traced.ops[at].startNs;
        record.endNs = record.startNs + ns;
        if (step.transfer != kNone) record.bytes = m_plan.transfers[step.transfer].bytes;
        m_out.iterations = std::max<std::uint64_t>(m_out.iterations, count);
        m_out.records.push_back(record);
    }

    /// ONNX Runtime keeps the names of nodes; "fused fc1" is fc1 together with its successor.
    void matchNames() {
        std::map<std::string, const Step*> steps;
        std::set<std::string> twice;
        for (const Step& step : m_plan.steps) {
            const Node* node = m_graph.find(step.node);
            if (!computes(step) || !node || node->name.empty()) continue;
            if (!steps.try_emplace(node->name, &step).second) twice.insert(node->name);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            std::string name = m_traced.ops[i].name;
            if (name.starts_with("fused ")) name.erase(0, 6);
            const auto found = steps.find(name);
            if (found != steps.end() && !twice.contains(name)) take(i, *found->second, m_traced.ops[i].ns);
        }
    }

    void matchKeys(bool withShapes, bool withLines) {
        using Key = std::array<std::string, 3>;
        std::map<Key, std::pair<std::vector<const Step*>, std::vector<std::size_t>>> groups;
        for (const Step& step : m_plan.steps) {
            if (!computes(step) || m_hasOp[step.index]) continue;
            const Node* node = m_graph.find(step.node);
            const std::string place = withLines && node ? placeOf(node->source) : std::string();
            if (withLines && place.empty()) continue;
            std::string shape;
            if (withShapes && !step.inputs.empty() && step.inputs.front() != kNone)
                shape = shapeText(m_plan.values[step.inputs.front()].type.shape);
            groups[{canonicalOp(step.op->name), shape, place}].first.push_back(&step);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            if (m_isTaken[i]) continue;
            const TracedOp& op = m_traced.ops[i];
            const std::string place = withLines ? placeOf(parseSourceLine(op.line)) : std::string();
            if (withLines && place.empty()) continue;
            const auto found = groups.find({op.kind, withShapes ? op.shape : "", place});
            if (found != groups.end()) found->second.second.push_back(i);
        }
        for (const auto& [key, group] : groups) takeInTurn(group.first, group.second, &TracedOp::ns);
    }

    void matchCopies() {
        std::map<std::pair<CopyKind, std::uint64_t>,
                 std::pair<std::vector<const Step*>, std::vector<std::size_t>>>
            groups;
        for (const Step& step : m_plan.steps) {
            if (step.transfer == kNone) continue;
            const Transfer& transfer = m_plan.transfers[step.transfer];
            if (transfer.bytes > 0) groups[{kindOf(transfer), transfer.bytes}].first.push_back(&step);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            const TracedOp& op = m_traced.ops[i];
            if (m_isTaken[i] || op.copyNs <= 0) continue;
            const auto found = groups.find({op.copy, op.copyBytes});
            if (found != groups.end()) found->second.second.push_back(i);
        }
        for (const auto& [key, group] : groups)
            if (takeInTurn(group.first, group.second, &TracedOp::copyNs))
                m_out.matchedTransfers += group.first.size();
    }

    /// Matches the ops with the steps in turn. Does nothing if they are not a multiple of the steps.
    bool takeInTurn(const std::vector<const Step*>& steps, const std::vector<std::size_t>& ops,
                    std::int64_t TracedOp::*ns) {
        if (ops.empty() || ops.size() % steps.size() != 0) return false;
        for (std::size_t i = 0; i < ops.size(); ++i)
            take(ops[i], *steps[i % steps.size()], m_traced.ops[ops[i]].*ns);
        return true;
    }

    const Graph& m_graph;
    const Plan& m_plan;
    const TracedOps& m_traced;
    std::vector<bool> m_isTaken; ///< by op of the profile
    std::vector<bool> m_hasOp;   ///< by step
    std::map<std::uint32_t, std::uint32_t> m_counts;
    Overlay m_out;
};

/// A row of the report: a measured one names the profiler, another one loses what a run would have filled in.
void mark(Json& row, const std::string& profiler) {
    const bool isMeasured = row.value("count", 0) > 0;
    row["measured_by"] = isMeasured ? Json(profiler) : Json(nullptr);
    if (isMeasured) {
        row["modelled"] = false;
        return;
    }
    for (const char* key : {"state", "count", "bytes", "last_ms", "min_ms", "median_ms", "p95_ms", "total_ms",
                            "wait_ms", "gb_per_s"})
        row.erase(key);
}

double toMs(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
double share(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? 100 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::vector<std::pair<std::string, Overlay::OtherOp>>
longestFirst(const std::map<std::string, Overlay::OtherOp>& ops) {
    std::vector<std::pair<std::string, Overlay::OtherOp>> out(ops.begin(), ops.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    return out;
}

} // namespace

Overlay overlay(const Graph& graph, const Plan& plan, const TracedOps& traced) {
    return Matcher(graph, plan, traced).match();
}

std::string toJson(const Overlay& overlay, const std::string& trace, RunReport report) {
    StepTimes times(report.plan);
    times.add(overlay.records);
    Ledger ledger(report.plan);
    ledger.add(overlay.records);
    report.steps = &times;
    report.ledger = &ledger;
    report.result.iterations = static_cast<std::int64_t>(overlay.iterations);
    report.result.wallNs = overlay.spanNs;
    report.result.clockNs = overlay.spanNs;
    Json out = Json::parse(toJson(report));
    out["clock"] = "measured";
    for (Json& row : out["steps"]) mark(row, overlay.profiler);
    for (Json& row : out["transfers"]) {
        mark(row, overlay.profiler);
        // The link of the profile's figures is not that of the measured device.
        row["of_link_peak_percent"] = nullptr;
        const double predicted = row.at("predicted_ms");
        if (row.contains("median_ms") && predicted > 0)
            row["prediction_error_percent"] = 100 * (row["median_ms"].get<double>() - predicted) / predicted;
    }
    Json nodes = Json::array();
    for (const std::uint32_t step : overlay.unmatched) nodes.push_back(report.plan->steps[step].label);
    Json others = Json::array();
    for (const auto& [name, other] : longestFirst(overlay.otherOps))
        others.push_back({{"name", name}, {"count", other.count}, {"total_ms", toMs(other.ns)}});
    out["overlay"] = {{"trace", trace},
                      {"profiler", overlay.profiler},
                      {"device", overlay.device.empty() ? Json(nullptr) : Json(overlay.device)},
                      {"steps", overlay.steps},
                      {"matched_steps", overlay.matchedSteps()},
                      {"transfers", overlay.transfers},
                      {"matched_transfers", overlay.matchedTransfers},
                      {"ops_ms", toMs(overlay.opsNs)},
                      {"matched_ops_ms", toMs(overlay.matchedNs)},
                      {"unmatched_steps", std::move(nodes)},
                      {"unmatched_ops", std::move(others)}};
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string toText(const Overlay& overlay, const std::string& trace, const Plan& plan) {
    std::string out =
        fmt::format("{}: {} of {} steps and {} of {} transfers have a time measured by {}{}; these are "
                    "{:.0f} % of the profile's op time\n",
                    trace, overlay.matchedSteps(), overlay.steps, overlay.matchedTransfers, overlay.transfers,
                    overlay.profiler, overlay.device.empty() ? "" : " on " + overlay.device,
                    share(overlay.matchedNs, overlay.opsNs));
    struct Row {
        std::uint32_t step = 0;
        std::int64_t ns = 0;
        std::uint64_t count = 0;
    };
    std::map<std::uint32_t, Row> rows;
    for (const StepRecord& record : overlay.records) {
        Row& row = rows[record.step];
        row.step = record.step;
        row.ns += record.endNs - record.startNs;
        ++row.count;
    }
    std::vector<Row> longest;
    for (const auto& [step, row] : rows) longest.push_back(row);
    std::stable_sort(longest.begin(), longest.end(), [](const Row& a, const Row& b) { return a.ns > b.ns; });
    using enum TextTable::Align;
    TextTable table({left, left, right, right, right}, 2);
    table.add({"step", "op", "count", "measured, mean", "modelled"});
    table.addRule();
    for (std::size_t i = 0; i < std::min(longest.size(), kMost); ++i) {
        const Row& row = longest[i];
        const Step& step = plan.steps[row.step];
        table.add({step.label, step.op ? step.op->name : "copy", std::to_string(row.count),
                   formatMs(static_cast<double>(row.ns) / static_cast<double>(row.count)),
                   formatMs(step.predictedNs)});
    }
    if (!longest.empty()) out += '\n' + table.toString();
    if (longest.size() > kMost) out += fmt::format("  … and {} shorter ones\n", longest.size() - kMost);
    const auto list = [&out](const std::string& head, const std::vector<std::string>& names) {
        if (names.empty()) return;
        out += '\n' + head + '\n';
        for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
            out += "  " + printable(names[i]) + '\n';
        if (names.size() > kMost) out += fmt::format("  … and {} more\n", names.size() - kMost);
    };
    std::vector<std::string> names;
    for (const std::uint32_t step : overlay.unmatched)
        names.push_back(fmt::format("{} ({})", plan.steps[step].label, plan.steps[step].op->name));
    list("Steps without an op in the profile:", names);
    names.clear();
    for (const auto& [name, other] : longestFirst(overlay.otherOps))
        names.push_back(
            fmt::format("{}, {} times, {}", name, other.count, formatMs(static_cast<double>(other.ns))));
    list("Ops of the profile without a step:", names);
    return out;
}

} // namespace twb
