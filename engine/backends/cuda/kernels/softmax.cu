#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/rows.h"
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

/// The largest element of a row. A NaN is passed over: it makes the exponentials NaN anyway.
template <class Group, class Row>
TWB_HOST_DEVICE auto largestOf(const Group& team, const Row& row, std::int64_t length) {
    using W = decltype(row.at(0));
    W most = -std::numeric_limits<W>::infinity();
    for (std::int64_t i = team.index(); i < length; i += team.size()) {
        const W x = row.at(i);
        if (x > most) most = x;
    }
    return team.merged(LargerState{}, most);
}

template <class Group, class Row, class W>
TWB_HOST_DEVICE double sumOfExponentials(const Group& team, const Row& row, std::int64_t length, W most) {
    double sum = 0;
    for (std::int64_t i = team.index(); i < length; i += team.size())
        sum += static_cast<double>(std::exp(row.at(i) - most));
    return team.merged(AddStates{}, sum);
}

/// The largest element is taken off first, so that no exponential overflows.
template <class T> struct Softmax {
    Rows<T> rows;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto row = rows[index];
        const auto most = largestOf(team, row, rows.length());
        const double sum = sumOfExponentials(team, row, rows.length(), most);
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            row.set(i, static_cast<Wide<T>>(std::exp(row.at(i) - most) / sum));
    }
};

template <class T> struct LogSoftmax {
    Rows<T> rows;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto row = rows[index];
        const auto most = largestOf(team, row, rows.length());
        const double logarithm = std::log(sumOfExponentials(team, row, rows.length(), most));
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            row.set(i, static_cast<Wide<T>>(static_cast<double>(row.at(i) - most) - logarithm));
    }
};

/// The first of the largest, which a NaN is; as ArgMax.
template <class T> struct Hardmax {
    Rows<T> rows;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t index) const {
        const auto row = rows[index];
        const ArgRule<Wide<T>, true> rule;
        typename ArgRule<Wide<T>, true>::State state;
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            rule.add(state, row.at(i), i);
        state = team.merged(rule, state);
        for (std::int64_t i = team.index(); i < rows.length(); i += team.size())
            row.set(i, Wide<T>(i == state.at ? 1 : 0));
    }
};

template <template <class> class Work>
void alongAxis(Queue& queue, const TensorView& in, const TensorView& out, std::int64_t axis) {
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Rows<T> rows = rowsAlong<T>(in, out, onlyAxis(axis, out.shape.rank()));
        forEachOf(queue, rows, Work<T>{rows});
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
    add(table, "Hardmax", alongAxisKernel<Hardmax>);
}

} // namespace twb::cuda
