#include "backends/world.h"
#include "core/error.h"
#include "graph/rank_lanes.h"
#include "placement/device_rule.h"
#include "placement/step_transfers.h"
#include "runtime/compiler.h"

#include <fmt/format.h>

namespace twb {

// The part of one rank. A To from or to another rank becomes a SendReceive on both, between tensors on their
// cpus. The sender converts the dtype, whatever the devices, so that both know the bytes of the message.

namespace {

Transfer transferOf(const NodeFacts& to) {
    Transfer out;
    out.kind = TransferKind::explicitTo;
    out.from = *to.inputs[0];
    out.to = {to.id, 0};
    out.node = to.id;
    out.pinned = to.attributes.flag("pin_memory");
    return out;
}

} // namespace

/// `to` is on another rank.
void Compiler::sendFor(const NodeFacts& to) {
    if (to.op->role != OpRole::transfer) return;
    const NodeFacts& source = *m_analysis.find(to.inputs[0]->node);
    if (isElsewhere(source)) return;
    ValueId value = valueFor(to, *to.inputs[0]);
    const Device host = source.device.host();
    const DType wanted = to.outputs[0]->dtype;
    const auto convert = [&] {
        if (m_plan->values[value].type.dtype != wanted) value = addCast(value, wanted, to.id, false);
    };
    // A GPU has no kernel for narrow dtypes.
    if (convertsFirst(m_plan->devices, source.device, host, m_plan->values[value].type.dtype, wanted)
            .value_or(true))
        convert();
    if (source.device != host) value = addCopy(value, host, transferOf(to), false, false);
    convert();
    const TensorType type = m_plan->values[value].type;
    const ValueId nothing = addValue({to.id, 0}, type, host, labelOf(m_graph, to.id));
    m_plan->values[nothing].absent = true;
    m_plan->values[nothing].kept = m_plan->values[nothing].isUpdated = false;
    addMessage(to, source.device, value, nothing);
}

/// The source of `to` is on another rank.
void Compiler::receiveFor(const NodeFacts& to) {
    const TensorType& type = *to.outputs[0];
    const std::string label = labelOf(m_graph, to.id);
    const ValueId nothing = addValue({}, type, to.device.host(), label);
    m_plan->values[nothing].absent = true;
    ValueId value = addValue({to.id, 0}, type, to.device.host(), label);
    addMessage(to, m_analysis.find(to.inputs[0]->node)->device, nothing, value);
    if (to.device != to.device.host())
        value = addCopy(value, to.device, transferOf(to), false, !to.attributes.flag("non_blocking"));
    m_plan->valuesOfNode[to.id] = {value};
    if (m_options.keep.contains({to.id, 0})) m_plan->values[value].kept = true;
}

/// One value has the tensor; the other is absent.
void Compiler::addMessage(const NodeFacts& to, Device source, ValueId sent, ValueId received) {
    const std::string label = labelOf(m_graph, to.id);
    if (!to.outputs[0]->isKnown())
        throw Error(ErrorCode::badGraph,
                    fmt::format("the size of {} is known only at run time: a tensor for another rank must "
                                "have a known size",
                                label));
    static const Op& op = *findOp("SendReceive");
    const int own = m_plan->devices.world().rank();
    const Device host = Device::cpu();
    Step& step = addStep(&op, to.id, collectiveStream(host), {sent}, {received}, label, false);
    step.attributes = completeAttributes(op, {{"source", std::int64_t{asSeenBy(own, source).rank}},
                                              {"target", std::int64_t{asSeenBy(own, to.device).rank}}});
    addCollective(step, to);
    Transfer& transfer = m_plan->transfers.back();
    transfer.source = transfer.target = host;
}

} // namespace twb
