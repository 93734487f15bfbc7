#include "ops/dispatch.h"
#include "ops/gradient.h"
#include "ops/recurrent_layer.h"
#include "ops/recurrent_steps.h"
#include "ops/schema.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {
namespace {

using Cell = RecurrentCell;

/// The outputs of a recurrent op that have a gradient: Y, Y_h and, for LSTM, Y_c.
constexpr int outputsOf(Cell cell) { return cell == Cell::lstm ? 3 : 2; }
/// The inputs of a recurrent op. Those of its gradient are these and the gradients of its outputs.
constexpr int inputsOf(Cell cell) { return cell == Cell::lstm ? 8 : 6; }
constexpr int kLengths = 4; ///< the input that has no gradient

/// The output of RNNGrad, GRUGrad or LSTMGrad that is the gradient of an input.
constexpr int outputOfInput(int port) { return port < kLengths ? port : port - 1; }

/// The results of a launch; null: not requested. P is the third gradient of the peepholes.
template <class T> struct Results { T *x, *w, *r, *b, *h, *c, *peepholes; };

/// One direction: the steps run again and keep their gates, then backward. Rows are in the order of the
/// passes (RecurrentPass::step): row s · batch + b is sequence b at pass s, and 0 after the end of a
/// sequence.
template <Cell C, class T> class Backward {
public:
    /// `ofY` is the gradient of Y, or null.
    Backward(const RecurrentPass<T>& pass, const T* ofY)
        : m_pass(pass), m_ofY(ofY), m_rows(pass.length * pass.batch), m_units(pass.batch * pass.hidden),
          m_x(packed()), m_ordered(ordered()), m_steps(m_ordered, m_products), m_gates(m_rows * m_width),
          m_h(m_units * (pass.length + 1)), m_c(C == Cell::lstm ? m_h.size() : 0),
          m_inner(C == Cell::rnn ? 0 : m_units * pass.length) {}

    /// Reads the initial state and the gradients of the last; null: zeros.
    void run(const T* initialH, const T* initialC, const T* ofH, const T* ofC, const Results<T>& to) {
        forward(initialH, initialC);
        std::vector<T> h(m_units);
        std::vector<T> c(C == Cell::lstm ? m_units : 0);
        readState(m_pass, ofH, h.data());
        if constexpr (C == Cell::lstm) readState(m_pass, ofC, c.data());
        for (std::int64_t s = m_pass.length; s-- > 0;) back(s, h.data(), c.data());
        writeState(m_pass, h.data(), to.h);
        if constexpr (C == Cell::lstm) writeState(m_pass, c.data(), to.c);
        if (m_rows > 0) writeWeights(to);
    }

private:
    static constexpr int kGates = gatesOf(C);
    static constexpr bool isGru = C == Cell::gru;

    bool resetsFirst() const { return isGru && !m_pass.linearBeforeReset; }
    /// Whether X has its rows in the order of the passes.
    bool isOrdered() const { return !m_pass.batchFirst && !m_pass.reverse && !m_pass.lengths; }
    /// Calls run(row of X, row of the passes) for each step of each sequence.
    template <class Run> void overSteps(const Run& run) const {
        for (std::int64_t s = 0; s < m_pass.length; ++s)
            for (std::int64_t b = 0; b < m_pass.batch; ++b)
                if (m_pass.runs(s, b)) run(m_pass.row(m_pass.step(s, b), b), s * m_pass.batch + b);
    }
    std::vector<T> packed() const {
        if (isOrdered()) return {};
        const std::int64_t width = m_pass.input;
        std::vector<T> x(m_rows * width);
        overSteps([&](std::int64_t from, std::int64_t to) {
            std::copy_n(m_pass.x + from * width, width, x.data() + to * width);
        });
        return x;
    }
    /// The pass over the rows in their order.
    RecurrentPass<T> ordered() const {
        RecurrentPass<T> pass = m_pass;
        pass.batchFirst = pass.reverse = false;
        if (!isOrdered()) pass.x = m_x.data();
        return pass;
    }
    T* at(std::vector<T>& all, std::int64_t s) const {
        return all.empty() ? nullptr : all.data() + s * m_units;
    }

    void forward(const T* initialH, const T* initialC) {
        readState(m_pass, initialH, m_h.data());
        if constexpr (C == Cell::lstm) readState(m_pass, initialC, m_c.data());
        for (std::int64_t s = 0; s < m_pass.length; ++s) {
            for (std::vector<T>* states : {&m_h, &m_c})
                if (!states->empty()) std::copy_n(at(*states, s), m_units, at(*states, s + 1));
            if (s < m_steps.count())
                m_steps.run(s, {m_gates.data() + s * m_units * kGates, at(m_h, s + 1), at(m_c, s + 1),
                                at(m_inner, s), true});
        }
    }

    /// From the gradients of the state after pass s to those before it.
    void back(std::int64_t s, T* h, T* c) {
        const std::int64_t n = m_pass.hidden;
        RecurrentBack<T> pass{m_pass, s};
        pass.sums = m_steps.sums() + s * m_units * kGates;
        pass.gates = m_gates.data() + s * m_units * kGates;
        pass.inner = at(m_inner, s);
        pass.h = at(m_h, s);
        pass.c = at(m_c, s);
        pass.nextC = at(m_c, s + 1);
        pass.ofY = m_ofY;
        pass.ofH = h;
        pass.ofC = c;
        if constexpr (C == Cell::rnn) overUnits([&pass](std::int64_t i) { pass.rnn(i); });
        if constexpr (C == Cell::lstm) overUnits([&pass](std::int64_t i) { pass.lstm(i); });
        if constexpr (isGru) overUnits([&pass](std::int64_t i) { pass.gru(i); });
        // ofH += the gradients of these gates' sums · their rows of R
        const auto multiply = [&](int first, int count, T beta, T* to) {
            gemm<T>(m_pass.batch, n, count * n, T{1}, {pass.sums + first * n, m_width, false},
                    {m_pass.r + first * n * n, n, false}, beta, to, n);
        };
        if (resetsFirst()) {
            m_ofReset.resize(m_units);
            multiply(2, 1, T{0}, m_ofReset.data());
            pass.ofReset = m_ofReset.data();
            overUnits([&pass](std::int64_t i) { pass.gruReset(i); });
        }
        multiply(0, resetsFirst() ? 2 : kGates, T{1}, h);
    }

    template <class Run> void overUnits(const Run& run) const {
        parallelRanges(m_units, 16 * m_units, 64, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) run(i);
        });
    }

    /// `to` = the transposed gradients of `count` gates' sums × rows of `columns` elements.
    void correlate(int first, int count, const T* rows, std::int64_t columns, T* to) {
        const std::int64_t n = m_pass.hidden;
        if (to && columns > 0)
            gemm<T>(count * n, columns, m_rows, T{1}, {m_steps.sums() + first * n, m_width, true},
                    {rows, columns, false}, T{0}, to + first * n * columns, columns);
    }
    void sumRows(T* to) {
        for (std::int64_t row = 0; to && row < m_rows; ++row)
            addTo(to, m_steps.sums() + row * m_width, m_width);
    }

    void writeWeights(const Results<T>& to) {
        const std::int64_t n = m_pass.hidden;
        correlate(0, resetsFirst() ? 2 : kGates, m_h.data(), n, to.r);
        if (resetsFirst()) correlate(2, 1, m_inner.data(), n, to.r);
        sumRows(to.b ? to.b + m_width : nullptr);
        if (isGru && m_pass.linearBeforeReset)
            for (std::int64_t row = 0; row < m_rows; ++row)
                std::copy_n(m_inner.data() + row * n, n, m_steps.sums() + row * m_width + 2 * n);
        correlate(0, kGates, m_ordered.x, m_pass.input, to.w);
        sumRows(to.b);
        if (C == Cell::lstm && to.peepholes) {
            const PeepholeGradient<T> gradient{m_pass, m_steps.sums(), m_c.data(), to.peepholes};
            parallelRanges(3 * n, 3 * m_rows * n, 64, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) gradient(i);
            });
        }
        if (to.x && m_pass.input > 0) writeX(to.x);
    }

    /// Adds to the gradient of X.
    void writeX(T* to) {
        const std::int64_t width = m_pass.input;
        std::vector<T> rows(isOrdered() ? 0 : m_rows * width);
        gemm<T>(m_rows, width, m_width, T{1}, {m_steps.sums(), m_width, false}, {m_pass.w, width, false},
                T{1}, isOrdered() ? to : rows.data(), width);
        if (isOrdered()) return;
        overSteps([&](std::int64_t x, std::int64_t row) {
            addTo(to + x * width, rows.data() + row * width, width);
        });
    }

    const RecurrentPass<T> m_pass;
    const T* const m_ofY;
    const std::int64_t m_rows, m_units;
    const std::int64_t m_width = kGates * m_pass.hidden;
    const std::vector<T> m_x; ///< unless isOrdered()
    const RecurrentPass<T> m_ordered;
    PassProducts m_products;
    RecurrentSteps<C, T> m_steps;
    std::vector<T> m_gates;
    std::vector<T> m_h, m_c; ///< the states before each pass and after the last
    std::vector<T> m_inner;  ///< of each pass
    std::vector<T> m_ofReset;
};

template <Cell C, class T> void recurrentGrad(const KernelContext& ctx) {
    constexpr int given = inputsOf(C);
    const RecurrentInputs<C, T> in(ctx);
    std::vector<DenseInput> gradients;
    for (int i = 0; i < 3; ++i)
        gradients.push_back(i < outputsOf(C) ? denseInput(ctx.inputs, static_cast<std::size_t>(given + i))
                                             : DenseInput(TensorView{}));
    for (const TensorView& out : ctx.outputs)
        if (out.data) std::fill_n(out.as<T>(), out.elementCount(), T{0});
    if (in.isEmpty()) return;
    // From this element on; null if the result is not requested, or is 0 since its input is not connected.
    const auto to = [&](std::size_t port, std::int64_t element) -> T* {
        const auto at = static_cast<std::size_t>(outputOfInput(static_cast<int>(port)));
        const bool isAsked = at < ctx.outputs.size() && ctx.outputs[at].data;
        return isAsked && port < ctx.inputs.size() && ctx.inputs[port].data
                   ? ctx.outputs[at].as<T>() + element
                   : nullptr;
    };
    for (int d = 0; d < in.directions(); ++d) {
        const RecurrentPass<T> p = in.direction(d);
        const std::int64_t width = gatesOf(C) * p.hidden;
        const bool isLstm = C == Cell::lstm;
        Backward<C, T>(p, gradients[0].as<T>())
            .run(in.initialH(), in.initialC(), gradients[1].as<T>(), gradients[2].as<T>(),
                 {to(0, 0), to(1, d * width * p.input), to(2, d * width * p.hidden), to(3, d * 2 * width),
                  to(5, 0), isLstm ? to(6, 0) : nullptr, isLstm ? to(7, d * 3 * p.hidden) : nullptr});
    }
}

template <Cell C> void recurrentGradKernel(const KernelContext& ctx) {
    withFloat(ctx.inputs[0].dtype, [&](auto zero) { recurrentGrad<C, decltype(zero)>(ctx); });
}

template <Cell C> void inferRecurrentGrad(InferContext& ctx) {
    const RecurrentSizes sizes = recurrentSizes(ctx, C);
    const DType dtype = ctx.input(0)->dtype;
    for (int i = 0; i < outputsOf(C); ++i) requireShape(ctx, inputsOf(C) + i, i == 0 ? sizes.y : sizes.state);
    for (int port = 0; port < inputsOf(C); ++port)
        if (port != kLengths)
            ctx.output(outputOfInput(port), {dtype, sizes.inputs[static_cast<std::size_t>(port)]});
}

template <Cell C> Op makeGrad(std::string of, std::string formula) {
    Op op = makeOp(of + "Grad", "Training", 0,
                   "The gradients of the inputs of " + of +
                       " from those of its outputs; 0 for an unconnected input",
                   std::move(formula));
    op.inputs = recurrentInputs(C);
    op.outputs = {port("dX", "", kFloats, "T"), port("dW", "", kFloats, "T"), port("dR", "", kFloats, "T"),
                  port("dB", "", kFloats, "T"), port("dinitial_h", "", kFloats, "T")};
    op.inputs.push_back(optionalPort("dY", "grad_output", kFloats, "T"));
    op.inputs.push_back(optionalPort("dY_h", "grad_h_n", kFloats, "T"));
    if (C == Cell::lstm) {
        op.inputs.push_back(optionalPort("dY_c", "grad_c_n", kFloats, "T"));
        op.outputs.push_back(port("dinitial_c", "", kFloats, "T"));
        op.outputs.push_back(port("dP", "", kFloats, "T"));
    }
    for (PortSpec& output : op.outputs) output.optional = true;
    op.attributes = recurrentAttributes(C);
    op.tolerance = {1e-4, 1e-5};
    op.infer = inferRecurrentGrad<C>;
    op.cost = [](std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                 const Attributes& attributes) {
        Cost cost = recurrentCost(inputs, outputs, attributes);
        cost.flops *= 3; // the products of the forward pass, and two for each of them
        return cost;
    };
    op.kernel = viaFloat<recurrentGradKernel<C>>;
    op.gradient = [](GradientContext& g) { recurrentGradGradient(g, C); };
    return op;
}

} // namespace

Op makeRecurrentGrad(RecurrentCell cell) {
    switch (cell) {
    case Cell::rnn:
        return makeGrad<Cell::rnn>("RNN", "dX = dRNN(X, …)ᵀ · (dY, dY_h)");
    case Cell::gru:
        return makeGrad<Cell::gru>("GRU", "dX = dGRU(X, …)ᵀ · (dY, dY_h)");
    case Cell::lstm:
        break;
    }
    return makeGrad<Cell::lstm>("LSTM", "dX = dLSTM(X, …)ᵀ · (dY, dY_h, dY_c)");
}

void recurrentGradient(GradientContext& g, RecurrentCell cell) {
    const int count = inputsOf(cell);
    std::vector<GraphTensor> inputs;
    for (int port = 0; port < count; ++port) inputs.push_back(g.input(port));
    for (int port = 0; port < outputsOf(cell); ++port) inputs.push_back(g.gradient(port));
    const char* const name = cell == Cell::lstm ? "LSTMGrad" : cell == Cell::gru ? "GRUGrad" : "RNNGrad";
    const GraphTensor first = g.add(name, inputs, g.attributes());
    for (int port = 0; port < count; ++port)
        if (port != kLengths && g.isWanted(port)) g.give(port, outputOf(first, outputOfInput(port)));
}

} // namespace twb
