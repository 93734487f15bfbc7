#include "ops/kernel_inputs.h"

#include "backends/cpu/elementwise.h"
#include "ops/dispatch.h"
#include "ops/schema.h"
#include "ops/view_copies.h"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>

namespace twb {

namespace {

/// All elements of an integer view, row-major.
std::vector<std::int64_t> integersOf(const TensorView& view) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(view.elementCount()));
    const StridedLoop<1> loop(view.shape, {&view});
    std::size_t to = 0;
    withInteger(view.dtype, [&](auto zero) {
        using T = decltype(zero);
        loop.rows(0, loop.total(), [&](const auto& offsets, std::int64_t count) {
            const T* from = view.as<const T>() + offsets[0];
            for (std::int64_t i = 0; i < count; ++i)
                out[to++] = static_cast<std::int64_t>(from[i * loop.innerStride(0)]);
        });
    });
    return out;
}

double oneNumber(const TensorView& view, std::string_view name) {
    if (view.elementCount() != 1)
        throw Error(ErrorCode::invalidArgument, fmt::format("{} must be one number, but has the shape {}",
                                                            name, view.shape.toTorchString()));
    return numberAt(view, 0);
}

} // namespace

std::optional<std::vector<std::int64_t>> hostIntegers(const KernelContext& ctx, int port,
                                                      std::string_view name) {
    const auto i = static_cast<std::size_t>(port);
    if (i < ctx.inputs.size() && (ctx.inputs[i].data || ctx.inputs[i].shape == Shape{0}))
        return integersOf(ctx.inputs[i]);
    if (!ctx.attributes.has(name)) return std::nullopt;
    return ctx.attributes.integers(name);
}

std::optional<double> hostNumber(const KernelContext& ctx, int port, std::string_view name) {
    const auto i = static_cast<std::size_t>(port);
    if (i < ctx.inputs.size() && ctx.inputs[i].data) return oneNumber(ctx.inputs[i], name);
    if (!ctx.attributes.has(name)) return std::nullopt;
    return ctx.attributes.number(name);
}

std::optional<double> hostNumber(const InferContext& ctx, int port, std::string_view name) {
    if (const TensorType* type = ctx.input(port)) {
        if (type->isKnown() && type->shape.elementCount() != 1)
            ctx.fail("shape-mismatch", port,
                     fmt::format("{} must be one number, but has the shape {}", name,
                                 type->shape.toTorchString()));
        const Tensor* known = ctx.value(port);
        return known ? std::optional(oneNumber(known->view(), name)) : std::nullopt;
    }
    if (!ctx.attributes().has(name)) return std::nullopt;
    return ctx.attributes().number(name);
}

double numberAt(const TensorView& view, std::int64_t offset) {
    double out = 0;
    withAny(view.dtype, [&](auto zero) {
        using T = decltype(zero);
        out = static_cast<double>(widened(view.as<const T>()[offset]));
    });
    return out;
}

TensorView broadcastView(const TensorView& in, const Shape& shape) {
    TensorView out{in.data, in.dtype, shape, Strides(static_cast<std::size_t>(shape.rank()), 0)};
    const int lead = shape.rank() - in.shape.rank();
    for (int axis = lead; axis < shape.rank(); ++axis)
        if (in.shape[axis - lead] == shape[axis])
            out.strides[static_cast<std::size_t>(axis)] = in.strides[static_cast<std::size_t>(axis - lead)];
    return out;
}

TensorView withoutAxis(const TensorView& view, int axis) {
    std::vector<std::int64_t> dims = view.shape.dims();
    TensorView out = view;
    dims.erase(dims.begin() + axis);
    out.strides.erase(out.strides.begin() + axis);
    out.shape = Shape(std::move(dims));
    return out;
}

TensorView movedBy(TensorView view, std::int64_t elements) {
    if (view.data && elements != 0)
        view.data = view.as<std::byte>() + elements * static_cast<std::int64_t>(sizeOf(view.dtype));
    return view;
}

CheckedIndices::CheckedIndices(const TensorView& indices, int firstAxis,
                               std::span<const std::int64_t> sizes) {
    m_owner = Tensor::onHost({DType::i64, indices.shape});
    m_view = m_owner.view();
    const auto widen = [&](auto zero) {
        using T = decltype(zero);
        mapElements<T, std::int64_t>(indices, m_view, [](T x) { return static_cast<std::int64_t>(x); });
    };
    if (indices.dtype == DType::i32)
        widen(std::int32_t{});
    else
        widen(std::int64_t{});
    const std::int64_t total = count();
    const auto period = static_cast<std::int64_t>(sizes.size());
    auto* const at = m_view.as<std::int64_t>();
    // Threads may not throw, so one thread's invalid index is recorded and reported later.
    std::atomic<std::int64_t> bad{std::numeric_limits<std::int64_t>::max()};
    parallelRanges(total, total, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t size = sizes[static_cast<std::size_t>(i % period)];
            if (at[i] >= 0 ? at[i] < size : at[i] >= -size) {
                if (at[i] < 0) at[i] += size;
                continue;
            }
            std::int64_t known = bad.load();
            while (i < known && !bad.compare_exchange_weak(known, i)) {
            }
            return;
        }
    });
    const std::int64_t i = bad.load();
    if (i == std::numeric_limits<std::int64_t>::max()) return;
    const std::int64_t size = sizes[static_cast<std::size_t>(i % period)];
    throw Error(
        ErrorCode::invalidArgument,
        size == 0
            ? fmt::format("index {} is out of bounds for dimension {} with size 0, which has no elements",
                          at[i], firstAxis + i % period)
            : fmt::format("index {} is out of bounds for dimension {} with size {}; indices go "
                          "from {} to {}",
                          at[i], firstAxis + i % period, size, -size, size - 1));
}

void gatherBlocks(const std::byte* in, std::byte* out, const std::int64_t* at, std::int64_t outer,
                  std::int64_t count, std::int64_t size, std::int64_t inner, std::size_t elementBytes) {
    const std::int64_t blocks = outer * count;
    const std::int64_t work = blocks * inner;
    if (work == 0) return;
    const auto blockBytes = inner * static_cast<std::int64_t>(elementBytes);
    const auto eachBlock = [&](const auto& move) {
        parallelRanges(blocks, work, 1, [&](std::int64_t begin, std::int64_t end) {
            std::int64_t o = begin / count;
            std::int64_t i = begin % count;
            for (std::int64_t b = begin; b < end; ++b) {
                move(out + b * blockBytes, in + (o * size + at[i]) * blockBytes);
                if (++i == count) {
                    i = 0;
                    ++o;
                }
            }
        });
    };
    switch (blockBytes) {
    case 4:
        return eachBlock([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 4); });
    case 8:
        return eachBlock([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 8); });
    default:
        return eachBlock([blockBytes](std::byte* to, const std::byte* from) {
            std::memcpy(to, from, static_cast<std::size_t>(blockBytes));
        });
    }
}

Cost moveCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    return streamingCost(inputs, outputs, 0);
}

Cost gatherCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs, const Attributes&) {
    Cost cost = streamingCost(inputs.subspan(std::min<std::size_t>(inputs.size(), 1)), outputs, 0);
    if (!inputs.empty()) cost.dtype = inputs[0].dtype;
    for (const TensorType& out : outputs) cost.bytes += countOf(out.shape) * bitsOf(out.dtype) / 8.0;
    return cost;
}

void reshapeViews(const KernelContext& ctx, const CopyViews& copy) {
    const TensorView& in = ctx.inputs[0];
    TensorView out = ctx.outputs[0];
    if (in.data == out.data && isDense(in)) return; // in place
    // Both have their elements in row-major order, so the copy is plain when the output has the input's
    // shape.
    out.shape = in.shape;
    out.strides = denseStrides(in.shape);
    copy(in, out);
}

void reshapeKernel(const KernelContext& ctx) { reshapeViews(ctx, copyElements); }

} // namespace twb
