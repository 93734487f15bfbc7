#include "ops/bottleneck.h"
#include "ops/sliding_window.h"
#include "runtime/compiler.h"
#include "runtime/excitations.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace twb {
namespace {

using Part = InvertedBottleneck::Part;

/// A convolution and the activation after it.
struct EndedConvolution {
    const Step* conv = nullptr;
    const Step* last = nullptr; ///< the convolution, or what follows it
    ProductEnding ending;
};

/// An inverted bottleneck: a Conv with windows of one element and one with one channel per group, then,
/// optionally, a squeeze-and-excitation block, then another Conv with windows of one element and, optionally,
/// an Add. Each may end in an activation. The first Conv may be missing if there is an excitation.
struct Bottleneck {
    std::vector<std::uint32_t> steps; ///< in order
    std::optional<EndedConvolution> expansion;
    EndedConvolution filter, projection;
    std::optional<Excitation> excitation;
    std::uint32_t added = kNone;

    const Step& first() const { return expansion ? *expansion->conv : *filter.conv; }
};

class BottleneckFinder {
public:
    explicit BottleneckFinder(const Plan& plan)
        : m_plan(plan), m_steps(plan), m_readers(plan.values.size()),
          m_isConstant(plan.values.size(), false) {
        for (const Step& step : plan.steps) {
            for (const std::uint32_t v : step.inputs)
                if (v != kNone) m_readers[v].push_back(step.index);
            for (const std::uint32_t v : step.outputs)
                m_isConstant[v] = step.setup && !plan.values[v].isUpdated;
        }
    }

    std::optional<Bottleneck> at(const Step& first) const {
        Bottleneck out;
        if (isPointwise(first)) {
            out.expansion = ended(first);
            take(*out.expansion, out.steps);
            const Step* const filter = m_steps.next(*out.expansion->last, "Conv");
            if (!filter || !isDepthwise(*filter)) return std::nullopt;
            out.filter = ended(*filter);
        } else {
            if (!isDepthwise(first)) return std::nullopt;
            out.filter = ended(first);
        }
        take(out.filter, out.steps);
        const Step* before = out.filter.last;
        out.excitation = excitationAfter(*before);
        if (out.excitation) {
            out.steps.insert(out.steps.end(), out.excitation->steps.begin(), out.excitation->steps.end());
            before = &m_plan.steps[out.steps.back()];
        }
        const Step* const projection = m_steps.next(*before, "Conv");
        if (!projection || !isPointwise(*projection) || !(out.expansion || out.excitation))
            return std::nullopt;
        endProjection(*projection, out);
        const bool isFitting = InvertedBottleneck::make(bottleneckSizes(
                                   attributesOf(out), shapeOf(first.inputs[0]),
                                   shapeOf(out.filter.conv->inputs[1]), shapeOf(projection->outputs[0]))) &&
                               !isUpdatedWithin(out.steps);
        return isFitting ? std::optional(std::move(out)) : std::nullopt;
    }

    Attributes attributesOf(const Bottleneck& block) const {
        Attributes out = block.filter.conv->attributes;
        out.set("expands", block.expansion.has_value());
        out.set("excites", block.excitation.has_value());
        setEnding(out, Part::expansion, block.expansion ? block.expansion->ending : ProductEnding{});
        setEnding(out, Part::filter, block.filter.ending);
        setEnding(out, Part::projection, block.projection.ending);
        if (block.excitation) block.excitation->describe(out);
        return out;
    }

private:
    const Shape& shapeOf(std::uint32_t v) const { return m_steps.typeOf(v).shape; }

    /// A convolution of images in f32 with constant weights.
    bool isFixed(const Step& step) const {
        return m_steps.isOn(step, "Conv") && m_steps.typeOf(step.outputs[0]).dtype == DType::f32 &&
               shapeOf(step.outputs[0]).rank() == 4 && m_isConstant[step.inputs[1]] &&
               std::ranges::count(step.inputs, step.inputs[1]) == 1;
    }

    bool isPointwise(const Step& step) const {
        if (!isFixed(step) || step.attributes.integer("group") != 1) return false;
        const Window window =
            slidingWindow(step.attributes, shapeOf(step.inputs[0]), spatialSizes(shapeOf(step.inputs[1])));
        return std::ranges::all_of(window.axes, [](const WindowAxis& axis) {
            return axis.kernel == 1 && axis.stride == 1 && axis.padBegin == 0 && axis.padEnd == 0;
        });
    }

    /// One channel per group, of which the convolution makes one.
    bool isDepthwise(const Step& step) const {
        if (!isFixed(step)) return false;
        const Shape& weights = shapeOf(step.inputs[1]);
        return weights[1] == 1 && step.attributes.integer("group") == weights[0];
    }

    /// The activation after a step, if the kernels have it.
    std::optional<ProductEnding> activation(const Step* step) const {
        if (!step || std::ranges::count_if(step->inputs, [](std::uint32_t v) { return v != kNone; }) != 1 ||
            !(m_steps.typeOf(step->inputs[0]) == m_steps.typeOf(step->outputs[0])))
            return std::nullopt;
        const std::optional<ProductEnding> ending = productEnding(step->op->name, step->attributes);
        return ending && channelsEnding(*ending) ? ending : std::nullopt;
    }

    EndedConvolution ended(const Step& conv) const {
        const Step* const next = m_steps.next(conv);
        if (const auto ending = activation(next)) return {&conv, next, *ending};
        return {&conv, &conv, {}};
    }

    static void take(const EndedConvolution& conv, std::vector<std::uint32_t>& steps) {
        steps.push_back(conv.conv->index);
        if (conv.last != conv.conv) steps.push_back(conv.last->index);
    }

    /// The excitation of a step's result, if nothing else reads that.
    std::optional<Excitation> excitationAfter(const Step& before) const {
        const std::uint32_t v = before.outputs[0];
        if (m_readers[v].size() != 2 || !isOnlyPassedOn(m_plan.values[v])) return std::nullopt;
        for (const std::uint32_t reader : m_readers[v])
            if (auto out = excitationAt(m_steps, m_plan.steps[reader]);
                out && std::ranges::count(m_readers[v], out->steps.back()) == 1)
                return out;
        return std::nullopt;
    }

    /// The projection with an Add of a tensor of its result's shape and an activation.
    void endProjection(const Step& conv, Bottleneck& out) const {
        out.projection = ended(conv);
        take(out.projection, out.steps);
        if (out.projection.last != &conv) return;
        const Step* const add = m_steps.next(conv);
        if (!add || add->op->name != "Add" || add->inputs.size() != 2) return;
        const std::uint32_t v = conv.outputs[0];
        const std::uint32_t other = add->inputs[0] == v ? add->inputs[1] : add->inputs[0];
        if (other == v || other == kNone || !(m_steps.typeOf(other) == m_steps.typeOf(v))) return;
        out.added = other;
        out.projection.last = add;
        out.steps.push_back(add->index);
        const Step* const next = m_steps.next(*add);
        const auto ending = activation(next);
        if (!ending) return;
        out.projection.last = next;
        out.projection.ending = *ending;
        out.steps.push_back(next->index);
    }

    /// Whether a step in between writes a tensor in place, which the first steps may read before.
    bool isUpdatedWithin(const std::vector<std::uint32_t>& steps) const {
        return std::any_of(m_plan.steps.begin() + steps.front(), m_plan.steps.begin() + steps.back(),
                           [](const Step& step) { return step.op && !step.op->updates.empty(); });
    }

    const Plan& m_plan;
    const FollowedSteps m_steps;
    std::vector<std::vector<std::uint32_t>> m_readers; ///< by value
    std::vector<bool> m_isConstant;                    ///< by value
};

std::vector<std::uint32_t> inputsOf(const Bottleneck& block) {
    std::vector<std::uint32_t> out(BottleneckPorts::count, kNone);
    out[BottleneckPorts::x] = block.first().inputs[0];
    const auto connect = [&](Part part, const Step& conv) {
        const auto i = static_cast<std::size_t>(part);
        out[BottleneckPorts::weights[i]] = conv.inputs[1];
        if (conv.inputs.size() > 2) out[BottleneckPorts::biases[i]] = conv.inputs[2];
    };
    if (block.expansion) connect(Part::expansion, *block.expansion->conv);
    connect(Part::filter, *block.filter.conv);
    connect(Part::projection, *block.projection.conv);
    out[BottleneckPorts::added] = block.added;
    if (block.excitation)
        std::ranges::copy(block.excitation->weights(), out.begin() + BottleneckPorts::excitation);
    return out;
}

} // namespace

/// Computes inverted bottlenecks, as MobileNetV2 and EfficientNet have them, in one step each. The expanded
/// image, which is the largest tensor, stays in the cache.
void Compiler::fuseBottlenecks() {
    if (!m_plan->controls.empty() || !m_options.fuseOnCpu) return;
    const BottleneckFinder finder(*m_plan);
    std::vector<bool> isTaken(m_plan->steps.size(), false);
    std::vector<std::pair<Bottleneck, Attributes>> found;
    for (const Step& step : m_plan->steps) {
        if (isTaken[step.index]) continue;
        auto block = finder.at(step);
        if (!block || std::ranges::any_of(block->steps, [&](std::uint32_t i) { return isTaken[i]; }))
            continue;
        for (const std::uint32_t index : block->steps) isTaken[index] = true;
        Attributes attributes = finder.attributesOf(*block);
        found.emplace_back(std::move(*block), std::move(attributes));
    }
    std::vector<bool> isGone(m_plan->steps.size(), false);
    for (auto& [block, attributes] : found) {
        std::vector<std::uint32_t> inputs = inputsOf(block);
        const std::uint32_t filtered = block.filter.last->outputs[0];
        double flops = 0;
        for (const std::uint32_t index : block.steps) flops += m_plan->steps[index].cost.flops;
        Step& last = m_plan->steps[block.steps.back()];
        const std::uint32_t result = last.outputs[0];
        const Replacement replacement(*m_plan, block.steps, isGone);
        replacement.op->channelsLast = ChannelsLast::wanted;
        replacement.op->kernel = bottleneckKernel;
        replacement.op->inputs.resize(inputs.size());
        if (block.excitation) replacement.op->outputs.emplace_back();
        replacement.become(*m_plan, last, std::move(inputs), result, std::move(attributes), flops, isGone);
        if (block.excitation) {
            // The filter's result, all of which the means need, has memory of the plan, for the time of the
            // step.
            last.outputs.push_back(filtered);
            m_plan->values[filtered].absent = false;
            m_plan->values[filtered].channelsLast = true;
        }
        m_plan->chainOps.push_back(replacement.op);
    }
    if (!found.empty()) dropSteps(isGone);
}

} // namespace twb
