#pragma once

#include "ops/op.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

// Ops from shared libraries with the C interface resources/sdk/twb_op.h.

struct Plugin {
    std::string name;
    std::string version;
    std::string homepage; ///< may be empty
    std::filesystem::path file;
    std::vector<std::string> ops;
};

/// A library whose ops are not in the op table.
struct PluginProblem {
    std::filesystem::path file;
    std::string sentence; ///< why not, and the way out: "it crashes in the kernel of Softclip …"
};

/// Leaves all plug-ins out. Call it before the first use of the op table.
void disablePlugins() noexcept;
/// By disablePlugins(), or by TWB_OPS=none.
bool arePluginsDisabled() noexcept;

/// All plug-ins together may have this many ops.
inline constexpr std::size_t kMostPluginOps = 128;

/// The libraries of a folder, by name; none if there is no such folder.
std::vector<std::filesystem::path> librariesIn(const std::filesystem::path& folder);
/// Where ops from outside are installed: the files and folders that $TWB_OPS names (separated by colons;
/// "none": no place at all), and $XDG_DATA_HOME/tensor-workbench/ops. They exist.
std::vector<std::filesystem::path> opPlaces();
/// The libraries in opPlaces().
std::vector<std::filesystem::path> installedPlugins();

/// Loads libraries. Each is checked in a process of its own before its first use. For the op table.
/// `isTaken`: whether an op of this name exists.
std::vector<Op> loadPlugins(const std::vector<std::filesystem::path>& files,
                            const std::function<bool(std::string_view)>& isTaken);
/// Adds the ops of more libraries to the op table. Returns whether there are new ops. May be called from any
/// thread. In ops/op_table.cpp.
bool addPlugins(const std::vector<std::filesystem::path>& files);

/// The plug-ins in the op table and those that were refused; empty before the first use of the op table.
std::vector<Plugin> loadedPlugins();
std::vector<PluginProblem> pluginProblems();
/// Adds to pluginProblems(), unless it is there.
void reportPlugin(PluginProblem problem);

} // namespace twb
