#include "app/placement_options.h"

#include "core/error.h"
#include "formats/file_claims.h"
#include "graph/rank_lanes.h"
#include "profile/resource_path.h"
#include "runtime/rank_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace twb {

std::shared_ptr<World> simulatedWorld(const std::string& option) {
    constexpr std::string_view simulated = "simulated:";
    if (!option.starts_with(simulated))
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("--world {}: write simulated:RANKS:LINK, for example simulated:4:nvlink; real "
                        "ranks are started by mpirun, mpiexec or srun",
                        option));
    return makeSimulatedWorld(std::string_view(option).substr(simulated.size()));
}

void PlacementOptions::addWorldTo(CLI::App& command) {
    command
        .add_option(
            "--world", world,
            "Take the times of communication, and of copies between lanes of several ranks, from a "
            "simulated link: simulated:4:nvlink, simulated:8:pcie, simulated:16:25gbe or, by latency "
            "and bandwidth, simulated:4:30us,2.9GB/s; default: one rank, and 25 GbE to lanes of others")
        ->type_name("WORLD");
}

void PlacementOptions::addTo(CLI::App& command, bool withRequireGpu) {
    command
        .add_option("--policy", policy,
                    "Rule for an operand on another device: strict (an error, as in PyTorch), implicit (a "
                    "copy, as in TensorFlow) or guard:h2d=ACTION,d2h=ACTION,d2d=ACTION with allow, log or "
                    "disallow for each direction (as in JAX); default: the file's policy")
        ->type_name("POLICY")
        ->check([](const std::string& text) {
            return Policy::parse(text) ? std::string()
                                       : "\"" + text +
                                             "\" is not a policy; write strict, implicit or "
                                             "guard:h2d=disallow,d2h=log,d2d=allow";
        });
    command
        .add_option(
            "--device-map", deviceMap,
            "Hardware for a device: cuda:0=simulated:h200 or cuda:0=real; `twb devices` lists the profiles")
        ->type_name("DEVICE=WHAT")
        ->take_all()
        ->allow_extra_args(false);
    if (withRequireGpu)
        command.add_flag("--require-gpu", requireGpu,
                         "Fail with exit code 5 instead of simulating a missing GPU");
}

void PlacementOptions::claim(FileClaims& claims) const {
    constexpr std::string_view kSimulated = "=simulated:";
    for (const std::string& text : deviceMap)
        if (const auto at = text.find(kSimulated); at != std::string::npos && text.ends_with(".json"))
            claims.read(text.substr(at + kSimulated.size()), "--device-map");
}

std::vector<std::string> PlacementOptions::profiles() const {
    std::vector<std::string> out;
    for (const DeviceChoice& choice : choices()) {
        if (choice.profile.empty()) continue;
        try {
            const bool isFile = choice.profile.ends_with(".json");
            out.push_back(profileJson(isFile
                                          ? readProfile(choice.profile)
                                          : ProfileLibrary(resourceFolder() / "devices").at(choice.profile)));
        } catch (const Error&) {
            // The run will report it.
        }
    }
    return out;
}

Policy PlacementOptions::policyFor(const Graph& graph) const {
    return Policy::parse(policy).value_or(graph.info().policy);
}

DeviceMap PlacementOptions::devicesFor(const Graph& graph) const {
    const bool onlyCpu = std::all_of(graph.lanes().begin(), graph.lanes().end(),
                                     [](const Lane& lane) { return lane.device == Device::cpu(); });
    // Nothing is simulated, so the profiles are not needed.
    DeviceMap out =
        onlyCpu && deviceMap.empty()
            ? DeviceMap()
            : makeDeviceMap(graph, choices(), ProfileLibrary(resourceFolder() / "devices"), requireGpu);
    if (!world.empty()) out.setWorld(simulatedWorld(world));
    requireRanks(graph, out.world());
    return out;
}

DeviceMap PlacementOptions::devicesForPart(const Graph& seen, int rank) const {
    std::vector<DeviceChoice> named = choices();
    for (DeviceChoice& choice : named) choice.device = asSeenBy(rank, choice.device);
    // The cpu of this rank is always real.
    std::erase_if(named, [](const DeviceChoice& c) {
        return c.device == Device::cpu() || (c.profile.empty() && c.device.rank != 0);
    });
    DeviceMap out = makeDeviceMap(seen, named, ProfileLibrary(resourceFolder() / "devices"));
    for (const Device device : out.devices())
        if (requireGpu && device.isCuda() && device.rank == 0 && out.isSimulated(device))
            throw Error(ErrorCode::missingDevice,
                        fmt::format("{} must be a real GPU in this run: {}",
                                    asSeenBy(rank, device).toString(), out.remark(device)));
    return out;
}

std::vector<DeviceChoice> PlacementOptions::choices() const {
    std::vector<DeviceChoice> out;
    for (const std::string& text : deviceMap) {
        try {
            out.push_back(parseDeviceChoice(text));
        } catch (const Error& error) {
            throw Error(error.code(), fmt::format("--device-map {}", error.what()));
        }
        const Device device = out.back().device;
        if (std::any_of(out.begin(), out.end() - 1, [&](const auto& c) { return c.device == device; }))
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("--device-map names {} twice; give it once", device.toString()));
    }
    return out;
}

std::vector<std::string> PlacementOptions::remarks(const Graph& graph) const {
    std::set<std::string> used;
    for (const Lane& lane : graph.lanes())
        used.insert((lane.device.isAuto() ? Device::cuda(0) : lane.device).toString());
    std::vector<std::string> out;
    const auto isHost = [&](Device device) { // it reads files and shapes for the lanes of its rank
        return std::ranges::any_of(graph.lanes(),
                                   [&](const Lane& lane) { return lane.device.host() == device; });
    };
    for (const DeviceChoice& choice : choices())
        if (const std::string device = choice.device.toString();
            !used.contains(device) && !isHost(choice.device))
            out.push_back(fmt::format("--device-map {} has no effect: the graph's lanes are on {}", device,
                                      used.empty() ? "no device" : fmt::format("{}", fmt::join(used, ", "))));
    return out;
}

} // namespace twb
