#include "formats/pytorch/capture_importer.h"

#include <fmt/format.h>

#include <utility>

// The copies between devices in a capture, and the points where the host waits.

namespace twb::capture {

using aten::shortName;
using aten::ValueId;

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

} // namespace twb::capture
