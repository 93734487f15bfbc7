#include "ops/softmax.h"

#include "backends/cpu/parallel.h"
#include "backends/cpu/strided.h"
#include "backends/cpu/vector_math.h"
#include "ops/dispatch.h"
#include "ops/examples.h"
#include "ops/families.h"
#include "ops/gradient.h"
#include "ops/schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace twb {
namespace {

/// The number of adjacent columns per pass: as many as fit in a few cache lines.
constexpr std::int64_t kColumnBlock = 64;

void inferAlongAxis(InferContext& ctx) {
    const TensorType& self = *ctx.input(0);
    axisOrFail(ctx, ctx.attributes().integer("axis"), self.shape.rank(), -1);
    ctx.output(0, self);
}

/// Sequences of `length` elements `stride` apart, with `columns` of them side by side. `in` and `out` may be
/// the same memory.
template <class T> struct Columns {
    const T* in;
    T* out;
    std::int64_t length, stride, columns;
};

/// The largest element of each column, ignoring NaN, since a NaN makes the column's exponentials NaN anyway.
template <class T> std::array<T, kColumnBlock> largestOf(const Columns<T>& c) {
    std::array<T, kColumnBlock> largest;
    std::fill_n(largest.begin(), c.columns, -std::numeric_limits<T>::infinity());
    for (std::int64_t i = 0; i < c.length; ++i)
        for (std::int64_t k = 0; k < c.columns; ++k) {
            T& most = largest[static_cast<std::size_t>(k)];
            most = std::max(most, c.in[i * c.stride + k]);
        }
    return largest;
}

/// Whether there is a single column, whose elements are adjacent.
bool isRow(const Columns<float>& c) { return c.columns == 1 && c.stride == 1; }

void softmaxRow(const Columns<float>& row) {
    const double sum = vectorExpSum(row.in, vectorMax(row.in, row.length), row.out, row.length);
    vectorScale(row.out, static_cast<float>(1 / sum), row.out, row.length);
}

void logSoftmaxRow(const Columns<float>& row) {
    const float largest = vectorMax(row.in, row.length);
    // Both numbers that are subtracted move the result in the same direction, so no precision is lost.
    const double logarithm = std::log(vectorExpSum(row.in, largest, nullptr, row.length));
    vectorSubtract(row.in, largest, static_cast<float>(logarithm), row.out, row.length);
}

/// Subtracts the largest element first, so that no exponential overflows.
struct Softmax {
    template <class T> void operator()(const Columns<T>& c) const {
        if constexpr (std::is_same_v<T, float>)
            if (isRow(c)) return softmaxRow(c);
        const auto largest = largestOf(c);
        std::array<double, kColumnBlock> sum;
        std::fill_n(sum.begin(), c.columns, 0.0);
        for (std::int64_t i = 0; i < c.length; ++i) {
            T* const terms = c.out + i * c.stride;
            for (std::int64_t k = 0; k < c.columns; ++k)
                terms[k] = c.in[i * c.stride + k] - largest[static_cast<std::size_t>(k)];
            exponentials(terms, terms, c.columns);
            for (std::int64_t k = 0; k < c.columns; ++k) sum[static_cast<std::size_t>(k)] += terms[k];
        }
        for (std::int64_t i = 0; i < c.length; ++i)
            for (std::int64_t k = 0; k < c.columns; ++k) {
                T& y = c.out[i * c.stride + k];
                y = static_cast<T>(y / sum[static_cast<std::size_t>(k)]);
            }
    }
};

struct LogSoftmax {
    template <class T> void operator()(const Columns<T>& c) const {
        if constexpr (std::is_same_v<T, float>)
            if (isRow(c)) return logSoftmaxRow(c);
        const auto largest = largestOf(c);
        std::array<double, kColumnBlock> sum;
        std::fill_n(sum.begin(), c.columns, 0.0);
        std::array<T, kColumnBlock> terms;
        for (std::int64_t i = 0; i < c.length; ++i) {
            for (std::int64_t k = 0; k < c.columns; ++k) {
                const auto at = static_cast<std::size_t>(k);
                terms[at] = c.in[i * c.stride + k] - largest[at];
            }
            exponentials(terms.data(), terms.data(), c.columns);
            for (std::int64_t k = 0; k < c.columns; ++k)
                sum[static_cast<std::size_t>(k)] += terms[static_cast<std::size_t>(k)];
        }
        for (std::int64_t k = 0; k < c.columns; ++k) {
            double& logarithm = sum[static_cast<std::size_t>(k)];
            logarithm = std::log(logarithm);
        }
        for (std::int64_t i = 0; i < c.length; ++i)
            for (std::int64_t k = 0; k < c.columns; ++k) {
                const auto at = static_cast<std::size_t>(k);
                c.out[i * c.stride + k] =
                    static_cast<T>(static_cast<double>(c.in[i * c.stride + k] - largest[at]) - sum[at]);
            }
    }
};

/// The first of the largest elements; NaN is the largest, as in ArgMax.
struct Hardmax {
    template <class T> void operator()(const Columns<T>& c) const {
        for (std::int64_t k = 0; k < c.columns; ++k) {
            std::int64_t place = 0;
            T most = c.in[k];
            for (std::int64_t i = 1; i < c.length; ++i) {
                const T x = c.in[i * c.stride + k];
                if (x > most || (x != x && most == most)) {
                    most = x;
                    place = i;
                }
            }
            for (std::int64_t i = 0; i < c.length; ++i) c.out[i * c.stride + k] = i == place ? T{1} : T{0};
        }
    }
};

template <class F> void alongAxis(TensorView in, const TensorView& out, std::int64_t givenAxis) {
    if (out.elementCount() == 0) return;
    if (!isDense(in)) {
        copyElements(in, out);
        in = out;
    }
    const int rank = std::max(out.shape.rank(), 1);
    const int axis = *normalizeAxis(givenAxis, rank);
    const std::int64_t length = out.shape.rank() == 0 ? 1 : out.shape[axis];
    std::int64_t inner = 1;
    for (int i = axis + 1; i < out.shape.rank(); ++i) inner *= out.shape[i];
    const std::int64_t outer = out.elementCount() / (length * inner);
    const std::int64_t blocks = (inner + kColumnBlock - 1) / kColumnBlock;
    withFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        // The cost of an exponential is about ten plain operations.
        parallelRanges(outer * blocks, 10 * out.elementCount(), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t column = i % blocks * kColumnBlock;
                const std::int64_t first = i / blocks * length * inner + column;
                F{}(Columns<T>{in.as<const T>() + first, out.as<T>() + first, length, inner,
                               std::min(kColumnBlock, inner - column)});
            }
        });
    });
}

template <class F> void alongAxisKernel(const KernelContext& ctx) {
    alongAxis<F>(ctx.inputs[0], ctx.outputs[0], ctx.attributes.integer("axis"));
}

std::vector<std::int64_t> axisOf(const GradientContext& g, const Shape& shape) {
    const std::int64_t axis = g.attributes().integer("axis");
    return {axis < 0 ? axis + shape.rank() : axis};
}

void softmaxGradient(GradientContext& g) {
    const GraphTensor y = g.output();
    const GraphTensor share = g.gradient() * y;
    g.give(0, share - y * sumOver(share, axisOf(g, y.shape())));
}

void logSoftmaxGradient(GradientContext& g) {
    const GraphTensor sum = sumOver(g.gradient(), axisOf(g, g.output().shape()));
    g.give(0, g.gradient() - apply("Exp", {g.output()}) * sum);
}

Op makeAlongAxis(std::string name, std::string doc, std::string formula, std::string axisDoc, double flops,
                 HostKernel kernel) {
    Op op = makeUnary(std::move(name), "Activation", 13, std::move(doc), std::move(formula), kFloats, flops,
                      kernel);
    op.channelsLast = ChannelsLast::no;
    op.inputs[0].name = "input";
    op.outputs[0].name = "output";
    op.attributes = {integerAttribute("axis", -1, std::move(axisDoc))};
    op.infer = inferAlongAxis;
    return op;
}

} // namespace

void exponentials(const float* in, float* out, std::int64_t count) {
    VectorMap{VectorFunction::exp}(in, out, count);
}
void exponentials(const double* in, double* out, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = std::exp(in[i]);
}

void logSoftmax(const TensorView& in, const TensorView& out, int axis) {
    alongAxis<LogSoftmax>(in, out, axis);
}

void addSoftmax(std::vector<Op>& table) {
    Op softmax =
        makeAlongAxis("Softmax", "Normalised exponentials, with sum 1 along an axis", "Y = exp(X) / Σ exp(X)",
                      "Axis along which the sum is 1", 15, viaFloat<alongAxisKernel<Softmax>>);
    softmax.torch = "torch.softmax({0}, {axis})";
    softmax.tolerance = {2e-6, 1e-7};
    softmax.gradient = softmaxGradient;
    table.push_back(std::move(softmax));
    Op logSoftmax = makeAlongAxis("LogSoftmax", "Logarithm of Softmax, computed without loss of precision",
                                  "Y = X − ln Σ exp(X)", "Axis of the Softmax", 15,
                                  viaFloat<alongAxisKernel<LogSoftmax>>);
    logSoftmax.torch = "torch.log_softmax({0}, {axis})";
    logSoftmax.tolerance = {2e-6, 2e-6};
    logSoftmax.gradient = logSoftmaxGradient;
    table.push_back(std::move(logSoftmax));
    table.push_back(makeAlongAxis("Hardmax", "1 at the first of the largest elements along an axis, else 0",
                                  "Y = (i = argmax X) ? 1 : 0", "Axis along which one element becomes 1", 2,
                                  viaFloat<alongAxisKernel<Hardmax>>));
    table.back().gradient = passNoGradient;

    describe(table, "Softmax", "output has the shape of input");
    describe(table, "LogSoftmax", "output has the shape of input");
    describe(table, "Hardmax", "output has the shape of input");
}

} // namespace twb
