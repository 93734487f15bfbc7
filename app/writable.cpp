#include "app/writable.h"

#include "core/error.h"

#include <fmt/format.h>

#include <system_error>
#include <unistd.h>

namespace twb {

namespace fs = std::filesystem;

void checkWritable(const fs::path& path, const char* option) {
    const fs::path folder = fs::absolute(path).parent_path();
    std::error_code failed;
    if (!fs::is_directory(folder, failed))
        throw Error(ErrorCode::io, fmt::format("{} {}: the folder {} does not exist; create it first", option,
                                               path.string(), folder.string()));
    if (access(folder.c_str(), W_OK) != 0)
        throw Error(ErrorCode::io, fmt::format("{} {}: cannot write to the folder {}", option, path.string(),
                                               folder.string()));
    if (fs::is_directory(path, failed))
        throw Error(ErrorCode::io, fmt::format("{} {} is a folder", option, path.string()));
}

} // namespace twb
