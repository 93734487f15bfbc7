#include "app/option_facts.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace twb {
namespace {

/// The text between `open` and `close`; empty if one is missing.
std::string between(const std::string& text, std::string_view open, std::string_view close) {
    const auto at = text.find(open);
    const auto end = at == std::string::npos ? at : text.find(close, at + open.size());
    return end == std::string::npos ? "" : text.substr(at + open.size(), end - at - open.size());
}

bool isLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// The suffix that begins at `dot`: ".json.gz".
std::string suffixAt(std::string_view text, std::size_t dot) {
    std::size_t end = dot;
    while (end + 1 < text.size() && text[end] == '.' && isLetter(text[end + 1]))
        for (++end; end < text.size() && isLetter(text[end]);) ++end;
    return std::string(text.substr(dot, end - dot));
}

} // namespace

std::vector<const CLI::App*> commandsOf(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> optionsOf(const CLI::App& command) {
    return command.get_options(
        [](const CLI::Option* option) { return !option->get_positional() && !option->get_group().empty(); });
}

std::vector<const CLI::Option*> positionalsOf(const CLI::App& command) {
    return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

bool takesValue(const CLI::Option& option) { return option.get_expected_max() != 0; }

bool isRepeatable(const CLI::Option& option) {
    return option.get_expected_max() > 1 ||
           option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

std::string valueName(const CLI::Option& option) {
    // CLI11 appends what its checks accept: "N:INT in [1 - 1024]", "DTYPE:{f16,bf16}", "N:POSITIVE". The
    // name itself may contain a colon: "ssh:HOST".
    const std::string type = option.get_type_name();
    std::size_t end = type.size();
    for (const std::string_view check :
         {":{", ":INT in [", ":UINT in [", ":FLOAT in [", ":POSITIVE", ":NONNEGATIVE", ":NUMBER"})
        end = std::min(end, type.find(check));
    return type.substr(0, end);
}

std::vector<std::string> choicesOf(const CLI::Option& option) {
    const std::string list = between(option.get_type_name(), "{", "}");
    return list.empty() ? std::vector<std::string>() : CLI::detail::split(list, ',');
}

std::string rangeOf(const CLI::Option& option) {
    const std::string limits = between(option.get_type_name(), " in [", "]");
    const auto dash = limits.find(" - ");
    return dash == std::string::npos ? ""
                                     : "from " + limits.substr(0, dash) + " to " + limits.substr(dash + 3);
}

std::vector<std::string> suffixesOf(const CLI::Option& option) {
    const std::string name = valueName(option);
    if (const auto dot = name.find('.'); dot != std::string::npos) return {name.substr(dot)};
    std::vector<std::string> out;
    const std::string& text = option.get_description();
    for (std::size_t i = 1; i + 1 < text.size(); ++i)
        if (text[i] == '.' && !isLetter(text[i - 1]) && text[i - 1] != '.' && isLetter(text[i + 1]))
            out.push_back(suffixAt(text, i));
    return out;
}

} // namespace twb
