#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twb {

struct LinkProfile;

/// The predicted run of a plan, from the profiles of its devices alone. Steps of one stream run in the plan's
/// order; a step starts when all steps that it waits for are done. All times in ns.
struct Prediction {
    struct Span {
        double start = 0;
        double end = 0;
        std::uint32_t after = kNone; ///< the step whose end this one waited for; kNone: no wait
    };
    /// The parts of the critical path.
    struct Shares {
        double compute = 0;  ///< arithmetic and memory traffic of ops
        double transfer = 0; ///< copies between devices
        double overhead = 0; ///< launches
    };
    struct DeviceUse {
        Device device;
        std::string name;               ///< "simulated NVIDIA H200"
        std::uint64_t plannedBytes = 0; ///< from the memory plan
        std::uint64_t memoryBytes = 0;  ///< capacity of the device
        double busyNs = 0;              ///< of one iteration, sum of its streams
        bool fits() const noexcept { return plannedBytes <= memoryBytes; }
    };

    double setupNs = 0;   ///< steps that run once, before the iterations
    double latencyNs = 0; ///< one iteration alone
    /// From the end of one iteration to the end of the next in a long run: copies of one iteration overlap
    /// compute of another.
    double iterationNs = 0;
    std::vector<Span> spans;                 ///< of one iteration alone, by step; empty for setup steps
    std::vector<std::uint32_t> criticalPath; ///< steps, first to last
    Shares critical;                         ///< the sum is latencyNs
    std::vector<DeviceUse> devices;
    double communicationNs = 0; ///< calls over all ranks, of one iteration in a long run
    double hiddenNs = 0;        ///< their time during which some step computed
    double transferBytes = 0;   ///< of one iteration
    std::string sources;        ///< sourcesOf() the devices
    bool isComplete =
        true; ///< false if sizes or numbers of runs are known only at run time; these count as 0
    bool fits() const noexcept;
};

/// The profiles of these devices and their known errors: "from the figures of AMD EPYC (estimate; error
/// unknown), NVIDIA L4 (measured by twb calibrate on …; error of copies: median 4 %, at most 31 %, error of
/// kernels: median 12 %, at most 60 %)".
std::string sourcesOf(const DeviceMap& devices);

/// Linear in steps and waits. Bodies of If, Loop and Scan count once. `ofRun`: the iterations of the run, for
/// the planned memory, see Plan::bytesOn().
Prediction predict(const Plan& plan, std::int64_t ofRun = 0);

/// The plan of a graph under its own policy, or another one. On several ranks (DeviceMap::world) that all run
/// the whole graph, a training module averages its gradients over them. If the graph has errors, throws like
/// compile.
std::shared_ptr<const Plan> planFor(Graph graph, const DeviceMap& devices,
                                    std::shared_ptr<const TensorFiles> files,
                                    std::optional<Policy> policy = std::nullopt);
/// The prediction of planFor().
Prediction predict(const Graph& graph, const DeviceMap& devices, std::shared_ptr<const TensorFiles> files,
                   std::optional<Policy> policy = std::nullopt);

/// The prediction for rank 0 of `ranks` ranks, each with these devices and a batch of its own or, if the
/// lanes divide the graph, its nodes. Calls and copies between ranks take the times of `link`. Throws like
/// predict.
Prediction predictOnRanks(const Graph& graph, DeviceMap devices, std::shared_ptr<const TensorFiles> files,
                          int ranks, const LinkProfile& link);

} // namespace twb
