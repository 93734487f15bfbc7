#pragma once

#include <filesystem>
#include <string>

namespace twb {

/// Loads a plug-in, runs each of its kernels on small tensors between guard pages and canaries, and prints
/// its findings for checkInChild() to stdout. Only for a process of its own: it may crash. Returns the exit
/// code.
int checkPluginHere(const std::filesystem::path& file);

/// Runs `twb __check-plugin FILE`. Empty if the plug-in is well, else a sentence about it. A plug-in that is
/// known to be well, by path, size and time of change, is not checked again.
std::string checkPluginInChild(const std::filesystem::path& file);

} // namespace twb
