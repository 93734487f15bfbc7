#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/kernel_inputs.h"
#include "ops/schema.h"
#include "ops/view_copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace twb {
namespace {

using List = std::vector<std::int64_t>;

/// The elements of an axis that Slice selects.
struct AxisSlice {
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;
};

/// An end beyond the axis is clamped; a negative step counts down. Unlike in NumPy, a start before the axis
/// is clamped to the first element for negative steps, too (ONNX Slice-13).
AxisSlice sliceOf(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
    if (start < 0) start += size;
    if (end < 0) end += size;
    if (size == 0) return {};
    if (step > 0) {
        start = std::clamp<std::int64_t>(start, 0, size);
        end = std::clamp<std::int64_t>(end, 0, size);
        return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
    }
    start = std::clamp<std::int64_t>(start, 0, size - 1);
    end = std::clamp<std::int64_t>(end, -1, size - 1);
    if (start <= end) return {};
    const std::uint64_t down = 0 - static_cast<std::uint64_t>(step);
    const std::uint64_t reach = static_cast<std::uint64_t>(start - end) - 1;
    return {start, step, static_cast<std::int64_t>(reach / down) + 1};
}

enum SlicePort { kData, kStarts, kEnds, kAxes, kSteps };

/// The four lists of a Slice. Calls fail(port, sentence) for an invalid one. The default axes are the first
/// ones.
struct SliceLists {
    List starts;
    List ends;
    List axes;
    List steps;
};

template <class Context, class Fail> SliceLists sliceLists(const Context& ctx, int rank, const Fail& fail) {
    const auto starts = hostIntegers(ctx, kStarts, "starts");
    const auto ends = hostIntegers(ctx, kEnds, "ends");
    if (!starts || !ends)
        fail(starts ? kEnds : kStarts,
             fmt::format("Slice needs {0}: connect them, or set the attribute \"{0}\"",
                         starts ? "ends" : "starts"));
    SliceLists lists{*starts, *ends, {}, {}};
    const std::size_t count = lists.starts.size();
    if (const auto axes = hostIntegers(ctx, kAxes, "axes")) {
        lists.axes = *axes;
    } else {
        for (std::size_t i = 0; i < count; ++i) lists.axes.push_back(static_cast<std::int64_t>(i));
    }
    lists.steps = hostIntegers(ctx, kSteps, "steps").value_or(List(count, 1));
    const std::array<std::pair<const List*, const char*>, 3> others{
        {{&lists.ends, "ends"}, {&lists.axes, "axes"}, {&lists.steps, "steps"}}};
    for (std::size_t i = 0; i < others.size(); ++i)
        if (others[i].first->size() != count)
            fail(kEnds + static_cast<int>(i),
                 fmt::format("starts has {} entries, but {} has {}; both need the same number", count,
                             others[i].second, others[i].first->size()));
    std::array<bool, kMaxRank> seen{};
    for (std::size_t i = 0; i < count; ++i) {
        const auto axis = normalizeAxis(lists.axes[i], rank);
        if (!axis)
            fail(kAxes,
                 fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                             -rank, rank - 1, lists.axes[i]));
        if (seen[static_cast<std::size_t>(*axis)])
            fail(kAxes, fmt::format("dim {} appears multiple times in the list of dims", *axis));
        seen[static_cast<std::size_t>(*axis)] = true;
        lists.axes[i] = *axis;
        if (lists.steps[i] == 0) fail(kSteps, "slice step cannot be zero");
    }
    return lists;
}

void inferSlice(InferContext& ctx) {
    const TensorType& data = *ctx.input(kData);
    Shape shape = data.shape;
    const bool deferred = ctx.isDeferred(kStarts) || ctx.isDeferred(kEnds) || ctx.isDeferred(kSteps);
    if (deferred || ctx.isDeferred(kAxes)) {
        const auto axes = ctx.integers(kAxes);
        const TensorType* starts = ctx.input(kStarts);
        for (int axis = 0; axis < shape.rank(); ++axis) {
            bool sliced = true;
            if (axes)
                sliced = std::any_of(axes->begin(), axes->end(),
                                     [&](std::int64_t a) { return normalizeAxis(a, shape.rank()) == axis; });
            else if (!ctx.isDeferred(kAxes) && starts && starts->shape.rank() == 1 && starts->isKnown())
                sliced = axis < starts->shape[0];
            if (sliced) shape[axis] = kUnknownDim;
        }
        ctx.output(0, {data.dtype, std::move(shape)});
        return;
    }
    const SliceLists lists = sliceLists(ctx, shape.rank(), [&](int port, const std::string& sentence) {
        const bool connected = ctx.input(port) != nullptr;
        ctx.fail(connected ? "shape-mismatch" : "attribute", connected ? port : -1, sentence);
    });
    for (std::size_t i = 0; i < lists.axes.size(); ++i) {
        std::int64_t& size = shape[static_cast<int>(lists.axes[i])];
        if (size != kUnknownDim) size = sliceOf(size, lists.starts[i], lists.ends[i], lists.steps[i]).count;
    }
    ctx.output(0, {data.dtype, std::move(shape)});
}

void sliceKernel(const KernelContext& ctx) { sliceViews(ctx, copyElements); }

// Split

/// The parts of an axis of known `size`. Calls fail(sentence) for an invalid list.
template <class Fail>
List partsOf(const std::optional<List>& split, std::int64_t size, int axis, std::int64_t outputs,
             const Fail& fail) {
    List parts;
    if (split) {
        const std::string text = fmt::format("[{}]", fmt::join(*split, ", "));
        std::int64_t sum = 0;
        bool overflow = false;
        for (std::int64_t part : *split) {
            if (part < 0)
                fail(fmt::format("split_with_sizes expects split_sizes have only non-negative entries, but "
                                 "got split_sizes={}",
                                 text));
            overflow = __builtin_add_overflow(sum, part, &sum) || overflow;
        }
        if (overflow || sum != size)
            fail(fmt::format("split_with_sizes expects split_sizes to sum exactly to {} (input tensor's size "
                             "at dimension {}), but got split_sizes={}",
                             size, axis, text));
        return *split;
    }
    const std::int64_t chunk = size / outputs + (size % outputs != 0 ? 1 : 0);
    for (std::int64_t i = 0, left = size; i < outputs; ++i) {
        parts.push_back(std::min(chunk, left));
        left -= parts.back();
    }
    return parts;
}

void inferSplit(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    if (data.shape.rank() == 0)
        ctx.fail("shape-mismatch", 0, "split expects at least a 1-dimensional tensor");
    const int axis = axisOrFail(ctx, ctx.attributes().integer("axis"), data.shape.rank(), -1);
    const std::int64_t outputs = ctx.attributes().integer("num_outputs");
    const int port = ctx.input(1) ? 1 : -1;
    const auto refuse = [&](const std::string& sentence) {
        ctx.fail(port < 0 ? "attribute" : "shape-mismatch", port, sentence);
    };
    const auto split = ctx.integers(1);
    if (split && static_cast<std::int64_t>(split->size()) != outputs)
        refuse(fmt::format("split has {} entries, but Split has {} outputs; set num_outputs to {}",
                           split->size(), outputs, split->size()));
    List parts;
    const std::int64_t size = data.shape[axis];
    if (ctx.isDeferred(1) || (size == kUnknownDim && !split))
        parts.assign(static_cast<std::size_t>(outputs), kUnknownDim);
    else if (size == kUnknownDim)
        // An unknown size may equal their sum.
        for (std::int64_t part : *split) parts.push_back(part < 0 ? kUnknownDim : part);
    else
        parts = partsOf(split, size, axis, outputs, refuse);
    for (std::int64_t i = 0; i < outputs; ++i) {
        Shape shape = data.shape;
        shape[axis] = parts[static_cast<std::size_t>(i)];
        ctx.output(static_cast<int>(i), {data.dtype, std::move(shape)});
    }
}

void splitKernel(const KernelContext& ctx) { splitViews(ctx, copyElements); }

PortSpec indexList(std::string name) {
    PortSpec spec = hostPort(std::move(name));
    spec.types = kIndices;
    spec.typeVariable = "Tind";
    return spec;
}

} // namespace

void sliceViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& out = ctx.outputs[0];
    if (out.elementCount() == 0) return;
    TensorView in = ctx.inputs[kData];
    const SliceLists lists = sliceLists(ctx, in.shape.rank(), [](int, const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < lists.axes.size(); ++i) {
        const auto axis = static_cast<int>(lists.axes[i]);
        std::int64_t& stride = in.strides[static_cast<std::size_t>(axis)];
        const AxisSlice slice = sliceOf(in.shape[axis], lists.starts[i], lists.ends[i], lists.steps[i]);
        offset += slice.start * stride;
        stride = slice.count > 1 ? stride * slice.step : 0;
        in.shape[axis] = slice.count;
    }
    if (in.shape != out.shape)
        throw Error(ErrorCode::failed,
                    "the inputs of Slice have changed since the size of its result was computed");
    copy(movedBy(std::move(in), offset), out);
}

void splitViews(const KernelContext& ctx, const CopyViews& copy) {
    TensorView in = ctx.inputs[0];
    const int axis = *normalizeAxis(ctx.attributes.integer("axis"), in.shape.rank());
    const auto parts = partsOf(
        hostIntegers(ctx, 1, "split"), in.shape[axis], axis, static_cast<std::int64_t>(ctx.outputs.size()),
        [](const std::string& sentence) { throw Error(ErrorCode::invalidArgument, sentence); });
    const std::int64_t stride = in.strides[static_cast<std::size_t>(axis)];
    for (std::size_t i = 0; i < ctx.outputs.size() && i < parts.size(); ++i) {
        in.shape[axis] = parts[i];
        if (ctx.outputs[i].data) copy(in, ctx.outputs[i]);
        in = movedBy(std::move(in), parts[i] * stride);
    }
}

/// Zeros around the gradient, and between its elements if the step is not 1.
static void sliceGradient(GradientContext& g) {
    const Shape& from = g.input().shape();
    const std::vector<std::int64_t> starts = *g.integers(1);
    std::vector<std::int64_t> axes(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
    axes = g.integers(3).value_or(axes);
    const std::vector<std::int64_t> steps =
        g.integers(4).value_or(std::vector<std::int64_t>(starts.size(), 1));
    GraphTensor dx = g.gradient();
    std::vector<std::int64_t> pads(2 * static_cast<std::size_t>(from.rank()), 0);
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const int axis = static_cast<int>(axes[i] < 0 ? axes[i] + from.rank() : axes[i]);
        const std::int64_t size = from[axis];
        const std::int64_t count = dx.shape()[axis];
        const std::int64_t start = std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + size : starts[i], 0,
                                                            steps[i] > 0 ? size : size - 1);
        if (steps[i] == 1) {
            pads[static_cast<std::size_t>(axis)] = start;
            pads[static_cast<std::size_t>(axis + from.rank())] = size - start - count;
            continue;
        }
        Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(from.rank()), 1));
        line[axis] = count;
        const GraphTensor places = g.add("Arange", {},
                                         {{"start", static_cast<double>(start)},
                                          {"limit", static_cast<double>(start + steps[i] * count)},
                                          {"delta", static_cast<double>(steps[i])},
                                          {"dtype", "i64"}});
        Shape spread = dx.shape();
        spread[axis] = size;
        dx = apply("ScatterElements",
                   {full(g, {dx.type().dtype, spread}, 0), expand(reshape(places, line), dx.shape()), dx},
                   {{"axis", std::int64_t{axis}}});
    }
    if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }))
        dx = apply("Pad", {dx}, {{"pads", pads}});
    g.give(0, dx);
}

static void splitGradient(GradientContext& g) {
    std::vector<GraphTensor> parts;
    for (int i = 0; i < g.outputCount(); ++i) {
        const GraphTensor part = g.gradient(i);
        parts.push_back(part ? part : full(g, g.output(i).type(), 0));
    }
    g.give(0, g.add("Concat", parts, {{"axis", g.attributes().integer("axis")}}));
}

void addSliceOps(std::vector<Op>& table) {
    Op slice = makeOp("Slice", "Shape", 13, "Every step-th element from start to end, end excluded",
                      "output = data[start : end : step]");
    slice.inputs = {port("data", "self", kAll, "T"), indexList("starts"), indexList("ends"),
                    indexList("axes"), indexList("steps")};
    slice.outputs = {port("output", "", kAll, "T")};
    slice.attributes = {
        integersAttribute("starts", "First element along each axis, negative from the end"),
        integersAttribute("ends", "End of the slice, limited to the axis"),
        integersAttribute("axes", "Axes to slice, negative from the end; absent: the first ones"),
        integersAttribute("steps", "Distance between the elements taken, negative backwards; absent: 1")};
    slice.infer = inferSlice;
    slice.cost = gatherCost;
    slice.kernel = sliceKernel;
    slice.gradient = sliceGradient;
    table.push_back(std::move(slice));

    Op split = makeOp("Split", "Shape", 18, "Splits a tensor along an axis; the last part may be smaller");
    split.inputs = {port("input", "self", kAll, "T"), hostPort("split")};
    PortSpec parts = variadicPort("outputs", "", kAll, "T");
    parts.optional = true;
    split.outputs = {std::move(parts)};
    AttributeSpec count = integerAttribute("num_outputs", 2, "Number of parts");
    count.minimum = 1;
    count.maximum = 4096;
    split.attributes = {integerAttribute("axis", 0, "Axis of the split, negative from the end"),
                        std::move(count),
                        shapeAttribute("split", std::nullopt, 0, "Size of each part; absent: equal ones")};
    split.infer = inferSplit;
    split.cost = gatherCost;
    split.kernel = splitKernel;
    split.gradient = splitGradient;
    table.push_back(std::move(split));

    describe(table, "Slice", "data → output; starts, ends, axes and steps have one entry per sliced axis",
             {operand({3, 4})}, {{"starts", Integers{0}}, {"ends", Integers{2}}, {"axes", Integers{0}}});
    describe(table, "Split", "input → outputs, whose sizes along axis add up to that of input",
             {operand({4, 3})})
        .formula = "[Y₀ Y₁ …] = X along axis";
}

} // namespace twb
