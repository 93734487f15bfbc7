#include "core/narrow.h"
#include "formats/pytorch/torch_call.h"

#include <cmath>
#include <cstdint>

namespace twb::pytorch {
namespace {

/// `expression`, in the dtype of output 0 where PyTorch would promote it to another.
std::string as(const Call& call, std::string expression, bool promotes) {
    return promotes ? fmt::format("({}).type({})", expression, torchDType(call.out().dtype)) : expression;
}

/// f(f(a, b), c) of a variadic op.
std::string chained(const Call& call, const char* function) {
    std::string out = call.in(0);
    for (int port = 1; port < call.inputCount(); ++port)
        out = fmt::format("{}({}, {})", function, out, call.in(port));
    return out;
}

std::string sum(const Call& call) {
    std::string out = call.in(0);
    for (int port = 1; port < call.inputCount(); ++port) out += " + " + call.in(port);
    return out;
}

/// A bound of integers, which none of them exceeds.
std::string wholeBound(double bound, DType dtype) {
    const std::size_t bits = 8 * sizeOf(dtype);
    const bool isSigned =
        dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
    const double end = std::ldexp(1.0, static_cast<int>(isSigned ? bits - 1 : bits)); // above the largest
    if (bound >= end)
        return fmt::format("{}", isSigned ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits));
    if (isSigned && bound <= -end) return fmt::format("-{}", std::uint64_t{1} << (bits - 1));
    return bound > 0 ? fmt::format("{}", static_cast<std::uint64_t>(bound))
                     : fmt::format("{}", isSigned ? static_cast<std::int64_t>(bound) : std::int64_t{0});
}

std::string clip(const Call& call) {
    std::string bounds;
    for (const int port : {1, 2}) {
        // A tensor stays one: its value is the run's.
        std::string bound = call.has(port) && !call.numbers(port) ? call.in(port) : call.scalar(port);
        // A fraction would make integers floating-point numbers.
        const auto given = call.numbers(port);
        if (given && given->size() == 1 && isInteger(call.out().dtype))
            bound = wholeBound(given->front(), call.out().dtype);
        if (bound != "None") bounds += fmt::format(", {}={}", port == 1 ? "min" : "max", bound);
    }
    return bounds.empty() ? call.in(0) : fmt::format("torch.clamp({}{})", call.in(0), bounds);
}

std::string divide(const Call& call) {
    return isFloating(call.out().dtype) ? call.filled("{0} / {1}")
                                        : call.filled("torch.div({0}, {1}, rounding_mode=\"trunc\")");
}

std::string cumulated(const Call& call) {
    const auto axis = call.integers(1);
    const std::string dim = axis && axis->size() == 1 ? std::to_string(axis->front()) : call.scalar(1);
    const bool reverse = call.flag("reverse");
    const std::string x = reverse ? fmt::format("{}.flip({})", call.in(0), dim) : call.in(0);
    const char* const function = call.op().name == "CumProd" ? "torch.cumprod" : "torch.cumsum";
    std::string out =
        call.flag("exclusive")
            ? fmt::format("{}({}, {}, {}, {}, dtype={})", call.helper("exclusive"), function,
                          call.op().name == "CumProd" ? 1 : 0, x, dim, torchDType(call.out().dtype))
            : fmt::format("{}({}, {}, dtype={})", function, x, dim, torchDType(call.out().dtype));
    return reverse ? fmt::format("({}).flip({})", out, dim) : out;
}

std::string dropout(const Call& call) {
    const auto training = call.numbers(2);
    const auto ratio = call.numbers(1);
    const bool drops = (call.has(2) && !training) || (training && training->front() != 0);
    if (drops && !(ratio && ratio->front() == 0))
        call.refuse("PyTorch cannot reproduce its random dropout in training; set training_mode to false");
    return call.isRead(1) ? call.filled("({0}, torch.ones_like({0}, dtype=torch.bool))")
                          : call.alone(call.in(0));
}

std::string isInf(const Call& call) {
    const bool negative = call.flag("detect_negative");
    const bool positive = call.flag("detect_positive");
    if (negative && positive) return call.filled("torch.isinf({0})");
    if (negative) return call.filled("torch.isneginf({0})");
    if (positive) return call.filled("torch.isposinf({0})");
    return call.filled("torch.zeros_like({0}, dtype=torch.bool)");
}

std::string swish(const Call& call) {
    return call.number("alpha") == 1 ? call.filled("F.silu({0})")
                                     : call.filled("{0} * torch.sigmoid({alpha} * {0})");
}

std::string swiGlu(const Call& call) {
    return call.number("alpha") == 1 ? call.filled("F.silu({0}) * {1}")
                                     : call.filled("{0} * torch.sigmoid({alpha} * {0}) * {1}");
}

std::string selu(const Call& call) {
    const auto& defaults = *findOp("Selu");
    const bool usual = call.number("alpha") == std::get<double>(*defaults.attribute("alpha")->defaultValue) &&
                       call.number("gamma") == std::get<double>(*defaults.attribute("gamma")->defaultValue);
    return usual ? call.filled("F.selu({0})") : call.filled("{gamma} * F.elu({0}, {alpha})");
}

std::string shift(const Call& call) {
    return call.filled(call.text("direction") == "LEFT" ? "torch.bitwise_left_shift({0}, {1})"
                                                        : "torch.bitwise_right_shift({0}, {1})");
}

std::string cast(const Call& call) {
    const DType to = call.out().dtype;
    if (isNarrow(to) && call.dtype(0) != to &&
        call.flag("saturate")) { // PyTorch's own cast does not saturate
        const float most = narrowValue(to, to == DType::f8e4m3fn ? 0x7e : to == DType::f8e5m2 ? 0x7b : 0x7f);
        return fmt::format("{}.float().clamp({}, {}).type({})", call.in(0), -most, most, torchDType(to));
    }
    return fmt::format("{}.type({})", call.in(0), torchDType(call.out().dtype));
}

std::string bitCast(const Call& call) {
    // A bool is 0 or 1, whatever the byte is.
    return call.out().dtype == DType::boolean
               ? call.filled("{0} != 0")
               : fmt::format("{}.view({})", call.in(0), torchDType(call.out().dtype));
}

} // namespace

void addPointwise(Writers& table) {
    table["Hardmax"] = [](const Call& call) {
        return fmt::format("{}({}, {})", call.helper("hardmax"), call.in(0), call.integer("axis"));
    };
    table["Shrink"] = [](const Call& call) {
        return as(call,
                  call.filled("torch.where({0} < -{lambd}, {0} + {bias}, "
                              "torch.where({0} > {lambd}, {0} - {bias}, 0))"),
                  !isFloating(call.dtype()));
    };
    table["Erf"] = [](const Call& call) {
        return as(call, call.filled("torch.erf({0})"), !isFloating(call.dtype()));
    };
    table["Clip"] = clip;
    table["Selu"] = selu;
    table["Swish"] = swish;
    table["SwiGLU"] = swiGlu;
    table["Dropout"] = dropout;
    table["Div"] = divide;
    table["Mod"] = [](const Call& call) {
        return call.filled(call.flag("fmod") ? "torch.fmod({0}, {1})" : "torch.remainder({0}, {1})");
    };
    table["Pow"] = [](const Call& call) {
        return as(call, call.filled("torch.pow({0}, {1})"), call.dtype(0) != call.dtype(1));
    };
    table["Max"] = [](const Call& call) { return chained(call, "torch.maximum"); };
    table["Min"] = [](const Call& call) { return chained(call, "torch.minimum"); };
    table["Sum"] = sum;
    table["Mean"] = [](const Call& call) { return fmt::format("({}) / {}", sum(call), call.inputCount()); };
    table["IsInf"] = isInf;
    table["BitShift"] = shift;
    table["Cast"] = cast;
    table["CastLike"] = cast;
    table["BitCast"] = bitCast;
    table["CumSum"] = cumulated;
    table["CumProd"] = cumulated;
}

} // namespace twb::pytorch
