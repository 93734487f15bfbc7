#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/indices.h"
#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/kernels/view_copy.h"
#include "core/error.h"
#include "ops/scatter_rules.h"

namespace twb::cuda {
namespace {

#if defined(__CUDA_ARCH__)
template <bool isSigned, std::size_t bytes>
using AtomicInteger = std::conditional_t<isSigned, std::conditional_t<bytes == 4, int, long long>,
                                         std::conditional_t<bytes == 4, unsigned, unsigned long long>>;
#endif

/// *at = rule(*at, update), atomically. Which of several assignments wins is undefined, as in ONNX. On a GPU,
/// sums of f32 flush subnormal numbers to 0, since PTX's atom.add.f32 on global memory does; atom.add.f64
/// does not.
template <class T, class Rule> TWB_HOST_DEVICE void updateAt(T* at, T update, const Rule& rule) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<Rule, Assign>) {
        *at = update;
    } else if constexpr (sizeof(T) >= 4 && std::is_same_v<Rule, AddTo>) {
        if constexpr (std::is_floating_point_v<T>) {
            atomicAdd(at, update);
        } else {
            using Number = AtomicInteger<false, sizeof(T)>; // wraps around, signed or unsigned
            atomicAdd(reinterpret_cast<Number*>(at), static_cast<Number>(update));
        }
    } else if constexpr (sizeof(T) >= 4 && std::is_integral_v<T> && !std::is_same_v<Rule, MultiplyBy>) {
        using Number = AtomicInteger<std::is_signed_v<T>, sizeof(T)>;
        auto* const number = reinterpret_cast<Number*>(at);
        if constexpr (std::is_same_v<Rule, LessOf>)
            atomicMin(number, static_cast<Number>(update));
        else
            atomicMax(number, static_cast<Number>(update));
    } else if constexpr (sizeof(T) >= 4) {
        using Word = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
        auto* const word = reinterpret_cast<Word*>(at);
        for (Word seen = *word;;) {
            const Word wanted = std::bit_cast<Word>(rule(std::bit_cast<T>(seen), update));
            const Word before = atomicCAS(word, seen, wanted);
            if (before == seen) return;
            seen = before;
        }
    } else {
        // There is no atomic operation on bytes, so the surrounding word is exchanged.
        const auto address = reinterpret_cast<std::uintptr_t>(at);
        auto* const word = reinterpret_cast<unsigned*>(address & ~std::uintptr_t{3});
        const unsigned shift = static_cast<unsigned>(address & 3) * 8;
        const unsigned mask = (sizeof(T) == 1 ? 0xffU : 0xffffU) << shift;
        using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
        for (unsigned seen = *word;;) {
            const T next = rule(std::bit_cast<T>(static_cast<Bits>(seen >> shift)), update);
            const unsigned wanted = (seen & ~mask) | (unsigned{std::bit_cast<Bits>(next)} << shift);
            const unsigned before = atomicCAS(word, seen, wanted);
            if (before == seen) return;
            seen = before;
        }
    }
#else
    *at = rule(*at, update);
#endif
}

/// Calls f with a zero of the element type and the rule given by the attribute "reduction".
template <class F> void withRule(const KernelCall& call, DType dtype, const F& f) {
    const std::string& reduction = call.attributes.text("reduction");
    if (reduction == "none") return withBits(dtype, [&](auto zero) { f(zero, Assign{}); });
    withReduction(reduction, dtype, f);
}

/// Runs `scatter(updates, out)` after copying data to `out`. Reductions of f16 and bf16 are done in f32 and
/// rounded once at the end.
template <class Scatter> void scattered(const KernelCall& call, const Scatter& scatter) {
    const TensorView& out = call.outputs[0];
    const bool throughFloat = isHalfWidth(out.dtype) && call.attributes.text("reduction") != "none";
    if (!throughFloat) {
        copyView(call.queue, call.inputs[0], out);
        return scatter(call.inputs[2], out);
    }
    const ConvertedView updates(call.queue, DType::f32, call.inputs[2]);
    const Scratch memory(call.queue, static_cast<std::size_t>(out.shape.byteCount(DType::f32)));
    const TensorView wide{memory.data(), DType::f32, out.shape, denseStrides(out.shape)};
    convertView(call.queue, call.inputs[0], wide);
    scatter(updates.view(), wide);
    convertView(call.queue, wide, out);
}

// ScatterElements

template <class T, class I, class Rule> struct ScatterElements {
    Walk<2> walk; ///< of the target for index 0, and of the updates
    T* out;
    const T* updates;
    IndexView<I> at;
    std::int64_t size, axisStride;
    int axis;
    Fault* fault;
    Rule rule;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t index = at.checked(i, size, axis, fault);
        if (index < 0) return;
        const auto place = walk.at(i);
        updateAt(out + place[0] + index * axisStride, updates[place[1]], rule);
    }
};

void scatterElementsKernel(const KernelCall& call) {
    const TensorView& indices = call.inputs[1];
    const int axis = *normalizeAxis(call.attributes.integer("axis"), call.outputs[0].shape.rank());
    scattered(call, [&](const TensorView& updates, const TensorView& out) {
        TensorView base = out;
        base.shape = indices.shape;
        base.strides[static_cast<std::size_t>(axis)] = 0;
        withRule(call, out.dtype, [&](auto zero, auto rule) {
            using T = decltype(zero);
            using Rule = decltype(rule);
            withIndices(indices, [&](const auto& at) {
                using I = typename std::decay_t<decltype(at)>::Index;
                forEach(call.queue, indices.elementCount(),
                        ScatterElements<T, I, Rule>{walkOf<2>(indices.shape, {&base, &updates}), out.as<T>(),
                                                    updates.as<const T>(), at, out.shape[axis],
                                                    out.strides[static_cast<std::size_t>(axis)], axis,
                                                    call.queue.fault(), rule});
            });
        });
    });
}

// ScatterND

template <class T, class Rule> struct ScatterTuples {
    IndexView<std::int64_t> at;
    Walk<1> walk; ///< of the updates
    T* out;
    const T* updates;
    int depth;
    std::array<std::int64_t, kMaxWalkAxes> sizes;
    Divide inner;
    Fault* fault;
    Rule rule;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t tuple = inner(i);
        std::int64_t block = 0;
        TWB_ROLLED
        for (int a = 0; a < depth; ++a) {
            const std::int64_t size = sizes[static_cast<std::size_t>(a)];
            const std::int64_t index = at.checked(tuple * depth + a, size, a, fault);
            if (index < 0) return;
            block = block * size + index;
        }
        updateAt(out + block * inner.divisor() + i - tuple * inner.divisor(), updates[walk.at(i)[0]], rule);
    }
};

void scatterNDKernel(const KernelCall& call) {
    const TensorView& indices = call.inputs[1];
    const Shape& shape = call.outputs[0].shape;
    const auto depth = static_cast<int>(indices.shape[indices.shape.rank() - 1]);
    if (depth > kMaxWalkAxes)
        throw Error(ErrorCode::unsupported, "the indices have too many axes for a GPU; move the op to cpu");
    std::array<std::int64_t, kMaxWalkAxes> sizes{};
    for (int i = 0; i < depth; ++i) sizes[static_cast<std::size_t>(i)] = shape[i];
    std::int64_t inner = 1;
    for (int i = depth; i < shape.rank(); ++i) inner *= shape[i];
    scattered(call, [&](const TensorView& updates, const TensorView& out) {
        const std::int64_t total = updates.elementCount();
        withRule(call, out.dtype, [&](auto zero, auto rule) {
            using T = decltype(zero);
            forEach(call.queue, total,
                    ScatterTuples<T, decltype(rule)>{{walkOf(indices), indices.as<const std::int64_t>()},
                                                     walkOf(updates),
                                                     out.as<T>(),
                                                     updates.as<const T>(),
                                                     depth,
                                                     sizes,
                                                     Divide(inner, total),
                                                     call.queue.fault(),
                                                     rule});
        });
    });
}

// TensorScatter

template <class T> struct WriteRows {
    Walk<1> walk;
    const T* update;
    T* cache;
    const std::int64_t* starts; ///< null: zeros
    std::int64_t startStep;
    std::int64_t inner, length, size; ///< elements behind the axis; sizes along it
    std::int64_t each;                ///< elements of the update per batch entry
    bool wraps;
    int axis;
    Fault* fault;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t row = i / inner;
        const std::int64_t outer = row / length;
        const std::int64_t start = starts ? starts[i / each * startStep] : 0;
        if (!wraps && (start < 0 || start > size - length)) {
            raise(fault, Fault::badWriteIndex, start, axis, size - length);
            return;
        }
        std::int64_t place = start + row - outer * length;
        if (wraps) place = (start % size + size + row - outer * length) % size;
        cache[(outer * size + place) * inner + i - row * inner] = update[walk.at(i)[0]];
    }
};

void tensorScatterKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    const TensorView& update = call.inputs[1];
    const TensorView starts = call.input(2);
    const int axis = *normalizeAxis(call.attributes.integer("axis"), out.shape.rank());
    copyView(call.queue, call.inputs[0], out);
    const std::int64_t total = update.elementCount();
    if (total == 0) return;
    std::int64_t inner = 1;
    for (int i = axis + 1; i < out.shape.rank(); ++i) inner *= out.shape[i];
    withBits(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, total,
                WriteRows<T>{walkOf(update), update.as<const T>(), out.as<T>(),
                             starts.as<const std::int64_t>(), starts.data ? starts.strides[0] : 0, inner,
                             update.shape[axis], out.shape[axis], total / out.shape[0],
                             call.attributes.text("mode") == "circular", axis, call.queue.fault()});
    });
}

} // namespace

void addScatterKernels(KernelMap& table) {
    add(table, "ScatterElements", scatterElementsKernel);
    add(table, "ScatterND", scatterNDKernel);
    add(table, "TensorScatter", tensorScatterKernel);
}

} // namespace twb::cuda
