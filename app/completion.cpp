#include "app/completion.h"

#include "app/option_facts.h"
#include "backends/world.h"
#include "core/error.h"
#include "formats/project.h"
#include "ops/op_table.h"
#include "profile/profiles.h"
#include "profile/resource_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace twb {
namespace {

using Words = std::vector<std::string>;

/// A command line up to the cursor.
struct Line {
    const CLI::App* command = nullptr;
    const CLI::Option* option = nullptr; ///< whose value the cursor is in; null: an option or an argument
    std::string before;                  ///< "--set=", if the value is in the option's own word
    std::string value;                   ///< the text to complete, after `before`
    bool onlyArguments = false;          ///< after "--"
    std::set<const CLI::Option*> used;
    Words arguments; ///< positional ones before the cursor
};

const CLI::Option* optionNamed(const CLI::App& command, std::string_view name) {
    for (const CLI::Option* option : optionsOf(command))
        if (option->check_name(std::string(name))) return option;
    return nullptr;
}

/// `words` begins after the command.
Line parsed(const CLI::App& command, const Words& words) {
    Line line;
    line.command = &command;
    // All words after the first argument belong to a script.
    const bool endsOptions = command.get_positionals_at_end();
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool isLast = i + 1 == words.size();
        const std::string& word = words[i];
        if (endsOptions && !line.arguments.empty()) line.onlyArguments = true;
        if (std::exchange(line.option, nullptr)) { // the value of the option before
            if (isLast) line.option = optionNamed(command, words[i - 1]);
            if (isLast) line.value = word;
            continue;
        }
        const auto equals = word.find('=');
        const CLI::Option* option =
            line.onlyArguments ? nullptr : optionNamed(command, word.substr(0, equals));
        if (isLast) {
            line.value = word;
            if (option && equals != std::string::npos && takesValue(*option)) {
                line.option = option;
                line.before = word.substr(0, equals + 1);
                line.value = word.substr(equals + 1);
            }
            continue;
        }
        if (word == "--") line.onlyArguments = true;
        if (option) {
            line.used.insert(option);
            if (equals == std::string::npos && takesValue(*option)) line.option = option;
        } else if (line.onlyArguments ? word != "--" : !word.starts_with('-')) {
            line.arguments.push_back(word);
        }
    }
    return line;
}

/// Collects the candidates that continue the word at the cursor.
class Collector {
public:
    explicit Collector(const Line& line) : m_line(line) {}

    void add(const std::string& value, const std::string& doc = {}) {
        const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
        if (!value.starts_with(m_line.value) || std::any_of(value.begin(), value.end(), isControl)) return;
        std::string flat = doc;
        std::replace_if(flat.begin(), flat.end(), isControl, ' ');
        m_out.candidates.push_back({m_line.before + value, std::move(flat)});
    }
    /// Files from the position `at` of the value on.
    void addFiles(Words suffixes, std::size_t at = 0) {
        m_out.paths = Completion::Paths::files;
        m_out.suffixes = std::move(suffixes);
        m_out.beforePath = m_line.before + m_line.value.substr(0, at);
    }
    void addFolders() {
        m_out.paths = Completion::Paths::folders;
        m_out.beforePath = m_line.before;
    }
    Completion take() { return std::move(m_out); }

private:
    const Line& m_line;
    Completion m_out;
};

/// The project that the line names; nothing if it cannot be read.
std::optional<Graph> graphOf(const Line& line) {
    for (std::string file : line.arguments) {
        if (!file.ends_with(".twb")) continue;
        if (const char* home = std::getenv("HOME"); home && file.starts_with("~/")) file.replace(0, 1, home);
        try {
            return loadProject(file);
        } catch (const std::exception&) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

/// Nodes that an option can name: those with a name of their own.
std::vector<const Node*> namedNodes(const Graph& graph) {
    std::map<std::string_view, int> count;
    for (const Node& node : graph.nodes()) ++count[node.name];
    std::vector<const Node*> out;
    for (const Node& node : graph.nodes())
        if (!node.name.empty() && count[node.name] == 1) out.push_back(&node);
    return out;
}

std::set<std::string> devicesOf(const std::optional<Graph>& graph) {
    std::set<std::string> out{"cpu", "cuda:0"};
    if (graph)
        for (const Lane& lane : graph->lanes()) out.insert(lane.device.toString());
    return out;
}

std::vector<DeviceProfile> profiles() {
    try {
        return ProfileLibrary(resourceFolder() / "devices").all();
    } catch (const std::exception&) {
        return {};
    }
}

std::string docOf(const Node& node) { return fmt::format("{} node", node.op); }

void addValues(Collector& out, const Graph& graph, const Node& node, const std::string& attribute,
               const std::string& start) {
    if (attribute == "device")
        for (const std::string& device : devicesOf(graph)) out.add(start + device);
    const Op* op = findOp(node.op);
    const AttributeSpec* spec = op ? op->attribute(attribute) : nullptr;
    if (attribute == "disabled" || (spec && spec->type == AttributeType::flag))
        for (const char* value : {"true", "false"}) out.add(start + value);
    if (!spec) return;
    for (const std::string& choice : spec->choices) out.add(start + choice);
    if (spec->type == AttributeType::dtype && spec->choices.empty())
        for (const DType dtype : kAllDTypes) out.add(start + std::string(name(dtype)));
}

/// "node.attribute=value". A name may contain dots, so a text can begin both a name and an attribute.
void addSettings(Collector& out, const std::optional<Graph>& graph, const std::string& text) {
    if (!graph) return;
    const auto equals = text.find('=');
    for (const Node* node : namedNodes(*graph)) {
        const std::string start = node->name + '.';
        if (!text.starts_with(start)) {
            out.add(start, docOf(*node));
            continue;
        }
        if (equals != std::string::npos) {
            // In a sweep, the value after the last comma.
            const auto comma = text.find_last_of("=,");
            addValues(out, *graph, *node, text.substr(start.size(), equals - start.size()),
                      text.substr(0, comma + 1));
            continue;
        }
        if (const Op* op = findOp(node->op))
            for (const AttributeSpec& spec : op->attributes) out.add(start + spec.name + '=', spec.doc);
        out.add(start + "device=", "Move the node to another device");
        out.add(start + "disabled=", "Disable the node");
    }
}

/// "cuda:0=simulated:h200"
void addDeviceMap(Collector& out, const std::optional<Graph>& graph, const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) {
        for (const std::string& device : devicesOf(graph))
            if (device != "auto") out.add(device + '=');
        return;
    }
    const std::string start = text.substr(0, equals + 1);
    constexpr std::string_view kSimulated = "simulated:";
    out.add(start + "real", "The GPU of this machine");
    for (const DeviceProfile& profile : profiles())
        out.add(fmt::format("{}{}{}", start, kSimulated, profile.id), profile.name);
    if (text.substr(equals + 1).starts_with(kSimulated))
        out.addFiles({".json"}, equals + 1 + kSimulated.size());
}

/// "simulated:4:nvlink"
void addWorlds(Collector& out, const std::string& text) {
    constexpr std::string_view kSimulated = "simulated:";
    const auto colon = text.find(':', kSimulated.size());
    if (!text.starts_with(kSimulated) || colon == std::string::npos)
        for (const int ranks : {2, 4, 8, 16}) out.add(fmt::format("{}{}:", kSimulated, ranks));
    else
        for (const LinkProfile& link : linkProfiles())
            out.add(text.substr(0, colon + 1) + link.id, link.name);
}

/// "ssh:HOST", for the hosts of the user's configuration of ssh.
void addHosts(Collector& out) {
    const char* home = std::getenv("HOME");
    std::ifstream config(fmt::format("{}/.ssh/config", home ? home : ""));
    for (std::string line; std::getline(config, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word != "Host") continue;
        while (words >> word)
            if (word.find_first_of("*?!") == std::string::npos) out.add("ssh:" + word);
    }
    out.add("ssh:");
}

void addNodes(Collector& out, const std::optional<Graph>& graph, const std::string& start,
              std::string_view end) {
    if (!graph) return;
    for (const Node* node : namedNodes(*graph)) out.add(start + node->name + std::string(end), docOf(*node));
}

/// Adds the values of an option; its placeholder says of which kind they are.
void addValuesOf(Collector& out, const CLI::Option& option, const Line& line) {
    const std::string name = option.get_positional() ? option.get_name(true) : valueName(option);
    const std::string& text = line.value;
    if (const auto choices = choicesOf(option); !choices.empty()) {
        for (const std::string& choice : choices) out.add(choice);
    } else if (name.starts_with("NODE.ATTRIBUTE=")) {
        addSettings(out, graphOf(line), text);
    } else if (name == "NODE=FILE") {
        const auto equals = text.find('=');
        if (equals == std::string::npos)
            addNodes(out, graphOf(line), "", "=");
        else
            out.addFiles({".npy", ".npz", ".safetensors"}, equals + 1);
    } else if (name.starts_with("NODE")) {
        const auto comma = name == "NODE" ? std::string::npos : text.rfind(',');
        addNodes(out, graphOf(line), comma == std::string::npos ? "" : text.substr(0, comma + 1), "");
    } else if (name == "DEVICE=WHAT") {
        addDeviceMap(out, graphOf(line), text);
    } else if (name == "WORLD") {
        addWorlds(out, text);
    } else if (name.starts_with("ssh:HOST")) {
        addHosts(out);
    } else if (name == "DEVICE") {
        for (const std::string& device : devicesOf(std::nullopt)) out.add(device);
    } else if (name == "PROFILE") {
        for (const DeviceProfile& profile : profiles()) out.add(profile.id, profile.name);
        out.addFiles({".json"});
    } else if (name == "POLICY") {
        out.add("strict", "An operand on another device is an error");
        out.add("implicit", "Operands are copied");
        for (const char* action : {"allow", "log", "disallow"})
            out.add(fmt::format("guard:h2d={0},d2h={0},d2d={0}", action));
    } else if (name == "OP") {
        for (const Op& op : opTable()) out.add(op.name, op.doc);
    } else if (name == "DIR") {
        out.addFolders();
    } else if (const Words suffixes = suffixesOf(option); !suffixes.empty() || option.get_positional() ||
                                                          name == "FILE" || name == "OUT" ||
                                                          name == "TRACE" || name == "PATH") {
        out.addFiles(suffixes);
    }
}

void addOptions(Collector& out, const Line& line) {
    for (const CLI::Option* option : optionsOf(*line.command)) {
        if (line.used.contains(option) && !isRepeatable(*option)) continue;
        const auto excludes = option->get_excludes();
        if (std::any_of(excludes.begin(), excludes.end(),
                        [&](const CLI::Option* other) { return line.used.contains(other); }))
            continue;
        for (const std::string& name : option->get_lnames()) out.add("--" + name, option->get_description());
        if (option->get_lnames().empty())
            for (const std::string& name : option->get_snames())
                out.add("-" + name, option->get_description());
    }
}

Completion completed(const Line& line) {
    Collector out(line);
    if (line.option) {
        addValuesOf(out, *line.option, line);
        return out.take();
    }
    if (line.value.starts_with('-') && !line.onlyArguments) {
        addOptions(out, line);
        return out.take();
    }
    const auto positionals = positionalsOf(*line.command);
    if (positionals.empty()) return out.take();
    const std::size_t index = line.arguments.size();
    if (index < positionals.size() || isRepeatable(*positionals.back()))
        addValuesOf(out, *positionals[std::min(index, positionals.size() - 1)], line);
    return out.take();
}

} // namespace

Completion complete(const CLI::App& program, const std::vector<std::string>& words) {
    const Words rest(words.begin() + (words.empty() ? 0 : 1), words.end());
    if (rest.empty()) return {};
    const auto commands = commandsOf(program);
    if (commands.empty()) return completed(parsed(program, rest));
    if (rest.size() == 1) {
        Line line = parsed(program, rest);
        if (line.value.starts_with('-')) return completed(line);
        Collector out(line);
        for (const CLI::App* command : commands) out.add(command->get_name(), command->get_description());
        return out.take();
    }
    for (const CLI::App* command : commands)
        if (command->get_name() == rest.front())
            return completed(parsed(*command, {rest.begin() + 1, rest.end()}));
    return {};
}

std::string toLines(const Completion& completion) {
    constexpr std::array<std::string_view, 3> kPaths{"none", "files", "folders"};
    std::string out = fmt::format("{}\t{}\t{}\n", kPaths[static_cast<std::size_t>(completion.paths)],
                                  completion.beforePath, fmt::join(completion.suffixes, "\t"));
    for (const auto& [word, doc] : completion.candidates)
        out += doc.empty() ? word + '\n' : fmt::format("{}\t{}\n", word, doc);
    return out;
}

} // namespace twb
