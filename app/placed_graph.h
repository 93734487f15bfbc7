#pragma once

#include "app/placement_options.h"
#include "core/tensor_files.h"
#include "placement/analysis.h"

#include <memory>
#include <string>

namespace twb {

/// A project file as a command sees it: its graph, the devices behind it, and what the rules say of both.
struct PlacedGraph {
    Graph graph;
    std::shared_ptr<const TensorFiles> files;
    DeviceMap devices;
    Analysis analysis;
};

/// Reads and analyses it; prints the remarks about options that change nothing. Throws as loadProject and
/// PlacementOptions::devicesFor do.
PlacedGraph loadPlaced(const std::string& file, const PlacementOptions& options, bool allowOutside);

/// Throws Error(badGraph) with the number of errors and the first one, where the graph has any.
void requireNoErrors(const PlacedGraph& placed, const std::string& file);

} // namespace twb
