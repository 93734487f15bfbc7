#include "app/usage_error.h"

#include "app/near_matches.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <vector>

namespace twb {
namespace {

std::vector<std::string> commandNames(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::App* command : app.get_subcommands(nullptr)) out.push_back(command->get_name());
    return out;
}

std::vector<std::string> optionNames(const CLI::App& command) {
    std::vector<std::string> out;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    return out;
}

std::string withoutCommand(const CLI::App& app, const std::vector<std::string>& unknown) {
    const std::vector<std::string> names = commandNames(app);
    const std::string commands = fmt::format("; the commands are: {}", fmt::join(names, ", "));
    if (unknown.empty()) return "missing command" + commands;
    const std::string& word = unknown.front();
    if (word.starts_with('-')) return fmt::format("unknown option {} before a command{}", word, commands);
    const std::string near = didYouMean(word, names);
    return fmt::format("unknown command \"{}\"{}", word, near.empty() ? commands : near);
}

/// A sentence of CLI11 in plain words: "--to: x not in {a,b}", "--output: 1 required FILE missing".
std::string plainSentence(const std::string& what) {
    static const std::regex choice(R"((.*): (.*) not in \{(.*)\})");
    static const std::regex value(R"((.*): 1 required (.*) missing)");
    std::smatch part;
    if (std::regex_match(what, part, choice)) {
        const std::string choices = std::regex_replace(part[3].str(), std::regex(","), ", ");
        return fmt::format("{}: \"{}\" is not one of {}", part[1].str(), part[2].str(), choices);
    }
    if (std::regex_match(what, part, value))
        return fmt::format("{} needs a value: {}", part[1].str(), part[2].str());
    return what;
}

} // namespace

std::string usageSentence(const CLI::App& app, const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app.remaining(true);
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const std::vector<std::string> before = app.remaining(false);
    const bool hasCommands = !commandNames(app).empty();
    if (hasCommands && (chosen.empty() || (!before.empty() && before.front().starts_with('-'))))
        return withoutCommand(app, before);
    const CLI::App& command = hasCommands ? *chosen.front() : app;
    // Reported before missing arguments: after a misspelt option, its value is taken for a file.
    const auto option = std::find_if(unknown.begin(), unknown.end(),
                                     [](const std::string& word) { return word.starts_with('-'); });
    std::string what = plainSentence(error.what());
    std::string wayOut;
    if (option != unknown.end()) {
        const std::string name = option->substr(0, option->find('='));
        what = fmt::format("unknown option {}", name);
        wayOut = didYouMean(name, optionNames(command));
    } else if (dynamic_cast<const CLI::ExtrasError*>(&error) && !unknown.empty()) {
        what = fmt::format("unexpected argument \"{}\"", unknown.front());
    }
    const std::string name = hasCommands ? ' ' + command.get_name() : std::string();
    if (wayOut.empty()) wayOut = fmt::format("; see `{}{} --help`", app.get_name(), name);
    return hasCommands ? fmt::format("{}: {}{}", command.get_name(), what, wayOut) : what + wayOut;
}

} // namespace twb
