#include "profile/run_trace.h"

#include "core/error.h"
#include "core/json_fault.h"
#include "profile/plan_text.h"
#include "profile/trace.h"
#include "profile/trace_events.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace twb {
namespace {

/// As many as the process ids of a trace hold.
constexpr std::uint64_t kMostRanks = INT32_MAX / kPidsPerRank;
constexpr std::array<std::uint32_t, 2> kNoMessage{kNone, kNone};

/// A plan of a rank, and where it begins in the joint plan.
struct Section {
    std::uint64_t rank = 0;
    std::uint64_t part = 0;
    std::string name; ///< of the part; empty for the first
    std::uint32_t steps = 0;
    std::uint32_t size = 0; ///< number of its steps
    std::uint32_t values = 0;
};

class Joiner {
public:
    explicit Joiner(std::string origin) : m_origin(std::move(origin)) {}

    void take(const TraceEvent& event) {
        if (event.name == kPlanEvent)
            addPlan(event);
        else if (event.name == kRanksEvent)
            addRanks(event);
        else if (event.phase == "X" && !m_sections.empty())
            addRecord(event);
    }

    RunTrace finish() {
        if (m_sections.empty())
            throw Error(ErrorCode::badFile,
                        fmt::format("{} is not a trace of `twb run --trace`: it has no plan", m_origin));
        joinCalls();
        std::ranges::stable_sort(m_out.records, [](const StepRecord& a, const StepRecord& b) {
            return std::pair(a.iteration, a.startNs) < std::pair(b.iteration, b.startNs);
        });
        for (const StepRecord& record : m_out.records)
            m_out.iterations = std::max<std::int64_t>(m_out.iterations, record.iteration + 1);
        m_out.plan = m_plan;
        return std::move(m_out);
    }

private:
    [[noreturn]] void refuse(const TraceEvent& event, const std::string& what) const {
        throw Error(ErrorCode::badFile, fmt::format("{}, event {}: {}", m_origin, event.index, what));
    }

    void addPlan(const TraceEvent& event) {
        std::shared_ptr<const Plan> plan;
        const std::uint64_t rank = event.number("rank").value_or(0);
        if (rank > kMostRanks) refuse(event, "a plan of a rank with too large a number");
        try {
            plan = planFromJson(nlohmann::json::parse(event.argument("plan")), static_cast<int>(rank));
        } catch (const nlohmann::json::exception& error) {
            refuse(event, jsonFault(error.what()));
        } catch (const Error& error) {
            refuse(event, error.what());
        }
        const std::uint64_t part = event.number("part").value_or(0);
        const bool isNext = m_sections.empty() ? rank == 0 && part == 0
                            : part == 0
                                ? rank == m_sections.back().rank + 1
                                : rank == m_sections.back().rank && part == m_sections.back().part + 1;
        if (!isNext) refuse(event, "the plans of the ranks are not in their order");
        const bool isFirst = m_sections.empty();
        Plan& all = *m_plan;
        const auto transfers = static_cast<std::uint32_t>(all.transfers.size());
        const auto controls = static_cast<std::uint32_t>(all.controls.size());
        const auto slots = static_cast<std::uint32_t>(all.slots.size());
        const Section at{rank,
                         part,
                         std::string(event.argument("part_name")),
                         static_cast<std::uint32_t>(all.steps.size()),
                         static_cast<std::uint32_t>(plan->steps.size()),
                         static_cast<std::uint32_t>(all.values.size())};
        m_sections.push_back(at);
        const auto moved = [](std::uint32_t index, std::uint32_t by) {
            return index == kNone ? kNone : index + by;
        };
        // What another rank says of a rank's device may be a simulation of it.
        for (const Device device : plan->devices.devices())
            if (isFirst || device.rank == static_cast<int>(rank) || !all.devices.find(device))
                all.devices.set(device, std::shared_ptr<Backend>(plan, &plan->devices.at(device)), true);
        const bool isCounted = part == 0 && (isFirst || plan->isPart);
        m_out.isOfGraph.insert(m_out.isOfGraph.end(), plan->steps.size(), isCounted);
        const std::vector<std::uint32_t> streams = addStreams(plan->streams, part == 0);
        all.transfers.insert(all.transfers.end(), plan->transfers.begin(), plan->transfers.end());
        all.controls.resize(all.controls.size() + plan->controls.size());
        all.chainOps.insert(all.chainOps.end(), plan->chainOps.begin(), plan->chainOps.end());
        for (PlanValue value : plan->values) {
            value.slot = part == 0 ? moved(value.slot, slots) : kNone;
            value.absent = value.absent || part > 0;
            value.updateOf = moved(value.updateOf, at.values);
            all.values.push_back(std::move(value));
        }
        for (const std::uint32_t producer : plan->producers)
            all.producers.push_back(moved(producer, at.steps));
        for (Step step : plan->steps) {
            step.index += at.steps;
            step.stream = streams[step.stream];
            step.transfer = moved(step.transfer, transfers);
            step.control = moved(step.control, controls);
            step.owner = moved(step.owner, controls);
            step.inPlaceOf = moved(step.inPlaceOf, at.values);
            for (auto* list : {&step.inputs, &step.outputs})
                for (std::uint32_t& value : *list) value = moved(value, at.values);
            for (auto* list : {&step.waits, &step.carriedWaits, &step.lapWaits})
                for (std::uint32_t& other : *list) other = moved(other, at.steps);
            all.steps.push_back(std::move(step));
        }
        all.inFlight = std::max(all.inFlight, plan->inFlight);
        all.virtualClock = all.virtualClock || plan->virtualClock;
        if (part == 0) all.slots.insert(all.slots.end(), plan->slots.begin(), plan->slots.end());
        if (isFirst) all.setupSteps = plan->setupSteps;
        if (!isCounted) return;
        for (const auto& [node, values] : plan->valuesOfNode)
            for (const std::uint32_t value : values)
                all.valuesOfNode[node].push_back(moved(value, at.values));
    }

    /// By stream of the plan, the stream of the joint plan: a rank's parts have streams in common.
    std::vector<std::uint32_t> addStreams(const std::vector<PlanStream>& streams, bool isNewRank) {
        std::vector<PlanStream>& all = m_plan->streams;
        if (isNewRank) m_firstStream = all.size();
        std::vector<std::uint32_t> out;
        for (const PlanStream& stream : streams) {
            std::size_t at = m_firstStream;
            while (at < all.size() && (all[at].device != stream.device || all[at].label != stream.label ||
                                       std::ranges::find(out, static_cast<std::uint32_t>(at)) != out.end()))
                ++at;
            if (at == all.size()) all.push_back(stream);
            out.push_back(static_cast<std::uint32_t>(at));
        }
        return out;
    }

    void addRanks(const TraceEvent& event) {
        try {
            m_out.ranks = pacesFrom(nlohmann::json::parse(event.argument("ranks")));
        } catch (const nlohmann::json::exception& error) {
            refuse(event, jsonFault(error.what()));
        }
    }

    void addRecord(const TraceEvent& event) {
        const auto pid = wholeNumber(event.process);
        const auto step = event.number("step");
        const auto iteration = event.number("iteration");
        if (!pid || !step || !iteration || *iteration > UINT32_MAX || !event.startNs || !event.durationNs)
            refuse(event, "a step without its number, iteration or time");
        const std::pair<std::uint64_t, std::uint64_t> place(*pid / kPidsPerRank,
                                                            event.number("part").value_or(0));
        const auto section = std::ranges::lower_bound(
            m_sections, place, {}, [](const Section& s) { return std::pair(s.rank, s.part); });
        if (section == m_sections.end() || std::pair{section->rank, section->part} != place ||
            *step >= section->size)
            refuse(event, "a step that the plan does not have");
        StepRecord record;
        record.step = section->steps + static_cast<std::uint32_t>(*step);
        record.iteration = static_cast<std::uint32_t>(*iteration);
        record.state = StepState::done;
        record.bytes = event.number("bytes").value_or(0);
        const std::string_view wait = event.argument("wait_us");
        if (!m_times.set(record, *event.startNs, *event.durationNs,
                         wait.empty() ? std::nullopt : nanoseconds(wait)))
            refuse(event, "a negative time, or a run of more than 70 years");
        m_out.records.push_back(record);
    }

    /// Whether another rank sends what this rank receives in the step, of a part of a graph: the receiver
    /// passes nothing to the call.
    bool isReceived(const Step& step) const {
        return !step.inputs.empty() && step.inputs[0] != kNone && m_plan->values[step.inputs[0]].absent;
    }

    /// Names the ranks and the parts, and lets the calls of all ranks wait for each other, and messages for
    /// their senders.
    void joinCalls() {
        Plan& plan = *m_plan;
        if (m_sections.size() < 2) return;
        const bool hasRanks = m_sections.back().rank > 0;
        // By the call's part and node, and how many calls the node has made before: by rank, the step.
        std::map<std::tuple<std::uint64_t, NodeId, std::size_t>, std::map<std::uint64_t, std::uint32_t>>
            calls;
        std::map<std::pair<NodeId, std::size_t>, std::array<std::uint32_t, 2>> messages; // sent, received
        std::vector<bool> isNamed(plan.streams.size());
        for (const Section& section : m_sections) {
            const std::string rank = hasRanks ? fmt::format("rank{}/", section.rank) : "";
            const std::string part = section.name.empty() ? "" : section.name + ": ";
            std::map<NodeId, std::size_t> made;
            for (std::uint32_t i = 0; i < section.size; ++i) {
                Step& step = plan.steps[section.steps + i];
                if (!isNamed[step.stream]) {
                    plan.streams[step.stream].label.insert(0, rank);
                    isNamed[step.stream] = true;
                }
                const auto kind = step.op ? collectiveKindOf(step.op->name) : std::nullopt;
                if (plan.isCollective(step) && !(kind && isPaired(*kind))) {
                    calls[{section.part, step.node, made[step.node]++}][section.rank] = step.index;
                } else if (kind && m_out.isOfGraph[step.index]) {
                    const auto own = messages.try_emplace({step.node, made[step.node]++}, kNoMessage).first;
                    own->second[isReceived(step) ? 1 : 0] = step.index;
                }
                if (step.transfer != kNone) plan.transfers[step.transfer].label.insert(0, part + rank);
            }
        }
        for (const auto& [call, steps] : calls)
            for (const auto& [rank, one] : steps)
                for (const auto& [otherRank, other] : steps)
                    if (rank != otherRank) waitForInputs(plan.steps[one], plan.steps[other]);
        for (const auto& [node, message] : messages) {
            if (std::ranges::find(message, kNone) != message.end()) continue;
            waitForInputs(plan.steps[message[1]], plan.steps[message[0]]);
            m_out.isOfGraph[message[0]] = false;
        }
    }

    void waitForInputs(Step& step, const Step& of) const {
        for (const std::uint32_t value : of.inputs)
            if (value != kNone && m_plan->producers[value] != kNone)
                step.waits.push_back(m_plan->producers[value]);
    }

    const std::string m_origin;
    std::shared_ptr<Plan> m_plan = std::make_shared<Plan>();
    std::vector<Section> m_sections; ///< by rank and part
    std::size_t m_firstStream = 0;   ///< of the last section's rank
    ReadTimes m_times;
    RunTrace m_out;
};

} // namespace

RunTrace readRunTrace(const std::filesystem::path& path, const ReadProgress& progress) {
    Joiner joiner(path.string());
    readTraceEvents(
        path, [&](const TraceEvent& event) { joiner.take(event); }, progress);
    return joiner.finish();
}

} // namespace twb
