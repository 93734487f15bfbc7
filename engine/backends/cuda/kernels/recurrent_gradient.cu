#include "backends/cuda/kernels/recurrent_passes.h"

namespace twb::cuda {
namespace {

// As on the host (ops/recurrent_gradient.cpp): the steps run again and keep their gates, then backward. Row
// s · batch + b is sequence b at pass s.

/// The rows of X in the order of the passes; 0 after the end of a sequence.
template <class T> struct PackRows {
    RecurrentPass<T> p;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / p.input;
        const std::int64_t s = row / p.batch;
        const std::int64_t b = row % p.batch;
        to[i] = p.runs(s, b) ? p.x[p.row(p.step(s, b), b) * p.input + i % p.input] : T{0};
    }
};

/// Adds the rows to those of X.
template <class T> struct AddRows {
    RecurrentPass<T> p;
    const T* from;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / p.input;
        const std::int64_t s = row / p.batch;
        const std::int64_t b = row % p.batch;
        if (p.runs(s, b)) to[p.row(p.step(s, b), b) * p.input + i % p.input] += from[i];
    }
};

template <class T> struct CopyElements {
    const T* from;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// The backward pass of all units at one step.
template <class T> struct BackUnits {
    RecurrentCell cell;
    RecurrentBack<T> pass;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        if (cell == RecurrentCell::rnn)
            pass.rnn(i);
        else if (cell == RecurrentCell::gru)
            pass.gru(i);
        else
            pass.lstm(i);
    }
};

template <class T> struct BackResets {
    RecurrentBack<T> pass;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { pass.gruReset(i); }
};

/// The sum of a column.
template <class T> struct SumColumns {
    const T* from;
    std::int64_t rows, width;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t column) const {
        T sum{0};
        for (std::int64_t row = 0; row < rows; ++row) sum += from[row * width + column];
        to[column] = sum;
    }
};

/// Replaces the gradients of the candidates' recurrent parts by those of their sums.
template <class T> struct ReplaceCandidates {
    const T* from;
    T* sums;
    std::int64_t hidden;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        sums[(i / hidden * 3 + 2) * hidden + i % hidden] = from[i];
    }
};

/// The results of a launch, from the direction on; null: not requested.
template <class T> struct Results { T *x, *w, *r, *b, *h, *c, *peepholes; };

/// One direction.
template <RecurrentCell C, class T> class Backward {
public:
    /// `ofY` is the gradient of Y, or null.
    Backward(Queue& queue, const RecurrentPass<T>& pass, const T* ofY)
        : m_queue(queue), m_pass(pass), m_ofY(ofY), m_rows(pass.length * pass.batch),
          m_units(pass.batch * pass.hidden), m_x(scratchFor<T>(queue, m_rows * pass.input)),
          m_ordered(ordered()), m_passes(queue, C, m_ordered),
          m_gates(scratchFor<T>(queue, m_rows * m_width)),
          m_h(scratchFor<T>(queue, m_units * (pass.length + 1))),
          m_c(scratchFor<T>(queue, isLstm ? m_units * (pass.length + 1) : 0)),
          m_inner(scratchFor<T>(queue, C == RecurrentCell::rnn ? 0 : m_units * pass.length)),
          m_ofReset(scratchFor<T>(queue, isGru ? m_units : 0)) {}

    /// Reads the initial state and the gradients of the last; null: zeros.
    void run(const T* initialH, const T* initialC, const T* ofH, const T* ofC, const Results<T>& to) {
        forward(initialH, initialC);
        const Scratch h = scratchFor<T>(m_queue, m_units);
        const Scratch c = scratchFor<T>(m_queue, isLstm ? m_units : 0);
        forEach(m_queue, m_units, ReadState<T>{m_pass, ofH, h.template as<T>()});
        if (isLstm) forEach(m_queue, m_units, ReadState<T>{m_pass, ofC, c.template as<T>()});
        for (std::int64_t s = m_pass.length; s-- > 0;) back(s, h.template as<T>(), c.template as<T>());
        if (to.h) forEach(m_queue, m_units, WriteState<T>{m_pass, h.template as<T>(), to.h});
        if (to.c) forEach(m_queue, m_units, WriteState<T>{m_pass, c.template as<T>(), to.c});
        if (m_rows > 0) writeWeights(to);
    }

private:
    static constexpr int kGates = gatesOf(C);
    static constexpr bool isGru = C == RecurrentCell::gru;
    static constexpr bool isLstm = C == RecurrentCell::lstm;

    bool resetsFirst() const { return isGru && !m_pass.linearBeforeReset; }
    /// The pass over packed rows.
    RecurrentPass<T> ordered() {
        forEach(m_queue, m_rows * m_pass.input, PackRows<T>{m_pass, m_x.template as<T>()});
        RecurrentPass<T> pass = m_pass;
        pass.batchFirst = pass.reverse = false;
        pass.x = m_x.template as<T>();
        return pass;
    }
    T* at(const Scratch& all, std::int64_t s) const {
        return all.data() ? all.template as<T>() + s * m_units : nullptr;
    }
    T* gates(std::int64_t s) const { return m_gates.template as<T>() + s * m_units * kGates; }

    void forward(const T* initialH, const T* initialC) {
        forEach(m_queue, m_units, ReadState<T>{m_pass, initialH, at(m_h, 0)});
        if (isLstm) forEach(m_queue, m_units, ReadState<T>{m_pass, initialC, at(m_c, 0)});
        for (std::int64_t s = 0; s < m_pass.length; ++s) {
            forEach(m_queue, m_units, CopyElements<T>{at(m_h, s), at(m_h, s + 1)});
            if (isLstm) forEach(m_queue, m_units, CopyElements<T>{at(m_c, s), at(m_c, s + 1)});
            m_passes.run(s, {gates(s), at(m_h, s + 1), at(m_c, s + 1), at(m_inner, s), nullptr, true});
        }
    }

    /// From the gradients of the state after pass s to those before it.
    void back(std::int64_t s, T* h, T* c) {
        const std::int64_t n = m_pass.hidden;
        RecurrentBack<T> pass{m_pass, s};
        pass.sums = m_passes.sums() + s * m_units * kGates;
        pass.gates = gates(s);
        pass.inner = at(m_inner, s);
        pass.h = at(m_h, s);
        pass.c = at(m_c, s);
        pass.nextC = at(m_c, s + 1);
        pass.ofY = m_ofY;
        pass.ofH = h;
        pass.ofC = c;
        forEach(m_queue, m_units, BackUnits<T>{C, pass});
        const auto multiply = [&](int first, int count, double beta, T* to) {
            multiplyRows(m_queue, m_pass.batch, n, count * n, {pass.sums + first * n, m_width, false, 0},
                         {m_pass.r + first * n * n, n, false, 0}, beta, to, n);
        };
        if (resetsFirst()) {
            multiply(2, 1, 0, m_ofReset.template as<T>());
            pass.ofReset = m_ofReset.template as<T>();
            forEach(m_queue, m_units, BackResets<T>{pass});
        }
        multiply(0, resetsFirst() ? 2 : kGates, 1, h);
    }

    /// `to` = the transposed gradients of `count` gates' sums × rows of `columns` elements.
    void correlate(int first, int count, const T* rows, std::int64_t columns, T* to) {
        const std::int64_t n = m_pass.hidden;
        if (to)
            multiplyRows(m_queue, count * n, columns, m_rows, {m_passes.sums() + first * n, m_width, true, 0},
                         {rows, columns, false, 0}, 0, to + first * n * columns, columns);
    }
    void sumColumns(T* to) {
        if (to) forEach(m_queue, m_width, SumColumns<T>{m_passes.sums(), m_rows, m_width, to});
    }

    void writeWeights(const Results<T>& to) {
        const std::int64_t n = m_pass.hidden;
        const std::int64_t width = m_pass.input;
        correlate(0, resetsFirst() ? 2 : kGates, at(m_h, 0), n, to.r);
        if (resetsFirst()) correlate(2, 1, at(m_inner, 0), n, to.r);
        sumColumns(to.b ? to.b + m_width : nullptr);
        if (isGru && m_pass.linearBeforeReset)
            forEach(m_queue, m_rows * n, ReplaceCandidates<T>{at(m_inner, 0), m_passes.sums(), n});
        correlate(0, kGates, m_ordered.x, width, to.w);
        sumColumns(to.b);
        if (isLstm && to.peepholes)
            forEach(m_queue, 3 * n, PeepholeGradient<T>{m_pass, m_passes.sums(), at(m_c, 0), to.peepholes});
        if (!to.x || width == 0) return;
        T* const rows = m_x.template as<T>(); // read for the last time by the gradient of W
        multiplyRows(m_queue, m_rows, width, m_width, {m_passes.sums(), m_width, false, 0},
                     {m_pass.w, width, false, 0}, 0, rows, width);
        forEach(m_queue, m_rows * width, AddRows<T>{m_pass, rows, to.x});
    }

    Queue& m_queue;
    const RecurrentPass<T> m_pass;
    const T* const m_ofY;
    const std::int64_t m_rows, m_units;
    const std::int64_t m_width = kGates * m_pass.hidden;
    const Scratch m_x; ///< packed
    const RecurrentPass<T> m_ordered;
    RecurrentPasses<T> m_passes;
    const Scratch m_gates;
    const Scratch m_h, m_c; ///< the states before each pass and after the last
    const Scratch m_inner;  ///< of each pass
    const Scratch m_ofReset;
};

template <RecurrentCell C, class T> void recurrentGrad(const KernelCall& call) {
    constexpr bool isLstm = C == RecurrentCell::lstm;
    constexpr std::size_t given = isLstm ? 8 : 6;
    Queue& queue = call.queue;
    const RecurrentInputs<C, T> in(call);
    const auto gradient = [&](std::size_t port, bool isThere) {
        return ConvertedView(queue, DTypeOf<T>::value, isThere ? call.input(given + port) : TensorView{});
    };
    const ConvertedView ofY = gradient(0, true);
    const ConvertedView ofH = gradient(1, true);
    const ConvertedView ofC = gradient(2, isLstm);
    RecurrentResult<T> x(call, 0);
    RecurrentResult<T> w(call, 1);
    RecurrentResult<T> r(call, 2);
    RecurrentResult<T> b(call, 3);
    RecurrentResult<T> h(call, 4);
    RecurrentResult<T> c(call, 5);
    RecurrentResult<T> peepholes(call, 6);
    // From this element on; null if the result is not requested, or is 0 since its input is not connected.
    const auto to = [&call](const RecurrentResult<T>& result, std::size_t port, std::int64_t element) -> T* {
        return call.input(port).data ? result.from(element) : nullptr;
    };
    for (int d = 0; d < in.directions() && !in.isEmpty(); ++d) {
        const RecurrentPass<T> p = in.direction(d);
        const std::int64_t width = gatesOf(C) * p.hidden;
        Backward<C, T>(queue, p, ofY.as<T>())
            .run(in.initialH(), in.initialC(), ofH.as<T>(), ofC.as<T>(),
                 {to(x, 0, 0), to(w, 1, d * width * p.input), to(r, 2, d * width * p.hidden),
                  to(b, 3, d * 2 * width), to(h, 5, 0), isLstm ? to(c, 6, 0) : nullptr,
                  isLstm ? to(peepholes, 7, d * 3 * p.hidden) : nullptr});
    }
    for (RecurrentResult<T>* result : {&x, &w, &r, &b, &h, &c, &peepholes}) result->finish();
}

template <RecurrentCell C> void recurrentGradKernel(const KernelCall& call) {
    withRecurrentType(call, [&](auto zero) { recurrentGrad<C, decltype(zero)>(call); });
}

} // namespace

void addRecurrentGradientKernels(KernelMap& table) {
    add(table, "RNNGrad", recurrentGradKernel<RecurrentCell::rnn>);
    add(table, "GRUGrad", recurrentGradKernel<RecurrentCell::gru>);
    add(table, "LSTMGrad", recurrentGradKernel<RecurrentCell::lstm>);
}

} // namespace twb::cuda
