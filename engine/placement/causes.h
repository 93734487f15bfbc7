#pragma once

#include "placement/analysis.h"

#include <cstddef>
#include <string>
#include <vector>

namespace twb {

/// A way to fix everything that a cause broke.
struct Remedy {
    std::string title;
    std::vector<Fix> fixes; ///< one change: combineFixes(graph, analysis, devices, fixes, title)
    Price price;            ///< total of the fixes
};

/// One cause and the diagnostics that it explains.
struct Cause {
    std::vector<NodeId> nodes; ///< the nodes at fault; neighbours with the same fault are grouped
    std::string sentence;      ///< "images is on cpu, and 14 ops on cuda:0 read it"
    std::string decided;       ///< the origin of the fault: "from File "x.npy", created on cpu"; or empty
    std::vector<std::size_t> diagnostics; ///< indices in Analysis::diagnostics
    std::vector<Remedy> remedies;         ///< the cheapest first
};

/// Groups diagnostics by cause, without sentences, origins and remedies. Each is assigned to the node that
/// explains most diagnostics; a source wins over its consumer if both explain as many. A diagnostic that
/// follows from another (Diagnostic::root) is in no group; every other one is in exactly one. Groups are in
/// the order of their first diagnostic.
std::vector<Cause> groupByCause(const Graph& graph, const Analysis& analysis, const DeviceMap& devices);
/// Adds the sentences, origins and remedies, which take most of the time.
void describe(std::vector<Cause>& causes, const Graph& graph, const Analysis& analysis,
              const DeviceMap& devices);
/// groupByCause() and describe().
std::vector<Cause> causesOf(const Graph& graph, const Analysis& analysis, const DeviceMap& devices);

} // namespace twb
