#include "profile/trace.h"

#include "profile/report.h"
#include "profile/run_course.h"
#include "profile/trace_memory.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>

namespace twb {
namespace {

/// A JSON string with its quotes, for a name of arbitrary bytes.
std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

/// The track of each stream: one process per device, one thread per stream.
struct Tracks {
    explicit Tracks(const Plan& plan) {
        for (const PlanStream& stream : plan.streams) pids.emplace(stream.device, 0);
        for (const PlanValue& value : plan.values) pids.emplace(value.device, 0);
        int next = 1;
        for (auto& [device, pid] : pids) pid = next++;
    }
    std::map<Device, int> pids;
};

std::string processName(const Plan& plan, Device device) {
    const DeviceInfo& info = plan.devices.at(device).info();
    std::string name = device.toString() + "  " + info.name;
    if (info.simulated) return name + " (modelled)";
    return plan.virtualClock ? name + " (measured durations, modelled start times)" : name;
}

void writeMetadata(Events& events, const Plan& plan, const Tracks& tracks) {
    constexpr std::string_view kNamed = R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"name":{}}}}})";
    constexpr std::string_view kSorted =
        R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})";
    for (const auto& [device, pid] : tracks.pids) {
        events.add(fmt::format(kNamed, "process_name", pid, 0, quoted(processName(plan, device))));
        events.add(fmt::format(kSorted, "process_sort_index", pid, 0, pid));
    }
    for (std::size_t i = 0; i < plan.streams.size(); ++i) {
        const int pid = tracks.pids.at(plan.streams[i].device);
        events.add(fmt::format(kNamed, "thread_name", pid, i + 1, quoted(plan.streams[i].label)));
        events.add(fmt::format(kSorted, "thread_sort_index", pid, i + 1, i + 1));
    }
}

void writeSlices(Events& events, const Plan& plan, const Tracks& tracks,
                 const std::vector<StepRecord>& records) {
    // The constant fields of a step.
    std::vector<std::string> head;
    std::vector<std::string> tail;
    for (const Step& step : plan.steps) {
        const Device device = plan.streams[step.stream].device;
        head.push_back(fmt::format(R"({{"name":{},"cat":"{}","ph":"X","pid":{},"tid":{})", quoted(step.label),
                                   step.transfer != kNone ? "transfer" : "compute", tracks.pids.at(device),
                                   step.stream + 1));
        tail.push_back(fmt::format(R"("op":{},"node":{},"clock":"{}","predicted_ms":{:.6f})",
                                   quoted(step.op ? step.op->name : "copy"), value(step.node),
                                   isModelled(plan, step) ? "modelled" : "measured", step.predictedNs / 1e6));
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
            moved = fmt::format(R"("bytes":{},)", record.bytes);
            if (ns > 0)
                moved += fmt::format(R"("gb_per_s":{:.3f},)",
                                     static_cast<double>(record.bytes) / static_cast<double>(ns));
        }
        events.add(fmt::format(R"({},"ts":{},"dur":{},"args":{{"iteration":{},{}{}}}}})", head[record.step],
                               toUs(record.startNs), toUs(ns), record.iteration, moved, tail[record.step]));
    }
}

void writeArrows(Events& events, const Plan& plan, const Tracks& tracks,
                 const std::vector<StepRecord>& records) {
    std::size_t id = 0;
    for (const TensorFlow& arrow : flowsOf(plan, records)) {
        ++id;
        const std::string name = quoted(plan.steps[records[arrow.transfer].step].label);
        const auto add = [&](const char* phase, std::size_t at, std::int64_t ns) {
            const PlanStream& stream = plan.streams[plan.steps[records[at].step].stream];
            events.add(fmt::format(
                R"({{"name":{},"cat":"transfer","ph":{},"id":{},"pid":{},"tid":{},"ts":{}}})", name, phase,
                id, tracks.pids.at(stream.device), plan.steps[records[at].step].stream + 1, toUs(ns)));
        };
        // The end of an arrow belongs to the slice at its time, so it starts just before the producer's end.
        const StepRecord& producer = records[arrow.producer];
        add(R"("s")", arrow.producer, std::max(producer.startNs, producer.endNs - 1));
        add(R"("t")", arrow.transfer, records[arrow.transfer].startNs);
        add(R"("f","bp":"e")", arrow.consumer, records[arrow.consumer].startNs);
    }
}

} // namespace

TraceRecorder::TraceRecorder(std::shared_ptr<const Plan> plan, std::size_t limit)
    : m_plan(std::move(plan)), m_limit(limit) {}

void TraceRecorder::add(std::span<const StepRecord> records) {
    for (const StepRecord& record : records) {
        if (record.state != StepState::done) continue;
        if (m_records.size() < m_limit)
            m_records.push_back(record);
        else
            ++m_left;
    }
}

void TraceRecorder::write(std::ostream& out) const {
    const Plan& plan = *m_plan;
    const Tracks tracks(plan);
    std::vector<StepRecord> records = m_records;
    std::stable_sort(records.begin(), records.end(), [](const StepRecord& a, const StepRecord& b) {
        return a.startNs != b.startNs ? a.startNs < b.startNs : a.endNs < b.endNs;
    });

    out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    Events events(out);
    writeMetadata(events, plan, tracks);
    writeSlices(events, plan, tracks, records);
    writeArrows(events, plan, tracks, records);
    for (const MemorySample& sample : liveMemory(plan, records))
        events.add(fmt::format(
            R"({{"name":"live tensors","ph":"C","pid":{},"tid":0,"ts":{},"args":{{"bytes":{}}}}})",
            tracks.pids.at(sample.device), toUs(sample.ns), sample.bytes));
    out << "\n],\"otherData\":{\"schema\":" << kReportSchema << ",\"clock\":\""
        << (plan.virtualClock ? "modelled" : "measured") << "\",\"events_left_out\":" << m_left << "}}\n";
}

} // namespace twb
