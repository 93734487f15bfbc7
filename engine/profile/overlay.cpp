#include "profile/overlay.h"

#include "core/format.h"
#include "core/text_table.h"
#include "profile/program_calls.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <unordered_map>

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

/// "net.py:11", without folders, as both sides may shorten paths differently; or "net.py forward".
std::string placeOf(const std::optional<SourceLine>& line, bool isFunction) {
    if (!line) return {};
    const std::string file = std::filesystem::path(line->file).filename().string();
    return isFunction ? file + ' ' + line->function : fmt::format("{}:{}", file, line->line);
}

/// The steps of a plan that an overlay fills.
class PlanSteps {
public:
    PlanSteps(const Graph& graph, const Plan& plan) : m_graph(graph), m_plan(plan) {
        for (const Step& step : plan.steps) {
            if (!computes(step)) continue;
            m_steps.emplace(step.node, &step);
            m_kinds.insert(canonicalOp(step.op->name));
        }
        for (ProgramCall& call : programCalls(graph)) {
            if (!m_steps.contains(call.main)) continue;
            m_callNames.insert(call.op);
            m_calls.push_back(std::move(call));
        }
    }

    /// Sinks such as Probe are this program's own; no framework runs them.
    static bool computes(const Step& step) {
        return step.op && step.transfer == kNone && !step.setup && !step.outputs.empty();
    }
    /// Null for a node that does not compute in the iteration.
    const Step* stepOf(NodeId node) const {
        const auto found = m_steps.find(node);
        return found == m_steps.end() ? nullptr : found->second;
    }
    /// The calls with a step in the iteration.
    const std::vector<ProgramCall>& calls() const { return m_calls; }
    /// The step of a call that has the longest modelled time, preferably that of its result.
    const Step& longestOf(const ProgramCall& call) const {
        const Step* longest = stepOf(call.main);
        for (const NodeId node : call.nodes)
            if (const Step* step = stepOf(node); step && step->predictedNs > longest->predictedNs)
                longest = step;
        return *longest;
    }

    bool isWanted(const std::string& op) const {
        return m_callNames.contains(op) || m_kinds.contains(canonicalOp(op));
    }
    std::string placeOf(const Step& step, bool isFunction) const {
        const Node* node = m_graph.find(step.node);
        return node ? twb::placeOf(node->source, isFunction) : std::string();
    }
    /// Of the first operand.
    std::string shapeOf(const Step& step) const {
        if (step.inputs.empty() || step.inputs.front() == kNone) return {};
        return shapeText(m_plan.values[step.inputs.front()].type.shape);
    }

private:
    const Graph& m_graph;
    const Plan& m_plan;
    std::unordered_map<NodeId, const Step*> m_steps;
    std::vector<ProgramCall> m_calls;
    std::set<std::string> m_callNames;
    std::set<std::string> m_kinds;
};

class Matcher {
public:
    Matcher(const Graph& graph, const Plan& plan, const PlanSteps& steps, const TracedOps& traced)
        : m_graph(graph), m_plan(plan), m_steps(steps), m_traced(traced), m_isTaken(traced.ops.size()),
          m_hasOp(plan.steps.size()) {}

    Overlay match() {
        m_out.profiler = m_traced.profiler;
        m_out.device = m_traced.device;
        m_out.problems = m_traced.problems;
        m_out.spanNs = m_traced.spanNs;
        m_out.transfers = m_plan.transfers.size();
        const bool hasShapes = std::any_of(m_traced.ops.begin(), m_traced.ops.end(),
                                           [](const TracedOp& op) { return !op.shape.empty(); });
        matchNames();
        matchCopies();
        for (const bool withLines : {true, false}) {
            matchCalls(hasShapes, withLines);
            if (hasShapes) matchCalls(false, withLines);
            matchKinds(hasShapes, withLines);
        }
        for (const Step& step : m_plan.steps) {
            if (!PlanSteps::computes(step)) continue;
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
        countIterations();
        return std::move(m_out);
    }

private:
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
        m_out.records.push_back(record);
    }

    /// Most steps have one op per iteration; the ops of the others are spread over as many iterations.
    void countIterations() {
        std::map<std::uint32_t, std::size_t> steps; // by count of ops
        for (const auto& [step, count] : m_counts) ++steps[count];
        for (const auto& [count, number] : steps)
            if (m_out.iterations == 0 || number >= steps[static_cast<std::uint32_t>(m_out.iterations)])
                m_out.iterations = count;
        std::int64_t startNs = std::numeric_limits<std::int64_t>::max();
        for (const StepRecord& record : m_out.records) startNs = std::min(startNs, record.startNs);
        for (StepRecord& record : m_out.records) {
            record.startNs -= startNs;
            record.endNs -= startNs;
            record.iteration =
                static_cast<std::uint32_t>(record.iteration * m_out.iterations / m_counts[record.step]);
        }
        std::stable_sort(m_out.records.begin(), m_out.records.end(),
                         [](const StepRecord& a, const StepRecord& b) {
                             return std::pair(a.iteration, a.startNs) < std::pair(b.iteration, b.startNs);
                         });
    }

    /// ONNX Runtime keeps the names of nodes; "fused fc1" is fc1 together with its successor.
    void matchNames() {
        std::map<std::string, const Step*> steps;
        std::set<std::string> twice;
        for (const Step& step : m_plan.steps) {
            const Node* node = m_graph.find(step.node);
            if (!PlanSteps::computes(step) || !node || node->name.empty()) continue;
            if (!steps.try_emplace(node->name, &step).second) twice.insert(node->name);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            std::string name = m_traced.ops[i].name;
            if (name.starts_with("fused ")) name.erase(0, 6);
            const auto found = steps.find(name);
            if (found != steps.end() && !twice.contains(name)) take(i, *found->second, m_traced.ops[i].ns);
        }
    }

    /// What a step or a call and its ops have in common: name, shape and place.
    using Key = std::array<std::string, 3>;
    struct Group {
        std::vector<const Step*> steps;
        std::vector<std::size_t> ops;
    };

    /// The ops with the keys of the groups, by `name` of an op.
    void addOps(std::map<Key, Group>& groups, std::string TracedOp::*name, bool withShapes, bool withLines) {
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            if (m_isTaken[i]) continue;
            const TracedOp& op = m_traced.ops[i];
            const std::string place =
                withLines ? placeOf(parseSourceLine(op.line), m_traced.linesAreFunctions) : std::string();
            if (withLines && place.empty()) continue;
            const auto found = groups.find({op.*name, withShapes ? op.shape : "", place});
            if (found != groups.end()) found->second.ops.push_back(i);
        }
    }

    /// The steps of calls by the names of their ops. The longest step of a call has the time of the whole
    /// call.
    void matchCalls(bool withShapes, bool withLines) {
        std::map<Key, Group> groups;
        for (const ProgramCall& call : m_steps.calls()) {
            const Step& longest = m_steps.longestOf(call);
            const std::string place =
                withLines ? m_steps.placeOf(longest, m_traced.linesAreFunctions) : std::string();
            if (m_hasOp[longest.index] || (withLines && place.empty())) continue;
            std::string shape;
            for (const NodeId node : call.nodes)
                if (const Step* step = m_steps.stepOf(node); withShapes && step && shape.empty())
                    shape = m_steps.shapeOf(*step);
            groups[{call.op, shape, place}].steps.push_back(&longest);
        }
        addOps(groups, &TracedOp::name, withShapes, withLines);
        std::set<const Step*> taken;
        for (const auto& [key, group] : groups)
            if (takeInTurn(group.steps, group.ops, &TracedOp::ns))
                taken.insert(group.steps.begin(), group.steps.end());
        for (const ProgramCall& call : m_steps.calls()) {
            const Step& longest = m_steps.longestOf(call);
            if (!taken.contains(&longest)) continue;
            for (const NodeId node : call.nodes)
                if (const Step* step = m_steps.stepOf(node); step && !m_hasOp[step->index]) {
                    m_hasOp[step->index] = true;
                    m_out.parts.emplace(step->index, longest.index);
                }
        }
    }

    void matchKinds(bool withShapes, bool withLines) {
        std::map<Key, Group> groups;
        for (const Step& step : m_plan.steps) {
            if (!PlanSteps::computes(step) || m_hasOp[step.index]) continue;
            const std::string place =
                withLines ? m_steps.placeOf(step, m_traced.linesAreFunctions) : std::string();
            if (withLines && place.empty()) continue;
            groups[{canonicalOp(step.op->name), withShapes ? m_steps.shapeOf(step) : "", place}]
                .steps.push_back(&step);
        }
        addOps(groups, &TracedOp::kind, withShapes, withLines);
        for (const auto& [key, group] : groups) takeInTurn(group.steps, group.ops, &TracedOp::ns);
    }

    void matchCopies() {
        std::map<std::pair<CopyKind, std::uint64_t>, Group> groups;
        for (const Step& step : m_plan.steps) {
            if (step.transfer == kNone) continue;
            const Transfer& transfer = m_plan.transfers[step.transfer];
            if (transfer.bytes > 0) groups[{kindOf(transfer), transfer.bytes}].steps.push_back(&step);
        }
        for (std::size_t i = 0; i < m_traced.ops.size(); ++i) {
            const TracedOp& op = m_traced.ops[i];
            if (m_isTaken[i] || op.copyNs <= 0) continue;
            const auto found = groups.find({op.copy, op.copyBytes});
            if (found != groups.end()) found->second.ops.push_back(i);
        }
        for (const auto& [key, group] : groups)
            if (takeInTurn(group.steps, group.ops, &TracedOp::copyNs))
                m_out.matchedTransfers += group.steps.size();
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
    const PlanSteps& m_steps;
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

std::vector<std::pair<std::string, Overlay::OtherOp>>
longestFirst(const std::map<std::string, Overlay::OtherOp>& ops) {
    std::vector<std::pair<std::string, Overlay::OtherOp>> out(ops.begin(), ops.end());
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    return out;
}

} // namespace

Overlay overlay(const Graph& graph, const Plan& plan, const std::filesystem::path& trace,
                const ReadProgress& progress) {
    const PlanSteps steps(graph, plan);
    const TracedOps traced = readTracedOps(
        trace, [&steps](const std::string& op) { return steps.isWanted(op); }, progress);
    return Matcher(graph, plan, steps, traced).match();
}

std::string toJson(const Overlay& overlay, const std::string& trace, RunReport report) {
    StepTimes times(report.plan);
    times.add(overlay.records);
    Ledger ledger(report.plan);
    ledger.add(overlay.records);
    RunTimeline timeline(report.plan);
    timeline.add(overlay.records);
    timeline.finish();
    report.steps = &times;
    report.ledger = &ledger;
    report.timeline = &timeline;
    report.result.iterations = static_cast<std::int64_t>(overlay.iterations);
    report.result.wallNs = overlay.spanNs;
    report.result.clockNs = overlay.spanNs;
    Json out = Json::parse(toJson(report));
    out["clock"] = "measured";
    for (Json& stream : out["timeline"]["streams"]) stream["modelled"] = false;
    out.erase("memory"); // the profile does not tell it
    for (Json& row : out["steps"]) mark(row, overlay.profiler);
    for (const auto& [part, main] : overlay.parts)
        out["steps"][part]["measured_with"] = report.plan->steps[main].label;
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
        fmt::format("{}: {} of {} steps and {} of {} transfers match ops of {}{}; the matched ops take "
                    "{:.0f} % of the profile's op time\n",
                    trace, overlay.matchedSteps(), overlay.steps, overlay.matchedTransfers, overlay.transfers,
                    overlay.profiler, overlay.device.empty() ? "" : fmt::format(" ({})", overlay.device),
                    percent(static_cast<double>(overlay.matchedNs), static_cast<double>(overlay.opsNs)));
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
