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
    /// Throws Error(io) or Error(badFile) that names the file and the field.
    explicit ProfileLibrary(const std::filesystem::path& folder);
    const std::vector<DeviceProfile>& all() const noexcept { return m_profiles; } ///< sorted by id
    /// Finds a profile by its id, ignoring case and '-' ("rtx4090"). Throws Error(invalidArgument) that lists
    /// the ids.
    const DeviceProfile& at(std::string_view id) const;

private:
    std::vector<DeviceProfile> m_profiles;
};

/// Parses one profile; `origin` is for messages. Throws Error(badFile).
DeviceProfile parseProfile(const std::string& json, const std::string& origin);

/// Writes a profile in the format that parseProfile reads.
std::string profileJson(const DeviceProfile& profile);

/// The known errors of a profile, for profiles and reports: "copies" and "kernels", each with "median",
/// "worst" and "count"; null if there are none.
nlohmann::ordered_json errorsJson(const DeviceProfile& profile);
/// The source of a profile's figures and their known errors: "NVIDIA L4 datasheet; error unknown", "measured
/// by twb calibrate on …; error of copies: median 4 %, at most 31 %, error of kernels: median 12 %, at most
/// 60 %".
std::string sourceText(const DeviceProfile& profile);
/// The peak rates in TFLOP/s, by dtype.
nlohmann::ordered_json peaksJson(const DeviceProfile& profile);

/// Reads and parses a profile. Throws Error(io) or Error(badFile) that names the file and the field.
DeviceProfile readProfile(const std::filesystem::path& path);

/// One `--device-map` entry: the hardware for a device name.
struct DeviceChoice {
    Device device;
    std::string profile; ///< "h200" for simulated:h200, "my.json" for a file; empty for "real"
};
/// "cuda:0=simulated:h200", "cuda:0=simulated:my.json", "cuda:0=real". Throws Error(invalidArgument).
DeviceChoice parseDeviceChoice(std::string_view text);

inline constexpr std::string_view kDefaultProfile = "h200";

/// Chooses a backend for every device of the graph's lanes, and the cpu of each rank: the chosen one, else
/// the real GPU, else a simulation: of a GPU by the profile `standIn`, of another rank's cpu by that of this
/// cpu. Throws Error(missingDevice), with the reason from cudaDevices(), if a real GPU is chosen or
/// `requireReal` is set and there is none.
DeviceMap makeDeviceMap(const Graph& graph, const std::vector<DeviceChoice>& choices,
                        const ProfileLibrary& profiles, bool requireReal = false,
                        std::string_view standIn = kDefaultProfile);

} // namespace twb
