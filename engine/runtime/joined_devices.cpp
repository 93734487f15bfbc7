#include "runtime/joined_devices.h"

#include "backends/rank_device.h"
#include "core/error.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace twb {
namespace {

RankDevice* rankDevice(const DeviceMap& devices, Device device) {
    return dynamic_cast<RankDevice*>(devices.find(device));
}

/// The first of the ranks' clauses, with its rank; "" if all are empty. All ranks get the same.
std::string firstOf(World& world, const std::string& own) {
    using Text = std::array<char, 256>;
    Text mine{};
    std::memcpy(mine.data(), own.data(), std::min(own.size(), mine.size() - 1));
    std::vector<Text> all(static_cast<std::size_t>(world.size()));
    world.run({CollectiveKind::allGather, Reduction::sum, DType::u8, mine.data(), all.data(),
               static_cast<std::int64_t>(mine.size()), 0, "devices"});
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (all[rank][0] != 0)
            return world.size() == 1 ? std::string(all[rank].data())
                                     : fmt::format("{} on rank {}", all[rank].data(), rank);
    return {};
}

} // namespace

bool makesCalls(const DeviceMap& devices, Device device) {
    const RankDevice* found = rankDevice(devices, device);
    return found && found->hasJoined();
}

JoinedDevices::JoinedDevices(const Graph& graph, const DeviceMap& devices) : m_devices(devices) {
    World& world = m_devices.world();
    if (world.info().simulated) return;
    const auto isAsked = [&](const Lane& lane) {
        if (world.size() > 1) return true;
        return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
            const Op* op = findOp(node.op);
            return node.lane == lane.id && op && op->role == OpRole::collective;
        });
    };
    std::vector<Device> seen;
    for (const Lane& lane : graph.lanes()) {
        const Device device = m_devices.resolve(lane.device);
        if (device.isCpu() || std::ranges::find(seen, device) != seen.end() || !isAsked(lane)) continue;
        seen.push_back(device);
        const std::string why = tryToJoin(rankDevice(m_devices, device), world);
        if (!why.empty() && !m_devices.isSimulated(device))
            m_remarks.push_back(fmt::format("{} makes no calls over ranks: {}; its tensors are copied to the "
                                            "cpu for them",
                                            device.toString(), why));
    }
}

JoinedDevices::~JoinedDevices() {
    for (RankDevice* device : m_joined) device->leave();
}

/// Why it has not joined; "" if it has.
std::string JoinedDevices::tryToJoin(RankDevice* device, World& world) {
    std::string why = firstOf(world, device ? device->whyNoCalls() : "it is no GPU");
    if (!why.empty()) return why;
    std::string failure;
    try {
        device->join(world);
    } catch (const Error& error) {
        failure = error.what();
    }
    why = firstOf(world, failure);
    if (why.empty())
        m_joined.push_back(device);
    else
        device->leave();
    return why;
}

} // namespace twb
