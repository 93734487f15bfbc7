#include "backends/cpu/elementwise.h"
#include "backends/cpu/reduction.h"
#include "ops/dispatch.h"
#include "ops/element_functions.h"
#include "ops/families.h"
#include "ops/schema.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

/// Shape after the axes marked in `reduced` are taken out, or kept as 1.
Shape reducedShape(const Shape& shape, const std::array<bool, kMaxRank>& reduced, bool keepDims) {
    std::vector<std::int64_t> dims;
    dims.reserve(static_cast<std::size_t>(shape.rank()));
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (!reduced[static_cast<std::size_t>(axis)])
            dims.push_back(shape[axis]);
        else if (keepDims)
            dims.push_back(1);
    }
    return Shape(std::move(dims));
}

void inferReduce(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    const int rank = data.shape.rank();
    const bool keepDims = ctx.attributes().flag("keepdims");
    const bool noop = ctx.attributes().flag("noop_with_empty_axes");
    std::array<bool, kMaxRank> reduced{};
    if (ctx.input(1)) {
        const int length = hostLength(ctx, 1);
        if (ctx.isDeferred(1) && length > 0) {
            // Axes are distinct, so their number fixes the rank; which sizes stay is not known.
            const int left = keepDims ? rank : rank - length;
            if (left < 0)
                ctx.fail("shape-mismatch", 1,
                         fmt::format("axes has {} entries, but data has {} dimensions", length, rank));
            ctx.output(0, {data.dtype,
                           Shape(std::vector<std::int64_t>(static_cast<std::size_t>(left), kUnknownDim))});
            return;
        }
    }
    const int port = ctx.input(1) ? 1 : -1;
    const auto axes = ctx.integers(1).value_or(std::vector<std::int64_t>{});
    if (axes.empty()) {
        if (!noop) reduced.fill(true);
        ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
        return;
    }
    for (std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axisOrFail(ctx, axis, rank, port));
        if (reduced[at])
            ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port,
                     fmt::format("dim {} appears multiple times in the list of dims", at));
        reduced[at] = true;
    }
    ctx.output(0, {data.dtype, reducedShape(data.shape, reduced, keepDims)});
}

void inferArgMax(InferContext& ctx) {
    const Shape& shape = ctx.input(0)->shape;
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), shape.rank(), -1);
    if (shape.rank() > 0 && shape[axis] == 0)
        ctx.fail("shape-mismatch", 0,
                 fmt::format("argmax(): Expected reduction dim {} to have non-zero size.", axis));
    std::array<bool, kMaxRank> reduced{};
    reduced[static_cast<std::size_t>(axis)] = true;
    ctx.output(0, {DType::i64, reducedShape(shape, reduced, ctx.attributes().flag("keepdims"))});
}

Cost reduceCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs, outputs, 0);
    cost.flops = countOf(inputs[0].shape);
    return cost;
}

/// Floats are summed in double, integers in wrapping 64 bits.
template <class T> struct SumRule {
    using Value = T;
    using State = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
    static constexpr bool splits = true;
    void add(State& state, T value, std::int64_t) const { state += static_cast<State>(value); }
    void merge(State& state, const State& later) const { state += later; }
    static T finish(const State& state) { return static_cast<T>(state); }
};

/// Of nothing: the least there is, as ONNX says. NaN wins, as in NumPy.
template <class T> struct MaxRule {
    using Value = T;
    struct State {
        T value = least();
    };
    static constexpr bool splits = true;
    static constexpr T least() {
        if constexpr (std::is_floating_point_v<T>)
            return -std::numeric_limits<T>::infinity();
        else if constexpr (std::is_same_v<T, element::Bool>)
            return T(false);
        else
            return std::numeric_limits<T>::min();
    }
    void add(State& state, T value, std::int64_t) const {
        if constexpr (std::is_same_v<T, element::Bool>) {
            if (value) state.value = T(true);
        } else {
            state.value = value > state.value || value != value ? value : state.value;
        }
    }
    void merge(State& state, const State& later) const { add(state, later.value, 0); }
};

/// The first of the largest, or the last; a NaN is larger than everything.
template <class T, bool Last> struct ArgMaxRule {
    using Value = T;
    struct State {
        T value{};
        std::int64_t at = -1;
    };
    static constexpr bool splits = false;
    void add(State& state, T value, std::int64_t at) const {
        // No comparison with NaN holds, so a NaN that was seen can lose to another one only.
        const bool isNaN = value != value;
        const bool wins = Last ? value >= state.value || isNaN
                               : value > state.value || (isNaN && state.value == state.value);
        if (wins || state.at < 0) state = {value, at};
    }
    void merge(State& state, const State& later) const {
        if (later.at >= 0) add(state, later.value, later.at);
    }
};

/// The axes of a launch: a connected list, or the attribute.
std::array<bool, kMaxRank> axesOf(const KernelContext& ctx) {
    const TensorView& data = ctx.inputs[0];
    const int rank = data.shape.rank();
    std::array<bool, kMaxRank> reduced{};
    std::vector<std::int64_t> axes;
    if (ctx.inputs.size() > 1 && ctx.inputs[1].data) {
        const TensorView& list = ctx.inputs[1];
        axes.resize(static_cast<std::size_t>(list.elementCount()));
        const Strides step = list.shape.rank() == 0 ? Strides{0} : list.strides;
        for (std::size_t i = 0; i < axes.size(); ++i)
            axes[i] = list.as<const std::int64_t>()[static_cast<std::int64_t>(i) * step[0]];
    } else if (ctx.attributes.has("axes")) {
        axes = ctx.attributes.integers("axes");
    }
    if (axes.empty() && !ctx.attributes.flag("noop_with_empty_axes")) reduced.fill(true);
    for (std::int64_t axis : axes) {
        // infer() has checked them; a list that only the run knew is checked here.
        const auto at = normalizeAxis(axis, std::max(rank, 1));
        if (!at)
            throw Error(
                ErrorCode::invalidArgument,
                fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                            -std::max(rank, 1), std::max(rank, 1) - 1, axis));
        reduced[static_cast<std::size_t>(*at)] = true;
    }
    return reduced;
}

void sumKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], axesOf(ctx));
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using Rule = SumRule<T>;
        T* const out = ctx.outputs[0].as<T>();
        reduce(view, Rule{}, [out](std::int64_t i, const auto& state) { out[i] = Rule::finish(state); });
    });
}

void meanKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], axesOf(ctx));
    const std::int64_t count = view.reduced.elementCount();
    withNumber(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = ctx.outputs[0].as<T>();
        if constexpr (std::is_integral_v<T>) {
            if (count == 0 && ctx.outputs[0].elementCount() > 0)
                throw Error(
                    ErrorCode::invalidArgument,
                    "ZeroDivisionError: the mean of no integers is an integer division by zero; cast to a "
                    "floating dtype for NaN");
            reduce(view, SumRule<T>{}, [=](std::int64_t i, std::uint64_t sum) {
                out[i] = static_cast<T>(static_cast<std::int64_t>(sum) / count);
            });
        } else {
            reduce(view, SumRule<T>{}, [=](std::int64_t i, double sum) {
                out[i] = static_cast<T>(sum / static_cast<double>(count));
            });
        }
    });
}

void maxKernel(const KernelContext& ctx) {
    const ReductionView view = splitAxes(ctx.inputs[0], axesOf(ctx));
    withNumberOrBool(ctx.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = ctx.outputs[0].as<T>();
        reduce(view, MaxRule<T>{}, [out](std::int64_t i, const auto& state) { out[i] = state.value; });
    });
}

void argMaxKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[0];
    std::array<bool, kMaxRank> reduced{};
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), std::max(in.shape.rank(), 1));
    reduced[static_cast<std::size_t>(axis)] = true;
    const ReductionView view = splitAxes(in, reduced);
    auto* const out = ctx.outputs[0].as<std::int64_t>();
    const auto store = [out](std::int64_t i, const auto& state) { out[i] = state.at; };
    withNumber(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        if (ctx.attributes.flag("select_last_index"))
            reduce(view, ArgMaxRule<T, true>{}, store);
        else
            reduce(view, ArgMaxRule<T, false>{}, store);
    });
}

Op makeReduction(std::string name, int opset, std::string doc, std::string formula, DTypeSet types,
                 HostKernel kernel) {
    Op op = makeOp(std::move(name), "Reduce", opset, std::move(doc), std::move(formula));
    op.inputs = {port("data", "self", types, "T"), hostPort("axes")};
    op.outputs = {port("reduced", "", types, "T")};
    op.attributes = {
        integersAttribute("axes", "Axes to reduce, negative ones from the end; absent: all"),
        flagAttribute("keepdims", true, "Keep reduced axes with size 1"),
        flagAttribute("noop_with_empty_axes", false, "Without axes, reduce nothing instead of everything")};
    op.infer = inferReduce;
    op.cost = reduceCost;
    op.kernel = kernel;
    return op;
}

} // namespace

void addReductions(std::vector<Op>& table) {
    Op sum = makeReduction("ReduceSum", 13, "Sum over axes", "Y = Σ X", kNumbers, viaFloat<sumKernel>);
    sum.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(sum));
    Op mean = makeReduction("ReduceMean", 18, "Mean over axes; integers are cut towards 0", "Y = Σ X / n",
                            kNumbers, viaFloat<meanKernel>);
    mean.tolerance = {1e-6, 1e-6};
    table.push_back(std::move(mean));
    table.push_back(makeReduction("ReduceMax", 20, "Largest element over axes; NaN wins", "Y = max X", kAll,
                                  viaFloat<maxKernel>));

    Op argMax = makeOp("ArgMax", "Reduce", 13, "Where along an axis the largest element is; NaN wins",
                       "Y = argmax X");
    argMax.inputs = {port("data", "self", kNumbers)};
    argMax.outputs = {port("reduced", "", DTypeSet{DType::i64})};
    argMax.attributes = {
        integerAttribute("axis", 0, "The axis to search along, negative from the end"),
        flagAttribute("keepdims", true, "Keep the axis with size 1"),
        flagAttribute("select_last_index", false, "Of equal largest elements take the last, not the first")};
    argMax.infer = inferArgMax;
    argMax.cost = reduceCost;
    argMax.kernel = viaFloat<argMaxKernel>;
    table.push_back(std::move(argMax));
}

} // namespace twb
