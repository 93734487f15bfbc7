#include "formats/pytorch/aten_mapping.h"

#include <algorithm>

namespace twb::aten {
namespace {

template <std::size_t N> struct Name {
    constexpr Name(const char (&text)[N]) { std::copy_n(text, N, chars); }
    char chars[N];
};

/// The second operand of each item: a tensor of a list, one tensor or number for all, or a number of a list.
class Operands {
public:
    Operands(Mapping& m, const char* name) : m_mapping(m) {
        for (const char* each : {name, "scalars", "scalar", "tensors2"})
            if (m.has(each)) m_name = each;
        if (!m_name) Mapping::refuse("it has no second operand");
        const auto& arguments = m.call().arguments;
        const auto at = std::find_if(arguments.begin(), arguments.end(),
                                     [&](const auto& argument) { return argument.first == m_name; });
        if (std::holds_alternative<std::vector<ValueId>>(at->second) ||
            std::holds_alternative<ValueId>(at->second))
            m_tensors = m.tensors(m_name);
        else
            m_numbers = m.numbers(m_name);
    }

    Value at(std::size_t i, DType dtype) {
        const auto pick = [i](const auto& list) { return list.at(list.size() == 1 ? 0 : i); };
        if (!m_tensors.empty()) return m_mapping.cast(pick(m_tensors), dtype);
        return m_mapping.constant(pick(m_numbers), dtype);
    }
    std::size_t count() const { return std::max(m_tensors.size(), m_numbers.size()); }

private:
    Mapping& m_mapping;
    const char* m_name = nullptr;
    std::vector<Value> m_tensors;
    std::vector<double> m_numbers;
};

std::vector<Value> itemsOf(Mapping& m, const char* name = "self") {
    std::vector<Value> items = m.tensors(name);
    if (items.size() != m.resultCount()) Mapping::refuse("its numbers of operands and results differ");
    return items;
}

template <Name op> void unaryEach(Mapping& m) {
    std::size_t i = 0;
    for (const Value& item : itemsOf(m)) m.give(i++, m.make(op.chars, {item}));
}

template <Name op> void binaryEach(Mapping& m) {
    const std::vector<Value> items = itemsOf(m);
    Operands others(m, "other");
    if (others.count() != 1 && others.count() != items.size())
        Mapping::refuse("its lists have different lengths");
    const double alpha = m.number("alpha", 1);
    for (std::size_t i = 0; i < items.size(); ++i) {
        const DType dtype = m.dtype(i);
        m.give(i, m.make(op.chars, {m.cast(items[i], dtype), m.scaled(others.at(i, dtype), alpha)}));
    }
}

/// self + value · tensor1 ∘ tensor2
template <Name op> void productEach(Mapping& m) {
    const std::vector<Value> items = itemsOf(m);
    const std::vector<Value> a = m.tensors("tensor1");
    const std::vector<Value> b = m.tensors("tensor2");
    std::vector<double> factors{1};
    for (const char* name : {"value", "scalars"})
        if (m.has(name)) factors = m.numbers(name);
    if (a.size() != items.size() || b.size() != items.size() ||
        (factors.size() != 1 && factors.size() != items.size()))
        Mapping::refuse("its lists have different lengths");
    for (std::size_t i = 0; i < items.size(); ++i)
        m.give(i, m.add(items[i], m.scaled(m.make(op.chars, {a[i], b[i]}),
                                           factors.size() == 1 ? factors[0] : factors[i])));
}

void lerpEach(Mapping& m) {
    const std::vector<Value> items = itemsOf(m);
    const std::vector<Value> ends = m.tensors(m.has("tensors1") ? "tensors1" : "end");
    Operands weights(m, "weight");
    if (ends.size() != items.size()) Mapping::refuse("its lists have different lengths");
    for (std::size_t i = 0; i < items.size(); ++i)
        m.give(i, m.add(items[i], m.mul(m.sub(ends[i], items[i]), weights.at(i, m.dtype(i)))));
}

void normEach(Mapping& m) {
    if (m.number("ord", 2) != 2) Mapping::refuse("its order is not 2");
    std::size_t i = 0;
    for (const Value& item : itemsOf(m)) m.give(i++, m.reduce("ReduceL2", item, {}, false));
}

void copyEach(Mapping& m) {
    const std::vector<Value> sources = itemsOf(m, "src");
    for (std::size_t i = 0; i < sources.size(); ++i)
        m.give(i, m.onDevice(sources[i], m.call().results[i].device));
}

/// torch.amp.GradScaler: multiplies the gradients by inv_scale. found_inf is 1 if an element is not finite.
void unscaleEach(Mapping& m) {
    const std::vector<Value> items = m.tensors("self");
    const Value found = m.tensor("found_inf");
    const Value factor = m.tensor("inv_scale");
    if (items.size() + 1 != m.resultCount()) Mapping::refuse("its numbers of operands and results differ");
    Mapping::Inputs sums;
    for (std::size_t i = 0; i < items.size(); ++i) {
        // 0 times an element is NaN unless the element is finite.
        const Value zeros = m.mul(items[i], m.constant(0, items[i].type.dtype));
        sums.emplace_back(m.cast(m.reduce("ReduceSum", zeros, {}, false), found.type.dtype));
        m.give(i, m.mul(items[i], m.cast(factor, items[i].type.dtype)));
    }
    const Value isNotFinite = m.make("IsNaN", {m.make("Sum", sums)});
    m.give(items.size(), m.make("Where", {isNotFinite, m.constant(1, found.type.dtype), found}));
}

/// torch.amp.GradScaler: a smaller scale after a step with found_inf, a larger one after growth_interval
/// steps without.
void updateScale(Mapping& m) {
    const Value scale = m.tensor("self");
    const Value steps = m.tensor("growth_tracker");
    const DType counted = steps.type.dtype;
    const Value isFound =
        m.make("Greater", {m.tensor("found_inf"), m.constant(0, m.tensor("found_inf").type.dtype)});
    const Value next = m.add(steps, m.constant(1, counted));
    const double interval = static_cast<double>(m.integer("growth_interval"));
    const Value grows = m.make("Equal", {next, m.constant(interval, counted)});
    const auto factor = [&](const char* name, const char* other) {
        return m.scaled(scale, m.number(m.has(name) ? name : other));
    };
    // A scale that would become infinite stays.
    const Value grown = factor("scale_growth_factor", "growth_factor");
    const Value mayGrow = m.make("And", {grows, m.make("Not", {m.make("IsInf", {grown})})});
    const Value calm = m.make("Where", {mayGrow, grown, scale});
    m.give(0, m.make("Where", {isFound, factor("scale_backoff_factor", "backoff_factor"), calm}));
    const Value starts = m.make("Or", {isFound, grows});
    m.give(1, m.make("Where", {starts, m.constant(0, counted), next}));
}

} // namespace

void addLists(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) { rows.push_back({name, map, true}); };
    row("_foreach_add", binaryEach<"Add">);
    row("_foreach_sub", binaryEach<"Sub">);
    row("_foreach_mul", binaryEach<"Mul">);
    row("_foreach_div", binaryEach<"Div">);
    row("_foreach_maximum", binaryEach<"Max">);
    row("_foreach_clamp_min", binaryEach<"Max">);
    row("_foreach_minimum", binaryEach<"Min">);
    row("_foreach_clamp_max", binaryEach<"Min">);
    row("_foreach_sqrt", unaryEach<"Sqrt">);
    row("_foreach_neg", unaryEach<"Neg">);
    row("_foreach_abs", unaryEach<"Abs">);
    row("_foreach_exp", unaryEach<"Exp">);
    row("_foreach_reciprocal", unaryEach<"Reciprocal">);
    row("_foreach_addcmul", productEach<"Mul">);
    row("_foreach_addcdiv", productEach<"Div">);
    row("_foreach_lerp", lerpEach);
    row("_foreach_norm", normEach);
    row("_foreach_copy", copyEach);
    row("_amp_foreach_non_finite_check_and_unscale", unscaleEach);
    row("_amp_update_scale", updateScale);
    row("_foreach_zero", [](Mapping& m) {
        for (std::size_t i = 0; i < m.resultCount(); ++i) m.give(i, m.filled(0, m.type(i)));
    });
}

} // namespace twb::aten
