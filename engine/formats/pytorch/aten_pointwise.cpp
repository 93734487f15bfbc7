#include "formats/pytorch/aten_mapping.h"

#include <cmath>
#include <numbers>

namespace twb::aten {
namespace {

/// An op of one operand, computed in the result's dtype.
template <Name op> void unary(Mapping& m) { m.give(m.make(op.chars, {m.cast(m.tensor("self"), m.dtype())})); }

/// The same, for an op that changes no integer.
template <Name op> void rounding(Mapping& m) {
    const Value x = m.tensor("self");
    if (m.has("decimals") && m.integer("decimals") != 0) Mapping::refuse("it rounds to decimals");
    m.give(isFloating(x.type.dtype) ? m.make(op.chars, {x}) : x);
}

/// An op of two operands, computed in the result's dtype.
template <Name op> void binary(Mapping& m) {
    m.give(m.make(op.chars, {m.operand("self", m.dtype()), m.operand("other", m.dtype())}));
}

/// Operands of a comparison in their common dtype; bool becomes u8, which has an order.
std::pair<Value, Value> compared(Mapping& m) {
    DType dtype = m.promoted({"self", "other"});
    if (dtype == DType::boolean) dtype = DType::u8;
    return {m.operand("self", dtype), m.operand("other", dtype)};
}

template <Name op> void comparison(Mapping& m) {
    const auto [a, b] = compared(m);
    m.give(m.make(op.chars, {a, b}));
}

template <Name op> void logical(Mapping& m) {
    m.give(m.make(op.chars, {m.operand("self", DType::boolean), m.operand("other", DType::boolean)}));
}

template <Name ofBools, Name ofIntegers> void bitwise(Mapping& m) {
    const char* op = m.dtype() == DType::boolean ? ofBools.chars : ofIntegers.chars;
    m.give(m.make(op, {m.operand("self", m.dtype()), m.operand("other", m.dtype())}));
}

/// self ± alpha · other; of bools, Add is Or.
template <Name op> void sum(Mapping& m) {
    const DType dtype = m.dtype();
    const double alpha = m.number("alpha", 1);
    if (dtype == DType::boolean) {
        if (std::string_view(op.chars) != "Add" || alpha != 1) Mapping::refuse("it subtracts bools");
        return logical<"Or">(m);
    }
    m.give(m.make(op.chars, {m.operand("self", dtype), m.scaled(m.operand("other", dtype), alpha)}));
}

void rsub(Mapping& m) {
    const DType dtype = m.dtype();
    m.give(m.sub(m.operand("other", dtype), m.scaled(m.operand("self", dtype), m.number("alpha", 1))));
}

void multiply(Mapping& m) {
    if (m.dtype() == DType::boolean) return logical<"And">(m);
    binary<"Mul">(m);
}

/// Rounds towards zero.
Value truncated(Mapping& m, const Value& x) {
    if (!isFloating(x.type.dtype)) return x;
    const Value isNegative = m.make("Less", {x, m.constant(0, x.type.dtype)});
    return m.make("Where", {isNegative, m.make("Ceil", {x}), m.make("Floor", {x})});
}

/// Python's floor division. The remainder decides, since the rounded quotient may be a whole number above.
Value floorDivided(Mapping& m, const Value& a, const Value& b) {
    if (!isFloating(a.type.dtype)) return m.div(m.sub(a, m.make("Mod", {a, b})), b);
    const DType dtype = a.type.dtype;
    const Value zero = m.constant(0, dtype);
    const Value rest = m.make("Mod", {a, b}, {{"fmod", true}}); // with the sign of a
    const Value quotient = m.make("Round", {m.div(m.sub(a, rest), b)});
    const Value hasOtherSign = m.make("Xor", {m.make("Less", {rest, zero}), m.make("Less", {b, zero})});
    const Value isWhole = m.make("Equal", {rest, zero});
    const Value isAbove = m.make("And", {hasOtherSign, m.make("Not", {isWhole})}); // towards zero
    const Value floored = m.sub(quotient, m.cast(isAbove, dtype));
    return m.make("Where", {m.make("Equal", {b, zero}), m.div(a, b), floored});
}

void divide(Mapping& m) {
    const std::string rounding = m.text("rounding_mode", "");
    const Value a = m.operand("self", m.dtype());
    const Value b = m.operand("other", m.dtype());
    if (rounding == "floor") return m.give(floorDivided(m, a, b));
    const Value quotient = m.div(a, b);
    m.give(rounding == "trunc" ? truncated(m, quotient) : quotient);
}

void floorDivide(Mapping& m) {
    m.give(floorDivided(m, m.operand("self", m.dtype()), m.operand("other", m.dtype())));
}

void remainder(Mapping& m) {
    m.give(m.make("Mod", {m.operand("self", m.dtype()), m.operand("other", m.dtype())}));
}

void power(Mapping& m) {
    const DType dtype = m.dtype();
    m.give(m.make("Pow", {m.operand("self", dtype), m.operand("exponent", dtype)}));
}

void clamp(Mapping& m) {
    const DType dtype = m.dtype();
    Value x = m.operand("self", dtype);
    if (m.isTensor("min") || m.isTensor("max")) {
        if (m.has("min")) x = m.make("Max", {x, m.operand("min", dtype)});
        if (m.has("max")) x = m.make("Min", {x, m.operand("max", dtype)});
        return m.give(x);
    }
    Attributes bounds;
    if (m.has("min")) bounds.set("min", m.number("min"));
    if (m.has("max")) bounds.set("max", m.number("max"));
    m.give(m.make("Clip", {x}, bounds));
}

/// Clip between two numbers: hardtanh, relu6.
Value clipped(Mapping& m, double low, double high) {
    return m.make("Clip", {m.cast(m.tensor("self"), m.dtype())}, {{"min", low}, {"max", high}});
}

Value condition(Mapping& m, std::string_view name) { return m.cast(m.tensor(name), DType::boolean); }

void where(Mapping& m) {
    m.give(m.make("Where",
                  {condition(m, "condition"), m.operand("self", m.dtype()), m.operand("other", m.dtype())}));
}

void maskedFill(Mapping& m) {
    m.give(
        m.make("Where", {condition(m, "mask"), m.operand("value", m.dtype()), m.operand("self", m.dtype())}));
}

void threshold(Mapping& m) {
    const Value x = m.tensor("self");
    m.give(m.make("Where", {m.make("LessOrEqual", {x, m.operand("threshold", m.dtype())}),
                            m.operand("value", m.dtype()), x}));
}

/// self + value · a ∘ b
template <Name op> void addProduct(Mapping& m) {
    const DType dtype = m.dtype();
    const Value product = m.make(op.chars, {m.operand("tensor1", dtype), m.operand("tensor2", dtype)});
    m.give(m.add(m.operand("self", dtype), m.scaled(product, m.number("value", 1))));
}

void lerp(Mapping& m) {
    const DType dtype = m.dtype();
    const Value start = m.operand("self", dtype);
    const Value way = m.sub(m.operand("end", dtype), start);
    m.give(m.add(start, m.mul(way, m.operand("weight", dtype))));
}

void softplus(Mapping& m) {
    const double beta = m.number("beta", 1);
    const double most = m.number("threshold", 20);
    const Value x = m.tensor("self");
    const Value scaled = m.scaled(x, beta);
    Value soft = m.make("Softplus", {scaled});
    if (beta != 1) soft = m.div(soft, m.constant(beta, m.dtype()));
    if (most < 20) // above 20, softplus is x
        soft = m.make("Where", {m.make("Greater", {scaled, m.constant(most, m.dtype())}), x, soft});
    m.give(soft);
}

/// scale · (x > 0 ? x : alpha · (exp(input_scale · x) − 1)); selu and celu are calls of it.
void elu(Mapping& m) {
    const Value x = m.tensor("self");
    const double alpha = m.number("alpha", 1);
    const double scale = m.number("scale", 1);
    const double inner = m.number("input_scale", 1);
    if (inner != 1 && std::abs(inner * alpha - 1) < 1e-6 && scale == 1)
        return m.give(m.make("Celu", {x}, {{"alpha", alpha}}));
    if (inner != 1) Mapping::refuse("its input_scale is not 1");
    m.give(m.scaled(m.make("Elu", {x}, {{"alpha", alpha}}), scale));
}

/// exp(x) − 1 without cancellation near 0: 2t / (1 − t) with t = tanh(x / 2).
void expm1(Mapping& m) {
    const DType dtype = m.dtype();
    const Value x = m.cast(m.tensor("self"), dtype);
    const Value t = m.make("Tanh", {m.scaled(x, 0.5)});
    const Value small = m.div(m.scaled(t, 2), m.sub(m.constant(1, dtype), t));
    const Value large = m.sub(m.make("Exp", {x}), m.constant(1, dtype));
    const Value isSmall = m.make("Less", {m.make("Abs", {x}), m.constant(0.5, dtype)});
    m.give(m.make("Where", {isSmall, small, large}));
}

/// ln(1 + x) without cancellation near 0: 2 · artanh(x / (2 + x)).
void log1p(Mapping& m) {
    const DType dtype = m.dtype();
    const Value x = m.cast(m.tensor("self"), dtype);
    const Value small = m.scaled(m.make("Atanh", {m.div(x, m.add(x, m.constant(2, dtype)))}), 2);
    const Value large = m.make("Log", {m.add(x, m.constant(1, dtype))});
    const Value isSmall = m.make("Less", {m.make("Abs", {x}), m.constant(0.5, dtype)});
    m.give(m.make("Where", {isSmall, small, large}));
}

void scaledLog(Mapping& m, double factor) {
    m.give(m.scaled(m.make("Log", {m.cast(m.tensor("self"), m.dtype())}), factor));
}

void logicalNot(Mapping& m) { m.give(m.make("Not", {condition(m, "self")})); }

void nanToNum(Mapping& m) {
    const Value x = m.tensor("self");
    const DType dtype = m.dtype();
    if (dtype != DType::f32 && dtype != DType::f64)
        Mapping::refuse("its dtype is neither float32 nor float64");
    const double largest =
        dtype == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    const Value numbers = m.make("Where", {m.make("IsNaN", {x}), m.constant(m.number("nan", 0), dtype), x});
    const double high = m.number("posinf", largest);
    const double low = m.number("neginf", -largest);
    const Value isHigh = m.make("IsInf", {numbers}, {{"detect_negative", false}});
    const Value isLow = m.make("IsInf", {numbers}, {{"detect_positive", false}});
    const Value bounded = m.make("Where", {isHigh, m.constant(high, dtype), numbers});
    m.give(m.make("Where", {isLow, m.constant(low, dtype), bounded}));
}

} // namespace

void addPointwise(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) { rows.push_back({name, map, true}); };
    row("relu", unary<"Relu">);
    row("sigmoid", unary<"Sigmoid">);
    row("tanh", unary<"Tanh">);
    row("exp", unary<"Exp">);
    row("log", unary<"Log">);
    row("sqrt", unary<"Sqrt">);
    row("neg", unary<"Neg">);
    row("abs", unary<"Abs">);
    row("sin", unary<"Sin">);
    row("cos", unary<"Cos">);
    row("tan", unary<"Tan">);
    row("asin", unary<"Asin">);
    row("acos", unary<"Acos">);
    row("atan", unary<"Atan">);
    row("sinh", unary<"Sinh">);
    row("cosh", unary<"Cosh">);
    row("asinh", unary<"Asinh">);
    row("acosh", unary<"Acosh">);
    row("atanh", unary<"Atanh">);
    row("erf", unary<"Erf">);
    row("erfinv", unary<"Erfinv">);
    row("sign", unary<"Sign">);
    row("sgn", unary<"Sign">);
    row("reciprocal", unary<"Reciprocal">);
    row("mish", unary<"Mish">);
    row("silu", unary<"Swish">);
    row("hardswish", unary<"HardSwish">);
    row("floor", rounding<"Floor">);
    row("ceil", rounding<"Ceil">);
    row("round", rounding<"Round">);
    row("trunc", [](Mapping& m) { m.give(truncated(m, m.tensor("self"))); });
    row("frac", [](Mapping& m) { m.give(m.sub(m.tensor("self"), truncated(m, m.tensor("self")))); });
    row("expm1", expm1);
    row("log1p", log1p);
    row("log2", [](Mapping& m) { scaledLog(m, 1 / std::numbers::ln2); });
    row("log10", [](Mapping& m) { scaledLog(m, 1 / std::numbers::ln10); });
    row("exp2", [](Mapping& m) {
        m.give(m.make("Pow", {m.constant(2, m.dtype()), m.cast(m.tensor("self"), m.dtype())}));
    });
    row("rsqrt", [](Mapping& m) {
        m.give(m.make("Reciprocal", {m.make("Sqrt", {m.cast(m.tensor("self"), m.dtype())})}));
    });
    row("square", [](Mapping& m) { m.give(m.mul(m.tensor("self"), m.tensor("self"))); });
    row("positive", [](Mapping& m) { m.give(m.tensor("self")); });
    row("isnan", [](Mapping& m) {
        const Value x = m.tensor("self");
        m.give(isFloating(x.type.dtype) ? m.make("IsNaN", {x}) : m.filled(0, m.type()));
    });
    row("isinf", [](Mapping& m) {
        const Value x = m.tensor("self");
        m.give(isFloating(x.type.dtype) ? m.make("IsInf", {x}) : m.filled(0, m.type()));
    });
    row("nan_to_num", nanToNum);
    row("gelu", [](Mapping& m) {
        m.give(m.make("Gelu", {m.tensor("self")}, {{"approximate", m.text("approximate", "none")}}));
    });
    row("leaky_relu", [](Mapping& m) {
        m.give(m.make("LeakyRelu", {m.tensor("self")}, {{"alpha", m.number("negative_slope", 0.01)}}));
    });
    row("hardsigmoid", [](Mapping& m) {
        m.give(m.make("HardSigmoid", {m.tensor("self")}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
    });
    row("hardtanh", [](Mapping& m) { m.give(clipped(m, m.number("min_val", -1), m.number("max_val", 1))); });
    row("relu6", [](Mapping& m) { m.give(clipped(m, 0, 6)); });
    row("softplus", softplus);
    row("elu", elu);
    row("celu", [](Mapping& m) {
        m.give(m.make("Celu", {m.tensor("self")}, {{"alpha", m.number("alpha", 1)}}));
    });
    row("selu", unary<"Selu">);
    row("softshrink", [](Mapping& m) {
        const double lambda = m.number("lambd", 0.5);
        m.give(m.make("Shrink", {m.tensor("self")}, {{"lambd", lambda}, {"bias", lambda}}));
    });
    row("hardshrink", [](Mapping& m) {
        m.give(m.make("Shrink", {m.tensor("self")}, {{"lambd", m.number("lambd", 0.5)}, {"bias", 0.0}}));
    });
    row("log_sigmoid",
        [](Mapping& m) { m.give(m.make("Neg", {m.make("Softplus", {m.make("Neg", {m.tensor("self")})})})); });
    row("log_sigmoid_forward",
        [](Mapping& m) { m.give(m.make("Neg", {m.make("Softplus", {m.make("Neg", {m.tensor("self")})})})); });
    row("threshold", threshold);
    row("add", sum<"Add">);
    row("sub", sum<"Sub">);
    row("subtract", sum<"Sub">);
    row("rsub", rsub);
    row("mul", multiply);
    row("multiply", multiply);
    row("div", divide);
    row("divide", divide);
    row("true_divide", divide);
    row("floor_divide", floorDivide);
    row("remainder", remainder);
    row("fmod", [](Mapping& m) {
        m.give(
            m.make("Mod", {m.operand("self", m.dtype()), m.operand("other", m.dtype())}, {{"fmod", true}}));
    });
    row("pow", power);
    row("maximum", binary<"Max">);
    row("minimum", binary<"Min">);
    row("eq", comparison<"Equal">);
    row("ne", [](Mapping& m) {
        const auto [a, b] = compared(m);
        m.give(m.make("Not", {m.make("Equal", {a, b})}));
    });
    row("lt", comparison<"Less">);
    row("le", comparison<"LessOrEqual">);
    row("gt", comparison<"Greater">);
    row("ge", comparison<"GreaterOrEqual">);
    row("logical_and", logical<"And">);
    row("logical_or", logical<"Or">);
    row("logical_xor", logical<"Xor">);
    row("logical_not", logicalNot);
    row("bitwise_and", bitwise<"And", "BitwiseAnd">);
    row("bitwise_or", bitwise<"Or", "BitwiseOr">);
    row("bitwise_xor", bitwise<"Xor", "BitwiseXor">);
    row("__and__", bitwise<"And", "BitwiseAnd">);
    row("__or__", bitwise<"Or", "BitwiseOr">);
    row("__xor__", bitwise<"Xor", "BitwiseXor">);
    row("bitwise_not", [](Mapping& m) {
        if (m.dtype() == DType::boolean) return logicalNot(m);
        m.give(m.make("BitwiseNot", {m.tensor("self")}));
    });
    row("clamp", clamp);
    row("clip", clamp);
    row("clamp_min", clamp);
    row("clamp_max", clamp);
    row("where", where);
    row("masked_fill", maskedFill);
    row("addcmul", addProduct<"Mul">);
    row("addcdiv", addProduct<"Div">);
    row("lerp", lerp);
}

} // namespace twb::aten
