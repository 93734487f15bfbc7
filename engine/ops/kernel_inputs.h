#pragma once

#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "ops/op.h"

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace twb {

// Access to a kernel's inputs: small host values, indices, and memory of any layout.

/// The integers of host input `port` at a launch: from the connected tensor, else from the attribute of the
/// same name.
std::optional<std::vector<std::int64_t>> hostIntegers(const KernelContext& ctx, int port,
                                                      std::string_view name);
/// The same for infer(). Nothing if the value is known only at run time (ctx.isDeferred()).
inline std::optional<std::vector<std::int64_t>> hostIntegers(const InferContext& ctx, int port,
                                                             std::string_view) {
    return ctx.integers(port);
}
/// A host input with a single number, from the tensor or the attribute.
std::optional<double> hostNumber(const KernelContext& ctx, int port, std::string_view name);
std::optional<double> hostNumber(const InferContext& ctx, int port, std::string_view name);

/// The element `offset` elements from the start of a view of any dtype.
double numberAt(const TensorView& view, std::int64_t offset);

/// `in` broadcast to `shape`: with strides of 0 along missing axes and axes of size 1.
TensorView broadcastView(const TensorView& in, const Shape& shape);
/// `view` without `axis`.
TensorView withoutAxis(const TensorView& view, int axis);
/// `view` moved by `elements` of its dtype.
TensorView movedBy(TensorView view, std::int64_t elements);

/// Indices of i32 or i64 as dense i64 in [0, size). Negative ones count from the end. Throws
/// Error(invalidArgument) in PyTorch's words, naming `axis`, if one is out of range. If `sizes` has several
/// entries, they apply in turn to the entries of the last axis of `indices`.
class CheckedIndices {
public:
    CheckedIndices(const TensorView& indices, int axis, std::int64_t size)
        : CheckedIndices(indices, axis, std::span(&size, 1)) {}
    CheckedIndices(const TensorView& indices, int firstAxis, std::span<const std::int64_t> sizes);

    const std::int64_t* data() const noexcept { return m_view.as<const std::int64_t>(); }
    const TensorView& view() const noexcept { return m_view; }
    std::int64_t count() const { return m_view.elementCount(); }

private:
    Tensor m_owner;
    TensorView m_view;
};

/// out[o, i, :] = in[o, at[i], :] for dense tensors of outer × count × inner and outer × size × inner
/// elements.
void gatherBlocks(const std::byte* in, std::byte* out, const std::int64_t* at, std::int64_t outer,
                  std::int64_t count, std::int64_t size, std::int64_t inner, std::size_t elementBytes);

/// Calls f with an opaque element of the size of `dtype`.
template <class F> void withElementSize(DType dtype, const F& f) {
    switch (sizeOf(dtype)) {
    case 1:
        return f(Opaque<1>{});
    case 2:
        return f(Opaque<2>{});
    case 4:
        return f(Opaque<4>{});
    default:
        return f(Opaque<8>{});
    }
}

/// parallelRanges for a body that may throw, for example from an allocation: rethrows the first exception at
/// the end.
template <class Body>
void parallelRangesThrowing(std::int64_t total, std::int64_t work, std::int64_t grain, const Body& body) {
    std::exception_ptr first;
    std::mutex lock;
    parallelRanges(total, work, grain, [&](std::int64_t begin, std::int64_t end) {
        try {
            body(begin, end);
        } catch (...) {
            const std::scoped_lock guard(lock);
            if (!first) first = std::current_exception();
        }
    });
    if (first) std::rethrow_exception(first);
}

/// The cost of ops that only move elements: their bytes.
Cost moveCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
              const Attributes& attributes);
/// The same for ops that read only as much as they write (Gather, Slice).
Cost gatherCost(std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                const Attributes& attributes);
/// Copies the elements of input 0 to output 0, row-major.
void reshapeKernel(const KernelContext& ctx);

} // namespace twb
