#include "app/commands.h"
#include "app/terminal.h"
#include "core/error.h"
#include "profile/kineto_ledger.h"

#include <fmt/format.h>

#include <memory>

namespace twb {
namespace {

struct ProfileOptions {
    std::string trace;
    bool json = false;
    bool csv = false;
};

ExitCode profile(const ProfileOptions& options) {
    if (options.json && options.csv)
        throw Error(ErrorCode::invalidArgument, "--json and --csv exclude each other; give one of them");
    ReadingLine line("reading " + options.trace);
    const KinetoTrace trace = readKinetoTrace(options.trace, line.progress());
    line.clear();
    const KinetoLedger ledger = makeKinetoLedger(trace);
    printResult(options.json ? toJson(ledger) : options.csv ? toCsv(ledger) : toText(ledger));
    for (const std::string& problem : ledger.problems)
        printMessage(fmt::format("{}: {}", options.trace, problem));
    if (ledger.faultyEvents > ledger.problems.size())
        printMessage(fmt::format("{}: {} more faulty events are left out", options.trace,
                                 ledger.faultyEvents - ledger.problems.size()));
    return ExitCode::fine;
}

} // namespace

void addProfileCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<ProfileOptions>();
    CLI::App* command = app.add_subcommand(
        "profile", "List the transfers, synchronisations and idle time in a trace of torch.profiler");
    command->add_option("TRACE", options->trace, "A trace of torch.profiler (.json or .json.gz)")->required();
    command->add_flag("--json", options->json, "Print JSON instead of text");
    command->add_flag("--csv", options->csv, "Print the transfers as CSV instead of text");
    command->callback([options, &exit] { exit = profile(*options); });
}

} // namespace twb
