#include "backends/cuda/kernels/recurrent_passes.h"

namespace twb::cuda {
namespace {

template <RecurrentCell C, class T> void recurrent(const KernelCall& call) {
    Queue& queue = call.queue;
    const RecurrentInputs<C, T> in(call);
    RecurrentResult<T> y(call, 0);
    RecurrentResult<T> lastH(call, 1);
    RecurrentResult<T> lastC(call, 2);
    for (int d = 0; d < in.directions() && !in.isEmpty(); ++d) {
        const RecurrentPass<T> p = in.direction(d);
        const std::int64_t units = p.batch * p.hidden;
        const Scratch gates = scratchFor<T>(queue, units * gatesOf(C));
        const Scratch h = scratchFor<T>(queue, units);
        const Scratch c = scratchFor<T>(queue, C == RecurrentCell::lstm ? units : 0);
        const Scratch inner = scratchFor<T>(queue, C == RecurrentCell::gru ? units : 0);
        forEach(queue, units, ReadState<T>{p, in.initialH(), h.as<T>()});
        if (C == RecurrentCell::lstm) forEach(queue, units, ReadState<T>{p, in.initialC(), c.as<T>()});
        RecurrentPasses<T> passes(queue, C, p);
        for (std::int64_t s = 0; s < p.length; ++s)
            passes.run(s, {gates.as<T>(), h.as<T>(), c.as<T>(), inner.as<T>(), y.data()});
        if (lastH.data()) forEach(queue, units, WriteState<T>{p, h.as<T>(), lastH.data()});
        if (lastC.data()) forEach(queue, units, WriteState<T>{p, c.as<T>(), lastC.data()});
    }
    y.finish();
    lastH.finish();
    lastC.finish();
}

template <RecurrentCell C> void recurrentKernel(const KernelCall& call) {
    withRecurrentType(call, [&](auto zero) { recurrent<C, decltype(zero)>(call); });
}

} // namespace

void addRecurrentKernels(KernelMap& table) {
    add(table, "RNN", recurrentKernel<RecurrentCell::rnn>);
    add(table, "GRU", recurrentKernel<RecurrentCell::gru>);
    add(table, "LSTM", recurrentKernel<RecurrentCell::lstm>);
    addRecurrentGradientKernels(table);
}

} // namespace twb::cuda
