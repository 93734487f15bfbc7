#pragma once

#include "formats/module_files.h"
#include "graph/port_fit.h"

#include <QString>

#include <optional>
#include <vector>

namespace twb {

// The module ops of the palette: those that the user saved (one file each), those in the folders for ops, and
// those in the folder "ops" beside a project that was opened. They are kept in memory, for the GUI thread
// only: a search asks for each of them at every key.

/// Reads the files if any of them has changed. The saved ones come first. Files and functions that are left
/// out become pluginProblems().
const std::vector<ModuleOp>& ownModules();
/// The same; looks only at the times of the folders: a search asks at every key.
const std::vector<ModuleOp>& knownModules();
/// One of knownModules(), null if there is no such module. Valid until the files are read again.
const ModuleOp* ownModule(const QString& name);
/// From now on, the modules beside this project belong to the palette. Returns whether there are files that
/// did not yet.
bool addModulesBeside(const QString& project);
/// Like inputFor() and outputFor(), for any entry of the palette: also for module ops.
std::optional<EntryPort> inputOfEntry(const QString& entry, DTypeSet offered);
std::optional<EntryPort> outputOfEntry(const QString& entry, DTypeSet wanted);
/// The reason why a name is invalid; empty if it is valid.
QString refusalOfName(const QString& name);
/// One line about it for the palette.
QString docOf(const ModuleOp& op);
/// Replaces the saved module of the same name; if that has another meaning (sameMeaning), with the next
/// version. Returns the version. Throws Error(io).
std::int64_t saveOwnModule(ModuleOp op);
/// Whether the user saved it here, so that it can be removed.
bool isSaved(const ModuleOp& op);
/// Removes a saved module.
void removeOwnModule(const QString& name);
/// The folder of the saved modules.
QString ownModulesFolder();

} // namespace twb
