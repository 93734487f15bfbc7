#include "runtime/same_plan.h"

#include "backends/world.h"
#include "core/error.h"
#include "core/hash.h"
#include "graph/rank_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace twb {
namespace {

using Text = std::array<char, 256>;

/// The steps in the order of their nodes' ids: those of a forward pass come before those that were made from
/// them.
std::vector<const Step*> inOrder(const Plan& plan) {
    std::vector<const Step*> out;
    for (const Step& step : plan.steps) out.push_back(&step);
    std::ranges::stable_sort(out, {}, &Step::node);
    return out;
}

/// `Gemm "fc1"`, as all ranks can pass it on; "no node" behind the last one.
Text describe(const Plan& plan, std::uint64_t place) {
    Text out{};
    const std::vector<const Step*> steps = inOrder(plan);
    const std::string text =
        place >= steps.size() ? "no node"
                              : fmt::format("{} \"{}\"", steps[place]->op ? steps[place]->op->name : "copy",
                                            steps[place]->label);
    std::memcpy(out.data(), text.data(), std::min(text.size(), out.size() - 1));
    return out;
}

std::vector<std::uint64_t> gather(World& world, std::uint64_t own) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(world.size()));
    world.run({CollectiveKind::allGather, Reduction::sum, DType::u64, &own, all.data(), 1, 0, "plan"});
    return all;
}

void broadcast(World& world, DType dtype, void* values, std::size_t count, int root) {
    world.run({CollectiveKind::broadcast, Reduction::sum, dtype, values, values,
               static_cast<std::int64_t>(count), root, "plan"});
}

} // namespace

std::vector<std::uint64_t> stepHashes(const Plan& plan, int seenBy) {
    std::vector<std::uint64_t> out;
    for (const Step* one : inOrder(plan)) {
        const Step& step = *one;
        ContentHash hash;
        // The label of a copy names a device, and its stream that of either end, as the hardware has it.
        const PlanValue* copied = step.op ? nullptr : &plan.values[step.outputs[0]];
        const Device device = copied ? copied->device : plan.streams[step.stream].device;
        hash.add(step.op ? step.op->name : "copy")
            .add(copied ? copied->label : step.label)
            .add(static_cast<std::uint64_t>(step.index))
            .add(asSeenBy(seenBy, device).toString())
            .add(static_cast<std::uint64_t>(step.setup));
        for (const auto& [name, value] : step.attributes) {
            hash.add(name).add(toString(value));
            const AttributeSpec* spec = step.op ? step.op->attribute(name) : nullptr;
            if (!spec || spec->type != AttributeType::file || step.op->role == OpRole::sink || !plan.files)
                continue;
            if (const std::string path = toString(value); !path.empty())
                hash.add(plan.files->typeOf(path).toString());
        }
        for (const std::uint32_t v : step.inputs) {
            const std::uint32_t maker = v == kNone ? kNone : plan.producers[v];
            hash.add(static_cast<std::uint64_t>(maker));
            if (maker == kNone) continue;
            const auto& outputs = plan.steps[maker].outputs;
            hash.add(static_cast<std::uint64_t>(std::ranges::find(outputs, v) - outputs.begin()));
        }
        for (const std::uint32_t v : step.outputs) hash.add(plan.values[v].type.toString());
        out.push_back(hash.value());
    }
    return out;
}

void requireSamePlan(const Plan& plan, int seenBy) {
    World& world = plan.devices.world();
    if (world.size() == 1 || world.info().simulated) return;
    const std::vector<std::uint64_t> own = stepHashes(plan, seenBy);
    ContentHash whole;
    for (const std::uint64_t step : own) whole.add(step);
    const std::vector<std::uint64_t> all = gather(world, whole.value());
    if (std::ranges::adjacent_find(all, std::ranges::not_equal_to()) == all.end()) return;

    // Each rank compares its steps with those of rank 0.
    std::uint64_t count = own.size();
    broadcast(world, DType::u64, &count, 1, 0);
    std::vector<std::uint64_t> wanted = own;
    wanted.resize(count);
    broadcast(world, DType::u64, wanted.data(), wanted.size(), 0);
    const auto first = static_cast<std::uint64_t>(std::ranges::mismatch(own, wanted).in1 - own.begin());
    const std::vector<std::uint64_t> places = gather(world, world.rank() == 0 ? ~std::uint64_t{0} : first);
    const auto where = std::ranges::min_element(places);
    const auto rank = static_cast<int>(where - places.begin());
    Text there = describe(plan, *where);
    Text here = there;
    broadcast(world, DType::u8, here.data(), here.size(), 0);
    broadcast(world, DType::u8, there.data(), there.size(), rank);
    const bool isNamedAlike = here == there;
    throw DifferentPlans(fmt::format("rank {} would not run the same graph as rank 0: {} of rank 0 is the "
                                     "first that differs{}; give all ranks the "
                                     "same project, data and options",
                                     rank, here.data(),
                                     isNamedAlike ? " (in its settings, types or inputs)"
                                                  : fmt::format(", rank {} has {}", rank, there.data())));
}

} // namespace twb
