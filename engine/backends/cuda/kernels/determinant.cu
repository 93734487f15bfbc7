#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/launch.h"

#include <cmath>

namespace twb::cuda {
namespace {

/// Gaussian elimination with the largest pivot of each column, in memory of its own. A thread for each
/// matrix: stacks are of many small ones.
template <class T> struct Determinant {
    double* matrices;
    std::int64_t n;
    T* out;

    TWB_HOST_DEVICE double of(double* a) const {
        double product = 1;
        for (std::int64_t k = 0; k < n; ++k) {
            std::int64_t pivot = k;
            for (std::int64_t row = k + 1; row < n; ++row)
                if (std::fabs(a[row * n + k]) > std::fabs(a[pivot * n + k])) pivot = row;
            if (a[pivot * n + k] == 0) return 0;
            for (std::int64_t c = k; pivot != k && c < n; ++c) {
                const double kept = a[k * n + c];
                a[k * n + c] = a[pivot * n + c];
                a[pivot * n + c] = kept;
            }
            product *= pivot != k ? -a[k * n + k] : a[k * n + k];
            for (std::int64_t row = k + 1; row < n; ++row) {
                const double factor = a[row * n + k] / a[k * n + k];
                for (std::int64_t c = k + 1; c < n; ++c) a[row * n + c] -= factor * a[k * n + c];
            }
        }
        return product;
    }
    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = stored<T>(static_cast<Wide<T>>(of(matrices + i * n * n)));
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
