#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fault.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/launch.h"
#include "ops/dispatch.h"
#include "ops/recurrent_cells.h"

#include <algorithm>
#include <vector>

namespace twb::cuda {
namespace {

// Each step is one product and one kernel over the units of all sequences. As on the host, f16 and bf16 are
// computed in f32 between inputs and results.

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

/// One step of the units of all sequences.
template <class T> struct AdvanceUnits {
    RecurrentCell cell;
    RecurrentPass<T> p;
    std::int64_t s;
    const T* inputs;
    T *gates, *h, *c, *y; ///< y null: not requested

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const RecurrentUnit<T> unit{p, s, i, inputs, gates};
        if (!unit.runs()) return;
        if (cell == RecurrentCell::rnn)
            unit.rnn(h);
        else if (cell == RecurrentCell::gru)
            unit.gruState(h);
        else
            unit.lstm(h, c);
        if (y) y[p.resultAt(p.step(s, unit.b()), unit.b()) + unit.k()] = h[i];
    }
};

template <class T> struct GruGates {
    RecurrentPass<T> p;
    std::int64_t s;
    const T *inputs, *h;
    T *gates, *reset;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const RecurrentUnit<T> unit{p, s, i, inputs, gates};
        if (unit.runs()) unit.gruGates(h, reset);
    }
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

/// The work of one direction.
template <class T> class Direction {
public:
    Direction(Queue& queue, RecurrentCell cell, const RecurrentPass<T>& pass)
        : m_queue(queue), m_cell(cell), m_pass(pass), m_gates(gatesOf(cell)),
          m_units(pass.batch * pass.hidden), m_inputs(queue, bytes(pass.length * m_units * m_gates)),
          m_parts(queue, bytes(m_units * m_gates)), m_h(queue, bytes(m_units)),
          m_other(queue, cell == RecurrentCell::rnn ? 0 : bytes(m_units)) {}

    void run(const T* initialH, const T* initialC, T* y, T* lastH, T* lastC) {
        readState(initialH, h());
        if (m_cell == RecurrentCell::lstm) readState(initialC, m_other.template as<T>());
        if (m_pass.length > 0) multiplyInputs();
        for (std::int64_t s = 0; s < m_pass.length; ++s) advance(s, y);
        if (lastH) writeState(h(), lastH);
        if (lastC) writeState(m_other.template as<T>(), lastC);
    }

private:
    static std::size_t bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); }
    T* h() const { return m_h.template as<T>(); }
    void readState(const T* from, T* to) { forEach(m_queue, m_units, ReadState<T>{m_pass, from, to}); }
    void writeState(const T* from, T* to) { forEach(m_queue, m_units, WriteState<T>{m_pass, from, to}); }

    Product product(std::int64_t rows, std::int64_t columns, std::int64_t depth) const {
        Product product;
        product.dtype = product.result = DTypeOf<T>::value;
        product.m = rows;
        product.n = columns;
        product.k = depth;
        return product;
    }

    /// X · Wᵀ plus both biases for all steps at once.
    void multiplyInputs() {
        const std::int64_t rows = m_pass.length * m_pass.batch;
        const std::int64_t width = m_gates * m_pass.hidden;
        forEach(m_queue, rows * width, FillBiases<T>{m_pass, width, m_inputs.template as<T>()});
        if (m_pass.input == 0) return;
        Product product = this->product(rows, width, m_pass.input);
        product.a = {m_pass.x, m_pass.input, false, 0};
        product.b = {m_pass.w, m_pass.input, true, 0};
        product.c = m_inputs.data();
        product.cStride = width;
        product.beta = 1;
        multiply(m_queue, product);
    }

    /// h · Rᵀ for `count` gates starting at `first`.
    void multiplyState(const T* state, int first, int count) {
        const std::int64_t H = m_pass.hidden;
        Product product = this->product(m_pass.batch, count * H, H);
        product.a = {state, H, false, 0};
        product.b = {m_pass.r + first * H * H, H, true, 0};
        product.c = m_parts.template as<T>() + first * H;
        product.cStride = m_gates * H;
        multiply(m_queue, product);
    }

    void advance(std::int64_t s, T* y) {
        const T* const inputs = m_inputs.template as<T>();
        T* const gates = m_parts.template as<T>();
        T* const other = m_other.template as<T>();
        const bool resetsFirst = m_cell == RecurrentCell::gru && !m_pass.linearBeforeReset;
        multiplyState(h(), 0, resetsFirst ? 2 : m_gates);
        if (m_cell == RecurrentCell::gru)
            forEach(m_queue, m_units, GruGates<T>{m_pass, s, inputs, h(), gates, other});
        if (resetsFirst) multiplyState(other, 2, 1);
        forEach(m_queue, m_units, AdvanceUnits<T>{m_cell, m_pass, s, inputs, gates, h(), other, y});
    }

    Queue& m_queue;
    const RecurrentCell m_cell;
    const RecurrentPass<T> m_pass;
    const int m_gates;
    const std::int64_t m_units;
    const Scratch m_inputs, m_parts, m_h;
    const Scratch m_other; ///< LSTM: the state c; GRU: the reset state
};

/// The memory of a result while it is computed: the output itself, or f32 that is converted at the end.
/// Starts as zeros.
template <class T> class Result {
public:
    Result(const KernelCall& call, std::size_t port)
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
    void finish() {
        if (m_wide.data()) convertView(m_queue, m_view, m_out);
    }

private:
    Queue& m_queue;
    TensorView m_out;
    Scratch m_wide;
    TensorView m_view;
};

template <class T> const T* from(const ConvertedView& all, std::int64_t elements) {
    return all ? all.as<T>() + elements : nullptr;
}

template <RecurrentCell C, class T> void recurrent(const KernelCall& call) {
    constexpr DType dtype = DTypeOf<T>::value;
    constexpr bool isLstm = C == RecurrentCell::lstm;
    Queue& queue = call.queue;
    const Attributes& attributes = call.attributes;
    const auto inputOf = [&](std::size_t port) { return ConvertedView(queue, dtype, call.input(port)); };
    const ConvertedView x = inputOf(0);
    const ConvertedView w = inputOf(1);
    const ConvertedView r = inputOf(2);
    const ConvertedView bias = inputOf(3);
    const ConvertedView initialH = inputOf(5);
    const ConvertedView initialC(queue, dtype, isLstm ? call.input(6) : TensorView{});
    const ConvertedView peepholes(queue, dtype, isLstm ? call.input(7) : TensorView{});
    Result<T> y(call, 0);
    Result<T> lastH(call, 1);
    Result<T> lastC(call, 2);
    RecurrentPass<T> p;
    p.batchFirst = attributes.integer("layout") == 1;
    p.length = x.view().shape[p.batchFirst ? 1 : 0];
    p.batch = x.view().shape[p.batchFirst ? 0 : 1];
    p.input = x.view().shape[2];
    p.hidden = r.view().shape[2];
    p.directions = recurrentDirections(attributes);
    p.clip = attributes.has("clip") ? attributes.number("clip") : 0;
    p.linearBeforeReset = C == RecurrentCell::gru && attributes.flag("linear_before_reset");
    p.coupled = isLstm && attributes.flag("input_forget");
    p.x = x.as<T>();
    const ConvertedView given(queue, DType::i32, call.input(4));
    const Scratch lengths(queue, given ? static_cast<std::size_t>(p.batch) * sizeof(std::int32_t) : 0);
    if (given) {
        forEach(queue, p.batch,
                CheckLengths{given.as<std::int32_t>(), lengths.as<std::int32_t>(), p.length, queue.fault()});
        p.lengths = lengths.as<std::int32_t>();
    }
    const std::vector<RecurrentActivation> activations = recurrentActivationsOf(C, attributes);
    const std::int64_t gates = gatesOf(C);
    const auto each = static_cast<std::ptrdiff_t>(activations.size()) / p.directions;
    for (int d = 0; d < p.directions && p.batch > 0 && p.hidden > 0; ++d) {
        p.direction = d;
        p.reverse = d == 1 || attributes.text("direction") == "reverse";
        p.w = w.as<T>() + d * gates * p.hidden * p.input;
        p.r = r.as<T>() + d * gates * p.hidden * p.hidden;
        p.bias = from<T>(bias, d * 2 * gates * p.hidden);
        p.peepholes = from<T>(peepholes, d * 3 * p.hidden);
        std::copy_n(activations.begin() + d * each, each, p.activations.begin());
        Direction<T>(queue, C, p)
            .run(initialH.as<T>(), initialC.as<T>(), y.data(), lastH.data(), lastC.data());
    }
    y.finish();
    lastH.finish();
    lastC.finish();
}

template <RecurrentCell C> void recurrentKernel(const KernelCall& call) {
    withFloat(call.inputs[0].dtype == DType::f64 ? DType::f64 : DType::f32,
              [&](auto zero) { recurrent<C, decltype(zero)>(call); });
}

} // namespace

void addRecurrentKernels(KernelMap& table) {
    add(table, "RNN", recurrentKernel<RecurrentCell::rnn>);
    add(table, "GRU", recurrentKernel<RecurrentCell::gru>);
    add(table, "LSTM", recurrentKernel<RecurrentCell::lstm>);
}

} // namespace twb::cuda
