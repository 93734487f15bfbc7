#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/softmax.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace twb::cuda {
namespace {

/// Sums of losses and of their weights.
struct LossSums {
    double loss = 0, weight = 0;
    TWB_HOST_DEVICE LossSums& operator+=(const LossSums& other) {
        loss += other.loss;
        weight += other.weight;
        return *this;
    }
};

/// The losses of log-probabilities (N, C, D): each one in `items`, or their sums, with one team per part.
template <class W, class T> struct SumLosses {
    const W* logarithms; ///< dense
    const T* weight;     ///< null: all 1
    std::int64_t weightStep;
    const std::int64_t* targets;
    T* items; ///< null: sums only
    LossSums* sums;
    std::int64_t classes, inner, count, part, ignored;
    bool ignores;
    Fault* fault;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t row) const {
        LossSums own;
        const std::int64_t end = (row + 1) * part < count ? (row + 1) * part : count;
        for (std::int64_t i = row * part + team.index(); i < end; i += team.size()) {
            const std::int64_t target = targets[i];
            double item = 0;
            if (!ignores || target != ignored) {
                if (target < 0 || target >= classes) {
                    raise(fault, Fault::badClass, target, 1, classes);
                    continue;
                }
                const double factor = weight ? static_cast<double>(widened(weight[target * weightStep])) : 1;
                const W logarithm = logarithms[(i / inner * classes + target) * inner + i % inner];
                item = -factor * static_cast<double>(logarithm);
                own.weight += factor;
            }
            if (items) items[i] = stored<T>(static_cast<Wide<T>>(item));
            own.loss += item;
        }
        own = team.merged(AddStates{}, own);
        if (team.isFirst()) sums[row] = own;
    }
};

/// The sums of all parts.
template <class Group>
TWB_HOST_DEVICE LossSums totalOf(const Group& team, const LossSums* sums, std::int64_t parts) {
    LossSums own;
    for (std::int64_t i = team.index(); i < parts; i += team.size()) own += sums[i];
    return team.merged(AddStates{}, own);
}

/// The sum of all weights.
struct FinishWeights {
    const LossSums* sums;
    std::int64_t parts;
    double* out;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t) const {
        const LossSums total = totalOf(team, sums, parts);
        if (team.isFirst()) *out = total.weight;
    }
};

template <class T> struct FinishLoss {
    const LossSums* sums;
    std::int64_t parts;
    bool isMean;
    T* out;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t) const {
        const LossSums total = totalOf(team, sums, parts);
        if (team.isFirst())
            *out = stored<T>(static_cast<Wide<T>>(isMean ? total.loss / total.weight : total.loss));
    }
};

/// dX = (exp(log_prob) − one-hot(target)) · share, and 0 for a target to ignore. See the kernel of the cpu.
template <class W, class T> struct SpreadShares {
    const W* logarithms; ///< dense
    const T* weight;     ///< null: all 1
    std::int64_t weightStep;
    const std::int64_t* targets;
    const T* gradient;   ///< of the loss; dense
    bool isEach;         ///< one gradient per target
    const double* total; ///< of the weights; null: the losses are not averaged
    T* out;
    Divide inner, image; ///< targets per image; elements per image
    std::int64_t classes, ignored;
    bool ignores;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t n = image(i);
        const std::int64_t rest = i - n * image.divisor();
        const std::int64_t c = inner(rest);
        const std::int64_t at = n * inner.divisor() + rest - c * inner.divisor();
        const std::int64_t target = targets[at];
        const bool isLeftOut = (ignores && target == ignored) || target < 0 || target >= classes;
        if (isLeftOut) {
            out[i] = stored<T>(W(0));
            return;
        }
        double share = static_cast<double>(widened(gradient[isEach ? at : 0]));
        if (weight) share *= static_cast<double>(widened(weight[target * weightStep]));
        if (total) share /= *total;
        const W probability = std::exp(logarithms[i]) - (c == target ? W(1) : W(0));
        out[i] = stored<T>(probability * static_cast<W>(share));
    }
};

/// The inputs of a loss or of its gradient, from the log-probabilities on.
class LossInputs {
public:
    /// The targets are the input at `port`, the weights the next one.
    LossInputs(const KernelCall& call, std::size_t port, const Shape& scores)
        : targets(call.queue, DType::i64, call.inputs[port]), weight(call.input(port + 1)),
          count(targets.view().elementCount()), classes(scores[1]), inner(count == 0 ? 1 : count / scores[0]),
          parts(std::max<std::int64_t>((count + kPart - 1) / kPart, 1)),
          ignores(call.attributes.has("ignore_index")),
          ignored(ignores ? call.attributes.integer("ignore_index") : 0),
          reduction(call.attributes.text("reduction")),
          sums(call.queue, static_cast<std::size_t>(parts) * sizeof(LossSums)) {}
    bool isEach() const { return reduction == "none"; }
    bool isMean() const { return reduction == "mean"; }
    std::int64_t weightStep() const { return weight.data ? weight.strides[0] : 0; }
    /// Adds up the losses of dense log-probabilities, and the weights of their targets, into `sums`.
    template <class T> void addUp(Queue& queue, const Wide<T>* logarithms, T* items) const {
        forEachRow(queue, parts, kPart,
                   SumLosses<Wide<T>, T>{logarithms, weight.as<const T>(), weightStep(),
                                         targets.as<std::int64_t>(), items, sums.as<LossSums>(), classes,
                                         inner, count, kPart, ignored, ignores, queue.fault()});
    }

    static constexpr std::int64_t kPart = 16384;
    ConvertedView targets;
    TensorView weight;
    std::int64_t count, classes, inner, parts;
    bool ignores;
    std::int64_t ignored;
    const std::string& reduction;
    Scratch sums;
};

/// `logarithms` is dense and has the type of the arithmetic for the output's dtype.
void loss(const KernelCall& call, const void* logarithms) {
    const LossInputs in(call, 1, call.inputs[0].shape);
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        T* const out = call.outputs[0].as<T>();
        in.addUp<T>(call.queue, static_cast<const Wide<T>*>(logarithms), in.isEach() ? out : nullptr);
        if (!in.isEach())
            forEachRow(call.queue, 1, in.parts,
                       FinishLoss<T>{in.sums.as<LossSums>(), in.parts, in.isMean(), out});
    });
}

DType arithmeticOf(DType dtype) { return isHalfWidth(dtype) ? DType::f32 : dtype; }

void negativeLogLikelihoodKernel(const KernelCall& call) {
    const ConvertedView logarithms(call.queue, arithmeticOf(call.inputs[0].dtype), call.inputs[0]);
    loss(call, logarithms.view().data);
}

void softmaxCrossEntropyKernel(const KernelCall& call) {
    const TensorView& given = call.inputs[0];
    const DType dtype = arithmeticOf(given.dtype);
    const ConvertedView scores(call.queue, dtype, given);
    const Scratch memory(call.queue, static_cast<std::size_t>(given.shape.byteCount(dtype)));
    const TensorView logarithms{memory.data(), dtype, given.shape, denseStrides(given.shape)};
    logSoftmax(call.queue, scores.view(), logarithms, 1);
    if (call.isAsked(1)) convertView(call.queue, logarithms, call.outputs[1]);
    loss(call, memory.data());
}

void softmaxCrossEntropyGradKernel(const KernelCall& call) {
    const TensorView& out = call.outputs[0];
    if (out.elementCount() == 0) return;
    const LossInputs in(call, 2, out.shape);
    const ConvertedView gradient(call.queue, out.dtype, call.inputs[0]);
    const ConvertedView logarithms(call.queue, arithmeticOf(out.dtype), call.inputs[1]);
    const Scratch total(call.queue, sizeof(double));
    const std::int64_t elements = out.elementCount();
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        using W = Wide<T>;
        in.addUp<T>(call.queue, logarithms.as<W>(), nullptr);
        forEachRow(call.queue, 1, in.parts,
                   FinishWeights{in.sums.as<LossSums>(), in.parts, total.as<double>()});
        forEach(call.queue, elements,
                SpreadShares<W, T>{logarithms.as<W>(), in.weight.as<const T>(), in.weightStep(),
                                   in.targets.as<std::int64_t>(), gradient.as<T>(), in.isEach(),
                                   in.isMean() ? total.as<double>() : nullptr, out.as<T>(),
                                   Divide(in.inner, elements), Divide(in.inner * in.classes, elements),
                                   in.classes, in.ignored, in.ignores});
    });
}

} // namespace

void addLossKernels(KernelMap& table) {
    add(table, "NegativeLogLikelihoodLoss", negativeLogLikelihoodKernel);
    add(table, "SoftmaxCrossEntropyLoss", softmaxCrossEntropyKernel);
    add(table, "SoftmaxCrossEntropyGrad", softmaxCrossEntropyGradKernel);
}

} // namespace twb::cuda
