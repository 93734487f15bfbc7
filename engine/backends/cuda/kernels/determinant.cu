#include "backends/cuda/kernels/convert.h"
#include "backends/cuda/kernels/dtypes.h"
#include "backends/cuda/kernels/families.h"
#include "backends/cuda/kernels/team.h"
#include "ops/elimination.h"

#include <cmath>

namespace twb::cuda {
namespace {

/// Eliminates in scratch memory with one thread per matrix, for stacks of many small matrices.
template <class T> struct Determinant {
    double* matrices;
    std::int64_t n;
    T* out;

    TWB_HOST_DEVICE void operator()(std::int64_t i) const {
        out[i] = stored<T>(static_cast<Wide<T>>(determinant(matrices + i * n * n, n)));
    }
};

/// The pivot of a column, chosen as in determinant() (ops/elimination.h): the first of the largest elements;
/// NaN only if it is the column's first element.
struct Pivot {
    double value = 0;
    std::int64_t row = -1;
};
struct LargerPivot {
    std::int64_t first;
    TWB_HOST_DEVICE bool wins(const Pivot& x, const Pivot& y) const {
        if (y.row < 0 || x.row < 0) return y.row < 0;
        const bool isNaN = x.value != x.value;
        const bool wasNaN = y.value != y.value;
        if (isNaN || wasNaN) return isNaN ? x.row == first : y.row != first;
        const double size = std::fabs(x.value);
        const double most = std::fabs(y.value);
        return size > most || (size == most && x.row < y.row);
    }
    TWB_HOST_DEVICE void merge(Pivot& state, const Pivot& other) const {
        if (wins(other, state)) state = other;
    }
};

/// The same with one block per large matrix, whose threads share the rows.
template <class T> struct DeterminantByTeam {
    double* matrices;
    std::int64_t n;
    T* out;

    template <class Group> TWB_HOST_DEVICE void operator()(const Group& team, std::int64_t i) const {
        double* const a = matrices + i * n * n;
        const std::int64_t width = team.size() < 32 ? team.size() : 32;
        const std::int64_t column = team.index() % width;
        const std::int64_t line = team.index() / width;
        double product = 1;
        for (std::int64_t k = 0; k < n; ++k) {
            const LargerPivot larger{k};
            Pivot pivot;
            for (std::int64_t row = k + team.index(); row < n; row += team.size())
                larger.merge(pivot, {a[row * n + k], row});
            pivot = team.merged(larger, pivot);
            product *= pivot.row != k ? -pivot.value : pivot.value;
            if (pivot.value == 0) {
                product = 0;
                break;
            }
            for (std::int64_t c = k + team.index(); pivot.row != k && c < n; c += team.size()) {
                const double kept = a[k * n + c];
                a[k * n + c] = a[pivot.row * n + c];
                a[pivot.row * n + c] = kept;
            }
            team.wait();
            for (std::int64_t row = k + 1 + line; row < n; row += team.size() / width) {
                const double factor = a[row * n + k] / pivot.value;
                for (std::int64_t c = k + 1 + column; c < n; c += width)
                    a[row * n + c] -= factor * a[k * n + c];
            }
            team.wait();
        }
        if (team.isFirst()) out[i] = stored<T>(static_cast<Wide<T>>(product));
    }
};

void detKernel(const KernelCall& call) {
    const TensorView& in = call.inputs[0];
    const TensorView& out = call.outputs[0];
    const Scratch memory(call.queue, static_cast<std::size_t>(in.shape.byteCount(DType::f64)));
    convertView(call.queue, in, {memory.data(), DType::f64, in.shape, denseStrides(in.shape)});
    withStoredFloat(out.dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t n = in.shape[in.shape.rank() - 1];
        // From this size on, forEachRow() forms teams of whole blocks.
        if (n * n > 1024)
            forEachRow(call.queue, out.elementCount(), n * n,
                       DeterminantByTeam<T>{memory.as<double>(), n, out.as<T>()});
        else
            forEach(call.queue, out.elementCount(), Determinant<T>{memory.as<double>(), n, out.as<T>()});
    });
}

} // namespace

void addDeterminantKernels(KernelMap& table) { add(table, "Det", detKernel); }

} // namespace twb::cuda
