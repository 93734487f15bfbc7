#include "runtime/memory_plan.h"

#include "runtime/layout_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

namespace twb {
namespace {

struct Life {
    std::uint32_t producer = kNone;
    std::uint32_t lastReader = kNone;
    std::uint32_t readers = 0;
    bool oneStream = true; ///< produced and read on one stream only
};

std::vector<Life> livesOf(const Plan& plan) {
    std::vector<Life> lives(plan.values.size());
    for (const Step& step : plan.steps) {
        for (std::uint32_t v : step.outputs) lives[v].producer = step.index;
        for (std::uint32_t v : step.inputs) {
            if (v == kNone) continue;
            Life& life = lives[v];
            ++life.readers;
            life.lastReader = step.index;
            if (life.producer == kNone || plan.steps[life.producer].stream != step.stream)
                life.oneStream = false;
        }
    }
    return lives;
}

/// Free slots of one (device, memory kind, stream), by size.
using FreeSlots = std::multimap<std::size_t, std::uint32_t>;
using Place = std::tuple<Device, MemoryKind, std::uint32_t>;

bool mayShare(const Plan& plan, const Life& life, std::uint32_t v) {
    const PlanValue& value = plan.values[v];
    return !value.kept && !value.absent && !value.handedOn && !value.ahead && value.updateOf == kNone &&
           life.oneStream && life.lastReader != kNone && value.type.isKnown() &&
           !plan.steps[life.producer].setup && !plan.steps[life.producer].dynamic;
}

/// The inputs whose memory the step's first result may take.
std::vector<int> reusedInputs(const Plan& plan, const Step& step) {
    return keepsOrder(plan, step) ? std::vector{0} : step.op->inPlace;
}

/// Whether both have equally many elements of one dtype, in the same order in memory.
bool sameElements(const PlanValue& a, const PlanValue& b) {
    if (a.channelsLast != b.channelsLast) return false;
    return a.type == b.type || (!a.channelsLast && a.type.dtype == b.type.dtype &&
                                a.type.shape.elementCount() == b.type.shape.elementCount());
}

} // namespace

void planMemory(Plan& plan, bool share) {
    const std::vector<Life> lives = livesOf(plan);
    for (const Step& step : plan.steps) // the order of one stream protects what only that stream uses
        for (const std::uint32_t v : step.outputs) {
            PlanValue& value = plan.values[v];
            // A copy takes no more than two memories, and none more where a body ends each iteration.
            const bool isCopiedAhead = value.ahead && plan.inFlight <= 2 && plan.controls.empty();
            value.ahead = (step.ahead || isCopiedAhead) && !lives[v].oneStream && !value.isUpdated;
        }
    std::map<Place, FreeSlots> free;
    const auto newSlot = [&](std::uint32_t v) {
        const PlanValue& value = plan.values[v];
        const bool sized = value.type.isKnown() && !value.absent;
        const std::size_t bytes = sized ? static_cast<std::size_t>(value.type.byteCount()) : 0;
        const auto first = static_cast<std::uint32_t>(plan.slots.size());
        plan.slots.resize(first + plan.memoriesOf(v), {value.device, value.memory, bytes});
        return first;
    };
    for (std::uint32_t v = 0; v < plan.values.size(); ++v) {
        if (lives[v].producer != kNone) continue; // a body's state: its memory comes from outside
        plan.values[v].slot = static_cast<std::uint32_t>(plan.slots.size());
        plan.slots.push_back({plan.values[v].device, plan.values[v].memory, 0});
    }
    for (Step& step : plan.steps) {
        for (std::uint32_t v : step.outputs) {
            PlanValue& value = plan.values[v];
            if (!share || !mayShare(plan, lives[v], v)) {
                value.slot = value.updateOf == kNone ? newSlot(v) : plan.values[value.updateOf].slot;
                continue;
            }
            const auto bytes = static_cast<std::size_t>(value.type.byteCount());
            if (step.op && v == step.outputs.front()) {
                for (const int port : reusedInputs(plan, step)) {
                    const auto p = static_cast<std::size_t>(port);
                    if (p >= step.inputs.size() || step.inputs[p] == kNone) continue;
                    const std::uint32_t in = step.inputs[p];
                    const PlanValue& input = plan.values[in];
                    if (!mayShare(plan, lives[in], in) || lives[in].readers != 1 ||
                        input.device != value.device || input.memory != value.memory ||
                        !(sameElements(input, value) || keepsOrder(plan, step)))
                        continue;
                    value.slot = input.slot;
                    step.inPlaceOf = in;
                    break;
                }
                if (step.inPlaceOf != kNone) continue;
            }
            FreeSlots& slots = free[{value.device, value.memory, step.stream}];
            // The smallest slot that suffices, unless it is much too large; else the largest of the smaller
            // ones, which grows by less than a new slot takes.
            auto fit = slots.lower_bound(bytes);
            const bool suffices = fit != slots.end() && fit->first / 4 <= bytes;
            if (!suffices) fit = fit == slots.begin() ? slots.end() : std::prev(fit);
            if (fit == slots.end()) {
                value.slot = newSlot(v);
                continue;
            }
            value.slot = fit->second;
            plan.slots[value.slot].bytes = std::max(fit->first, bytes);
            slots.erase(fit);
        }
        // The memory of inputs that are read for the last time is free for later steps on this stream.
        for (std::size_t i = 0; i < step.inputs.size(); ++i) {
            const std::uint32_t v = step.inputs[i];
            if (v == kNone || lives[v].lastReader != step.index || v == step.inPlaceOf) continue;
            if (std::find(step.inputs.begin(), step.inputs.begin() + static_cast<std::ptrdiff_t>(i), v) !=
                step.inputs.begin() + static_cast<std::ptrdiff_t>(i))
                continue; // repeated input
            const PlanValue& value = plan.values[v];
            if (share && mayShare(plan, lives[v], v))
                free[{value.device, value.memory, step.stream}].emplace(plan.slots[value.slot].bytes,
                                                                        value.slot);
        }
    }
}

void planWaits(Plan& plan, const std::vector<bool>& blocking) {
    const std::size_t streams = plan.streams.size();
    std::vector<std::uint32_t>& producer = plan.producers;
    producer.assign(plan.values.size(), kNone);
    // The last step of stream t (index + 1) for which stream s has waited: waits for earlier steps are
    // unnecessary. By body: steps around a body may stand between its steps, but run before or after it.
    using Seen = std::vector<std::vector<std::uint32_t>>;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Seen> seenIn;
    const auto seenBy = [&](const Step& step) -> std::vector<std::uint32_t>& {
        Seen& seen = seenIn[{step.owner, step.body}];
        if (seen.empty()) seen.assign(streams, std::vector<std::uint32_t>(streams, 0));
        return seen[step.stream];
    };
    const auto waitFor = [&](Step& step, std::uint32_t other) {
        if (other == kNone) return;
        Step& before = plan.steps[other];
        // All streams are idle at the start and the end of a body.
        if (before.owner != step.owner || before.body != step.body) return;
        if (before.stream == step.stream || before.setup != step.setup) return;
        std::uint32_t& reached = seenBy(step)[before.stream];
        if (reached > other) return;
        if (!step.last)
            reached = other + 1; // a sink does not run in every iteration, so its wait does not count
        step.waits.push_back(other);
        before.recorded = true;
    };
    std::map<int, std::uint32_t> lastBlocking; // by rank: each has a host of its own
    const auto lastBlockingFor = [&](const Step& step) {
        const auto last = lastBlocking.find(plan.streams[step.stream].device.rank);
        return last == lastBlocking.end() ? kNone : last->second;
    };
    std::vector<std::vector<std::uint32_t>> readers(plan.values.size()); // of values that are updated
    for (Step& step : plan.steps) {
        for (std::uint32_t v : step.inputs) {
            if (v == kNone) continue;
            waitFor(step, producer[v]);
            if (plan.values[v].isUpdated) readers[v].push_back(step.index);
        }
        for (std::uint32_t v : step.outputs)
            if (plan.values[v].updateOf != kNone)
                for (const std::uint32_t reader : readers[plan.values[v].updateOf])
                    if (reader != step.index) waitFor(step, reader);
        for (std::uint32_t v : step.outputs) producer[v] = step.index;
        if (!step.ahead) waitFor(step, lastBlockingFor(step));
        if (blocking[step.index]) lastBlocking[plan.streams[step.stream].device.rank] = step.index;
    }
    // The next iteration writes the same memory: a writer waits for the steps of the previous iteration that
    // used it on other streams. The last of each stream suffices. Memory that is written ahead has one copy
    // per lap.
    std::vector<std::map<std::uint32_t, std::uint32_t>> lastUser(plan.slots.size()); // by stream
    for (const Step& step : plan.steps) {
        if (step.setup || step.last) continue; // no iteration follows that of the sinks
        for (std::uint32_t v : step.inputs)
            if (v != kNone) lastUser[plan.values[v].slot][step.stream] = step.index;
        for (std::uint32_t v : step.outputs) lastUser[plan.values[v].slot][step.stream] = step.index;
    }
    seenIn.clear();
    const auto carry = [&](Step& step, std::uint32_t other) {
        Step& before = plan.steps[other];
        if (before.stream == step.stream || before.setup) return;
        if (before.owner != kNone || step.owner != kNone) return; // the same
        std::uint32_t& reached = seenBy(step)[before.stream];
        if (reached > other) return;
        if (!step.last) reached = other + 1;
        step.carriedWaits.push_back(other);
        before.recorded = true;
    };
    for (Step& step : plan.steps) {
        if (step.setup) continue;
        if (const std::uint32_t last = lastBlockingFor(step); last != kNone && !step.ahead) carry(step, last);
        for (std::uint32_t v : step.outputs)
            for (const auto& [stream, user] : lastUser[plan.values[v].slot]) {
                if (!plan.values[v].ahead) {
                    carry(step, user);
                } else if (stream != step.stream &&
                           std::ranges::find(step.lapWaits, user) == step.lapWaits.end()) {
                    step.lapWaits.push_back(user);
                    plan.steps[user].recorded = true;
                }
            }
        for (std::uint32_t v : step.inputs) // the update of the previous iteration, and its readers
            if (v != kNone && plan.values[v].isUpdated)
                for (const auto& [stream, user] : lastUser[plan.values[v].slot]) carry(step, user);
    }
}

} // namespace twb
