#include "formats/pytorch/pt2.h"

#include "core/error.h"
#include "core/json_fault.h"
#include "formats/pytorch/aten.h"
#include "formats/pytorch/pt2_archive.h"
#include "graph/folding.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

namespace twb {
namespace pt2 {
namespace {

using aten::Argument;
using aten::Call;
using aten::ValueId;
using nlohmann::json;

constexpr std::int64_t kSchemaMajor = 8;

/// Ops whose result shares the memory of their first operand, if PyTorch can arrange that.
const std::unordered_set<std::string_view> kViews{
    "view",      "reshape",  "_unsafe_view", "flatten",  "unflatten",  "squeeze",
    "unsqueeze", "permute",  "transpose",    "t",        "numpy_T",    "expand",
    "expand_as", "select",   "slice",        "narrow",   "split",      "split_with_sizes",
    "chunk",     "unbind",   "detach",       "alias",    "contiguous", "to",
    "movedim",   "swapaxes", "view_as",      "diagonal", "as_strided", "broadcast_to",
    "real"};

/// The line of the program among the calls that led to an op: the innermost one outside of libraries.
/// A trace is `File "net.py", line 7, in forward`, then the line's text, for each call.
std::optional<SourceLine> sourceIn(const std::string& trace) {
    std::optional<SourceLine> out;
    bool isLibrary = true;
    for (std::size_t at = trace.find("File \""); at != std::string::npos; at = trace.find("File \"", at)) {
        at += 6;
        const std::size_t quote = trace.find("\", line ", at);
        if (quote == std::string::npos) break;
        SourceLine line;
        line.file = trace.substr(at, quote - at);
        const char* const first = trace.data() + quote + 8;
        const auto [stop, error] = std::from_chars(first, trace.data() + trace.size(), line.line);
        at = quote;
        if (error != std::errc() || line.line < 1 || line.line > 999'999'999 || line.file.empty() ||
            line.file.find('\n') != std::string::npos)
            continue;
        const auto rest = std::string_view(trace).substr(static_cast<std::size_t>(stop - trace.data()));
        if (rest.starts_with(", in ")) line.function = rest.substr(5, rest.find('\n') - 5);
        const bool inLibrary = line.file.find("site-packages/") != std::string::npos ||
                               line.file.find("dist-packages/") != std::string::npos;
        if (inLibrary && !isLibrary) continue;
        isLibrary = inLibrary;
        out = std::move(line);
    }
    return out;
}

/// The module paths of an op, outermost first, without the root: "layer1", "layer1.0".
std::vector<std::string> modulesIn(const std::string& stack) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= stack.size();) {
        const std::size_t end = std::min(stack.find(';', at), stack.size());
        const std::string entry = stack.substr(at, end - at);
        at = end + 1;
        const std::size_t first = entry.find(',');
        const std::size_t last = entry.rfind(',');
        if (first == std::string::npos || last <= first) continue;
        std::string path = entry.substr(first + 1, last - first - 1);
        for (const char* root : {"L['self'].", "L['s']."})
            if (path.starts_with(root)) path.erase(0, std::string_view(root).size());
        if (!path.empty()) out.push_back(std::move(path));
    }
    return out;
}

class Import {
public:
    Import(const std::filesystem::path& path, const ImportOptions& options)
        : m_archive(path), m_options(options), m_title(path.stem().string()) {}

    ImportedModel run();

private:
    void readProgram();
    void addInputs();
    void addCall(const json& node, std::size_t index);
    void addOutputs();
    void rewriteAliases(const Call& call, const std::string& shortOp);

    Argument argument(const json& value);
    std::int64_t integer(const json& value);
    ValueId valueOf(const std::string& name);
    const TensorMeta& metaOf(const std::string& name);
    FrameId frameOf(const json& metadata);
    void addResults(const json& output, Call& call);
    NodeId addSource(const std::string& value, const std::string& name, const std::optional<Tensor>& tensor);
    [[noreturn]] void refuse(const std::string& problem) const {
        throw Error(ErrorCode::badFile, fmt::format("{}: {}", m_archive.origin(), problem));
    }

    Archive m_archive;
    const ImportOptions& m_options;
    std::string m_title;
    ImportedModel m_out;
    aten::GraphWriter m_writer{m_out.graph, "Import"};
    json m_program;
    const json* m_graph = nullptr;
    std::unordered_map<std::string, ValueId> m_ids;
    std::unordered_map<std::string, TensorMeta> m_metas;
    std::unordered_map<std::string, FrameId> m_frames; ///< by module path
    /// By value: the values that share its memory, itself included.
    std::unordered_map<ValueId, std::shared_ptr<std::vector<ValueId>>> m_shared;
    std::unordered_map<ValueId, std::size_t> m_lastUse; ///< the index of the last call that reads it
    std::size_t m_index = 0;
    std::size_t m_pickled = 0;
};

ImportedModel Import::run() {
    readProgram();
    m_writer.laneOf(Device::cpu()); // the first lane, as in other projects
    addInputs();
    const json& nodes = m_graph->at("nodes");
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const json& input : nodes[i].at("inputs")) {
            const Argument read = argument(input.at("arg"));
            if (const auto* id = std::get_if<ValueId>(&read)) m_lastUse[*id] = i;
            if (const auto* list = std::get_if<std::vector<ValueId>>(&read))
                for (const ValueId id : *list) m_lastUse[id] = i;
        }
    for (m_index = 0; m_index < nodes.size(); ++m_index) {
        throwIfCancelled(m_options.isCancelled);
        addCall(nodes[m_index], m_index);
    }
    addOutputs();
    Delta delta = m_writer.take();
    GraphInfo info = m_out.graph.info();
    info.title = m_title;
    delta.info = Change<GraphInfo>{m_out.graph.info(), info};
    m_out.graph.apply(delta);
    m_out.graph.apply(fold(m_out.graph, m_writer.parameters()));
    m_out.stacks = layOutModel(m_out.graph, m_writer.parameters(), m_out.tensors, m_options.isCancelled);
    if (m_pickled > 0)
        m_out.remarks.push_back(fmt::format(
            "{}: {} of its weights {} only in a pickle, or without data, and became Input nodes. Pickles are "
            "not read, because they can run code. torch 2.9 and later save weights as raw data",
            m_archive.origin(), m_pickled, m_pickled == 1 ? "is" : "are"));
    return std::move(m_out);
}

void Import::readProgram() {
    m_program = json::parse(m_archive.program());
    const auto major = m_program.at("schema_version").at("major").get<std::int64_t>();
    if (major != kSchemaMajor)
        refuse(
            fmt::format("its schema version is {}.{}, but only version {} is supported: save it with torch "
                        "2.6 or later",
                        major, m_program.at("schema_version").value("minor", 0), kSchemaMajor));
    m_graph = &m_program.at("graph_module").at("graph");
    for (const auto& [name, meta] : m_graph->at("tensor_values").items())
        m_metas.emplace(name, readMeta(meta, fmt::format("{}: tensor \"{}\"", m_archive.origin(), name)));
}

ValueId Import::valueOf(const std::string& name) {
    return m_ids.emplace(name, ValueId(static_cast<std::int64_t>(m_ids.size()) + 1)).first->second;
}

const TensorMeta& Import::metaOf(const std::string& name) {
    const auto at = m_metas.find(name);
    if (at == m_metas.end()) refuse(fmt::format("tensor \"{}\" has no description in tensor_values", name));
    return at->second;
}

/// A node that holds a weight, or an Input if it has no data.
NodeId Import::addSource(const std::string& value, const std::string& name,
                         const std::optional<Tensor>& tensor) {
    const TensorMeta& meta = metaOf(value);
    Node node;
    node.name = name;
    node.lane = m_writer.laneOf(meta.device);
    if (tensor) {
        holdTensor(node, name, *tensor, m_out);
    } else {
        node.op = "Input";
        node.attributes.set("shape", meta.type.shape.dims());
        node.attributes.set("dtype", std::string(twb::name(meta.type.dtype)));
    }
    const NodeId id = m_writer.addNode(std::move(node));
    m_writer.define(valueOf(value), {{id, 0}, meta.type, meta.device});
    return id;
}

void Import::addInputs() {
    static constexpr std::array<std::pair<const char*, const char*>, 3> kHeld{
        {{"parameter", "parameter_name"},
         {"buffer", "buffer_name"},
         {"tensor_constant", "tensor_constant_name"}}};
    for (const json& spec : m_program.at("graph_module").at("signature").at("input_specs")) {
        if (spec.contains("user_input")) {
            const json& arg = spec.at("user_input").at("arg");
            if (!arg.contains("as_tensor")) continue; // a number that the export fixed
            const auto value = arg.at("as_tensor").at("name").get<std::string>();
            addSource(value, value, std::nullopt);
            continue;
        }
        for (const auto& [kind, key] : kHeld) {
            if (!spec.contains(kind)) continue;
            const auto value = spec.at(kind).at("arg").at("name").get<std::string>();
            const auto name = spec.at(kind).at(key).get<std::string>();
            const std::optional<Tensor> tensor = m_archive.tensor(name);
            if (tensor && !(tensor->type() == metaOf(value).type))
                refuse(fmt::format("tensor \"{}\" is {} in the program, but {} in the archive", name,
                                   metaOf(value).type.toString(), tensor->type().toString()));
            if (!tensor) ++m_pickled;
            const NodeId id = addSource(value, name, tensor);
            if (tensor) m_writer.addParameter(id);
        }
    }
}

/// A size of the program: a number, or a symbol with the number of the export.
std::int64_t Import::integer(const json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.contains("as_int")) return value.at("as_int").get<std::int64_t>();
    const auto name = value.at("as_name").get<std::string>();
    const json& known = m_graph->at("sym_int_values").at(name);
    if (known.contains("as_int")) return known.at("as_int").get<std::int64_t>();
    return known.at("as_expr").at("hint").at("as_int").get<std::int64_t>();
}

Argument Import::argument(const json& value) {
    if (value.size() != 1) return std::monostate{};
    const auto only = value.begin();
    const std::string& kind = only.key();
    const json& of = only.value();
    const auto id = [&](const json& tensor) { return valueOf(tensor.at("name").get<std::string>()); };
    const auto integers = [&] {
        std::vector<std::int64_t> out;
        for (const json& item : of) out.push_back(integer(item));
        return out;
    };
    if (kind == "as_tensor") return id(of);
    if (kind == "as_tensors") {
        std::vector<ValueId> out;
        for (const json& item : of) out.push_back(id(item));
        return out;
    }
    if (kind == "as_optional_tensors" || kind == "as_optional_tensor") {
        std::vector<ValueId> out;
        if (of.is_object()) return of.contains("as_tensor") ? Argument(id(of.at("as_tensor"))) : Argument();
        for (const json& item : of)
            out.push_back(item.contains("as_tensor") ? id(item.at("as_tensor")) : ValueId::none);
        return out;
    }
    if (kind == "as_int" || kind == "as_sym_int") return integer(of);
    if (kind == "as_ints" || kind == "as_sym_ints") return integers();
    if (kind == "as_float") {
        if (of.is_string())
            return of.get<std::string>() == "Infinity"    ? "inf"
                   : of.get<std::string>() == "-Infinity" ? "-inf"
                                                          : "nan";
        return of.get<double>();
    }
    if (kind == "as_floats") return of.get<std::vector<double>>();
    if (kind == "as_bool") return of.get<bool>();
    if (kind == "as_bools") return of.get<std::vector<bool>>();
    if (kind == "as_string") return of.get<std::string>();
    if (kind == "as_scalar_type") return std::string(scalarTypeName(of.get<std::int64_t>()));
    if (kind == "as_device") return readDevice(of, m_archive.origin()).toString();
    return std::monostate{}; // layouts, memory formats, graphs and custom objects
}

FrameId Import::frameOf(const json& metadata) {
    FrameId frame = FrameId::none;
    const auto stack = metadata.find("nn_module_stack");
    if (stack == metadata.end() || !stack->is_string()) return frame;
    std::string parent;
    for (const std::string& path : modulesIn(stack->get<std::string>())) {
        const auto [at, isNew] = m_frames.emplace(path, FrameId::none);
        if (isNew) {
            const bool isInside = !parent.empty() && path.starts_with(parent + ".");
            at->second = m_writer.addFrame(isInside ? path.substr(parent.size() + 1) : path, frame);
        }
        frame = at->second;
        parent = path;
    }
    return frame;
}

void Import::addResults(const json& output, Call& call) {
    const auto add = [&](const json& tensor) {
        const auto name = tensor.at("name").get<std::string>();
        const TensorMeta& meta = metaOf(name);
        call.results.push_back({valueOf(name), meta.type, meta.device});
    };
    if (output.contains("as_tensor")) add(output.at("as_tensor"));
    if (output.contains("as_tensors"))
        for (const json& item : output.at("as_tensors")) add(item);
    if (output.contains("as_optional_tensors"))
        for (const json& item : output.at("as_optional_tensors")) {
            if (item.contains("as_tensor"))
                add(item.at("as_tensor"));
            else
                call.results.emplace_back();
        }
    if (output.contains("as_none")) call.results.emplace_back();
}

void Import::addCall(const json& node, std::size_t index) {
    const auto target = node.at("target").get<std::string>();
    try {
        Call call;
        std::string rest = target;
        if (rest.starts_with("torch.ops.")) rest.erase(0, 10);
        const std::size_t space = rest.find('.');
        std::string shortOp = space == std::string::npos ? rest : rest.substr(space + 1);
        if (const std::size_t dot = shortOp.find('.'); dot != std::string::npos) {
            call.overload = shortOp.substr(dot + 1);
            shortOp.erase(dot);
        }
        call.op = fmt::format("{}::{}", rest.substr(0, std::min(space, rest.size())), shortOp);
        for (const json& input : node.at("inputs"))
            call.arguments.emplace_back(input.at("name").get<std::string>(), argument(input.at("arg")));
        for (const json& output : node.at("outputs")) addResults(output, call);
        if (node.contains("metadata")) {
            const json& metadata = node.at("metadata");
            call.frame = frameOf(metadata);
            if (const auto trace = metadata.find("stack_trace");
                trace != metadata.end() && trace->is_string())
                call.source = sourceIn(trace->get<std::string>());
        }
        const json& first = node.at("outputs");
        if (!call.results.empty()) {
            call.device = call.results.front().device;
            if (first[0].contains("as_tensor"))
                call.name = first[0].at("as_tensor").at("name").get<std::string>();
        }
        (void)m_writer.add(call);
        rewriteAliases(call, shortOp);
    } catch (const json::exception& e) {
        refuse(fmt::format("call {} ({}) is damaged: {}", index, target, jsonFault(e.what())));
    } catch (const Error& e) {
        const std::string sentence = e.what();
        if (sentence.starts_with(m_archive.origin())) throw;
        refuse(sentence);
    }
}

/// Follows memory that several values share. An op that writes in place changes all of them: the operand
/// gets the new value, and other ones that are still read become opaque.
void Import::rewriteAliases(const Call& call, const std::string& shortOp) {
    if (call.arguments.empty() || call.results.empty()) return;
    const auto* self = std::get_if<ValueId>(&call.arguments.front().second);
    if (!self || *self == ValueId::none) return;
    const bool inPlace = shortOp.ends_with('_') && !shortOp.ends_with("__");
    if (!inPlace && !kViews.contains(shortOp)) return;
    auto& group = m_shared[*self];
    if (!group) group = std::make_shared<std::vector<ValueId>>(1, *self);
    const std::shared_ptr<std::vector<ValueId>> shared = group;
    const std::vector<ValueId> before = *shared;
    for (const aten::Result& result : call.results) {
        shared->push_back(result.id);
        m_shared[result.id] = shared;
    }
    if (!inPlace) return;
    const aten::Value written = *m_writer.find(call.results.front().id);
    for (const ValueId id : before) {
        const auto used = m_lastUse.find(id);
        if (used == m_lastUse.end() || used->second <= m_index) continue;
        const aten::Value* old = m_writer.find(id);
        if (!old) continue;
        if (id == *self || (old->type == written.type && old->from == m_writer.find(*self)->from)) {
            m_writer.define(id, written);
            continue;
        }
        Call reread;
        reread.op = "view of memory that was written in place";
        reread.arguments = {{"self", call.results.front().id}, {"view", id}};
        reread.results = {{id, old->type, old->device}};
        reread.device = old->device;
        reread.name = "view after " + shortOp;
        reread.frame = call.frame;
        reread.source = call.source;
        (void)m_writer.add(reread);
    }
}

void Import::addOutputs() {
    for (const json& spec : m_program.at("graph_module").at("signature").at("output_specs")) {
        if (!spec.contains("user_output")) continue;
        const json& arg = spec.at("user_output").at("arg");
        if (!arg.contains("as_tensor")) continue;
        const auto name = arg.at("as_tensor").at("name").get<std::string>();
        const aten::Value* value = m_writer.demand(valueOf(name));
        if (!value) refuse(fmt::format("output \"{}\" is not made by any call", name));
        Node probe;
        probe.op = "Probe";
        probe.name = fmt::format("output {}", name);
        probe.lane = m_writer.laneOf(value->device);
        const PortRef from = value->from;
        const NodeId id = m_writer.addNode(std::move(probe));
        m_writer.connect(from, {id, 0});
        m_out.outputs.push_back({name, from});
    }
}

} // namespace
} // namespace pt2

ImportedModel importPt2(const std::filesystem::path& path, const ImportOptions& options) {
    try {
        return pt2::Import(path, options).run();
    } catch (const nlohmann::json::exception& e) {
        throw Error(ErrorCode::badFile,
                    fmt::format("{}: its program is damaged: {}", path.string(), jsonFault(e.what())));
    }
}

} // namespace twb
