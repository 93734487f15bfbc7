#pragma once

#include <filesystem>

namespace twb {

/// The folder with `devices/`, `examples/` and `schema/`: $TWB_RESOURCES where it is set, else
/// ../share/tensor-workbench beside the program's folder (as installed), else the source tree that the
/// program was built from. Throws Error(io) when none of them is there.
std::filesystem::path resourceFolder();

} // namespace twb
