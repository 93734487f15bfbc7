#include "widgets/add_op.h"

#include "core/error.h"
#include "graph/composites.h"
#include "graph/folding.h"
#include "graph/fresh_seed.h"
#include "graph/routes.h"
#include "ops/op_table.h"
#include "placement/fixes.h"
#include "widgets/edit_title.h"
#include "widgets/palette/own_modules.h"

namespace twb {
namespace {

std::string lowered(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = char(c - 'A' + 'a');
    return text;
}

/// Puts the pasted nodes and modules that are in no other frame into the frame. A body goes with its owner.
void putInto(DeltaBuilder& builder, FrameId frame, const Graph& before, const std::vector<NodeId>& pasted) {
    if (frame == FrameId::none) return;
    for (const NodeId id : pasted) {
        Node node = *builder.graph().find(id);
        if (node.frame != FrameId::none) continue;
        node.frame = frame;
        builder.change(node);
    }
    const auto& now = builder.graph().frames();
    for (Frame module : std::vector<Frame>(now.begin(), now.end())) {
        if (before.find(module.id) || module.parent != FrameId::none || module.owner != NodeId::none)
            continue;
        module.parent = frame;
        builder.change(module);
    }
}

/// Host values of the entry are on the cpu of the lane's rank.
void takeHostValues(DeltaBuilder& builder, const std::vector<NodeId>& pasted, LaneId home) {
    const Lane* lane = builder.graph().find(home);
    if (!lane || lane->device.rank == 0) return;
    const Device host = lane->device.host();
    for (const NodeId id : pasted) {
        Node node = *builder.graph().find(id);
        if (builder.graph().deviceOf(node) != Device::cpu()) continue;
        node.lane = laneOf(builder, host);
        builder.change(node);
    }
}

/// Adds the entry; for a composite, the nodes are in the order of its fragment.
std::vector<NodeId> add(DeltaBuilder& builder, const NewOp& what) {
    const std::string name = what.op.toStdString();
    const Composite* composite = findComposite(name);
    const ModuleOp* module = composite || findOp(name) ? nullptr : ownModule(what.op);
    if (composite || module) {
        const Graph before = builder.graph();
        std::vector<NodeId> pasted;
        paste(builder, composite ? composite->fragment : module->fragment, what.position, what.lane, &pasted);
        takeHostValues(builder, pasted, what.lane);
        putInto(builder, what.frame, before, pasted);
        return pasted;
    }
    if (!findOp(name))
        throw Error(ErrorCode::badGraph,
                    QCoreApplication::translate("AddOp", "There is no op %1. Choose an op from the palette.")
                        .arg(what.op)
                        .toStdString());
    Node node;
    node.op = name;
    node.name = builder.graph().uniqueName(lowered(name));
    node.lane = what.lane;
    node.position = what.position;
    node.frame = what.frame;
    const NodeId id = builder.addNode(node);
    giveFreshSeeds(builder, {id});
    return {id};
}

PortRef portOf(const std::vector<NodeId>& added, EntryPort port) { return {added[port.node], port.port}; }

} // namespace

DTypeSet typesOf(const Analysis& analysis, const LooseWire& wire) {
    if (wire.heldBy == PortSide::output) {
        const std::optional<TensorType>& type = analysis.typeOf(wire.port);
        return type ? DTypeSet(type->dtype) : allTypes();
    }
    const NodeFacts* facts = analysis.find(wire.port.node);
    return acceptedTypes(facts ? facts->op : nullptr, wire.port.port);
}

bool fits(const QString& op, const Analysis& analysis, const LooseWire& wire) {
    const DTypeSet types = typesOf(analysis, wire);
    return wire.heldBy == PortSide::output ? inputOfEntry(op, types).has_value()
                                           : outputOfEntry(op, types).has_value();
}

Delta addOp(const Graph& graph, const NewOp& what, std::vector<NodeId>* added) {
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Add %1"), what.op.toStdString()));
    const std::vector<NodeId> nodes = add(builder, what);
    if (added) *added = nodes;
    return builder.take();
}

Delta addOpTo(const Graph& graph, const NewOp& what, const Analysis& analysis, const LooseWire& wire,
              std::vector<NodeId>* added) {
    const Node* holder = graph.find(wire.port.node);
    if (!holder) return addOp(graph, what, added);
    const std::string name = what.op.toStdString();
    DeltaBuilder builder(graph, editTitle(wire.heldBy == PortSide::output ? EditTitle::tr("Add %1 after %2")
                                                                          : EditTitle::tr("Add %1 before %2"),
                                          name, holder->name));
    const std::vector<NodeId> nodes = add(builder, what);
    const DTypeSet types = typesOf(analysis, wire);
    if (wire.heldBy == PortSide::output) {
        if (const auto port = inputOfEntry(what.op, types))
            builder.connect({wire.port, portOf(nodes, *port)});
    } else if (const auto port = outputOfEntry(what.op, types)) {
        builder.connect({portOf(nodes, *port), wire.port});
    }
    if (added) *added = nodes;
    return builder.take();
}

Delta addOpInto(const Graph& graph, const NewOp& what, const Splice& splice, std::vector<NodeId>* added) {
    DeltaBuilder builder(graph, editTitle(EditTitle::tr("Insert %1 between %2 and %3"), what.op.toStdString(),
                                          graph.find(splice.wire.from.node)->name,
                                          graph.find(splice.wire.to.node)->name));
    const std::vector<NodeId> nodes = add(builder, what);
    const auto [in, out] = edgesOf(splice, nodes);
    putInto(builder, splice.wire, in.to, out.from);
    if (added) *added = nodes;
    return builder.take();
}

} // namespace twb
