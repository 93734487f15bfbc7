#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/row_passes.h"
#include "backends/cuda/kernels/softmax.h"
#include "ops/reduction_rules.h"

#include <cmath>
#include <limits>

namespace twb::cuda {
namespace {

struct LargerState {
    template <class T> TWB_HOST_DEVICE void merge(T& state, const T& other) const {
        if (other > state) state = other;
    }
};

/// Softmax, or its logarithm. The largest element is subtracted first, so that no exponential overflows. The
/// maximum ignores NaN, which makes the sum NaN anyway.
template <class T, bool IsLogarithm> struct TakeShares {
    using W = Wide<T>;
    /// `sum` is Σ e ^ (x − most). `most` starts finite, so that it can be subtracted from −∞; a row of only
    /// −∞ has sum 0 and therefore no shares.
    struct State {
        W most = std::numeric_limits<W>::lowest();
        double sum = 0;
    };
    TWB_HOST_DEVICE void merge(State& state, const State& other) const {
        const W most = other.most > state.most ? other.most : state.most;
        state.sum = state.sum * static_cast<double>(std::exp(state.most - most)) +
                    other.sum * static_cast<double>(std::exp(other.most - most));
        state.most = most;
    }

    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE State measure(const Group& team, Elements& elements, const Place&) const {
        State state;
        const auto takeLarger = [](W& most, const auto& part) {
            for (const W x : part)
                if (x > most) most = x;
        };
        if constexpr (Elements::isHeld) {
            elements.each([&](const auto& part, std::int64_t) { takeLarger(state.most, part); });
            state.most = team.merged(LargerState{}, state.most);
            elements.each([&](auto& part, std::int64_t) {
                for (W& x : part) {
                    const W share = std::exp(x - state.most);
                    if constexpr (!IsLogarithm) x = share;
                    state.sum += static_cast<double>(share);
                }
            });
            state.sum = team.merged(AddStates{}, state.sum);
            return state;
        } else {
            // A single pass: when a larger element occurs, the previous sum is rescaled.
            elements.each([&](const auto& part, std::int64_t) {
                W most = state.most;
                takeLarger(most, part);
                if (most > state.most) state.sum *= static_cast<double>(std::exp(state.most - most));
                state.most = most;
                for (const W x : part) state.sum += static_cast<double>(std::exp(x - most));
            });
            return team.merged(*this, state);
        }
    }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place&, const State& state) const {
        const W most = state.most;
        if constexpr (IsLogarithm) {
            const auto logarithm = static_cast<W>(std::log(state.sum));
            elements.rewrite([&](W x, std::int64_t) { return x - most - logarithm; });
        } else {
            const auto inverse = static_cast<W>(1 / state.sum);
            elements.rewrite(
                [&](W x, std::int64_t) { return (Elements::isHeld ? x : std::exp(x - most)) * inverse; });
        }
    }
};

/// The first of the largest elements; NaN is the largest, as in ArgMax.
template <class T> struct MarkLargest {
    using Rule = ArgRule<Wide<T>, true>;
    using State = typename Rule::State;
    TWB_HOST_DEVICE void merge(State& state, const State& other) const { Rule{}.merge(state, other); }

    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE State measure(const Group& team, Elements& elements, const Place&) const {
        State state;
        elements.each([&](const auto& part, std::int64_t i) {
            for (const Wide<T> x : part) Rule{}.add(state, x, i++);
        });
        return team.merged(*this, state);
    }
    template <class Group, class Elements, class Place>
    TWB_HOST_DEVICE void rewrite(const Group&, Elements& elements, const Place&, const State& state) const {
        elements.rewrite([&](Wide<T>, std::int64_t i) { return Wide<T>(i == state.at ? 1 : 0); });
    }
};

template <class T> using Softmax = TakeShares<T, false>;
template <class T> using LogSoftmax = TakeShares<T, true>;

template <template <class> class Work>
void alongAxis(Queue& queue, const TensorView& in, const TensorView& out, std::int64_t axis) {
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        rewriteRows(queue, rowsAlong<T>(in, out, onlyAxis(axis, out.shape.rank())), Work<T>{});
    });
}

template <template <class> class Work> void alongAxisKernel(const KernelCall& call) {
    alongAxis<Work>(call.queue, call.inputs[0], call.outputs[0], call.attributes.integer("axis"));
}

} // namespace

void logSoftmax(Queue& queue, const TensorView& in, const TensorView& out, int axis) {
    alongAxis<LogSoftmax>(queue, in, out, axis);
}

void addSoftmaxKernels(KernelMap& table) {
    add(table, "Softmax", alongAxisKernel<Softmax>);
    add(table, "LogSoftmax", alongAxisKernel<LogSoftmax>);
    add(table, "Hardmax", alongAxisKernel<MarkLargest>);
}

} // namespace twb::cuda
