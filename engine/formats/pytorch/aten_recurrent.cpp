#include "formats/pytorch/aten_mapping.h"

namespace twb::aten {
namespace {

using Ints = Mapping::Ints;

/// A cell: the order of ONNX's gates as indices of PyTorch's.
struct Cell {
    const char* op;
    std::vector<std::size_t> gates;
    const char* activation = nullptr;
};

Value joined(Mapping& m, const std::vector<Value>& values, int axis) {
    if (values.size() == 1) return values.front();
    return m.make("Concat", Mapping::Inputs(values.begin(), values.end()), {{"axis", std::int64_t{axis}}});
}

/// A weight or bias with its gates in ONNX's order.
Value reordered(Mapping& m, const Value& weight, const Cell& cell) {
    if (cell.gates.size() == 1) return weight;
    const auto parts =
        m.makeAll("Split", {weight},
                  {{"axis", std::int64_t{0}}, {"num_outputs", static_cast<std::int64_t>(cell.gates.size())}});
    std::vector<Value> inOrder;
    for (const std::size_t gate : cell.gates) inOrder.push_back(parts[gate]);
    return joined(m, inOrder, 0);
}

/// lstm, gru, rnn_tanh and rnn_relu: one node per layer, with all directions.
void recurrent(Mapping& m, const Cell& cell) {
    const bool isLstm = cell.gates.size() == 4;
    if (m.has("batch_sizes")) Mapping::refuse("its sequence is packed");
    if (m.flag("train", false) && m.number("dropout", 0) != 0)
        Mapping::refuse("it drops elements at random between its layers");
    const bool batchFirst = m.flag("batch_first", false);
    const bool hasBiases = m.flag("has_biases", true);
    const std::int64_t layers = m.integer("num_layers", 1);
    const std::int64_t directions = m.flag("bidirectional", false) ? 2 : 1;
    const std::vector<Value> weights = m.tensors("params");
    const std::vector<Value> states = isLstm ? m.tensors("hx") : std::vector{m.tensor("hx")};
    const std::size_t each = hasBiases ? 4 : 2;
    if (layers < 1 || weights.size() != each * static_cast<std::size_t>(layers * directions) ||
        states.size() != (isLstm ? 2U : 1U))
        Mapping::refuse("its layers have projections, or other weights than PyTorch's");
    Value x = m.tensor("input");
    if (x.type.shape.rank() != 3) Mapping::refuse("its operand has no batch");
    if (batchFirst) x = m.transpose(x, {1, 0, 2});
    const std::int64_t hidden = states[0].type.shape[2];
    std::vector<std::vector<Value>> last(states.size());
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        std::vector<Value> w;
        std::vector<Value> r;
        std::vector<Value> b;
        for (std::int64_t d = 0; d < directions; ++d) {
            const std::size_t at = each * static_cast<std::size_t>(layer * directions + d);
            w.push_back(m.unsqueeze(reordered(m, weights[at], cell), 0));
            r.push_back(m.unsqueeze(reordered(m, weights[at + 1], cell), 0));
            if (!hasBiases) continue;
            const Value both =
                joined(m, {reordered(m, weights[at + 2], cell), reordered(m, weights[at + 3], cell)}, 0);
            b.push_back(m.unsqueeze(both, 0));
        }
        Mapping::Inputs inputs{x, joined(m, w, 0), joined(m, r, 0),
                               hasBiases ? std::optional(joined(m, b, 0)) : std::nullopt, std::nullopt};
        for (const Value& state : states)
            inputs.emplace_back(m.slice(state, 0, layer * directions, (layer + 1) * directions));
        Attributes attributes{{"hidden_size", hidden},
                              {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}};
        if (cell.gates.size() == 3) attributes.set("linear_before_reset", true);
        if (cell.activation)
            attributes.set("activations",
                           std::vector<std::string>(static_cast<std::size_t>(directions), cell.activation));
        const auto made = m.makeAll(cell.op, inputs, attributes);
        for (std::size_t s = 0; s < states.size(); ++s) last[s].push_back(made[s + 1]);
        // (length, directions, batch, hidden) to (length, batch, directions · hidden)
        const Shape& y = made[0].type.shape;
        x = m.reshape(directions == 1 ? made[0] : m.transpose(made[0], {0, 2, 1, 3}),
                      Shape{y[0], y[2], directions * hidden});
    }
    m.give(0, batchFirst ? m.transpose(x, {1, 0, 2}) : x);
    // torch.export states the shape (layers, 1, batch, hidden) for some of them.
    for (std::size_t s = 0; s < states.size(); ++s)
        m.give(s + 1, m.reshape(joined(m, last[s], 0), m.shape(s + 1)));
}

} // namespace

void addRecurrent(Rows& rows) {
    // PyTorch: input, forget, cell, output; ONNX: input, output, forget, cell.
    rows.push_back({"lstm", [](Mapping& m) { recurrent(m, {"LSTM", {0, 3, 1, 2}}); }});
    // PyTorch: reset, update, new; ONNX: update, reset, hidden.
    rows.push_back({"gru", [](Mapping& m) { recurrent(m, {"GRU", {1, 0, 2}}); }});
    rows.push_back({"rnn_tanh", [](Mapping& m) { recurrent(m, {"RNN", {0}, "Tanh"}); }});
    rows.push_back({"rnn_relu", [](Mapping& m) { recurrent(m, {"RNN", {0}, "Relu"}); }});
}

} // namespace twb::aten
