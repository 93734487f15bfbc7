#pragma once

#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/launch.h"
#include "ops/dispatch.h"
#include "ops/recurrent_cells.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace twb::cuda {

// Each pass of RNN, GRU and LSTM is one product and one kernel over the units of all sequences. As on the
// host, f16 and bf16 are computed in f32 between inputs and results.

/// Memory for `count` elements of T.
template <class T> Scratch scratchFor(Queue& queue, std::int64_t count) {
    return {queue, static_cast<std::size_t>(count) * sizeof(T)};
}

/// C = A × B in row-major memory, plus `beta` · C. Nothing if C is empty.
template <class T>
void multiplyRows(Queue& queue, std::int64_t m, std::int64_t n, std::int64_t k, const Matrices& a,
                  const Matrices& b, double beta, T* c, std::int64_t stride) {
    if (m == 0 || n == 0) return;
    Product product;
    product.dtype = product.result = DTypeOf<T>::value;
    product.m = m;
    product.n = n;
    product.k = k;
    product.a = a;
    product.b = b;
    product.c = c;
    product.cStride = stride;
    product.beta = beta;
    multiply(queue, product);
}

template <class T> struct FillBiases {
    RecurrentPass<T> p;
    std::int64_t width;
    T* parts;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const { parts[i] = p.biasAt(i % width, width); }
};

/// One direction's state, batch × hidden, read from a tensor with all directions (null: zeros).
template <class T> struct ReadState {
    RecurrentPass<T> p;
    const T* from;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        to[i] = from ? from[p.stateAt(i / p.hidden) + i % p.hidden] : T{0};
    }
};

template <class T> struct WriteState {
    RecurrentPass<T> p;
    const T* from;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        to[p.stateAt(i / p.hidden) + i % p.hidden] = from[i];
    }
};

/// The rows of one pass, see RecurrentUnit.
template <class T> struct PassRows {
    T *gates, *h, *c, *inner, *y; ///< y null: not requested
    bool keepsSums = false;
};

/// Computes one pass, which is a time step, of the hidden units of all sequences.
template <class T> struct AdvanceUnits {
    RecurrentCell cell;
    RecurrentPass<T> p;
    std::int64_t s;
    T* inputs;
    PassRows<T> rows;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const RecurrentUnit<T> unit{p, s, i, inputs, rows.gates, rows.inner, rows.keepsSums};
        if (!unit.runs()) return;
        if (cell == RecurrentCell::rnn)
            unit.rnn(rows.h);
        else if (cell == RecurrentCell::gru)
            unit.gruState(rows.h);
        else
            unit.lstm(rows.h, rows.c);
        if (rows.y) rows.y[p.resultAt(p.step(s, unit.b()), unit.b()) + unit.k()] = rows.h[i];
    }
};

template <class T> struct GruGates {
    RecurrentPass<T> p;
    std::int64_t s;
    T* inputs;
    PassRows<T> rows;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const RecurrentUnit<T> unit{p, s, i, inputs, rows.gates, rows.inner, rows.keepsSums};
        if (unit.runs()) unit.gruGates(rows.h);
    }
};

/// The passes of one direction.
template <class T> class RecurrentPasses {
public:
    /// Multiplies X by Wᵀ for all steps at once, and adds both biases.
    RecurrentPasses(Queue& queue, RecurrentCell cell, const RecurrentPass<T>& pass)
        : m_queue(queue), m_cell(cell), m_pass(pass), m_gates(gatesOf(cell)),
          m_inputs(scratchFor<T>(queue, pass.length * pass.batch * pass.hidden * m_gates)) {
        const std::int64_t rows = pass.length * pass.batch;
        const std::int64_t width = m_gates * pass.hidden;
        if (rows == 0) return;
        forEach(queue, rows * width, FillBiases<T>{pass, width, sums()});
        if (pass.input > 0)
            multiplyRows(queue, rows, width, pass.input, {pass.x, pass.input, false, 0},
                         {pass.w, pass.input, true, 0}, 1, sums(), width);
    }

    void run(std::int64_t s, const PassRows<T>& rows) {
        const bool resetsFirst = m_cell == RecurrentCell::gru && !m_pass.linearBeforeReset;
        const std::int64_t units = m_pass.batch * m_pass.hidden;
        multiplyState(rows.h, 0, resetsFirst ? 2 : m_gates, rows.gates);
        if (m_cell == RecurrentCell::gru) forEach(m_queue, units, GruGates<T>{m_pass, s, sums(), rows});
        if (resetsFirst) multiplyState(rows.inner, 2, 1, rows.gates);
        forEach(m_queue, units, AdvanceUnits<T>{m_cell, m_pass, s, sums(), rows});
    }
    /// The sums of the gates of all passes that kept them; rows as in X.
    T* sums() const { return m_inputs.template as<T>(); }

private:
    /// gates = h · Rᵀ for `count` gates starting at `first`.
    void multiplyState(const T* state, int first, int count, T* gates) {
        const std::int64_t H = m_pass.hidden;
        multiplyRows(m_queue, m_pass.batch, count * H, H, {state, H, false, 0},
                     {m_pass.r + first * H * H, H, true, 0}, 0, gates + first * H, m_gates * H);
    }

    Queue& m_queue;
    const RecurrentCell m_cell;
    const RecurrentPass<T> m_pass;
    const int m_gates;
    const Scratch m_inputs;
};

/// The memory of a result while it is computed: the output itself, or f32 that is converted at the end.
/// Starts as zeros.
template <class T> class RecurrentResult {
public:
    RecurrentResult(const KernelCall& call, std::size_t port)
        : m_queue(call.queue), m_out(call.isAsked(port) ? call.outputs[port] : TensorView{}),
          m_wide(call.queue, m_out.data && m_out.dtype != DTypeOf<T>::value
                                 ? static_cast<std::size_t>(m_out.elementCount()) * sizeof(T)
                                 : 0),
          m_view(m_out) {
        if (!m_out.data) return;
        m_view.dtype = DTypeOf<T>::value;
        if (m_wide.data()) m_view.data = m_wide.data();
        const T zero{};
        fillView(m_queue, m_view, &zero);
    }
    T* data() const { return m_view.template as<T>(); }
    /// From this element on; null if the result is not requested.
    T* from(std::int64_t element) const { return data() ? data() + element : nullptr; }
    void finish() {
        if (m_wide.data()) convertView(m_queue, m_view, m_out);
    }

private:
    Queue& m_queue;
    TensorView m_out;
    Scratch m_wide;
    TensorView m_view;
};

/// Reports an invalid length of a sequence and clamps it.
struct CheckLengths {
    const std::int32_t* given;
    std::int32_t* checked;
    std::int64_t most;
    Fault* fault;
    TWB_HOST_DEVICE void operator()(std::int64_t b) const {
        const bool fits = given[b] >= 0 && given[b] <= most;
        if (!fits) raise(fault, Fault::badSequenceLength, given[b], static_cast<int>(b), most);
        checked[b] = fits ? given[b] : 0;
    }
};

/// The inputs of a recurrent op, and its directions.
template <RecurrentCell C, class T> class RecurrentInputs {
public:
    explicit RecurrentInputs(const KernelCall& call)
        : m_x(input(call, 0)), m_w(input(call, 1)), m_r(input(call, 2)), m_bias(input(call, 3)),
          m_initialH(input(call, 5)), m_initialC(ofLstm(call, 6)), m_peepholes(ofLstm(call, 7)),
          m_givenLengths(call.queue, DType::i32, call.input(4)),
          m_lengths(scratchFor<std::int32_t>(
              call.queue,
              m_givenLengths ? m_x.view().shape[call.attributes.integer("layout") == 1 ? 0 : 1] : 0)),
          m_activations(recurrentActivationsOf(C, call.attributes)),
          m_isReverse(call.attributes.text("direction") == "reverse") {
        const Attributes& attributes = call.attributes;
        m_pass.batchFirst = attributes.integer("layout") == 1;
        m_pass.length = m_x.view().shape[m_pass.batchFirst ? 1 : 0];
        m_pass.batch = m_x.view().shape[m_pass.batchFirst ? 0 : 1];
        m_pass.input = m_x.view().shape[2];
        m_pass.hidden = m_r.view().shape[2];
        m_pass.directions = recurrentDirections(attributes);
        m_pass.clip = attributes.has("clip") ? attributes.number("clip") : 0;
        m_pass.linearBeforeReset = C == RecurrentCell::gru && attributes.flag("linear_before_reset");
        m_pass.coupled = isLstm && attributes.flag("input_forget");
        m_pass.x = m_x.template as<T>();
        if (!m_givenLengths) return;
        m_pass.lengths = m_lengths.template as<std::int32_t>();
        forEach(call.queue, m_pass.batch,
                CheckLengths{m_givenLengths.template as<std::int32_t>(),
                             m_lengths.template as<std::int32_t>(), m_pass.length, call.queue.fault()});
    }

    bool isEmpty() const { return m_pass.batch == 0 || m_pass.hidden == 0; }
    int directions() const { return m_pass.directions; }
    const T* initialH() const { return m_initialH.template as<T>(); }
    const T* initialC() const { return m_initialC.template as<T>(); }
    RecurrentPass<T> direction(int d) const {
        constexpr std::int64_t gates = gatesOf(C);
        RecurrentPass<T> p = m_pass;
        p.direction = d;
        p.reverse = d == 1 || m_isReverse;
        p.w = m_w.template as<T>() + d * gates * p.hidden * p.input;
        p.r = m_r.template as<T>() + d * gates * p.hidden * p.hidden;
        if (m_bias) p.bias = m_bias.template as<T>() + d * 2 * gates * p.hidden;
        if (m_peepholes) p.peepholes = m_peepholes.template as<T>() + d * 3 * p.hidden;
        const auto each = static_cast<std::ptrdiff_t>(m_activations.size()) / p.directions;
        std::copy_n(m_activations.begin() + d * each, each, p.activations.begin());
        return p;
    }

private:
    static constexpr bool isLstm = C == RecurrentCell::lstm;
    static ConvertedView input(const KernelCall& call, std::size_t port) {
        return {call.queue, DTypeOf<T>::value, call.input(port)};
    }
    static ConvertedView ofLstm(const KernelCall& call, std::size_t port) {
        return {call.queue, DTypeOf<T>::value, isLstm ? call.input(port) : TensorView{}};
    }

    const ConvertedView m_x, m_w, m_r, m_bias, m_initialH, m_initialC, m_peepholes, m_givenLengths;
    const Scratch m_lengths;
    const std::vector<RecurrentActivation> m_activations;
    const bool m_isReverse;
    RecurrentPass<T> m_pass;
};

/// Calls kernel(zero of the type of the arithmetic).
template <class Kernel> void withRecurrentType(const KernelCall& call, const Kernel& kernel) {
    withFloat(call.inputs[0].dtype == DType::f64 ? DType::f64 : DType::f32, kernel);
}

/// In recurrent_gradient.cu.
void addRecurrentGradientKernels(KernelMap& table);

} // namespace twb::cuda
