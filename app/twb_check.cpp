#include "app/commands.h"
#include "app/finding_list.h"
#include "app/junit.h"
#include "app/placed_graph.h"
#include "app/shared_options.h"
#include "app/step_budget.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/file_claims.h"
#include "formats/pytorch/python_source.h"
#include "profile/prediction.h"
#include "profile/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

namespace twb {
namespace {

struct CheckOptions {
    std::vector<std::string> files;
    PlacementOptions placement;
    StepBudget budget;
    bool allowOutside = false;
    bool json = false;
    std::string junit;
};

struct Counts {
    std::size_t errors = 0;
    std::size_t warnings = 0;
    std::size_t unreadable = 0;
};

void count(const std::vector<Diagnostic>& diagnostics, Counts& counts) {
    for (const Diagnostic& d : diagnostics) {
        if (d.root != NodeId::none) continue; // counted with its root
        if (d.severity == Severity::error) ++counts.errors;
        if (d.severity == Severity::warning) ++counts.warnings;
    }
}

/// Warnings are not failures; they are listed in the detail of an error.
JunitCase caseOf(const std::string& file, const std::vector<Finding>& findings,
                 const std::vector<std::string>& exceeded) {
    JunitCase out;
    out.name = file;
    const auto fail = [&](const std::string& message) {
        if (out.outcome == JunitCase::Outcome::failed) return;
        out.outcome = JunitCase::Outcome::failed;
        out.message = message;
    };
    for (const Finding& finding : findings) {
        const Diagnostic& d = *finding.diagnostic;
        if (d.severity == Severity::error) fail(d.message);
        out.detail += fmt::format("{}[{}]: {}", name(d.severity), d.code, finding.text);
    }
    for (const std::string& sentence : exceeded) {
        fail(sentence);
        out.detail += fmt::format("error[budget]: {}\n", sentence);
    }
    return out;
}

bool hasPrice(const Diagnostic& d) {
    return std::any_of(d.fixes.begin(), d.fixes.end(), [](const Fix& fix) { return fix.price.ns > 0; });
}

ExitCode check(const CheckOptions& options) {
    FileClaims claims;
    for (const std::string& file : options.files) claims.read(file, "FILE");
    options.placement.claim(claims);
    if (!options.junit.empty()) claims.write(options.junit, "--junit");
    std::vector<JunitCase> cases;
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    Counts counts;
    std::set<std::string> figures; ///< the sources of the fixes' prices
    ExitCode exit = ExitCode::fine;
    for (const std::string& file : options.files) {
        try {
            const PlacedGraph placed = loadPlaced(file, options.placement, options.allowOutside);
            const Graph& graph = placed.graph;
            const Analysis& analysis = placed.analysis;
            const StepCosts costs = stepCosts(placed, options.budget);
            const std::vector<Finding> findings = findingsOf(graph, analysis.diagnostics);
            count(analysis.diagnostics, counts);
            counts.errors += costs.exceeded.size();
            const std::string from = sourcesOf(placed.devices);
            cases.push_back(caseOf(file, findings, costs.exceeded));
            if (options.json) {
                results.push_back(
                    nlohmann::ordered_json::parse(diagnosticsToJson(file, analysis.diagnostics, graph)));
                results.back()["from"] = from;
                results.back()["step"] = {
                    {"syncs", costs.syncs}, {"transfer_bytes", costs.bytes}, {"exceeded", costs.exceeded}};
                continue;
            }
            PythonSource source(file);
            std::map<NodeId, std::string> advice;
            for (const PythonFix& fix : pythonFixes(graph, analysis, source.reader()))
                advice[fix.node] = fmt::format("  in Python: {}\n", printable(fix.advice));
            for (const Finding& finding : findings) {
                const Diagnostic& d = *finding.diagnostic;
                printResult(fmt::format("{}: {}[{}]: {}{}", printable(file), name(d.severity), d.code,
                                        finding.text, d.code == "device-mismatch" ? advice[d.node] : ""));
            }
            for (const std::string& sentence : costs.exceeded)
                printResult(fmt::format("{}: error[budget]: {}\n", printable(file), printable(sentence)));
            if (std::any_of(analysis.diagnostics.begin(), analysis.diagnostics.end(), hasPrice))
                figures.insert(from);
            if (findings.empty() && costs.exceeded.empty())
                printResult(fmt::format("{}: no problems, {}\n", printable(file),
                                        counted(graph.nodes().size(), "node")));
        } catch (const Error& error) {
            // An unreadable file must not hide the errors of the others.
            if (error.code() == ErrorCode::invalidArgument) throw;
            printMessage(error.what());
            exit = std::max(exit, exitCodeOf(error.code()));
            ++counts.unreadable;
            cases.push_back({file, JunitCase::Outcome::error, error.what(), {}, 0});
            results.push_back({{"schema", kReportSchema}, {"file", file}, {"unreadable", error.what()}});
        }
    }
    if (!options.junit.empty()) writeJunit(options.junit, "check", cases);
    if (counts.errors > 0) exit = std::max(exit, ExitCode::graphErrors);
    if (options.json) {
        const nlohmann::ordered_json out{{"schema", kReportSchema},
                                         {"errors", counts.errors},
                                         {"warnings", counts.warnings},
                                         {"unreadable", counts.unreadable},
                                         {"files", results}};
        printJson(out);
    } else {
        for (const std::string& from : figures)
            printResult(fmt::format("The times are modelled {}.\n", printable(from)));
        printResult(fmt::format("{}, {}, {}{}\n", counted(options.files.size(), "graph"),
                                counted(counts.errors, "error"), counted(counts.warnings, "warning"),
                                counts.unreadable ? fmt::format(", {} not checked", counts.unreadable) : ""));
    }
    return exit;
}

} // namespace

void addCheckCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<CheckOptions>();
    CLI::App* command = app.add_subcommand(
        "check", "List all mismatches and errors of each graph, with the price of each fix");
    command
        ->add_option("FILE", options->files,
                     "Projects (.twb), ONNX models (.onnx) and PyTorch programs (.twbcap, .pt2)")
        ->required();
    options->placement.addTo(*command, false);
    options->placement.addWorldTo(*command);
    options->budget.addTo(*command);
    addAllowOutside(*command, options->allowOutside);
    command->add_flag("--json", options->json, "Print JSON instead of text");
    addJunit(*command, options->junit);
    command->callback([options, &exit] { exit = check(*options); });
}

} // namespace twb
