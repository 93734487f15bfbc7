#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/softmax.h"
#include "backends/cuda/kernels/team.h"
#include "backends/cuda/kernels/view_copy.h"
#include "backends/cuda/kernels/walk.h"

#include <algorithm>

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

template <class T> struct FinishLoss {
    const LossSums* sums;
    std::int64_t parts;
    bool isMean;
    T* out;
    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t) const {
        LossSums own;
        for (std::int64_t i = team.index(); i < parts; i += team.size()) own += sums[i];
        own = team.merged(AddStates{}, own);
        if (team.isFirst()) *out = stored<T>(static_cast<Wide<T>>(isMean ? own.loss / own.weight : own.loss));
    }
};

/// `logarithms` is dense and has the type of the arithmetic for the output's dtype.
void loss(const KernelCall& call, const void* logarithms) {
    const Shape& shape = call.inputs[0].shape;
    const ConvertedView targets(call.queue, DType::i64, call.inputs[1]);
    const TensorView weight = call.input(2);
    const std::int64_t count = targets.view().elementCount();
    const std::string& reduction = call.attributes.text("reduction");
    const bool isEach = reduction == "none";
    const bool ignores = call.attributes.has("ignore_index");
    const std::int64_t ignored = ignores ? call.attributes.integer("ignore_index") : 0;
    constexpr std::int64_t part = 16384;
    const std::int64_t parts = std::max<std::int64_t>((count + part - 1) / part, 1);
    const Scratch sums(call.queue, static_cast<std::size_t>(parts) * sizeof(LossSums));
    withStoredFloat(call.outputs[0].dtype, [&](auto zero) {
        using T = decltype(zero);
        using W = Wide<T>;
        T* const out = call.outputs[0].as<T>();
        const SumLosses<W, T> work{static_cast<const W*>(logarithms),
                                   weight.as<const T>(),
                                   weight.data ? weight.strides[0] : 0,
                                   targets.as<std::int64_t>(),
                                   isEach ? out : nullptr,
                                   sums.as<LossSums>(),
                                   shape[1],
                                   count == 0 ? 1 : count / shape[0],
                                   count,
                                   part,
                                   ignored,
                                   ignores,
                                   call.queue.fault()};
        forEachRow(call.queue, parts, part, work);
        if (!isEach)
            forEachRow(call.queue, 1, parts,
                       FinishLoss<T>{sums.as<LossSums>(), parts, reduction == "mean", out});
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

} // namespace

void addLossKernels(KernelMap& table) {
    add(table, "NegativeLogLikelihoodLoss", negativeLogLikelihoodKernel);
    add(table, "SoftmaxCrossEntropyLoss", softmaxCrossEntropyKernel);
}

} // namespace twb::cuda
