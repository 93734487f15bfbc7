#include "app/man_page.h"

#include "app/option_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <set>
#include <string_view>

namespace twb {
namespace {

/// Text for roff. Hyphens of options become minus signs, which readers can search for and copy.
std::string escaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool startsLine = i == 0 || text[i - 1] == '\n';
        if (startsLine && (c == '.' || c == '\'')) out += "\\&";
        const bool afterLetter = i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]));
        if (c == '\\')
            out += "\\e";
        else if (c == '-' && !afterLetter)
            out += "\\-";
        else
            out += c;
    }
    return out;
}

/// An option or a command: all its hyphens are minus signs.
std::string literal(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '-') out += '\\';
        out += c;
    }
    return out;
}

std::string bold(std::string_view text) { return "\\fB" + literal(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

/// "-o, --output OUT.twb"
std::string spelling(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back(bold("-" + name));
    for (const std::string& name : option.get_lnames()) names.push_back(bold("--" + name));
    std::string out = fmt::format("{}", fmt::join(names, ", "));
    if (takesValue(option)) out += ' ' + italic(valueName(option));
    return out;
}

std::string namesOf(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    for (const CLI::Option* option : options) names.push_back(bold(option->get_name()));
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The description, and what --help shows beside the option's name.
std::string descriptionOf(const CLI::Option& option) {
    std::string out = escaped(option.get_description()) + ".";
    if (const auto choices = choicesOf(option); !choices.empty()) {
        std::vector<std::string> names;
        for (const std::string& choice : choices) names.push_back(bold(choice));
        out += fmt::format("\nOne of: {}.", fmt::join(names, ", "));
    }
    if (const std::string range = rangeOf(option); !range.empty())
        out += "\nA number " + escaped(range) + ".";
    if (!option.get_default_str().empty()) out += "\nDefault: " + bold(option.get_default_str()) + ".";
    if (takesValue(option) && isRepeatable(option) && !option.get_positional())
        out += "\nMay be given several times.";
    if (!option.get_needs().empty()) out += "\nNeeds " + namesOf(option.get_needs()) + ".";
    if (!option.get_excludes().empty()) out += "\nExcludes " + namesOf(option.get_excludes()) + ".";
    return out;
}

std::string entry(const std::string& term, const std::string& text) {
    return fmt::format(".TP\n{}\n{}\n", term, text);
}

std::string synopsis(const CLI::App& command, const std::string& call) {
    std::string out = bold(call);
    for (const CLI::Option* option : optionsOf(command))
        if (takesValue(*option) && option->get_required())
            out += fmt::format(" {} {}",
                               bold(option->get_lnames().empty() ? "-" + option->get_snames().front()
                                                                 : "--" + option->get_lnames().front()),
                               italic(valueName(*option)));
    out += " [" + italic("OPTION") + "]…";
    if (!commandsOf(command).empty()) out += ' ' + italic("COMMAND") + " [" + italic("ARGUMENT") + "]…";
    for (const CLI::Option* option : positionalsOf(command)) {
        const std::string name = italic(option->get_name(true)) + (isRepeatable(*option) ? "…" : "");
        out += option->get_required() ? ' ' + name : " [" + name + ']';
    }
    return out + '\n';
}

/// "Exit codes: 0 success, 1 the run failed" as a section with an entry per code.
std::string exitStatus(const std::string& footer) {
    constexpr std::string_view kStart = "Exit codes: ";
    if (!footer.starts_with(kStart)) return {};
    std::string out = ".SH EXIT STATUS\n";
    std::string text = footer.substr(kStart.size());
    for (char& c : text)
        if (c == '\n') c = ' ';
    while (!text.empty()) {
        std::size_t end = 0; // of this entry: the comma before the next code
        do end = text.find(", ", end + 1);
        while (end != std::string::npos && !std::isdigit(static_cast<unsigned char>(text[end + 2])));
        const std::string one = text.substr(0, end);
        const auto space = one.find(' ');
        out += entry(bold(one.substr(0, space)), escaped(one.substr(space + 1)));
        text = end == std::string::npos ? "" : text.substr(end + 2);
    }
    return out;
}

std::string seeAlso(const std::vector<std::string>& names) {
    std::vector<std::string> pages;
    for (const std::string& name : names) pages.push_back(bold(name) + "(1)");
    return pages.empty() ? "" : fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ", "));
}

ManPage pageOf(const CLI::App& command, const std::string& name, const std::string& call,
               const std::vector<std::string>& related) {
    std::string title = name;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string out =
        fmt::format(".TH {} 1 \"\" \"Tensor Workbench {}\" \"User Commands\"\n", literal(title), TWB_VERSION);
    std::string summary = command.get_description();
    while (summary.ends_with('.')) summary.pop_back();
    out += fmt::format(".SH NAME\n{} \\- {}\n", literal(name), escaped(summary));
    out += ".SH SYNOPSIS\n" + synopsis(command, call);
    if (const auto positionals = positionalsOf(command); !positionals.empty()) {
        out += ".SH ARGUMENTS\n";
        for (const CLI::Option* option : positionals)
            out += entry(italic(option->get_name(true)), descriptionOf(*option));
    }
    if (const auto commands = commandsOf(command); !commands.empty()) {
        out += ".SH COMMANDS\n";
        for (const CLI::App* one : commands)
            out += entry(bold(name + '-' + one->get_name()) + "(1)", escaped(one->get_description()) + ".");
    }
    out += ".SH OPTIONS\n";
    for (const CLI::Option* option : optionsOf(command))
        out += entry(spelling(*option), descriptionOf(*option));
    out += exitStatus(command.get_footer());
    out += seeAlso(related);
    return {name, std::move(out)};
}

} // namespace

std::vector<ManPage> manPages(const CLI::App& program, const std::vector<std::string>& others) {
    const std::string& name = program.get_name();
    std::vector<ManPage> out{pageOf(program, name, name, others)};
    for (const CLI::App* command : commandsOf(program))
        out.push_back(
            pageOf(*command, name + '-' + command->get_name(), name + ' ' + command->get_name(), {name}));
    return out;
}

} // namespace twb
