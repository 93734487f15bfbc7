#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/dispatch.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/host_number.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twb {
namespace {

/// The number of adjacent columns summed in one pass, so that memory is read sequentially.
constexpr std::int64_t kColumns = 64;

void inferCumSum(InferContext& ctx) {
    const TensorType& x = *ctx.input(0);
    if (const auto axis = knownNumber(ctx, 1))
        axisOrFail(ctx, element::cast<std::int64_t>(*axis), x.shape.rank(), ctx.input(1) ? 1 : -1);
    ctx.output(0, x);
}

int axisOf(const KernelContext& ctx) {
    const double axis = hostNumberOf(ctx, 1, "axis").value_or(0);
    const int axes = std::max(ctx.inputs[0].shape.rank(), 1);
    if (const auto normal = normalizeAxis(element::cast<std::int64_t>(axis), axes)) return *normal;
    throw Error(ErrorCode::invalidArgument,
                fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -axes,
                            axes - 1, axis));
}

template <class T>
void sumAlong(const T* in, T* out, std::int64_t length, std::int64_t stride, std::int64_t columns,
              bool reverse, bool exclusive) {
    std::array<Wide<T>, kColumns> sum;
    std::fill_n(sum.begin(), columns, Wide<T>{0});
    for (std::int64_t n = 0; n < length; ++n) {
        const std::int64_t i = (reverse ? length - 1 - n : n) * stride;
        for (std::int64_t c = 0; c < columns; ++c) {
            Wide<T>& total = sum[static_cast<std::size_t>(c)];
            const auto before = total;
            total += static_cast<Wide<T>>(in[i + c]);
            out[i + c] = static_cast<T>(exclusive ? before : total);
        }
    }
}

void cumSumKernel(const KernelContext& ctx) {
    const int axis = axisOf(ctx);
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    TensorView in = ctx.inputs[0];
    if (!isDense(in)) {
        copyElements(in, out);
        in = out;
    }
    const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[axis];
    std::int64_t inner = 1;
    for (int i = axis + 1; i < out.shape.rank(); ++i) inner *= out.shape[i];
    const std::int64_t blocks = (inner + kColumns - 1) / kColumns;
    const std::int64_t outer = out.elementCount() / (length * inner);
    const bool reverse = ctx.attributes.flag("reverse");
    const bool exclusive = ctx.attributes.flag("exclusive");
    withMatrixType(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        parallelRanges(outer * blocks, out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t column = i % blocks * kColumns;
                const std::int64_t first = i / blocks * length * inner + column;
                sumAlong(in.as<const T>() + first, out.as<T>() + first, length, inner,
                         std::min(kColumns, inner - column), reverse, exclusive);
            }
        });
    });
}

} // namespace

void addCumSum(std::vector<Op>& table) {
    Op op = makeUnary("CumSum", "Reduce", 14, "Cumulative sum along an axis", "Yᵢ = X₀ + … + Xᵢ",
                      kMatrixTypes, 1, viaFloat<cumSumKernel>);
    op.channelsLast = ChannelsLast::no;
    op.inputs[0].name = "x";
    op.outputs[0].name = "y";
    op.inputs.push_back(hostNumber("axis", "dim", kIndices));
    op.attributes = {integerAttribute("axis", 0, "The axis to sum along, negative from the end"),
                     flagAttribute("exclusive", false, "Leave each element out of its own sum"),
                     flagAttribute("reverse", false, "Sum from the end")};
    op.tolerance = {1e-6, 1e-6};
    op.infer = inferCumSum;
    op.gradient = [](GradientContext& g) {
        g.give(0, apply("CumSum", {g.gradient()},
                        {{"axis", static_cast<std::int64_t>(*g.number(1))},
                         {"exclusive", g.attributes().flag("exclusive")},
                         {"reverse", !g.attributes().flag("reverse")}}));
    };
    table.push_back(std::move(op));
}

} // namespace twb
