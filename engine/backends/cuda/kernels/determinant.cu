#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"
#include "ops/elimination.h"

namespace twb::cuda {
namespace {

/// Eliminates in memory of its own. A thread for each matrix: stacks are of many small ones.
template <class T> struct Determinant {
    double* matrices;
    std::int64_t n;
    T* out;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = stored<T>(static_cast<Wide<T>>(determinant(matrices + i * n * n, n)));
    }
};

void detKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const Scratch memory(call.queue, static_cast<std::size_t>(in.shape.byteCount(DType::f64)));
    convertView(call.queue, in, {memory.data(), DType::f64, in.shape, denseStrides(in.shape)});
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        forEach(call.queue, out.elementCount(),
                Determinant<T>{memory.as<double>(), in.shape[in.shape.rank() - 1], out.as<T>()});
    });
}

} // namespace

void addDeterminantKernels(KernelMap& table) { add(table, "Det", detKernel); }

} // namespace twb::cuda
