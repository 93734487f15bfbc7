#include "app/commands.h"
#include "app/placed_graph.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/dot.h"
#include "formats/file_claims.h"
#include "formats/npy.h"
#include "formats/onnx/onnx_export.h"
#include "formats/project.h"
#include "formats/pytorch/pytorch_export.h"

#include <fmt/format.h>

#include <memory>

namespace twb {
namespace {

struct ExportOptions {
    std::string project;
    std::string format;
    std::string output;
    bool allowOutside = false;
};

ExitCode write(const ExportOptions& options) {
    FileClaims claims;
    claims.read(options.project, "the project");
    claims.write(options.output, "-o");
    const std::filesystem::path folder = std::filesystem::absolute(options.project).parent_path();
    const Graph graph = loadProject(options.project);
    tellOfModules(graph, options.project);
    claims.readGraph(graph, folder);
    const auto files = makeProjectFiles(folder, options.allowOutside);
    if (options.format == "onnx")
        exportOnnx(graph, files.get(), options.output);
    else if (options.format == "dot")
        exportDot(graph, options.output);
    else
        exportPyTorch(graph, files.get(), folder, options.output);
    std::error_code unknown; // of a pipe
    const auto bytes = std::filesystem::file_size(options.output, unknown);
    printResult(fmt::format("{}: {} of {}{}\n", options.output, counted(graph.nodes().size(), "node"),
                            options.project, unknown ? "" : ", " + formatBytes(static_cast<double>(bytes))));
    return ExitCode::fine;
}

} // namespace

void addExportCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<ExportOptions>();
    CLI::App* command = app.add_subcommand("export", "Export a graph to another format");
    command->add_option("FILE", options->project, "The project (.twb)")->required();
    command->add_option("--to", options->format, "Output format")
        ->required()
        ->check(CLI::IsMember({"onnx", "pytorch", "dot"}))
        ->type_name("FORMAT");
    command->add_option("-o,--output", options->output, "Output file")->type_name("OUT")->required();
    addAllowOutside(*command, options->allowOutside);
    command->callback([options, &exit] { exit = write(*options); });
}

} // namespace twb
