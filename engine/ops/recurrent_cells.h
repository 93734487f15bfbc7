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

/// Adds the gradient: a backward pass through the unrolled steps.
void recurrentGradient(GradientContext& g, RecurrentCell cell);

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
    /// The sum of both biases for element `k` of the gates' row. A GRU with linearBeforeReset adds the
    /// recurrent bias of its last gate later.
    TWB_HOST_DEVICE T biasAt(std::int64_t k, std::int64_t width) const {
        if (!bias) return T{0};
        return bias[k] + (linearBeforeReset && k >= 2 * hidden ? T{0} : bias[width + k]);
    }
};

/// Unit k of sequence b at pass s; i = b · hidden + k is its index in the state. `inputs` is X · Wᵀ plus the
/// biases for all rows, `gates` is H₋₁ · Rᵀ for all sequences. `h` and `c` are the state, which is updated in
/// place.
template <class T> struct RecurrentUnit {
    const RecurrentPass<T>& p;
    std::int64_t s, i;
    const T* inputs;
    T* gates;

    TWB_HOST_DEVICE std::int64_t b() const { return i / p.hidden; }
    TWB_HOST_DEVICE std::int64_t k() const { return i % p.hidden; }
    TWB_HOST_DEVICE bool runs() const { return p.runs(s, b()); }
    TWB_HOST_DEVICE T input(int gate, int count) const {
        return inputs[(p.row(p.step(s, b()), b()) * count + gate) * p.hidden + k()];
    }
    TWB_HOST_DEVICE T& part(int gate, int count) const {
        return gates[(b() * count + gate) * p.hidden + k()];
    }

    TWB_HOST_DEVICE void rnn(T* h) const { h[i] = p.activate(0, input(0, 1) + part(0, 1)); }

    /// Computes the gates z and r, stored in `gates`, and the reset state r · h.
    TWB_HOST_DEVICE void gruGates(const T* h, T* reset) const {
        part(0, 3) = p.activate(0, input(0, 3) + part(0, 3));
        part(1, 3) = p.activate(0, input(1, 3) + part(1, 3));
        reset[i] = part(1, 3) * h[i];
    }
    TWB_HOST_DEVICE void gruState(T* h) const {
        T recurrent = part(2, 3);
        if (p.linearBeforeReset)
            recurrent = part(1, 3) * (recurrent + (p.bias ? p.bias[5 * p.hidden + k()] : T{0}));
        const T candidate = p.activate(1, input(2, 3) + recurrent);
        const T z = part(0, 3);
        h[i] = (T{1} - z) * candidate + z * h[i];
    }

    TWB_HOST_DEVICE void lstm(T* h, T* c) const {
        const auto sum = [&](int gate) { return input(gate, 4) + part(gate, 4); };
        const auto peep = [&](int which, T state) {
            return p.peepholes ? p.peepholes[which * p.hidden + k()] * state : T{0};
        };
        const T in = p.activate(0, sum(0) + peep(0, c[i]));
        const T forget = p.coupled ? T{1} - in : p.activate(0, sum(2) + peep(2, c[i]));
        c[i] = forget * c[i] + in * p.activate(1, sum(3));
        const T out = p.activate(0, sum(1) + peep(1, c[i]));
        h[i] = out * p.activate(2, c[i]);
    }
};

} // namespace twb
