#include "runtime/joined_devices.h"

#include "backends/rank_device.h"
#include "core/error.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

RankDevice* rankDevice(const DeviceMap& devices, Device device) {
    return dynamic_cast<RankDevice*>(devices.find(device));
}

/// The first of the ranks' clauses; "" if all are empty. All ranks get the same.
std::string firstOf(World& world, const std::string& own) {
    for (std::string& text : shareTexts(world, own, "devices"))
        if (!text.empty()) return std::move(text);
    return {};
}

/// The end of "cuda:0 cannot use NCCL".
std::string reported(const World& world, const std::string& why) {
    if (why.empty()) return {};
    return world.size() == 1 ? ": " + why : fmt::format(": {} on rank {}", why, world.rank());
}

} // namespace

bool makesCalls(const DeviceMap& devices, Device device) {
    const RankDevice* found = rankDevice(devices, device);
    return found && found->hasJoined();
}

bool callsByHost(const DeviceMap& devices, Device device) {
    const RankDevice* found = rankDevice(devices, device);
    return found && !found->hasJoined();
}

JoinedDevices::JoinedDevices(const Graph& graph, const DeviceMap& devices) : m_devices(devices) {
    if (m_devices.world().info().simulated) return;
    try {
        join(graph);
    } catch (...) { // without a constructed object, there is no destructor
        leave();
        throw;
    }
}

JoinedDevices::~JoinedDevices() { leave(); }

void JoinedDevices::leave() noexcept {
    for (RankDevice* device : m_joined) device->leave();
    m_joined.clear();
}

void JoinedDevices::join(const Graph& graph) {
    World& world = m_devices.world();
    const auto isAsked = [&](const Lane& lane) {
        if (world.size() > 1) return true;
        if (m_devices.resolve(lane.device).isCpu()) return false;
        return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
            const Op* op = findOp(node.op);
            return node.lane == lane.id && op && op->role == OpRole::collective;
        });
    };
    // By the names in the graph, which all ranks share. `auto` may be another device on each rank.
    std::vector<Device> seen;
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.isCpu() || std::ranges::find(seen, lane.device) != seen.end() || !isAsked(lane))
            continue;
        seen.push_back(lane.device);
        const Device device = m_devices.resolve(lane.device);
        if (makesCalls(m_devices, device)) continue; // joined as `auto` or by its name, on all ranks
        const std::string why = tryToJoin(device);
        if (!why.empty() && !device.isCpu() && !m_devices.isSimulated(device))
            m_remarks.push_back(
                fmt::format("{} cannot use NCCL{}. Its tensors are copied to the cpu for calls over ranks.",
                            device.toString(), why));
    }
}

/// Why it has not joined, to follow "cuda:0 cannot use NCCL"; "" if it has.
std::string JoinedDevices::tryToJoin(Device of) {
    World& world = m_devices.world();
    RankDevice* const device = rankDevice(m_devices, of);
    std::string own;
    if (device)
        own = reported(world, device->whyNoCalls());
    else
        own = fmt::format(", because rank {} {}", world.rank(),
                          of.isCpu() ? "uses the cpu instead" : "has no real GPU");
    std::string why = firstOf(world, own);
    if (!why.empty()) return why;
    own.clear();
    m_joined.push_back(device); // firstOf() may throw
    try {
        device->join(world);
    } catch (const Error& error) {
        own = reported(world, error.what());
    }
    why = firstOf(world, own);
    if (!why.empty()) {
        m_joined.pop_back();
        device->leave();
    }
    return why;
}

} // namespace twb
