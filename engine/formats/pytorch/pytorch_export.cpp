#include "formats/pytorch/pytorch_export.h"

#include "backends/cpu/cpu_backend.h"
#include "formats/project.h"
#include "formats/pytorch/python_helpers.h"
#include "formats/pytorch/pytorch_exporter.h"
#include "formats/safetensors.h"
#include "formats/tensor_archive.h"
#include "graph/module_names.h"
#include "placement/disabled_rule.h"
#include "placement/fixes.h"
#include "training/training.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace twb {
namespace pytorch {
namespace {

/// Devices matter by name only, so any backend serves to check the graph.
DeviceMap anyDevices(const Graph& graph) {
    DeviceMap devices;
    for (const Lane& lane : graph.lanes()) {
        if (lane.device.isAuto()) continue;
        for (const Device device : {lane.device, lane.device.host()})
            if (!devices.find(device)) devices.set(device, cpuBackend(), false);
    }
    return devices;
}

/// Constants with more elements than this are not written as literals.
constexpr std::int64_t kShort = 32;
/// If the outermost level has more sources than this, they are not passed as separate arguments.
constexpr std::size_t kFewSources = 12;

} // namespace

Exporter::Exporter(const Graph& graph, const TensorFiles* files, std::filesystem::path project,
                   std::filesystem::path folder, std::string beside)
    : m_graph(withCopiesMade(graph, files)), m_files(files), m_project(std::move(project)),
      m_folder(std::move(folder)), m_beside(std::move(beside)), m_bodies(m_graph),
      m_analysis(analyze(m_graph, anyDevices(m_graph), Policy::strict, files)) {}

/// PyTorch copies nothing implicitly, so the policy's copies become To nodes.
Graph Exporter::withCopiesMade(const Graph& graph, const TensorFiles* files) {
    Graph out = exportable(graph, analyze(graph, anyDevices(graph), graph.info().policy, files), "PyTorch");
    if (graph.info().policy.makesNoCopies()) return out;
    std::vector<Fix> fixes;
    const Analysis analysis = analyze(out, anyDevices(out), out.info().policy, files);
    for (const ImplicitCopy& copy : analysis.implicitCopies)
        for (const Edge& edge : copy.edges) {
            Fix fix;
            fix.kind = Fix::Kind::insertTo;
            fix.edge = edge;
            fix.device = copy.target;
            fixes.push_back(std::move(fix));
        }
    out.apply(toDelta(out, fixes, ""));
    return out;
}

void Exporter::check() const {
    for (const Lane& lane : m_graph.lanes())
        if (lane.device.rank != 0)
            throw Error(ErrorCode::badGraph,
                        fmt::format("a lane is on {}, but a PyTorch module runs in one process; set the lane "
                                    "to a device without a rank",
                                    lane.device.toString()));
    for (const Diagnostic& d : m_analysis.diagnostics)
        if (d.severity == Severity::error)
            throw Error(
                ErrorCode::badGraph,
                fmt::format("the graph has errors and cannot be exported to PyTorch: {}; apply a fix first",
                            d.message));
    for (const LiveNode& live : m_live)
        for (const auto& type : live.facts->outputs)
            if (type && !isInTorch(type->dtype))
                throw Error(ErrorCode::badGraph,
                            fmt::format("{} \"{}\" cannot be exported to PyTorch, which has no tensors of {}",
                                        live.facts->op->name, m_graph.find(live.facts->id)->name,
                                        name(type->dtype)));
}

std::vector<PortRef> Exporter::readsOf(const NodeFacts& facts) {
    std::vector<PortRef> reads;
    const auto read = [&](PortRef value) {
        if (std::find(reads.begin(), reads.end(), value) == reads.end()) reads.push_back(value);
    };
    if (facts.op->role == OpRole::compute || facts.op->role == OpRole::collective) {
        const auto writer = writers().find(facts.op->name);
        const Call call(
            m_graph, m_analysis, facts,
            [&](PortRef value) {
                read(value);
                return std::string("x");
            },
            m_helpers);
        if (writer == writers().end())
            call.refuse("PyTorch has no function for it, and this export has no replacement");
        (void)writer->second(call);
    } else {
        for (const auto& input : facts.inputs)
            if (input) read(*input);
    }
    return reads;
}

/// The nodes that the outputs need, without constants that became literals and nodes that only feed them.
void Exporter::findLive() {
    for (const NodeFacts& facts : m_analysis.nodes)
        if (facts.op && facts.op->role == OpRole::sink && !m_bodies.around(facts.id))
            m_isLive.insert(facts.id);
    for (auto facts = m_analysis.nodes.rbegin(); facts != m_analysis.nodes.rend(); ++facts) {
        // A body keeps its carried values even if it does not read them.
        if (const Body* body = m_bodies.around(facts->id);
            body && facts->op->role == OpRole::state && m_isLive.contains(body->owner))
            m_isLive.insert(facts->id);
        if (!m_isLive.contains(facts->id)) continue;
        m_live.push_back({&*facts, readsOf(*facts)});
        for (const PortRef read : m_live.back().reads) m_isLive.insert(read.node);
    }
    std::reverse(m_live.begin(), m_live.end());
}

void Exporter::findOutputs() {
    std::set<std::string> taken;
    for (const Node& node : m_graph.nodes()) { // as they were added
        const NodeFacts& facts = *m_analysis.find(node.id);
        if (facts.op->role != OpRole::sink || m_bodies.around(node.id)) continue;
        Output output{node.name, *facts.inputs[0], node.op == "Save" ? facts.attributes.text("path") : ""};
        for (int n = 2; !taken.insert(output.name).second; ++n)
            output.name = fmt::format("{} {}", node.name, n);
        if (splitTensorPath(output.path).file.ends_with(".safetensors"))
            throw Error(ErrorCode::badGraph,
                        fmt::format("Save \"{}\" cannot be exported to PyTorch, which writes no "
                                    ".safetensors; save to a .npy or .npz",
                                    node.name));
        m_outputs.push_back(std::move(output));
    }
    if (m_outputs.empty())
        throw Error(ErrorCode::badGraph,
                    "the graph has no outputs to export: connect its results to a Probe or a Save");
}

/// Includes the titles of the enclosing frames.
std::string Exporter::titleOf(FrameId frame) const {
    std::string path;
    for (; frame != FrameId::none; frame = m_graph.find(frame)->parent)
        path = path.empty() ? m_graph.find(frame)->title : m_graph.find(frame)->title + " " + path;
    return path;
}

void Exporter::nameValues() {
    for (const LiveNode& live : m_live) {
        const Node& node = *m_graph.find(live.facts->id);
        for (std::size_t port = 0; port < live.facts->outputs.size(); ++port) {
            const auto p = static_cast<std::int32_t>(port);
            const std::string& output = live.facts->op->outputAt(p).name;
            m_nameOf[{node.id, p}] = m_names.variable(
                port == 0 ? node.name : fmt::format("{} {}", node.name, output), live.facts->op->name);
        }
    }
    const std::vector<Scope>& scopes = m_tree->scopes();
    for (std::size_t i = 0; i < scopes.size(); ++i) {
        for (const PortRef source : scopes[i].sources) m_held.emplace(i, source);
        if (i != 0) m_typeOf[i] = m_names.type(titleOf(scopes[i].frame));
        PythonNames members = PythonNames::ofMembers();
        for (const Scope::Item& item : scopes[i].items) {
            if (item.node) continue;
            // Omits the title of the enclosing frame at the start.
            std::string title = titleOf(m_tree->scopes()[item.scope].frame);
            const std::string around = i == 0 ? "" : titleOf(scopes[i].frame) + " ";
            if (title.starts_with(around)) title.erase(0, around.size());
            m_memberOf[item.scope] = members.variable(title, "module");
        }
        for (const PortRef source : scopes[i].sources) {
            // "weight" for "fc1.weight" in fc1.
            std::string name = shortNameOf(m_graph, *m_graph.find(source.node));
            const std::string title = i == 0 ? "" : m_graph.find(scopes[i].frame)->title;
            if (!title.empty() && name.size() > title.size() + 1 && name.starts_with(title))
                name.erase(0, title.size());
            m_attributeOf[source] = members.variable(name);
        }
    }
}

bool Exporter::isArgument(PortRef source) const {
    return m_held.contains({0, source}) &&
           (m_tree->scopes()[0].sources.size() <= kFewSources || m_graph.find(source.node)->op == "Input");
}

std::string Exporter::nameIn(std::size_t scope, PortRef value) const {
    if (!m_held.contains({scope, value}) || (scope == 0 && isArgument(value))) return m_nameOf.at(value);
    return "self." + m_attributeOf.at(value);
}

std::string Exporter::pathText(const std::string& path) const {
    const TensorPath parts = splitTensorPath(path);
    const std::filesystem::path file =
        (m_project / parts.file).lexically_normal().lexically_relative(m_folder);
    return literal(std::string_view(file.generic_string() + (parts.tensor ? "#" + *parts.tensor : "")));
}

std::string Exporter::loadText(const std::string& path, const NodeFacts& facts) {
    const char* load = path.find(".safetensors") == std::string::npos ? "load" : "load_safetensors";
    m_helpers.insert(load);
    return fmt::format("{}({}, \"{}\")", load, path, m_graph.deviceOf(*m_graph.find(facts.id)).toString());
}

/// The expression for a tensor saved beside the module, with the value that the source has here.
std::string Exporter::besideText(const NodeFacts& facts) {
    const Tensor tensor = Tensor::onHost(*facts.outputs[0]);
    const std::array<TensorView, 1> outputs{tensor.view()};
    facts.op->kernel({{}, outputs, facts.attributes, m_files});
    const std::string& key = m_nameOf.at({facts.id, 0});
    m_tensors[key] = tensor;
    return loadText(literal(std::string_view(m_beside + "#" + key)), facts);
}

std::string Exporter::constantText(const NodeFacts& facts) {
    const TensorType& type = *facts.outputs[0];
    const Tensor tensor = Tensor::onHost(type);
    const std::array<TensorView, 1> outputs{tensor.view()};
    facts.op->kernel({{}, outputs, facts.attributes, m_files});
    std::vector<std::string> elements;
    for (std::int64_t i = 0; i < tensor.elementCount(); ++i)
        elements.push_back(holdsFractions(type.dtype)     ? literal(tensor.at(i))
                           : type.dtype == DType::boolean ? (tensor.at(i) != 0 ? "True" : "False")
                           : type.dtype == DType::i64
                               ? std::to_string(tensor.values<std::int64_t>()[static_cast<std::size_t>(i)])
                               : fmt::format("{}", static_cast<std::int64_t>(tensor.at(i))));
    std::string values = fmt::format("[{}]", fmt::join(elements, ", "));
    if (type.shape.rank() == 0) values = elements.front();
    const Call call(m_graph, m_analysis, facts, nullptr, m_helpers);
    const std::string dtype =
        type.dtype == DType::f32 && !elements.empty() ? "" : ", dtype=" + torchDType(type.dtype);
    const std::string shape =
        type.shape.rank() > 1 ? fmt::format(".reshape{}", tupleOf(type.shape.dims())) : "";
    return fmt::format("torch.tensor({}{}{}){}", values, dtype, call.deviceArgument(), shape);
}

std::string Exporter::sourceText(const NodeFacts& facts) {
    const std::string& op = facts.op->name;
    const TensorType& type = *facts.outputs[0];
    const Call call(m_graph, m_analysis, facts, nullptr, m_helpers);
    const std::string dtype = type.dtype == DType::f32 ? "" : ", dtype=" + torchDType(type.dtype);
    const std::string rest = dtype + call.deviceArgument();
    if (!call.deviceArgument().empty()) m_helpers.insert("device");
    if (op == "File" && !m_project.empty()) return loadText(pathText(facts.attributes.text("path")), facts);
    if (op == "Zeros" || op == "Ones")
        return fmt::format("torch.{}({}{})", op == "Zeros" ? "zeros" : "ones", tupleOf(type.shape.dims()),
                           rest);
    if (op == "Full" && type.dtype != DType::boolean)
        return fmt::format("torch.full({}, {}, dtype={}{})", tupleOf(type.shape.dims()),
                           literal(*facts.attributes.find("value")), torchDType(type.dtype),
                           call.deviceArgument());
    if (op == "Arange")
        return call.filled("torch.arange({start}, {limit}, {delta}, ") +
               fmt::format("dtype={}{})", torchDType(type.dtype), call.deviceArgument());
    if (op == "Constant" && type.shape.elementCount() <= kShort) return constantText(facts);
    return besideText(facts);
}

} // namespace pytorch

void exportPyTorch(const Graph& graph, const TensorFiles* files, const std::filesystem::path& project,
                   const std::filesystem::path& path) {
    const std::filesystem::path absolute = std::filesystem::absolute(path);
    const std::string beside = path.stem().string() + "_tensors.safetensors";
    const Graph inference = inferenceGraph(graph, files);
    pytorch::Exporter exporter(
        inference, files, project.empty() ? project : std::filesystem::absolute(project).lexically_normal(),
        absolute.parent_path().lexically_normal(), beside);
    const std::string text = exporter.run();
    if (!exporter.tensors().empty()) {
        std::vector<std::pair<std::string, TensorView>> tensors;
        for (const auto& [name, tensor] : exporter.tensors()) tensors.emplace_back(name, tensor.view());
        writeSafetensors(absolute.parent_path() / beside, tensors);
    }
    writeFileAtomically(path, text);
}

} // namespace twb
