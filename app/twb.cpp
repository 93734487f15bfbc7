// twb: checks, runs and sweeps graphs without a display.

#include "app/commands.h"
#include "app/interrupts.h"
#include "app/terminal.h"

#include <exception>
#include <new>

using namespace twb;

int main(int argc, char** argv) {
    exitOnInterrupt();
    ExitCode exit = ExitCode::fine;
    try {
        CLI::App app{"Checks and runs graphs of tensors on lanes, without a display."};
        app.name("twb");
        app.set_version_flag("--version", "twb " TWB_VERSION);
        app.require_subcommand(1);
        app.footer(
            "Exit codes: 0 fine, 1 the run failed, 2 wrong usage, 3 the graph has errors, 4 a file cannot be "
            "read or written,\n5 a required device is missing, 130 cancelled.");
        addCheckCommand(app, exit);
        addRunCommand(app, exit);
        addBatchCommand(app, exit);
        addDevicesCommand(app, exit);
        addOpsCommand(app, exit);
        try {
            app.parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
            app.exit(error); // prints the help or what is wrong
            if (!asked) exit = ExitCode::wrongUsage;
        }
        finishOutput();
    } catch (const Error& error) {
        printMessage(error.what());
        exit = exitCodeOf(error.code());
    } catch (const std::bad_alloc&) {
        printMessage("this machine has not enough free memory for that");
        exit = ExitCode::runFailed;
    } catch (const std::exception& error) {
        printMessage(error.what());
        exit = ExitCode::runFailed;
    }
    return static_cast<int>(exit);
}
