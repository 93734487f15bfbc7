#pragma once

#include "backends/device_map.h"
#include "graph/graph.h"
#include "profile/profiles.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace twb {

class FileClaims;

/// The world that --world names. Throws Error(invalidArgument).
std::shared_ptr<World> simulatedWorld(const std::string& option);

/// `--policy`, `--device-map`, `--require-gpu` and `--world`: the policy and the hardware of a run.
struct PlacementOptions {
    std::string policy; ///< empty: the graph's own policy
    std::vector<std::string> deviceMap;
    bool requireGpu = false;
    std::string world; ///< "simulated:4:nvlink"; empty: one rank, and the default link to lanes of others

    void addTo(CLI::App& command, bool withRequireGpu);
    /// For commands that run nothing; those that run a graph have RankOptions.
    void addWorldTo(CLI::App& command);
    /// Claims the profiles that --device-map reads.
    void claim(FileClaims& claims) const;
    /// The JSON of each profile that --device-map names, as far as it can be read.
    std::vector<std::string> profiles() const;
    Policy policyFor(const Graph& graph) const;
    /// With the ranks of `world`. Throws Error(invalidArgument) or Error(missingDevice), also if the graph
    /// has a lane of a rank that the world lacks.
    DeviceMap devicesFor(const Graph& graph) const;
    /// For the part of one rank, in a graph as that rank sees it (graph/rank_lanes.h). --device-map names
    /// devices as the file does, and --require-gpu concerns the rank's own. Throws as devicesFor().
    DeviceMap devicesForPart(const Graph& seen, int rank) const;
    /// Sentences about each `--device-map` without effect on this graph.
    std::vector<std::string> remarks(const Graph& graph) const;

private:
    std::vector<DeviceChoice> choices() const;
};

} // namespace twb
