#include "app/commands.h"
#include "app/remote_watch.h"
#include "app/terminal.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cuda_plugin.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text_table.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "formats/remote_calibration.h"
#include "profile/calibration.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"
#include "profile/trace_calibration.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <sstream>

namespace twb {
namespace {

struct CalibrateOptions {
    std::string device = "auto";
    std::string output;
    std::string trace;
    std::string base;
    std::string on;
};

std::shared_ptr<Backend> backendOf(const std::string& text) {
    const auto device = Device::parse(text);
    if (!device || device->rank != 0)
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

Calibration measure(const CalibrateOptions& options) {
    if (!options.base.empty())
        throw Error(ErrorCode::invalidArgument,
                    "--base needs --from-trace; a measured device has all figures");
    const std::shared_ptr<Backend> backend = backendOf(options.device);
    if (stderrIsTerminal())
        printMessage(fmt::format("measuring {} ({}); do not run other programs meanwhile",
                                 backend->info().device.toString(), backend->info().name));
    return calibrate(*backend, today());
}

/// The profile that has the figures which the trace lacks: the given one, or that of the same GPU.
DeviceProfile baseOf(const CalibrateOptions& options, const std::string& device) {
    if (options.base.ends_with(".json")) return readProfile(options.base);
    const ProfileLibrary profiles(resourceFolder() / "devices");
    if (!options.base.empty()) return profiles.at(options.base);
    for (const DeviceProfile& profile : profiles.all())
        if (device.starts_with(profile.name)) return profile;
    throw Error(
        ErrorCode::invalidArgument,
        fmt::format("the trace lacks some figures, and there is no device profile of {}; choose the profile "
                    "of a similar GPU, for example --base {}",
                    device.empty() ? "the trace's GPU" : device, kDefaultProfile));
}

Calibration readFromTrace(const CalibrateOptions& options) {
    const auto device = Device::parse(options.device);
    if (!device || device->isCpu() || device->rank != 0)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--device {} is not a GPU of a trace; write cuda:0", options.device));
    const auto index = static_cast<std::uint32_t>(device->isAuto() ? 0 : device->index);
    ReadingLine line("reading " + options.trace);
    const KinetoTrace trace = readKinetoTrace(options.trace, line.progress());
    line.clear();
    // Without --device, the trace's first GPU is meant: on some machines it is not number 0.
    const std::uint32_t gpu =
        device->isAuto() && !trace.activities.empty() ? trace.activities.front().device : index;
    return calibrateFromTrace(trace, baseOf(options, trace.deviceName(gpu)), gpu);
}

void write(const CalibrateOptions& options, const DeviceProfile& profile) {
    if (options.output.empty()) return;
    writeFileAtomically(options.output, profileJson(profile));
    printResult(fmt::format("\n{0}: the profile of {1}, for --device-map cuda:0=simulated:{0}\n",
                            options.output, profile.name));
}

/// The same on another machine.
ExitCode calibrateThere(const CalibrateOptions& options) {
    if (!options.base.empty())
        throw Error(ErrorCode::invalidArgument, "--base needs --from-trace, which --on cannot be used with");
    if (stderrIsTerminal())
        printMessage(fmt::format("measuring on {}; do not run other programs there meanwhile",
                                 remoteHost(options.on)));
    RemoteWatch watch;
    const RemoteCalibration measured = calibrateRemotely(options.on, {}, options.device, true, watch);
    std::istringstream lines(measured.table); // of the other machine
    for (std::string line; std::getline(lines, line);) printResult(printable(line) + '\n');
    write(options, measured.profile);
    printMessage("measured on " + measured.host);
    return ExitCode::fine;
}

ExitCode calibrate(const CalibrateOptions& options) {
    FileClaims claims;
    if (!options.trace.empty()) claims.read(options.trace, "--from-trace");
    if (!options.output.empty()) claims.write(options.output, "--output");
    if (!options.on.empty()) return calibrateThere(options);
    const Calibration measured = options.trace.empty() ? measure(options) : readFromTrace(options);
    using enum TextTable::Align;
    TextTable table({left, right, right, right, right});
    table.add({"what", "size", "best", "that is", "times"});
    table.addRule();
    for (const CalibrationRow& row : measured.rows)
        table.add({row.what, row.size, formatMs(row.ns), row.figure, std::to_string(row.count)});
    printResult(table.toString());
    if (!options.trace.empty()) printResult(fmt::format("\n{}\n", printable(sourceText(measured.profile))));
    write(options, measured.profile);
    return ExitCode::fine;
}

} // namespace

void addCalibrateCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<CalibrateOptions>();
    CLI::App* command = app.add_subcommand(
        "calibrate", "Measure a device, or read a trace of torch.profiler, and write a device profile");
    command->add_option("--device", options->device, "cpu or cuda:0; default: cuda:0 if present, else cpu")
        ->type_name("DEVICE");
    command
        ->add_option("-o,--output", options->output,
                     "Profile to write, for --device-map cuda:0=simulated:FILE.json")
        ->type_name("FILE.json");
    CLI::Option* there = command->add_option("--on", options->on,
                                             "Measure a device of another machine, with the twb of that "
                                             "machine");
    there->type_name("ssh:HOST");
    command
        ->add_option("--from-trace", options->trace,
                     "Take the figures from a trace of torch.profiler instead of measuring this machine")
        ->type_name("TRACE")
        ->excludes(there);
    command
        ->add_option(
            "--base", options->base,
            "With --from-trace: the profile (a name of `twb devices`, or a file) for figures that the "
            "trace does not have; default: the profile of the same GPU")
        ->type_name("PROFILE");
    command->callback([options, &exit] { exit = calibrate(*options); });
}

} // namespace twb
