#pragma once

#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/host_threads.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/team_progress.h"
#include "backends/cpu/vector_math.h"
#include "core/tensor.h"
#include "ops/recurrent_cells.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace twb {

// RNN, GRU and LSTM on the host: all units of a sequence at a time, with vector mathematics.

/// The products with the weights W and R of one direction, which are packed once. Null: BLAS is used.
struct PassProducts {
    /// The rows of R for all gates of neighbouring units, which one thread computes.
    struct Part {
        std::int64_t first = 0, units = 0;
        std::int64_t columns = 0; ///< the gates of all units, rounded up to whole panels
        Tensor weights;           ///< panel after panel, see vectorMultiplyRows(); aligned with cache lines
        Tensor gates;             ///< batch × columns
    };
    std::unique_ptr<NativeConvolution> w, r;
    std::vector<Part> parts; ///< of the LSTM, if its passes run in parts
};

/// to[i] += from[i]
template <class T> void addTo(T* to, const T* from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

/// to[i] += a[i] · b[i]
template <class T> void addProduct(const T* a, const T* b, T* to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += a[i] * b[i];
}

/// The rows of one pass, one for each sequence, with the gates side by side: see RecurrentUnit.
template <class T> struct PassRows {
    T *gates, *h, *c, *inner;
    bool keepsSums = false;
};

/// The passes of one direction. The pass must stay valid.
template <RecurrentCell C, class T> class RecurrentSteps {
public:
    /// Multiplies X by Wᵀ for all steps at once, and adds both biases.
    RecurrentSteps(const RecurrentPass<T>& pass, PassProducts& products)
        : m_pass(pass), m_products(products), m_inputs(inputParts()) {}

    /// The number of passes.
    std::int64_t count() const {
        return m_pass.lengths ? *std::max_element(m_pass.lengths, m_pass.lengths + m_pass.batch)
                              : m_pass.length;
    }
    void run(std::int64_t s, const PassRows<T>& rows) {
        if constexpr (C == RecurrentCell::gru) {
            multiplyState(rows.h, 0, m_pass.linearBeforeReset ? 3 : 2, rows.gates);
            overRows(s, rows, [this](const Row& row) { gruGates(row); });
            if (!m_pass.linearBeforeReset) multiplyState(rows.inner, 2, 1, rows.gates);
            overRows(s, rows, [this](const Row& row) { gruState(row); });
        } else {
            multiplyState(rows.h, 0, kGates, rows.gates);
            overRows(s, rows, [this](const Row& row) { C == RecurrentCell::rnn ? rnn(row) : lstm(row); });
        }
    }
    /// All passes of an LSTM. Each thread multiplies and activates its own units, and waits for the others
    /// once per pass. Writes Y unless it is null. Returns false, without an effect, if that does not pay off.
    bool runInParts(const PassRows<T>& rows, T* y) {
        if constexpr (C == RecurrentCell::lstm && std::is_same_v<T, float>) {
            constexpr std::int64_t paysOff = 1 << 19; // multiply-adds
            const RecurrentPass<T>& p = m_pass;
            if (rows.keepsSums || p.batch * p.hidden * kGates * p.hidden < paysOff) return false;
            if (m_products.parts.empty()) makeParts();
            const std::int64_t units = p.batch * p.hidden;
            std::array<std::vector<T>, 2> states; // before and after a pass, in turns
            states[0].assign(rows.h, rows.h + units);
            states[1].resize(states[0].size());
            const std::int64_t passes = count();
            const auto parts = std::ssize(m_products.parts);
            TeamProgress progress(parts);
            runTeam(parts, [&](std::int64_t member, std::int64_t members) {
                for (std::int64_t s = 0; s < passes; ++s) {
                    const auto at = static_cast<std::size_t>(s % 2);
                    for (std::int64_t i = member; i < parts; i += members)
                        runPart(m_products.parts[static_cast<std::size_t>(i)], s, states[at].data(),
                                states[1 - at].data(), rows.c, y);
                    progress.finish(member, members);
                }
            });
            std::copy_n(states[static_cast<std::size_t>(passes % 2)].data(), units, rows.h);
            return true;
        }
        return false;
    }
    /// The sums of the gates of all passes that kept them; rows as in X.
    T* sums() { return inputs(); }

private:
    static constexpr int kGates = gatesOf(C);

    /// Neighbouring units of one sequence at one pass; all of them, unless the pass runs in parts.
    struct Row {
        T *inputs, *gates, *h, *c, *inner;
        bool keepsSums;
        std::int64_t first, units; ///< a gate has `units` elements in `gates`, and all in `inputs`
    };

    T* inputs() { return static_cast<T*>(m_inputs.data()); }

    /// y = x · weightsᵀ + bias with weights that are packed once, if it pays off; false without an effect. A
    /// null bias is 0, and is so in every call.
    static bool multiplyPacked(std::unique_ptr<NativeConvolution>& product, std::int64_t rows,
                               std::int64_t inner, std::int64_t columns, const T* x, const T* weights, T* y,
                               const T* bias = nullptr) {
        if constexpr (std::is_same_v<T, float>) {
            constexpr std::int64_t paysOff = 1 << 17; // multiply-adds
            if (rows * inner * columns < paysOff) return false;
            if (!product)
                product = NativeConvolution::make(
                    {.rows = rows, .inner = inner, .columns = columns, .stride = inner, .transposed = true});
            if (!product) return false;
            product->run({.x = x, .w = weights, .bias = bias, .y = y});
            return true;
        }
        return false;
    }

    Tensor inputParts() {
        const RecurrentPass<T>& p = m_pass;
        const std::int64_t width = kGates * p.hidden;
        const std::int64_t rows = p.length * p.batch;
        Tensor parts = Tensor::onHost({DTypeOf<T>::value, Shape{rows, width}});
        T* const out = static_cast<T*>(parts.data());
        std::vector<T> bias(p.bias ? static_cast<std::size_t>(width) : 0);
        for (std::int64_t k = 0; k < std::ssize(bias); ++k)
            bias[static_cast<std::size_t>(k)] = p.biasAt(k, width);
        if (multiplyPacked(m_products.w, rows, p.input, width, p.x, p.w, out, p.bias ? bias.data() : nullptr))
            return parts;
        for (std::int64_t i = 0; i < rows; ++i) {
            if (p.bias)
                std::copy_n(bias.data(), width, out + i * width);
            else
                std::fill_n(out + i * width, width, T{0});
        }
        if (p.input > 0)
            gemm<T>(rows, width, p.input, T{1}, {p.x, p.input, false}, {p.w, p.input, true}, T{1}, out,
                    width);
        return parts;
    }

    /// gates = h · Rᵀ for `count` gates starting at `first`.
    void multiplyState(const T* h, int first, int count, T* gates) {
        const RecurrentPass<T>& p = m_pass;
        if (count == kGates &&
            multiplyPacked(m_products.r, p.batch, p.hidden, count * p.hidden, h, p.r, gates))
            return;
        gemm<T>(p.batch, count * p.hidden, p.hidden, T{1}, {h, p.hidden, false},
                {p.r + first * p.hidden * p.hidden, p.hidden, true}, T{0}, gates + first * p.hidden,
                kGates * p.hidden);
    }

    /// Pass s for the units of one part: from the state `before` to the state `after`.
    void runPart(PassProducts::Part& part, std::int64_t s, const T* before, T* after, T* c, T* y) {
        const RecurrentPass<T>& p = m_pass;
        const auto* const weights = static_cast<const T*>(part.weights.data());
        auto* const gates = static_cast<T*>(part.gates.data());
        const std::int64_t panel = vectorPanelColumns();
        for (std::int64_t column = 0; column < part.columns; column += panel)
            vectorMultiplyRows(before, p.hidden, p.batch, p.hidden, weights + column * p.hidden,
                               gates + column, part.columns);
        for (std::int64_t b = 0; b < p.batch; ++b) {
            const std::int64_t at = b * p.hidden + part.first;
            if (!p.runs(s, b)) {
                std::copy_n(before + at, part.units, after + at);
                continue;
            }
            const std::int64_t t = p.step(s, b);
            lstm({inputs() + p.row(t, b) * kGates * p.hidden + part.first, gates + b * part.columns,
                  after + at, c + at, nullptr, false, part.first, part.units});
            if (y) std::copy_n(after + at, part.units, y + p.resultAt(t, b) + part.first);
        }
    }

    /// One part per thread. The parts of several threads are of whole cache lines.
    void makeParts() {
        constexpr std::int64_t leastUnits = 64;
        constexpr std::int64_t line = 16;
        const RecurrentPass<T>& p = m_pass;
        const std::int64_t panel = vectorPanelColumns();
        const std::int64_t count =
            std::max<std::int64_t>(1, std::min<std::int64_t>(hostThreads(), p.hidden / leastUnits));
        const auto firstOf = [&](std::int64_t i) {
            return i == count ? p.hidden : p.hidden * i / count / line * line;
        };
        for (std::int64_t i = 0; i < count; ++i) {
            PassProducts::Part& part = m_products.parts.emplace_back();
            part.first = firstOf(i);
            part.units = firstOf(i + 1) - part.first;
            const std::int64_t used = kGates * part.units;
            part.columns = (used + panel - 1) / panel * panel;
            part.gates = Tensor::onHost({DType::f32, Shape{p.batch, part.columns}});
            part.weights = Tensor::onHost({DType::f32, Shape{part.columns, p.hidden}});
            auto* const weights = static_cast<float*>(part.weights.data());
            std::fill_n(weights, part.columns * p.hidden, 0.0F);
            for (std::int64_t column = 0; column < used; ++column) {
                const std::int64_t row = column / part.units * p.hidden + part.first + column % part.units;
                float* const to = weights + column / panel * panel * p.hidden + column % panel;
                for (std::int64_t k = 0; k < p.hidden; ++k) to[k * panel] = p.r[row * p.hidden + k];
            }
        }
    }

    /// Calls run(row) for every sequence that is active at pass s, in parallel.
    template <class Run> void overRows(std::int64_t s, const PassRows<T>& rows, const Run& run) {
        const RecurrentPass<T>& p = m_pass;
        const std::int64_t width = kGates * p.hidden;
        parallelRanges(p.batch, p.batch * width, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                if (!p.runs(s, b)) continue;
                const auto of = [&](T* all) { return all ? all + b * p.hidden : nullptr; };
                run(Row{inputs() + p.row(p.step(s, b), b) * width, rows.gates + b * width, of(rows.h),
                        of(rows.c), of(rows.inner), rows.keepsSums, 0, p.hidden});
            }
        });
    }

    /// The activation with this index, applied to adjacent elements after the clip.
    void activate(int which, T* row, std::int64_t count) const {
        const RecurrentPass<T>& p = m_pass;
        const auto kind = p.activations[static_cast<std::size_t>(which)].kind();
        const bool isTanh = kind == RecurrentActivation::Kind::tanh;
        if constexpr (std::is_same_v<T, float>)
            if (isTanh || kind == RecurrentActivation::Kind::sigmoid) {
                const auto bound = static_cast<float>(p.clip);
                for (std::int64_t i = 0; bound > 0 && i < count; ++i)
                    row[i] = row[i] < -bound ? -bound : bound < row[i] ? bound : row[i];
                return VectorMap{isTanh ? VectorFunction::tanh : VectorFunction::sigmoid}(row, row, count);
            }
        for (std::int64_t i = 0; i < count; ++i) row[i] = p.activate(which, row[i]);
    }
    /// Activates `count` gates starting at `first`.
    void open(const Row& row, int which, int first, int count) const {
        const std::int64_t n = row.units;
        if (row.keepsSums) std::copy_n(row.gates + first * n, count * n, row.inputs + first * n);
        activate(which, row.gates + first * n, count * n);
    }

    void rnn(const Row& row) const {
        addTo(row.gates, row.inputs, m_pass.hidden);
        open(row, 0, 0, 1);
        std::copy_n(row.gates, m_pass.hidden, row.h);
    }

    /// The gates z and r, and the reset state.
    void gruGates(const Row& row) const {
        const std::int64_t n = m_pass.hidden;
        addTo(row.gates, row.inputs, 2 * n);
        open(row, 0, 0, 2);
        const T* const r = row.gates + n;
        for (std::int64_t k = 0; k < n && !m_pass.linearBeforeReset; ++k) row.inner[k] = r[k] * row.h[k];
    }

    void gruState(const Row& row) const {
        const std::int64_t n = m_pass.hidden;
        const T* const z = row.gates;
        const T* const r = row.gates + n;
        T* const candidate = row.gates + 2 * n;
        if (m_pass.linearBeforeReset) {
            if (m_pass.bias) addTo(candidate, m_pass.bias + 5 * n, n);
            std::copy_n(candidate, n, row.inner);
            for (std::int64_t k = 0; k < n; ++k) candidate[k] *= r[k];
        }
        addTo(candidate, row.inputs + 2 * n, n);
        open(row, 1, 2, 1);
        for (std::int64_t k = 0; k < n; ++k) row.h[k] = (T{1} - z[k]) * candidate[k] + z[k] * row.h[k];
    }

    /// Whether an LSTM has the usual form, for which there is one vectorised loop.
    bool isStandard() const {
        using enum RecurrentActivation::Kind;
        const auto& activations = m_pass.activations;
        return !m_pass.peepholes && !m_pass.coupled && m_pass.clip == 0 && activations[0].kind() == sigmoid &&
               activations[1].kind() == tanh && activations[2].kind() == tanh;
    }

    void lstm(const Row& row) const {
        const std::int64_t n = row.units;
        T* const in = row.gates;
        T* const out = row.gates + n;
        T* const forget = row.gates + 2 * n;
        T* const cell = row.gates + 3 * n;
        if constexpr (std::is_same_v<T, float>)
            if (isStandard() && !row.keepsSums && !row.inner)
                return vectorLstmUnits(row.inputs, m_pass.hidden, row.gates, n, n, row.c, row.h);
        for (int gate = 0; gate < kGates; ++gate)
            addTo(row.gates + gate * n, row.inputs + gate * m_pass.hidden, n);
        const auto peep = [&](int which, T* gate) {
            if (m_pass.peepholes)
                addProduct(m_pass.peepholes + which * m_pass.hidden + row.first, row.c, gate, n);
        };
        peep(0, in);
        peep(2, forget);
        open(row, 0, 0, 1);
        if (m_pass.coupled)
            for (std::int64_t k = 0; k < n; ++k) forget[k] = T{1} - in[k];
        else
            open(row, 0, 2, 1);
        open(row, 1, 3, 1);
        for (std::int64_t k = 0; k < n; ++k) row.c[k] = forget[k] * row.c[k] + in[k] * cell[k];
        peep(1, out);
        open(row, 0, 1, 1);
        std::copy_n(row.c, n, row.h);
        activate(2, row.h, n);
        if (row.inner) std::copy_n(row.h, n, row.inner);
        for (std::int64_t k = 0; k < n; ++k) row.h[k] *= out[k];
    }

    const RecurrentPass<T>& m_pass;
    PassProducts& m_products;
    Tensor m_inputs; ///< X · Wᵀ plus the biases, for all rows
};

/// The state of one direction, batch × hidden, read from a tensor with all directions; zeros if there is
/// none.
template <class T> void readState(const RecurrentPass<T>& p, const T* from, T* to) {
    if (!from) return void(std::fill_n(to, p.batch * p.hidden, T{0}));
    for (std::int64_t b = 0; b < p.batch; ++b) std::copy_n(from + p.stateAt(b), p.hidden, to + b * p.hidden);
}

/// No effect without `to`.
template <class T> void writeState(const RecurrentPass<T>& p, const T* from, T* to) {
    for (std::int64_t b = 0; to && b < p.batch; ++b)
        std::copy_n(from + b * p.hidden, p.hidden, to + p.stateAt(b));
}

/// The lengths of the sequences; empty if all are whole. Throws Error(invalidArgument) for a length that is
/// out of range.
std::vector<std::int32_t> recurrentLengths(const DenseInput& given, std::int64_t length, std::int64_t batch);

/// The inputs of a recurrent op in row-major order, and its directions.
template <RecurrentCell C, class T> class RecurrentInputs {
public:
    explicit RecurrentInputs(const KernelContext& ctx)
        : m_x(ctx.inputs[0]), m_w(ctx.inputs[1]), m_r(ctx.inputs[2]), m_bias(denseInput(ctx.inputs, 3)),
          m_initialH(denseInput(ctx.inputs, 5)),
          m_initialC(C == RecurrentCell::lstm ? denseInput(ctx.inputs, 6) : DenseInput(TensorView{})),
          m_peepholes(C == RecurrentCell::lstm ? denseInput(ctx.inputs, 7) : DenseInput(TensorView{})),
          m_activations(recurrentActivationsOf(C, ctx.attributes)),
          m_isReverse(ctx.attributes.text("direction") == "reverse") {
        const Attributes& attributes = ctx.attributes;
        m_pass.batchFirst = attributes.integer("layout") == 1;
        m_pass.length = m_x.shape()[m_pass.batchFirst ? 1 : 0];
        m_pass.batch = m_x.shape()[m_pass.batchFirst ? 0 : 1];
        m_pass.input = m_x.shape()[2];
        m_pass.hidden = m_r.shape()[2];
        m_pass.directions = recurrentDirections(attributes);
        m_lengths = recurrentLengths(denseInput(ctx.inputs, 4), m_pass.length, m_pass.batch);
        m_pass.lengths = m_lengths.empty() ? nullptr : m_lengths.data();
        m_pass.clip = attributes.has("clip") ? attributes.number("clip") : 0;
        m_pass.linearBeforeReset = C == RecurrentCell::gru && attributes.flag("linear_before_reset");
        m_pass.coupled = C == RecurrentCell::lstm && attributes.flag("input_forget");
        m_pass.x = m_x.as<T>();
    }

    bool isEmpty() const { return m_pass.batch == 0 || m_pass.hidden == 0; }
    int directions() const { return m_pass.directions; }
    const T* initialH() const { return m_initialH.as<T>(); }
    const T* initialC() const { return m_initialC.as<T>(); }
    RecurrentPass<T> direction(int d) const {
        constexpr std::int64_t gates = gatesOf(C);
        RecurrentPass<T> p = m_pass;
        p.direction = d;
        p.reverse = d == 1 || m_isReverse;
        p.w = m_w.as<T>() + d * gates * p.hidden * p.input;
        p.r = m_r.as<T>() + d * gates * p.hidden * p.hidden;
        p.bias = m_bias ? m_bias.as<T>() + d * 2 * gates * p.hidden : nullptr;
        p.peepholes = m_peepholes ? m_peepholes.as<T>() + d * 3 * p.hidden : nullptr;
        const auto each = static_cast<std::ptrdiff_t>(m_activations.size()) / p.directions;
        std::copy_n(m_activations.begin() + d * each, each, p.activations.begin());
        return p;
    }

private:
    DenseInput m_x, m_w, m_r, m_bias, m_initialH, m_initialC, m_peepholes;
    std::vector<RecurrentActivation> m_activations;
    std::vector<std::int32_t> m_lengths;
    bool m_isReverse;
    RecurrentPass<T> m_pass;
};

} // namespace twb
