#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/reduction.h"
#include "core/error.h"
#include "ops/reduction_rules.h"

namespace twb::cuda {
namespace {

ReductionView viewOf(const KernelCall& call) {
    return splitAxes(call.inputs[0], reducedAxes(call.context()));
}

/// The dtypes of ONNX's matrix products.
template <class F> void withStoredMatrixType(DType dtype, const F& f) {
    withStoredNumber(dtype, [&](auto zero) {
        if constexpr (sizeof(zero) >= 4 || isHalf<decltype(zero)>) f(zero);
    });
}

/// Rounds to the type of the arithmetic first, as the host does.
template <class T, class State> TWB_HOST_DEVICE T rounded(State value) {
    return stored<T>(element::cast<Wide<T>>(value));
}

template <class T, class F> struct StoreFunctionOfSum {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, State sum) const {
        out[i] = rounded<T>(F{}(numberOf<Wide<T>>(sum)));
    }
};

template <class T> struct StoreWrapped {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, State sum) const {
        out[i] = stored<T>(static_cast<Wide<T>>(sum));
    }
};

template <class T> struct StoreProduct {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, const State& state) const {
        out[i] = stored<T>(static_cast<Wide<T>>(state.value));
    }
};

template <class T> struct StoreMean {
    T* out;
    std::int64_t count;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, State sum) const {
        out[i] = stored<T>(static_cast<Wide<T>>(MeanRule<Wide<T>>::finish(sum, count)));
    }
};

template <class T> struct StoreLogSumExp {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, const State& state) const {
        out[i] = rounded<T>(LogSumExpRule<Wide<T>>::finish(state));
    }
};

template <class T> struct StoreExtreme {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, const State& state) const {
        out[i] = stored<T>(state.value);
    }
};

struct StorePlace {
    std::int64_t* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, const State& state) const {
        out[i] = state.at;
    }
};

/// Integers wrap around, signed and unsigned alike.
void sumKernel(const KernelCall& call) {
    withWrapping(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), SumRule<Wide<T>>{}, StoreWrapped<T>{call.outputs[0].as<T>()});
    });
}

/// L1 and the sum of squares.
template <class Map> void mappedSumKernel(const KernelCall& call) {
    withStoredMatrixType(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), SumRule<Wide<T>, Map>{},
                  StoreWrapped<T>{call.outputs[0].as<T>()});
    });
}

/// A function of a sum, in double: L2 norm and logarithm of the sum. Integer results are truncated.
template <class Map, class F> void functionOfSumKernel(const KernelCall& call) {
    withStoredMatrixType(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), SumRule<Wide<T>, Map>{},
                  StoreFunctionOfSum<T, F>{call.outputs[0].as<T>()});
    });
}

void logSumExpKernel(const KernelCall& call) {
    withStoredMatrixType(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), LogSumExpRule<Wide<T>>{},
                  StoreLogSumExp<T>{call.outputs[0].as<T>()});
    });
}

void productKernel(const KernelCall& call) {
    withStoredMatrixType(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), ProductRule<Wide<T>>{}, StoreProduct<T>{call.outputs[0].as<T>()});
    });
}

void meanKernel(const KernelCall& call) {
    const ReductionView view = viewOf(call);
    const std::int64_t count = view.reduced.elementCount();
    if (count == 0 && isInteger(call.outputs[0].dtype) && call.outputs[0].elementCount() > 0)
        throw Error(ErrorCode::invalidArgument,
                    "ZeroDivisionError: the mean of no integers is an integer division by zero; cast to a "
                    "floating dtype for NaN");
    withStoredNumber(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, view, MeanRule<Wide<T>>{}, StoreMean<T>{call.outputs[0].as<T>(), count});
    });
}

template <bool Largest> void extremeKernel(const KernelCall& call) {
    const auto run = [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, viewOf(call), ExtremeRule<Wide<T>, Largest>{},
                  StoreExtreme<T>{call.outputs[0].as<T>()});
    };
    if (call.outputs[0].dtype == DType::boolean)
        run(element::Bool{});
    else
        withStoredNumber(call.outputs[0].dtype, run);
}

template <bool Largest> void argKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    std::array<bool, kMaxRank> reduced{};
    reduced[static_cast<std::size_t>(
        *normalizeAxis(call.attributes.integer("axis"), std::max(in.shape.rank(), 1)))] = true;
    const ReductionView view = splitAxes(in, reduced);
    const StorePlace store{call.outputs[0].as<std::int64_t>()};
    withStoredNumber(in.dtype, [&](auto zero) {
        using T = decltype(zero);
        reduce<T>(call.queue, view, ArgRule<Wide<T>, Largest>{call.attributes.flag("select_last_index")},
                  store);
    });
}

} // namespace

void addReductionKernels(KernelMap& table) {
    add(table, "ReduceSum", sumKernel);
    add(table, "ReduceMean", meanKernel);
    add(table, "ReduceMax", extremeKernel<true>);
    add(table, "ReduceMin", extremeKernel<false>);
    add(table, "ReduceProd", productKernel);
    add(table, "ReduceL1", mappedSumKernel<Absolute>);
    add(table, "ReduceL2", functionOfSumKernel<Square, element::Sqrt>);
    add(table, "ReduceSumSquare", mappedSumKernel<Square>);
    add(table, "ReduceLogSum", functionOfSumKernel<Plain, element::Log>);
    add(table, "ReduceLogSumExp", logSumExpKernel);
    add(table, "ArgMax", argKernel<true>);
    add(table, "ArgMin", argKernel<false>);
}

} // namespace twb::cuda
