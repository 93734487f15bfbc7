#pragma once

#include "placement/analysis.h"

#include <cstddef>
#include <string>
#include <vector>

namespace twb {

/// A way to mend everything that a cause broke.
struct Remedy {
    std::string title;
    std::vector<Fix> fixes; ///< one change: mend(graph, analysis, devices, fixes, title)
    Price price;            ///< of all of them
};

/// One mistake and all that it broke.
struct Cause {
    std::vector<NodeId> nodes; ///< what stands, or is, wrong; neighbours that are wrong alike together
    std::string sentence;      ///< "images is on cpu, and 14 ops on cuda:0 read it"
    std::string decided;       ///< where that was decided: "from File "x.npy", created on cpu"; or empty
    std::vector<std::size_t> diagnostics; ///< into Analysis::diagnostics
    std::vector<Remedy> remedies;         ///< the cheapest first
};

/// Groups diagnostics by what they have in common: each is put down to the node that explains most of them, a
/// source rather than its reader where both explain as many. Every diagnostic is in one group; the groups
/// come in the order of their first diagnostic.
std::vector<Cause> causesOf(const Graph& graph, const Analysis& analysis, const DeviceMap& devices);

} // namespace twb
