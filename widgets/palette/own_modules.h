#pragma once

#include "graph/composites.h"

#include <QString>

#include <optional>
#include <vector>

namespace twb {

// The modules that somebody has put into the palette: a folder of files, one a module, each as the clipboard
// has it. A file that cannot be read is no module.

/// By name.
std::vector<Composite> ownModules();
std::optional<Composite> ownModule(const QString& name);
/// Why a module cannot be called so; empty when it can.
QString refusalOfName(const QString& name);
/// Replaces one of the same name. Throws Error(io).
void saveOwnModule(const QString& name, const Fragment& fragment);
void removeOwnModule(const QString& name);
/// Where they lie.
QString ownModulesFolder();

} // namespace twb
