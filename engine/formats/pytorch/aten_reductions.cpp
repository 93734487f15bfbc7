#include "formats/pytorch/aten_mapping.h"

#include <algorithm>
#include <cmath>

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

template <std::size_t N> struct Name {
    constexpr Name(const char (&text)[N]) { std::copy_n(text, N, chars); }
    char chars[N];
};

/// The dimensions that a reduction names; empty: all.
Ints dims(Mapping& m) { return m.integers("dim", Ints{}); }
bool keeps(Mapping& m) { return m.flag("keepdim", false); }

/// In the result's dtype.
template <Name op> void reduction(Mapping& m) {
    m.give(m.reduce(op.chars, m.cast(m.tensor("self"), m.dtype()), dims(m), keeps(m)));
}

template <Name op> void ofBools(Mapping& m) {
    const Value x = m.cast(m.tensor("self"), DType::boolean);
    m.give(m.reduce(op.chars, x, dims(m), keeps(m)));
}

/// max and min: of all elements; along a dimension with indices; or of two tensors.
template <Name ofAll, Name indices, Name ofTwo> void extreme(Mapping& m) {
    if (m.has("other"))
        return m.give(m.make(ofTwo.chars, {m.operand("self", m.dtype()), m.operand("other", m.dtype())}));
    const Value x = m.tensor("self");
    m.give(0, m.reduce(ofAll.chars, x, dims(m), keeps(m)));
    if (m.resultCount() < 2) return;
    if (x.type.shape.rank() == 0) return m.give(1, m.constant(0, DType::i64));
    m.give(1, m.make(indices.chars, {x}, {{"axis", std::int64_t{m.axis("dim", x)}}, {"keepdims", keeps(m)}}));
}

template <Name op> void position(Mapping& m) {
    Value x = m.tensor("self");
    if (!m.has("dim")) {
        x = m.reshape(x, Shape{x.type.shape.elementCount()});
        return m.give(
            m.reshape(m.make(op.chars, {x}, {{"axis", std::int64_t{0}}, {"keepdims", false}}), m.shape()));
    }
    if (x.type.shape.rank() == 0) return m.give(m.constant(0, DType::i64));
    m.give(m.make(op.chars, {x}, {{"axis", std::int64_t{m.axis("dim", x)}}, {"keepdims", keeps(m)}}));
}

void norm(Mapping& m) {
    const Value x = m.cast(m.tensor("self"), m.dtype());
    const char* name = m.has("ord") ? "ord" : "p";
    const double order = m.number(name, 2);
    if (order == 2) return m.give(m.reduce("ReduceL2", x, dims(m), keeps(m)));
    if (order == 1) return m.give(m.reduce("ReduceL1", x, dims(m), keeps(m)));
    if (std::isinf(order))
        return m.give(m.reduce(order > 0 ? "ReduceMax" : "ReduceMin", m.make("Abs", {x}), dims(m), keeps(m)));
    Mapping::refuse("its order is not 1, 2 or infinity");
}

struct Moments {
    Value variance;
    Value mean;
};

Moments moments(Mapping& m, bool keep) {
    const Value x = m.tensor("self");
    double correction = 1;
    if (m.has("correction"))
        correction = m.number("correction");
    else if (m.has("unbiased"))
        correction = m.flag("unbiased", true) ? 1 : 0;
    Ints axes = dims(m);
    if (axes.empty())
        for (int i = 0; i < x.type.shape.rank(); ++i) axes.push_back(i);
    double count = 1;
    for (const std::int64_t axis : axes) count *= static_cast<double>(x.type.shape[Mapping::axisOf(axis, x)]);
    const Value mean = m.reduce("ReduceMean", x, axes, true);
    const Value squares = m.reduce("ReduceSumSquare", m.sub(x, mean), axes, keep);
    return {m.div(squares, m.constant(std::max(0.0, count - correction), x.type.dtype)), mean};
}

void varMean(Mapping& m, bool root) {
    const Moments of = moments(m, keeps(m));
    m.give(0, root ? m.make("Sqrt", {of.variance}) : of.variance);
    m.give(1, m.reshape(of.mean, m.shape(1)));
}

void cumsum(Mapping& m) {
    const Value x = m.cast(m.tensor("self"), m.dtype());
    if (x.type.shape.rank() == 0) return m.give(x);
    m.give(m.make("CumSum", {x}, {{"axis", std::int64_t{m.axis("dim", x)}}}));
}

template <Name op> void softmax(Mapping& m) {
    const Value x = m.cast(m.tensor("self"), m.dtype());
    if (x.type.shape.rank() == 0) Mapping::refuse("its operand is a scalar");
    m.give(m.make(op.chars, {x}, {{"axis", std::int64_t{m.axis("dim", x)}}}));
}

/// Softmax whose rows without a finite element are 0.
void safeSoftmax(Mapping& m) {
    const Value x = m.cast(m.tensor("self"), m.dtype());
    if (x.type.shape.rank() == 0) Mapping::refuse("its operand is a scalar");
    const std::int64_t axis = m.axis("dim", x);
    const Value lowest = m.constant(-std::numeric_limits<double>::infinity(), m.dtype());
    const Value isHidden = m.make("Equal", {m.reduce("ReduceMax", x, {axis}, true), lowest});
    m.give(m.make("Where", {isHidden, m.constant(0, m.dtype()), m.make("Softmax", {x}, {{"axis", axis}})}));
}

} // namespace

void addReductions(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    row("sum", reduction<"ReduceSum">);
    row("mean", reduction<"ReduceMean">);
    row("prod", reduction<"ReduceProd">);
    row("amax", reduction<"ReduceMax">);
    row("amin", reduction<"ReduceMin">);
    row("logsumexp", reduction<"ReduceLogSumExp">);
    row("any", ofBools<"ReduceMax">);
    row("all", ofBools<"ReduceMin">);
    row("max", extreme<"ReduceMax", "ArgMax", "Max">);
    row("min", extreme<"ReduceMin", "ArgMin", "Min">);
    row("argmax", position<"ArgMax">);
    row("argmin", position<"ArgMin">);
    row("norm", norm);
    row("linalg_vector_norm", norm);
    row("var", [](Mapping& m) { m.give(moments(m, keeps(m)).variance); });
    row("std", [](Mapping& m) { m.give(m.make("Sqrt", {moments(m, keeps(m)).variance})); });
    row("var_mean", [](Mapping& m) { varMean(m, false); });
    row("std_mean", [](Mapping& m) { varMean(m, true); });
    row("count_nonzero", [](Mapping& m) {
        const Value isSet = m.cast(m.tensor("self"), DType::boolean);
        m.give(m.reduce("ReduceSum", m.cast(isSet, DType::i64), dims(m), false));
    });
    row("cumsum", cumsum);
    row("softmax", softmax<"Softmax">);
    row("_softmax", softmax<"Softmax">);
    row("_safe_softmax", safeSoftmax);
    row("log_softmax", softmax<"LogSoftmax">);
    row("_log_softmax", softmax<"LogSoftmax">);
}

} // namespace twb::aten
