#pragma once

#include <filesystem>

namespace twb {

/// Throws Error(io), naming `option`, when a file cannot be made at `path`: found out before the work whose
/// result it takes rather than after it.
void checkWritable(const std::filesystem::path& path, const char* option);

} // namespace twb
