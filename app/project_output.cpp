#include "app/project_output.h"

#include "core/error.h"
#include "core/tensor.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "formats/tensor_archive.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

/// A project names its tensors relative to its folder.
/// `held`: those that are written with it.
void requireTensors(const Graph& graph, const fs::path& source, const fs::path& target,
                    const std::map<std::string, Tensor>& held = {}) {
    const fs::path from = fs::absolute(source).parent_path();
    const fs::path to = fs::absolute(target).parent_path();
    std::error_code unknown;
    for (const GraphFile& named : filesNamedBy(graph)) {
        if (named.isWritten || held.contains(named.path)) continue;
        const std::string file = splitTensorPath(named.path).file;
        if (fs::exists(from / file, unknown) && !fs::exists(to / file, unknown))
            throw Error(ErrorCode::io,
                        fmt::format("{} is not written: {} \"{}\" would not find {} in {}; copy that file "
                                    "to this folder first, or write the project to {}",
                                    target.string(), named.node->op, named.node->name, file, to.string(),
                                    from.string()));
    }
}

} // namespace

void ProjectOutputOptions::addTo(CLI::App& command, const std::string& doc) {
    command.add_option("-o,--output", path, doc)->type_name("OUT.twb");
    command.add_flag("--force", force, "Allow -o to name FILE itself, which is then overwritten");
}

ProjectOutput::ProjectOutput(const ProjectOutputOptions& options, const std::string& source,
                             const PlacementOptions& placement)
    : m_path(options.path), m_source(source) {
    if (m_path.empty()) return;
    FileClaims claims;
    placement.claim(claims);
    if (!options.force) claims.read(source, "the project");
    claims.write(m_path, "-o", FileClaims::Content::project);
}

void ProjectOutput::save(const Graph& graph) const {
    if (m_path.empty()) return;
    requireTensors(graph, m_source, m_path);
    saveProject(graph, m_path);
}

void ProjectOutput::save(const ImportedModel& model) const {
    if (m_path.empty()) return;
    requireTensors(model.graph, m_source, m_path, model.tensors);
    saveImportedModel(model, m_path);
}

} // namespace twb
