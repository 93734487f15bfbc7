#pragma once

#include "ops/op.h"
#include "ops/recurrent_activation.h"

#include <array>
#include <cstdint>
#include <vector>

namespace twb {

// RNN, GRU and LSTM: a cell runs over the steps of a sequence and carries a state. The three differ only in
// their gates. T is the type of the arithmetic. A thread of a GPU computes one unit of one sequence at one
// step (RecurrentUnit); the host computes all units of a sequence together (recurrent.cpp).

enum class RecurrentCell : std::uint8_t { rnn, gru, lstm };

constexpr int gatesOf(RecurrentCell cell) {
    return cell == RecurrentCell::lstm ? 4 : cell == RecurrentCell::gru ? 3 : 1;
}

/// 2 for a bidirectional op, else 1.
int recurrentDirections(const Attributes& attributes);
/// The activations of all directions, one direction after the other: `gatesOf` per direction, or three for
/// LSTM. Throws InferError.
std::vector<RecurrentActivation> recurrentActivationsOf(RecurrentCell cell, const Attributes& attributes);

/// Adds the gradient of a recurrent op by RNNGrad, GRUGrad or LSTMGrad.
void recurrentGradient(GradientContext& g, RecurrentCell cell);
/// Adds the gradient of RNNGrad, GRUGrad or LSTMGrad: that of simpler ops for each of at most 512 steps.
void recurrentGradGradient(GradientContext& g, RecurrentCell cell);

/// One direction of one launch. W, R and B are those of the direction, with the gates side by side.
template <class T> struct RecurrentPass {
    std::int64_t length = 0, batch = 0, input = 0, hidden = 0;
    int direction = 0, directions = 1;
    bool batchFirst = false, reverse = false;
    const T *x = nullptr, *w = nullptr, *r = nullptr;
    const T *bias = nullptr, *peepholes = nullptr; ///< null: none
    const std::int32_t* lengths = nullptr;         ///< per sequence; null: all have `length`
    std::array<RecurrentActivation, 3> activations;
    double clip = 0; ///< 0: none
    bool linearBeforeReset = false, coupled = false;

    TWB_HOST_DEVICE std::int64_t lengthOf(std::int64_t b) const { return lengths ? lengths[b] : length; }
    /// The row of step t of sequence b among all rows of X.
    TWB_HOST_DEVICE std::int64_t row(std::int64_t t, std::int64_t b) const {
        return batchFirst ? b * length + t : t * batch + b;
    }
    /// The step of sequence b that pass s processes.
    TWB_HOST_DEVICE std::int64_t step(std::int64_t s, std::int64_t b) const {
        return reverse ? lengthOf(b) - 1 - s : s;
    }
    TWB_HOST_DEVICE bool runs(std::int64_t s, std::int64_t b) const { return s < lengthOf(b); }
    TWB_HOST_DEVICE std::int64_t stateAt(std::int64_t b) const {
        return (batchFirst ? b * directions + direction : direction * batch + b) * hidden;
    }
    TWB_HOST_DEVICE std::int64_t resultAt(std::int64_t t, std::int64_t b) const {
        return (batchFirst ? (b * length + t) * directions + direction
                           : (t * directions + direction) * batch + b) *
               hidden;
    }
    TWB_HOST_DEVICE T activate(int which, T v) const {
        double value = static_cast<double>(v);
        if (clip > 0) value = value < -clip ? -clip : clip < value ? clip : value;
        return static_cast<T>(activations[static_cast<std::size_t>(which)](value));
    }
    /// The derivative of activate() at `v`, whose result is `value`.
    TWB_HOST_DEVICE T slope(int which, T v, T value) const {
        const auto at = static_cast<double>(v);
        if (clip > 0 && (at < -clip || clip < at)) return T{0};
        return static_cast<T>(
            activations[static_cast<std::size_t>(which)].slope(at, static_cast<double>(value)));
    }
    /// The sum of both biases for element `k` of the gates' row. A GRU with linearBeforeReset adds the
    /// recurrent bias of its last gate later.
    TWB_HOST_DEVICE T biasAt(std::int64_t k, std::int64_t width) const {
        if (!bias) return T{0};
        return bias[k] + (linearBeforeReset && k >= 2 * hidden ? T{0} : bias[width + k]);
    }
};

/// Unit k of sequence b at pass s; i = b · hidden + k is its index in the state. `inputs` is X · Wᵀ plus the
/// biases for all rows, `gates` is H₋₁ · Rᵀ for all sequences and becomes the activated gates. `h` and `c`
/// are the state, which is updated in place. For a backward pass (`keepsSums`), the sums of the gates before
/// their activation replace `inputs`.
template <class T> struct RecurrentUnit {
    const RecurrentPass<T>& p;
    std::int64_t s, i;
    T *inputs, *gates;
    /// GRU: the reset state r · h, or with linearBeforeReset the recurrent part of the candidate. LSTM: the
    /// activated state, if a backward pass follows. Else null.
    T* inner;
    bool keepsSums;

    TWB_HOST_DEVICE std::int64_t b() const { return i / p.hidden; }
    TWB_HOST_DEVICE std::int64_t k() const { return i % p.hidden; }
    TWB_HOST_DEVICE bool runs() const { return p.runs(s, b()); }
    TWB_HOST_DEVICE T& input(int gate, int count) const {
        return inputs[(p.row(p.step(s, b()), b()) * count + gate) * p.hidden + k()];
    }
    TWB_HOST_DEVICE T& part(int gate, int count) const {
        return gates[(b() * count + gate) * p.hidden + k()];
    }
    /// Stores the gate's activated value, and its sum.
    TWB_HOST_DEVICE T open(int which, int gate, int count, T sum) const {
        if (keepsSums) input(gate, count) = sum;
        return part(gate, count) = p.activate(which, sum);
    }

    TWB_HOST_DEVICE void rnn(T* h) const { h[i] = open(0, 0, 1, input(0, 1) + part(0, 1)); }

    /// Computes the gates z and r, and the reset state.
    TWB_HOST_DEVICE void gruGates(const T* h) const {
        open(0, 0, 3, input(0, 3) + part(0, 3));
        const T r = open(0, 1, 3, input(1, 3) + part(1, 3));
        if (!p.linearBeforeReset) inner[i] = r * h[i];
    }
    TWB_HOST_DEVICE void gruState(T* h) const {
        T recurrent = part(2, 3);
        if (p.linearBeforeReset) {
            inner[i] = recurrent + (p.bias ? p.bias[5 * p.hidden + k()] : T{0});
            recurrent = part(1, 3) * inner[i];
        }
        const T candidate = open(1, 2, 3, input(2, 3) + recurrent);
        const T z = part(0, 3);
        h[i] = (T{1} - z) * candidate + z * h[i];
    }

    TWB_HOST_DEVICE void lstm(T* h, T* c) const {
        const auto sum = [&](int gate) { return input(gate, 4) + part(gate, 4); };
        const auto peep = [&](int which, T state) {
            return p.peepholes ? p.peepholes[which * p.hidden + k()] * state : T{0};
        };
        const T in = open(0, 0, 4, sum(0) + peep(0, c[i]));
        const T forget = p.coupled ? part(2, 4) = T{1} - in : open(0, 2, 4, sum(2) + peep(2, c[i]));
        c[i] = forget * c[i] + in * open(1, 3, 4, sum(3));
        const T out = open(0, 1, 4, sum(1) + peep(1, c[i]));
        const T activated = p.activate(2, c[i]);
        if (inner) inner[i] = activated;
        h[i] = out * activated;
    }
};

/// The backward pass of RecurrentUnit: pass s of one direction. All rows are those of this pass, one a
/// sequence: sums, gates and inner as the forward pass has left them, h and c the state before the pass.
template <class T> struct RecurrentBack {
    RecurrentPass<T> p;
    std::int64_t s = 0;
    T* sums = nullptr; ///< become their gradients; 0 for a sequence that has ended
    const T* gates = nullptr;
    T* inner = nullptr; ///< with linearBeforeReset: becomes the gradient of the candidate's sum
    const T *h = nullptr, *c = nullptr, *nextC = nullptr;
    const T* ofY = nullptr; ///< the gradient of Y with all directions; null: none
    /// The gradients of the state. ofH becomes the part of the gradient before the pass that does not come
    /// through a product with R.
    T *ofH = nullptr, *ofC = nullptr;
    const T* ofReset = nullptr; ///< GRU without linearBeforeReset: the gradient of the reset state

    TWB_HOST_DEVICE bool runs(std::int64_t i) const { return p.runs(s, i / p.hidden); }
    /// The element of a gate in `sums` and `gates`.
    TWB_HOST_DEVICE std::int64_t at(std::int64_t i, int gate, int count) const {
        return (i / p.hidden * count + gate) * p.hidden + i % p.hidden;
    }
    TWB_HOST_DEVICE T stateGradient(std::int64_t i) const {
        if (!ofY) return ofH[i];
        const std::int64_t b = i / p.hidden;
        return ofH[i] + ofY[p.resultAt(p.step(s, b), b) + i % p.hidden];
    }
    TWB_HOST_DEVICE T slope(int which, std::int64_t at) const { return p.slope(which, sums[at], gates[at]); }
    TWB_HOST_DEVICE bool end(std::int64_t i, int count) const {
        if (runs(i)) return false;
        for (int gate = 0; gate < count; ++gate) sums[at(i, gate, count)] = T{0};
        return true;
    }

    TWB_HOST_DEVICE void rnn(std::int64_t i) const {
        if (end(i, 1)) return;
        sums[i] = stateGradient(i) * slope(0, i);
        ofH[i] = T{0};
    }

    /// All gates but, if the reset comes first, r.
    TWB_HOST_DEVICE void gru(std::int64_t i) const {
        if (end(i, 3)) {
            inner[i] = T{0}; // the products over all steps read it
            return;
        }
        const std::int64_t z = at(i, 0, 3);
        const std::int64_t r = at(i, 1, 3);
        const std::int64_t candidate = at(i, 2, 3);
        const T ofState = stateGradient(i);
        const T ofCandidate = ofState * (T{1} - gates[z]) * slope(1, candidate);
        sums[z] = ofState * (h[i] - gates[candidate]) * slope(0, z);
        sums[candidate] = ofCandidate;
        ofH[i] = ofState * gates[z];
        if (!p.linearBeforeReset) return;
        sums[r] = ofCandidate * inner[i] * slope(0, r);
        sums[candidate] = ofCandidate * gates[r];
        inner[i] = ofCandidate;
    }
    TWB_HOST_DEVICE void gruReset(std::int64_t i) const {
        if (!runs(i)) return;
        const std::int64_t r = at(i, 1, 3);
        sums[r] = ofReset[i] * h[i] * slope(0, r);
        ofH[i] += ofReset[i] * gates[r];
    }

    TWB_HOST_DEVICE void lstm(std::int64_t i) const {
        if (end(i, 4)) return;
        const std::int64_t in = at(i, 0, 4);
        const std::int64_t out = at(i, 1, 4);
        const std::int64_t forget = at(i, 2, 4);
        const std::int64_t cell = at(i, 3, 4);
        const auto peep = [&](int which) {
            return p.peepholes ? p.peepholes[which * p.hidden + i % p.hidden] : T{0};
        };
        const T ofState = stateGradient(i);
        ofH[i] = T{0};
        const T ofOut = ofState * inner[i] * slope(0, out);
        const T ofCell = ofC[i] + ofState * gates[out] * p.slope(2, nextC[i], inner[i]) + peep(1) * ofOut;
        const T ofForget = p.coupled ? T{0} : ofCell * c[i] * slope(0, forget);
        const T ofIn = ofCell * (gates[cell] - (p.coupled ? c[i] : T{0})) * slope(0, in);
        sums[cell] = ofCell * gates[in] * slope(1, cell);
        sums[in] = ofIn;
        sums[out] = ofOut;
        sums[forget] = ofForget;
        ofC[i] = ofCell * gates[forget] + peep(0) * ofIn + peep(2) * ofForget;
    }
};

/// Element `i` of the gradient of the peepholes: `sums` are the gradients of the gates' sums at all passes,
/// `states` the states before each pass and after the last.
template <class T> struct PeepholeGradient {
    RecurrentPass<T> p;
    const T *sums, *states;
    T* to;
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t gate = i / p.hidden;
        const std::int64_t k = i % p.hidden;
        const std::int64_t rows = p.length * p.batch;
        T sum{0};
        for (std::int64_t row = 0; row < rows; ++row)
            sum += sums[row * 4 * p.hidden + i] * states[(row + (gate == 1 ? p.batch : 0)) * p.hidden + k];
        to[i] = sum;
    }
};

} // namespace twb
