#include "app/commands.h"
#include "app/near_matches.h"
#include "app/terminal.h"
#include "core/format.h"
#include "formats/file_claims.h"
#include "formats/model_formats.h"
#include "ops/op_table.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <set>

namespace twb {
namespace {

struct ImportCommand {
    std::string model;
    std::string project;
    std::vector<std::string> dimensions;
    bool noSimplify = false;
};

/// "batch=8".
std::pair<std::string, std::int64_t> parseDimension(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    std::int64_t size = -1;
    if (equals != std::string::npos) {
        const char* const end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data() + equals + 1, end, size);
        if (error != std::errc() || at != end) size = -1;
    }
    if (equals == 0 || size < 0)
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--dim \"{}\" must have the form name=size, such as batch=8", text));
    return {text.substr(0, equals), size};
}

/// A dimension without an input is probably misspelt.
void checkDimensions(const std::map<std::string, std::int64_t>& wanted, const ImportedModel& model,
                     const std::string& file) {
    const std::vector<std::string> names(model.dimensions.begin(), model.dimensions.end());
    for (const auto& [name, size] : wanted) {
        if (model.dimensions.contains(name)) continue;
        const std::string near = didYouMean(name, names);
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("--dim {}={}: no input of {} has a symbolic dimension \"{}\"{}", name, size,
                                file, name,
                                !near.empty()   ? near
                                : names.empty() ? "; the model fixes all sizes of its inputs"
                                                : fmt::format("; its symbolic dimensions are: {}",
                                                              fmt::join(names, ", "))));
    }
}

ExitCode import(const ImportCommand& options) {
    const std::filesystem::path target(options.project);
    FileClaims claims;
    claims.read(options.model, "the model");
    claims.write(target, "-o", FileClaims::Content::project);
    ImportOptions imports;
    auto& dimensions = imports.dimensions;
    for (const std::string& text : options.dimensions) {
        const auto [at, fresh] = dimensions.insert(parseDimension(text));
        if (!fresh)
            throw Error(ErrorCode::invalidArgument,
                        fmt::format("--dim gives \"{}\" two sizes; give it one", at->first));
    }
    if (std::filesystem::path(options.model).extension() == ".twb")
        throw Error(ErrorCode::invalidArgument,
                    fmt::format("{} is a project already; twb import reads ONNX models (.onnx), programs of "
                                "torch.export (.pt2) and captures (.twbcap)",
                                options.model));
    ImportedModel model = importModel(options.model, imports);
    checkDimensions(dimensions, model, options.model);
    Simplified simpler;
    // The nodes of a capture stand for lines of the program.
    if (!options.noSimplify && !isCapture(options.model)) simpler = simplifyImported(model);
    model.graph.apply(simpler.delta);
    dropUnreadTensors(model);
    const std::string tensorFile = saveImportedModel(model, target);

    double bytes = 0;
    for (const auto& [path, tensor] : model.tensors) bytes += static_cast<double>(tensor.byteCount());
    std::string summary =
        fmt::format("{}: {}, {}", target.string(), counted(model.graph.nodes().size(), "node"),
                    counted(model.graph.edgeCount(), "edge"));
    if (!tensorFile.empty())
        summary += fmt::format("; {} ({}) in {}", counted(model.tensors.size(), "tensor"), formatBytes(bytes),
                               (target.parent_path() / tensorFile).string());
    printResult(summary + "\n");
    for (const std::string& remark : model.remarks) printMessage(remark);
    for (const std::string& remark : simpler.remarks) printMessage(remark);
    std::set<std::string> missing;
    std::set<std::string> opaque;
    for (const Node& node : model.graph.nodes())
        if (!findOp(node.op)) missing.insert(node.op);
    for (const Node& node : model.graph.nodes())
        if (node.op == "Opaque") opaque.insert(node.attributes.text("target"));
    for (const std::string& op : opaque)
        printMessage(
            fmt::format("{} has no counterpart: its nodes are shown, but the graph does not run", op));
    for (const std::string& op : missing)
        printMessage(fmt::format(
            "unknown op {}: its nodes are placeholders; they and their consumers do not run", op));
    return ExitCode::fine;
}

} // namespace

void addImportCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<ImportCommand>();
    CLI::App* command =
        app.add_subcommand("import", "Convert an ONNX model or a PyTorch program to a project");
    command
        ->add_option("MODEL", options->model,
                     "The model (.onnx), the program of torch.export (.pt2) or the capture (.twbcap)")
        ->required();
    command->add_option("-o,--output", options->project, "Project to write")
        ->type_name("OUT.twb")
        ->required();
    command->add_option("--dim", options->dimensions, "Size of a symbolic dimension; default: 1")
        ->type_name("NAME=SIZE")
        ->allow_extra_args(false);
    command->add_flag("--no-simplify", options->noSimplify,
                      "Keep all nodes of the model; default: compute constants, and recognise composed ops");
    command->callback([options, &exit] { exit = import(*options); });
}

} // namespace twb
