#pragma once

#include "app/placement_options.h"
#include "formats/imported_model.h"
#include "graph/graph.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

namespace twb {

/// `-o FILE` and `--force` of commands that write a changed copy of a project.
struct ProjectOutputOptions {
    std::string path; ///< empty: nothing is written
    bool force = false;

    void addTo(CLI::App& command, const std::string& doc);
};

/// The changed copy of the project `source`. Reports these errors before the work begins: the path is another
/// file of the command, the project itself without --force, or a file that is not a project.
class ProjectOutput {
public:
    /// Throws as FileClaims does.
    ProjectOutput(const ProjectOutputOptions& options, const std::string& source,
                  const PlacementOptions& placement);
    /// Does nothing without a path. Throws Error(io), also if the copy could not find data stored beside
    /// the project.
    void save(const Graph& graph) const;
    /// The same for a graph with tensors of its own, which are written beside it.
    void save(const ImportedModel& model) const;

private:
    std::filesystem::path m_path;
    std::filesystem::path m_source;
};

} // namespace twb
