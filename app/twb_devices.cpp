#include "app/commands.h"
#include "app/terminal.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cuda_plugin.h"
#include "core/format.h"
#include "core/text_table.h"
#include "profile/profiles.h"
#include "profile/report.h"
#include "profile/resource_path.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <vector>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const DeviceProfile& profile) {
    return {{"id", profile.id},
            {"name", profile.name},
            {"link", profile.link},
            {"memory_bytes", profile.memoryBytes},
            {"memory_gb_per_s", profile.memoryGBps},
            {"peak_tflops", peaksJson(profile)},
            {"link_pinned_gb_per_s", profile.linkPinnedGBps},
            {"link_pageable_gb_per_s", profile.linkPageableGBps},
            {"source", profile.source}};
}

Json toJson(Backend& backend) {
    const DeviceInfo& info = backend.info();
    const MemoryStats memory = backend.memory().stats();
    return {{"device", info.device.toString()},
            {"name", info.name},
            {"detail", info.detail},
            {"simulated", info.simulated},
            {"memory_bytes", info.memoryBytes},
            {"free_bytes", backend.freeBytes()},
            {"used_bytes", memory.used},
            {"peak_bytes", memory.peak}};
}

std::vector<std::shared_ptr<Backend>> presentDevices() {
    std::vector<std::shared_ptr<Backend>> out{cpuBackend()};
    const auto& gpus = cudaDevices().backends;
    out.insert(out.end(), gpus.begin(), gpus.end());
    return out;
}

void listAsJson(const ProfileLibrary& library) {
    const std::string& problem = cudaDevices().problem;
    Json out{{"schema", kReportSchema},
             {"devices", Json::array()},
             {"cuda", {{"present", problem.empty()}, {"message", problem}}},
             {"profiles", Json::array()}};
    for (const auto& backend : presentDevices()) out["devices"].push_back(toJson(*backend));
    for (const DeviceProfile& profile : library.all()) out["profiles"].push_back(toJson(profile));
    printJson(out);
}

void printText(const ProfileLibrary& library) {
    using enum TextTable::Align;
    const auto bytes = [](std::size_t amount) { return formatBytes(static_cast<double>(amount)); };
    TextTable devices({left, left, left, right, right, right});
    for (const auto& backend : presentDevices()) {
        const DeviceInfo& info = backend->info();
        const MemoryStats memory = backend->memory().stats();
        devices.add({info.device.toString(), info.name, info.detail, bytes(info.memoryBytes),
                     bytes(backend->freeBytes()) + " free",
                     fmt::format("{} used, peak {}", bytes(memory.used), bytes(memory.peak))});
    }
    printResult(devices.toString());
    if (const std::string& problem = cudaDevices().problem; !problem.empty())
        printResult(fmt::format("cuda  simulated: {}\n", problem));

    TextTable profiles({left, left, right, right, right, right, left}, 2);
    profiles.add({"profile", "hardware", "memory", "memory bandwidth", "f32", "link, pinned", "link"});
    profiles.addRule();
    for (const DeviceProfile& p : library.all())
        profiles.add({p.id, p.name, formatBytes(static_cast<double>(p.memoryBytes)), formatRate(p.memoryGBps),
                      fmt::format("{:.1f} TFLOP/s", p.peakGflops[static_cast<std::size_t>(DType::f32)] / 1e3),
                      formatRate(p.linkPinnedGBps), p.link});
    printResult("\nProfiles, for --device-map cuda:0=simulated:PROFILE\n" + profiles.toString());
}

} // namespace

void addDevicesCommand(CLI::App& app, ExitCode&) {
    const auto json = std::make_shared<bool>(false);
    CLI::App* command =
        app.add_subcommand("devices", "List the devices of this machine and the profiles for simulation");
    command->add_flag("--json", *json, "Print JSON instead of a table");
    command->callback([json] {
        const ProfileLibrary library(resourceFolder() / "devices");
        if (*json)
            listAsJson(library);
        else
            printText(library);
    });
}

} // namespace twb
