#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace twb::cuda {

/// What was compiled before, by what it was compiled from: files in tensor-workbench/kernels of the folder
/// $XDG_CACHE_HOME, or else ~/.cache. Without such a folder, or where it cannot be written to, nothing is
/// kept. A file holds what it was compiled from, too, so that one with another content, or cut short, is not
/// taken.
std::optional<std::string> cachedCode(std::string_view from);
/// Writes a whole file or none; several programs may do so at the same time.
void cacheCode(std::string_view from, std::string_view code) noexcept;

} // namespace twb::cuda
