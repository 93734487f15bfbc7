#include "formats/pytorch/aten_mapping.h"

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

void zeros(Mapping& m) { m.give(m.filled(0, m.type())); }
void ones(Mapping& m) { m.give(m.filled(1, m.type())); }
void full(Mapping& m) {
    const char* name = "fill_value";
    for (const char* other : {"value", "s"})
        if (m.has(other)) name = other;
    if (m.isTensor(name)) {
        const Value value = m.operand(name, m.dtype());
        if (value.device == m.call().device || m.dtype() == DType::boolean)
            return m.give(m.expand(m.onDevice(value, m.call().device), m.shape()));
        return m.give(m.add(m.filled(0, m.type()), value)); // the host reads a scalar on the CPU
    }
    m.give(m.filled(m.number(name), m.type()));
}

void arange(Mapping& m) {
    m.give(m.make("Arange", {},
                  {{"start", m.number("start", 0)},
                   {"limit", m.number("end")},
                   {"delta", m.number("step", 1)},
                   {"dtype", std::string(name(m.dtype()))}}));
}

void linspace(Mapping& m) {
    const std::int64_t steps = m.shape()[0];
    const double start = m.number("start");
    const double delta = steps > 1 ? (m.number("end") - start) / static_cast<double>(steps - 1) : 0;
    const DType dtype = m.dtype();
    if (!isFloating(dtype)) Mapping::refuse("its dtype is not a floating one");
    const Value count = m.make("Arange", {},
                               {{"start", 0.0},
                                {"limit", static_cast<double>(steps)},
                                {"delta", 1.0},
                                {"dtype", std::string(name(dtype))}});
    m.give(m.add(m.mul(count, m.constant(delta, dtype)), m.constant(start, dtype)));
}

void eye(Mapping& m) { m.give(m.make("EyeLike", {m.filled(0, m.type())})); }

Value uniform(Mapping& m, const TensorType& type, double low, double high) {
    return m.make("RandomUniform", {},
                  {{"shape", type.shape.dims()},
                   {"dtype", std::string(name(type.dtype))},
                   {"low", low},
                   {"high", high},
                   {"seed", m.seed()}});
}

void normal(Mapping& m, double mean, double scale) {
    m.give(m.make("RandomNormal", {},
                  {{"shape", m.shape().dims()},
                   {"dtype", std::string(name(m.dtype()))},
                   {"mean", mean},
                   {"scale", scale},
                   {"seed", m.seed()}}));
}

void randint(Mapping& m) {
    const Value drawn = uniform(m, {DType::f64, m.shape()}, m.number("low", 0), m.number("high"));
    m.give(m.make("Floor", {drawn}));
}

void bernoulli(Mapping& m) {
    const TensorType type{isFloating(m.dtype()) ? m.dtype() : DType::f32, m.shape()};
    Value p = m.has("p") ? m.filled(m.number("p"), type) : m.tensor("self");
    m.give(m.make("Bernoulli", {p}, {{"dtype", std::string(name(m.dtype()))}, {"seed", m.seed()}}));
}

void multinomial(Mapping& m) {
    Value p = m.tensor("self");
    if (!m.flag("replacement", false) && m.integer("num_samples") != 1)
        Mapping::refuse("it samples without replacement");
    const bool isRow = p.type.shape.rank() == 1;
    if (isRow) p = m.unsqueeze(p, 0);
    const Value drawn = m.make(
        "Multinomial", {m.make("Log", {p})},
        {{"sample_size", m.integer("num_samples")}, {"dtype", std::string("i64")}, {"seed", m.seed()}});
    m.give(m.reshape(drawn, m.shape()));
}

/// Calls that check or ask, and compute nothing.
void nothing(Mapping&) {}

} // namespace

void addSources(Rows& rows) {
    const auto row = [&](std::string_view name, void (*map)(Mapping&)) {
        rows.push_back({name, map, false});
    };
    for (const char* name : {"zeros", "zeros_like", "new_zeros", "zero", "empty", "empty_like", "new_empty",
                             "empty_strided", "new_empty_strided", "empty_permuted"})
        row(name, zeros);
    for (const char* name : {"ones", "ones_like", "new_ones"}) row(name, ones);
    for (const char* name : {"full", "full_like", "new_full", "scalar_tensor"}) row(name, full);
    rows.push_back({"fill", full, true});
    row("arange", arange);
    row("linspace", linspace);
    row("eye", eye);
    for (const char* name : {"rand", "rand_like"})
        row(name, [](Mapping& m) { m.give(uniform(m, m.type(), 0, 1)); });
    row("uniform", [](Mapping& m) { m.give(uniform(m, m.type(), m.number("from", 0), m.number("to", 1))); });
    for (const char* name : {"randn", "randn_like"}) row(name, [](Mapping& m) { normal(m, 0, 1); });
    row("normal", [](Mapping& m) { normal(m, m.number("mean", 0), m.number("std", 1)); });
    for (const char* name : {"randint", "randint_like"}) row(name, randint);
    row("bernoulli", bernoulli);
    row("multinomial", multinomial);
    for (const char* name : {"_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_size",
                             "sym_constrain_range", "sym_constrain_range_for_size", "_local_scalar_dense",
                             "item", "is_nonzero", "equal", "record_stream"})
        row(name, nothing);
}

} // namespace twb::aten
