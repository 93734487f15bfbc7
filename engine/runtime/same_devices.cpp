#include "runtime/same_devices.h"

#include "backends/world.h"
#include "graph/rank_lanes.h"
#include "runtime/same_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twb {
namespace {

/// The device that a rank uses for a lane that may be a GPU.
struct LaneDevice {
    enum class Kind : char { real = 'r', simulated = 's', cpu = 'c' };

    int rank = 0;
    std::string lane; ///< as the file names it
    Kind kind = Kind::real;
    std::string why; ///< why it is simulated; may be empty
};

constexpr std::size_t kLongestReason = 160;

/// The part after the colon of "cuda:0 uses a simulated NVIDIA H200: NVIDIA driver not found (libcuda.so.1)".
std::string reasonOf(const DeviceMap& devices, Device device) {
    const std::string remark = devices.remark(device);
    const std::size_t colon = remark.find(": ");
    return colon == std::string::npos ? std::string() : remark.substr(colon + 2, kLongestReason);
}

/// Of this rank, a line each: "r cuda:0\n".
std::string ownLanes(const Graph& graph, const DeviceMap& devices, int seenBy) {
    std::string out;
    std::set<Device> seen;
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.rank != 0 || lane.device.isCpu() || !seen.insert(lane.device).second) continue;
        const Device device = devices.resolve(lane.device);
        const bool isSimulated = devices.isSimulated(device);
        const auto kind = device.isCpu() ? LaneDevice::Kind::cpu
                          : isSimulated  ? LaneDevice::Kind::simulated
                                         : LaneDevice::Kind::real;
        out += fmt::format("{} {}", static_cast<char>(kind), asSeenBy(seenBy, lane.device).toString());
        if (isSimulated) out += ' ' + reasonOf(devices, device);
        out += '\n';
    }
    return out;
}

void addLanes(int rank, std::string_view lines, std::vector<LaneDevice>& to) {
    while (!lines.empty()) {
        const std::string_view line = lines.substr(0, lines.find('\n'));
        lines.remove_prefix(std::min(line.size() + 1, lines.size()));
        const std::string_view rest = line.substr(2);
        const std::string_view lane = rest.substr(0, rest.find(' '));
        const std::string_view why = rest.substr(std::min(lane.size() + 1, rest.size()));
        to.push_back({rank, std::string(lane), static_cast<LaneDevice::Kind>(line[0]), std::string(why)});
    }
}

/// Of all ranks, in their order.
std::vector<LaneDevice> lanesOfAll(World& world, std::string own) {
    std::vector<LaneDevice> out;
    const std::vector<std::string> all = shareTexts(world, std::move(own), "lanes");
    for (std::size_t rank = 0; rank < all.size(); ++rank) addLanes(static_cast<int>(rank), all[rank], out);
    return out;
}

[[noreturn]] void refuseMixture(const LaneDevice& real, const LaneDevice& simulated,
                                const std::vector<LaneDevice>& lanes) {
    std::vector<std::string> simulateAll;
    for (const LaneDevice& lane : lanes) {
        std::string option = fmt::format("--device-map {}=simulated:h200", lane.lane);
        if (lane.kind == LaneDevice::Kind::real &&
            std::ranges::find(simulateAll, option) == simulateAll.end())
            simulateAll.push_back(std::move(option));
    }
    throw DifferentPlans(
        fmt::format("the lane {} is a real GPU on rank {}, but {} is simulated on rank {}{}: measured times "
                    "would contain "
                    "waits for a simulation; start rank {} where it has a GPU, or simulate all GPUs with {}",
                    real.lane, real.rank, real.lane == simulated.lane ? "it" : "the lane " + simulated.lane,
                    simulated.rank, simulated.why.empty() ? "" : fmt::format(" ({})", simulated.why),
                    simulated.rank, fmt::join(simulateAll, " ")));
}

/// Of a lane on `auto`.
[[noreturn]] void refuseCpu(const LaneDevice& gpu, const LaneDevice& cpu) {
    throw DifferentPlans(fmt::format(
        "the lane {} becomes a GPU on rank {}, but the cpu on rank {}; set it to cpu, or start rank {} where "
        "it has a GPU",
        gpu.lane, gpu.rank, cpu.rank, cpu.rank));
}

} // namespace

std::vector<std::string> requireSameDevices(const Graph& graph, const DeviceMap& devices, int seenBy) {
    World& world = devices.world();
    if (world.size() == 1 || world.info().simulated) return {};
    const std::vector<LaneDevice> lanes = lanesOfAll(world, ownLanes(graph, devices, seenBy));
    const bool isDivided = dividesNodes(graph);
    for (const LaneDevice& one : lanes)
        for (const LaneDevice& other : lanes) {
            if (one.rank == other.rank || (!isDivided && one.lane != other.lane)) continue;
            using Kind = LaneDevice::Kind;
            if (one.kind == Kind::real && other.kind == Kind::simulated) refuseMixture(one, other, lanes);
            if (one.kind != Kind::cpu && other.kind == Kind::cpu) refuseCpu(one, other);
        }
    std::vector<std::string> out;
    for (const LaneDevice& lane : lanes)
        if (isDivided && lane.rank != world.rank() && !lane.why.empty())
            out.push_back(fmt::format("{} is simulated on rank {}: {}", lane.lane, lane.rank, lane.why));
    return out;
}

} // namespace twb
