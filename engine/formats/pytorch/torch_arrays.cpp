#include "formats/pytorch/torch_call.h"

#include <climits>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace twb::pytorch {
namespace {

/// The mean and powers of integers are integers here; PyTorch's are not.
std::string inItsType(const Call& call, std::string expression) {
    return isFloating(call.out().dtype)
               ? expression
               : fmt::format("({}).type({})", expression, torchDType(call.out().dtype));
}

/// A Gemm of a stack of matrices, for which PyTorch has no mm and no addmm.
std::string stackedProduct(const Call& call) {
    const std::string b = call.in(1) + (call.flag("transB") ? "" : ".t()"); // as F.linear takes it
    const bool addsC = call.has(2) && call.number("beta") != 0;
    const double alpha = call.number("alpha");
    const double beta = call.number("beta");
    if (alpha == 1 && (!addsC || (beta == 1 && call.rank(2) == 1)))
        return fmt::format("F.linear({}, {}{})", call.in(0), b, addsC ? ", " + call.in(2) : "");
    if (alpha == 1 && beta == 1) return fmt::format("F.linear({}, {}) + {}", call.in(0), b, call.in(2));
    const char* const type = isFloating(call.out().dtype) ? "" : ".double()";
    std::string sum = fmt::format("{} * F.linear({}, {}){}", literal(alpha), call.in(0), b, type);
    if (addsC) sum += fmt::format(" + {} * {}{}", literal(beta), call.in(2), type);
    return inItsType(call, sum);
}

std::string product(const Call& call) {
    if (call.rank(0) > 2) return stackedProduct(call);
    if (call.flag("transA") || call.number("alpha") != 1 || !call.has(2) || call.number("beta") != 1 ||
        !call.flag("transB") || call.rank(2) != 1) {
        const std::string a = call.in(0) + (call.flag("transA") ? ".t()" : "");
        const std::string b = call.in(1) + (call.flag("transB") ? ".t()" : "");
        const std::string alpha = literal(call.number("alpha"));
        const std::string beta = literal(call.number("beta"));
        const std::string plain = fmt::format("torch.mm({}, {})", a, b);
        if (!isFloating(call.out().dtype)) { // PyTorch takes factors of integers that are integers
            std::string sum = fmt::format("{} * {}.double()", alpha, plain);
            if (call.has(2)) sum += fmt::format(" + {} * {}.double()", beta, call.in(2));
            return inItsType(call, sum);
        }
        std::string factors;
        if (call.has(2) && call.number("beta") != 1) factors += ", beta=" + beta;
        if (call.has(2) && call.number("alpha") != 1) factors += ", alpha=" + alpha;
        if (call.has(2)) return fmt::format("torch.addmm({}, {}, {}{})", call.in(2), a, b, factors);
        return call.number("alpha") == 1 ? plain : alpha + " * " + plain;
    }
    return call.filled("F.linear({0}, {1}, {2})");
}

std::string reshape(const Call& call) {
    const auto shape = call.integers(1);
    const bool copiesZeros = !call.flag("allowzero");
    if (!shape)
        return fmt::format("{}({}, {}, {})", call.helper("reshape"), call.in(0), call.list(1),
                           copiesZeros ? "False" : "True");
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < shape->size(); ++i) {
        const std::int64_t size = (*shape)[i];
        const auto axis = static_cast<int>(i);
        if (size == 0 && copiesZeros)
            sizes.push_back(call.type(0).shape[axis] == kUnknownDim
                                ? fmt::format("{}.shape[{}]", call.in(0), i)
                                : std::to_string(call.type(0).shape[axis]));
        else // PyTorch does not guess a size where there are no elements
            sizes.push_back(std::to_string(size == -1 && call.out().shape[axis] == 0 ? 0 : size));
    }
    return fmt::format("{}.reshape([{}])", call.in(0), fmt::join(sizes, ", "));
}

std::string permute(const Call& call) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(call.rank()));
    std::iota(order.rbegin(), order.rend(), 0);
    if (call.hasAttribute("perm")) order = call.attributes().integers("perm");
    return order.size() == 2 && order[0] == 1 ? call.filled("{0}.t()")
                                              : fmt::format("{}.permute({})", call.in(0), literal(order));
}

std::string shapeOf(const Call& call) {
    std::string sizes = call.in(0) + ".shape";
    const bool hasEnd = call.hasAttribute("end");
    if (call.integer("start") != 0 || hasEnd)
        sizes += fmt::format("[{}:{}]", call.integer("start"),
                             hasEnd ? literal(*call.attributes().find("end")) : "");
    return fmt::format("torch.tensor({}, dtype=torch.int64{})", sizes, call.deviceArgument());
}

/// Axes of an input or attribute, sorted, of a tensor of `rank`; nothing when the run decides.
std::optional<std::vector<std::int64_t>> axesOf(const Call& call, int port, int rank) {
    auto axes = call.integers(port);
    if (!axes) return std::nullopt;
    for (std::int64_t& axis : *axes) axis = normalizeAxis(axis, rank).value_or(0);
    std::sort(axes->begin(), axes->end());
    return axes;
}

std::string squeeze(const Call& call) {
    if (!call.has(1) && !call.integers(1)) return call.filled("{0}.squeeze()");
    const auto axes = axesOf(call, 1, call.rank());
    if (!axes) call.refuse("the axes that it removes are known only at run time");
    std::string out = call.in(0);
    for (auto axis = axes->rbegin(); axis != axes->rend(); ++axis) out += fmt::format(".squeeze({})", *axis);
    return out;
}

std::string unsqueeze(const Call& call) {
    const auto given = call.integers(1);
    if (!given) call.refuse("the axes that it inserts are known only at run time");
    std::string out = call.in(0);
    const auto axes = axesOf(call, 1, call.rank() + static_cast<int>(given->size()));
    for (const std::int64_t axis : *axes) out += fmt::format(".unsqueeze({})", axis);
    return out;
}

std::string flatten(const Call& call) {
    const int axis = static_cast<int>(call.integer("axis"));
    const int from = axis < 0 ? axis + call.rank() : axis;
    if (from == 1 && call.rank() > 1) return call.filled("{0}.flatten(1)");
    return fmt::format("{0}.reshape(math.prod({0}.shape[:{1}]), math.prod({0}.shape[{1}:]))", call.in(0),
                       from);
}

/// "x[:, 1:3]": as Python's slices, which clamp as ONNX's do; those that go backwards by a helper.
std::string slice(const Call& call) {
    const auto starts = call.integers(1);
    const auto ends = call.integers(2);
    const auto steps =
        call.has(4) || call.hasAttribute("steps") ? call.integers(4) : std::vector<std::int64_t>();
    const auto axes =
        call.has(3) || call.hasAttribute("axes") ? call.integers(3) : std::vector<std::int64_t>();
    const bool known = starts && ends && steps && axes;
    if (!known || std::any_of(steps->begin(), steps->end(), [](std::int64_t step) { return step < 0; }))
        return fmt::format("{}({}, {}, {}, {}, {})", call.helper("sliced"), call.in(0), call.list(1),
                           call.list(2), call.list(3), call.list(4));
    std::vector<std::string> parts(static_cast<std::size_t>(call.rank()), ":");
    std::size_t last = 0;
    for (std::size_t i = 0; i < starts->size(); ++i) {
        const std::int64_t axis = axes->empty() ? static_cast<std::int64_t>(i) : (*axes)[i];
        const auto at = static_cast<std::size_t>(normalizeAxis(axis, call.rank()).value_or(0));
        const std::int64_t end = (*ends)[i];
        parts[at] = fmt::format("{}:{}", (*starts)[i] == 0 ? "" : std::to_string((*starts)[i]),
                                end >= INT_MAX ? "" : std::to_string(end));
        if (!steps->empty() && (*steps)[i] != 1) parts[at] += fmt::format(":{}", (*steps)[i]);
        last = std::max(last, at + 1);
    }
    parts.resize(last);
    return parts.empty() ? call.in(0) : fmt::format("{}[{}]", call.in(0), fmt::join(parts, ", "));
}

std::string split(const Call& call) {
    const int count = call.op().outputCount(call.attributes());
    std::string sizes = call.has(1) || call.hasAttribute("split") ? call.list(1) : "";
    if (sizes.empty()) {
        const int axis = call.axis("axis", call.rank());
        if (call.type(0).shape[axis] == kUnknownDim)
            return fmt::format("{}({}, {}, {})", call.helper("split_evenly"), call.in(0), count, axis);
        std::vector<std::int64_t> all;
        for (int port = 0; port < count; ++port) all.push_back(call.out(port).shape[axis]);
        sizes = literal(all);
    }
    return fmt::format("torch.split({}, {}, {})", call.in(0), sizes,
                       literal(*call.attributes().find("axis")));
}

std::string pad(const Call& call) {
    const auto pads = call.integers(1);
    const bool hasAxes = call.has(3) || call.hasAttribute("axes");
    const std::string value = call.has(2) && !call.numbers(2) ? call.in(2) + ".item()" : call.scalar(2);
    if (call.text("mode") != "constant" || !pads || hasAxes)
        return fmt::format("{}({}, {}, {}, {}, {})", call.helper("padded"), call.in(0), call.list(1),
                           literal(*call.attributes().find("mode")), value, hasAxes ? call.list(3) : "None");
    std::vector<std::int64_t> both; // of the last axis first
    const std::size_t rank = pads->size() / 2;
    for (std::size_t axis = rank; axis-- > 0;) {
        both.push_back((*pads)[axis]);
        both.push_back((*pads)[rank + axis]);
    }
    return fmt::format("F.pad({}, {}, value={})", call.in(0), literal(both), value);
}

std::string centerCropPad(const Call& call) {
    return fmt::format("{}({}, {}, {})", call.helper("center_crop_pad"), call.in(0), call.list(1),
                       call.hasAttribute("axes") ? literal(*call.attributes().find("axes")) : "None");
}

std::string triangle(const Call& call) {
    return fmt::format("torch.{}({}, {})", call.flag("upper") ? "triu" : "tril", call.in(0), call.scalar(1));
}

/// What PyTorch reduces along: "dim=[1], keepdim=True".
struct Along {
    std::string dims;
    bool all = false;
    bool nothing = false; ///< noop_with_empty_axes
};

Along along(const Call& call) {
    const bool given = call.has(1) || call.hasAttribute("axes");
    const auto axes = given ? call.integers(1) : std::vector<std::int64_t>();
    Along out;
    if (!axes) {
        out.dims = call.list(1);
        return out;
    }
    out.nothing = axes->empty() && call.flag("noop_with_empty_axes");
    std::vector<std::int64_t> dims = *axes;
    if (dims.empty()) {
        dims.resize(static_cast<std::size_t>(call.rank()));
        std::iota(dims.begin(), dims.end(), 0);
    }
    out.all = dims.size() == static_cast<std::size_t>(call.rank()) && !call.flag("keepdims");
    out.dims = literal(dims);
    return out;
}

/// `{}` in the pattern is the tensor, then its axes; `{}` in `whole` the tensor alone.
std::string reduced(const Call& call, const std::string& x, const char* function,
                    const std::string& more = {}) {
    const Along axes = along(call);
    if (axes.nothing) return x;
    if (call.rank() == 0) return fmt::format("torch.{}({}{})", function, x, more);
    if (axes.all && std::string_view(function) != "logsumexp")
        return fmt::format("torch.{}({}{})", function, x, more);
    return fmt::format("torch.{}({}, {}, {}{})", function, x, axes.dims,
                       call.flag("keepdims") ? "True" : "False", more);
}

/// torch.amax or torch.amin, which refuse to reduce no elements: there the result is `end` of the dtype's
/// range.
std::string extreme(const Call& call, const char* function, const char* end) {
    const auto axes = axesOf(call, 1, call.rank());
    const bool known = axes || !(call.has(1) || call.hasAttribute("axes"));
    const Along how = along(call);
    bool isEmpty = false;
    bool isSure = known;
    for (int axis = 0; axis < call.rank() && known && !how.nothing; ++axis) {
        if (axes && !axes->empty() && std::find(axes->begin(), axes->end(), axis) == axes->end()) continue;
        isEmpty = isEmpty || call.type(0).shape[axis] == 0;
        isSure = isSure && call.type(0).shape[axis] != kUnknownDim;
    }
    if (isSure && !isEmpty) return reduced(call, call.in(0), function);
    const DType dtype = call.out().dtype;
    const bool isLowest = std::string_view(end) == "min";
    const std::string value = isFloating(dtype) ? literal(isLowest ? -INFINITY : INFINITY)
                              : dtype == DType::boolean
                                  ? (isLowest ? "False" : "True")
                                  : fmt::format("torch.iinfo({}).{}", torchDType(dtype), end);
    if (isSure && call.out().isKnown())
        return fmt::format("torch.full({}, {}, dtype={}{})", tupleOf(call.out().shape.dims()), value,
                           torchDType(dtype), call.deviceArgument());
    return fmt::format("{}({}, torch.{}, {}, {}, {})", call.helper("extreme"), call.in(0), function, value,
                       how.dims, call.flag("keepdims") ? "True" : "False");
}

std::string summed(const Call& call, const std::string& x) {
    const bool widens = !isFloating(call.out().dtype) && call.out().dtype != DType::i64;
    return reduced(call, x, "sum", widens ? ", dtype=" + torchDType(call.out().dtype) : "");
}

std::string multiplied(const Call& call) {
    const Along axes = along(call);
    const std::string dtype = torchDType(call.out().dtype);
    if (axes.nothing) return call.in(0);
    if (axes.all || call.rank() == 0) return fmt::format("torch.prod({}, dtype={})", call.in(0), dtype);
    auto dims = axesOf(call, 1, call.rank());
    if (!dims && (call.has(1) || call.hasAttribute("axes")))
        call.refuse("the axes along which it multiplies are known only at run time");
    if (!dims || dims->empty()) {
        dims.emplace(static_cast<std::size_t>(call.rank()));
        std::iota(dims->begin(), dims->end(), 0);
    }
    std::string out = call.in(0);
    for (auto axis = dims->rbegin(); axis != dims->rend(); ++axis)
        out += fmt::format(".prod({}, {}, dtype={})", *axis, call.flag("keepdims") ? "True" : "False", dtype);
    return out;
}

std::string asReal(const Call& call) {
    return isFloating(call.dtype()) ? call.in(0) : call.in(0) + ".double()";
}

std::string argument(const Call& call, const char* function) {
    if (call.rank() == 0) return fmt::format("torch.zeros_like({}, dtype=torch.int64)", call.in(0));
    const int axis = call.axis("axis", call.rank());
    const char* keep = call.flag("keepdims") ? "True" : "False";
    if (!call.flag("select_last_index"))
        return fmt::format("torch.{}({}, {}, {})", function, call.in(0), axis, keep);
    return fmt::format("{0}.shape[{1}] - 1 - torch.{2}({0}.flip({1}), {1}, {3})", call.in(0), axis, function,
                       keep);
}

std::string filledShape(const Call& call) {
    return fmt::format("torch.full({}, {}, dtype={}{})", call.list(0),
                       literal(*call.attributes().find("value")), torchDType(call.out().dtype),
                       call.deviceArgument());
}

/// torch.arange refuses a step that leads away from the limit.
std::string range(const Call& call) {
    const std::int64_t count = call.out().shape[0];
    const std::string rest = fmt::format("dtype={}{}", torchDType(call.out().dtype), call.deviceArgument());
    if (count == 0) return fmt::format("torch.empty(0, {})", rest);
    return fmt::format("{}({}, {}, {}, {})", count == kUnknownDim ? call.helper("arange") : "torch.arange",
                       call.scalar(0), call.scalar(1), call.scalar(2), rest);
}

std::string eyeLike(const Call& call) {
    return fmt::format("{}({}, {}, {})", call.helper("eye_like"), call.in(0), call.integer("k"),
                       torchDType(call.out().dtype));
}

} // namespace

void addArrays(Writers& table) {
    table["Gemm"] = product;
    table["Einsum"] = [](const Call& call) {
        return inItsType(call, fmt::format("torch.einsum({}, {})",
                                           literal(*call.attributes().find("equation")), call.inputs()));
    };
    table["Size"] = [](const Call& call) {
        return fmt::format("torch.tensor({}.numel(){})", call.in(0), call.deviceArgument());
    };
    table["ConstantOfShape"] = filledShape;
    table["Range"] = range;
    table["EyeLike"] = eyeLike;
    table["Reshape"] = reshape;
    table["Transpose"] = permute;
    table["Concat"] = [](const Call& call) {
        return fmt::format("torch.cat([{}], {})", call.inputs(), call.integer("axis"));
    };
    table["Shape"] = shapeOf;
    table["Squeeze"] = squeeze;
    table["Unsqueeze"] = unsqueeze;
    table["Flatten"] = flatten;
    table["Expand"] = [](const Call& call) {
        return fmt::format("{0}.expand(torch.broadcast_shapes({0}.shape, {1}))", call.in(0), call.list(1));
    };
    table["Tile"] = [](const Call& call) { return fmt::format("{}.repeat({})", call.in(0), call.list(1)); };
    table["Slice"] = slice;
    table["Split"] = split;
    table["Pad"] = pad;
    table["CenterCropPad"] = centerCropPad;
    table["Trilu"] = triangle;
    table["ReduceSum"] = [](const Call& call) { return summed(call, call.in(0)); };
    table["ReduceMean"] = [](const Call& call) {
        if (isFloating(call.dtype())) return inItsType(call, reduced(call, call.in(0), "mean"));
        const std::string sum = reduced(call, call.in(0), "sum");
        if (along(call).nothing) return sum;
        const TensorType& in = call.type(0);
        const std::string count =
            in.isKnown() && call.out().isKnown()
                ? std::to_string(in.shape.elementCount() /
                                 std::max<std::int64_t>(1, call.out().shape.elementCount()))
                : fmt::format("({}.numel() // max(1, ({}).numel()))", call.in(0), sum);
        // By a double, integers of more than 53 bits would lose digits.
        return inItsType(call, fmt::format("torch.div({}, {}, rounding_mode=\"trunc\")", sum, count));
    };
    table["ReduceMax"] = [](const Call& call) { return extreme(call, "amax", "min"); };
    table["ReduceMin"] = [](const Call& call) { return extreme(call, "amin", "max"); };
    table["ReduceProd"] = multiplied;
    table["ReduceL1"] = [](const Call& call) { return summed(call, call.filled("torch.abs({0})")); };
    table["ReduceL2"] = [](const Call& call) {
        return inItsType(call,
                         fmt::format("torch.sqrt({})",
                                     reduced(call, fmt::format("torch.square({})", asReal(call)), "sum")));
    };
    table["ReduceSumSquare"] = [](const Call& call) {
        return summed(call, call.filled("torch.square({0})"));
    };
    table["ReduceLogSum"] = [](const Call& call) {
        return inItsType(call, fmt::format("torch.log({})", reduced(call, asReal(call), "sum")));
    };
    table["ReduceLogSumExp"] = [](const Call& call) {
        return inItsType(call, call.rank() == 0 ? asReal(call) : reduced(call, asReal(call), "logsumexp"));
    };
    table["ArgMax"] = [](const Call& call) { return argument(call, "argmax"); };
    table["ArgMin"] = [](const Call& call) { return argument(call, "argmin"); };
    table["DepthToSpace"] = [](const Call& call) {
        return call.text("mode") == "CRD" ? call.filled("F.pixel_shuffle({0}, {blocksize})")
                                          : fmt::format("{}({}, {})", call.helper("depth_to_space"),
                                                        call.in(0), call.integer("blocksize"));
    };
    table["SpaceToDepth"] = [](const Call& call) {
        return call.text("mode") == "CRD" ? call.filled("F.pixel_unshuffle({0}, {blocksize})")
                                          : fmt::format("{}({}, {})", call.helper("space_to_depth"),
                                                        call.in(0), call.integer("blocksize"));
    };
}

} // namespace twb::pytorch
