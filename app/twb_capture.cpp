#include "app/commands.h"
#include "app/shared_options.h"
#include "app/terminal.h"
#include "formats/file_claims.h"
#include "profile/resource_path.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <unistd.h>

namespace twb {
namespace {

namespace fs = std::filesystem;

struct CaptureOptions {
    std::string python = "python3";
    int gpus = 1;
    bool fake = false;
    std::string steps;
    std::string output;
    bool quiet = false;
    std::string script;
    std::vector<std::string> arguments;
};

/// CLI11's check of `--steps`: a sentence, or nothing.
std::string refusalOfSteps(const std::string& text) {
    static const std::regex form("(\\d{0,9}):(\\d{0,9})");
    std::smatch parts;
    if (!std::regex_match(text, parts, form))
        return fmt::format("\"{}\" is not a range of steps; write A:B, A: or :B", text);
    const int first = parts[1].length() ? std::stoi(parts[1]) : 0;
    if (parts[2].length() && std::stoi(parts[2]) <= first)
        return fmt::format(
            "the range {} is empty: A:B records the steps A to B-1, so B must be greater than A", text);
    return {};
}

/// A path that no option parser takes for an option.
std::string asOperand(const std::string& path) { return path.starts_with('-') ? "./" + path : path; }

std::vector<std::string> commandOf(const CaptureOptions& options, const fs::path& output) {
    std::vector<std::string> out{options.python, "-m",     "tensor_workbench",
                                 "capture",      "--gpus", std::to_string(options.gpus)};
    if (options.fake) out.emplace_back("--fake");
    if (options.quiet) out.emplace_back("--quiet");
    if (!options.steps.empty()) out.push_back("--steps=" + options.steps);
    out.emplace_back("-o");
    out.push_back(asOperand(output.string()));
    out.push_back(asOperand(options.script));
    out.insert(out.end(), options.arguments.begin(), options.arguments.end());
    return out;
}

/// Becomes the Python process. So signals, the terminal and the exit code are the script's own. Returns only
/// by throwing Error(io): Python cannot be started.
[[noreturn]] void becomePython(const std::vector<std::string>& command) {
    std::string path = pythonPackageFolder().string();
    if (const char* before = std::getenv("PYTHONPATH"); before && *before) path.append(":").append(before);
    ::setenv("PYTHONPATH", path.c_str(), 1);
    std::vector<char*> pointers;
    for (const std::string& argument : command) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    ::execvp(pointers.front(), pointers.data());
    throw Error(ErrorCode::io,
                fmt::format("cannot start {}: {}; install Python 3 with PyTorch, or name its python3 with "
                            "--python",
                            command.front(), std::strerror(errno)));
}

} // namespace

void addCaptureCommand(CLI::App& app) {
    const auto options = std::make_shared<CaptureOptions>();
    CLI::App* command = app.add_subcommand(
        "capture", "Run a PyTorch script and record where its tensors live; no GPU is needed");
    command->add_option("SCRIPT", options->script, "The script (.py)")->required();
    command->add_option("ARGS", options->arguments, "Arguments of the script, options included");
    command->positionals_at_end();
    command->add_option("--gpus", options->gpus, "GPUs that the script sees")
        ->check(wholeBetween(1, 64))
        ->capture_default_str();
    command->add_flag(
        "--fake", options->fake,
        "Compute shapes but no values, for models that do not fit in memory; the capture notes its "
        "assumptions");
    command->add_option("--steps", options->steps, "Record the steps A to B-1 only, counted from 0")
        ->type_name("A:B")
        ->check(refusalOfSteps);
    command->add_option("-o,--output", options->output, "Capture to write; default: SCRIPT.twbcap here")
        ->type_name("OUT.twbcap");
    command->add_option("--python", options->python, "Interpreter that has PyTorch")
        ->type_name("PATH")
        ->capture_default_str();
    command->add_flag("--quiet", options->quiet, "Print no summary");
    command->footer(
        "Exit codes: 0 the script ended well, 1 it raised an error or ended with another code, 2 wrong "
        "usage,\n4 Python, PyTorch or a file is missing, 130 Ctrl-C. A capture that has begun is kept in all "
        "cases.");
    command->callback([options] {
        const fs::path output = options->output.empty() ? fs::path(options->script).stem().concat(".twbcap")
                                                        : fs::path(options->output);
        FileClaims claims;
        claims.read(options->script, "SCRIPT");
        claims.write(output, "-o");
        becomePython(commandOf(*options, output));
    });
}

} // namespace twb
