#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/host_number.h"
#include "ops/reduction_rules.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace twb {
namespace {

/// The number of adjacent columns accumulated in one pass, so that memory is read sequentially.
constexpr std::int64_t kColumns = 64;

void inferCumulative(InferContext& ctx) {
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

/// Rule: SumRule or ProductRule.
template <class Rule, class T>
void accumulateAlong(const T* in, T* out, std::int64_t length, std::int64_t stride, std::int64_t columns,
                     bool reverse, bool exclusive) {
    using State = typename Rule::State;
    const Rule rule;
    std::array<State, kColumns> states;
    std::fill_n(states.begin(), columns, State{});
    for (std::int64_t n = 0; n < length; ++n) {
        const std::int64_t i = (reverse ? length - 1 - n : n) * stride;
        for (std::int64_t c = 0; c < columns; ++c) {
            State& state = states[static_cast<std::size_t>(c)];
            const State before = state;
            rule.add(state, in[i + c], n);
            out[i + c] = static_cast<T>(Rule::finish(exclusive ? before : state));
        }
    }
}

template <template <class> class Rule> void cumulativeKernel(const KernelContext& ctx) {
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
                accumulateAlong<Rule<T>>(in.as<const T>() + first, out.as<T>() + first, length, inner,
                                         std::min(kColumns, inner - column), reverse, exclusive);
            }
        });
    });
}

template <class T> struct Sums : SumRule<T> {
    static auto finish(Wide<T> state) { return state; }
};
template <class T> struct Products : ProductRule<T> {
    static auto finish(const typename ProductRule<T>::State& state) { return state.value; }
};

/// The derivative of y_j with respect to x_i is the product of the elements before i, times that of the
/// elements between i and j. No division, so that elements may be 0. Needs the square of the axis's size.
void cumProdGradient(GradientContext& g) {
    const GraphTensor x = g.input();
    const Shape& shape = x.shape();
    const bool exclusive = g.attributes().flag("exclusive");
    if (shape.rank() == 0 || shape.elementCount() == 0)
        return g.give(0, exclusive ? zerosLike(x) : g.gradient());
    const int axis = *normalizeAxis(static_cast<std::int64_t>(*g.number(1)), shape.rank());
    const bool reverse = g.attributes().flag("reverse");
    const std::int64_t size = shape[axis];
    const auto product = [&](GraphTensor of, int along, bool without) {
        return apply("CumProd", {of},
                     {{"axis", std::int64_t{along}}, {"exclusive", without}, {"reverse", reverse}});
    };
    // The elements i lie along `axis`, the elements j along the next axis.
    std::vector<std::int64_t> dims = shape.dims();
    dims.insert(dims.begin() + axis, 1);
    const int behind = shape.rank() - 1 - axis;
    const GraphTensor rows = progression(g, DType::i64, size, 0, 1, behind + 1);
    const GraphTensor columns = progression(g, DType::i64, size, 0, 1, behind);
    const GraphTensor i = reverse ? columns : rows;
    const GraphTensor j = reverse ? rows : columns;
    const GraphTensor factors = where(apply("LessOrEqual", {j, i}), 1, reshape(x, Shape(dims)));
    const GraphTensor between = product(factors, axis + 1, exclusive);
    const GraphTensor isPart = apply(exclusive ? "Less" : "LessOrEqual", {i, j});
    const GraphTensor terms = where(isPart, between * reshape(g.gradient(), Shape(dims)));
    g.give(0, product(x, axis, true) * reshape(sumOver(terms, {axis + 1}), shape));
}

Op makeCumulative(std::string name, int opset, std::string doc, std::string formula, HostKernel kernel) {
    Op op = makeUnary(std::move(name), "Reduce", opset, std::move(doc), std::move(formula), kMatrixTypes, 1,
                      kernel);
    op.channelsLast = ChannelsLast::no;
    op.inputs[0].name = "x";
    op.outputs[0].name = "y";
    op.inputs.push_back(hostNumber("axis", "dim", kIndices));
    op.attributes = {integerAttribute("axis", 0, "The axis to work along, negative from the end"),
                     flagAttribute("exclusive", false, "Exclude each element from its own result"),
                     flagAttribute("reverse", false, "Start from the end")};
    op.tolerance = {1e-6, 1e-6};
    op.infer = inferCumulative;
    return op;
}

} // namespace

void addCumulative(std::vector<Op>& table) {
    Op sum = makeCumulative("CumSum", 14, "Cumulative sum along an axis", "Yᵢ = X₀ + … + Xᵢ",
                            viaFloat<cumulativeKernel<Sums>>);
    sum.gradient = [](GradientContext& g) {
        g.give(0, apply("CumSum", {g.gradient()},
                        {{"axis", static_cast<std::int64_t>(*g.number(1))},
                         {"exclusive", g.attributes().flag("exclusive")},
                         {"reverse", !g.attributes().flag("reverse")}}));
    };
    table.push_back(std::move(sum));

    Op product = makeCumulative("CumProd", 26, "Cumulative product along an axis", "Yᵢ = X₀ · … · Xᵢ",
                                viaFloat<cumulativeKernel<Products>>);
    product.gradient = cumProdGradient;
    table.push_back(std::move(product));

    describe(table, "CumSum", "y has the shape of x", {}, {{"axis", std::int64_t{1}}});
    describe(table, "CumProd", "y has the shape of x", {}, {{"axis", std::int64_t{1}}});
}

} // namespace twb
