#include "app/commands.h"
#include "app/terminal.h"
#include "backends/cpu/cpu_backend.h"
#include "core/format.h"
#include "core/text_table.h"
#include "profile/profiles.h"
#include "profile/report.h"
#include "profile/resource_path.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace twb {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kNoCuda = "no CUDA plugin or device is here; cuda lanes run simulated";

Json toJson(const DeviceProfile& profile) {
    Json peaks = Json::object();
    for (const DType dtype : kAllDTypes)
        if (const double gflops = profile.peakGflops[static_cast<std::size_t>(dtype)]; gflops > 0)
            peaks[std::string(name(dtype))] = gflops / 1e3;
    return {{"id", profile.id},
            {"name", profile.name},
            {"link", profile.link},
            {"memory_bytes", profile.memoryBytes},
            {"memory_gb_per_s", profile.memoryGBps},
            {"peak_tflops", std::move(peaks)},
            {"link_pinned_gb_per_s", profile.linkPinnedGBps},
            {"link_pageable_gb_per_s", profile.linkPageableGBps},
            {"source", profile.source}};
}

void printJson(const DeviceInfo& cpu, const ProfileLibrary& library) {
    Json out{{"schema", kReportSchema},
             {"devices",
              {{{"device", cpu.device.toString()},
                {"name", cpu.name},
                {"detail", cpu.detail},
                {"simulated", cpu.simulated},
                {"memory_bytes", cpu.memoryBytes}}}},
             {"cuda", {{"present", false}, {"message", kNoCuda}}},
             {"profiles", Json::array()}};
    for (const DeviceProfile& profile : library.all()) out["profiles"].push_back(toJson(profile));
    printResult(out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

void printText(const DeviceInfo& cpu, const ProfileLibrary& library) {
    using enum TextTable::Align;
    TextTable devices({left, left, left, right});
    devices.add({"cpu", cpu.name, cpu.detail, formatBytes(static_cast<double>(cpu.memoryBytes))});
    printResult(devices.toString() + fmt::format("cuda  {}\n", kNoCuda));

    TextTable profiles({left, left, right, right, right, right, left}, 2);
    profiles.add({"profile", "simulates", "memory", "memory rate", "f32", "link, pinned", "link"});
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
    CLI::App* command = app.add_subcommand("devices", "What is here to run on, and what can be simulated");
    command->add_flag("--json", *json, "Print JSON instead of a table");
    command->callback([json] {
        const std::shared_ptr<Backend> cpu = cpuBackend();
        const ProfileLibrary library(resourceFolder() / "devices");
        if (*json)
            printJson(cpu->info(), library);
        else
            printText(cpu->info(), library);
    });
}

} // namespace twb
