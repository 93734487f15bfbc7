// twb: checks, runs and sweeps graphs without a display.

#include "app/commands.h"
#include "app/interrupts.h"
#include "app/terminal.h"

#include <cstdlib>
#include <exception>
#include <new>
#include <unistd.h>

using namespace twb;

namespace {

/// OpenMP's threads spin for milliseconds after each parallel loop, and every stream has threads of its own:
/// on a machine with anything else to do, or in a container with a quota, a run then takes up to 100 times as
/// long. libgomp reads this setting before main and offers no call for it, so the program starts once more
/// with it set.
void limitSpinning(char** argv) {
    if (std::getenv("OMP_WAIT_POLICY") || std::getenv("GOMP_SPINCOUNT")) return;
    setenv("GOMP_SPINCOUNT", "1000", 1);
    execv("/proc/self/exe", argv); // returns only where there is no /proc: then it spins
}

} // namespace

int main(int argc, char** argv) {
    limitSpinning(argv);
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
