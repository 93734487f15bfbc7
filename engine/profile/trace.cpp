#include "profile/trace.h"

#include "backends/world.h"
#include "profile/plan_text.h"
#include "profile/rank_report.h"
#include "profile/report.h"
#include "profile/run_course.h"
#include "profile/trace_memory.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>

namespace twb {

/// A rank in the trace of all of them.
struct JointRank {
    int rank = 0;
    int ranks = 1;
    std::int64_t shiftNs = 0;  ///< from this rank's times to those of the trace
    bool isVirtual = false;    ///< this rank has a virtual clock
    bool anyIsVirtual = false; ///< so that clocks of different ranks cannot be compared
};

namespace {

/// A JSON string with its quotes, for a name of arbitrary bytes.
std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string hostName() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown machine";
}

/// Nanoseconds as µs, without rounding: adjacent events must not seem to overlap.
std::string toUs(std::int64_t ns) {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

/// Writes events, separated by commas.
class Events {
public:
    explicit Events(std::ostream& out) : m_out(out) {}
    void add(std::string_view event) {
        m_out << (m_first ? "\n" : ",\n") << event;
        m_first = false;
    }

private:
    std::ostream& m_out;
    bool m_first = true;
};

/// The track of each stream: one thread per stream, in one process per device or, of several ranks, per rank.
struct Tracks : JointRank {
    explicit Tracks(const JointRank& joint) : JointRank(joint) {}
    std::string us(std::int64_t ns) const { return toUs(ns + shiftNs); }
    bool isJoint() const noexcept { return ranks > 1; }
    /// Devices of any part.
    void number() {
        int next = 1 + rank * kPidsPerRank;
        for (auto& [device, pid] : pids) pid = isJoint() ? next : next++;
    }
    /// The streams of all parts: those of one device and label are one track.
    std::vector<int> tidsOf(const Plan& plan) {
        std::vector<int> out;
        for (const PlanStream& stream : plan.streams) {
            std::size_t at = 0;
            while (at < streams.size() &&
                   (streams[at].device != stream.device || streams[at].label != stream.label ||
                    std::ranges::find(out, static_cast<int>(at) + 1) != out.end()))
                ++at;
            if (at == streams.size()) streams.push_back(stream);
            out.push_back(static_cast<int>(at) + 1);
        }
        return out;
    }
    std::map<Device, int> pids;
    std::vector<PlanStream> streams; ///< by tid, from 1
};

/// A part of a rank's trace, as its events name it.
struct TracePart {
    const Plan& plan;
    const std::vector<StepRecord>& records; ///< sorted by start
    std::vector<int> tids;                  ///< by stream
    std::size_t index = 0;
    const std::string& name;
};

/// Which times of a device's steps are modelled, after a name; "" if none are.
std::string clockOf(const Plan& plan, Device device) {
    if (plan.devices.isSimulated(device)) return " (modelled)";
    return plan.virtualClock ? " (measured durations, modelled start times)" : "";
}

std::string deviceName(const Plan& plan, Device device) {
    return device.toString() + "  " + plan.devices.at(device).info().name;
}

/// Of the devices and streams of all parts.
void writeTracks(Events& events, const std::vector<TracePart>& parts, const Tracks& tracks) {
    constexpr std::string_view kNamed = R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})";
    constexpr std::string_view kSorted =
        R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})";
    const auto planWith = [&](Device device) -> const Plan& {
        return std::ranges::find_if(parts, [&](const TracePart& p) { return p.plan.devices.find(device); })
            ->plan;
    };
    std::string hardware;
    for (const auto& [device, pid] : tracks.pids) {
        const std::string name = deviceName(planWith(device), device);
        hardware += (hardware.empty() ? "" : ", ") + name;
        if (tracks.isJoint()) continue;
        events.add(
            fmt::format(kNamed, "process_name", pid, 0, quoted(name + clockOf(planWith(device), device))));
        events.add(fmt::format(kSorted, "process_sort_index", pid, 0, pid));
    }
    if (tracks.isJoint() && !tracks.pids.empty()) {
        const int pid = tracks.pids.begin()->second;
        const char* const clock = !tracks.anyIsVirtual ? ""
                                  : tracks.isVirtual   ? " (modelled)"
                                                       : " (measured)";
        events.add(fmt::format(kNamed, "process_name", pid, 0,
                               quoted(fmt::format("rank {} on {}{}", tracks.rank, hostName(), clock))));
        events.add(
            fmt::format(R"({{"name":"process_labels","ph":"M","pid":{},"tid":0,"args":{{"labels":{}}}}})",
                        pid, quoted(std::as_const(hardware))));
        events.add(fmt::format(kSorted, "process_sort_index", pid, 0, pid));
    }
    for (std::size_t i = 0; i < tracks.streams.size(); ++i) {
        const PlanStream& stream = tracks.streams[i];
        const Plan& plan = planWith(stream.device);
        const int pid = tracks.pids.at(stream.device);
        std::string name = stream.label; // the process of a device tells whether it is simulated
        if (stream.modelled && (tracks.isJoint() || !plan.devices.isSimulated(stream.device)))
            name += " (modelled)";
        else if (tracks.isJoint())
            name += clockOf(plan, stream.device);
        events.add(fmt::format(kNamed, "thread_name", pid, i + 1, quoted(std::as_const(name))));
        events.add(fmt::format(kSorted, "thread_sort_index", pid, i + 1, i + 1));
    }
}

void writePlan(Events& events, const TracePart& part, const Tracks& tracks) {
    if (part.plan.steps.empty()) return;
    const std::string name =
        part.index > 0 ? fmt::format(R"("part":{},"part_name":{},)", part.index, quoted(part.name)) : "";
    events.add(fmt::format(
        R"({{"name":"{}","ph":"M","pid":{},"tid":0,"args":{{"rank":{},{}"plan":{}}}}})", kPlanEvent,
        1 + tracks.rank * kPidsPerRank, tracks.rank, name,
        quoted(planToJson(part.plan).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))));
}

void writeSlices(Events& events, const TracePart& part, const Tracks& tracks) {
    const Plan& plan = part.plan;
    const std::vector<StepRecord>& records = part.records;
    const std::string numbered = part.index > 0 ? fmt::format(R"("part":{},)", part.index) : "";
    // The constant fields of a step.
    std::vector<std::string> head;
    std::vector<std::string> tail;
    for (const Step& step : plan.steps) {
        const Device device = plan.streams[step.stream].device;
        head.push_back(fmt::format(R"({{"name":{},"cat":"{}","ph":"X","pid":{},"tid":{})", quoted(step.label),
                                   plan.isCollective(step)  ? "collective"
                                   : step.transfer != kNone ? "transfer"
                                                            : "compute",
                                   tracks.pids.at(device), part.tids[step.stream]));
        tail.push_back(numbered + fmt::format(R"("op":{},"node":{},"clock":"{}","predicted_ms":{:.6f})",
                                              quoted(step.op ? step.op->name : "copy"), value(step.node),
                                              isModelled(plan, step) ? "modelled" : "measured",
                                              step.predictedNs / 1e6));
    }
    std::vector<std::size_t> order(records.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return plan.steps[records[a].step].stream < plan.steps[records[b].step].stream;
    });
    for (const std::size_t i : order) {
        const StepRecord& record = records[i];
        const std::int64_t ns = record.endNs - record.startNs;
        std::string moved;
        if (record.waitNs) moved = fmt::format(R"("wait_us":{},)", toUs(*record.waitNs));
        if (record.bytes > 0) {
            moved += fmt::format(R"("bytes":{},)", record.bytes);
            if (ns > 0)
                moved += fmt::format(R"("gb_per_s":{:.3f},)",
                                     static_cast<double>(record.bytes) / static_cast<double>(ns));
        }
        events.add(fmt::format(R"({},"ts":{},"dur":{},"args":{{"step":{},"iteration":{},{}{}}}}})",
                               head[record.step], tracks.us(record.startNs), toUs(ns), record.step,
                               record.iteration, moved, tail[record.step]));
    }
}

/// `id`: of the last arrow before and after.
void writeArrows(Events& events, const TracePart& part, const Tracks& tracks, std::uint64_t& id) {
    const Plan& plan = part.plan;
    const std::vector<StepRecord>& records = part.records;
    for (const TensorFlow& arrow : flowsOf(plan, records)) {
        ++id;
        const std::string name = quoted(plan.steps[records[arrow.transfer].step].label);
        const auto add = [&](const char* phase, std::size_t at, std::int64_t ns) {
            const std::uint32_t stream = plan.steps[records[at].step].stream;
            events.add(fmt::format(
                R"({{"name":{},"cat":"transfer","ph":{},"id":{},"pid":{},"tid":{},"ts":{}}})", name, phase,
                id, tracks.pids.at(plan.streams[stream].device), part.tids[stream], tracks.us(ns)));
        };
        // The end of an arrow belongs to the slice at its time, so it starts just before the producer's end.
        const StepRecord& producer = records[arrow.producer];
        add(R"("s")", arrow.producer, std::max(producer.startNs, producer.endNs - 1));
        add(R"("t")", arrow.transfer, records[arrow.transfer].startNs);
        add(R"("f","bp":"e")", arrow.consumer, records[arrow.consumer].startNs);
    }
}

/// From a message's sender to its receiver, which are on two ranks: both have the same name and id. Between
/// clocks that cannot be compared, an arrow could lead to an earlier time.
void writeMessages(Events& events, const TracePart& part, const Tracks& tracks) {
    if (!tracks.isJoint() || tracks.anyIsVirtual) return;
    for (const StepRecord& record : part.records) {
        const Step& step = part.plan.steps[record.step];
        const auto kind = step.op ? collectiveKindOf(step.op->name) : std::nullopt;
        if (!kind || !isPaired(*kind)) continue;
        const std::int64_t source = step.attributes.integer("source");
        const std::int64_t target = step.attributes.integer("target");
        const bool isSender = source == tracks.rank;
        if (source == target || (!isSender && target != tracks.rank)) continue;
        events.add(
            fmt::format(R"({{"name":{},"cat":"message","ph":{},"id":{},"pid":{},"tid":{},"ts":{}}})",
                        quoted(fmt::format("{} ({})", step.label, value(step.node))),
                        isSender ? R"("s")" : R"("f","bp":"e")", record.iteration,
                        tracks.pids.at(part.plan.streams[step.stream].device), part.tids[step.stream],
                        tracks.us(isSender ? record.startNs : std::max(record.startNs, record.endNs - 1))));
    }
}

/// Whether two plans have the same steps on the same streams, so that their records mean the same.
bool hasSteps(const Plan& a, const Plan& b) {
    if (&a == &b) return true;
    return std::ranges::equal(a.streams, b.streams,
                              [](const PlanStream& x, const PlanStream& y) {
                                  return x.device == y.device && x.label == y.label;
                              }) &&
           std::ranges::equal(a.steps, b.steps, [](const Step& x, const Step& y) {
               return x.node == y.node && x.op == y.op && x.transfer == y.transfer && x.stream == y.stream &&
                      x.label == y.label && x.members.size() == y.members.size() &&
                      x.predictedNs == y.predictedNs;
           });
}

void writeHead(std::ostream& out) { out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["; }

void writeEnd(std::ostream& out, std::string_view clock, std::uint64_t left) {
    out << "\n],\"otherData\":{\"schema\":" << kReportSchema << ",\"clock\":\"" << clock
        << "\",\"events_left_out\":" << left << "}}\n";
}

const char* clockName(bool isVirtual) noexcept { return isVirtual ? "modelled" : "measured"; }

} // namespace

TraceRecorder::TraceRecorder(std::shared_ptr<const Plan> plan, std::size_t limit) : m_limit(limit) {
    m_parts.push_back({std::move(plan), {}});
}

void TraceRecorder::add(std::span<const StepRecord> records) {
    for (const StepRecord& record : records) {
        m_next = std::max(m_next, m_first + record.iteration + 1);
        m_endNs = std::max(m_endNs, m_startNs + record.endNs);
        if (record.state != StepState::done) continue;
        if (m_size >= m_limit) {
            ++m_left;
            continue;
        }
        ++m_size;
        StepRecord& own = m_parts[m_part].records.emplace_back(record);
        own.iteration += m_first;
        own.startNs += m_startNs;
        own.endNs += m_startNs;
    }
}

void TraceRecorder::nextRun(std::shared_ptr<const Plan> plan, std::string_view part, std::int64_t startNs) {
    const auto known =
        std::ranges::find_if(m_parts, [&](const Part& one) { return hasSteps(*one.plan, *plan); });
    m_part = static_cast<std::size_t>(known - m_parts.begin());
    if (known == m_parts.end()) {
        const auto like = std::ranges::count_if(m_parts, [&](const Part& one) {
            return one.name == part || one.name.starts_with(fmt::format("{} (", part));
        });
        m_parts.push_back(
            {std::move(plan), like > 0 ? fmt::format("{} ({})", part, like + 1) : std::string(part)});
    }
    m_startNs = hasVirtualClock() ? m_endNs : startNs;
    m_first = m_next;
}

bool TraceRecorder::hasVirtualClock() const noexcept {
    return std::ranges::any_of(m_parts, [](const Part& part) { return part.plan->virtualClock; });
}

/// The events of a rank, separated by commas.
std::string TraceRecorder::events(const JointRank& joint) const {
    Tracks tracks(joint);
    std::vector<std::vector<StepRecord>> sorted;
    std::vector<TracePart> parts;
    sorted.reserve(m_parts.size()); // the parts refer to its elements
    for (const Part& part : m_parts) {
        std::vector<StepRecord>& records = sorted.emplace_back(part.records);
        std::ranges::stable_sort(records, [](const StepRecord& a, const StepRecord& b) {
            return std::pair(a.startNs, a.endNs) < std::pair(b.startNs, b.endNs);
        });
        for (const PlanStream& stream : part.plan->streams) tracks.pids.emplace(stream.device, 0);
        for (const PlanValue& value : part.plan->values) tracks.pids.emplace(value.device, 0);
        parts.push_back({*part.plan, records, tracks.tidsOf(*part.plan), parts.size(), part.name});
    }
    tracks.number();

    std::ostringstream out;
    Events events(out);
    writeTracks(events, parts, tracks);
    for (const TracePart& part : parts) writePlan(events, part, tracks);
    std::uint64_t arrow = static_cast<std::uint64_t>(joint.rank) << 32;
    for (const TracePart& part : parts) {
        writeSlices(events, part, tracks);
        writeArrows(events, part, tracks, arrow);
        writeMessages(events, part, tracks);
        for (const MemorySample& sample : liveMemory(part.plan, part.records))
            events.add(fmt::format(R"({{"name":{},"ph":"C","pid":{},"tid":0,"ts":{},"args":{{"bytes":{}}}}})",
                                   quoted((tracks.isJoint() ? sample.device.toString() + " " : "") +
                                          (part.index == 0 ? "live tensors" : "live tensors, " + part.name)),
                                   tracks.pids.at(sample.device), tracks.us(sample.ns), sample.bytes));
    }
    return std::move(out).str();
}

void TraceRecorder::write(std::ostream& out) const {
    writeHead(out);
    out << events({});
    writeEnd(out, clockName(hasVirtualClock()), m_left);
}

void TraceRecorder::writeTogether(std::ostream& out, World& world, std::int64_t startedNs,
                                  const std::vector<RankPace>& ranks) const {
    if (world.size() == 1 || world.info().simulated) return write(out);
    const auto gather = [&](std::int64_t own) {
        std::vector<std::int64_t> all(static_cast<std::size_t>(world.size()));
        world.run({CollectiveKind::allGather, Reduction::sum, DType::i64, &own, all.data(), 1, 0, "trace"});
        return all;
    };
    const std::vector<std::int64_t> starts = gather(startedNs + world.clockOffsetNs());
    const std::vector<std::int64_t> virtualClocks = gather(hasVirtualClock() ? 1 : 0);
    const auto rank = static_cast<std::size_t>(world.rank());
    JointRank joint{.rank = world.rank(), .ranks = world.size(), .isVirtual = hasVirtualClock()};
    joint.anyIsVirtual = std::ranges::max(virtualClocks) > 0;
    if (!joint.anyIsVirtual) joint.shiftNs = starts[rank] - std::ranges::min(starts);
    std::string own = events(joint);
    const std::vector<std::int64_t> left = gather(static_cast<std::int64_t>(m_left));
    const std::vector<std::string> texts = gatherTexts(world, std::move(own), "trace");
    if (rank != 0) return;
    writeHead(out);
    for (std::size_t r = 0; r < texts.size(); ++r) out << (r > 0 ? "," : "") << texts[r];
    out << fmt::format(",\n"
                       R"({{"name":"{}","ph":"M","pid":1,"tid":0,"args":{{"ranks":{}}}}})",
                       kRanksEvent, quoted(toJson(ranks).dump()));
    const bool isMixed = joint.anyIsVirtual && std::ranges::min(virtualClocks) == 0;
    writeEnd(out, isMixed ? "mixed" : clockName(joint.anyIsVirtual),
             static_cast<std::uint64_t>(std::accumulate(left.begin(), left.end(), std::int64_t{0})));
}

} // namespace twb
