#include "app/commands.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "profile/report_page.h"
#include "profile/saved_report.h"

#include <fmt/format.h>

#include <memory>

namespace twb {
namespace {

struct ReportOptions {
    std::string report;
    std::string output;
};

} // namespace

void addReportCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "Convert a report to one HTML page");
    command->add_option("FILE", options->report, "A report of `twb run --report` (.json)")->required();
    command->add_option("-o,--output", options->output, "Page to write")->type_name("OUT.html")->required();
    command->callback([options, &exit] {
        FileClaims claims;
        claims.read(options->report, "FILE");
        claims.write(options->output, "-o");
        const std::string page = reportPage(readFile(options->report, kLargestReport), options->report);
        writeFileAtomically(options->output, page);
        printResult(fmt::format("{}: {}\n", options->output, formatBytes(static_cast<double>(page.size()))));
        exit = ExitCode::fine;
    });
}

} // namespace twb
