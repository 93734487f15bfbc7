#include "ops/cast.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/host_number.h"
#include "ops/mel_bands.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace twb {
namespace {

/// A number of elements that a shape can have. Calls `refuse` for all others.
template <class Refuse> std::int64_t sizeFrom(double value, const char* what, const Refuse& refuse) {
    if (!(value >= 0) || value > 0x1p53) refuse(fmt::format("{} must be 0 or more, but is {}", what, value));
    return static_cast<std::int64_t>(value);
}

void inferWindow(InferContext& ctx) {
    std::int64_t size = kUnknownDim;
    if (const auto known = knownNumber(ctx, 0))
        size = sizeFrom(*known, "the size of a window", [&](const std::string& sentence) {
            ctx.fail(ctx.input(0) ? "shape-mismatch" : "attribute", ctx.input(0) ? 0 : -1, sentence);
        });
    ctx.output(0, {dtypeOf(ctx.attributes(), "output_datatype"), Shape{size}});
}

/// a₀ − a₁ cos(2πn/N) + a₂ cos(4πn/N), where N is one less for a symmetric window.
void fillWindow(const KernelContext& ctx, double a0, double a1, double a2) {
    const TensorView& out = ctx.outputs[0];
    const std::int64_t size = out.elementCount();
    const double period = static_cast<double>(ctx.attributes.flag("periodic") ? size : size - 1);
    Tensor keep = Tensor::onHost({DType::f64, out.shape});
    auto* const w = static_cast<double*>(keep.data());
    for (std::int64_t n = 0; n < size; ++n) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(n) / period;
        w[n] = period == 0 ? 1 : a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle);
    }
    convertElements(keep.view(), out);
}

void hannKernel(const KernelContext& ctx) { fillWindow(ctx, 0.5, 0.5, 0); }
void hammingKernel(const KernelContext& ctx) { fillWindow(ctx, 25.0 / 46, 21.0 / 46, 0); }
void blackmanKernel(const KernelContext& ctx) { fillWindow(ctx, 0.42, 0.5, 0.08); }

Op makeWindow(std::string name, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeOp(std::move(name), "Signal", 17, std::move(doc), std::move(formula));
    op.inputs = {hostNumber("size", "window_length", kIndices)};
    op.outputs = {port("output", "", kNumbers)};
    AttributeSpec size = integerAttribute("size", 10, "Number of elements if the input is not connected");
    size.minimum = 0;
    op.attributes = {
        std::move(size), dtypeAttribute("output_datatype", "f32", kNumbers, "Type of the elements"),
        flagAttribute("periodic", true,
                      "Periodic window for spectra: computed for one more element, which is left out")};
    op.tolerance = {1.2e-7, 1e-7};
    op.infer = inferWindow;
    op.kernel = kernel;
    return op;
}

void inferMel(InferContext& ctx) {
    const auto refuse = [&](const std::string& sentence) { ctx.fail("attribute", -1, sentence); };
    std::int64_t bins = kUnknownDim;
    std::int64_t spectrum = kUnknownDim;
    if (const auto known = knownNumber(ctx, 0)) bins = sizeFrom(*known, "num_mel_bins", refuse);
    if (const auto known = knownNumber(ctx, 1)) spectrum = sizeFrom(*known, "dft_length", refuse) / 2 + 1;
    for (int port : {2, 3, 4}) knownNumber(ctx, port);
    ctx.output(0, {dtypeOf(ctx.attributes(), "output_datatype"), Shape{spectrum, bins}});
}

void melKernel(const KernelContext& ctx) {
    std::array<double, 5> number{};
    for (std::size_t i = 0; i < number.size(); ++i)
        number[i] = hostNumberOf(ctx, static_cast<int>(i), kMelNumbers[i]).value_or(0);
    const TensorView& out = ctx.outputs[0];
    const std::int64_t rows = out.shape[0];
    const std::int64_t bins = out.shape[1];
    Tensor keep = Tensor::onHost({DType::f64, out.shape});
    auto* const weight = static_cast<double*>(keep.data());
    std::fill_n(weight, rows * bins, 0.0);
    const MelBands bands(number, bins);
    for (std::int64_t bin = 0; bin < bins; ++bin) {
        const auto corners = bands.cornersOf(bin);
        const std::int64_t last = std::min(std::max(corners.center, corners.upper - 1), rows - 1);
        for (std::int64_t row = std::max<std::int64_t>(corners.lower, 0); row <= last; ++row)
            weight[row * bins + bin] = corners.weightOf(row);
    }
    convertElements(keep.view(), out);
}

} // namespace

void addWindows(std::vector<Op>& table) {
    table.push_back(
        makeWindow("HannWindow", "Hann window: a raised cosine", "Y = 1/2 − 1/2 · cos(2πn / N)", hannKernel));
    table.push_back(makeWindow("HammingWindow", "Hamming window: a raised cosine that does not reach 0",
                               "Y = 25/46 − 21/46 · cos(2πn / N)", hammingKernel));
    table.push_back(makeWindow("BlackmanWindow", "Blackman window: a sum of two cosines with low side lobes",
                               "Y = 0.42 − 0.5 · cos(2πn / N) + 0.08 · cos(4πn / N)", blackmanKernel));

    Op mel = makeOp("MelWeightMatrix", "Signal", 17, "Matrix of weights that turns a spectrum into mel bands",
                    "mel = 2595 · log₁₀(1 + f / 700)");
    mel.inputs = {hostNumber("num_mel_bins", "n_mels", kIndices), hostNumber("dft_length", "n_fft", kIndices),
                  hostNumber("sample_rate", "", kIndices), hostNumber("lower_edge_hertz", "f_min", kFloats),
                  hostNumber("upper_edge_hertz", "f_max", kFloats)};
    mel.outputs = {port("output", "", kNumbers)};
    mel.attributes = {
        integerAttribute("num_mel_bins", 8, "Number of bands"),
        integerAttribute("dft_length", 16,
                         "Length of the transform; the spectrum has half as many elements, plus one"),
        integerAttribute("sample_rate", 8192, "Samples per second"),
        numberAttribute("lower_edge_hertz", 0, "Lower edge of the lowest band"),
        numberAttribute("upper_edge_hertz", 4096, "Upper edge of the highest band"),
        dtypeAttribute("output_datatype", "f32", kNumbers, "Type of the elements")};
    mel.tolerance = {1.2e-7, 1e-7};
    mel.infer = inferMel;
    mel.kernel = melKernel;
    table.push_back(std::move(mel));

    describe(table, "HannWindow", "→ output [size]");
    describe(table, "HammingWindow", "→ output [size]");
    describe(table, "BlackmanWindow", "→ output [size]");
    describe(table, "MelWeightMatrix", "→ output [⌊dft_length / 2⌋ + 1, num_mel_bins]");
}

} // namespace twb
