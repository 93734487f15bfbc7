#include "core/error.h"
#include "formats/pytorch/aten_mapping.h"
#include "graph/unique_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace twb::aten {
namespace {

std::string labelOf(const Call& call) {
    std::string label = call.overload.empty() ? call.op : fmt::format("{}.{}", call.op, call.overload);
    if (call.source) label += fmt::format(" at {}", toString(*call.source));
    return label;
}

/// An operand that is a result without a node so far: see Rest.
struct Missing {
    ValueId id;
};

/// All operands in the order of the arguments, with None inside lists as none.
std::vector<ValueId> operandsOf(const Call& call) {
    std::vector<ValueId> out;
    for (const auto& [name, argument] : call.arguments) {
        if (const auto* id = std::get_if<ValueId>(&argument)) out.push_back(*id);
        if (const auto* list = std::get_if<std::vector<ValueId>>(&argument))
            out.insert(out.end(), list->begin(), list->end());
    }
    return out;
}

} // namespace

struct GraphWriter::Parts {
    Parts(const Graph& base, std::string title) : graph(base), names(base) {
        delta.title = std::move(title);
        for (const Lane& lane : base.lanes()) lanes.emplace(lane.device, lane.id);
    }

    /// Results of a mapped call that its nodes do not compute. An Opaque node computes them if they are used.
    struct Rest {
        Call call;
        std::vector<std::size_t> results;
        std::vector<Value> operands;
    };

    const Value* demand(ValueId id);
    const Value& valueOf(ValueId id, const Call& reader);
    Outcome map(const Call& call, const Row& row);
    std::vector<Value> addOpaque(const Call& call, const std::vector<Result>& results,
                                 const std::vector<Value>& operands, const std::string& reason);
    NodeId addNode(Node node);
    LaneId laneOf(Device device);

    const Graph& graph;
    UniqueNames names;
    Delta delta;
    std::map<Device, LaneId> lanes;
    std::unordered_map<ValueId, Value> values;
    std::unordered_map<ValueId, std::shared_ptr<Rest>> rests;
    std::vector<NodeId> added;
    std::vector<NodeId> parameters;
    Counts counts;
    std::int64_t seed = 0;
};

LaneId GraphWriter::Parts::laneOf(Device device) {
    const auto [at, isNew] = lanes.emplace(device, LaneId::none);
    if (!isNew) return at->second;
    Lane lane;
    lane.id = at->second = graph.newLaneId(delta.lanes.size());
    lane.device = device;
    lane.order = static_cast<int>(lanes.size()) - 1;
    delta.lanes.push_back({std::nullopt, lane});
    return lane.id;
}

NodeId GraphWriter::Parts::addNode(Node node) {
    node.id = graph.newNodeId(delta.nodes.size());
    node.name = names.take(node.name);
    const NodeId id = node.id;
    delta.nodes.push_back({std::nullopt, std::move(node)});
    return id;
}

const Value* GraphWriter::Parts::demand(ValueId id) {
    if (const auto at = values.find(id); at != values.end()) return &at->second;
    const auto rest = rests.find(id);
    if (rest == rests.end()) return nullptr;
    const std::shared_ptr<Rest> work = rest->second; // the map changes below
    std::vector<Result> results;
    for (const std::size_t i : work->results) results.push_back(work->call.results[i]);
    const std::vector<Value> made =
        addOpaque(work->call, results, work->operands,
                  "this result of the call has no counterpart among the ops of Tensor Workbench");
    for (std::size_t i = 0; i < results.size(); ++i) {
        values.insert_or_assign(results[i].id, made[i]);
        rests.erase(results[i].id);
    }
    return &values.at(id);
}

const Value& GraphWriter::Parts::valueOf(ValueId id, const Call& reader) {
    if (const Value* value = demand(id)) return *value;
    throw Error(ErrorCode::badFile, fmt::format("{}: its operand {} is not made by any earlier call",
                                                labelOf(reader), static_cast<std::int64_t>(id)));
}

std::vector<Value> GraphWriter::Parts::addOpaque(const Call& call, const std::vector<Result>& results,
                                                 const std::vector<Value>& operands,
                                                 const std::string& reason) {
    ++counts.opaque;
    Node node;
    node.op = "Opaque";
    node.name = call.name.empty() ? std::string(shortName(call.op)) : call.name;
    node.lane = laneOf(call.device);
    node.frame = call.frame;
    node.source = call.source;
    std::vector<std::string> types;
    for (const Result& result : results) types.push_back(typeText(result.type));
    node.attributes.set("target", call.op);
    node.attributes.set("num_outputs", static_cast<std::int64_t>(results.size()));
    node.attributes.set("outputs", std::move(types));
    node.attributes.set("reason", reason);
    if (isPointwise(call.op)) node.attributes.set("pointwise", true);
    const NodeId id = addNode(std::move(node));
    added.push_back(id);
    std::int32_t port = 0;
    for (const Value& operand : operands) delta.edgesAdded.push_back({operand.from, {id, port++}});
    std::vector<Value> out;
    for (std::size_t i = 0; i < results.size(); ++i)
        out.push_back({{id, static_cast<std::int32_t>(i)}, results[i].type, call.device});
    return out;
}

/// Throws Unmapped, and changes nothing then except for results of earlier calls that it made available.
Outcome GraphWriter::Parts::map(const Call& call, const Row& row) {
    // Opaque results are made first, since the ids of new nodes follow those of the graph.
    const Mapping::Find reader = [&](ValueId id) -> const Value* {
        if (const auto at = values.find(id); at != values.end()) return &at->second;
        throw Missing{id};
    };
    const auto attempt = [&] {
        Mapping mapping(call, reader, value(graph.newNodeId(delta.nodes.size())), seed);
        row.map(mapping);
        return mapping;
    };
    const auto mapped = [&] {
        for (;;) {
            try {
                return attempt();
            } catch (const Missing& missing) {
                (void)valueOf(missing.id, call);
            }
        }
    };
    Mapping mapping = mapped();
    std::vector<NewNode> nodes = mapping.takeNodes();
    const auto& given = mapping.given();
    const auto isMain = [&](NodeId id) {
        return std::any_of(given.begin(), given.end(),
                           [id](const auto& value) { return value && value->from.node == id; });
    };
    const std::string name = call.name.empty() ? std::string(shortName(call.op)) : call.name;
    for (NewNode& made : nodes) {
        Node& node = made.node;
        std::string kind = node.op;
        std::transform(kind.begin(), kind.end(), kind.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        node.name = isMain(node.id) ? name : fmt::format("{} {}", name, kind);
        node.lane = laneOf(made.device);
        node.frame = call.frame;
        node.source = call.source;
        const bool isConstant = made.inputs.empty() && !isMain(node.id);
        const NodeId id = addNode(std::move(node));
        added.push_back(id);
        if (isConstant) parameters.push_back(id);
        for (std::size_t port = 0; port < made.inputs.size(); ++port)
            if (made.inputs[port])
                delta.edgesAdded.push_back({*made.inputs[port], {id, static_cast<std::int32_t>(port)}});
    }
    if (!nodes.empty()) ++seed;
    auto rest = std::make_shared<Rest>();
    for (std::size_t i = 0; i < given.size(); ++i) {
        const ValueId id = call.results[i].id;
        if (id == ValueId::none) continue;
        rests.erase(id);
        if (given[i]) {
            values.insert_or_assign(id, *given[i]);
        } else {
            values.erase(id);
            rest->results.push_back(i);
            rests.insert_or_assign(id, rest);
        }
    }
    if (!rest->results.empty()) {
        rest->call = call;
        for (const ValueId id : operandsOf(call))
            if (const auto at = values.find(id); at != values.end()) rest->operands.push_back(at->second);
    }
    return nodes.empty() ? Outcome::none : Outcome::mapped;
}

GraphWriter::GraphWriter(const Graph& graph, std::string title)
    : m_parts(std::make_unique<Parts>(graph, std::move(title))) {}

GraphWriter::~GraphWriter() = default;

LaneId GraphWriter::laneOf(Device device) { return m_parts->laneOf(device); }

FrameId GraphWriter::addFrame(std::string title, FrameId parent) {
    Frame frame;
    frame.id = m_parts->graph.newFrameId(m_parts->delta.frames.size());
    frame.title = std::move(title);
    frame.parent = parent;
    m_parts->delta.frames.push_back({std::nullopt, frame});
    return frame.id;
}

Frame& GraphWriter::frame(FrameId id) {
    return *m_parts->delta.frames.at(value(id) - value(m_parts->graph.newFrameId())).after;
}

NodeId GraphWriter::addNode(Node node) { return m_parts->addNode(std::move(node)); }

Node& GraphWriter::node(NodeId id) {
    return *m_parts->delta.nodes.at(value(id) - value(m_parts->graph.newNodeId())).after;
}

void GraphWriter::connect(PortRef from, PortRef to) { m_parts->delta.edgesAdded.push_back({from, to}); }

void GraphWriter::addParameter(NodeId id) { m_parts->parameters.push_back(id); }

void GraphWriter::define(ValueId id, Value value) {
    m_parts->rests.erase(id);
    m_parts->values.insert_or_assign(id, std::move(value));
}

const Value* GraphWriter::find(ValueId id) const noexcept {
    const auto at = m_parts->values.find(id);
    return at == m_parts->values.end() ? nullptr : &at->second;
}

bool GraphWriter::isPending(ValueId id) const noexcept { return m_parts->rests.contains(id); }

const Value* GraphWriter::demand(ValueId id) { return m_parts->demand(id); }

Outcome GraphWriter::add(const Call& call) {
    Parts& parts = *m_parts;
    parts.added.clear();
    std::vector<Value> operands;
    std::string reason = "it has no counterpart among the ops of Tensor Workbench";
    if (const Row* row = findRow(call.op)) {
        try {
            const Outcome outcome = parts.map(call, *row);
            ++(outcome == Outcome::mapped ? parts.counts.mapped : parts.counts.none);
            return outcome;
        } catch (const Unmapped& why) {
            reason = why.reason;
        }
    }
    for (const ValueId id : operandsOf(call))
        if (id != ValueId::none) operands.push_back(parts.valueOf(id, call));
    const bool isUsed = std::any_of(call.results.begin(), call.results.end(),
                                    [](const Result& result) { return result.id != ValueId::none; });
    if (!isUsed) {
        ++parts.counts.none;
        return Outcome::none;
    }
    const std::vector<Value> made = parts.addOpaque(call, call.results, operands, reason);
    for (std::size_t i = 0; i < made.size(); ++i)
        if (call.results[i].id != ValueId::none) define(call.results[i].id, made[i]);
    return Outcome::opaque;
}

std::span<const NodeId> GraphWriter::added() const noexcept { return m_parts->added; }

const GraphWriter::Counts& GraphWriter::counts() const noexcept { return m_parts->counts; }

const std::vector<NodeId>& GraphWriter::parameters() const noexcept { return m_parts->parameters; }

Delta GraphWriter::take() {
    Delta& delta = m_parts->delta;
    // Frames that contain no node, directly or in an inner frame, are left out.
    std::unordered_map<FrameId, FrameId> parents;
    for (const Change<Frame>& change : delta.frames) parents.emplace(change.after->id, change.after->parent);
    std::unordered_set<FrameId> used;
    for (const Change<Node>& change : delta.nodes)
        for (FrameId at = change.after->frame; at != FrameId::none && used.insert(at).second;) {
            const auto parent = parents.find(at);
            at = parent == parents.end() ? FrameId::none : parent->second;
        }
    std::erase_if(delta.frames,
                  [&](const Change<Frame>& change) { return !used.contains(change.after->id); });
    return std::move(delta);
}

} // namespace twb::aten
