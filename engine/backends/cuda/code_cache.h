#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace twb::cuda {

/// A cache on disk of compiled kernels. Returns the code compiled from the source `from`; nothing if it is
/// not cached. The files are in tensor-workbench/kernels of $XDG_CACHE_HOME or ~/.cache. Without a writable
/// folder nothing is kept. Each file also holds its source, so that a file with other content, or a truncated
/// one, is ignored.
std::optional<std::string> cachedCode(std::string_view from);
/// Writes a whole file or none. Several programs may do so at the same time.
void cacheCode(std::string_view from, std::string_view code) noexcept;

} // namespace twb::cuda
