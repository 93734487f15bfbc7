#include "app/commands.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/dot.h"
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
    const Graph graph = loadProject(options.project);
    const auto files =
        makeProjectFiles(std::filesystem::absolute(options.project).parent_path(), options.allowOutside);
    if (options.format == "onnx")
        exportOnnx(graph, files.get(), options.output);
    else if (options.format == "dot")
        exportDot(graph, options.output);
    else
        exportPyTorch(graph, files.get(), std::filesystem::absolute(options.project).parent_path(),
                      options.output);
    printResult(fmt::format("{}: {} nodes of {}, {}\n", options.output, graph.nodes().size(), options.project,
                            formatBytes(static_cast<double>(std::filesystem::file_size(options.output)))));
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
    command->add_option("-o,--output", options->output, "Output file")->required();
    addAllowOutside(*command, options->allowOutside);
    command->callback([options, &exit] { exit = write(*options); });
}

} // namespace twb
