#include "app/placed_graph.h"

#include "app/terminal.h"
#include "core/error.h"
#include "core/format.h"
#include "formats/model_formats.h"
#include "formats/module_files.h"
#include "formats/npy.h"
#include "formats/project.h"
#include "graph/module_versions.h"

#include <fmt/format.h>

namespace twb {
void tellOfModules(const Graph& graph, const std::string& file) {
    if (!hasModuleOps(graph)) return;
    const ModuleOps modules = moduleOpsIn(modulePlaces(savedModulesFolder(), file));
    for (const OtherVersion& other : otherVersions(graph, modules.ops))
        printMessage(fmt::format("{}: note: {}", file, toSentence(graph, other)));
}

PlacedGraph loadPlaced(const std::string& file, const PlacementOptions& options, bool allowOutside) {
    PlacedGraph placed;
    if (modelFormatOf(file)) {
        ImportedModel model = importModel(file);
        for (const std::string& remark : model.remarks) printMessage(remark);
        placed.graph = std::move(model.graph);
        placed.files = makeMemoryFiles(std::move(model.tensors));
    } else {
        placed.graph = loadProject(file);
        tellOfModules(placed.graph, file);
        placed.files = makeProjectFiles(std::filesystem::absolute(file).parent_path(), allowOutside);
    }
    placed.devices = options.devicesFor(placed.graph);
    for (const std::string& remark : options.remarks(placed.graph))
        printMessage(fmt::format("{}: warning: {}", file, remark));
    placed.analysis =
        analyze(placed.graph, placed.devices, options.policyFor(placed.graph), placed.files.get());
    return placed;
}

void requireNoErrors(const PlacedGraph& placed, const std::string& file) {
    const std::size_t count = placed.analysis.errorCount();
    if (count == 0) return;
    throw Error(ErrorCode::badGraph,
                fmt::format("{} has {}; the first one: {} (`twb check` lists them)", file,
                            counted(count, "error"), placed.analysis.diagnostics.front().message));
}

} // namespace twb
