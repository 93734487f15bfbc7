#include "ops/bottleneck.h"

#include "backends/cpu/dense_input.h"
#include "backends/cpu/strided.h"
#include "ops/sliding_window.h"
#include "ops/squeeze_excite.h"

#include <string>
#include <vector>

namespace twb {
namespace {

using Part = InvertedBottleneck::Part;

constexpr std::array kParts{Part::expansion, Part::filter, Part::projection};

std::string endingName(Part part) { return "ending_" + std::to_string(static_cast<int>(part)); }

ProductEnding endingOf(const Attributes& attributes, Part part) {
    const std::vector<double> values = attributes.numbers(endingName(part));
    return {static_cast<ProductActivation>(values[0]), static_cast<float>(values[1]),
            static_cast<float>(values[2])};
}

/// The block with its packed weights. Weights that were handed over are freed.
std::unique_ptr<InvertedBottleneck> packedBlock(const KernelContext& ctx, BottleneckState& state,
                                                const BottleneckSizes& sizes) {
    auto block = InvertedBottleneck::make(sizes);
    if (!block) throw Error(ErrorCode::failed, "this CPU has no kernel for an inverted bottleneck");
    for (const Part part : kParts) {
        if (part == Part::expansion && !sizes.expands) continue;
        const auto i = static_cast<std::size_t>(part);
        const Tensor kept = state.weights[i] ? state.weights[i]->tensor() : Tensor();
        const DenseInput w(kept ? kept.view() : ctx.inputs[BottleneckPorts::weights[i]]);
        block->pack(part, w.as<float>());
    }
    for (const auto& weights : state.weights)
        if (weights) weights->packed();
    return block;
}

/// The elements of a tensor in channels-last order: in place, or in a copy.
class ChannelsLastInput {
public:
    explicit ChannelsLastInput(const TensorView& given) : m_data(given.as<const float>()) {
        if (!given.data || isChannelsLast(given)) return;
        m_copy = Tensor::onHost({given.dtype, given.shape});
        copyElements(given, {m_copy.data(), given.dtype, given.shape, channelsLastStrides(given.shape)});
        m_data = static_cast<const float*>(m_copy.data());
    }
    const float* data() const noexcept { return m_data; }

private:
    Tensor m_copy;
    const float* m_data;
};

} // namespace

void setEnding(Attributes& attributes, Part part, const ProductEnding& ending) {
    attributes.set(endingName(part),
                   std::vector<double>{static_cast<double>(ending.activation),
                                       static_cast<double>(ending.alpha), static_cast<double>(ending.beta)});
}

BottleneckSizes bottleneckSizes(const Attributes& attributes, const Shape& x, const Shape& filter,
                                const Shape& y) {
    return {.inChannels = x[1],
            .channels = filter[0],
            .outChannels = y[1],
            .expands = attributes.flag("expands"),
            .window = slidingWindow(attributes, x, spatialSizes(filter)),
            .expanded = endingOf(attributes, Part::expansion),
            .filtered = endingOf(attributes, Part::filter),
            .projected = endingOf(attributes, Part::projection)};
}

void bottleneckKernel(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.elementCount() == 0) return;
    std::unique_ptr<KernelState> ofThisLaunch;
    std::unique_ptr<KernelState>& kept = ctx.memory ? ctx.memory->state : ofThisLaunch;
    if (!kept) kept = std::make_unique<BottleneckState>();
    auto& state = static_cast<BottleneckState&>(*kept);
    const Shape& shape = ctx.inputs[BottleneckPorts::x].shape;
    if (!state.block)
        state.block = packedBlock(
            ctx, state,
            bottleneckSizes(ctx.attributes, shape, ctx.inputs[BottleneckPorts::weights[1]].shape, y.shape));
    const ChannelsLastInput x(ctx.inputs[BottleneckPorts::x]);
    const ChannelsLastInput added(ctx.inputs[BottleneckPorts::added]);
    std::array<DenseInput, kParts.size()> biases{DenseInput(ctx.inputs[BottleneckPorts::biases[0]]),
                                                 DenseInput(ctx.inputs[BottleneckPorts::biases[1]]),
                                                 DenseInput(ctx.inputs[BottleneckPorts::biases[2]])};
    const Tensor channelsLast = isChannelsLast(y) ? Tensor() : Tensor::onHost({y.dtype, y.shape});
    auto* const result = channelsLast ? static_cast<float*>(channelsLast.data()) : y.as<float>();
    const bool excites = ctx.attributes.flag("excites");
    std::vector<float> means(excites ? static_cast<std::size_t>(ctx.outputs[1].shape[1]) : 0);
    const std::int64_t xImage = shape.elementCount() / shape[0];
    const std::int64_t yImage = y.elementCount() / shape[0];
    for (std::int64_t image = 0; image < shape[0]; ++image) {
        const float* const xOfImage = x.data() + image * xImage;
        const float* const addedToImage = added.data() ? added.data() + image * yImage : nullptr;
        float* const yOfImage = result + image * yImage;
        if (!excites) {
            state.block->run(xOfImage, biases[0].as<float>(), biases[1].as<float>(), biases[2].as<float>(),
                             addedToImage, yOfImage);
            continue;
        }
        const TensorView& output = ctx.outputs[1];
        float* const filtered = output.as<float>() + image * (output.elementCount() / shape[0]);
        state.block->filter(xOfImage, biases[0].as<float>(), biases[1].as<float>(), filtered, means.data());
        const std::vector<float> factors =
            ExcitationProducts(ctx, BottleneckPorts::excitation).factors(means);
        state.block->project(filtered, factors.data(), biases[2].as<float>(), addedToImage, yOfImage);
    }
    if (channelsLast) copyElements({result, y.dtype, y.shape, channelsLastStrides(y.shape)}, y);
}

} // namespace twb
