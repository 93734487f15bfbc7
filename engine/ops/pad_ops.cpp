#include "backends/cpu/parallel.h"
#include "ops/composition.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/kernel_inputs.h"
#include "ops/padding.h"
#include "ops/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace twb {
namespace {

using List = std::vector<std::int64_t>;

enum PadPort { kData, kPads, kConstant, kAxes };

/// The paddings of each axis. Calls fail(port, sentence) for an invalid list.
template <class Context, class Fail> Paddings paddingsOf(const Context& ctx, int rank, const Fail& fail) {
    const auto pads = hostIntegers(ctx, kPads, "pads");
    if (!pads) fail(kPads, "Pad needs pads: connect them, or set the attribute \"pads\"");
    auto axes = hostIntegers(ctx, kAxes, "axes");
    if (!axes) {
        axes.emplace();
        for (int axis = 0; axis < rank; ++axis) axes->push_back(axis);
    }
    if (pads->size() != 2 * axes->size())
        fail(kPads, fmt::format("pads has {} entries, but {} axes are padded; give the sizes before each and "
                                "then those after each",
                                pads->size(), axes->size()));
    Paddings out;
    std::array<bool, kMaxRank> seen{};
    for (std::size_t i = 0; i < axes->size(); ++i) {
        const auto axis = normalizeAxis((*axes)[i], rank);
        if (!axis)
            fail(kAxes,
                 fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})",
                             -rank, rank - 1, (*axes)[i]));
        const auto at = static_cast<std::size_t>(*axis);
        if (seen[at]) fail(kAxes, fmt::format("dim {} appears multiple times in the list of dims", at));
        seen[at] = true;
        out[at] = {(*pads)[i], (*pads)[i + axes->size()]};
    }
    return out;
}

void inferPad(InferContext& ctx) {
    const TensorType& data = *ctx.input(kData);
    const int rank = data.shape.rank();
    if (ctx.isDeferred(kPads) || ctx.isDeferred(kAxes)) {
        ctx.output(0, {data.dtype, Shape(List(static_cast<std::size_t>(rank), kUnknownDim))});
        return;
    }
    hostNumber(ctx, kConstant, "constant_value");
    const Paddings paddings = paddingsOf(ctx, rank, [&](int port, const std::string& sentence) {
        const bool connected = ctx.input(port) != nullptr;
        ctx.fail(connected ? "shape-mismatch" : "attribute", connected ? port : -1, sentence);
    });
    const int from = ctx.input(kPads) ? static_cast<int>(kPads) : -1;
    const PadMode mode = padModeOf(ctx.attributes());
    Shape shape = data.shape;
    for (int axis = 0; axis < rank; ++axis) {
        const Padding padding = paddings[static_cast<std::size_t>(axis)];
        std::int64_t& size = shape[axis];
        if (size == kUnknownDim) continue;
        std::int64_t padded = 0;
        if (__builtin_add_overflow(padding.before, padding.after, &padded) ||
            __builtin_add_overflow(padded, size, &padded))
            ctx.fail("too-large", from,
                     fmt::format("the size of the result along dimension {} does not fit in 64 bits", axis));
        if (padded < 0)
            ctx.fail("shape-mismatch", from,
                     fmt::format("The input size {}, plus negative padding {} and {}, resulted in a negative "
                                 "output size, which is invalid. Check dimension {} of your input.",
                                 size, padding.before, padding.after, axis));
        if (mode != PadMode::constant && padded > 0 && keptOf(size, padding).count == 0)
            ctx.fail("shape-mismatch", from,
                     fmt::format("can't extend empty axis {} using modes other than 'constant'", axis));
        size = padded;
    }
    ctx.output(0, {data.dtype, std::move(shape)});
}

/// Fills `out` from `in` with one table per axis: the source index of each element.
template <class T>
void padElements(const TensorView& in, const TensorView& out, const std::vector<List>& sources, T constant) {
    const int rank = out.shape.rank();
    const T* const from = in.as<const T>();
    T* const to = out.as<T>();
    if (rank == 0) {
        *to = *from;
        return;
    }
    const List& last = sources.back();
    const auto length = static_cast<std::int64_t>(last.size());
    const std::int64_t step = in.strides.back();
    // The elements between the paddings, which are in the same order as in the input.
    std::int64_t low = 0;
    while (low < length && last[static_cast<std::size_t>(low)] < 0) ++low;
    std::int64_t high = low;
    while (high < length && last[static_cast<std::size_t>(high)] >= 0 &&
           last[static_cast<std::size_t>(high)] == last[static_cast<std::size_t>(low)] + high - low)
        ++high;
    std::int64_t rows = 1;
    for (int axis = 0; axis < rank - 1; ++axis) rows *= out.shape[axis];
    parallelRanges(rows, rows * length, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            T* const line = to + row * length;
            std::int64_t offset = 0;
            bool outside = false;
            std::int64_t rest = row;
            for (int axis = rank - 2; axis >= 0; --axis) {
                const auto a = static_cast<std::size_t>(axis);
                const std::int64_t source = sources[a][static_cast<std::size_t>(rest % out.shape[axis])];
                rest /= out.shape[axis];
                outside = outside || source < 0;
                offset += source * in.strides[a];
            }
            if (outside) {
                std::fill_n(line, length, constant);
                continue;
            }
            const auto one = [&](std::int64_t i) {
                const std::int64_t source = last[static_cast<std::size_t>(i)];
                line[i] = source < 0 ? constant : from[offset + source * step];
            };
            for (std::int64_t i = 0; i < low; ++i) one(i);
            if (step == 1 && high > low)
                std::memcpy(line + low, from + offset + last[static_cast<std::size_t>(low)],
                            static_cast<std::size_t>(high - low) * sizeof(T));
            else
                for (std::int64_t i = low; i < high; ++i) one(i);
            for (std::int64_t i = high; i < length; ++i) one(i);
        }
    });
}

void padWith(const TensorView& in, const TensorView& out, const Paddings& paddings, PadMode mode,
             const void* constant) {
    if (out.elementCount() == 0) return;
    std::vector<List> sources;
    for (int axis = 0; axis < out.shape.rank(); ++axis) {
        const Padding padding = paddings[static_cast<std::size_t>(axis)];
        const Kept kept = keptOf(in.shape[axis], padding);
        const std::int64_t shift = shiftOf(padding, kept);
        List& list = sources.emplace_back(static_cast<std::size_t>(out.shape[axis]));
        for (std::size_t i = 0; i < list.size(); ++i)
            list[i] = sourceOf(static_cast<std::int64_t>(i) - shift, kept, mode);
    }
    withElementSize(out.dtype, [&](auto element) {
        if (constant) std::memcpy(&element, constant, sizeof(element));
        padElements(in, out, sources, element);
    });
}

void padKernel(const KernelContext& ctx) {
    const TensorView& in = ctx.inputs[kData];
    const TensorView& out = ctx.outputs[0];
    const Paddings paddings = paddingsOfPad(ctx);
    const PadMode mode = padModeOf(ctx.attributes);
    if (ctx.inputs.size() > kConstant && ctx.inputs[kConstant].data)
        return padWith(in, out, paddings, mode, ctx.inputs[kConstant].data);
    withAny(out.dtype, [&](auto zero) {
        const auto constant = element::cast<decltype(zero)>(ctx.attributes.number("constant_value"));
        padWith(in, out, paddings, mode, &constant);
    });
}

// CenterCropPad

/// Paddings by axis. If the difference is odd, the extra element is cut off or added at the end.
Paddings centred(const List& wanted, const List& axes, const Shape& shape) {
    Paddings out;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t more = wanted[i] - shape[static_cast<int>(axes[i])];
        out[static_cast<std::size_t>(axes[i])] = {more / 2, more - more / 2};
    }
    return out;
}

List axesOfCrop(const Attributes& attributes, int rank) {
    List axes;
    if (attributes.has("axes"))
        for (std::int64_t axis : attributes.integers("axes"))
            axes.push_back(normalizeAxis(axis, rank).value_or(-1));
    else
        for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

void inferCenterCropPad(InferContext& ctx) {
    const TensorType& data = *ctx.input(0);
    Shape shape = data.shape;
    const int port = ctx.input(1) ? 1 : -1;
    if (ctx.attributes().has("axes"))
        for (std::int64_t axis : ctx.attributes().integers("axes")) axisOrFail(ctx, axis, shape.rank(), -1);
    const List axes = axesOfCrop(ctx.attributes(), shape.rank());
    std::array<bool, kMaxRank> seen{};
    for (std::int64_t axis : axes) {
        if (axis < 0) ctx.fail("shape-mismatch", 0, "a scalar has no axes to crop or pad");
        if (seen[static_cast<std::size_t>(axis)])
            ctx.fail("attribute", -1, fmt::format("dim {} appears multiple times in the list of dims", axis));
        seen[static_cast<std::size_t>(axis)] = true;
    }
    if (ctx.isDeferred(1)) {
        for (std::int64_t axis : axes) shape[static_cast<int>(axis)] = kUnknownDim;
        ctx.output(0, {data.dtype, std::move(shape)});
        return;
    }
    const char* const kind = port < 0 ? "attribute" : "shape-mismatch";
    const auto wanted = ctx.integers(1);
    if (!wanted)
        ctx.fail("attribute", -1, "CenterCropPad needs a shape: connect one, or set the attribute \"shape\"");
    if (wanted->size() != axes.size())
        ctx.fail(kind, port,
                 fmt::format("shape has {} entries, but {} axes are cropped or padded; give one for each",
                             wanted->size(), axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if ((*wanted)[i] < 0) ctx.fail(kind, port, fmt::format("invalid shape dimension {}", (*wanted)[i]));
        shape[static_cast<int>(axes[i])] = (*wanted)[i];
    }
    ctx.output(0, {data.dtype, std::move(shape)});
}

/// What was cropped is padded, and the other way round.
void centerCropPadGradient(GradientContext& g) {
    const Shape& shape = g.input().shape();
    const List axes = axesOfCrop(g.attributes(), shape.rank());
    List sizes;
    for (const std::int64_t axis : axes) sizes.push_back(shape[static_cast<int>(axis)]);
    g.give(0, apply("CenterCropPad", {g.gradient()}, {{"shape", sizes}, {"axes", axes}}));
}

void centerCropPadKernel(const KernelContext& ctx) {
    padWith(ctx.inputs[0], ctx.outputs[0], paddingsOfCrop(ctx), PadMode::constant, nullptr);
}

PortSpec indexList(std::string name, std::string variable) {
    PortSpec spec = hostPort(std::move(name));
    spec.types = kIndices;
    spec.typeVariable = std::move(variable);
    return spec;
}

} // namespace

PadMode padModeOf(const Attributes& attributes) {
    const std::string& text = attributes.text("mode");
    return text == "constant"  ? PadMode::constant
           : text == "reflect" ? PadMode::reflect
           : text == "edge"    ? PadMode::edge
                               : PadMode::wrap;
}

Paddings paddingsOfPad(const KernelContext& ctx) {
    return paddingsOf(ctx, ctx.inputs[kData].shape.rank(), [](int, const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
}

Paddings paddingsOfCrop(const KernelContext& ctx) {
    const Shape& shape = ctx.inputs[0].shape;
    const List axes = axesOfCrop(ctx.attributes, shape.rank());
    List wanted;
    for (std::int64_t axis : axes) wanted.push_back(ctx.outputs[0].shape[static_cast<int>(axis)]);
    return centred(wanted, axes, shape);
}

Kept keptOf(std::int64_t size, Padding padding) {
    const std::int64_t first = padding.before < 0 ? -std::max(padding.before, -size) : 0;
    const std::int64_t lost = padding.after < 0 ? -std::max(padding.after, -size) : 0;
    return {first, std::max<std::int64_t>(size - first - lost, 0)};
}

/// Pad without constants: along each axis, the elements that the result is copied from.
static std::vector<GraphTensor> paddedByCopies(GradientContext& g) {
    const Shape& in = g.input().shape();
    const List pads = *g.integers(kPads);
    const std::size_t count = pads.size() / 2;
    const PadMode mode = padModeOf(g.attributes());
    const auto axes = g.integers(kAxes);
    GraphTensor out = g.input();
    for (std::size_t i = 0; i < count; ++i) {
        const int axis = axes ? normalizeAxis((*axes)[i], in.rank()).value_or(0) : static_cast<int>(i);
        const Padding padding{pads[i], pads[i + count]};
        if (padding.before == 0 && padding.after == 0) continue;
        const Kept kept = keptOf(in[axis], padding);
        std::vector<double> from;
        for (std::int64_t place = 0; place < in[axis] + padding.before + padding.after; ++place)
            from.push_back(static_cast<double>(sourceOf(place - shiftOf(padding, kept), kept, mode)));
        out = gather(out, constant(g, DType::i64, {static_cast<std::int64_t>(from.size())}, from), axis);
    }
    return {out};
}

/// Negative pads crop what was added, and add zeros where Pad has cropped.
static void padGradient(GradientContext& g) {
    if (padModeOf(g.attributes()) != PadMode::constant) return differentiate(g, paddedByCopies);
    std::vector<std::int64_t> pads = *g.integers(kPads);
    for (std::int64_t& pad : pads) pad = -pad;
    Attributes attributes{{"pads", pads}};
    if (const auto axes = g.integers(3)) attributes.set("axes", *axes);
    g.give(0, apply("Pad", {g.gradient()}, attributes));
}

void addPadOps(std::vector<Op>& table) {
    Op pad = makeOp("Pad", "Shape", 25, "Adds elements at both ends of each axis, or crops it");
    PortSpec constant = optionalPort("constant_value", "value", kAll, "T");
    constant.hostValue = true;
    pad.inputs = {port("data", "self", kAll, "T"), hostPort("pads"), std::move(constant),
                  indexList("axes", "Tind")};
    pad.outputs = {port("output", "", kAll, "T")};
    pad.attributes = {
        choiceAttribute("mode", "constant", {"constant", "reflect", "edge", "wrap"},
                        "New elements: a constant, the mirror image, the edge element, or the other end"),
        integersAttribute("pads", "Number before each axis, then number after each; negative crops"),
        numberAttribute("constant_value", 0, "Value of new elements in mode constant"),
        integersAttribute("axes", "Axes to pad, negative from the end; absent: all")};
    pad.infer = inferPad;
    pad.cost = moveCost;
    pad.kernel = padKernel;
    pad.gradient = padGradient;
    table.push_back(std::move(pad));

    Op crop = makeOp("CenterCropPad", "Shape", 18, "Crops or zero-pads around the centre to the given sizes");
    crop.inputs = {port("input_data", "self", kAll, "T"), indexList("shape", "Tind")};
    crop.outputs = {port("output_data", "", kAll, "T")};
    crop.attributes = {shapeAttribute("shape", std::nullopt, 0, "Sizes along the axes"),
                       integersAttribute("axes", "Axes to crop or pad, negative from the end; absent: all")};
    crop.infer = inferCenterCropPad;
    crop.cost = moveCost;
    crop.kernel = centerCropPadKernel;
    crop.gradient = centerCropPadGradient;
    table.push_back(std::move(crop));

    describe(table, "Pad",
             "data [d₀, …] · pads [2 · rank], all starts, then all ends → output [d₀ + start₀ + end₀, …]",
             {operand({3, 4})}, {{"pads", Integers{0, 1, 0, 1}}})
        .formula = "output[i] = data[i − start], else the padding";
    describe(table, "CenterCropPad", "input_data → output_data [shape]", {operand({3, 4})},
             {{"shape", Integers{2, 6}}})
        .formula = "Cuts from, or pads, both ends of each axis";
}

} // namespace twb
