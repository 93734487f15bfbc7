#include "formats/project.h"
#include "formats/project_parts.h"
#include "ops/plugins/plugins.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

namespace twb {
namespace {

/// Writes the text directly into one string: a document tree of 100,000 nodes would cost more than the rest.
class Writer {
public:
    /// Source files inside `folder` are written relative to it.
    explicit Writer(const std::filesystem::path& folder = {}) : m_folder(folder.string()) {
        if (!m_folder.empty() && !m_folder.ends_with('/')) m_folder += '/';
    }
    std::string take() { return std::move(m_out); }
    void reserve(std::size_t bytes) { m_out.reserve(bytes); }

    Writer& raw(std::string_view text) {
        m_out += text;
        return *this;
    }

    Writer& text(std::string_view text) {
        const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
            return c >= 0x20 && c != 0x7f && c != '"' && c != '\\'; // a char above 0x7f is negative
        });
        if (plain) {
            m_out += '"';
            m_out += text;
            m_out += '"';
        } else {
            // Invalid UTF-8 must not make the file unreadable: it becomes U+FFFD.
            m_out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        }
        return *this;
    }

    Writer& integer(std::int64_t i) {
        std::array<char, 24> digits;
        m_out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), i).ptr);
        return *this;
    }
    template <class Id>
    requires std::is_enum_v<Id> Writer& id(Id id) { return integer(static_cast<std::int64_t>(value(id))); }

    /// The shortest digits that read back as the same double. `typed` distinguishes a whole number from an
    /// integer.
    Writer& number(double d, bool typed) {
        if (std::isnan(d)) return raw("\"nan\"");
        if (std::isinf(d)) return raw(d > 0 ? "\"inf\"" : "\"-inf\"");
        if (!typed && d == 0) d = 0; // "-0" would read back as 0
        std::array<char, 40> digits;
        const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), d).ptr;
        const std::string_view shortest(digits.data(), static_cast<std::size_t>(end - digits.data()));
        m_out += shortest;
        if (typed && shortest.find_first_of(".e") == std::string_view::npos) m_out += ".0";
        return *this;
    }

    /// Calls `write` for each record, one per line, between brackets.
    template <class Records, class Write>
    Writer& lines(std::string_view key, char open, const Records& records, Write write, bool last = false) {
        raw("\"").raw(key).raw("\": ").raw({&open, 1});
        const char* separator = "\n";
        for (const auto& record : records) {
            raw(separator);
            write(record);
            separator = ",\n";
        }
        const char close = open == '[' ? ']' : '}';
        return raw(std::begin(records) == std::end(records) ? "" : "\n")
            .raw({&close, 1})
            .raw(last ? "\n" : ",\n");
    }

    Writer& attribute(const AttributeValue& value) {
        std::visit([this](const auto& v) { write(v); }, value);
        return *this;
    }

    std::string sourceText(const SourceLine& source) const {
        std::string text = toString(source);
        if (!m_folder.empty() && text.starts_with(m_folder)) text.erase(0, m_folder.size());
        return text;
    }

private:
    void write(bool flag) { raw(flag ? "true" : "false"); }
    void write(std::int64_t i) { integer(i); }
    void write(double d) { number(d, true); }
    void write(const std::string& s) { text(s); }
    void write(const RawJson& json) { raw(json.text); }
    template <class T> void write(const std::vector<T>& list) {
        m_out += '[';
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i) m_out += ", ";
            write(list[i]);
        }
        m_out += ']';
    }

    std::string m_folder; ///< with a slash at its end; may be empty
    std::string m_out;
};

void writeLane(Writer& w, const Lane& lane) {
    w.raw("{\"id\": ").id(lane.id).raw(", \"device\": ").text(lane.device.toString());
    if (!lane.title.empty()) w.raw(", \"title\": ").text(lane.title);
    w.raw(", \"order\": ").integer(lane.order);
    if (lane.collapsed) w.raw(", \"collapsed\": true");
    w.raw("}");
}

void writeFrame(Writer& w, const Frame& frame) {
    w.raw("{\"id\": ").id(frame.id).raw(", \"title\": ").text(frame.title);
    if (frame.parent != FrameId::none) w.raw(", \"parent\": ").id(frame.parent);
    if (frame.owner != NodeId::none) w.raw(", \"owner\": ").id(frame.owner);
    if (!frame.body.empty())
        w.raw(frame.owner == NodeId::none ? ", \"module\": " : ", \"body\": ").text(frame.body);
    if (frame.collapsed) w.raw(", \"collapsed\": true");
    if (frame.once) w.raw(", \"once\": true");
    if (frame.loss != NodeId::none) w.raw(", \"loss\": ").id(frame.loss);
    if (frame.color != FrameColor::none) w.raw(", \"color\": ").text(name(frame.color));
    w.raw("}");
}

void writeNode(Writer& w, const Node& node) {
    w.raw("{\"id\": ").id(node.id).raw(", \"op\": ").text(node.op).raw(", \"name\": ").text(node.name);
    w.raw(", \"lane\": ").id(node.lane);
    if (node.frame != FrameId::none) w.raw(", \"frame\": ").id(node.frame);
    if (node.pinned) w.raw(", \"pinned\": true");
    if (node.disabled) w.raw(", \"disabled\": true");
    if (node.forward != NodeId::none) w.raw(", \"forward\": ").id(node.forward);
    if (!node.breakpoints.empty()) w.raw(", \"breakpoint\": ").text(toString(node.breakpoints));
    if (node.source) w.raw(", \"source\": ").text(w.sourceText(*node.source));
    if (!node.attributes.empty()) {
        const char* separator = ", \"attributes\": {";
        for (const auto& [name, value] : node.attributes) {
            w.raw(separator).text(name).raw(": ").attribute(value);
            separator = ", ";
        }
        w.raw("}");
    }
    w.raw("}");
}

void writePort(Writer& w, const PortRef& port) {
    w.raw("[").id(port.node).raw(", ").integer(port.port).raw("]");
}

void writeEdge(Writer& w, const Edge& edge) {
    w.raw("{\"from\": ");
    writePort(w, edge.from);
    w.raw(", \"to\": ");
    writePort(w, edge.to);
    w.raw("}");
}

void writeNote(Writer& w, const Note& note) {
    w.raw("{\"id\": ")
        .id(note.id)
        .raw(", \"lane\": ")
        .id(note.lane)
        .raw(", \"text\": ")
        .text(note.text)
        .raw("}");
}

void writeDots(Writer& w, const Route& route) {
    w.raw("\"").raw(keyOf(route.id)).raw("\": ");
    const char* separator = "[";
    for (const Dot& dot : route.dots) {
        w.raw(separator).raw("[").id(dot.lane).raw(", ").number(dot.position.x, false).raw(", ");
        w.number(dot.position.y, false).raw("]");
        separator = ", ";
    }
    w.raw("]");
}

template <class T> Writer& placeKey(Writer& w, const T& record) {
    return w.raw("\"").id(record.id).raw("\": ");
}

/// The part after the head, which graphs and fragments share.
template <class Lanes, class Frames, class Nodes, class Notes, class Routes>
void writeParts(Writer& w, const Lanes* lanes, const Frames& frames, const Nodes& nodes,
                const std::vector<Edge>& edges, const Notes& notes, const Routes& routes) {
    if (lanes) w.lines("lanes", '[', *lanes, [&](const Lane& lane) { writeLane(w, lane); });
    w.lines("frames", '[', frames, [&](const Frame& frame) { writeFrame(w, frame); });
    w.lines("nodes", '[', nodes, [&](const Node& node) { writeNode(w, node); });
    w.lines("edges", '[', edges, [&](const Edge& edge) { writeEdge(w, edge); });
    w.lines("notes", '[', notes, [&](const Note& note) { writeNote(w, note); });
    w.raw("\"layout\": {\n");
    if (lanes)
        w.lines("lanes", '{', *lanes,
                [&](const Lane& lane) { placeKey(w, lane).number(lane.height, false); });
    w.lines("nodes", '{', nodes, [&](const Node& node) {
        placeKey(w, node).raw("[").number(node.position.x, false).raw(", ");
        w.number(node.position.y, false);
        if (node.folded) w.raw(", ").text(kFolded);
        w.raw("]");
    });
    w.lines(
        "notes", '{', notes,
        [&](const Note& note) {
            placeKey(w, note).raw("[").number(note.position.x, false).raw(", ");
            w.number(note.position.y, false).raw(", ").number(note.width, false).raw(", ");
            w.number(note.height, false).raw("]");
        },
        routes.empty());
    if (!routes.empty())
        w.lines(
            "routes", '{', routes, [&](const Route& route) { writeDots(w, route); }, true);
    w.raw("}\n}\n");
}

/// One line for each: of the ops that the graph uses, by the plug-ins that are loaded; and of the
/// placeholders, as the graph's own file named them.
std::vector<NeededPlugin> neededPlugins(const Graph& graph) {
    std::vector<NeededPlugin> all = graph.info().plugins;
    const std::vector<Plugin> loaded = loadedPlugins();
    for (const Plugin& plugin : loaded) {
        for (NeededPlugin& other : all)
            std::erase_if(other.ops, [&](const std::string& op) {
                return std::ranges::find(plugin.ops, op) != plugin.ops.end();
            });
        all.push_back({plugin.name, plugin.version, plugin.homepage, plugin.ops});
    }
    if (all.empty()) return all;
    std::set<std::string_view> used;
    for (const Node& node : graph.nodes()) used.insert(node.op);
    for (NeededPlugin& plugin : all) {
        std::erase_if(plugin.ops, [&](const std::string& op) { return !used.contains(op); });
        std::ranges::sort(plugin.ops);
    }
    std::erase_if(all, [](const NeededPlugin& plugin) { return plugin.ops.empty(); });
    std::ranges::stable_sort(all, {}, &NeededPlugin::name);
    return all;
}

void writePlugin(Writer& w, const NeededPlugin& plugin) {
    w.raw("{\"name\": ").text(plugin.name);
    if (!plugin.version.empty()) w.raw(", \"version\": ").text(plugin.version);
    if (!plugin.homepage.empty()) w.raw(", \"homepage\": ").text(plugin.homepage);
    w.raw(", \"ops\": ").attribute(plugin.ops).raw("}");
}

void writeHead(Writer& w, std::string_view format) {
    w.raw("{\n\"format\": ").text(format).raw(",\n\"version\": ").integer(kProjectVersion).raw(",\n");
}

} // namespace

std::string toProjectText(const Graph& graph, const std::filesystem::path& folder) {
    Writer w(folder);
    w.reserve(graph.nodes().size() * 160 + graph.edgeCount() * 48 + 4096);
    writeHead(w, kProjectFormat);
    const GraphInfo& info = graph.info();
    w.raw("\"title\": ").text(info.title).raw(",\n\"description\": ").text(info.description);
    w.raw(",\n\"policy\": ").text(info.policy.toString()).raw(",\n\"iterations\": ").integer(info.iterations);
    w.raw(",\n");
    if (const std::vector<NeededPlugin> plugins = neededPlugins(graph); !plugins.empty())
        w.lines("plugins", '[', plugins, [&](const NeededPlugin& plugin) { writePlugin(w, plugin); });
    writeParts(w, &graph.lanes(), graph.frames(), graph.nodes(), graph.edges(), graph.notes(),
               graph.routes());
    return w.take();
}

std::string toFragmentText(const Fragment& fragment) {
    Writer w;
    writeHead(w, kFragmentFormat);
    const std::vector<Lane>* lanes = fragment.lanes.empty() ? nullptr : &fragment.lanes;
    writeParts(w, lanes, fragment.frames, fragment.nodes, fragment.edges, fragment.notes, fragment.routes);
    return w.take();
}

} // namespace twb
