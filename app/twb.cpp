// twb: checks, runs and sweeps graphs without a display.

#include "app/child_process.h"
#include "app/commands.h"
#include "app/interrupts.h"
#include "app/short_waits.h"
#include "app/terminal.h"
#include "app/usage_error.h"
#include "ops/plugins/plugin_check.h"
#include "ops/plugins/plugins.h"
#include "ops/plugins/project_plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

using namespace twb;

namespace {

/// The arguments, last first, as CLI11 takes them. If the command already has a file, CLI11 passes arguments
/// after "--" to the main program, so these are written as paths. Those of `capture` are a script's own.
std::vector<std::string> argumentsOf(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string> out;
    bool onlyFiles = false;
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argc > 1 && argv[1] == std::string_view("capture")) {
            out.push_back(std::move(argument));
            continue;
        }
        if (!onlyFiles && argument == "--") {
            onlyFiles = true;
            continue;
        }
        const auto isCommand = [&](const CLI::App* command) { return command->check_name(argument); };
        if (onlyFiles && (argument.starts_with('-') || !app.get_subcommands(isCommand).empty()))
            argument.insert(0, "./");
        out.push_back(std::move(argument));
    }
    std::reverse(out.begin(), out.end());
    return out;
}

} // namespace

int main(int argc, char** argv) {
    waitBriefly(argv);
    exitOnInterrupt();
    endWithParent();
    ExitCode exit = ExitCode::fine;
    try {
        CLI::App app{"Checks and runs graphs of tensors that are placed on CPUs and GPUs; needs no display."};
        app.name("twb");
        app.set_version_flag("--version", "twb " TWB_VERSION);
        app.require_subcommand(1);
        app.add_flag_callback("--no-plugins", disablePlugins,
                              "Leave out the ops of plug-ins; before the command");
        app.add_flag_callback("--project-ops", trustAllProjects,
                              "Load the plug-ins in the folder ops beside each project; before the command");
        app.footer("Exit codes: 0 success, 1 the run failed, 2 wrong usage, 3 the graph has errors, 4 a file "
                   "cannot be read or written,\n5 a required device is missing, 130 cancelled.");
        addCheckCommand(app, exit);
        addRunCommand(app, exit);
        addBatchCommand(app, exit);
        addTrainCommand(app, exit);
        addQuantizeCommand(app, exit);
        addFixCommand(app, exit);
        addPredictCommand(app, exit);
        addPlaceCommand(app, exit);
        addCompareCommand(app, exit);
        addReportCommand(app, exit);
        addProfileCommand(app, exit);
        addOverlayCommand(app, exit);
        addImportCommand(app, exit);
        addExportCommand(app, exit);
        addCaptureCommand(app);
        addDevicesCommand(app, exit);
        addCalibrateCommand(app, exit);
        addOpsCommand(app, exit);
        addNewOpCommand(app, exit);
        addCompletionCommand(app, exit);
        addManCommand(app, exit);
        if (argc > 1 && argv[1] == std::string_view("__complete")) {
            printResult(completionLines(app, {argv + 2, argv + argc}));
            finishOutput();
            return static_cast<int>(exit);
        }
        if (argc == 3 && argv[1] == std::string_view("__check-plugin")) return checkPluginHere(argv[2]);
        try {
            app.parse(argumentsOf(app, argc, argv));
        } catch (const CLI::ParseError& error) {
            if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
                throw Error(ErrorCode::invalidArgument, usageSentence(app, error));
            std::ostringstream asked; // the help or the version
            app.exit(error, asked, asked);
            printResult(asked.str());
        }
        finishOutput();
    } catch (const Error& error) {
        printMessage(error.what());
        exit = exitCodeOf(error.code());
    } catch (const std::bad_alloc&) {
        printMessage("out of memory");
        exit = ExitCode::runFailed;
    } catch (const std::exception& error) {
        printMessage(error.what());
        exit = ExitCode::runFailed;
    }
    for (const PluginProblem& problem : pluginProblems())
        printMessage(
            fmt::format("warning: the plug-in {} is left out: {}", problem.file.string(), problem.sentence));
    return static_cast<int>(exit);
}
