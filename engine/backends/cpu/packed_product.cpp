#include "backends/cpu/packed_product.h"

#include "backends/cpu/host_threads.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel.h"
#include "core/caching_allocator.h"

#include <algorithm>

namespace twb {
namespace {

PanelEnding panelEnding(const ProductEnding& ending) {
    using enum PanelEnding::Function;
    PanelEnding out;
    out.alpha = ending.alpha;
    switch (ending.activation) {
    case ProductActivation::none:
        break;
    case ProductActivation::relu:
        out.least = 0;
        break;
    case ProductActivation::clip:
        out.least = ending.alpha;
        out.most = ending.beta;
        break;
    case ProductActivation::gelu:
        out.function = gelu;
        break;
    case ProductActivation::geluTanh:
        out.function = geluTanh;
        break;
    case ProductActivation::swish:
        out.function = swish;
        break;
    case ProductActivation::hardSwish:
        out.function = hardSwish;
        break;
    case ProductActivation::leakyRelu:
        out.function = leakyRelu;
        break;
    }
    return out;
}

std::int64_t quotientUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class PackedProduct final : public NativeConvolution {
public:
    PackedProduct(const WeightedProduct& sizes, const PanelKernels& kernels)
        : m_given(sizes), m_kernels(kernels),
          m_ending(panelEnding(sizes.ending)), m_sizes{.inner = sizes.inner,
                                                       .columns = sizes.columns,
                                                       .blocks = quotientUp(sizes.inner, kMostInner)} {
        const std::int64_t units = unitCount(m_sizes);
        m_sizes.panels = quotientUp(units, kernels.panelUnits);
        // If the threads share the rows, each reads all weights; if they share the columns, each reads all of
        // x, half of which another thread has just written. Narrow panels take longer than reading x.
        const bool isNarrow = kernels.panelUnits == 1;
        m_isCutByColumns = isNarrow || sizes.columns >= 8 * sizes.rows;
        constexpr std::int64_t kBalance = 4; // threads among which the panels are divided evenly
        if (m_isCutByColumns) m_sizes.panels = quotientUp(m_sizes.panels, kBalance) * kBalance;
        m_sizes.panels = std::min(m_sizes.panels, units);
    }

    bool run(const Data& data) override {
        if (!m_weights) pack(static_cast<const float*>(data.w));
        PanelEnding ending = m_ending;
        ending.bias = static_cast<const float*>(data.bias);
        ending.added = static_cast<const float*>(data.added);
        const auto* const x = static_cast<const float*>(data.x);
        const auto* const w = static_cast<const float*>(m_weights->data());
        auto* const y = static_cast<float*>(data.y);
        // Each thread computes neighbouring rows and columns.
        constexpr std::int64_t kRows = 9; // of a part
        const std::int64_t rowParts = quotientUp(m_given.rows, kRows);
        const std::int64_t threads = hostThreads();
        std::int64_t rowGroups = 1;
        std::int64_t panelGroups = 1;
        if (m_isCutByColumns) {
            constexpr std::int64_t kPieces = 4; // per thread: if one is delayed, the others take some
            panelGroups = std::min(kPieces * threads, m_sizes.panels);
            rowGroups = std::min(std::max<std::int64_t>(threads / panelGroups, 1), rowParts);
        } else {
            rowGroups = std::min(threads, rowParts);
            panelGroups = std::min(threads / rowGroups, m_sizes.panels);
        }
        const std::int64_t products = m_given.rows * m_given.inner * m_given.columns;
        parallelRanges(rowGroups * panelGroups, products / 4, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t group = begin; group < end; ++group) {
                const IndexRange parts = partOf(rowParts, group / panelGroups, rowGroups);
                const IndexRange rows{partOf(m_given.rows, parts.begin, rowParts).begin,
                                      partOf(m_given.rows, parts.end, rowParts).begin};
                m_kernels.multiply(m_sizes, x, w, rows,
                                   partOf(m_sizes.panels, group % panelGroups, panelGroups), ending, y);
            }
        });
        return true;
    }
    bool hasPackedWeights() const override { return m_weights != nullptr; }

private:
    void pack(const float* w) {
        const std::int64_t units = unitCount(m_sizes);
        const std::int64_t count = m_sizes.inner * units * kUnitColumns;
        BufferPtr packed =
            hostAllocator().allocate(static_cast<std::size_t>(count) * sizeof(float), MemoryKind::pageable);
        auto* const out = static_cast<float*>(packed->data());
        const std::int64_t rowStep = m_given.transposed ? 1 : m_given.stride;
        const std::int64_t columnStep = m_given.transposed ? m_given.stride : 1;
        const std::int64_t total = m_sizes.blocks * m_sizes.panels;
        parallelRanges(total, count, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t at = begin; at < end; ++at) {
                const IndexRange inner = partOf(m_sizes.inner, at / m_sizes.panels, m_sizes.blocks);
                const IndexRange unit = partOf(units, at % m_sizes.panels, m_sizes.panels);
                float* to =
                    out + (inner.begin * units + unit.begin * (inner.end - inner.begin)) * kUnitColumns;
                for (std::int64_t k = inner.begin; k < inner.end; ++k)
                    for (std::int64_t c = unit.begin * kUnitColumns; c < unit.end * kUnitColumns; ++c)
                        *to++ = c < m_sizes.columns ? w[k * rowStep + c * columnStep] : 0.0F;
            }
        });
        m_weights = std::move(packed);
    }

    const WeightedProduct m_given;
    const PanelKernels& m_kernels;
    const PanelEnding m_ending;
    PanelSizes m_sizes;
    bool m_isCutByColumns = false; ///< among threads; else by rows
    BufferPtr m_weights;
};

} // namespace

const PanelKernels* panelKernels() { return kernelsForThisCpu(avx2::panelKernels, avx512::panelKernels); }

std::unique_ptr<NativeConvolution> makePackedProduct(const WeightedProduct& sizes,
                                                     const PanelKernels& kernels) {
    return std::make_unique<PackedProduct>(sizes, kernels);
}

} // namespace twb
