#include "app/commands.h"
#include "app/completion.h"
#include "app/man_page.h"
#include "app/option_facts.h"
#include "app/terminal.h"
#include "app/window_options.h"
#include "core/error.h"
#include "formats/project.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <system_error>

namespace twb {
namespace {

namespace fs = std::filesystem;

struct ManOptions {
    std::string page = "twb";
    std::string folder;
};

/// The pages of both programs.
std::vector<ManPage> allPages(const CLI::App& twb) {
    CLI::App window;
    WindowOptions options;
    options.addTo(window);
    std::vector<ManPage> out = manPages(twb, {window.get_name()});
    for (ManPage& page : manPages(window, {twb.get_name()})) out.push_back(std::move(page));
    return out;
}

void writePages(const CLI::App& twb, const ManOptions& options) {
    const std::vector<ManPage> pages = allPages(twb);
    if (options.folder.empty()) {
        for (const ManPage& page : pages)
            if (page.name == options.page || page.name == "twb-" + options.page)
                return printResult(page.text);
        std::vector<std::string> names;
        for (const ManPage& page : pages) names.push_back(page.name);
        throw Error(ErrorCode::invalidArgument, fmt::format("man: there is no page \"{}\"; the pages are: {}",
                                                            options.page, fmt::join(names, ", ")));
    }
    std::error_code failed;
    fs::create_directories(options.folder, failed);
    if (failed)
        throw Error(ErrorCode::io,
                    fmt::format("cannot create the folder {}: {}", options.folder, failed.message()));
    for (const ManPage& page : pages)
        writeFileAtomically(fs::path(options.folder) / (page.name + ".1"), page.text);
}

} // namespace

void addManCommand(CLI::App& app, ExitCode& exit) {
    const auto options = std::make_shared<ManOptions>();
    CLI::App* command = app.add_subcommand("man", "Print a man page: `twb man run | man -l -`");
    std::vector<std::string> names{"twb", "tensor-workbench"};
    for (const CLI::App* one : commandsOf(app)) names.push_back(one->get_name());
    command->add_option("PAGE", options->page, "A command, twb or tensor-workbench; default: twb")
        ->type_name(fmt::format("{{{}}}", fmt::join(names, ",")));
    command->add_option("-o,--output", options->folder, "Write all pages to this folder instead")
        ->type_name("DIR");
    command->callback([options, &app, &exit] {
        writePages(app, *options);
        exit = ExitCode::fine;
    });
}

void addCompletionCommand(CLI::App& app, ExitCode& exit) {
    static const std::map<std::string, Shell> shells{
        {"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}};
    const auto shell = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand(
        "completion",
        "Print a shell's completion of twb and tensor-workbench: `source <(twb completion bash)`");
    command->add_option("SHELL", *shell, "The shell")
        ->required()
        ->check(CLI::IsMember(shells))
        ->type_name("{bash,zsh,fish}");
    command->callback([shell, &exit] {
        printResult(completionScript(shells.at(*shell)));
        exit = ExitCode::fine;
    });
}

std::string completionLines(const CLI::App& twb, const std::vector<std::string>& words) {
    if (words.empty()) return {};
    if (fs::path(words.front()).filename() != "tensor-workbench") return toLines(complete(twb, words));
    CLI::App window;
    WindowOptions options;
    options.addTo(window);
    return toLines(complete(window, words));
}

} // namespace twb
