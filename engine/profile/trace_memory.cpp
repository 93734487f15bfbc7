#include "profile/trace_memory.h"

#include <algorithm>
#include <map>

namespace twb {
namespace {

/// Memory that one or more values use one after the other, each in place of the one before.
struct Block {
    std::uint64_t bytes = 0;
    Device device;
    std::uint32_t producer = kNone; ///< the step that fills it first
    bool stays = false;             ///< to the end of the run
    bool alive = false;
    std::int64_t lastUse = 0;
};

struct Change {
    std::int64_t ns = 0;
    Device device;
    std::int64_t bytes = 0;
};

/// The blocks of a plan, and which of them each step touches.
struct Blocks {
    explicit Blocks(const Plan& plan) : touched(plan.steps.size()) {
        std::vector<std::uint32_t> blockOf(plan.values.size(), kNone);
        for (const Step& step : plan.steps) {
            for (const std::uint32_t value : step.inputs)
                if (value != kNone && blockOf[value] != kNone) touched[step.index].push_back(blockOf[value]);
            for (const std::uint32_t output : step.outputs) {
                if (output == kNone || blockOf[output] != kNone) continue;
                const PlanValue& value = plan.values[output];
                const bool takesOver = step.inPlaceOf != kNone && output == step.outputs.front() &&
                                       blockOf[step.inPlaceOf] != kNone;
                if (takesOver) {
                    blockOf[output] = blockOf[step.inPlaceOf];
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

} // namespace

std::vector<MemorySample> liveMemory(const Plan& plan, const std::vector<StepRecord>& records) {
    Blocks blocks(plan);
    std::vector<Change> changes;
    const auto release = [&](Block& block) {
        if (!block.alive || block.stays) return;
        changes.push_back({block.lastUse, block.device, -static_cast<std::int64_t>(block.bytes)});
        block.alive = false;
    };
    for (const StepRecord& record : records) {
        for (const std::uint32_t index : blocks.touched[record.step]) {
            Block& block = blocks.all[index];
            if (block.producer == record.step) release(block); // of the iteration before
            if (!block.alive) {
                block.alive = true;
                block.lastUse = record.endNs;
                changes.push_back({record.startNs, block.device, static_cast<std::int64_t>(block.bytes)});
            }
            block.lastUse = std::max(block.lastUse, record.endNs);
        }
    }
    for (Block& block : blocks.all) release(block);

    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return a.ns != b.ns ? a.ns < b.ns : a.bytes < b.bytes;
    });
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

} // namespace twb
