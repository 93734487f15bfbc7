#pragma once

#include "graph/composites.h"
#include "graph/port_fit.h"

#include <QString>

#include <optional>
#include <vector>

namespace twb {

// The user's modules in the palette: a folder with one file per module, in the clipboard's format. Files that
// cannot be read are ignored. The modules are kept in memory, for the GUI thread only: a search asks for each
// of them at every key.

/// Reads the folder. Sorted by name.
const std::vector<Composite>& ownModules();
/// Reads the folder only if it has changed. Null if there is no such module. Valid until the folder is read
/// again.
const Composite* ownModule(const QString& name);
/// Like inputFor() and outputFor(), for any entry of the palette: also for the user's modules.
std::optional<EntryPort> inputOfEntry(const QString& entry, DTypeSet offered);
std::optional<EntryPort> outputOfEntry(const QString& entry, DTypeSet wanted);
/// The reason why a name is invalid; empty if it is valid.
QString refusalOfName(const QString& name);
/// Replaces a module of the same name. Throws Error(io).
void saveOwnModule(const QString& name, const Fragment& fragment);
void removeOwnModule(const QString& name);
/// The folder.
QString ownModulesFolder();

} // namespace twb
