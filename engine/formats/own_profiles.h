#pragma once

#include "backends/device_profile.h"

#include <filesystem>
#include <utility>
#include <vector>

namespace twb {

/// The folder of the device profiles that the user keeps: $XDG_DATA_HOME/tensor-workbench/devices, else
/// ~/.local/share/tensor-workbench/devices. Empty without a home folder.
std::filesystem::path ownProfileFolder();

/// Writes the profile to that folder, in place of an earlier one of its id, and returns the path. Throws
/// Error(io).
std::filesystem::path keepProfile(const DeviceProfile& profile);

/// The kept profiles with their paths, by id. A file that is no profile is left out.
std::vector<std::pair<std::filesystem::path, DeviceProfile>> keptProfiles();

} // namespace twb
