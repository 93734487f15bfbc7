#include "formats/pytorch/torch_call.h"
#include "ops/sliding_window.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace twb::pytorch {
namespace {

const char* const kPoint = "PyTorch has windows over one, two or three axes only";

std::vector<std::int64_t> each(const Window& window, std::int64_t WindowAxis::*of) {
    std::vector<std::int64_t> out;
    for (const WindowAxis& axis : window.axes) out.push_back(axis.*of);
    return out;
}

/// "2" for [2, 2], as PyTorch takes it.
std::string shortly(const std::vector<std::int64_t>& values) {
    const bool same = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
    return same && !values.empty() ? std::to_string(values.front()) : literal(values);
}

/// ", stride=2" unless it is what it would be anyway.
std::string named(const char* name, const std::vector<std::int64_t>& values, std::int64_t usual) {
    const bool isUsual =
        std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == usual; });
    return isUsual ? "" : fmt::format(", {}={}", name, shortly(values));
}

bool isSymmetric(const Window& window) {
    return std::all_of(window.axes.begin(), window.axes.end(),
                       [](const WindowAxis& axis) { return axis.padBegin == axis.padEnd; });
}

/// What F.pad takes: the last axis first.
std::vector<std::int64_t> padsOf(const Window& window, int sign = 1) {
    std::vector<std::int64_t> out;
    for (auto axis = window.axes.rbegin(); axis != window.axes.rend(); ++axis) {
        out.push_back(sign * axis->padBegin);
        out.push_back(sign * axis->padEnd);
    }
    return out;
}

int spatialAxes(const Call& call) {
    const int axes = call.rank() - 2;
    if (axes < 1 || axes > 3) call.refuse(kPoint);
    return axes;
}

void needsReals(const Call& call) {
    if (!isFloating(call.dtype())) call.refuse("here PyTorch takes only floating-point numbers");
}

Window windowOf(const Call& call, const std::vector<std::int64_t>& kernel) {
    if (call.hasAttribute("auto_pad") && call.text("auto_pad").starts_with("SAME") && !call.type(0).isKnown())
        call.refuse("its padding follows from sizes that are known only at run time");
    return slidingWindow(call.attributes(), call.type(0).shape, kernel);
}

/// A convolution of the expressions `x`, `w` and `bias` ("" for none).
std::string convolution(const Call& call, std::string x, const std::string& w, const std::string& bias,
                        int weight) {
    const int axes = spatialAxes(call);
    const Window window = windowOf(call, spatialSizes(call.type(weight).shape));
    std::string options = named("stride", each(window, &WindowAxis::stride), 1);
    if (isSymmetric(window))
        options += named("padding", each(window, &WindowAxis::padBegin), 0);
    else
        x = fmt::format("F.pad({}, {})", x, literal(padsOf(window)));
    options += named("dilation", each(window, &WindowAxis::dilation), 1);
    if (call.integer("group") != 1) options += fmt::format(", groups={}", call.integer("group"));
    return fmt::format("F.conv{}d({}, {}{}{})", axes, x, w, bias.empty() ? "" : ", " + bias, options);
}

std::string transposed(const Call& call) {
    const int axes = spatialAxes(call);
    if (!call.type(0).isKnown())
        call.refuse("its padding follows from sizes that are known only at run time");
    const Window window =
        transposedWindow(call.attributes(), call.type(0).shape, spatialSizes(call.type(1).shape));
    std::string options = named("stride", each(window, &WindowAxis::stride), 1);
    if (call.integer("group") != 1) options += fmt::format(", groups={}", call.integer("group"));
    options += named("dilation", each(window, &WindowAxis::dilation), 1);
    const bool crops = !isSymmetric(window);
    if (!crops) options += named("padding", each(window, &WindowAxis::padBegin), 0);
    // What stands at the end beyond the last whole step.
    std::vector<std::int64_t> added;
    for (const WindowAxis& axis : window.axes)
        added.push_back(axis.in -
                        (axis.stride * (axis.out - 1) + axis.reach() - axis.padBegin - axis.padEnd));
    const bool fits = std::all_of(added.begin(), added.end(), [](std::int64_t n) { return n >= 0; });
    if (fits && !crops) options += named("output_padding", added, 0);
    std::string out = fmt::format("F.conv_transpose{}d({}, {}{}{})", axes, call.in(0), call.in(1),
                                  call.has(2) ? ", " + call.in(2) : "", options);
    if (!crops && fits) return out;
    if (call.has(2) && !fits)
        call.refuse("with a bias, its output must not be larger than the area that its kernel covers");
    std::vector<std::int64_t> pads = padsOf(window, crops ? -1 : 0);
    for (std::size_t a = 0; a < added.size(); ++a) pads[2 * (added.size() - 1 - a) + 1] += added[a];
    if (call.has(2) && std::any_of(pads.begin(), pads.end(), [](std::int64_t n) { return n > 0; }))
        call.refuse("with a bias, its output must not be larger than the area that its kernel covers");
    return fmt::format("F.pad({}, {})", out, literal(pads));
}

/// The same window with so much padding at the end that rounding the number of positions up and down give one
/// result: PyTorch's ceil_mode knows only the padding that is its own.
Window covered(const Call& call, Window window) {
    if (!call.flag("ceil_mode")) return window;
    for (WindowAxis& axis : window.axes) {
        if (axis.in == kUnknownDim)
            call.refuse("its padding follows from sizes that are known only at run time");
        axis.padEnd = (axis.out - 1) * axis.stride + axis.reach() - axis.in - axis.padBegin;
    }
    return window;
}

std::string maxPool(const Call& call) {
    const int axes = spatialAxes(call);
    if (call.integer("storage_order") != 0 && call.isRead(1))
        call.refuse("its indices are column-major; set storage_order to 0");
    const Window window = windowOf(call, call.attributes().integers("kernel_shape"));
    std::string options = named("stride", each(window, &WindowAxis::stride), 0);
    const bool inside =
        isSymmetric(window) && std::all_of(window.axes.begin(), window.axes.end(),
                                           [](const auto& axis) { return 2 * axis.padBegin <= axis.kernel; });
    std::string x = call.in(0);
    needsReals(call);
    if (inside) {
        options += named("padding", each(window, &WindowAxis::padBegin), 0);
        if (call.flag("ceil_mode")) options += ", ceil_mode=True";
    } else if (call.isRead(1)) {
        call.refuse("PyTorch does not support its padding, which changes the indices");
    } else {
        x = fmt::format("F.pad({}, {}, value=float(\"-inf\"))", x, literal(padsOf(covered(call, window))));
    }
    options += named("dilation", each(window, &WindowAxis::dilation), 1);
    const std::string kernel = shortly(each(window, &WindowAxis::kernel));
    if (!call.isRead(1)) return call.alone(fmt::format("F.max_pool{}d({}, {}{})", axes, x, kernel, options));
    return fmt::format("{}(*F.max_pool{}d({}, {}{}, return_indices=True), {})",
                       call.helper("over_all_planes"), axes, x, kernel, options, call.in(0));
}

/// The sum over each window: a convolution with ones, which knows of any padding and dilation.
std::string windowSums(const Call& call, const Window& window, const std::string& x) {
    return fmt::format("{}({}, {}, {}, {}, {})", call.helper("window_sums"), x,
                       literal(each(window, &WindowAxis::kernel)), literal(each(window, &WindowAxis::stride)),
                       literal(each(window, &WindowAxis::dilation)), literal(padsOf(covered(call, window))));
}

std::string averagePool(const Call& call) {
    const int axes = spatialAxes(call);
    const Window window = windowOf(call, call.attributes().integers("kernel_shape"));
    const bool isPlain = isSymmetric(window) &&
                         std::all_of(window.axes.begin(), window.axes.end(), [](const WindowAxis& axis) {
                             return axis.dilation == 1 && 2 * axis.padBegin <= axis.kernel;
                         });
    if (!isPlain) {
        if (call.flag("ceil_mode") && call.flag("count_include_pad"))
            call.refuse("PyTorch has no ceil_mode with this padding or dilation");
        const std::string sums = windowSums(call, window, call.in(0));
        return call.flag("count_include_pad")
                   ? fmt::format("{} / {}", sums, window.tapCount())
                   : fmt::format("{} / {}", sums,
                                 windowSums(call, window, fmt::format("torch.ones_like({})", call.in(0))));
    }
    std::string options = named("stride", each(window, &WindowAxis::stride), 0);
    options += named("padding", each(window, &WindowAxis::padBegin), 0);
    if (call.flag("ceil_mode")) options += ", ceil_mode=True";
    if (!call.flag("count_include_pad")) options += ", count_include_pad=False";
    return fmt::format("F.avg_pool{}d({}, {}{})", axes, call.in(0),
                       shortly(each(window, &WindowAxis::kernel)), options);
}

std::string lpPool(const Call& call) {
    (void)spatialAxes(call);
    const Window window = windowOf(call, call.attributes().integers("kernel_shape"));
    const std::string powers = call.filled("torch.abs({0}) ** {p}");
    return fmt::format("{} ** (1 / {})", windowSums(call, window, powers), call.integer("p"));
}

std::string maxUnpool(const Call& call) {
    if (call.has(2) || call.hasAttribute("output_shape"))
        call.refuse("PyTorch's max_unpool takes no output_shape that shifts its indices");
    return fmt::format(
        "torch.zeros({0}, dtype={1}.dtype, device={1}.device).flatten().index_put(({2}.flatten(),), "
        "{1}.flatten()).reshape({0})",
        tupleOf(call.out().shape.dims()), call.in(0), call.in(1));
}

/// The axes from the third on.
std::string spatialDims(const Call& call) {
    std::vector<std::int64_t> dims;
    for (int axis = 2; axis < call.rank(); ++axis) dims.push_back(axis);
    return literal(dims);
}

/// Elements of input 0 along the axes from `first` on, where they are known. Normalisations of
/// torch.nn.functional refuse a single one; those of torch do not.
std::optional<std::int64_t> countFrom(const Call& call, int first) {
    std::int64_t count = 1;
    for (int axis = first; axis < call.rank(); ++axis) {
        if (call.type(0).shape[axis] == kUnknownDim) return std::nullopt;
        count *= call.type(0).shape[axis];
    }
    return count;
}

std::string batchNorm(const Call& call) {
    if (call.flag("training_mode"))
        return fmt::format("{}({}, {}, {})", call.helper("batch_norm_training"), call.inputs(),
                           literal(call.number("epsilon")), literal(call.number("momentum")));
    const std::string y = fmt::format("F.batch_norm({}, {}, {}, {}, {}, eps={})", call.in(0), call.in(3),
                                      call.in(4), call.in(1), call.in(2), literal(call.number("epsilon")));
    return call.isRead(1) || call.isRead(2) ? fmt::format("({}, {}, {})", y, call.in(3), call.in(4))
                                            : call.alone(y);
}

std::string layerNorm(const Call& call) {
    const int axis = call.axis("axis", call.rank());
    if (call.isRead(1) || call.isRead(2))
        return fmt::format("{}({}, {}, {}, {}, {}, {})", call.helper("layer_norm"), call.in(0), call.in(1),
                           call.in(2), axis, literal(call.number("epsilon")), torchDType(call.out(1).dtype));
    const std::string sizes = fmt::format("{}.shape[{}:]", call.in(0), axis);
    const Shape& x = call.type(0).shape;
    const auto fitted = [&](int port) {
        if (!call.has(port)) return std::string("None");
        const Shape& shape = call.type(port).shape;
        return std::equal(shape.begin(), shape.end(), x.begin() + axis, x.end())
                   ? call.in(port)
                   : fmt::format("{}.expand({})", call.in(port), sizes);
    };
    return call.alone(fmt::format("F.layer_norm({}, {}, {}, {}, {})", call.in(0), sizes, fitted(1), fitted(2),
                                  literal(call.number("epsilon"))));
}

std::string rmsNorm(const Call& call) {
    std::vector<std::int64_t> dims;
    for (int axis = call.axis("axis", call.rank()); axis < call.rank(); ++axis) dims.push_back(axis);
    return fmt::format("{0} * torch.rsqrt(torch.mean(torch.square({0}), {1}, True) + {2}) * {3}", call.in(0),
                       literal(dims), literal(call.number("epsilon")), call.in(1));
}

std::string localResponse(const Call& call) {
    if (call.integer("size") % 2 == 0 || call.rank() < 3)
        call.refuse("PyTorch's local_response_norm centres an even-sized window differently");
    return call.filled("F.local_response_norm({0}, {size}, {alpha}, {beta}, {bias})");
}

std::string resize(const Call& call) {
    needsReals(call);
    const std::string& mode = call.text("mode");
    const std::string& place = call.text("coordinate_transformation_mode");
    const int axes = call.rank() - 2;
    const bool corners = place == "align_corners";
    const bool half = place == "half_pixel" || place == "pytorch_half_pixel";
    const bool isNearest = mode == "nearest" && place == "asymmetric" && call.text("nearest_mode") == "floor";
    const bool isLinear = mode == "linear" && (corners || half);
    const bool isCubic = mode == "cubic" && (corners || half) && axes == 2 && !call.flag("exclude_outside") &&
                         call.number("cubic_coeff_a") == -0.75;
    const Shape& x = call.type(0).shape;
    const Shape& y = call.out().shape;
    bool fits = axes >= 1 && axes <= 3 && x.isKnown() && y.isKnown() && x[0] == y[0] && x[1] == y[1];
    const auto scales = call.numbers(2);
    for (int axis = 2; fits && axis < call.rank(); ++axis) {
        // Of a scale, ONNX's corners are those of the exact product; of one element PyTorch takes the middle.
        const double exact = scales && !scales->empty()
                                 ? (*scales)[scales->size() - static_cast<std::size_t>(call.rank() - axis)] *
                                       static_cast<double>(x[axis])
                                 : static_cast<double>(y[axis]);
        fits = (!corners || exact == static_cast<double>(y[axis])) &&
               (place != "pytorch_half_pixel" || y[axis] > 1);
    }
    if (call.flag("antialias") || !(isNearest || isLinear || isCubic) || !fits)
        call.refuse(fmt::format("F.interpolate has no mode that is {} with {} coordinates over these axes",
                                mode, place));
    std::string how = isNearest   ? "nearest"
                      : isCubic   ? "bicubic"
                      : axes == 1 ? "linear"
                      : axes == 2 ? "bilinear"
                                  : "trilinear";
    std::string to = fmt::format("size={}", literal(spatialSizes(call.out().shape)));
    if (scales && scales->size() == static_cast<std::size_t>(call.rank()) && !corners)
        to = fmt::format("scale_factor={}", literal(std::vector<double>(scales->begin() + 2, scales->end())));
    return fmt::format("F.interpolate({}, {}, mode=\"{}\"{})", call.in(0), to, how,
                       isNearest ? ""
                       : corners ? ", align_corners=True"
                                 : ", align_corners=False");
}

std::string gridSample(const Call& call) {
    needsReals(call);
    const std::string& mode = call.text("mode");
    if (call.rank() > 4 && mode == "cubic") call.refuse("PyTorch samples volumes by linear or nearest only");
    if (call.rank() < 4 || call.rank() > 5) call.refuse("PyTorch samples images and volumes only");
    return fmt::format("F.grid_sample({}, {}, \"{}\", \"{}\", {})", call.in(0), call.in(1),
                       mode == "linear"  ? "bilinear"
                       : mode == "cubic" ? "bicubic"
                                         : mode,
                       call.text("padding_mode"), call.flag("align_corners") ? "True" : "False");
}

std::string fold(const Call& call) {
    needsReals(call);
    const auto image = call.integers(1);
    const auto block = call.integers(2);
    if (!image || !block || image->size() != 2) call.refuse("F.fold supports only 2-D images of known size");
    const auto list = [&](const char* name, std::int64_t usual) {
        return call.hasAttribute(name) ? call.attributes().integers(name)
                                       : std::vector<std::int64_t>(2, usual);
    };
    std::vector<std::int64_t> pads =
        call.hasAttribute("pads") ? call.attributes().integers("pads") : std::vector<std::int64_t>(4, 0);
    if (pads[0] != pads[2] || pads[1] != pads[3])
        call.refuse("F.fold supports only equal padding at both ends");
    pads.resize(2);
    return fmt::format("F.fold({}, {}, {}{}{}{})", call.in(0), literal(*image), literal(*block),
                       named("dilation", list("dilations", 1), 1), named("padding", pads, 0),
                       named("stride", list("strides", 1), 1));
}

std::string lossOptions(const Call& call) {
    std::string out = call.has(2) ? ", weight=" + call.in(2) : "";
    if (call.hasAttribute("ignore_index"))
        out += fmt::format(", ignore_index={}", call.integer("ignore_index"));
    return out + fmt::format(", reduction=\"{}\"", call.text("reduction"));
}

std::string loss(const Call& call, const char* function) {
    const std::string target = call.dtype(1) == DType::i64 ? call.in(1) : call.in(1) + ".long()";
    return fmt::format("F.{}({}, {}{})", function, call.in(0), target, lossOptions(call));
}

/// An integer operand less its zero point, in f64, where integer products and their sums are exact.
std::string centred(const Call& call, int port, int zero, bool perRow) {
    const std::string x = call.in(port) + ".double()";
    if (!call.has(zero)) return x;
    const bool isRow = call.rank(zero) > 0 && call.type(zero).shape != Shape{1};
    if (!isRow) return fmt::format("({} - {}.double())", x, call.in(zero));
    if (!perRow) return fmt::format("({} - {}.double())", x, call.in(zero));
    std::string ones;
    for (int axis = 1; axis < call.rank(port); ++axis) ones += ", 1";
    return fmt::format("({} - {}.double().reshape(-1{}))", x, call.in(zero), ones);
}

std::string matMulInteger(const Call& call) {
    std::string a = centred(call, 0, 2, false);
    if (call.has(2) && call.rank(2) == 1 && call.type(2).shape != Shape{1})
        a = fmt::format("({}.double() - {}.double().unsqueeze(1))", call.in(0), call.in(2));
    return fmt::format("({} @ {}).type(torch.int32)", a, centred(call, 1, 3, false));
}

std::string requantized(const Call& call, const std::string& product, const char* scales, int zero) {
    return fmt::format("{}({}, {}, {}, {})", call.helper("requantized"), product, call.filled(scales),
                       call.in(zero), torchDType(call.out().dtype));
}

} // namespace

void addLayers(Writers& table) {
    table["Conv"] = [](const Call& call) {
        return convolution(call, call.in(0), call.in(1), call.has(2) ? call.in(2) : "", 1);
    };
    table["ConvTranspose"] = transposed;
    table["ConvInteger"] = [](const Call& call) {
        return "(" + convolution(call, centred(call, 0, 2, false), centred(call, 1, 3, true), "", 1) +
               ").type(torch.int32)";
    };
    table["MatMulInteger"] = matMulInteger;
    table["QLinearMatMul"] = [](const Call& call) {
        if (call.rank(1) > 0 && call.type(1).shape != Shape{1})
            call.refuse("PyTorch export does not support a scale for each row");
        return requantized(call,
                           fmt::format("({} @ {})", centred(call, 0, 2, false), centred(call, 3, 5, false)),
                           "{1}.double() * {4}.double() / {6}.double()", 7);
    };
    table["MaxPool"] = maxPool;
    table["AveragePool"] = averagePool;
    table["LpPool"] = lpPool;
    table["MaxUnpool"] = maxUnpool;
    table["GlobalAveragePool"] = [](const Call& call) {
        return fmt::format("{}.mean({}, True)", call.in(0), spatialDims(call));
    };
    table["GlobalMaxPool"] = [](const Call& call) {
        if (countFrom(call, 2) == 0)
            return fmt::format("torch.full({}, float(\"-inf\"), dtype={}{})",
                               tupleOf(call.out().shape.dims()), torchDType(call.out().dtype),
                               call.deviceArgument());
        return fmt::format("{}.amax({}, True)", call.in(0), spatialDims(call));
    };
    table["GlobalLpPool"] = [](const Call& call) {
        return fmt::format("torch.linalg.vector_norm({}, {}, {}, True)", call.in(0), call.integer("p"),
                           spatialDims(call));
    };
    table["BatchNormalization"] = batchNorm;
    table["InstanceNormalization"] = [](const Call& call) {
        return call.filled(
            countFrom(call, 2).value_or(0) > 1
                ? "F.instance_norm({0}, weight={1}, bias={2}, eps={epsilon})"
                : "torch.instance_norm({0}, {1}, {2}, None, None, True, 0.0, {epsilon}, False)");
    };
    table["GroupNormalization"] = [](const Call& call) {
        return call.filled(countFrom(call, 1).value_or(0) > call.integer("num_groups")
                               ? "F.group_norm({0}, {num_groups}, {1}, {2}, {epsilon})"
                               : "torch.group_norm({0}, {num_groups}, {1}, {2}, {epsilon})");
    };
    table["LayerNormalization"] = layerNorm;
    table["RMSNormalization"] = rmsNorm;
    table["LRN"] = localResponse;
    table["Resize"] = resize;
    table["GridSample"] = gridSample;
    table["AffineGrid"] = [](const Call& call) {
        return fmt::format("F.affine_grid({}, {}, {})", call.in(0), call.list(1),
                           call.flag("align_corners") ? "True" : "False");
    };
    table["Col2Im"] = fold;
    table["NegativeLogLikelihoodLoss"] = [](const Call& call) { return loss(call, "nll_loss"); };
    table["SoftmaxCrossEntropyLoss"] = [](const Call& call) {
        const std::string mean = loss(call, "cross_entropy");
        return call.isRead(1) ? fmt::format("({}, {})", mean, call.filled("torch.log_softmax({0}, 1)"))
                              : call.alone(mean);
    };
    table["QuantizeLinear"] = [](const Call& call) {
        if (call.integer("block_size") != 0) call.refuse("it quantizes in blocks");
        if (isNarrow(call.out().dtype)) call.refuse("it quantizes to floats; use Div and Cast instead");
        return fmt::format("{}({}, {}, {}, {}, {})", call.helper("quantized"), call.in(0), call.in(1),
                           call.in(2), call.integer("axis"), torchDType(call.out().dtype));
    };
    table["DequantizeLinear"] = [](const Call& call) {
        if (call.integer("block_size") != 0)
            call.refuse("PyTorch export does not support block quantization");
        return fmt::format("{}({}, {}, {}, {})", call.helper("dequantized"), call.in(0), call.in(1),
                           call.in(2), call.integer("axis"));
    };
    table["DynamicQuantizeLinear"] = [](const Call& call) {
        return fmt::format("{}({})", call.helper("dynamically_quantized"), call.in(0));
    };
}

} // namespace twb::pytorch
