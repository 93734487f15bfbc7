#include "formats/module_files.h"

#include "core/error.h"
#include "formats/onnx/onnx_function_ops.h"
#include "formats/project.h"
#include "graph/composites.h"
#include "ops/op_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

namespace twb {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kModuleFormat = "tensor-workbench-module";
constexpr std::int64_t kModuleFileVersion = 1;
constexpr std::string_view kModelSuffix = ".onnx";
constexpr std::uint64_t kLargestModule = std::uint64_t{64} << 20;

[[noreturn]] void refuse(const std::string& origin, const std::string& problem) {
    throw Error(ErrorCode::badFile, fmt::format("{}: {}", origin, problem));
}

std::string inQuotes(const std::string& text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One record a line, like a project.
std::string linesOf(std::string_view key, const std::vector<std::string>& records) {
    std::string out = fmt::format("\"{}\": [", key);
    for (std::size_t i = 0; i < records.size(); ++i) out += (i == 0 ? "\n" : ",\n") + records[i];
    return out + (records.empty() ? "],\n" : "\n],\n");
}

std::vector<std::string> recordsOf(const std::vector<ModuleOp::Port>& ports) {
    std::vector<std::string> out;
    for (const ModuleOp::Port& port : ports)
        out.push_back(fmt::format("{{\"name\": {}, \"at\": [{}, {}]}}", inQuotes(port.name),
                                  value(port.at.node), port.at.port));
    return out;
}

/// Reads the parts around the fragment.
class Reader {
public:
    Reader(const Json& json, std::string origin) : m_json(json), m_origin(std::move(origin)) {}

    std::string text(std::string_view key, bool isRequired) const {
        const auto at = m_json.find(key);
        if (at == m_json.end()) {
            if (isRequired) refuse(m_origin, fmt::format("it has no {}", key));
            return {};
        }
        if (!at->is_string()) refuse(m_origin, fmt::format("{} must be a string", key));
        return at->get<std::string>();
    }
    std::int64_t version() const {
        const auto at = m_json.find("op_version");
        const std::int64_t version =
            at != m_json.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
        if (version < 1) refuse(m_origin, "op_version must be an integer of at least 1");
        return version;
    }
    std::vector<ModuleOp::Port> ports(std::string_view key, const Fragment& fragment) const {
        std::vector<ModuleOp::Port> out;
        for (const Json& record : list(key)) {
            const std::string place = fmt::format("{}[{}]", key, out.size());
            out.push_back({nameOf(record, place), {}});
            const auto at = record.find("at");
            const bool isPair = at != record.end() && at->is_array() && at->size() == 2 &&
                                (*at)[0].is_number_unsigned() && (*at)[1].is_number_unsigned() &&
                                (*at)[1].get<std::uint64_t>() <= std::uint64_t(kMostPorts);
            if (!isPair) refuse(m_origin, place + ".at must be the number of a node and of its port");
            out.back().at = {nodeAt((*at)[0], fragment, place + ".at"), (*at)[1].get<std::int32_t>()};
        }
        return out;
    }
    std::vector<ModuleOp::Attribute> attributes(const Fragment& fragment) const {
        std::vector<ModuleOp::Attribute> out;
        for (const Json& record : list("attributes")) {
            const std::string place = fmt::format("attributes[{}]", out.size());
            ModuleOp::Attribute attribute{nameOf(record, place), {}, {}};
            if (const auto doc = record.find("doc"); doc != record.end() && doc->is_string())
                attribute.doc = doc->get<std::string>();
            const auto sets = record.find("sets");
            if (sets == record.end() || !sets->is_array() || sets->empty())
                refuse(m_origin, place + ".sets must be a list of at least one attribute of a node");
            for (const Json& set : *sets) {
                if (!set.is_array() || set.size() != 2 || !set[0].is_number_unsigned() || !set[1].is_string())
                    refuse(m_origin, place + ".sets must name a node and its attribute");
                attribute.sets.push_back(
                    {nodeAt(set[0], fragment, place + ".sets"), set[1].get<std::string>()});
            }
            out.push_back(std::move(attribute));
        }
        return out;
    }

private:
    static constexpr int kMostPorts = 4096;

    Json list(std::string_view key) const {
        const auto at = m_json.find(key);
        if (at == m_json.end()) return Json::array();
        if (!at->is_array()) refuse(m_origin, fmt::format("{} must be a list", key));
        return *at;
    }
    std::string nameOf(const Json& record, const std::string& place) const {
        const auto name = record.is_object() ? record.find("name") : record.end();
        if (!record.is_object() || name == record.end() || !name->is_string() ||
            name->get_ref<const std::string&>().empty())
            refuse(m_origin, place + " has no name");
        return name->get<std::string>();
    }
    NodeId nodeAt(const Json& number, const Fragment& fragment, const std::string& place) const {
        const auto id = NodeId(number.get<std::uint64_t>());
        if (std::ranges::find(fragment.nodes, id, &Node::id) == fragment.nodes.end())
            refuse(m_origin, fmt::format("{} names node {}, which does not exist", place, value(id)));
        return id;
    }

    const Json& m_json;
    std::string m_origin;
};

/// Null if the text is not JSON, or if it is nested too deeply: copies of JSON recurse.
Json parseShallow(std::string_view text) {
    constexpr int deepest = 128; // a fragment may have 64 levels
    bool isDeep = false;
    const auto look = [&](int depth, Json::parse_event_t, Json&) {
        isDeep = isDeep || depth > deepest;
        return depth <= deepest;
    };
    Json json = Json::parse(text, look, false);
    return isDeep ? Json() : json;
}

/// The name that the window gives to a file: "%2F" for a slash.
std::string nameOf(const fs::path& file) {
    const std::string stem = file.stem().string();
    std::string out;
    for (std::size_t i = 0; i < stem.size(); ++i) {
        unsigned char byte = 0;
        const char* end = stem.data() + std::min(i + 3, stem.size());
        if (stem[i] == '%' && i + 2 < stem.size() &&
            std::from_chars(stem.data() + i + 1, end, byte, 16).ptr == end) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += stem[i];
        }
    }
    return out;
}

ModuleOp readModule(const fs::path& file) {
    ModuleOp op = parseModuleOp(readFile(file, kLargestModule), file.string(), nameOf(file));
    op.file = file;
    return op;
}

void take(ModuleOps& all, ModuleOp op) {
    const bool isTaken = findOp(op.name) || findComposite(op.name);
    const ModuleOp* other = all.find(op.name);
    if (!isTaken && !other)
        all.ops.push_back(std::move(op));
    else if (other && other->file != op.file)
        all.problems.push_back({op.file, fmt::format("its op {} is already in {}; rename one of them",
                                                     op.name, other->file.string())});
    else if (isTaken)
        all.problems.push_back({op.file, fmt::format("its op {} has the name of an op of the program; "
                                                     "rename it",
                                                     op.name)});
}

void readFileInto(ModuleOps& all, const fs::path& file) {
    try {
        if (file.extension() == kModuleSuffix) {
            take(all, readModule(file));
        } else {
            ModuleOps functions = onnxFunctionOps(file);
            for (ModuleOp& op : functions.ops) take(all, std::move(op));
            std::ranges::move(functions.problems, std::back_inserter(all.problems));
        }
    } catch (const Error& error) {
        all.problems.push_back({file, error.what()});
    }
}

} // namespace

std::string toModuleText(const ModuleOp& op) {
    std::vector<std::string> attributes;
    for (const ModuleOp::Attribute& attribute : op.attributes) {
        std::string sets;
        for (const ModuleOp::Setting& setting : attribute.sets)
            sets += fmt::format("{}[{}, {}]", sets.empty() ? "" : ", ", value(setting.node),
                                inQuotes(setting.attribute));
        const std::string doc =
            attribute.doc.empty() ? "" : fmt::format("\"doc\": {}, ", inQuotes(attribute.doc));
        attributes.push_back(
            fmt::format("{{\"name\": {}, {}\"sets\": [{}]}}", inQuotes(attribute.name), doc, sets));
    }
    return fmt::format("{{\n\"format\": \"{}\",\n\"version\": {},\n\"name\": {},\n\"op_version\": {},\n"
                       "\"doc\": {},\n{}{}{}\"fragment\": {}}}\n",
                       kModuleFormat, kModuleFileVersion, inQuotes(op.name), op.version, inQuotes(op.doc),
                       linesOf("inputs", recordsOf(op.inputs)), linesOf("outputs", recordsOf(op.outputs)),
                       linesOf("attributes", attributes), toFragmentText(op.fragment));
}

ModuleOp parseModuleOp(std::string_view text, const std::string& origin, const std::string& name) {
    ModuleOp op;
    op.name = name;
    const Json json = parseShallow(text);
    if (!json.is_object() || json.value("format", Json()) != kModuleFormat) {
        op.fragment = parseFragment(text);
        portsFromEdges(op);
        frameFragment(op);
        freeHomeLane(op);
        return op;
    }
    const Json version = json.value("version", Json());
    if (version != kModuleFileVersion)
        refuse(origin, version.is_number_integer() && version > kModuleFileVersion
                           ? "it was saved by a newer version of Tensor Workbench; update the program"
                           : "version must be 1");
    const Reader reader(json, origin);
    op.name = reader.text("name", true);
    if (op.name.empty()) refuse(origin, "its name is empty");
    op.version = reader.version();
    op.doc = reader.text("doc", false);
    if (!json.contains("fragment")) refuse(origin, "it has no fragment");
    try {
        op.fragment = parseFragment(json["fragment"].dump());
    } catch (const Error& error) {
        refuse(origin, error.what());
    }
    op.inputs = reader.ports("inputs", op.fragment);
    op.outputs = reader.ports("outputs", op.fragment);
    op.attributes = reader.attributes(op.fragment);
    frameFragment(op);
    freeHomeLane(op);
    return op;
}

const ModuleOp* ModuleOps::find(std::string_view name) const noexcept {
    const auto at = std::ranges::find(ops, name, &ModuleOp::name);
    return at == ops.end() ? nullptr : &*at;
}

ModuleOps moduleOpsIn(const fs::path& folder) { return moduleOpsIn(std::vector{folder}); }

fs::path savedModulesFolder() {
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    fs::path base = data && *data ? fs::path(data) : fs::path();
    if (base.empty() && home && *home) base = fs::path(home) / ".local" / "share";
    // Qt's folder of an application contains its organization.
    return base.empty() ? base : base / "tensor-workbench" / "tensor-workbench" / "modules";
}

std::vector<fs::path> modulePlaces(const fs::path& saved, const fs::path& project) {
    std::vector<fs::path> out;
    if (!saved.empty()) out.push_back(saved);
    for (fs::path& place : opPlaces()) out.push_back(std::move(place));
    std::error_code failed;
    if (!project.empty()) out.push_back(fs::absolute(project, failed).parent_path() / "ops");
    return out;
}

std::vector<fs::path> moduleFilesIn(const fs::path& place) {
    std::vector<fs::path> files;
    std::error_code failed;
    if (fs::is_directory(place, failed)) {
        for (const auto& entry : fs::directory_iterator(place, failed)) files.push_back(entry.path());
        std::ranges::sort(files);
    } else {
        files.push_back(place);
    }
    std::erase_if(files, [&](const fs::path& file) {
        const fs::path extension = file.extension();
        return (extension != kModuleSuffix && extension != kModelSuffix) ||
               !fs::is_regular_file(file, failed);
    });
    return files;
}

ModuleOps moduleOpsIn(const std::vector<fs::path>& places) {
    ModuleOps all;
    for (const fs::path& place : places)
        for (const fs::path& file : moduleFilesIn(place)) readFileInto(all, file);
    return all;
}

} // namespace twb
