#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/fill.h"
#include "backends/cuda/kernels/launch.h"
#include "backends/cuda/kernels/walk.h"
#include "ops/linear_attention.h"

#include <cmath>

namespace twb::cuda {
namespace {

/// Runs all steps for one column of the state of one head: the columns are independent.
template <class T, class W> struct RunColumn {
    const W *query, *key, *value, *decay, *beta;
    W* state;
    T* y; ///< null: not requested
    LinearAttentionSizes sizes;
    LinearAttentionRule rule;
    std::int64_t decays, betas; ///< decays per head and step, betas per step
    W scale;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        const std::int64_t columns = sizes.valueSize;
        const std::int64_t rows = sizes.keySize;
        const std::int64_t head = i / columns;
        const std::int64_t column = i - head * columns;
        const std::int64_t b = head / sizes.keyHeads;
        const std::int64_t h = head - b * sizes.keyHeads;
        const std::int64_t group = sizes.queryHeads / sizes.keyHeads;
        W* const own = state + head * rows * columns + column;
        for (std::int64_t t = 0; t < sizes.steps; ++t) {
            const std::int64_t step = b * sizes.steps + t;
            const std::int64_t place = step * sizes.keyHeads + h;
            const W* const k = key + place * rows;
            W held = 0;
            TWB_ROLLED
            for (std::int64_t d = 0; d < rows; ++d) {
                W& element = own[d * columns];
                if (rule.decays) element *= std::exp(decay[place * decays + (decays == 1 ? 0 : d)]);
                held += element * k[d];
            }
            W change = value[place * columns + column];
            if (rule.corrects) change = (change - held) * beta[step * betas + (betas == 1 ? 0 : h)];
            TWB_ROLLED
            for (std::int64_t d = 0; d < rows; ++d) own[d * columns] += k[d] * change;
            for (std::int64_t g = 0; y && g < group; ++g) {
                const std::int64_t reader = step * sizes.queryHeads + h * group + g;
                W sum = 0;
                TWB_ROLLED
                for (std::int64_t d = 0; d < rows; ++d) sum += query[reader * rows + d] * own[d * columns];
                y[reader * columns + column] = stored<T>(scale * sum);
            }
        }
    }
};

void linearAttentionKernel(const KernelCall& call) {
    Queue& queue = call.queue;
    const LinearAttentionSizes sizes =
        linearAttentionSizes(call.attributes, call.inputs[0].shape, call.inputs[2].shape);
    const DType dtype = call.inputs[0].dtype;
    const DType work = isHalfWidth(dtype) ? DType::f32 : dtype;
    const ConvertedView query(queue, work, call.inputs[0]);
    const ConvertedView key(queue, work, call.inputs[1]);
    const ConvertedView value(queue, work, call.inputs[2]);
    const ConvertedView decay(queue, work, call.input(4));
    const ConvertedView beta(queue, work, call.input(5));
    const Shape shape{sizes.batch, sizes.keyHeads, sizes.keySize, sizes.valueSize};
    const Scratch room(queue, static_cast<std::size_t>(shape.byteCount(work)));
    const TensorView state{room.data(), work, shape, denseStrides(shape)};
    withFloat(work, [&](auto zero) {
        using W = decltype(zero);
        if (const TensorView past = call.input(3); past.data)
            convertView(queue, past, state);
        else
            fillView(queue, state, &zero);
        withStoredFloat(dtype, [&](auto stored) {
            using T = decltype(stored);
            forEach(queue, sizes.batch * sizes.keyHeads * sizes.valueSize,
                    RunColumn<T, W>{query.as<W>(), key.as<W>(), value.as<W>(), decay.as<W>(), beta.as<W>(),
                                    state.as<W>(), call.isAsked(0) ? call.outputs[0].as<T>() : nullptr, sizes,
                                    linearAttentionRule(call.attributes),
                                    decay ? decay.view().shape[2] / sizes.keyHeads : 0,
                                    beta ? beta.view().shape[2] : 0,
                                    static_cast<W>(linearAttentionScale(call.attributes, sizes.keySize))});
        });
    });
    if (call.isAsked(1)) convertView(queue, state, call.outputs[1]);
}

} // namespace

void addLinearAttentionKernels(KernelMap& table) { add(table, "LinearAttention", linearAttentionKernel); }

} // namespace twb::cuda
