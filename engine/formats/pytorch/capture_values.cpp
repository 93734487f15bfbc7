#include "formats/pytorch/capture_importer.h"
#include "formats/pytorch/python_line.h"

#include <fmt/format.h>

#include <utility>

// The values of a capture: their types, devices and frames, and the nodes of those that no op makes.

namespace twb::capture {

using aten::shortName;
using aten::ValueId;

namespace {

constexpr std::uint32_t kDeepestModule =
    48; ///< deeper modules are part of the one around them; see the limit of projects

} // namespace

std::string assignedName(std::string_view line) {
    const auto assignment = python::assignmentOf(line);
    return assignment ? std::string(assignment->name) : std::string();
}

std::optional<SourceLine> Import::sourceOf(Index location) const {
    const Index line = m_record.userLine(location);
    if (line == kNone || m_record.locations[line].line < 1) return std::nullopt;
    const Location& at = m_record.locations[line];
    return SourceLine{at.file, at.line, at.function};
}

/// A device that the project has no lane for counts as the CPU; a remark says so.
Device Import::deviceOf(const std::string& name) {
    const auto device = Device::parse(name);
    if (device && !device->isAuto() && device->rank == 0) return *device;
    if (m_foreign.insert(name).second)
        m_out.remarks.push_back(fmt::format("Tensors on the device {} are shown on cpu.", name));
    return Device::cpu();
}

/// Complex, quantized and sparse tensors have dense real types here; ops on them are opaque.
TensorType Import::typeOf(Index index) {
    const Type& type = m_record.types[index];
    if (const auto dtype = parseDType(type.dtype)) {
        if (!type.layout.empty() && m_foreign.insert(type.layout).second)
            m_out.remarks.push_back(
                fmt::format("Tensors of the layout {} are shown as dense ones.", type.layout));
        return {*dtype, type.shape};
    }
    const bool isComplex = type.dtype.starts_with("complex");
    const DType dtype = isComplex ? DType::f64 : DType::u8;
    if (m_foreign.insert(type.dtype).second)
        m_out.remarks.push_back(
            fmt::format("Tensors of the type {} are shown as {}.", type.dtype, torchName(dtype)));
    return {dtype, type.shape};
}

bool Import::isForeign(Index value) const {
    if (value == kNone) return false;
    const Type& type = m_record.types[m_record.values[value].type];
    return !parseDType(type.dtype) || !type.layout.empty();
}

FrameId Import::moduleFrame(FrameId phase, Index module) {
    while (module != kNone && m_record.modules[module].depth >= kDeepestModule)
        module = m_record.modules[module].parent;
    if (module == kNone) return phase;
    const auto known = m_frames.modules.find({phase, module});
    if (known != m_frames.modules.end()) return known->second;
    const Module& made = m_record.modules[module];
    const std::size_t dot = made.parent == kNone ? std::string::npos : made.path.rfind('.');
    const FrameId parent = moduleFrame(phase, made.parent);
    const std::string parentPath = made.parent == kNone ? std::string() : m_record.modules[made.parent].path;
    // "layer1.0" below "Net": the path without the parent's.
    std::string title = made.path;
    if (!parentPath.empty() && title.starts_with(parentPath + '.'))
        title = title.substr(parentPath.size() + 1);
    else if (dot != std::string::npos)
        title = title.substr(dot + 1);
    const FrameId id = m_writer.addFrame(title.empty() ? "module" : title, parent);
    m_frames.modules[{phase, module}] = id;
    return id;
}

FrameId Import::frameOf(Phase phase, Index module) {
    FrameId frame = m_frames.root;
    if (m_kind == Part::Kind::iteration || m_kind == Part::Kind::different) {
        const auto [at, fresh] = m_frames.phases.try_emplace(phase, FrameId::none);
        if (fresh)
            at->second = m_writer.addFrame(phase == Phase::forward    ? "Forward"
                                           : phase == Phase::backward ? "Backward"
                                                                      : "Optimizer",
                                           m_frames.root);
        frame = at->second;
    }
    return moduleFrame(frame, module);
}

NodeId Import::addNode(const char* op, std::string name, Device device, FrameId frame, Index location) {
    Node node;
    node.op = op;
    node.name = std::move(name);
    node.lane = m_writer.laneOf(device);
    node.frame = frame;
    node.source = sourceOf(location);
    return m_writer.addNode(std::move(node));
}

NodeId Import::addTo(const aten::Value& from, Device target, std::string name, FrameId frame,
                     Index location) {
    const NodeId id = addNode("To", std::move(name), target, frame, location);
    m_writer.connect(from.from, {id, 0});
    return id;
}

void Import::remember(Index value) {
    if (const std::uint64_t storage = m_record.values[value].storage) m_written[storage].push_back(value);
}

void Import::define(ValueId id, Index value, aten::Value from) {
    m_writer.define(id, std::move(from));
    remember(value);
}

/// The last value of the same storage and type that is in the graph.
const aten::Value* Import::latest(Index index) {
    const Value& value = m_record.values[index];
    const auto written = m_written.find(value.storage);
    if (value.storage == 0 || written == m_written.end()) return nullptr;
    for (auto at = written->second.rbegin(); at != written->second.rend(); ++at)
        if (m_record.values[*at].type == value.type) return m_writer.demand(idOf(*at));
    return nullptr;
}

/// A value that no op of the graph makes.
const aten::Value& Import::addSource(Index index) {
    const Value& value = m_record.values[index];
    const Type& type = m_record.types[value.type];
    // State that only the loop changes, such as the steps that an optimizer counts, begins in Set-up.
    Index head = index;
    while (m_record.values[head].overwrites != kNone) head = m_record.values[head].overwrites;
    const bool isState = m_writtenAgain.contains(value.storage) && m_record.values[head].producer == kNone &&
                         m_setUp != FrameId::none;
    if (isState) index = head;
    Index location = m_record.values[index].location;
    std::string name;
    if (const auto parameter = m_record.parameters.find(value.storage);
        parameter != m_record.parameters.end())
        name = parameter->second;
    else if (const Index producer = m_record.values[index].producer; producer != kNone) {
        const Form& form = m_record.formOf(m_record.ops[producer]);
        location = form.location;
        name = fmt::format("{} of the previous step", shortName(form.op));
    }
    if (const Index line = m_record.userLine(location); name.empty() && line != kNone)
        name = assignedName(m_record.locations[line].text);
    const FrameId frame = isState                          ? m_setUp
                          : m_frames.root != FrameId::none ? m_frames.root
                                                           : frameOf(Phase::forward, kNone);
    const NodeId id =
        addNode("Input", name.empty() ? "tensor" : name, deviceOf(type.device), frame, location);
    const TensorType made = typeOf(value.type);
    Node& node = m_writer.node(id);
    node.attributes.set("shape", made.shape.dims());
    node.attributes.set("dtype", std::string(twb::name(made.dtype)));
    m_sources.insert(id);
    define(idOf(index), index, {{id, 0}, made, deviceOf(type.device)});
    return *m_writer.find(idOf(index));
}

/// The value of the graph that stands for a result of a folded iteration after the loop; null if there is
/// none.
const aten::Value* Import::folded(Index index) {
    const Index producer = m_record.values[index].producer;
    if (producer == kNone || m_kind != Part::Kind::rest) return nullptr;
    const Op& made = m_record.ops[producer];
    const Op& stand = m_record.ops[m_steps.standIn[producer]];
    Index result = 0;
    while (m_record.results[made.firstResult + result] != index) ++result;
    return m_writer.demand(idOf(m_record.results[stand.firstResult + result]));
}

/// Adds a view of a storage that the graph has written in place through another view. Returns false if this
/// is none.
bool Import::addViewAfterWrite(Index index) {
    const Value& value = m_record.values[index];
    if (value.producer != kNone || value.after == kNone || !m_writer.demand(idOf(value.after))) return false;
    const Index writer = m_record.values[value.after].producer;
    if (writer == kNone) return false;
    aten::Call call;
    call.op = "view after write";
    call.device = deviceOf(m_record.types[value.type].device);
    call.frame = m_frames.root != FrameId::none ? m_frames.root : frameOf(Phase::forward, kNone);
    call.source = sourceOf(m_record.formOf(m_record.ops[writer]).location);
    call.arguments.emplace_back("written", idOf(value.after));
    if (value.before != kNone && m_writer.demand(idOf(value.before)))
        call.arguments.emplace_back("self", idOf(value.before));
    call.results.push_back({idOf(index), typeOf(value.type), call.device});
    m_writer.add(call);
    remember(index);
    return true;
}

const aten::Value& Import::valueOf(Index index) {
    const ValueId id = idOf(index);
    if (!m_writer.demand(id)) {
        const aten::Value* same = folded(index);
        if (!same && !addViewAfterWrite(index)) {
            same = latest(index);
            if (!same) same = &addSource(index);
        }
        if (same) m_writer.define(id, aten::Value(*same));
    }
    return *m_writer.demand(id);
}

} // namespace twb::capture
