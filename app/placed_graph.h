#pragma once

#include "app/placement_options.h"
#include "core/tensor_files.h"
#include "placement/analysis.h"

#include <memory>
#include <string>

namespace twb {

/// A project as commands use it: its graph, its devices, and its analysis.
struct PlacedGraph {
    Graph graph;
    std::shared_ptr<const TensorFiles> files;
    DeviceMap devices;
    Analysis analysis;
};

/// Prints a note for each module op of which the project in `file` has modules of another version than the
/// installed one.
void tellOfModules(const Graph& graph, const std::string& file);

/// Reads and analyses the project, or imports a model (modelFormats()), and prints remarks about options
/// without effect. Throws like loadProject and PlacementOptions::devicesFor.
PlacedGraph loadPlaced(const std::string& file, const PlacementOptions& options, bool allowOutside);

/// Throws Error(badGraph) with the number of errors and the first one, if the graph has errors.
void requireNoErrors(const PlacedGraph& placed, const std::string& file);

} // namespace twb
