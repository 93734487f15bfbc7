#include "profile/profiles.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cuda_plugin.h"
#include "backends/simulated/simulated_backend.h"
#include "core/error.h"
#include "core/json_fault.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

namespace twb {
namespace {

using nlohmann::json;

constexpr int kProfileSchema = 1;

/// Reads the fields of a profile, each at most once, and knows the unread fields.
class ProfileReader {
public:
    ProfileReader(const json& document, const std::string& origin) : m_document(document), m_origin(origin) {
        if (!document.is_object()) fail("a device profile must be a JSON object");
        const auto sources = document.find("sources");
        if (sources == document.end() || !sources->is_object())
            fail("\"sources\" must be an object that names where each figure comes from");
        m_sources = &*sources;
        m_seen.insert("sources");
    }

    [[noreturn]] void fail(const std::string& sentence) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_origin, sentence));
    }

    std::string text(const std::string& key) {
        const json& value = get(key);
        if (!value.is_string() || value.get_ref<const std::string&>().empty())
            fail(fmt::format("\"{}\" must be a string", key));
        return value.get<std::string>();
    }

    /// A figure with its source. Zero is allowed only if it may mean "there is none".
    double figure(const std::string& key, bool mayBeZero = false) {
        source(key);
        return number(get(key), key, mayBeZero);
    }

    double number(const json& value, const std::string& key, bool mayBeZero) const {
        const double figure = value.is_number() ? value.get<double>() : -1;
        if (!std::isfinite(figure) || figure < 0 || (figure == 0 && !mayBeZero))
            fail(fmt::format("\"{}\" must be a number {} 0, but is {}", key,
                             mayBeZero ? "of at least" : "above", value.dump()));
        return figure;
    }

    const json& get(const std::string& key) {
        m_seen.insert(key);
        const auto at = m_document.find(key);
        if (at == m_document.end()) fail(fmt::format("\"{}\" is missing", key));
        return *at;
    }

    /// "known_error" is optional. It has one entry for copies and one for kernels.
    std::optional<KnownError> knownError(const std::string& key) {
        m_seen.insert("known_error");
        const auto errors = m_document.find("known_error");
        if (errors == m_document.end()) return {};
        if (!errors->is_object()) fail("\"known_error\" must be an object with \"copies\" and \"kernels\"");
        refuseOthers(*errors, {"copies", "kernels"}, "known_error");
        const auto at = errors->find(key);
        if (at == errors->end()) return {};
        const std::string place = "known_error." + key;
        if (!at->is_object()) fail(fmt::format("\"{}\" must be an object", place));
        refuseOthers(*at, {"median", "worst", "count"}, place);
        const auto part = [&](const char* name, bool mayBeZero) {
            const auto found = at->find(name);
            if (found == at->end()) fail(fmt::format("\"{}.{}\" is missing", place, name));
            return number(*found, fmt::format("{}.{}", place, name), mayBeZero);
        };
        const double count = part("count", false);
        if (count != std::floor(count) || count > 1e9)
            fail(fmt::format("\"{}.count\" must be a whole number", place));
        return KnownError{part("median", true), part("worst", true), static_cast<int>(count)};
    }

    void refuseOthers(const json& object, const std::set<std::string>& keys, const std::string& place) const {
        for (const auto& [key, value] : object.items())
            if (!keys.contains(key))
                fail(fmt::format("\"{}.{}\" is not a field of a device profile", place, key));
    }

    void source(const std::string& figure) {
        const auto at = m_sources->find(figure);
        if (at == m_sources->end() || !at->is_string() || at->get_ref<const std::string&>().empty())
            fail(fmt::format("\"sources\" does not say where \"{}\" comes from", figure));
    }

    void refuseUnknown() const {
        for (const auto& [key, value] : m_document.items())
            if (!m_seen.contains(key)) fail(fmt::format("\"{}\" is not a field of a device profile", key));
    }

    std::map<std::string, std::string> sources() const {
        std::map<std::string, std::string> out;
        for (const auto& [key, value] : m_sources->items())
            out[key] = value.is_string() ? value.get<std::string>() : value.dump();
        return out;
    }

private:
    const json& m_document;
    const std::string& m_origin;
    const json* m_sources = nullptr;
    std::set<std::string> m_seen;
};

/// The form in which ids are compared: "RTX-4090" is "rtx4090".
std::string plain(std::string_view id) {
    std::string out;
    for (const char c : id)
        if (c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

/// The reason why `device` is not one of this machine's GPUs; empty if it is one.
std::string whyNotReal(Device device) {
    if (device.rank != 0) return fmt::format("rank {} is another process", device.rank);
    const CudaDevices& gpus = cudaDevices();
    if (!gpus.problem.empty()) return gpus.problem;
    if (static_cast<std::size_t>(device.index) < gpus.backends.size()) return {};
    return gpus.backends.size() == 1 ? "this machine has one GPU, cuda:0"
                                     : fmt::format("this machine has {} GPUs, cuda:0 to cuda:{}",
                                                   gpus.backends.size(), gpus.backends.size() - 1);
}

std::shared_ptr<Backend> realDevice(Device device) {
    if (const std::string why = whyNotReal(device); !why.empty())
        throw Error(ErrorCode::missingDevice,
                    fmt::format("{0} must be a real GPU in this run: {2}; simulate it with --device-map "
                                "{0}=simulated:{1} and without --require-gpu",
                                device.toString(), kDefaultProfile, why));
    return cudaDevices().backends[static_cast<std::size_t>(device.index)];
}

/// A simulation of a device that is missing here: of another rank's cpu, with the figures of this one.
std::shared_ptr<Backend> standInFor(Device device, const DeviceProfile& gpu) {
    return makeSimulatedBackend(device, device.isCpu() ? cpuBackend()->profile() : gpu);
}

/// The text after "simulated:" is an id or a file.
DeviceProfile chosenProfile(const std::string& profile, const ProfileLibrary& profiles) {
    return profile.ends_with(".json") ? readProfile(profile) : profiles.at(profile);
}

} // namespace

DeviceProfile parseProfile(const std::string& text, const std::string& origin) {
    json document;
    try {
        document = json::parse(text);
    } catch (const json::exception& e) {
        throw Error(ErrorCode::badFile, fmt::format("{}: not JSON: {}", origin, jsonFault(e.what())));
    }
    ProfileReader reader(document, origin);
    if (const json& schema = reader.get("schema"); schema != kProfileSchema)
        reader.fail(fmt::format("\"schema\" is {}; this version reads {}", schema.dump(), kProfileSchema));

    DeviceProfile profile;
    profile.id = reader.text("id");
    profile.name = reader.text("name");
    profile.source = reader.text("source");
    profile.link = reader.text("link");
    reader.source("link");

    const json& peaks = reader.get("peak_tflops");
    if (!peaks.is_object()) reader.fail("\"peak_tflops\" must be an object of TFLOP/s by dtype");
    for (const auto& [key, value] : peaks.items()) {
        const auto dtype = parseDType(key);
        const std::string place = "peak_tflops." + key;
        if (!dtype) reader.fail(fmt::format("\"{}\" does not name a dtype", place));
        reader.source(place);
        profile.peakGflops[static_cast<std::size_t>(*dtype)] = reader.number(value, place, false) * 1e3;
    }
    if (profile.peakGflops[static_cast<std::size_t>(DType::f32)] == 0)
        reader.fail("\"peak_tflops.f32\" is missing");

    profile.memoryGBps = reader.figure("memory_gb_per_s");
    const double bytes = reader.figure("memory_bytes");
    if (bytes >= 0x1p63) reader.fail("\"memory_bytes\" is more than any device has");
    profile.memoryBytes = static_cast<std::uint64_t>(bytes);
    profile.launchUs = reader.figure("launch_us");
    profile.linkPinnedGBps = reader.figure("link_pinned_gb_per_s");
    profile.linkPageableGBps = reader.figure("link_pageable_gb_per_s");
    profile.linkLatencyUs = reader.figure("link_latency_us");
    profile.pageableLatencyUs = reader.figure("pageable_latency_us");
    profile.peerGBps = reader.figure("peer_gb_per_s", true);
    profile.copyError = reader.knownError("copies");
    profile.kernelError = reader.knownError("kernels");
    reader.refuseUnknown();
    profile.sources = reader.sources();
    return profile;
}

nlohmann::ordered_json errorsJson(const DeviceProfile& profile) {
    nlohmann::ordered_json out;
    const auto add = [&out](const char* what, const std::optional<KnownError>& error) {
        if (error) out[what] = {{"median", error->median}, {"worst", error->worst}, {"count", error->count}};
    };
    add("copies", profile.copyError);
    add("kernels", profile.kernelError);
    return out;
}

std::string sourceText(const DeviceProfile& profile) {
    const std::string source = profile.source + (profile.source.empty() ? "" : "; ");
    const auto part = [](const char* what, const std::optional<KnownError>& error) {
        return error ? fmt::format("error of {}: median {:.0f} %, at most {:.0f} %", what,
                                   100 * error->median, 100 * error->worst)
                     : fmt::format("error of {} unknown", what);
    };
    if (!profile.copyError && !profile.kernelError) return source + "error unknown";
    return source + part("copies", profile.copyError) + ", " + part("kernels", profile.kernelError);
}

nlohmann::ordered_json peaksJson(const DeviceProfile& profile) {
    nlohmann::ordered_json peaks = nlohmann::ordered_json::object();
    for (const DType dtype : kAllDTypes)
        if (const double gflops = profile.peakGflops[static_cast<std::size_t>(dtype)]; gflops > 0)
            peaks[std::string(name(dtype))] = gflops / 1e3;
    return peaks;
}

std::string profileJson(const DeviceProfile& profile) {
    nlohmann::ordered_json document{{"schema", kProfileSchema},
                                    {"id", profile.id},
                                    {"name", profile.name},
                                    {"source", profile.source},
                                    {"peak_tflops", peaksJson(profile)},
                                    {"memory_gb_per_s", profile.memoryGBps},
                                    {"memory_bytes", profile.memoryBytes},
                                    {"launch_us", profile.launchUs},
                                    {"link", profile.link},
                                    {"link_pinned_gb_per_s", profile.linkPinnedGBps},
                                    {"link_pageable_gb_per_s", profile.linkPageableGBps},
                                    {"link_latency_us", profile.linkLatencyUs},
                                    {"pageable_latency_us", profile.pageableLatencyUs},
                                    {"peer_gb_per_s", profile.peerGBps},
                                    {"sources", profile.sources}};
    if (nlohmann::ordered_json errors = errorsJson(profile); !errors.is_null())
        document["known_error"] = std::move(errors);
    return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

DeviceProfile readProfile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
        throw Error(ErrorCode::io, fmt::format("{} cannot be read: {}", path.string(), std::strerror(errno)));
    return parseProfile(text, path.string());
}

ProfileLibrary::ProfileLibrary(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        if (entry->path().extension() != ".json") continue;
        m_profiles.push_back(readProfile(entry->path()));
    }
    if (failed)
        throw Error(ErrorCode::io, fmt::format("the device profiles in {} cannot be read: {}",
                                               folder.string(), failed.message()));
    std::sort(m_profiles.begin(), m_profiles.end(),
              [](const DeviceProfile& a, const DeviceProfile& b) { return plain(a.id) < plain(b.id); });
    for (std::size_t i = 1; i < m_profiles.size(); ++i)
        if (plain(m_profiles[i].id) == plain(m_profiles[i - 1].id))
            throw Error(ErrorCode::badFile, fmt::format("two device profiles in {} have the id \"{}\"",
                                                        folder.string(), m_profiles[i].id));
}

const DeviceProfile& ProfileLibrary::at(std::string_view id) const {
    std::vector<std::string> ids;
    for (const DeviceProfile& profile : m_profiles) {
        if (plain(profile.id) == plain(id)) return profile;
        ids.push_back(profile.id);
    }
    throw Error(ErrorCode::invalidArgument,
                fmt::format("there is no device profile \"{}\"; choose one of {}", id, fmt::join(ids, ", ")));
}

DeviceChoice parseDeviceChoice(std::string_view text) {
    const auto refuse = [&](std::string_view why) {
        throw Error(
            ErrorCode::invalidArgument,
            fmt::format("\"{}\" is not a device mapping: {}; write cuda:0=simulated:h200 or cuda:0=real",
                        text, why));
    };
    constexpr std::string_view kSimulated = "simulated:";
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) refuse("it has no \"=\"");
    const auto device = Device::parse(text.substr(0, equals));
    if (!device) refuse("it names no device");
    if (*device == Device::cpu() || device->isAuto())
        refuse("only cuda devices and those of other ranks can be chosen; the cpu is always this machine's");
    const std::string_view what = text.substr(equals + 1);
    if (what == "real" && device->rank != 0)
        refuse("a device of another rank is simulated, or is that rank's own under mpirun");
    if (what == "real") return {*device, {}};
    if (!what.starts_with(kSimulated) || what.size() == kSimulated.size())
        refuse("the part after \"=\" must be \"real\" or \"simulated:PROFILE\"");
    return {*device, std::string(what.substr(kSimulated.size()))};
}

DeviceMap makeDeviceMap(const Graph& graph, const std::vector<DeviceChoice>& choices,
                        const ProfileLibrary& profiles, bool requireReal, std::string_view standIn) {
    DeviceMap map;
    for (const DeviceChoice& choice : choices) {
        if (choice.profile.empty())
            map.set(choice.device, realDevice(choice.device), true);
        else if (requireReal)
            throw Error(ErrorCode::missingDevice,
                        fmt::format("{} cannot be both simulated and required to be a real GPU",
                                    choice.device.toString()));
        else
            map.set(choice.device,
                    makeSimulatedBackend(choice.device, chosenProfile(choice.profile, profiles)), true);
    }
    for (const Lane& lane : graph.lanes()) {
        if (lane.device == Device::cpu()) continue;
        const Device device = lane.device.isAuto() ? Device::cuda(0) : lane.device;
        if (map.find(device)) continue;
        if (const std::string why = whyNotReal(device); why.empty() || (requireReal && device.isCuda()))
            map.set(device, realDevice(device), true);
        else if (!lane.device.isAuto())
            map.set(device, standInFor(device, profiles.at(standIn)), false, why);
    }
    // The host of each rank reads shapes and files.
    for (const Device device : map.devices())
        if (const Device host = device.host(); !map.find(host))
            map.set(host, standInFor(host, profiles.at(standIn)), false, whyNotReal(host));
    return map;
}

} // namespace twb
