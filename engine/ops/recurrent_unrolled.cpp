#include "ops/composition.h"
#include "ops/recurrent_cells.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace twb {
namespace {

using Cell = RecurrentCell;

GraphTensor activated(const RecurrentActivation& how, GraphTensor x) {
    using Kind = RecurrentActivation::Kind;
    const Attributes alpha{{"alpha", how.alpha()}};
    switch (how.kind()) {
    case Kind::relu:
        return apply("Relu", {x});
    case Kind::tanh:
        return apply("Tanh", {x});
    case Kind::sigmoid:
        return apply("Sigmoid", {x});
    case Kind::affine:
        return x * how.alpha() + how.beta();
    case Kind::leakyRelu:
        return apply("LeakyRelu", {x}, alpha);
    case Kind::thresholdedRelu:
        return apply("ThresholdedRelu", {x}, alpha);
    case Kind::scaledTanh:
        return apply("Tanh", {x * how.beta()}) * how.alpha();
    case Kind::hardSigmoid:
        return apply("HardSigmoid", {x}, {{"alpha", how.alpha()}, {"beta", how.beta()}});
    case Kind::elu:
        return apply("Elu", {x}, alpha);
    case Kind::softsign:
        return apply("Softsign", {x});
    case Kind::softplus:
        break;
    }
    return apply("Softplus", {x});
}

/// A recurrent op unrolled into simpler ops, step by step, in the order of the steps.
class Unrolled {
public:
    Unrolled(GradientContext& g, Cell cell)
        : m_g(g), m_cell(cell), m_batchFirst(g.attributes().integer("layout") == 1),
          m_length(g.input().shape()[m_batchFirst ? 1 : 0]), m_batch(g.input().shape()[m_batchFirst ? 0 : 1]),
          m_hidden(g.input(2).shape()[2]), m_directions(recurrentDirections(g.attributes())),
          m_activations(recurrentActivationsOf(cell, g.attributes())),
          m_clip(g.attributes().has("clip") ? g.attributes().number("clip") : 0),
          m_linearBeforeReset(cell == Cell::gru && g.attributes().flag("linear_before_reset")),
          m_coupled(cell == Cell::lstm && g.attributes().flag("input_forget")) {
        if (g.input(4)) m_lengths = cast(g.input(4), DType::i64);
    }

    /// Y, Y_h and Y_c.
    std::vector<GraphTensor> outputs() {
        std::vector<GraphTensor> sequences;
        std::vector<GraphTensor> states;
        std::vector<GraphTensor> cells;
        for (m_direction = 0; m_direction < m_directions; ++m_direction) {
            sequences.push_back(sequence());
            states.push_back(reshape(m_h, stateShape(1)));
            if (m_c) cells.push_back(reshape(m_c, stateShape(1)));
        }
        const int axis = m_batchFirst ? 1 : 0;
        GraphTensor y = concat(m_g, sequences, 1);
        if (m_batchFirst) y = transpose(y, {2, 0, 1, 3});
        std::vector<GraphTensor> out{y, concat(m_g, states, axis)};
        if (m_cell == Cell::lstm) out.push_back(concat(m_g, cells, axis));
        return out;
    }

private:
    std::int64_t gates() const { return gatesOf(m_cell); }
    Shape stateShape(std::int64_t directions) const {
        return m_batchFirst ? Shape{m_batch, directions, m_hidden} : Shape{directions, m_batch, m_hidden};
    }
    /// The direction's part of a weight or bias.
    GraphTensor part(int port, const Shape& shape) const {
        return reshape(slice(m_g.input(port), 0, m_direction, m_direction + 1), shape);
    }
    GraphTensor initial(int port) const {
        if (!m_g.input(port)) return full(m_g, {m_g.input().type().dtype, {m_batch, m_hidden}}, 0);
        return reshape(slice(m_g.input(port), m_batchFirst ? 1 : 0, m_direction, m_direction + 1),
                       {m_batch, m_hidden});
    }
    GraphTensor activate(int which, GraphTensor x) const {
        const std::size_t each = m_activations.size() / static_cast<std::size_t>(m_directions);
        if (m_clip > 0) x = within(x, -m_clip, m_clip);
        return activated(
            m_activations[static_cast<std::size_t>(m_direction) * each + static_cast<std::size_t>(which)], x);
    }
    /// Equal parts of a row of gates.
    std::vector<GraphTensor> gatesIn(GraphTensor row, std::int64_t count) const {
        return split(row, 1, std::vector<std::int64_t>(static_cast<std::size_t>(count), m_hidden));
    }
    /// Reverses the steps of each sequence if the direction is reverse. `steps` is steps × batch × ….
    GraphTensor turned(GraphTensor steps) const {
        const bool isReverse = m_direction == 1 || m_g.attributes().text("direction") == "reverse";
        if (!isReverse) return steps;
        const GraphTensor lengths =
            m_lengths ? m_lengths : full(m_g, {DType::i64, {m_batch}}, static_cast<double>(m_length));
        return apply("ReverseSequence", {steps, lengths});
    }

    /// Runs the direction; the results are steps × 1 × batch × hidden. m_h and m_c are then its last state.
    GraphTensor sequence() {
        const std::int64_t width = gates() * m_hidden;
        GraphTensor x = m_g.input();
        if (m_batchFirst) x = transpose(x, {1, 0, 2});
        GraphTensor all = apply("MatMul", {turned(x), swapLast(part(1, {width, x.shape()[2]}))});
        m_weights = {swapLast(part(2, {width, m_hidden}))};
        if (m_cell == Cell::gru && !m_linearBeforeReset)
            m_weights = split(m_weights[0], 1, {2 * m_hidden, m_hidden});
        m_recurrentBias = {};
        if (m_g.input(3)) {
            const std::vector<GraphTensor> bias = split(part(3, {2 * width}), 0, {width, width});
            all = all + bias[0];
            if (m_linearBeforeReset)
                m_recurrentBias = bias[1];
            else
                all = all + bias[1];
        }
        m_peepholes.clear();
        if (m_cell == Cell::lstm && m_g.input(7)) m_peepholes = gatesIn(part(7, {1, 3 * m_hidden}), 3);
        m_h = initial(5);
        m_c = m_cell == Cell::lstm ? initial(6) : GraphTensor();
        std::vector<GraphTensor> results;
        const std::vector<GraphTensor> steps =
            split(all, 0, std::vector<std::int64_t>(static_cast<std::size_t>(m_length), 1));
        for (std::int64_t s = 0; s < m_length; ++s) {
            const GraphTensor oldH = m_h;
            const GraphTensor oldC = m_c;
            step(reshape(steps[static_cast<std::size_t>(s)], {m_batch, width}));
            GraphTensor result = m_h;
            if (m_lengths) { // a sequence that has ended keeps its state and gives 0
                const GraphTensor runs = reshape(m_lengths, {m_batch, 1}) > static_cast<double>(s);
                result = where(runs, m_h);
                m_h = where(runs, m_h, oldH);
                if (m_c) m_c = where(runs, m_c, oldC);
            }
            results.push_back(reshape(result, {1, m_batch, m_hidden}));
        }
        return reshape(turned(concat(m_g, results, 0)), {m_length, 1, m_batch, m_hidden});
    }

    void step(GraphTensor x) {
        if (m_cell == Cell::gru) return gruStep(x);
        const GraphTensor sum = x + apply("MatMul", {m_h, m_weights[0]});
        if (m_cell == Cell::rnn)
            m_h = activate(0, sum);
        else
            lstmStep(sum);
    }

    void gruStep(GraphTensor x) {
        const std::vector<std::int64_t> sizes{2 * m_hidden, m_hidden};
        const std::vector<GraphTensor> in = split(x, 1, sizes);
        GraphTensor candidate;
        const auto gatesOfSum = [&](GraphTensor sum) { return gatesIn(activate(0, sum), 2); };
        std::vector<GraphTensor> both;
        if (m_linearBeforeReset) {
            GraphTensor recurrent = apply("MatMul", {m_h, m_weights[0]});
            if (m_recurrentBias) recurrent = recurrent + m_recurrentBias;
            const std::vector<GraphTensor> parts = split(recurrent, 1, sizes);
            both = gatesOfSum(in[0] + parts[0]);
            candidate = activate(1, in[1] + both[1] * parts[1]);
        } else {
            both = gatesOfSum(in[0] + apply("MatMul", {m_h, m_weights[0]}));
            candidate = activate(1, in[1] + apply("MatMul", {both[1] * m_h, m_weights[1]}));
        }
        m_h = (1 - both[0]) * candidate + both[0] * m_h;
    }

    void lstmStep(GraphTensor sum) {
        GraphTensor in;
        GraphTensor out;
        GraphTensor forget;
        GraphTensor cell;
        if (m_peepholes.empty()) {
            const std::vector<GraphTensor> parts = split(sum, 1, {3 * m_hidden, m_hidden});
            const std::vector<GraphTensor> open = gatesIn(activate(0, parts[0]), 3);
            in = open[0];
            out = open[1];
            forget = open[2];
            cell = parts[1];
        } else {
            const std::vector<GraphTensor> parts = gatesIn(sum, 4);
            in = activate(0, parts[0] + m_peepholes[0] * m_c);
            out = parts[1];
            forget = activate(0, parts[2] + m_peepholes[2] * m_c);
            cell = parts[3];
        }
        if (m_coupled) forget = 1 - in;
        m_c = forget * m_c + in * activate(1, cell);
        if (!m_peepholes.empty()) out = activate(0, out + m_peepholes[1] * m_c);
        m_h = out * activate(2, m_c);
    }

    GradientContext& m_g;
    const Cell m_cell;
    const bool m_batchFirst;
    const std::int64_t m_length, m_batch, m_hidden;
    const int m_directions;
    const std::vector<RecurrentActivation> m_activations;
    const double m_clip;
    const bool m_linearBeforeReset, m_coupled;
    GraphTensor m_lengths; ///< i64; none: all sequences are whole
    int m_direction = 0;
    std::vector<GraphTensor> m_weights; ///< that of the candidate is by itself if the reset comes before it
    GraphTensor m_recurrentBias;
    std::vector<GraphTensor> m_peepholes; ///< of the gates in, out and forget
    GraphTensor m_h, m_c;
};

/// The forward op of a gradient op, as its gradient sees it: the gradients of its outputs are inputs of the
/// gradient op, whose outputs are those that it gives.
class Forward final : public GradientContext {
public:
    Forward(GradientContext& gradient, int inputs)
        : m_gradient(gradient), m_inputs(inputs), m_given(static_cast<std::size_t>(inputs)) {}

    const Attributes& attributes() const override { return m_gradient.attributes(); }
    int inputCount() const override { return m_inputs; }
    GraphTensor input(int port) override { return m_gradient.input(port); }
    GraphTensor output(int port) override { return m_gradient.output(port); }
    int outputCount() const override { return m_gradient.inputCount() - m_inputs; }
    GraphTensor gradient(int port) override { return m_gradient.input(m_inputs + port); }
    bool isWanted(int port) const override { return port != 4; }
    void give(int port, GraphTensor gradient) override { m_given[static_cast<std::size_t>(port)] = gradient; }
    std::optional<std::vector<std::int64_t>> integers(int port) const override {
        return m_gradient.integers(port);
    }
    std::optional<std::vector<double>> numbers(int port) const override { return m_gradient.numbers(port); }
    GraphTensor add(std::string_view op, std::span<const GraphTensor> inputs,
                    const Attributes& attributes) override {
        return m_gradient.add(op, inputs, attributes);
    }
    const TensorType& typeOf(GraphTensor tensor) const override { return m_gradient.typeOf(tensor); }
    [[noreturn]] void refuse(std::string_view why) const override {
        m_gradient.refuse(why);
        __builtin_unreachable(); // GCC forgets that the call does not return
    }

    /// By output of the gradient op: sequence_lens, port 4, has none.
    std::vector<GraphTensor> given() const {
        std::vector<GraphTensor> out = m_given;
        out.erase(out.begin() + 4);
        return out;
    }

private:
    GradientContext& m_gradient;
    int m_inputs;
    std::vector<GraphTensor> m_given; ///< by input
};

} // namespace

void recurrentGradGradient(GradientContext& g, RecurrentCell cell) {
    constexpr std::int64_t most = 512;
    const std::int64_t length = g.input().shape()[g.attributes().integer("layout") == 1 ? 1 : 0];
    if (length < 1 || length > most)
        g.refuse(fmt::format("its gradient unrolls 1 to {} steps, but the sequence has {}; cut the sequence "
                             "into shorter ones",
                             most, length));
    differentiate(g, [cell](GradientContext& gradient) {
        Forward forward(gradient, cell == RecurrentCell::lstm ? 8 : 6);
        differentiate(forward, [cell](GradientContext& inside) { return Unrolled(inside, cell).outputs(); });
        return forward.given();
    });
}

} // namespace twb
