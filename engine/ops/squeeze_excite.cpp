#include "ops/squeeze_excite.h"

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/vector_dots.h"
#include "backends/cpu/vector_math.h"
#include "ops/activation_functions.h"
#include "ops/planes.h"

#include <algorithm>
#include <vector>

namespace twb {
namespace {

/// The work of an element, relative to parallelRanges(). Half of the elements are in the cache of each
/// thread, and the threads are awake, since the step before has just used them.
constexpr std::int64_t kWork = 4;

/// Rows of a channels-last image that are summed in f32. Depends on the sizes only, so that the result does
/// not depend on the number of threads.
std::int64_t chunkRows(std::int64_t rows) {
    constexpr std::int64_t kMostRows = 64;
    constexpr std::int64_t kLeastChunks = 8;
    return std::clamp((rows + kLeastChunks - 1) / kLeastChunks, std::int64_t{1}, kMostRows);
}

void addRows(const float* from, std::int64_t rows, std::int64_t channels, float* sums) {
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4, from += 4 * channels)
        for (std::int64_t c = 0; c < channels; ++c)
            sums[c] += (from[c] + from[channels + c]) + (from[2 * channels + c] + from[3 * channels + c]);
    for (; row < rows; ++row, from += channels)
        for (std::int64_t c = 0; c < channels; ++c) sums[c] += from[c];
}

/// The mean of each channel of a channels-last image.
std::vector<float> meansOfRows(const float* x, const Planes& p) {
    const std::int64_t length = chunkRows(p.size);
    const std::int64_t chunks = (p.size + length - 1) / length;
    std::vector<float> parts(static_cast<std::size_t>(chunks * p.channels));
    // Each thread reads neighbouring rows, which it wrote itself in the step before.
    parallelRanges(chunks, kWork * p.size * p.channels, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t chunk = begin; chunk < end; ++chunk)
            addRows(x + chunk * length * p.channels, std::min(length, p.size - chunk * length), p.channels,
                    parts.data() + chunk * p.channels);
    });
    std::vector<double> sums(static_cast<std::size_t>(p.channels));
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
        for (std::size_t c = 0; c < sums.size(); ++c)
            sums[c] += static_cast<double>(parts[static_cast<std::size_t>(chunk * p.channels) + c]);
    std::vector<float> means;
    for (const double sum : sums) means.push_back(static_cast<float>(sum / static_cast<double>(p.size)));
    return means;
}

std::vector<float> meansOfPlanes(const float* x, const Planes& p) {
    std::vector<float> means(static_cast<std::size_t>(p.channels));
    parallelRanges(p.channels, p.channels * p.size, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            double sum = 0;
            for (std::int64_t i = 0; i < p.size; ++i) sum += static_cast<double>(x[c * p.size + i]);
            means[static_cast<std::size_t>(c)] = static_cast<float>(sum / static_cast<double>(p.size));
        }
    });
    return means;
}

/// weights · x + bias.
std::vector<float> product(const DenseInput& weights, const DenseInput& bias, const std::vector<float>& x) {
    const auto length = static_cast<std::int64_t>(x.size());
    std::vector<float> out(static_cast<std::size_t>(weights.view().shape[0]));
    parallelRanges(std::ssize(out), kWork * std::ssize(out) * length, 4,
                   [&](std::int64_t begin, std::int64_t end) {
                       vectorDots(x.data(), length, weights.as<float>() + begin * length, length,
                                  out.data() + begin, end - begin);
                   });
    if (bias)
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias.as<float>()[i];
    return out;
}

/// x and y may be the same memory.
void scaleRows(const float* x, const std::vector<float>& factors, const Planes& p, float* y) {
    parallelRanges(p.size, kWork * p.size * p.channels, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            for (std::int64_t c = 0; c < p.channels; ++c)
                y[row * p.channels + c] = x[row * p.channels + c] * factors[static_cast<std::size_t>(c)];
    });
}

void scalePlanes(const float* x, const std::vector<float>& factors, const Planes& p, float* y) {
    parallelRanges(p.channels, p.size * p.channels, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
            const float factor = factors[static_cast<std::size_t>(c)];
            for (std::int64_t i = 0; i < p.size; ++i) y[c * p.size + i] = x[c * p.size + i] * factor;
        }
    });
}

} // namespace

ExcitationProducts::ExcitationProducts(const KernelContext& ctx, std::size_t port)
    : m_first(ctx.inputs[port]), m_firstBias(ctx.inputs[port + 1]), m_second(ctx.inputs[port + 2]),
      m_secondBias(ctx.inputs[port + 3]), m_isRelu(ctx.attributes.text("activation") == "Relu"),
      m_alpha(static_cast<float>(ctx.attributes.number("alpha"))) {}

std::vector<float> ExcitationProducts::factors(const std::vector<float>& means) const {
    std::vector<float> inner = product(m_first, m_firstBias, means);
    if (m_isRelu)
        for (float& element : inner) element = element::Relu{}(element);
    else
        VectorMap{VectorFunction::swish, m_alpha}(inner.data(), inner.data(), std::ssize(inner));
    std::vector<float> out = product(m_second, m_secondBias, inner);
    VectorMap{VectorFunction::sigmoid}(out.data(), out.data(), std::ssize(out));
    return out;
}

void squeezeExciteKernel(const KernelContext& ctx) {
    const TensorView& y = ctx.outputs[0];
    if (y.elementCount() == 0) return;
    const TensorView& given = ctx.inputs[0];
    const bool isLast = isChannelsLast(y);
    const bool isSame = isLast ? isChannelsLast(given) : isDense(given);
    if (!isSame) copyElements(given, y);
    const auto* x = static_cast<const float*>(isSame ? given.data : y.data);
    auto* to = y.as<float>();
    const ExcitationProducts products(ctx, 1);
    const Planes p(y.shape);
    for (std::int64_t image = 0; image < p.batch;
         ++image, x += p.channels * p.size, to += p.channels * p.size) {
        const std::vector<float> means = isLast ? meansOfRows(x, p) : meansOfPlanes(x, p);
        const std::vector<float> factors = products.factors(means);
        (isLast ? scaleRows : scalePlanes)(x, factors, p, to);
    }
}

} // namespace twb
