#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/integer_matmul.h"
#include "backends/cuda/kernels/matrix.h"
#include "backends/cuda/kernels/reduction.h"
#include "backends/cuda/kernels/view_copy.h"
#include "core/error.h"
#include "ops/einsum_terms.h"
#include "ops/reduction_rules.h"

#include <array>
#include <deque>

namespace twb::cuda {
namespace {

template <class T> struct StoreSum {
    T* out;
    template <class State> TWB_HOST_DEVICE void operator()(std::int64_t i, State sum) const {
        out[i] = static_cast<T>(sum);
    }
};

/// One einsum over operands of a common dtype: f32, f64 or integers of 32 or 64 bits.
class Einsum {
public:
    Einsum(Queue& queue, const EinsumEquation& equation, const EinsumSizes& sizes)
        : m_queue(queue), m_equation(equation), m_sizes(sizes) {}

    void run(const std::vector<TensorView>& views, const TensorView& out) {
        EinsumTerm term = einsumTerm(views[0], m_equation.operands[0]);
        for (std::size_t n = 1; n < views.size(); ++n)
            term = contract(std::move(term), einsumTerm(views[n], m_equation.operands[n]),
                            neededFrom(m_equation, n + 1));
        sumOut(term, m_equation.result);
        convertView(m_queue, arranged(term, m_equation.result, m_sizes), out);
    }

private:
    /// A dense tensor that owns its memory.
    TensorView make(DType dtype, Shape shape) {
        TensorView view{nullptr, dtype, std::move(shape), {}};
        view.strides = denseStrides(view.shape);
        view.data =
            m_memory.emplace_back(m_queue, static_cast<std::size_t>(view.shape.byteCount(dtype))).data();
        return view;
    }

    /// Sums over the labels that neither another operand nor the result has.
    void sumOut(EinsumTerm& term, const EinsumLabels& needed) {
        std::array<bool, kMaxRank> reduced{};
        EinsumLabels left;
        std::vector<std::int64_t> dims;
        for (std::size_t i = 0; i < term.labels.size(); ++i) {
            reduced[i] = !hasLabel(needed, term.labels[i]);
            if (reduced[i]) continue;
            left.push_back(term.labels[i]);
            dims.push_back(term.view.shape[static_cast<int>(i)]);
        }
        if (left.size() == term.labels.size()) return;
        const TensorView sums = make(term.view.dtype, Shape(std::move(dims)));
        withWrapping(sums.dtype, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (sizeof(T) >= 4)
                reduce<T>(m_queue, splitAxes(term.view, reduced), SumRule<T>{}, StoreSum<T>{sums.as<T>()});
        });
        term = {sums, std::move(left)};
    }

    EinsumTerm contract(EinsumTerm a, EinsumTerm b, const EinsumLabels& needed) {
        sumOut(a, joinedLabels({&needed, &b.labels}));
        sumOut(b, joinedLabels({&needed, &a.labels}));
        const EinsumContraction c(a, b, needed, m_sizes);
        const auto stacked = [&](const EinsumTerm& term, const EinsumLabels& labels, Shape as) {
            const TensorView view = arranged(term, labels, m_sizes);
            TensorView out = make(view.dtype, view.shape);
            copyView(m_queue, view, out);
            out.strides = denseStrides(as);
            out.shape = std::move(as);
            return out;
        };
        const TensorView left = stacked(a, c.left(), {c.n, c.m, c.k});
        const TensorView right = stacked(b, c.right(), {c.n, c.k, c.p});
        TensorView product = make(a.view.dtype, {c.n, c.m, c.p});
        if (product.elementCount() > 0) {
            const MatrixStack x(m_queue, left, true);
            const MatrixStack y(m_queue, right, false);
            if (isInteger(product.dtype))
                multiplyIntegers(m_queue, x, y, product);
            else
                multiplyStacks(m_queue, x, y, product);
        }
        product.shape = einsumShape(c.product(), m_sizes);
        product.strides = denseStrides(product.shape);
        return {product, c.product()};
    }

    Queue& m_queue;
    const EinsumEquation& m_equation;
    const EinsumSizes& m_sizes;
    std::deque<Scratch> m_memory;
};

/// Integers narrower than the matrix product's types are widened; with wraparound the low bits are the same.
DType workingType(DType dtype) {
    if (isHalfWidth(dtype)) return DType::f32;
    return isInteger(dtype) && sizeOf(dtype) < 4 ? DType::i64 : dtype;
}

void einsumKernel(const KernelCall& call) {
    if (call.outputs[0].elementCount() == 0) return;
    std::vector<Shape> shapes;
    for (const TensorView& view : call.inputs) shapes.push_back(view.shape);
    const EinsumEquation equation = parseEinsum(call.attributes.text("equation"), ranksOf(shapes));
    const EinsumSizes sizes = einsumSizes(equation, shapes, [](int, const std::string& sentence) {
        throw Error(ErrorCode::invalidArgument, sentence);
    });
    const DType dtype = workingType(call.outputs[0].dtype);
    std::deque<ConvertedView> converted;
    std::vector<TensorView> views;
    for (const TensorView& view : call.inputs)
        views.push_back(view.dtype == dtype ? view : converted.emplace_back(call.queue, dtype, view).view());
    Einsum(call.queue, equation, sizes).run(views, call.outputs[0]);
}

} // namespace

void addEinsumKernels(KernelMap& table) { add(table, "Einsum", einsumKernel); }

} // namespace twb::cuda
