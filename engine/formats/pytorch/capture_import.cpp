#include "core/error.h"
#include "formats/pytorch/aten.h"
#include "formats/pytorch/capture.h"
#include "formats/pytorch/capture_steps.h"
#include "formats/pytorch/python_line.h"
#include "graph/folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace twb {
namespace capture {
namespace {

using aten::shortName;
using aten::ValueId;

constexpr std::uint32_t kDeepestModule =
    48; ///< deeper modules are part of the one around them; see the limit of projects
constexpr std::size_t kMostCards = 60;     ///< graphs with more cards start with collapsed frames
constexpr std::size_t kMostOpenCards = 32; ///< of these graphs; as many are readable in one window

/// The variable that a line of Python assigns: "scale" for "self.scale = torch.ones(64)". Empty if there is
/// none, or more than one.
std::string assignedName(std::string_view line) {
    const auto assignment = python::assignmentOf(line);
    return assignment ? std::string(assignment->name) : std::string();
}

/// Collapses frames, so that at most kMostOpenCards cards show at first. The frames that are opened are the
/// ones with the fewest cards, from the outside in.
Delta collapseFrames(const Graph& graph) {
    std::map<FrameId, std::size_t> cards; // directly inside; none: outside of all frames
    std::map<FrameId, std::vector<FrameId>> inner;
    std::size_t all = 0;
    for (const Node& node : graph.nodes()) {
        if (node.folded) continue;
        ++cards[node.frame];
        ++all;
    }
    for (const Frame& frame : graph.frames()) {
        ++cards[frame.parent];
        inner[frame.parent].push_back(frame.id);
    }
    Delta collapse;
    if (all <= kMostCards) return collapse;
    std::set<FrameId> open;
    std::set<std::pair<std::size_t, FrameId>> next; // collapsed frames that show
    std::size_t shown = cards[FrameId::none];
    const auto show = [&](FrameId id) {
        if (!graph.find(id)->once) next.emplace(cards[id], id);
    };
    for (const FrameId id : inner[FrameId::none]) show(id);
    while (!next.empty() && shown + next.begin()->first <= kMostOpenCards + 1) {
        const auto [count, id] = *next.begin();
        next.erase(next.begin());
        shown += count - 1;
        open.insert(id);
        for (const FrameId in : inner[id]) show(in);
    }
    for (const Frame& frame : graph.frames()) {
        if (open.contains(frame.id)) continue;
        Frame after = frame;
        after.collapsed = true;
        collapse.frames.push_back({frame, after});
    }
    return collapse;
}

/// By op: its phase. An op of the forward that only makes or clears what the backward reads, such as the ones
/// of zero_grad(), belongs to the backward.
std::vector<Phase> phasesOf(const Record& record) {
    std::vector<Phase> out;
    std::vector<bool> isRead(record.ops.size()), isReadElsewhere(record.ops.size());
    for (const Op& op : record.ops) {
        const Form& form = record.formOf(op);
        out.push_back(form.phase);
        for (std::size_t i = 0; i < form.arguments.size(); ++i) {
            const Index value = record.operands[op.firstOperand + i];
            const Index producer = value == kNone ? kNone : record.values[value].producer;
            if (producer == kNone) continue;
            isRead[producer] = true;
            if (form.phase != Phase::backward) isReadElsewhere[producer] = true;
        }
    }
    for (std::size_t at = 0; at < out.size(); ++at) {
        const Op& op = record.ops[at];
        const Form& form = record.formOf(op);
        const auto isOverwritten = [&](Index operand) {
            for (std::size_t i = 0; i < form.resultTypes.size(); ++i)
                if (record.values[record.results[op.firstResult + i]].overwrites == operand) return true;
            return false;
        };
        bool isSource = form.phase == Phase::forward && form.module == kNone;
        for (std::size_t i = 0; i < form.arguments.size(); ++i)
            isSource = isSource && isOverwritten(record.operands[op.firstOperand + i]);
        if (isSource && isRead[at] && !isReadElsewhere[at]) out[at] = Phase::backward;
    }
    return out;
}

/// Storages that more than one step writes in place.
std::set<std::uint64_t> storagesWrittenAgain(const Record& record) {
    std::unordered_map<std::uint64_t, std::int64_t> firstStep;
    std::set<std::uint64_t> out;
    for (const Op& op : record.ops)
        for (std::size_t i = 0; i < record.formOf(op).resultTypes.size(); ++i) {
            const Value& value = record.values[record.results[op.firstResult + i]];
            if (value.overwrites == kNone || value.storage == 0) continue;
            if (firstStep.try_emplace(value.storage, op.step).first->second != op.step)
                out.insert(value.storage);
        }
    return out;
}

/// Builds the graph of one capture.
class Import {
public:
    Import(Record record, const std::filesystem::path& path, const ImportOptions& options)
        : m_record(std::move(record)), m_steps(foldSteps(m_record)), m_phases(phasesOf(m_record)),
          m_writtenAgain(storagesWrittenAgain(m_record)), m_path(path), m_options(options),
          m_writer(m_out.graph, "Import capture") {}

    ImportedModel run();

private:
    struct Frames {
        FrameId root = FrameId::none;
        std::map<Phase, FrameId> phases{};
        std::map<std::pair<FrameId, Index>, FrameId> modules{};
    };
    using Findings = std::map<Index, std::vector<const Transfer*>>;
    /// What belongs to no op, but follows one in the program.
    struct Loose {
        std::vector<const Transfer*> transfers;
        std::vector<const Sync*> syncs;
        std::vector<const Mismatch*> mismatches;
    };

    void begin(Part::Kind kind, const std::string& title);
    void addPart(const Part& part);
    void addOp(Index op);
    void addMove(Index op, const Form& form, Index from, Index result);
    void addHostRead(Index op, const Form& form);
    void addLoose(const Loose& loose);
    void addLooseTransfer(const Transfer& transfer);
    void addLooseSync(const Sync& sync);
    void addRest();
    void removeUnread(Delta& delta) const;
    void addNumpy(const Mismatch& mismatch);
    aten::Call callOf(Index op, const Form& form);
    void addOperands(aten::Call& call, Index op, const Form& form);

    const aten::Value& valueOf(Index value);
    const aten::Value& addSource(Index value);
    bool addViewAfterWrite(Index value);
    const aten::Value* folded(Index value);
    ValueId idOf(Index value) const { return ValueId(static_cast<std::int64_t>(value) + 1); }
    ValueId newId() { return ValueId(++m_lastId); }
    void define(ValueId id, Index value, aten::Value from);
    void remember(Index value);
    const aten::Value* latest(Index value);

    NodeId addNode(const char* op, std::string name, Device device, FrameId frame, Index location);
    NodeId addTo(const aten::Value& from, Device target, std::string name, FrameId frame, Index location);
    FrameId frameOf(Phase phase, Index module);
    FrameId moduleFrame(FrameId phase, Index module);
    Device deviceOf(const std::string& name);
    TensorType typeOf(Index type);
    bool isForeign(Index value) const;
    std::optional<SourceLine> sourceOf(Index location) const;
    std::string nameOf(Index op, const Form& form) const;

    Record m_record;
    Steps m_steps;
    std::vector<Phase> m_phases; ///< by op
    std::set<std::uint64_t> m_writtenAgain;
    const std::filesystem::path& m_path;
    const ImportOptions& m_options;
    ImportedModel m_out;
    aten::GraphWriter m_writer;
    std::int64_t m_lastId = std::int64_t{1} << 40;
    Frames m_frames;                 ///< of the current part
    FrameId m_setUp = FrameId::none; ///< once it has begun
    std::set<NodeId> m_sources;      ///< made for values that no op makes
    Part::Kind m_kind = Part::Kind::setUp;
    Findings m_transfersOf; ///< by op
    std::map<Index, std::vector<const Sync*>> m_syncsOf;
    std::set<Index> m_wrong; ///< ops with a mismatch
    std::unordered_map<std::uint64_t, std::vector<Index>>
        m_written;                   ///< by storage: defined values, latest last
    std::set<std::string> m_foreign; ///< dtypes, layouts and devices without a counterpart
    std::map<Index, Loose> m_loose;  ///< by the previous op
};

std::optional<SourceLine> Import::sourceOf(Index location) const {
    const Index line = m_record.userLine(location);
    if (line == kNone || m_record.locations[line].line < 1) return std::nullopt;
    const Location& at = m_record.locations[line];
    return SourceLine{at.file, at.line, at.function};
}

/// A device that the project has no lane for counts as the CPU; a remark says so.
Device Import::deviceOf(const std::string& name) {
    const auto device = Device::parse(name);
    if (device && !device->isAuto()) return *device;
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

aten::Argument argumentOf(const nlohmann::json& value) {
    using nlohmann::json;
    switch (value.type()) {
    case json::value_t::null:
        return {};
    case json::value_t::boolean:
        return value.get<bool>();
    case json::value_t::number_integer:
        return value.get<std::int64_t>();
    case json::value_t::number_unsigned:
        return static_cast<std::int64_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), INT64_MAX));
    case json::value_t::number_float:
        return value.get<double>();
    case json::value_t::string:
        return value.get<std::string>();
    case json::value_t::array:
        break;
    default:
        return value.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    const auto all = [&](const auto& holds) { return std::all_of(value.begin(), value.end(), holds); };
    if (all([](const json& entry) { return entry.is_boolean(); }) && !value.empty())
        return value.get<std::vector<bool>>();
    if (all([](const json& entry) { return entry.is_number_integer(); }))
        return value.get<std::vector<std::int64_t>>();
    if (all([](const json& entry) { return entry.is_number(); })) return value.get<std::vector<double>>();
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The name of an op's node: of the parameter or the variable that it makes, else of the function.
std::string Import::nameOf(Index op, const Form& form) const {
    const Op& made = m_record.ops[op];
    for (std::size_t i = 0; i < form.resultTypes.size() && m_kind == Part::Kind::setUp; ++i) {
        const Value& value = m_record.values[m_record.results[made.firstResult + i]];
        const auto parameter = m_record.parameters.find(value.storage);
        if (value.storage != 0 && parameter != m_record.parameters.end()) return parameter->second;
    }
    if (form.arguments.empty())
        if (const Index line = m_record.userLine(form.location); line != kNone)
            if (std::string name = assignedName(m_record.locations[line].text); !name.empty()) return name;
    return std::string(shortName(form.op));
}

aten::Call Import::callOf(Index op, const Form& form) {
    const Op& made = m_record.ops[op];
    aten::Call call;
    call.op = form.op;
    call.overload = form.overload;
    call.device = deviceOf(form.device);
    call.name = nameOf(op, form);
    call.frame = frameOf(m_phases[op], form.module);
    call.source = sourceOf(form.location);
    // Values written in place come first in a capture and last in a schema that has both.
    std::vector<Index> results;
    for (const bool isWritten : {false, true})
        for (std::size_t i = 0; i < form.resultTypes.size(); ++i) {
            const Index value = m_record.results[made.firstResult + i];
            if ((m_record.values[value].overwrites != kNone) == isWritten) results.push_back(value);
        }
    for (const Index value : results) {
        const Device device = deviceOf(m_record.types[m_record.values[value].type].device);
        call.results.push_back({idOf(value), typeOf(m_record.values[value].type), device});
        // An op that writes in place leaves its operand where it is.
        if (m_record.values[value].overwrites != kNone && value == results.front()) call.device = device;
    }
    // A capture may place an op that makes a view, which runs nowhere, on the device of its function.
    std::set<Device> devices;
    for (const aten::Result& result : call.results) devices.insert(result.device);
    for (std::size_t i = 0; i < form.arguments.size(); ++i)
        if (const Index value = m_record.operands[made.firstOperand + i]; value != kNone)
            devices.insert(deviceOf(m_record.types[m_record.values[value].type].device));
    if (devices.size() == 1) call.device = *devices.begin();
    addOperands(call, op, form);
    if (made.attributes != kNone)
        for (const auto& [name, value] : m_record.attributes[made.attributes].items())
            call.arguments.emplace_back(name, argumentOf(value));
    return call;
}

void Import::addOperands(aten::Call& call, Index op, const Form& form) {
    const Op& made = m_record.ops[op];
    const auto transfers = m_transfersOf.find(op);
    const bool isIndexing = form.op == "aten::index" || form.op.starts_with("aten::index_put") ||
                            form.op.starts_with("aten::_index_put") ||
                            form.op.starts_with("aten::_unsafe_index");
    bool isForeignOp = false;
    for (std::size_t i = 0; i < form.resultTypes.size(); ++i)
        isForeignOp = isForeignOp || isForeign(m_record.results[made.firstResult + i]);
    for (std::size_t i = 0; i < form.arguments.size(); ++i) {
        const Index value = m_record.operands[made.firstOperand + i];
        ValueId id = ValueId::none;
        if (value != kNone && m_writer.isPending(idOf(value))) {
            id = idOf(value); // the op may not need it
        } else if (value != kNone) {
            isForeignOp = isForeignOp || isForeign(value);
            const aten::Value from = valueOf(value);
            id = idOf(value);
            const bool isScalar = from.type.shape.rank() == 0 && from.device.isCpu();
            if (from.device != call.device && !m_wrong.contains(op) &&
                !(isScalar && aten::isPointwise(form.op))) {
                // PyTorch accepts this operand. It copies it (an index), or the host reads it (lengths).
                const Transfer* copied = nullptr;
                if (transfers != m_transfersOf.end())
                    for (const Transfer* transfer : transfers->second)
                        if (Device::parse(transfer->from) == from.device) copied = transfer;
                if (!copied) continue;
                const NodeId to = addTo(from, call.device, copied->cause, call.frame, form.location);
                id = newId();
                m_writer.define(id, {{to, 0}, from.type, call.device});
            }
        }
        // A list argument gives several entries of one name.
        const std::string& name = form.arguments[i];
        if (!call.arguments.empty() && call.arguments.back().first == name) {
            aten::Argument& last = call.arguments.back().second;
            if (const auto* first = std::get_if<ValueId>(&last)) last = std::vector<ValueId>{*first};
            std::get<std::vector<ValueId>>(last).push_back(id);
        } else if (name == "tensors" || (name == "indices" && isIndexing) || id == ValueId::none) {
            call.arguments.emplace_back(name, std::vector<ValueId>{id});
        } else {
            call.arguments.emplace_back(name, id);
        }
    }
    // The table knows only dense real tensors.
    if (isForeignOp) call.op += " (complex, quantized or sparse)";
}

/// A copy to another device: a To node with the program's options.
void Import::addMove(Index op, const Form& form, Index from, Index result) {
    const aten::Value source = valueOf(from);
    const Type& type = m_record.types[m_record.values[result].type];
    const Device target = deviceOf(type.device);
    const TensorType made = typeOf(m_record.values[result].type);
    const FrameId frame = frameOf(m_phases[op], form.module);
    std::string name = nameOf(op, form);
    if (name == shortName(form.op)) name = form.function.empty() ? "to" : form.function;
    const NodeId id = addTo(source, target, name, frame, form.location);
    Node& node = m_writer.node(id);
    if (made.dtype != source.type.dtype) node.attributes.set("dtype", std::string(twb::name(made.dtype)));
    if (const auto transfers = m_transfersOf.find(op); transfers != m_transfersOf.end()) {
        if (transfers->second.front()->isNonBlocking) node.attributes.set("non_blocking", true);
        if (transfers->second.front()->isPinned) node.attributes.set("pin_memory", true);
    }
    const aten::Value moved{{id, 0}, {made.dtype, source.type.shape}, target};
    if (made.shape == source.type.shape) return define(idOf(result), result, moved);
    // A copy_ that broadcasts.
    const ValueId copied = newId();
    m_writer.define(copied, moved);
    aten::Call call;
    call.op = "aten::expand";
    call.device = target;
    call.frame = frame;
    call.source = sourceOf(form.location);
    call.arguments.emplace_back("self", copied);
    call.arguments.emplace_back("size", made.shape.dims());
    call.results.push_back({idOf(result), made, target});
    m_writer.add(call);
    remember(result);
}

/// `.item()` and the like: a copy to the host that the host waits for.
void Import::addHostRead(Index op, const Form& form) {
    const Index value = m_record.operands[m_record.ops[op].firstOperand];
    const aten::Value from = valueOf(value);
    if (from.device.isCpu()) return;
    std::string cause = form.function.empty() ? std::string(shortName(form.op)) : form.function;
    if (const auto syncs = m_syncsOf.find(op); syncs != m_syncsOf.end()) cause = syncs->second.front()->cause;
    const FrameId frame = frameOf(m_phases[op], form.module);
    const NodeId to = addTo(from, Device::cpu(), cause, frame, form.location);
    const NodeId probe = addNode("Probe", cause + " on the host", Device::cpu(), frame, form.location);
    m_writer.connect({to, 0}, {probe, 0});
}

void Import::addOp(Index op) {
    const Form& form = m_record.formOf(m_record.ops[op]);
    const Op& made = m_record.ops[op];
    const auto operand = [&](std::size_t i) { return m_record.operands[made.firstOperand + i]; };
    const std::string_view name = shortName(form.op);
    if (name == "_local_scalar_dense" && form.arguments.size() == 1 && operand(0) != kNone)
        return addHostRead(op, form);
    const std::size_t from = name == "copy_" ? 1 : 0;
    if ((name == "_to_copy" || name == "copy_") && form.arguments.size() > from && operand(from) != kNone &&
        form.resultTypes.size() == 1) {
        const Index result = m_record.results[made.firstResult];
        const auto deviceNamed = [&](Index value) {
            return deviceOf(m_record.types[m_record.values[value].type].device);
        };
        if (deviceNamed(operand(from)) != deviceNamed(result))
            return addMove(op, form, operand(from), result);
    }
    const aten::Call call = callOf(op, form);
    m_writer.add(call);
    for (std::size_t i = 0; i < form.resultTypes.size(); ++i)
        remember(m_record.results[made.firstResult + i]);
}

/// NumPy reads the memory of a tensor, which must be the host's.
void Import::addNumpy(const Mismatch& mismatch) {
    for (const auto& [value, wrong] : mismatch.operands) {
        if (!wrong) continue;
        const aten::Value from = valueOf(value);
        const NodeId probe = addNode("Probe", mismatch.name, deviceOf(mismatch.expected),
                                     frameOf(mismatch.phase, mismatch.module), mismatch.location);
        m_writer.connect(from.from, {probe, 0});
    }
}

void Import::addLooseTransfer(const Transfer& transfer) {
    const FrameId frame = frameOf(transfer.phase, transfer.module);
    aten::Value from;
    if (transfer.value != kNone) {
        from = valueOf(transfer.value);
    } else {
        // Only the size is known.
        from.device = deviceOf(transfer.from);
        from.type = {DType::u8, Shape{static_cast<std::int64_t>(transfer.bytes)}};
        const NodeId id = addNode("Input", transfer.cause + " bytes", from.device, frame, transfer.location);
        m_writer.node(id).attributes.set("shape", from.type.shape.dims());
        m_writer.node(id).attributes.set("dtype", std::string("u8"));
        from.from = {id, 0};
    }
    const Device target = deviceOf(transfer.to);
    if (from.device == target) return;
    const NodeId to = addTo(from, target, transfer.cause, frame, transfer.location);
    if (transfer.isNonBlocking) m_writer.node(to).attributes.set("non_blocking", true);
    if (transfer.isPinned) m_writer.node(to).attributes.set("pin_memory", true);
    const NodeId probe = addNode("Probe", transfer.cause + " result", target, frame, transfer.location);
    m_writer.connect({to, 0}, {probe, 0});
}

/// A call that only waits. Other syncs are those of a transfer or of an op.
void Import::addLooseSync(const Sync& sync) {
    if (!sync.cause.starts_with("torch.cuda.")) return;
    const NodeId id =
        addNode("Opaque", sync.cause, Device::cuda(0), frameOf(sync.phase, sync.module), sync.location);
    Node& node = m_writer.node(id);
    node.attributes.set("target", sync.cause);
    node.attributes.set("num_outputs", std::int64_t{0});
    node.attributes.set("outputs", std::vector<std::string>());
    node.attributes.set("reason", std::string("it has no results"));
}

void Import::addLoose(const Loose& loose) {
    for (const Transfer* transfer : loose.transfers) addLooseTransfer(*transfer);
    for (const Sync* sync : loose.syncs) addLooseSync(*sync);
    for (const Mismatch* mismatch : loose.mismatches) addNumpy(*mismatch);
}

/// What follows an op of a folded iteration, but not the op that stands for it.
void Import::addRest() {
    Loose rest;
    std::set<std::pair<Index, std::string>> known;
    for (const auto& [op, loose] : m_loose) {
        if (m_steps.partOf[op] != kNone) continue;
        const auto stand = m_loose.find(m_steps.standIn[op]);
        const auto isNew = [&](const auto& finding, const std::string& what, auto list) {
            if (stand != m_loose.end())
                for (const auto* same : stand->second.*list)
                    if (same->location == finding.location) return false;
            return known.emplace(finding.location, what).second;
        };
        for (const Transfer* transfer : loose.transfers)
            if (isNew(*transfer, "transfer " + transfer->cause, &Loose::transfers))
                rest.transfers.push_back(transfer);
        for (const Sync* sync : loose.syncs)
            if (isNew(*sync, "sync " + sync->cause, &Loose::syncs)) rest.syncs.push_back(sync);
        for (const Mismatch* mismatch : loose.mismatches)
            if (isNew(*mismatch, "mismatch", &Loose::mismatches)) rest.mismatches.push_back(mismatch);
    }
    if (rest.transfers.empty() && rest.syncs.empty() && rest.mismatches.empty()) return;
    if (m_kind != Part::Kind::rest) begin(Part::Kind::rest, "After the loop");
    addLoose(rest);
}

void Import::begin(Part::Kind kind, const std::string& title) {
    m_kind = kind;
    m_frames = {};
    if (kind == Part::Kind::iteration) return;
    m_frames.root = m_writer.addFrame(title);
    m_writer.frame(m_frames.root).once = true;
    if (kind == Part::Kind::setUp) m_setUp = m_frames.root;
}

void Import::addPart(const Part& part) {
    if (part.ops.empty()) return;
    begin(part.kind, part.title);
    for (const Index op : part.ops) {
        throwIfCancelled(m_options.isCancelled);
        addOp(op);
        if (const auto loose = m_loose.find(op); loose != m_loose.end()) addLoose(loose->second);
    }
}

/// An op that overwrites all of a value, such as zero_, does not read it.
void Import::removeUnread(Delta& delta) const {
    std::set<NodeId> unread = m_sources;
    for (const Edge& edge : delta.edgesAdded) unread.erase(edge.from.node);
    std::erase_if(delta.nodes, [&](const Change<Node>& change) { return unread.contains(change.after->id); });
}

ImportedModel Import::run() {
    const auto isLoose = [&](const auto& finding) { return finding.op == kNone && !m_record.ops.empty(); };
    const auto opBefore = [](const auto& finding) { return finding.before == 0 ? 0 : finding.before - 1; };
    for (const Transfer& transfer : m_record.transfers)
        if (isLoose(transfer))
            m_loose[opBefore(transfer)].transfers.push_back(&transfer);
        else
            m_transfersOf[transfer.op].push_back(&transfer);
    for (const Sync& sync : m_record.syncs)
        if (isLoose(sync))
            m_loose[opBefore(sync)].syncs.push_back(&sync);
        else
            m_syncsOf[sync.op].push_back(&sync);
    for (const Mismatch& mismatch : m_record.mismatches)
        if (isLoose(mismatch))
            m_loose[opBefore(mismatch)].mismatches.push_back(&mismatch);
        else
            m_wrong.insert(mismatch.op);
    m_writer.laneOf(Device::cpu());
    for (const Part& part : m_steps.parts) addPart(part);
    addRest();

    Graph& graph = m_out.graph;
    Delta delta = m_writer.take();
    removeUnread(delta);
    GraphInfo info = graph.info();
    info.title = std::filesystem::path(m_record.script).filename().string();
    if (info.title.empty()) info.title = m_path.stem().string();
    info.iterations = m_steps.count;
    delta.info = Change<GraphInfo>{graph.info(), info};
    graph.apply(delta);
    graph.apply(fold(graph, m_writer.parameters()));
    graph.apply(collapseFrames(graph));
    layOutImported(graph, m_writer.parameters(), m_options.isCancelled);
    for (std::string& remark : m_record.remarks) m_out.remarks.push_back(std::move(remark));
    for (std::string& remark : m_steps.remarks) m_out.remarks.push_back(std::move(remark));
    return std::move(m_out);
}

} // namespace
} // namespace capture

ImportedModel importCapture(const std::filesystem::path& path, const ImportOptions& options) {
    return capture::Import(capture::readCapture(path), path, options).run();
}

ImportedModel parseCapture(std::string_view bytes, const std::filesystem::path& path,
                           const ImportOptions& options) {
    return capture::Import(capture::parseCapture(bytes, path.string()), path, options).run();
}

} // namespace twb
