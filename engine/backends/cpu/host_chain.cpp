#include "backends/cpu/host_chain.h"

#include "backends/cpu/convolution.h"
#include "backends/cpu/dense_input.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace twb {
namespace {

/// The bytes of one operand's block. The blocks of a few operands together fit into a core's cache.
constexpr std::int64_t kBlockBytes = 32768;

/// Cuts a shape into blocks: ranges along one axis, for each index of the axes before it.
class Blocks {
public:
    Blocks(const Shape& shape, std::int64_t elements) : m_shape(shape) {
        m_inner = 1;
        m_axis = shape.rank();
        while (m_axis > 0 && m_inner <= elements) m_inner *= shape[--m_axis];
        if (m_axis < shape.rank()) m_inner /= shape[m_axis];
        m_step = std::max<std::int64_t>(1, elements / m_inner);
        m_along = m_axis < shape.rank() ? (shape[m_axis] + m_step - 1) / m_step : 1;
        for (int axis = 0; axis < m_axis; ++axis) m_outer *= shape[axis];
    }

    std::int64_t count() const { return m_outer * m_along; }
    /// The largest number of elements of a block.
    std::int64_t elements() const {
        return m_axis < m_shape.rank() ? std::min(m_step, m_shape[m_axis]) * m_inner : 1;
    }

    /// The part of `view`, which broadcasts to the shape, that belongs to block `at`.
    TensorView of(const TensorView& view, std::int64_t at) const {
        TensorView out = view;
        const int missing = m_shape.rank() - view.shape.rank();
        std::int64_t offset = 0;
        std::int64_t outer = at / m_along;
        for (int axis = m_axis - 1; axis >= 0; --axis) {
            const std::int64_t index = outer % m_shape[axis];
            outer /= m_shape[axis];
            if (axis >= missing && view.shape[axis - missing] != 1)
                offset += index * view.strides[static_cast<std::size_t>(axis - missing)];
        }
        const int dropped = std::max(0, m_axis - missing); // axes of the view
        std::vector<std::int64_t> sizes(view.shape.begin() + dropped, view.shape.end());
        out.strides.erase(out.strides.begin(), out.strides.begin() + dropped);
        if (m_axis < m_shape.rank() && m_axis >= missing && sizes.front() != 1) {
            const std::int64_t begin = at % m_along * m_step;
            offset += begin * out.strides.front();
            sizes.front() = std::min(m_step, sizes.front() - begin);
        }
        out.shape = Shape(std::move(sizes));
        out.data =
            static_cast<std::byte*>(view.data) + offset * static_cast<std::int64_t>(sizeOf(view.dtype));
        return out;
    }

private:
    const Shape& m_shape;
    int m_axis = 0;           ///< that the ranges are along; the rank if the shape has no axis
    std::int64_t m_inner = 1; ///< elements per index of the axis
    std::int64_t m_step = 1;  ///< indices per block
    std::int64_t m_along = 1; ///< blocks along the axis
    std::int64_t m_outer = 1; ///< indices of the axes before it
};

/// By member: the buffer of its result. Buffers are used again after the last reader.
struct Buffers {
    std::vector<std::size_t> of;
    std::size_t count = 0;
};

Buffers planBuffers(const OpChain& chain) {
    const std::size_t last = chain.members.size() - 1;
    std::vector<std::size_t> lastReader(chain.members.size(), last);
    for (std::size_t m = 0; m <= last; ++m)
        for (const std::size_t k : chain.members[m].operands)
            if (k >= chain.inputs) lastReader[k - chain.inputs] = m;
    Buffers out;
    std::vector<std::size_t> free;
    for (std::size_t m = 0; m < last; ++m) {
        if (free.empty()) free.push_back(out.count++);
        out.of.push_back(free.back());
        free.pop_back();
        for (std::size_t made = 0; made < m; ++made)
            if (lastReader[made] == m) free.push_back(out.of[made]);
    }
    return out;
}

void runPointwise(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out) {
    const std::int64_t work = out.elementCount() * static_cast<std::int64_t>(chain.members.size());
    if (work == 0) return;
    const auto size = static_cast<std::int64_t>(sizeOf(out.dtype));
    const Blocks blocks(out.shape, kBlockBytes / size);
    const Buffers buffers = planBuffers(chain);
    const std::size_t last = chain.members.size() - 1;
    parallelRanges(blocks.count(), work, 1, [&](std::int64_t begin, std::int64_t end) {
        const auto bytes = static_cast<std::size_t>(blocks.elements() * size + 63) / 64 * 64;
        std::vector<std::byte> memory(bytes * buffers.count);
        std::vector<TensorView> operands;
        for (std::int64_t at = begin; at < end; ++at) {
            const TensorView target = blocks.of(out, at);
            const auto resultOf = [&](std::size_t m) {
                TensorView view = target;
                if (m != last) view.data = memory.data() + buffers.of[m] * bytes;
                return view;
            };
            for (std::size_t m = 0; m <= last; ++m) {
                const OpChain::Member& member = chain.members[m];
                operands.clear();
                for (const std::size_t k : member.operands)
                    operands.push_back(k < chain.inputs ? blocks.of(inputs[k], at)
                                                        : resultOf(k - chain.inputs));
                const std::array outputs{resultOf(m)};
                member.kernel({operands, outputs, member.attributes});
            }
        }
    });
}

/// The operands of a chain's product, and its memory, whose constants are these operands.
struct ProductOperands {
    std::vector<TensorView> views;
    StepMemory own;

    ProductOperands(const OpChain& chain, std::span<const TensorView> inputs, const StepMemory* memory) {
        const std::vector<std::size_t>& operands = chain.members[0].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            views.push_back(inputs[operands[i]]);
            if (memory && memory->isConstant(operands[i])) own.constants |= std::uint64_t{1} << i;
        }
    }
};

/// The operand of an Add that is not the result of the member before it.
const TensorView& addedBy(const OpChain& chain, std::size_t m, std::span<const TensorView> inputs) {
    const std::vector<std::size_t>& pair = chain.members[m].operands;
    return inputs[pair[0] == chain.inputs + m - 1 ? pair[1] : pair[0]];
}

/// Calls y(sum, n) for each column n of a row of sums, and stores the result in the sum's memory.
template <class F> void replaceSums(float* row, std::int64_t columns, F&& y) {
#pragma omp simd
    for (std::int64_t n = 0; n < columns; ++n) {
        std::int32_t sum = 0;
        std::memcpy(&sum, row + n, sizeof sum);
        row[n] = y(static_cast<float>(sum), n);
    }
}

/// sum · scale + bias, with one scale or one per column; `bias` may be null.
void dequantizeRow(float* row, std::int64_t columns, const float* scales, bool isPerColumn,
                   const float* bias) {
    const float scale = scales[0];
    if (isPerColumn && bias)
        replaceSums(row, columns, [=](float sum, std::int64_t n) { return sum * scales[n] + bias[n]; });
    else if (isPerColumn)
        replaceSums(row, columns, [=](float sum, std::int64_t n) { return sum * scales[n]; });
    else if (bias)
        replaceSums(row, columns, [=](float sum, std::int64_t n) { return sum * scale + bias[n]; });
    else
        replaceSums(row, columns, [=](float sum, std::int64_t) { return sum * scale; });
}

/// The product writes its sums in i32 to the memory of the f32 result. The other ops run block by block.
void runByteProduct(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                    StepMemory* memory) {
    if (out.elementCount() == 0) return;
    const OpChain::Member& product = chain.members[0];
    ProductOperands operands(chain, inputs, memory);
    if (memory) operands.own.state = std::move(memory->state);
    const std::array sums{TensorView{out.data, DType::i32, out.shape, denseStrides(out.shape)}};
    product.kernel({operands.views, sums, product.attributes, nullptr, memory ? &operands.own : nullptr});
    if (memory) memory->state = std::move(operands.own.state);

    const std::int64_t columns = out.shape[out.shape.rank() - 1];
    const std::int64_t rows = out.elementCount() / columns;
    const DenseInput scale(inputs[chain.members[1].operands[1]]);
    const bool isPerColumn = scale.shape().elementCount() != 1;
    std::vector<DenseInput> added; // by member; empty for activations
    for (std::size_t m = 0; m < chain.members.size(); ++m)
        added.emplace_back(m > 1 && chain.members[m].op == "Add" ? addedBy(chain, m, inputs) : TensorView{});
    const bool hasBias =
        added.size() > 2 && added[2] && added[2].shape().elementCount() == columns && rows > 1;
    const float* const bias = hasBias ? added[2].as<float>() : nullptr;
    const std::int64_t atOnce = std::max<std::int64_t>(1, kBlockBytes / (columns * 4));
    const auto work = out.elementCount() * static_cast<std::int64_t>(chain.members.size());
    parallelRanges((rows + atOnce - 1) / atOnce, work, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t first = at * atOnce;
            const Shape shape{std::min(atOnce, rows - first), columns};
            const auto part = [&](const TensorView& whole) {
                const bool isRow = whole.elementCount() == columns && rows > 1;
                auto* const data = static_cast<float*>(whole.data) + (isRow ? 0 : first * columns);
                const Shape of = isRow ? Shape{columns} : shape;
                return TensorView{data, DType::f32, of, denseStrides(of)};
            };
            const std::array results{part(out)};
            for (std::int64_t r = 0; r < shape[0]; ++r)
                dequantizeRow(results[0].as<float>() + r * columns, columns, scale.as<float>(), isPerColumn,
                              bias);
            for (std::size_t m = hasBias ? 3 : 2; m < chain.members.size(); ++m) {
                const OpChain::Member& member = chain.members[m];
                std::vector<TensorView> both{results[0]};
                if (added[m]) both.push_back(part(added[m].view()));
                member.kernel({both, results, member.attributes});
            }
        }
    });
}

void runProduct(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                StepMemory* memory) {
    const OpChain::Member& product = chain.members[0];
    if (product.op == "MatMulInteger") return runByteProduct(chain, inputs, out, memory);
    ProductOperands given(chain, inputs, memory);
    StepMemory& own = given.own;
    std::vector<TensorView>& operands = given.views;
    const std::array outputs{out};
    if (memory) {
        if (!memory->state) memory->state = std::make_unique<ProductState>();
        auto& state = static_cast<ProductState&>(*memory->state);
        for (std::size_t m = 1; m < chain.members.size(); ++m) {
            const OpChain::Member& member = chain.members[m];
            if (member.op == "Add")
                state.added = addedBy(chain, m, inputs);
            else
                state.ending = productEnding(member.op, member.attributes).value_or(ProductEnding{});
        }
        state.hasAdded = state.isEnded = false;
        own.state = std::move(memory->state);
    }
    product.kernel({operands, outputs, product.attributes, nullptr, memory ? &own : nullptr});
    bool hasAdded = false;
    if (memory) {
        memory->state = std::move(own.state);
        const auto& state = static_cast<const ProductState&>(*memory->state);
        if (state.isEnded) return;
        hasAdded = state.hasAdded;
    }
    // Pointwise kernels expect dense results.
    const auto shown = [&](const TensorView& view) { return isDense(out) ? view : channelsMovedLast(view); };
    const std::array results{shown(out)};
    for (std::size_t m = 1; m < chain.members.size(); ++m) {
        const OpChain::Member& member = chain.members[m];
        if (hasAdded && member.op == "Add") continue;
        operands.assign(1, results[0]);
        if (member.op == "Add") operands.push_back(shown(addedBy(chain, m, inputs)));
        member.kernel({operands, results, member.attributes});
    }
}

} // namespace

void runHostChain(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                  StepMemory* memory) {
    if (chain.kind == OpChain::Kind::product)
        runProduct(chain, inputs, out, memory);
    else
        runPointwise(chain, inputs, out);
}

} // namespace twb
