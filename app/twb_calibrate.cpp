#include "app/commands.h"
#include "app/terminal.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cuda_plugin.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text_table.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "profile/calibration.h"
#include "profile/profiles.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>

namespace twb {
namespace {

struct CalibrateOptions {
    std::string device = "auto";
    std::string output;
};

std::shared_ptr<Backend> backendOf(const std::string& text) {
    const auto device = Device::parse(text);
    if (!device)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--device {} is not a device; write cpu or cuda:0", text));
    const CudaDevices none;
    const CudaDevices& gpus = device->isCpu() ? none : cudaDevices();
    if (device->isCpu() || (device->isAuto() && gpus.backends.empty())) return cpuBackend();
    const auto index = static_cast<std::size_t>(device->index);
    if (index < gpus.backends.size()) return gpus.backends[index];
    throw Error(ErrorCode::missingDevice,
                fmt::format("--device {} cannot be measured: {}", device->toString(),
                            gpus.problem.empty()
                                ? fmt::format("this machine has GPUs up to cuda:{}", gpus.backends.size() - 1)
                                : gpus.problem));
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    return fmt::format("{:%Y-%m-%d}", local);
}

ExitCode calibrate(const CalibrateOptions& options) {
    if (!options.output.empty()) FileClaims().write(options.output, "--output");
    const std::shared_ptr<Backend> backend = backendOf(options.device);
    if (stderrIsTerminal())
        printMessage(fmt::format("measuring {} ({}); do not run other programs meanwhile",
                                 backend->info().device.toString(), backend->info().name));
    const Calibration measured = calibrate(*backend, today());
    using enum TextTable::Align;
    TextTable table({left, right, right, right, right});
    table.add({"what", "size", "best", "that is", "times"});
    table.addRule();
    for (const CalibrationRow& row : measured.rows)
        table.add({row.what, row.size, formatMs(row.ns), row.figure, std::to_string(row.count)});
    printResult(table.toString());
    if (options.output.empty()) return ExitCode::fine;
    writeFileAtomically(options.output, profileJson(measured.profile));
    printResult(fmt::format("\n{0}: the profile of {1}, for --device-map cuda:0=simulated:{0}\n",
                            options.output, measured.profile.name));
    return ExitCode::fine;
}

} // namespace

void addCalibrateCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<CalibrateOptions>();
    CLI::App* command = app.add_subcommand("calibrate", "Measure a device and write its profile");
    command->add_option("--device", options->device, "cpu or cuda:0; default: cuda:0 if present, else cpu")
        ->type_name("DEVICE");
    command
        ->add_option("-o,--output", options->output,
                     "Profile to write, for --device-map cuda:0=simulated:FILE.json")
        ->type_name("FILE.json");
    command->callback([options, &exit] { exit = calibrate(*options); });
}

} // namespace twb
