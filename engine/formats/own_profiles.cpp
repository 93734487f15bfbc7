#include "formats/own_profiles.h"

#include "core/error.h"
#include "formats/project.h"
#include "profile/profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

} // namespace

fs::path ownProfileFolder() {
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    if (data && *data) return fs::path(data) / "tensor-workbench" / "devices";
    if (home && *home) return fs::path(home) / ".local" / "share" / "tensor-workbench" / "devices";
    return {};
}

fs::path keepProfile(const DeviceProfile& profile) {
    const fs::path folder = ownProfileFolder();
    if (folder.empty())
        throw Error(ErrorCode::io,
                    "this user has no home folder; set XDG_DATA_HOME to a folder for profiles");
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed)
        throw Error(ErrorCode::io, fmt::format("cannot create the folder {} for profiles: {}",
                                               folder.string(), failed.message()));
    fs::path path = folder / (profile.id + ".json");
    writeFileAtomically(path, profileJson(profile));
    return path;
}

std::vector<std::pair<fs::path, DeviceProfile>> keptProfiles() {
    std::vector<std::pair<fs::path, DeviceProfile>> out;
    std::error_code failed;
    for (fs::directory_iterator entry(ownProfileFolder(), failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().extension() != ".json") continue;
        try {
            out.emplace_back(entry->path(), readProfile(entry->path()));
        } catch (const Error&) {
            // The user may keep other files there, too.
        }
    }
    std::ranges::sort(out, {}, [](const auto& one) { return one.second.id; });
    return out;
}

} // namespace twb
