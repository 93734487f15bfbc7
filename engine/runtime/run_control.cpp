#include "backends/cpu/host_stream.h"
#include "ops/op_table.h"
#include "runtime/run_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

// The execution of If, Loop and Scan. All streams are idle at the start and the end of a body: the host reads
// the condition, and the body's results become its next inputs.

namespace twb {
namespace {

/// Views of stacked results: one axis more than `part`.
TensorView withAxis(const TensorView& part, int axis) {
    std::vector<std::int64_t> dims = part.shape.dims();
    dims.insert(dims.begin() + axis, 1);
    TensorView out = part;
    out.shape = Shape(std::move(dims));
    out.strides = denseStrides(out.shape);
    return out;
}

} // namespace

/// One element that the host reads, from a value or from the attribute.
std::int64_t RunContext::hostInteger(std::uint32_t value, const Attributes& attributes,
                                     const char* attribute) const {
    if (value == kNone) {
        if (!attributes.has(attribute)) return std::numeric_limits<std::int64_t>::max();
        const AttributeValue& given = *attributes.find(attribute);
        return std::holds_alternative<bool>(given) ? std::int64_t{attributes.flag(attribute)}
                                                   : attributes.integer(attribute);
    }
    const Tensor tensor = toHost(tensorOf(value), m_plan->devices);
    if (!tensor || tensor.elementCount() != 1)
        throw Error(ErrorCode::failed, fmt::format("{} must have exactly one element, but has shape {}",
                                                   attribute, m_types[value].shape.toTorchString()));
    return tensor.toIntegers()[0];
}

void RunContext::runControl(std::uint32_t index, std::size_t lap) {
    const Step& step = m_plan->steps[index];
    const PlanControl& control = m_plan->controls[step.control];
    LaunchTiming& timing = m_timings[lap][index];
    timing.virtualStart = rest();
    timing.start = steadyNs();
    const std::int64_t stoppedBefore = m_stoppedNs;
    if (!m_guard.mayRun(index, lap)) {
        for (std::uint32_t b = 0; b < control.bodies.size(); ++b) {
            const PlanBody& body = control.bodies[b];
            m_guard.skip(body.first, body.last, m_guard.state(index, lap), lap);
            collect(body.first, body.last, m_iteration, lap, step.control, b);
        }
        return;
    }
    try {
        if (control.kind == PlanControl::Kind::branch)
            runBranch(step, control, lap);
        else
            repeat(step, control, lap);
    } catch (const std::exception&) {
        m_guard.failed(index, lap, std::current_exception());
    }
    timing.virtualEnd = rest();
    timing.end = steadyNs() - (m_stoppedNs - stoppedBefore);
}

void RunContext::runBranch(const Step& step, const PlanControl& control, std::size_t lap) {
    const bool taken = hostInteger(control.condition, step.attributes, "cond") != 0;
    const std::uint32_t b = taken ? 0 : 1;
    if (!runBody(step, b, lap)) return;
    const PlanBody& body = control.bodies[b];
    for (std::size_t i = 0; i < body.results.size(); ++i) give(step, i, {tensorOf(body.results[i])}, nullptr);
}

void RunContext::repeat(const Step& step, const PlanControl& control, std::size_t lap) {
    const PlanBody& body = control.bodies[0];
    std::vector<Tensor> carried(control.carried);
    for (const PlanState& state : body.states)
        if (state.kind == PlanState::Kind::carried) carried[state.result] = tensorOf(state.from);
    std::vector<std::vector<Tensor>> stacks(control.stacks.size());

    std::int64_t trips = std::numeric_limits<std::int64_t>::max();
    bool goesOn = true;
    if (control.kind == PlanControl::Kind::loop) {
        trips = hostInteger(control.trips, step.attributes, "M");
        goesOn = hostInteger(control.condition, step.attributes, "cond") != 0;
    } else {
        trips = slicesOf(body);
    }
    std::int64_t i = 0;
    for (; i < trips && goesOn; ++i) {
        for (const PlanState& state : body.states) setState(step, state, i, carried);
        if (!runBody(step, 0, lap)) return;
        if (control.kind == PlanControl::Kind::loop)
            goesOn = hostInteger(control.goesOn, step.attributes, "cond_out") != 0;
        std::vector<Tensor> results;
        for (const std::uint32_t v : body.results) results.push_back(tensorOf(v));
        // The next run of the body writes to other memory.
        for (const std::uint32_t v : body.results)
            if (m_plan->values[v].handedOn) m_buffers[m_plan->values[v].slot].reset();
        std::move(results.begin(), results.begin() + control.carried, carried.begin());
        for (std::size_t s = 0; s < stacks.size(); ++s)
            stacks[s].push_back(std::move(results[control.carried + s]));
    }
    const bool hasRun =
        i > 0; // otherwise `carried` are the initial tensors, which the body must not overwrite
    for (std::size_t c = 0; c < carried.size(); ++c) {
        // The last state, for inspection.
        const std::uint32_t v = body.results[c];
        if (hasRun && m_plan->values[v].handedOn && carried[c])
            m_buffers[m_plan->values[v].slot] = carried[c].buffer();
        give(step, c, {carried[c]}, nullptr);
    }
    for (std::size_t s = 0; s < stacks.size(); ++s) {
        // The last one, for inspection.
        const std::uint32_t v = body.results[carried.size() + s];
        if (hasRun && m_plan->values[v].handedOn)
            m_buffers[m_plan->values[v].slot] = stacks[s].back().buffer();
        if (control.stacks[s].reverse) std::reverse(stacks[s].begin(), stacks[s].end());
        give(step, carried.size() + s, stacks[s], &control.stacks[s]);
    }
}

/// The number of slices of a body's ScanSlices, which must be equal.
std::int64_t RunContext::slicesOf(const PlanBody& body) const {
    std::int64_t count = -1;
    for (const PlanState& state : body.states) {
        if (state.kind != PlanState::Kind::slice) continue;
        const std::int64_t size = m_types[state.from].shape[state.axis];
        if (count >= 0 && size != count)
            throw Error(
                ErrorCode::failed,
                fmt::format("its inputs have {} and {} slices; all must have the same number", count, size));
        count = size;
    }
    if (count < 0)
        throw Error(ErrorCode::failed,
                    "its body has no ScanSlice node, so the number of iterations is unknown; add one");
    return count;
}

/// The next input of a body's state node.
void RunContext::setState(const Step& step, const PlanState& state, std::int64_t iteration,
                          const std::vector<Tensor>& carried) {
    const PlanValue& value = m_plan->values[state.value];
    Tensor now;
    switch (state.kind) {
    case PlanState::Kind::iteration:
        now = launchInto(
            step.index, state.stream, "Full", {}, value.type,
            {{"value", iteration}, {"dtype", std::string("i64")}, {"shape", std::vector<std::int64_t>{}}});
        break;
    case PlanState::Kind::carried:
        now = carried[state.result];
        if (!now) throw Error(ErrorCode::failed, fmt::format("\"{}\" was not computed", value.label));
        if (value.type.isKnown() && now.type() != value.type)
            throw Error(ErrorCode::failed,
                        fmt::format("the body returns \"{}\" as {}, but accepts it as {}; if the size "
                                    "changes, set \"varies\" of this Carried node",
                                    value.label, now.type().toString(), value.type.toString()));
        break;
    case PlanState::Kind::slice: {
        const Tensor all = tensorOf(state.from);
        TensorView slice = all.view();
        const auto axis = static_cast<std::ptrdiff_t>(state.axis);
        const std::int64_t at = state.reverse ? slice.shape[state.axis] - 1 - iteration : iteration;
        slice.data = slice.as<std::byte>() + at * slice.strides[static_cast<std::size_t>(axis)] *
                                                 static_cast<std::int64_t>(sizeOf(slice.dtype));
        std::vector<std::int64_t> dims = slice.shape.dims();
        dims.erase(dims.begin() + axis);
        slice.shape = Shape(std::move(dims));
        slice.strides.erase(slice.strides.begin() + axis);
        now = launchInto(step.index, state.stream, "Identity", {slice}, {slice.dtype, slice.shape}, {});
        break;
    }
    }
    m_buffers[value.slot] = now.buffer();
    m_types[state.value] = now.type();
}

/// Runs a body once. False if one of its steps did not finish.
bool RunContext::runBody(const Step& step, std::uint32_t b, std::size_t lap) {
    const PlanBody& body = m_plan->controls[step.control].bodies[b];
    m_bodyRan[step.control][b] = true;
    const auto isHere = [&](std::uint32_t i) {
        return m_plan->steps[i].owner == step.control && m_plan->steps[i].body == b;
    };
    for (const std::uint32_t v : body.results) {
        const PlanSlot& slot = m_plan->slots[m_plan->values[v].slot];
        BufferPtr& buffer = m_buffers[m_plan->values[v].slot];
        if (m_plan->values[v].handedOn && slot.bytes > 0 && !buffer)
            buffer = m_plan->devices.memoryFor(slot.device, slot.memory).allocate(slot.bytes, slot.memory);
    }
    for (std::uint32_t i = body.first; i < body.last; ++i) {
        if (!isHere(i)) continue;
        m_reached[i] = 0; // in this run of the body
        if (!m_plan->steps[i].dynamic && m_plan->steps[i].control == kNone) bind(i);
    }
    for (std::uint32_t i = body.first; i < body.last; ++i)
        if (isHere(i)) submit(i, lap);
    rest();
    collect(body.first, body.last, m_iteration, lap, step.control, b);
    StepState worst = m_guard.isCancelled() ? StepState::cancelled : StepState::done;
    for (std::uint32_t i = body.first; i < body.last; ++i)
        if (const StepState state = m_guard.state(i, lap); isHere(i) && state != StepState::done)
            worst = state == StepState::cancelled ? StepState::cancelled : StepState::poisoned;
    if (worst == StepState::done) return true;
    m_guard.skip(step.index, step.index + 1, worst, lap);
    return false;
}

/// Runs an op's kernel on `inputs` into a new tensor, and waits for it.
Tensor RunContext::launchInto(std::uint32_t step, std::uint32_t stream, const char* op,
                              const std::vector<TensorView>& inputs, TensorType type,
                              const Attributes& given) {
    const Op& entry = *findOp(op);
    Backend& backend = m_plan->devices.at(m_plan->streams[stream].device);
    const auto bytes = static_cast<std::size_t>(type.byteCount());
    if (bytes == 0) return Tensor::onHost(type);
    Tensor out(backend.memory().allocate(bytes, m_plan->streams[stream].device.isCpu() ? MemoryKind::pageable
                                                                                       : MemoryKind::device),
               type);
    launchTo(step, stream, entry, inputs, out.view(), given);
    return out;
}

void RunContext::launchTo(std::uint32_t step, std::uint32_t stream, const Op& op,
                          const std::vector<TensorView>& inputs, const TensorView& out,
                          const Attributes& given) {
    const Attributes attributes = completeAttributes(op, given);
    const std::array<TensorView, 1> outputs{out};
    std::vector<TensorType> types;
    for (const TensorView& in : inputs) types.push_back({in.dtype, in.shape});
    const TensorType type{out.dtype, out.shape};
    Launch launch;
    launch.step = step;
    launch.op = op.name.c_str();
    launch.kernel = op.kernel;
    launch.inputs = inputs;
    launch.outputs = outputs;
    launch.attributes = &attributes;
    launch.cost = costOf(op, types, std::span(&type, 1), attributes);
    launch.guard = m_guard.of(currentLap());
    m_streams[stream]->launch(launch);
    m_streams[stream]->flush();
    m_streams[stream]->synchronize();
}

/// Writes an output of a control: a single part as it is, or all parts stacked along a new axis.
void RunContext::give(const Step& step, std::size_t port, const std::vector<Tensor>& parts,
                      const PlanStack* stack) {
    const std::uint32_t v = step.outputs[port];
    const PlanValue& value = m_plan->values[v];
    TensorType type = parts.empty() ? value.type : parts.front().type();
    std::vector<TensorView> views;
    for (const Tensor& part : parts) {
        if (!part) throw Error(ErrorCode::failed, "a result of its body was not computed");
        if (part.type() != parts.front().type())
            throw Error(ErrorCode::failed,
                        fmt::format("results of {} and {} cannot be stacked: each must have the same sizes",
                                    parts.front().type().toString(), part.type().toString()));
        views.push_back(stack ? withAxis(part.view(), stack->axis) : part.view());
    }
    if (stack && !parts.empty()) {
        type.shape = views.front().shape;
        type.shape[stack->axis] = static_cast<std::int64_t>(parts.size());
    } else if (stack) {
        for (int axis = 0; axis < type.shape.rank(); ++axis)
            if (type.shape[axis] == kUnknownDim || axis == stack->axis) type.shape[axis] = 0;
    }
    if (value.type.isKnown() && type != value.type)
        throw Error(ErrorCode::failed, fmt::format("output {} is {} in this run, but was planned as {}", port,
                                                   type.toString(), value.type.toString()));
    m_types[v] = type;
    BufferPtr& buffer = m_buffers[value.slot];
    const PlanSlot& slot = m_plan->slots[value.slot];
    if (slot.bytes == 0)
        buffer = type.byteCount() == 0
                     ? nullptr
                     : m_plan->devices.memoryFor(slot.device, slot.memory)
                           .allocate(static_cast<std::size_t>(type.byteCount()), slot.memory);
    if (type.byteCount() == 0) return;
    if (!buffer) return; // its allocation failed at the start of the run
    launchTo(step.index, step.stream, *findOp(stack ? "Concat" : "Identity"), views, tensorOf(v).view(),
             stack ? Attributes{{"axis", std::int64_t{stack->axis}}} : Attributes{});
}

} // namespace twb
