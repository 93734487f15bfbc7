#pragma once

#include "graph/module_op.h"
#include "ops/plugins/plugins.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// Module ops in files: a module that was saved to the palette (.twbmodule), and the functions of an ONNX
// model. They are data, so they are read without a question.

inline constexpr std::string_view kModuleSuffix = ".twbmodule";

/// JSON: the op's name, version, ports and attributes, and its fragment in the clipboard's format. Its nodes
/// must have lanes.
std::string toModuleText(const ModuleOp& op);
/// Also reads a fragment alone, whose ports then follow from its edges; `name` is its name. The op is
/// without its home lane (freeHomeLane). Throws Error(badFile) with `origin`, the place and the problem.
ModuleOp parseModuleOp(std::string_view text, const std::string& origin, const std::string& name);

/// Module ops, and the files or functions that are none.
struct ModuleOps {
    std::vector<ModuleOp> ops; ///< names are unique
    std::vector<PluginProblem> problems;

    const ModuleOp* find(std::string_view name) const noexcept;
};

/// The files of a folder that may contain module ops, by name; a file is its own. None if there is no such
/// place. Reads no file.
std::vector<std::filesystem::path> moduleFilesIn(const std::filesystem::path& place);
/// Those in a folder's files, by file name.
ModuleOps moduleOpsIn(const std::filesystem::path& folder);
/// Where the window saves modules: $XDG_DATA_HOME/tensor-workbench/tensor-workbench/modules.
std::filesystem::path savedModulesFolder();
/// Where module ops are looked for: `saved`, opPlaces(), and the folder "ops" beside the project, if there is
/// a project. A name that two of them have is the first one's.
std::vector<std::filesystem::path> modulePlaces(const std::filesystem::path& saved,
                                                const std::filesystem::path& project = {});
ModuleOps moduleOpsIn(const std::vector<std::filesystem::path>& places);

} // namespace twb
