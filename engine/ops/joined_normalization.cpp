#include "ops/joined_normalization.h"

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/activation_functions.h"
#include "ops/normalization_parts.h"
#include "ops/planes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace twb {
namespace {

/// y = factor · x + added, by channel.
struct Factors final : KernelState {
    std::vector<float> factor, added;

    Factors(std::span<const TensorView> numbers, double epsilon) {
        const std::vector<double> scale = numbersOf(numbers[0]);
        const std::vector<double> bias = numbersOf(numbers[1]);
        const std::vector<double> mean = numbersOf(numbers[2]);
        const std::vector<double> variance = numbersOf(numbers[3]);
        for (std::size_t c = 0; c < scale.size(); ++c) {
            const double f = scale[c] / std::sqrt(variance[c] + epsilon);
            factor.push_back(static_cast<float>(f));
            added.push_back(static_cast<float>(bias[c] - mean[c] * f));
        }
    }
};

template <bool hasRelu> float scaled(float x, float factor, float added) {
    const float y = x * factor + added;
    return hasRelu ? element::Relu{}(y) : y;
}

template <bool hasRelu>
void scaleRows(std::span<const TensorView> parts, const TensorView& y, const Factors& f) {
    const Planes p(y.shape);
    parallelRanges(p.batch * p.size, y.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            float* to = y.as<float>() + row * p.channels;
            const float* factor = f.factor.data();
            const float* added = f.added.data();
            for (const TensorView& part : parts) {
                const std::int64_t channels = part.shape[1];
                const float* const from = part.as<const float>() + row * channels;
                for (std::int64_t c = 0; c < channels; ++c)
                    to[c] = scaled<hasRelu>(from[c], factor[c], added[c]);
                to += channels;
                factor += channels;
                added += channels;
            }
        }
    });
}

template <bool hasRelu> void scalePlanes(const TensorView& y, const Factors& f) {
    const Planes p(y.shape);
    parallelRanges(p.batch * p.channels, y.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) {
            const auto c = static_cast<std::size_t>(plane % p.channels);
            float* const to = y.as<float>() + plane * p.size;
            for (std::int64_t i = 0; i < p.size; ++i) to[i] = scaled<hasRelu>(to[i], f.factor[c], f.added[c]);
        }
    });
}

/// Copies the parts into y, one after the other along axis 1.
void join(std::span<const TensorView> parts, const TensorView& y) {
    TensorView to = y;
    for (const TensorView& part : parts) {
        to.shape = part.shape;
        copyElements(part, to);
        to.data = to.as<float>() + part.shape[1] * y.strides[1];
    }
}

template <bool hasRelu>
void normalize(std::span<const TensorView> parts, const TensorView& y, const Factors& f) {
    const auto isLast = [](const TensorView& view) { return isChannelsLast(view); };
    if (isLast(y) && std::ranges::all_of(parts, isLast)) return scaleRows<hasRelu>(parts, y, f);
    join(parts, y);
    if (isDense(y)) return scalePlanes<hasRelu>(y, f);
    scaleRows<hasRelu>(std::span(&y, 1), y, f);
}

} // namespace

void joinedNormalizationKernel(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.elementCount() == 0) return;
    const std::size_t count = ctx.inputs.size() - 4;
    const auto parts = ctx.inputs.first(count);
    std::unique_ptr<KernelState> ofThisLaunch;
    bool isConstant = ctx.memory != nullptr;
    for (std::size_t i = count; i < ctx.inputs.size(); ++i)
        isConstant = isConstant && ctx.memory->isConstant(i);
    std::unique_ptr<KernelState>& kept = isConstant ? ctx.memory->state : ofThisLaunch;
    if (!kept) kept = std::make_unique<Factors>(ctx.inputs.subspan(count), ctx.attributes.number("epsilon"));
    const auto& factors = static_cast<const Factors&>(*kept);
    if (ctx.attributes.flag("relu"))
        normalize<true>(parts, y, factors);
    else
        normalize<false>(parts, y, factors);
}

} // namespace twb
