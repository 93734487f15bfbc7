#pragma once

#include <filesystem>

namespace twb {

/// The folder with `devices/`, `examples/`, `manual/` and `schema/`: $TWB_RESOURCES if set, else
/// ../share/tensor-workbench beside the program's folder (installed), else the source tree of the build.
/// Throws Error(io) if none of them exists.
std::filesystem::path resourceFolder();

/// The folder to add to PYTHONPATH for the package `tensor_workbench`: ../share/tensor-workbench/python
/// beside the program's folder, both installed and in the build folder. Throws Error(io) if it does not
/// exist.
std::filesystem::path pythonPackageFolder();

} // namespace twb
