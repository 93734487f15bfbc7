#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/pointwise.h"
#include "ops/logic_functions.h"

namespace twb::cuda {
namespace {

using element::Bool;

template <class F> void compare(const KernelCall& call, const TensorView& a, const TensorView& b) {
    withStoredNumber(a.dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, Bool>(call.queue, a, b, call.outputs[0], F{});
    });
}

void greaterKernel(const KernelCall& call) {
    compare<element::Greater>(call, call.inputs[0], call.inputs[1]);
}
void lessKernel(const KernelCall& call) { compare<element::Greater>(call, call.inputs[1], call.inputs[0]); }
void greaterOrEqualKernel(const KernelCall& call) {
    compare<element::GreaterOrEqual>(call, call.inputs[0], call.inputs[1]);
}
void lessOrEqualKernel(const KernelCall& call) {
    compare<element::GreaterOrEqual>(call, call.inputs[1], call.inputs[0]);
}

template <class T> void equal(const KernelCall& call) {
    zipElements<T, T, Bool>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0], element::Equal{});
}

void equalKernel(const KernelCall& call) {
    if (call.inputs[0].dtype == DType::boolean) return equal<Bool>(call);
    withWrapping(call.inputs[0].dtype, [&](auto zero) { equal<decltype(zero)>(call); });
}

template <class F> void boolKernel(const KernelCall& call) {
    zipElements<Bool, Bool, Bool>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0], F{});
}

void notKernel(const KernelCall& call) {
    mapElements<Bool, Bool>(call.queue, call.inputs[0], call.outputs[0], element::Not{});
}

template <class F> void bitsKernel(const KernelCall& call) {
    withBits(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        zipElements<T, T, T>(call.queue, call.inputs[0], call.inputs[1], call.outputs[0], F{});
    });
}

void bitwiseNotKernel(const KernelCall& call) {
    withBits(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, T>(call.queue, call.inputs[0], call.outputs[0], element::BitwiseNot{});
    });
}

void bitShiftKernel(const KernelCall& call) {
    const bool isLeft = call.attributes.text("direction") == "LEFT";
    withInteger(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        const TensorView& x = call.inputs[0];
        if (isLeft)
            zipElements<T, T, T>(call.queue, x, call.inputs[1], call.outputs[0], element::ShiftLeft{});
        else
            zipElements<T, T, T>(call.queue, x, call.inputs[1], call.outputs[0], element::ShiftRight{});
    });
}

/// out = condition ? x : y, moving elements without arithmetic.
template <class T> struct Select {
    static constexpr int V = kPackOf<T>;
    Walk<4> walk;
    bool byPacks;
    const Bool* condition;
    const T* x;
    const T* y;
    T* out;

    TWB_HOST_DEVICE void operator()(std::int64_t thread) const {
        const std::int64_t first = byPacks ? thread * V : thread;
        if (byPacks && first + V <= walk.total) {
            const auto at = walk.at(first);
            const auto chosen = loadPack<Bool, V>(condition + at[0], walk.innerStride(0));
            auto a = loadPack<T, V>(x + at[1], walk.innerStride(1));
            const auto b = loadPack<T, V>(y + at[2], walk.innerStride(2));
            for (int v = 0; v < V; ++v)
                if (!chosen.values[v]) a.values[v] = b.values[v];
            storePack<T, V>(out + at[3], walk.innerStride(3), a);
            return;
        }
        const std::int64_t end = byPacks ? walk.total : first + 1;
        TWB_ROLLED
        for (std::int64_t i = first; i < end; ++i) {
            const auto at = walk.at(i);
            out[at[3]] = condition[at[0]] ? x[at[1]] : y[at[2]];
        }
    }
};

void whereKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        using Each = Select<T>;
        const Walk<4> walk = walkOf<4>(out.shape, {&call.inputs[0], &call.inputs[1], &call.inputs[2], &out});
        forEach(call.queue, threadsOf<Each::V>(walk),
                Each{walk, takesPacks<Each::V>(walk), call.inputs[0].as<const Bool>(),
                     call.inputs[1].as<const T>(), call.inputs[2].as<const T>(), out.as<T>()});
    });
}

} // namespace

void addLogicKernels(KernelMap& table) {
    add(table, "Greater", greaterKernel);
    add(table, "GreaterOrEqual", greaterOrEqualKernel);
    add(table, "Less", lessKernel);
    add(table, "LessOrEqual", lessOrEqualKernel);
    add(table, "Equal", equalKernel);
    add(table, "And", boolKernel<element::And>);
    add(table, "Or", boolKernel<element::Or>);
    add(table, "Xor", boolKernel<element::Xor>);
    add(table, "Not", notKernel);
    add(table, "BitwiseAnd", bitsKernel<element::BitwiseAnd>);
    add(table, "BitwiseOr", bitsKernel<element::BitwiseOr>);
    add(table, "BitwiseXor", bitsKernel<element::BitwiseXor>);
    add(table, "BitwiseNot", bitwiseNotKernel);
    add(table, "BitShift", bitShiftKernel);
    add(table, "Where", whereKernel);
}

} // namespace twb::cuda
