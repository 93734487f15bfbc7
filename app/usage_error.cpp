#include "app/usage_error.h"

#include "app/near_matches.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Rewords two messages of CLI11, "--to: x not in {a,b}" and "--output: 1 required FILE missing".
std::string plainSentence(const std::string& what) {
    const std::size_t colon = what.find(": ");
    if (colon == std::string::npos) return what;
    const std::string name = what.substr(0, colon);
    const std::string rest = what.substr(colon + 2);
    constexpr std::string_view among = " not in {";
    if (const std::size_t at = rest.rfind(among); at != std::string::npos && rest.ends_with('}')) {
        std::string choices;
        for (const char c : rest.substr(at + among.size(), rest.size() - at - among.size() - 1))
            choices += c == ',' ? std::string(", ") : std::string(1, c);
        return fmt::format("{}: \"{}\" is not one of {}", name, rest.substr(0, at), choices);
    }
    constexpr std::string_view required = "1 required ";
    constexpr std::string_view missing = " missing";
    if (rest.starts_with(required) && rest.ends_with(missing))
        return fmt::format("{} needs a value: {}", name,
                           rest.substr(required.size(), rest.size() - required.size() - missing.size()));
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
