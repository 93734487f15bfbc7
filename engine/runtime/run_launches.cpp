#include "backends/cpu/strided.h"
#include "backends/world.h"
#include "ops/kernel_inputs.h"
#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

// The launches and copies of a run's steps: their operands in the run's memory, and for steps whose sizes the
// graph computes, the sizes.

namespace twb {
namespace {

/// The address in the views of empty tensors, which have no buffer. A null address means that an optional
/// operand is absent.
alignas(kAlignment) std::byte noElements{};

/// The arguments of a pointwise kernel if its output is channels-last.
void showChannelsLast(const Op& op, std::vector<TensorView>& inputs, std::vector<TensorView>& outputs) {
    const Shape shape = outputs[0].shape;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].data && !op.inputAt(static_cast<int>(i)).hostValue)
            inputs[i] = channelsMovedLast(broadcastView(inputs[i], shape));
    for (TensorView& output : outputs) output = channelsMovedLast(output);
}

} // namespace

RunContext::Operands RunContext::operandsOf(const Step& step, std::size_t lap) const {
    const auto view = [&](std::uint32_t v) {
        TensorView out;
        if (v == kNone) return out;
        const BufferPtr& buffer = m_buffers[m_plan->slotOf(v, lap)];
        out.dtype = m_types[v].dtype;
        out.shape = m_types[v].shape;
        if (!m_types[v].isKnown()) return out; // of a step that failed, or of one that reads its result
        if (buffer)
            out.data = buffer->data();
        else if (out.elementCount() == 0)
            out.data = &noElements;
        out.strides =
            m_plan->values[v].channelsLast ? channelsLastStrides(out.shape) : denseStrides(out.shape);
        return out;
    };
    Operands out;
    for (std::uint32_t v : step.inputs) out.inputs.push_back(view(v));
    for (std::uint32_t v : step.outputs) out.outputs.push_back(view(v));
    if (step.op && step.op->channelsLast == ChannelsLast::pointwise &&
        m_plan->values[step.outputs[0]].channelsLast)
        showChannelsLast(*step.op, out.inputs, out.outputs);
    return out;
}

/// Sets the launches of a step. Operands of unknown types, whose steps have failed, have no address.
void RunContext::bind(std::uint32_t index) {
    const Step& step = m_plan->steps[index];
    StepSlot& slot = m_slots[index];
    if (step.dynamic) slot.memory = {}; // for other shapes than those of the previous launch
    const auto differs = [&](std::uint32_t v) { return v != kNone && m_plan->values[v].ahead; };
    const bool isOne =
        std::ranges::none_of(step.inputs, differs) && std::ranges::none_of(step.outputs, differs);
    slot.operands.clear();
    for (std::size_t lap = 0; lap < (isOne ? 1 : m_plan->inFlight); ++lap)
        slot.operands.push_back(operandsOf(step, lap));
    step.op ? bindOp(step, slot) : bindCopy(step, slot);
    if (step.transfer == kNone) return;
    if (slot.moved.empty()) slot.moved.resize(m_plan->inFlight);
    const auto isKnown = [this](std::uint32_t v) { return v == kNone || m_types[v].isKnown(); };
    const bool isReady = std::ranges::all_of(step.inputs, isKnown);
    const std::uint64_t bytes = !isReady ? 0 : step.op ? bytesOfCollective(step) : slot.copy[0].bytes;
    // Of a dynamic step, the previous iterations may have moved other sizes.
    if (step.dynamic)
        slot.moved[currentLap()] = bytes;
    else
        std::ranges::fill(slot.moved, bytes);
}

void RunContext::bindOp(const Step& step, StepSlot& slot) {
    Launch launch;
    const bool isOnHost = m_plan->streams[step.stream].device.isCpu();
    slot.hostScalars.clear();
    for (std::uint32_t i = 0; i < step.inputs.size(); ++i) {
        const std::uint32_t v = step.inputs[i];
        if (v == kNone) continue;
        if (i < 64 && m_plan->isConstant(v)) slot.memory.constants |= std::uint64_t{1} << i;
        if (!isOnHost && m_plan->values[v].device.isCpu() && !step.op->inputAt(static_cast<int>(i)).hostValue)
            slot.hostScalars.push_back(i);
    }
    launch.hostScalars = slot.hostScalars;
    launch.step = step.index;
    launch.op = step.op->name.c_str();
    launch.chain = step.chain.get();
    launch.kernel = step.op->kernel;
    launch.attributes = &step.attributes;
    launch.files = m_plan->files.get();
    launch.memory = &slot.memory;
    launch.cost = step.cost;
    launch.allowTf32 = m_options.allowTf32;
    launch.world = &m_plan->devices.world();
    launch.label = step.label.c_str();
    slot.launch.assign(m_plan->inFlight, launch);
    for (std::size_t lap = 0; lap < slot.launch.size(); ++lap) {
        const Operands& operands = slot.operands[lap % slot.operands.size()];
        slot.launch[lap].inputs = operands.inputs;
        slot.launch[lap].outputs = operands.outputs;
        slot.launch[lap].guard = m_guard.of(lap);
        slot.launch[lap].timing = &m_timings[lap][step.index];
    }
}

void RunContext::bindCopy(const Step& step, StepSlot& slot) {
    const Transfer& transfer = m_plan->transfers[step.transfer];
    Copy copy;
    copy.step = step.index;
    const TensorType& type = m_types[step.outputs[0]];
    copy.bytes = type.isKnown() ? static_cast<std::size_t>(type.byteCount()) : 0;
    copy.direction = m_plan->devices.route(transfer.source, transfer.target).direction;
    if (!transfer.source.sharesRankWith(transfer.target))
        copy.linkNs = std::llround(m_plan->devices.copyNs(transfer.source, transfer.target,
                                                          static_cast<double>(copy.bytes), copy.hostMemory));
    copy.hostMemory = transfer.pinned ? MemoryKind::pinned : MemoryKind::pageable;
    slot.copy.assign(m_plan->inFlight, copy);
    for (std::size_t lap = 0; lap < slot.copy.size(); ++lap) {
        const Operands& operands = slot.operands[lap % slot.operands.size()];
        slot.copy[lap].source = operands.inputs[0].data;
        slot.copy[lap].target = operands.outputs[0].data;
        slot.copy[lap].guard = m_guard.of(lap);
        slot.copy[lap].timing = &m_timings[lap][step.index];
    }
}

/// Determines a dynamic step's sizes, after reading the host values that they depend on, and its memory. An
/// output of known size keeps its memory, since its consumers are bound to it.
void RunContext::resolve(std::uint32_t index) {
    const Step& step = m_plan->steps[index];
    try {
        std::vector<const TensorType*> types;
        std::vector<Tensor> hostValues(step.inputs.size());
        std::vector<const Tensor*> values(step.inputs.size(), nullptr);
        for (std::size_t p = 0; p < step.inputs.size(); ++p) {
            const std::uint32_t v = step.inputs[p];
            types.push_back(v == kNone ? nullptr : &m_types[v]);
            if (v != kNone && !m_types[v].isKnown())
                throw Error(ErrorCode::failed, "its input was not computed");
            if (v == kNone || !step.op) continue;
            const PortSpec& spec = step.op->inputAt(static_cast<int>(p));
            if (!spec.hostValue && !spec.shapesOutput) continue;
            // The only place where the submission waits for results: sizes that the graph computes.
            synchronizeAll();
            if (!m_guard.mayRun(index, currentLap()))
                return bind(index); // its producer failed: there is nothing to read
            hostValues[p] = toHost(tensorOf(v), m_plan->devices);
            values[p] = &hostValues[p];
        }
        std::vector<TensorType> outputs(step.outputs.size());
        if (step.op) {
            InferContext context(*step.op, step.attributes, types, values, m_plan->files.get(), outputs,
                                 m_plan->devices.world().size());
            step.op->infer(context);
        } else {
            outputs[0] = *types[0];
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const std::uint32_t v = step.outputs[i];
            const PlanValue& value = m_plan->values[v];
            const PlanSlot& slot = m_plan->slots[value.slot];
            if (value.type.isKnown() && outputs[i] != value.type)
                throw Error(ErrorCode::failed,
                            fmt::format("output {} is {} in this run, but was planned as {}", i,
                                        outputs[i].toString(), value.type.toString()));
            m_types[v] = outputs[i];
            if (value.absent || slot.bytes > 0) continue;
            m_buffers[value.slot] =
                m_plan->devices.memoryFor(slot.device, slot.memory)
                    .allocate(static_cast<std::size_t>(outputs[i].byteCount()), slot.memory);
        }
        bind(index);
        if (step.op) {
            std::vector<TensorType> known;
            for (const TensorType* t : types) known.push_back(t ? *t : TensorType{DType::f32, Shape{0}});
            const Cost cost = costOf(*step.op, known, outputs, step.attributes);
            for (Launch& launch : m_slots[index].launch) launch.cost = cost;
        }
    } catch (const std::exception&) {
        if (m_guard.mayRun(index, currentLap()))
            m_guard.failed(index, currentLap(), std::current_exception());
        bind(index);
    }
}

} // namespace twb
