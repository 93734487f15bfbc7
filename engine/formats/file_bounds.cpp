#include "formats/file_bounds.h"

#include "core/error.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void unreachable(const fs::path& path, const std::error_code& reason) {
    throw Error(ErrorCode::io, fmt::format("{} cannot be reached: {}", path.string(), reason.message()));
}

} // namespace

FileBounds::FileBounds(fs::path folder, std::string whose, std::string remedy)
    : m_folder(folder.empty() ? fs::path(".") : std::move(folder)), m_whose(std::move(whose)),
      m_remedy(std::move(remedy)) {}

void FileBounds::check(int descriptor, const fs::path& path) const {
    if (!isLimited()) return;
    std::error_code failed;
    const fs::path place = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), failed);
    if (failed) unreachable(path, failed);
    require(place, path);
}

void FileBounds::checkName(const fs::path& path) const {
    if (!isLimited()) return;
    std::error_code failed;
    const fs::path place = fs::weakly_canonical(path, failed);
    if (failed) unreachable(path, failed);
    require(place, path);
}

void FileBounds::require(const fs::path& place, const fs::path& path) const {
    std::error_code failed;
    const fs::path folder = fs::weakly_canonical(m_folder, failed);
    if (failed) unreachable(m_folder, failed);
    const fs::path within = place.lexically_relative(folder);
    if (within.empty() || *within.begin() == "..") refuse(path);
}

void FileBounds::refuse(const fs::path& path) const {
    throw Error(ErrorCode::badFile, fmt::format("\"{}\" is outside {} ({}); {}", path.string(), m_whose,
                                                m_folder.string(), m_remedy));
}

} // namespace twb
