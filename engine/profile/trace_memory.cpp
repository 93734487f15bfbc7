#include "profile/trace_memory.h"

#include <algorithm>
#include <map>

namespace twb {
namespace {

/// Memory that several values use one after the other, in place.
struct Block {
    std::uint64_t bytes = 0;
    Device device;
    std::uint32_t producer = kNone; ///< the first step that writes it
    bool stays = false;             ///< alive until the end of the run
    bool alive = false;
    std::int64_t firstUse = 0;
    std::int64_t lastUse = 0;
};

struct Change {
    std::int64_t ns = 0;
    Device device;
    std::int64_t bytes = 0;
};

/// The blocks of a plan, and the blocks that each step uses.
struct Blocks {
    explicit Blocks(const Plan& plan) : touched(plan.steps.size()) {
        std::vector<std::uint32_t> blockOf(plan.values.size(), kNone);
        for (const Step& step : plan.steps) {
            for (const std::uint32_t value : step.inputs)
                if (value != kNone && blockOf[value] != kNone) touched[step.index].push_back(blockOf[value]);
            for (const std::uint32_t output : step.outputs) {
                if (output == kNone || blockOf[output] != kNone) continue;
                const PlanValue& value = plan.values[output];
                if (value.absent) continue;
                const std::uint32_t sameMemory = value.updateOf != kNone          ? value.updateOf
                                                 : output == step.outputs.front() ? step.inPlaceOf
                                                                                  : kNone;
                if (sameMemory != kNone && blockOf[sameMemory] != kNone) {
                    blockOf[output] = blockOf[sameMemory];
                } else {
                    blockOf[output] = static_cast<std::uint32_t>(all.size());
                    all.push_back(
                        {value.type.isKnown() ? static_cast<std::uint64_t>(value.type.byteCount()) : 0,
                         value.device, step.index});
                }
                Block& block = all[blockOf[output]];
                block.stays = block.stays || value.kept || step.setup;
                touched[step.index].push_back(blockOf[output]);
            }
        }
    }
    std::vector<Block> all;
    std::vector<std::vector<std::uint32_t>> touched; ///< by step
};

/// Sorted by time; at the same time, frees come before allocations.
std::vector<Change> changesOf(const std::vector<LiveTensor>& tensors) {
    std::vector<Change> changes;
    for (const LiveTensor& tensor : tensors) {
        changes.push_back({tensor.startNs, tensor.device, static_cast<std::int64_t>(tensor.bytes)});
        if (tensor.endNs != kToTheEnd)
            changes.push_back({tensor.endNs, tensor.device, -static_cast<std::int64_t>(tensor.bytes)});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return a.ns != b.ns ? a.ns < b.ns : a.bytes < b.bytes;
    });
    return changes;
}

} // namespace

std::vector<LiveTensor> liveTensors(const Plan& plan, const std::vector<StepRecord>& records) {
    Blocks blocks(plan);
    std::vector<LiveTensor> out;
    const auto release = [&](Block& block) {
        if (!block.alive || block.stays) return;
        out.push_back({block.producer, block.device, block.bytes, block.firstUse, block.lastUse});
        block.alive = false;
    };
    for (const StepRecord& record : records) {
        for (const std::uint32_t index : blocks.touched[record.step]) {
            Block& block = blocks.all[index];
            if (block.producer == record.step) release(block); // from the previous iteration
            if (!block.alive) {
                block.alive = true;
                block.firstUse = record.startNs;
                block.lastUse = record.endNs;
            }
            block.lastUse = std::max(block.lastUse, record.endNs);
        }
    }
    for (Block& block : blocks.all) {
        if (block.alive && block.stays)
            out.push_back({block.producer, block.device, block.bytes, block.firstUse, kToTheEnd});
        release(block);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const LiveTensor& a, const LiveTensor& b) { return a.startNs < b.startNs; });
    return out;
}

std::vector<MemorySample> liveMemory(const Plan& plan, const std::vector<StepRecord>& records) {
    const std::vector<Change> changes = changesOf(liveTensors(plan, records));
    std::map<Device, std::int64_t> now;
    std::vector<MemorySample> samples;
    for (std::size_t i = 0; i < changes.size();) {
        const std::int64_t ns = changes[i].ns;
        std::map<Device, std::int64_t> changed;
        for (; i < changes.size() && changes[i].ns == ns; ++i) changed[changes[i].device] += changes[i].bytes;
        for (const auto& [device, difference] : changed) {
            now[device] += difference;
            samples.push_back(
                {ns, device, static_cast<std::uint64_t>(std::max<std::int64_t>(now[device], 0))});
        }
    }
    return samples;
}

std::vector<MemoryCourse> memoryCourses(const Plan& plan, const std::vector<StepRecord>& records) {
    std::int64_t start = kToTheEnd;
    std::int64_t end = 0;
    for (const StepRecord& record : records) {
        if (plan.steps[record.step].setup) continue;
        start = std::min(start, record.startNs);
        end = std::max(end, record.endNs);
    }
    std::map<Device, MemoryCourse> courses;
    for (const LiveTensor& tensor : liveTensors(plan, records)) {
        if (tensor.bytes == 0 || tensor.endNs < start) continue;
        courses[tensor.device].tensors.push_back(tensor);
    }
    std::vector<MemoryCourse> out;
    for (auto& [device, course] : courses) {
        course.device = device;
        course.startNs = start;
        course.endNs = end;
        std::int64_t now = 0;
        for (const Change& change : changesOf(course.tensors)) {
            now += change.bytes;
            if (change.ns > end || now <= static_cast<std::int64_t>(course.peakBytes)) continue;
            course.peakBytes = static_cast<std::uint64_t>(now);
            course.peakNs = std::max(change.ns, start);
        }
        for (const LiveTensor& tensor : course.tensors)
            if (tensor.startNs <= course.peakNs && tensor.endNs > course.peakNs)
                course.atPeak.push_back(tensor);
        std::stable_sort(course.atPeak.begin(), course.atPeak.end(),
                         [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
        out.push_back(std::move(course));
    }
    return out;
}

} // namespace twb
