#include "app/commands.h"
#include "app/junit.h"
#include "app/terminal.h"
#include "formats/file_claims.h"
#include "formats/project.h"
#include "profile/report_diff.h"
#include "profile/saved_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <memory>

namespace twb {
namespace {

struct CompareOptions {
    std::string before;
    std::string after;
    std::string bytes;
    std::string time;
    std::string junit;
    bool json = false;
};

/// "5%" and "5" are five percent.
std::optional<double> percentOf(const std::string& text, const char* option) {
    if (text.empty()) return std::nullopt;
    const std::size_t digits = text.ends_with('%') ? text.size() - 1 : text.size();
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + digits, value);
    if (failed != std::errc() || end != text.data() + digits || !std::isfinite(value) || value < 0)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} {} is not a percentage; write 5% or 0%", option, text));
    return value;
}

ExitCode compare(const CompareOptions& options) {
    GrowthLimits limits;
    limits.transferBytes = percentOf(options.bytes, "--fail-if-transfer-bytes-grow");
    limits.time = percentOf(options.time, "--fail-if-time-grows");
    FileClaims claims;
    claims.read(options.before, "BEFORE");
    claims.read(options.after, "AFTER");
    if (!options.junit.empty()) claims.write(options.junit, "--junit");
    const ReportDiff diff = compareReports(readFile(options.before, kLargestReport), options.before,
                                           readFile(options.after, kLargestReport), options.after);
    const std::vector<std::string> problems = exceeded(diff, limits);
    printResult(options.json ? toJson(diff, problems) : toText(diff));
    for (const std::string& problem : problems) printMessage(problem);
    if (!options.junit.empty()) {
        JunitCase one;
        one.name = options.before + " to " + options.after;
        one.outcome = problems.empty() ? JunitCase::Outcome::passed : JunitCase::Outcome::failed;
        if (!problems.empty()) one.message = problems.front();
        one.detail = fmt::format("{}\n{}", fmt::join(problems, "\n"), toText(diff));
        writeJunit(options.junit, "compare", {one});
    }
    return problems.empty() ? ExitCode::fine : ExitCode::runFailed;
}

} // namespace

void addCompareCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<CompareOptions>();
    CLI::App* command =
        app.add_subcommand("compare", "Compare two reports; fail with exit code 1 if a limit is exceeded");
    command->add_option("BEFORE", options->before, "A report of `twb run --report` (.json)")->required();
    command->add_option("AFTER", options->after, "The report to compare with BEFORE")->required();
    command
        ->add_option("--fail-if-transfer-bytes-grow", options->bytes,
                     "Fail if the transferred bytes grow by more than this")
        ->type_name("PERCENT");
    command
        ->add_option("--fail-if-time-grows", options->time,
                     "Fail if the median iteration time grows by more than this, or cannot be compared")
        ->type_name("PERCENT");
    command->add_flag("--json", options->json, "Print JSON instead of text");
    addJunit(*command, options->junit);
    command->callback([options, &exit] { exit = compare(*options); });
}

} // namespace twb
