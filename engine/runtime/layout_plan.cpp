#include "runtime/layout_plan.h"

#include <algorithm>

namespace twb {
namespace {

/// Whether the step is a launch on the host with known sizes.
bool isOnHost(const Plan& plan, const Step& step) {
    const Device device = plan.streams[step.stream].device;
    return step.op && !step.dynamic && (device.isCpu() || plan.devices.isSimulated(device));
}

bool isTranspose(const Plan& plan, const Step& step) {
    return isOnHost(plan, step) && step.op->name == "Transpose";
}

/// Whether a Transpose leaves the elements in their order in memory if its input and its result have these
/// layouts.
bool keepsOrder(const Plan& plan, const Step& step, bool fromChannelsLast, bool toChannelsLast) {
    const TensorType& in = plan.values[step.inputs[0]].type;
    const TensorType& out = plan.values[step.outputs[0]].type;
    if (!in.isKnown() || !out.isKnown()) return false;
    const int rank = in.shape.rank();
    const auto stridesOf = [](const Shape& shape, bool channelsLast) {
        return channelsLast && shape.rank() > 2 ? channelsLastStrides(shape) : denseStrides(shape);
    };
    const Strides from = stridesOf(in.shape, fromChannelsLast);
    const Strides to = stridesOf(out.shape, toChannelsLast);
    std::vector<std::int64_t> perm;
    if (step.attributes.has("perm")) perm = step.attributes.integers("perm");
    for (int i = 0; i < rank; ++i) {
        const int axis =
            perm.empty() ? rank - 1 - i : *normalizeAxis(perm[static_cast<std::size_t>(i)], rank);
        if (out.shape[i] != 1 && from[static_cast<std::size_t>(axis)] != to[static_cast<std::size_t>(i)])
            return false;
    }
    return true;
}

/// Whether the step is a host launch that supports channels-last tensors. Ops that follow the layout of their
/// input need row-major copies to compute a second result, such as the indices of a MaxPool.
bool mayMeet(const Plan& plan, const Step& step) {
    if (isTranspose(plan, step)) return keepsOrder(plan, step, true, false);
    if (!isOnHost(plan, step) || step.op->channelsLast == ChannelsLast::no) return false;
    return step.op->channelsLast != ChannelsLast::either ||
           std::all_of(step.outputs.begin() + 1, step.outputs.end(),
                       [&](std::uint32_t v) { return v == kNone || plan.values[v].absent; });
}

/// By value: whether it has consumers, all of which support channels-last tensors.
std::vector<bool> readersMayMeet(const Plan& plan) {
    std::vector<bool> read(plan.values.size(), false);
    std::vector<bool> refused(plan.values.size(), false);
    for (const PlanControl& control : plan.controls) // results of a body keep their layout
        for (const PlanBody& body : control.bodies)
            for (const std::uint32_t v : body.results) refused[v] = true;
    for (auto step = plan.steps.rbegin(); step != plan.steps.rend(); ++step) {
        // A pointwise op with a row-major result of its input's shape would read a channels-last input
        // element by element.
        const auto isRowMajor = [&](std::uint32_t v) { return refused[v] || plan.values[v].kept; };
        const bool meets = mayMeet(plan, *step) && !(step->op->channelsLast == ChannelsLast::pointwise &&
                                                     isRowMajor(step->outputs.front()));
        for (std::uint32_t v : step->inputs)
            if (v != kNone) (meets ? read : refused)[v] = true;
    }
    for (std::size_t v = 0; v < read.size(); ++v) read[v] = read[v] && !refused[v];
    return read;
}

/// The dtypes for which convolutions have channels-last kernels.
bool isLaidOut(DType dtype) { return dtype == DType::f32 || dtype == DType::u8 || dtype == DType::i8; }

/// Several channels with several elements each; otherwise both layouts are equal.
bool differs(const TensorType& type) {
    return type.isKnown() && type.shape.rank() > 2 && type.shape[1] > 1 &&
           std::any_of(type.shape.begin() + 2, type.shape.end(), [](std::int64_t size) { return size > 1; });
}

} // namespace

void planLayouts(Plan& plan) {
    const std::vector<bool> readable = readersMayMeet(plan);
    for (const Step& step : plan.steps) {
        if (step.setup || step.outputs.empty()) continue;
        PlanValue& out = plan.values[step.outputs.front()];
        if (out.kept || !isLaidOut(out.type.dtype) || !readable[step.outputs.front()] || !differs(out.type))
            continue;
        if (isTranspose(plan, step)) {
            out.channelsLast = keepsOrder(plan, step, plan.values[step.inputs[0]].channelsLast, true);
            continue;
        }
        if (!mayMeet(plan, step)) continue;
        const auto followed = [&](std::uint32_t v) {
            return v != kNone && plan.values[v].channelsLast &&
                   plan.values[v].type.shape.rank() == out.type.shape.rank();
        };
        out.channelsLast = step.op->channelsLast == ChannelsLast::wanted ||
                           std::any_of(step.inputs.begin(), step.inputs.end(), followed);
    }
}

bool keepsOrder(const Plan& plan, const Step& step) {
    return isTranspose(plan, step) && keepsOrder(plan, step, plan.values[step.inputs.front()].channelsLast,
                                                 plan.values[step.outputs.front()].channelsLast);
}

} // namespace twb
