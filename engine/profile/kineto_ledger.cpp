#include "profile/kineto_ledger.h"

#include "core/busy_time.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace twb {
namespace {

using Place = std::pair<NameId, NameId>; ///< line and op

/// What a thread does, in the order in which it explains idle time.
enum class Doing : std::uint8_t { sync, copy, memory, dataLoading, ops };
constexpr std::size_t kDoings = 5;
constexpr std::array<IdleCause, kDoings> kCauses{IdleCause::sync, IdleCause::copy, IdleCause::memory,
                                                 IdleCause::dataLoading, IdleCause::ops};

/// For each thread, the time that each Doing and those before it cover.
class ThreadTimes {
public:
    explicit ThreadTimes(const KinetoTrace& trace) : m_times(trace.threads.size()) {
        std::vector<Row> rows;
        auto call = trace.calls.begin();
        auto span = trace.spans.begin();
        for (std::uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
            rows.clear();
            for (; call != trace.calls.end() && call->thread == thread; ++call)
                if (const auto doing = doingOf(call->kind))
                    rows.push_back({call->startNs, call->endNs, *doing});
            for (; span != trace.spans.end() && span->thread == thread; ++span) {
                if (span->kind == HostSpan::Kind::op)
                    rows.push_back({span->startNs, span->endNs, Doing::ops});
                else if (trace.names.at(span->name).starts_with("enumerate(DataLoader)"))
                    rows.push_back({span->startNs, span->endNs, Doing::dataLoading});
            }
            std::sort(rows.begin(), rows.end(),
                      [](const Row& a, const Row& b) { return a.startNs < b.startNs; });
            for (const Row& row : rows)
                for (auto upTo = static_cast<std::size_t>(row.doing); upTo < kDoings; ++upTo)
                    m_times[thread][upTo].add(row.startNs, row.endNs);
        }
    }

    /// How an interval of a thread divides into doings; the last is the rest.
    std::array<std::int64_t, kDoings + 1> divide(std::uint32_t thread, std::int64_t startNs,
                                                 std::int64_t endNs) const {
        std::array<std::int64_t, kDoings + 1> out{};
        std::int64_t before = 0;
        for (std::size_t i = 0; i < kDoings; ++i) {
            const std::int64_t covered = m_times[thread][i].overlapNs(startNs, endNs);
            out[i] = covered - before;
            before = covered;
        }
        out[kDoings] = endNs - startNs - before;
        return out;
    }

private:
    struct Row {
        std::int64_t startNs = 0;
        std::int64_t endNs = 0;
        Doing doing{};
    };

    static std::optional<Doing> doingOf(CallKind kind) {
        switch (kind) {
        case CallKind::synchronize:
            return Doing::sync;
        case CallKind::blockingCopy:
            return Doing::copy;
        case CallKind::memory:
            return Doing::memory;
        case CallKind::other:
            break;
        }
        return {};
    }

    std::vector<std::array<BusyTime, kDoings>> m_times;
};

/// The spans of `all`, which must be random-access, in the order of their starts.
template <class Range, class Take> BusyTime unionOf(const Range& all, const Take& take) {
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const auto& each : all)
        if (take(each)) spans.emplace_back(each.startNs, each.endNs);
    std::sort(spans.begin(), spans.end());
    BusyTime out;
    for (const auto& [startNs, endNs] : spans) out.add(startNs, endNs);
    return out;
}

class LedgerMaker {
public:
    explicit LedgerMaker(const KinetoTrace& trace) : m_trace(trace) {}

    KinetoLedger make() {
        m_out.file = m_trace.file;
        m_out.events = m_trace.facts.events;
        m_out.spanNs = m_trace.endNs - m_trace.startNs;
        m_out.linesAreFunctions = m_trace.linesAreFunctions;
        m_out.activities = m_trace.activities.size();
        m_out.launchesFound = m_trace.launchesFound;
        m_out.launchesInOps = m_trace.launchesInOps;
        m_out.problems = m_trace.problems;
        m_out.faultyEvents = m_trace.faultyEvents;
        for (const HostSpan& span : m_trace.spans)
            if (span.kind == HostSpan::Kind::annotation &&
                m_trace.names.at(span.name).starts_with("ProfilerStep#"))
                ++m_out.steps;
        makeDevices();
        makeTransfers();
        makeSyncs();
        return std::move(m_out);
    }

private:
    Place placeOf(const GpuActivity& activity) const {
        const RuntimeCall* call = m_trace.callOf(activity);
        return call ? Place{call->line, call->op} : Place{NameId::none, NameId::none};
    }

    /// The op that launched an activity, or else the activity's own name.
    NameId opOrName(const GpuActivity& activity) const {
        const NameId op = placeOf(activity).second;
        return op == NameId::none ? activity.name : op;
    }

    void makeDevices() {
        const ThreadTimes threads(m_trace);
        const auto& all = m_trace.activities;
        for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
            KinetoDevice device;
            device.device = all[first].device;
            device.name = m_trace.deviceName(device.device);
            BusyTime busy;
            BusyTime& kernels = m_kernels[device.device];
            std::map<std::tuple<IdleCause, NameId, NameId>, KinetoIdle> idle;
            std::int64_t freeNs = all[first].startNs; // all activities so far have ended then
            for (end = first; end < all.size() && all[end].device == device.device; ++end) {
                const GpuActivity& activity = all[end];
                if (activity.startNs > freeNs) addIdle(activity, freeNs, threads, idle);
                freeNs = std::max(freeNs, activity.endNs);
                busy.add(activity.startNs, activity.endNs);
                if (activity.kind != GpuActivity::Kind::kernel) continue;
                kernels.add(activity.startNs, activity.endNs);
                ++device.kernels;
            }
            device.spanNs = freeNs - all[first].startNs;
            device.busyNs = busy.totalNs();
            device.kernelNs = kernels.totalNs();
            for (auto& [key, row] : idle) device.idle.push_back(std::move(row));
            longestFirst(device.idle);
            m_out.devices.push_back(std::move(device));
        }
    }

    void addIdle(const GpuActivity& next, std::int64_t fromNs, const ThreadTimes& threads,
                 std::map<std::tuple<IdleCause, NameId, NameId>, KinetoIdle>& idle) const {
        const RuntimeCall* call = m_trace.callOf(next);
        const NameId line = placeOf(next).first;
        const NameId op = opOrName(next);
        const auto add = [&](IdleCause cause, std::int64_t ns) {
            if (ns <= 0) return;
            KinetoIdle& row = idle[{cause, line, op}];
            row.cause = cause;
            row.line = m_trace.names.at(line);
            row.op = m_trace.names.at(op);
            ++row.count;
            row.totalNs += ns;
        };
        if (!call) return add(IdleCause::unknown, next.startNs - fromNs);
        if (call->startNs <= fromNs) return add(IdleCause::queued, next.startNs - fromNs);
        const std::int64_t calledNs = std::min(call->startNs, next.startNs);
        const auto parts = threads.divide(call->thread, fromNs, calledNs);
        for (std::size_t i = 0; i < kDoings; ++i) add(kCauses[i], parts[i]);
        add(IdleCause::python, parts[kDoings]);
        add(IdleCause::launch, next.startNs - calledNs);
    }

    void makeTransfers() {
        const BusyTime syncs = unionOf(
            m_trace.calls, [](const RuntimeCall& call) { return call.kind == CallKind::synchronize; });
        struct Group {
            KinetoTransfer row;
            std::map<NameId, std::uint64_t> waiters;
        };
        std::map<std::tuple<Place, std::uint32_t, CopyKind, HostMemory>, Group> groups;
        // The last copies of each stream, whose waiter is not known yet.
        std::map<std::uint32_t, std::vector<Group*>> last;
        for (const GpuActivity& activity : m_trace.activities) {
            if (activity.kind == GpuActivity::Kind::kernel) {
                const auto waiting = last.find(activity.stream);
                if (waiting == last.end()) continue;
                for (Group* group : waiting->second) ++group->waiters[opOrName(activity)];
                last.erase(waiting);
            }
            if (activity.kind != GpuActivity::Kind::copy) continue;
            const Place place = placeOf(activity);
            Group& group = groups[{place, activity.device, activity.copy, activity.memory}];
            KinetoTransfer& row = group.row;
            if (row.count == 0) {
                row.line = m_trace.names.at(place.first);
                row.op = m_trace.names.at(place.second);
                row.device = activity.device;
                row.kind = activity.copy;
                row.memory = activity.memory;
            }
            const std::int64_t ns = activity.durationNs();
            ++row.count;
            row.totalNs += ns;
            row.times.add(ns);
            if (activity.bytes) {
                ++row.sized;
                row.bytes += *activity.bytes;
                row.sizedNs += ns;
                if (activity.bytesFromCall) ++row.fromCalls;
            }
            row.hiddenNs += m_kernels[activity.device].overlapNs(activity.startNs, activity.endNs);
            row.cpuWaitNs += cpuWait(activity, syncs);
            last[activity.stream].push_back(&group);
        }
        for (auto& [key, group] : groups) {
            const auto most =
                std::max_element(group.waiters.begin(), group.waiters.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
            if (most != group.waiters.end()) group.row.waiter = m_trace.names.at(most->first);
            m_out.transfers.push_back(std::move(group.row));
        }
        longestFirst(m_out.transfers);
    }

    /// A copy from or to pageable memory holds its caller; a synchronisation holds its own.
    std::int64_t cpuWait(const GpuActivity& copy, const BusyTime& syncs) const {
        std::int64_t ns = syncs.overlapNs(copy.startNs, copy.endNs);
        if (const RuntimeCall* call = m_trace.callOf(copy))
            ns += std::max<std::int64_t>(
                std::min(copy.endNs, call->endNs) - std::max(copy.startNs, call->startNs), 0);
        return std::min(ns, copy.durationNs());
    }

    void makeSyncs() {
        const BusyTime busy = unionOf(m_trace.activities, [](const GpuActivity&) { return true; });
        std::map<std::tuple<NameId, NameId, NameId>, KinetoSync> groups;
        for (const RuntimeCall& call : m_trace.calls) {
            if (call.kind != CallKind::synchronize && call.kind != CallKind::blockingCopy) continue;
            KinetoSync& row = groups[{call.name, call.line, call.op}];
            if (row.count == 0) {
                row.call = m_trace.names.at(call.name);
                row.line = m_trace.names.at(call.line);
                row.op = m_trace.names.at(call.op);
            }
            ++row.count;
            row.totalNs += call.endNs - call.startNs;
            row.busyNs += busy.overlapNs(call.startNs, call.endNs);
        }
        for (auto& [key, row] : groups) m_out.syncs.push_back(std::move(row));
        longestFirst(m_out.syncs);
    }

    template <class Rows> static void longestFirst(Rows& rows) {
        std::stable_sort(rows.begin(), rows.end(),
                         [](const auto& a, const auto& b) { return a.totalNs > b.totalNs; });
    }

    const KinetoTrace& m_trace;
    KinetoLedger m_out;
    std::map<std::uint32_t, BusyTime> m_kernels; ///< by device
};

} // namespace

std::string_view name(IdleCause cause) noexcept {
    switch (cause) {
    case IdleCause::sync:
        return "sync";
    case IdleCause::copy:
        return "copy";
    case IdleCause::memory:
        return "memory";
    case IdleCause::dataLoading:
        return "data-loading";
    case IdleCause::ops:
        return "ops";
    case IdleCause::python:
        return "python";
    case IdleCause::launch:
        return "launch";
    case IdleCause::queued:
        return "queued";
    case IdleCause::unknown:
        return "unknown";
    }
    return {};
}

std::string_view name(CopyKind kind) noexcept {
    switch (kind) {
    case CopyKind::hostToDevice:
        return "host-to-device";
    case CopyKind::deviceToHost:
        return "device-to-host";
    case CopyKind::withinDevice:
        return "within-device";
    case CopyKind::peer:
        return "peer";
    case CopyKind::hostToHost:
        return "host-to-host";
    case CopyKind::unknown:
        return "unknown";
    }
    return {};
}

std::string_view name(HostMemory memory) noexcept {
    switch (memory) {
    case HostMemory::unknown:
        return "unknown";
    case HostMemory::pageable:
        return "pageable";
    case HostMemory::pinned:
        return "pinned";
    case HostMemory::managed:
        return "managed";
    case HostMemory::none:
        return "none";
    }
    return {};
}

KinetoLedger makeKinetoLedger(const KinetoTrace& trace) { return LedgerMaker(trace).make(); }

} // namespace twb
