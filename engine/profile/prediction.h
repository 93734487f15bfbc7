#pragma once

#include "runtime/plan.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twb {

/// When the steps of a plan would run, by the profiles of its devices alone: nothing is run. Steps of one
/// stream run in the plan's order, and each when all it waits for is done. All times in ns.
struct Prediction {
    struct Span {
        double start = 0;
        double end = 0;
        std::uint32_t after = kNone; ///< the step whose end it waited for; kNone: it could start at once
    };
    /// What the critical path is made of.
    struct Shares {
        double compute = 0;  ///< arithmetic and memory traffic of ops
        double transfer = 0; ///< copies between devices
        double overhead = 0; ///< launches
    };
    struct DeviceUse {
        Device device;
        std::string name;               ///< "simulated NVIDIA H200"
        std::uint64_t plannedBytes = 0; ///< by the memory plan
        std::uint64_t memoryBytes = 0;  ///< what it has
        double busyNs = 0;              ///< of an iteration, all its streams together
        bool fits() const noexcept { return plannedBytes <= memoryBytes; }
    };

    double setupNs = 0;   ///< what runs once, before the iterations
    double latencyNs = 0; ///< one iteration alone
    /// From the end of one iteration to the end of the next, when many follow each other: copies of one
    /// overlap work of another.
    double iterationNs = 0;
    std::vector<Span> spans;                 ///< of one iteration alone, by step; empty ones for setup
    std::vector<std::uint32_t> criticalPath; ///< steps, the first one first
    Shares critical;                         ///< adds up to latencyNs
    std::vector<DeviceUse> devices;
    double transferBytes = 0; ///< of one iteration
    std::string sources;      ///< whose figures these are, as sourcesOf says it
    bool isComplete = true;   ///< false where sizes or turns are known only to the run: these count nothing
    bool fits() const noexcept;
};

/// Whose figures the times of these devices are, and how far off these are known to be: "from the figures of
/// AMD EPYC (estimate; error unknown), NVIDIA L4 (measured by twb calibrate on …; copies off by 4 %, at
/// most 31 %, kernels by 12 %, at most 60 %)".
std::string sourcesOf(const DeviceMap& devices);

/// Linear in steps and waits. Bodies of If, Loop and Scan count once.
Prediction predict(const Plan& plan);

/// Of a graph under its own policy, or another one. Throws as compile does where it has errors.
Prediction predict(const Graph& graph, const DeviceMap& devices, std::shared_ptr<const TensorFiles> files,
                   std::optional<Policy> policy = std::nullopt);

} // namespace twb
