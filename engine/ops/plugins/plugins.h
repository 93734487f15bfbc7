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

/// Loads the plug-ins: the libraries that $TWB_OPS names (files and folders, separated by colons; "none": no
/// plug-in at all), and those in $XDG_DATA_HOME/tensor-workbench/ops. Each is checked in a process of its own
/// before its first use. For the op table, once. `isTaken`: whether an op of this name exists.
std::vector<Op> loadPlugins(const std::function<bool(std::string_view)>& isTaken);

/// The plug-ins in the op table and those that were refused; empty before the first use of the op table.
const std::vector<Plugin>& loadedPlugins() noexcept;
const std::vector<PluginProblem>& pluginProblems() noexcept;

} // namespace twb
