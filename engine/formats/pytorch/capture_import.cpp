#include "core/error.h"
#include "formats/pytorch/capture_importer.h"
#include "graph/folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace twb {
namespace capture {

using aten::shortName;
using aten::ValueId;

namespace {

constexpr std::size_t kMostCards = 60;     ///< graphs with more cards start with collapsed frames
constexpr std::size_t kMostOpenCards = 32; ///< of these graphs; as many are readable in one window

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

} // namespace

Import::Import(Record record, const std::filesystem::path& path, const ImportOptions& options)
    : m_record(std::move(record)), m_steps(foldSteps(m_record)), m_phases(phasesOf(m_record)),
      m_writtenAgain(storagesWrittenAgain(m_record)), m_path(path), m_options(options),
      m_writer(m_out.graph, "Import capture") {}

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

} // namespace capture

ImportedModel importCapture(const std::filesystem::path& path, const ImportOptions& options) {
    return capture::Import(capture::readCapture(path), path, options).run();
}

ImportedModel parseCapture(std::string_view bytes, const std::filesystem::path& path,
                           const ImportOptions& options) {
    return capture::Import(capture::parseCapture(bytes, path.string()), path, options).run();
}

} // namespace twb
