#include "profile/resource_path.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

bool holdsResources(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "devices", ignored);
}

fs::path installedBesideProgram() {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    return failed ? fs::path() : program.parent_path().parent_path() / "share" / "tensor-workbench";
}

} // namespace

fs::path resourceFolder() {
    if (const char* set = std::getenv("TWB_RESOURCES"); set && *set) {
        if (holdsResources(set)) return set;
        throw Error(
            ErrorCode::io,
            fmt::format("TWB_RESOURCES is \"{}\", which has no folder \"devices\"; unset it or point it at "
                        "the resources folder of Tensor Workbench",
                        set));
    }
    fs::path installed = installedBesideProgram();
    if (holdsResources(installed)) return installed;
    if (holdsResources(TWB_SOURCE_RESOURCES)) return TWB_SOURCE_RESOURCES;
    throw Error(ErrorCode::io, fmt::format("the resources of Tensor Workbench are neither in \"{}\" nor in "
                                           "\"{}\"; install it again, or set TWB_RESOURCES to their folder",
                                           installed.string(), TWB_SOURCE_RESOURCES));
}

fs::path pythonPackageFolder() {
    const fs::path folder = installedBesideProgram() / "python";
    std::error_code ignored;
    if (fs::is_regular_file(folder / "tensor_workbench" / "__main__.py", ignored)) return folder;
    throw Error(ErrorCode::io,
                fmt::format("the Python package of Tensor Workbench is not in \"{}\"; install it again",
                            folder.string()));
}

} // namespace twb
