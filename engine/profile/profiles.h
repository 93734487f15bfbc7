#pragma once

#include "backends/device_map.h"
#include "backends/device_profile.h"
#include "graph/graph.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace twb {

/// The device profiles in a folder of JSON files (resources/devices).
class ProfileLibrary {
public:
    /// Throws Error(io) or Error(badFile) naming the file and the field.
    explicit ProfileLibrary(const std::filesystem::path& folder);
    const std::vector<DeviceProfile>& all() const noexcept { return m_profiles; } ///< by id
    /// By id, without regard to case and '-' ("rtx4090"). Throws Error(invalidArgument) listing what there
    /// is.
    const DeviceProfile& at(std::string_view id) const;

private:
    std::vector<DeviceProfile> m_profiles;
};

/// Parses one profile; `origin` is for messages. Throws Error(badFile).
DeviceProfile parseProfile(const std::string& json, const std::string& origin);

/// A profile as parseProfile reads it.
std::string profileJson(const DeviceProfile& profile);

/// Its known errors as profiles and reports have them: "copies" and "kernels", each with "median", "worst"
/// and "count"; null where nothing is known.
nlohmann::ordered_json errorsJson(const DeviceProfile& profile);
/// Where its figures come from and how far off they are known to be: "NVIDIA L4 datasheet; error unknown",
/// "measured by twb calibrate on …; copies off by 4 %, at most 31 %, kernels off by 12 %, at most 60 %".
std::string sourceText(const DeviceProfile& profile);
/// Its peak rates in TFLOP/s, by dtype.
nlohmann::ordered_json peaksJson(const DeviceProfile& profile);

/// Reads and parses one. Throws Error(io) or Error(badFile) naming the file and the field.
DeviceProfile readProfile(const std::filesystem::path& path);

/// One `--device-map` entry: what shall stand behind a name.
struct DeviceChoice {
    Device device;
    std::string profile; ///< "h200" for simulated:h200, "my.json" for a profile in a file; empty for "real"
};
/// "cuda:0=simulated:h200", "cuda:0=simulated:my.json", "cuda:0=real". Throws Error(invalidArgument).
DeviceChoice parseDeviceChoice(std::string_view text);

inline constexpr std::string_view kDefaultProfile = "h200";

/// Puts a backend behind every device that the graph's lanes name: as chosen, else the real one where there
/// is one, else a simulation of the profile `standIn`. Throws Error(missingDevice) when a real one is chosen,
/// or `requireReal` is set, and it is not there: with the reason that cudaDevices() gives.
DeviceMap makeDeviceMap(const Graph& graph, const std::vector<DeviceChoice>& choices,
                        const ProfileLibrary& profiles, bool requireReal = false,
                        std::string_view standIn = kDefaultProfile);

} // namespace twb
