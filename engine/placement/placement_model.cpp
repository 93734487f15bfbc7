#include "placement/placement_model.h"

#include "core/error.h"
#include "graph/folding.h"
#include "ops/op_table.h"
#include "ops/opaque.h"
#include "placement/step_transfers.h"
#include "placement/update_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twb {
namespace {

bool isKnown(const std::optional<TensorType>& type) { return type && type->isKnown(); }

std::uint64_t bytesOf(const std::optional<TensorType>& type) {
    if (!isKnown(type)) return 0;
    try {
        return static_cast<std::uint64_t>(type->byteCount());
    } catch (const Error&) {
        return 0; // too large; a diagnostic reports it
    }
}

} // namespace

bool isPlainTransfer(const NodeFacts& facts, const Analysis& analysis) {
    if (!facts.op || facts.disabled || facts.op->role != OpRole::transfer) return false;
    if (facts.inputs.empty() || !facts.inputs[0]) return false;
    const auto& before = analysis.typeOf(*facts.inputs[0]);
    return before && !facts.outputs.empty() && facts.outputs[0] && before->dtype == facts.outputs[0]->dtype;
}

PlacementModel::PlacementModel(const Graph& graph, const Analysis& analysis, const DeviceMap& devices,
                               const Options& options)
    : m_graph(graph), m_analysis(analysis), m_deviceMap(devices), m_bodies(graph),
      m_throughTransfers(options.throughTransfers), m_devices{Device::cpu()} {
    for (const Lane& lane : graph.lanesInOrder()) {
        const Device device = devices.resolve(lane.device);
        if (devices.find(device) && std::find(m_devices.begin(), m_devices.end(), device) == m_devices.end())
            m_devices.push_back(device);
    }
    for (std::size_t i = 0; i < m_devices.size(); ++i)
        if (const Device host = m_devices[i].host();
            devices.find(host) && std::ranges::find(m_devices, host) == m_devices.end())
            m_devices.push_back(host);
    if (m_devices.size() > kMostPlaces)
        throw Error(ErrorCode::unsupported,
                    fmt::format("the graph has lanes on {} devices, but placements support at most {}",
                                m_devices.size(), kMostPlaces));
    m_problem.places = static_cast<std::uint32_t>(m_devices.size());
    for (const NodeFacts& facts : analysis.nodes)
        if (goesToOtherRank(facts)) m_sentOn.insert(facts.inputs[0]->node);
    m_problem.hosts = 0;
    for (const Device device : m_devices)
        if (device.isCpu()) addHost(device);
    for (const NodeFacts& facts : analysis.nodes) {
        Options own = options;
        if (m_bodies.around(facts.id)) own.mayMove = nullptr;
        if (!readerThatTakesAlong(facts)) addItem(facts, own);
    }
    for (const NodeFacts& facts : analysis.nodes) {
        const NodeFacts* reader = readerThatTakesAlong(facts);
        if (!reader) continue;
        const std::uint32_t item = itemOf(reader->id);
        m_items.emplace(facts.id, item);
        for (const auto& type : facts.outputs) m_problem.items[item].bytes += bytesOf(type);
        if (graph.find(facts.id)->pinned) m_problem.items[item].allowed = 1U << m_problem.items[item].now;
    }
    for (const NodeFacts& facts : analysis.nodes)
        if (isLookedThrough(facts) && facts.attributes.flag("pin_memory"))
            m_pinned[behindTransfers(*facts.inputs[0])].insert(facts.device);
    for (const NodeFacts& facts : analysis.nodes)
        if (m_throughTransfers && isPlainTransfer(facts, analysis) && goesToOtherRank(facts) &&
            m_bodies.around(facts.id) == m_bodies.around(facts.inputs[0]->node))
            m_arrived.try_emplace({behindTransfers(*facts.inputs[0]), facts.device.rank},
                                  PortRef{facts.id, 0});
    for (const NodeFacts& facts : analysis.nodes) addReads(facts);
    if (options.withLimits)
        for (const Device device : m_devices)
            m_problem.limits.push_back(devices.at(device).info().memoryBytes);
}

void PlacementModel::addHost(Device host) {
    AssignmentProblem::Item item;
    item.now = placeOf(host);
    item.allowed = 1U << item.now;
    item.ns.assign(m_devices.size(), 0);
    m_problem.hosts |= item.allowed;
    m_hosts.emplace(host.rank, static_cast<std::uint32_t>(m_problem.items.size()));
    m_problem.items.push_back(std::move(item));
    m_nodes.push_back(NodeId::none);
}

const NodeFacts* PlacementModel::readerThatTakesAlong(const NodeFacts& facts) const {
    const auto reader = foldedInto(m_graph, *m_graph.find(facts.id));
    const NodeFacts* at = reader ? m_analysis.find(reader->node) : nullptr;
    // Host values stay on cpu when their consumer moves to a GPU.
    const bool follows =
        at && at->op && at->device == facts.device && !at->op->inputAt(reader->port).hostValue;
    return follows ? at : nullptr;
}

int PlacementModel::placeOf(Device device) const {
    const auto at = std::find(m_devices.begin(), m_devices.end(), device);
    return at == m_devices.end() ? 0 : static_cast<int>(at - m_devices.begin());
}

void PlacementModel::addItem(const NodeFacts& facts, const Options& options) {
    AssignmentProblem::Item item;
    item.now = placeOf(facts.device);
    item.allowed = 1U << item.now;
    item.ns.assign(m_devices.size(), 0);
    for (const auto& type : facts.outputs) item.bytes += bytesOf(type);
    const Op* op = facts.disabled ? nullptr : facts.op;
    const bool runs = op && op->role == OpRole::compute && op->kernel && !op->attribute("path");
    const bool looks = op && op->role == OpRole::sink && !op->attribute("path"); // a Save stays on the host
    const bool recasts = op && op->role == OpRole::transfer && !isPlainTransfer(facts, m_analysis);
    const bool moves = options.mayMove && options.mayMove(facts) &&
                       (runs || looks || recasts || (op && op->role == OpRole::source));
    std::vector<DType> dtypes;
    std::vector<TensorType> inputs;
    std::vector<TensorType> outputs;
    bool sized = runs;
    for (const auto& from : facts.inputs) {
        const auto& type = from ? m_analysis.typeOf(*from) : std::nullopt;
        sized = sized && (!from || isKnown(type));
        dtypes.push_back(type ? type->dtype : DType::f32);
        inputs.push_back(isKnown(type) ? *type : TensorType{DType::f32, Shape{0}});
    }
    for (const auto& type : facts.outputs) {
        sized = sized && isKnown(type);
        if (sized) outputs.push_back(*type);
    }
    facts.addOutputs(dtypes);
    Cost cost;
    if (sized) cost = costOf(*op, inputs, outputs, facts.attributes);
    for (std::size_t place = 0; place < m_devices.size(); ++place) {
        const Backend& backend = m_deviceMap.at(m_devices[place]);
        if (runs) item.ns[place] = backend.profile().kernelNs(cost);
        if (moves && m_devices[place].sharesRankWith(facts.device) &&
            (!runs || backend.supports(op->name.c_str(), op->kernel, dtypes)))
            item.allowed |= 1U << place;
    }
    m_items.emplace(facts.id, static_cast<std::uint32_t>(m_problem.items.size()));
    m_problem.items.push_back(std::move(item));
    m_nodes.push_back(facts.id);
}

bool PlacementModel::goesToOtherRank(const NodeFacts& facts) const {
    if (!facts.op || facts.disabled || facts.op->role != OpRole::transfer) return false;
    const NodeFacts* source =
        facts.inputs.empty() || !facts.inputs[0] ? nullptr : m_analysis.find(facts.inputs[0]->node);
    return source && !source->device.sharesRankWith(facts.device);
}

bool PlacementModel::isLookedThrough(const NodeFacts& facts) const {
    return m_throughTransfers && !goesToOtherRank(facts) && !m_sentOn.contains(facts.id) &&
           isPlainTransfer(facts, m_analysis) && !m_graph.find(facts.id)->pinned &&
           !m_graph.outgoing(facts.id).empty() &&
           m_bodies.around(facts.id) == m_bodies.around(facts.inputs[0]->node);
}

/// The output that a node reads. Where a mismatch is fixed, that of a tensor of another rank is the copy that
/// the node's rank already has, as in FixWriter.
PortRef PlacementModel::readBy(const NodeFacts& facts, PortRef input) const {
    const PortRef from = behindTransfers(input);
    const NodeFacts* source = m_analysis.find(from.node);
    if (!source || source->device.sharesRankWith(facts.device) ||
        m_analysis.policy.actionFor(source->device, facts.device) != Policy::Action::disallow)
        return from;
    const auto arrived = m_arrived.find({from, facts.device.rank});
    return arrived == m_arrived.end() ? from : arrived->second;
}

PortRef PlacementModel::behindTransfers(PortRef from) const {
    for (const NodeFacts* facts = m_analysis.find(from.node); facts && isLookedThrough(*facts);
         facts = m_analysis.find(from.node))
        from = *facts->inputs[0];
    return from;
}

/// Whether an elementwise op has an operand that is not a scalar and therefore must be on its device.
bool PlacementModel::takesHostScalars(const NodeFacts& facts) const {
    if (!twb::takesHostScalars(*facts.op, facts.attributes)) return false;
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        const auto& from = facts.inputs[port];
        const auto& type = from ? m_analysis.typeOf(*from) : std::nullopt;
        if (type && type->shape.rank() > 0 && !facts.op->inputAt(static_cast<int>(port)).hostValue)
            return true;
    }
    return false;
}

bool PlacementModel::isHostScalar(const NodeFacts& facts, int port) const {
    const auto p = static_cast<std::size_t>(port);
    if (!facts.op || p >= facts.inputs.size() || !facts.inputs[p] || facts.op->inputAt(port).hostValue)
        return false;
    const PortRef from = behindTransfers(*facts.inputs[p]);
    const NodeFacts* source = m_analysis.find(from.node);
    const auto& type = m_analysis.typeOf(from);
    return source && source->device.sharesRankWith(facts.device) && type && type->shape.rank() == 0 &&
           takesHostScalars(facts);
}

std::uint32_t PlacementModel::tensorAt(PortRef output) {
    auto& known = m_tensorsOf[output.node];
    const auto port = static_cast<std::size_t>(output.port);
    if (known.size() <= port) known.resize(port + 1, 0);
    if (known[port] != 0) return known[port] - 1;
    const NodeFacts* source = m_analysis.find(output.node);
    // The policy copies constant tensors once, before the iterations.
    const bool isConstant = source && isConstantSource(m_graph, *source);
    const auto pinned = m_pinned.find(output);
    const std::uint32_t tensor =
        addTensor(output, static_cast<double>(bytesOf(m_analysis.typeOf(output))), isConstant,
                  pinned == m_pinned.end() ? std::set<Device>() : pinned->second);
    known[port] = tensor + 1;
    return tensor;
}

/// Adds a tensor without consumers. `isHoisted`: a copy by the policy is made before the iterations.
/// `pinned`: destinations of copies from or to pinned memory.
std::uint32_t PlacementModel::addTensor(PortRef output, double bytes, bool isHoisted,
                                        const std::set<Device>& pinned) {
    AssignmentProblem::Tensor tensor;
    tensor.producer = itemOf(output.node);
    for (const Device from : m_devices)
        for (const Device to : m_devices) {
            double ns = 0;
            const bool isFree =
                isHoisted && m_analysis.policy.actionFor(from, to) != Policy::Action::disallow;
            if (from != to && !isFree)
                ns = m_deviceMap.copyNs(from, to, bytes,
                                        pinned.contains(to) ? MemoryKind::pinned : MemoryKind::pageable);
            tensor.copyNs.push_back(ns);
        }
    m_problem.tensors.push_back(std::move(tensor));
    m_tensors.push_back(output);
    return static_cast<std::uint32_t>(m_problem.tensors.size()) - 1;
}

/// Adds the copy of a To. Consumers on its device share it with the first plain To. A To that changes the
/// dtype converts on the side where the narrower tensor crosses the link.
void PlacementModel::addTransfer(const NodeFacts& facts) {
    const PortRef from = behindTransfers(*facts.inputs[0]);
    const std::uint32_t item = itemOf(facts.id);
    const bool isPinned = facts.attributes.flag("pin_memory");
    if (m_throughTransfers && !isPinned && isPlainTransfer(facts, m_analysis) &&
        m_shared.insert({from, facts.device}).second) {
        m_problem.tensors[tensorAt(from)].readers.push_back(item);
        return;
    }
    const auto& before = m_analysis.typeOf(from);
    const std::optional<TensorType> after = facts.outputs.empty() ? std::nullopt : facts.outputs[0];
    const double bytes = static_cast<double>(isKnown(after) ? std::min(bytesOf(before), bytesOf(after)) : 0);
    std::set<Device> pinned;
    if (isPinned) pinned.insert(m_devices.begin(), m_devices.end());
    m_problem.tensors[addTensor(from, bytes, false, pinned)].readers.push_back(item);
    if (!isKnown(before) || !isKnown(after) || before->dtype == after->dtype) return;
    const Op& castOp = *findOp("Cast");
    const Attributes attributes = completeAttributes(castOp, {{"to", std::string(name(after->dtype))}});
    const Cost cost = costOf(castOp, std::array{*before}, std::array{*after}, attributes);
    const bool castFirst = convertsFirst(m_deviceMap, m_analysis.find(from.node)->device, facts.device,
                                         before->dtype, after->dtype)
                               .value_or(true);
    auto& ns = m_problem.items[castFirst ? itemOf(from.node) : item].ns;
    for (std::size_t place = 0; place < m_devices.size(); ++place)
        ns[place] += m_deviceMap.at(m_devices[place]).profile().kernelNs(cost);
}

void PlacementModel::addReads(const NodeFacts& facts) {
    if (!facts.op || facts.disabled || isLookedThrough(facts)) return;
    if (facts.op->role == OpRole::transfer && !facts.inputs.empty() && facts.inputs[0] &&
        m_analysis.find(facts.inputs[0]->node))
        return addTransfer(facts);
    const std::uint32_t item = itemOf(facts.id);
    for (std::size_t port = 0; port < facts.inputs.size(); ++port) {
        if (!facts.inputs[port] || !m_analysis.find(facts.inputs[port]->node)) continue;
        AssignmentProblem::Tensor& tensor = m_problem.tensors[tensorAt(readBy(facts, *facts.inputs[port]))];
        const bool onHost = facts.op->inputAt(static_cast<int>(port)).hostValue;
        const bool isScalar = isHostScalar(facts, static_cast<int>(port));
        const auto host = m_hosts.find(facts.device.rank); // none if the rank has no hardware in this run
        const std::uint32_t reader = !onHost ? item : host == m_hosts.end() ? 0 : host->second;
        (isScalar ? tensor.scalarReaders : tensor.readers).push_back(reader);
    }
}

} // namespace twb
