#include "backends/cuda/kernels/gemm.h"
#include "backends/cuda/kernels/known_choices.h"
#include "core/error.h"
#include "ops/dispatch.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

namespace twb::cuda {
namespace {

void check(const Queue& queue, cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(ErrorCode::failed, fmt::format("cuBLAS could not multiply for {}: {}", queue.op(),
                                               cublasGetStatusString(status)));
}

cudaDataType_t dataTypeOf(DType dtype) {
    switch (dtype) {
    case DType::f64:
        return CUDA_R_64F;
    case DType::f16:
        return CUDA_R_16F;
    case DType::bf16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

cublasComputeType_t computeTypeOf(const Queue& queue, DType dtype) {
    if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
    return dtype == DType::f32 && queue.allowsTf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// alpha and beta in the scalar type that the library expects.
struct Factors {
    explicit Factors(const Product& p)
        : isDouble(p.dtype == DType::f64), numbers{p.alpha, p.beta}, floats{static_cast<float>(p.alpha),
                                                                            static_cast<float>(p.beta)} {}
    const void* alpha() const { return isDouble ? static_cast<const void*>(&numbers[0]) : &floats[0]; }
    const void* beta() const { return isDouble ? static_cast<const void*>(&numbers[1]) : &floats[1]; }

    bool isDouble;
    std::array<double, 2> numbers;
    std::array<float, 2> floats;
};

cublasOperation_t operationOf(const Matrices& matrices) {
    return matrices.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// cublasLt

template <class T, cublasStatus_t (*Destroy)(T)> struct Destroyer {
    using pointer = T;
    void operator()(T object) const noexcept { Destroy(object); }
};
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                               Destroyer<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>>;
using Description =
    std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroyer<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                                   Destroyer<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>>;

Layout layoutOf(const Queue& queue, DType dtype, std::int64_t rows, std::int64_t columns,
                std::int64_t stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    check(queue, cublasLtMatrixLayoutCreate(&layout, dataTypeOf(dtype), static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), stride));
    return Layout(layout);
}

template <class Value>
void set(const Queue& queue, cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
    check(queue, cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof(value)));
}

/// The parameters that determine an algorithm, starting with the GPU.
using Key = std::tuple<int, DType, DType, std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool,
                       std::int64_t, bool, cublasLtEpilogue_t, std::uint32_t, bool, std::size_t>;

Key keyOf(Queue& queue, const Product& p, cublasLtEpilogue_t epilogue, std::uint32_t alignment) {
    int gpu = 0;
    if (cudaGetDevice(&gpu) != cudaSuccess) gpu = -1;
    return {gpu,
            p.dtype,
            p.result,
            p.m,
            p.n,
            p.k,
            p.a.stride,
            p.a.transposed,
            p.b.stride,
            p.b.transposed,
            epilogue,
            alignment,
            queue.allowsTf32(),
            queue.blasWorkspace().bytes};
}

using Algorithm = std::optional<cublasLtMatmulAlgo_t>;

/// An entry without a value means that the library has no algorithm.
KnownChoices<Key, Algorithm>& choices() {
    static KnownChoices<Key, Algorithm> all;
    return all;
}

cublasLtEpilogue_t epilogueOf(const ProductEnd& end) {
    switch (end.activation) {
    case Activation::relu:
        return end.row ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::geluTanh:
        return end.row ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::none:
        break;
    }
    return end.row ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/// The largest common alignment of these addresses, at most 256 bytes.
std::uint32_t alignmentOf(std::initializer_list<const void*> addresses) {
    std::uintptr_t all = 256;
    for (const void* address : addresses) all |= reinterpret_cast<std::uintptr_t>(address);
    return std::uint32_t{1} << std::countr_zero(all);
}

/// The library's first choice; nothing if it has none.
Algorithm choose(Queue& queue, const Product& p, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t b,
                 cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t c, std::uint32_t alignment) {
    cublasLtMatmulPreference_t made = nullptr;
    check(queue, cublasLtMatmulPreferenceCreate(&made));
    const Preference preference(made);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        check(queue, cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value)));
    };
    const std::uint64_t most = queue.blasWorkspace().bytes;
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most);
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
        prefer(operand, alignment);
    // If k is split, partial sums are added in f32, not in C's type.
    const std::uint32_t reductions =
        isHalfWidth(p.result) ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : CUBLASLT_REDUCTION_SCHEME_MASK;
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    cublasLtMatmulHeuristicResult_t best{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        static_cast<cublasLtHandle_t>(queue.blasLtHandle()), product, b, a, c, c, made, 1, &best, &count);
    return status == CUBLAS_STATUS_SUCCESS && count > 0 ? Algorithm(best.algo) : std::nullopt;
}

/// Launches a product with its epilogue; false if the library has no algorithm for it.
bool launchWithEnd(Queue& queue, const Product& p, const ProductEnd& end) {
    auto* const handle = static_cast<cublasLtHandle_t>(queue.blasLtHandle());
    const Factors factors(p);
    cublasLtMatmulDesc_t created = nullptr;
    const cudaDataType_t scale = p.dtype == DType::f64 ? CUDA_R_64F : CUDA_R_32F;
    check(queue, cublasLtMatmulDescCreate(&created, computeTypeOf(queue, p.dtype), scale));
    const Description description(created);
    set(queue, created, CUBLASLT_MATMUL_DESC_TRANSA, operationOf(p.b));
    set(queue, created, CUBLASLT_MATMUL_DESC_TRANSB, operationOf(p.a));
    const cublasLtEpilogue_t epilogue = epilogueOf(end);
    set(queue, created, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    // Down the columns of Cᵀ, which are the rows of C.
    if (end.row) set(queue, created, CUBLASLT_MATMUL_DESC_BIAS_POINTER, end.row);
    const Layout b = p.b.transposed ? layoutOf(queue, p.dtype, p.k, p.n, p.b.stride)
                                    : layoutOf(queue, p.dtype, p.n, p.k, p.b.stride);
    const Layout a = p.a.transposed ? layoutOf(queue, p.dtype, p.m, p.k, p.a.stride)
                                    : layoutOf(queue, p.dtype, p.k, p.m, p.a.stride);
    const Layout c = layoutOf(queue, p.result, p.n, p.m, p.cStride);
    const std::uint32_t alignment = alignmentOf({p.a.data, p.b.data, p.c, end.row});
    const Key key = keyOf(queue, p, epilogue, alignment);
    std::optional<Algorithm> algorithm = choices().find(key);
    if (!algorithm) {
        algorithm = choose(queue, p, created, b.get(), a.get(), c.get(), alignment);
        choices().keep(key, *algorithm);
    }
    if (!*algorithm) return false;
    const Workspace workspace = queue.blasWorkspace();
    const cublasStatus_t done =
        cublasLtMatmul(handle, created, factors.alpha(), p.b.data, b.get(), p.a.data, a.get(), factors.beta(),
                       p.c, c.get(), p.c, c.get(), &**algorithm, workspace.data, workspace.bytes,
                       static_cast<cudaStream_t>(queue.stream()));
    if (done == CUBLAS_STATUS_SUCCESS) return true;
    choices().keep(key, std::nullopt); // if the plain product fails, too, it reports the error
    return false;
}

// The library's documentation does not say how its activations treat NaN, or which form of Gelu it has.

/// Numbers that every dtype represents exactly.
constexpr std::array<float, 8> kAsked{
    std::numeric_limits<float>::quiet_NaN(), -4, -2.75F, -1.5F, -0.25F, 0, 0.5F, 2};

bool isAsWanted(float got, float x, Activation activation, DType dtype) {
    const float wanted = activation == Activation::relu ? element::Relu{}(x) : element::GeluTanh{}(x);
    if (std::isnan(wanted)) return std::isnan(got);
    // At -2.75 the two forms of Gelu differ by 5e-4, which f16 and bf16 do not resolve.
    const float precision = dtype == DType::f32 ? 1e-4F : dtype == DType::f16 ? 2e-3F : 2e-2F;
    return std::fabs(got - wanted) <= precision * std::max(1.0F, std::fabs(wanted));
}

template <class T> bool givesOnnxNumbersIn(Queue& queue, DType dtype, Activation activation) {
    constexpr std::int64_t n = kAsked.size();
    std::array<T, n * n> values{}; // kAsked is the first column, which is multiplied by 1
    std::array<T, n * n> ones{};
    for (std::size_t i = 0; i < n; ++i) {
        values[i * n] = T(kAsked[i]);
        ones[i] = T(1.0F);
    }
    const Scratch a(queue, sizeof(values));
    const Scratch b(queue, sizeof(ones));
    const Scratch c(queue, sizeof(values));
    queue.upload(a.data(), values.data(), sizeof(values));
    queue.upload(b.data(), ones.data(), sizeof(ones));
    Product product;
    product.dtype = product.result = dtype;
    product.m = product.n = product.k = product.cStride = n;
    product.a = {a.data(), n, false, 0};
    product.b = {b.data(), n, false, 0};
    product.c = c.data();
    if (!launchWithEnd(queue, product, {nullptr, activation})) return false;
    auto* const stream = static_cast<cudaStream_t>(queue.stream());
    if (cudaMemcpyAsync(values.data(), c.data(), sizeof(values), cudaMemcpyDeviceToHost, stream) !=
            cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        return false;
    for (std::size_t i = 0; i < n * n; ++i)
        if (!isAsWanted(static_cast<float>(values[i]), kAsked[i / n], activation, dtype)) return false;
    return true;
}

/// Whether the library's activation agrees with ONNX, determined by a product that passes kAsked through.
/// Waits for the GPU once per dtype.
bool givesOnnxNumbers(Queue& queue, DType dtype, Activation activation) {
    static std::mutex mutex;
    static std::map<std::tuple<int, DType, Activation, bool>, bool> known;
    int gpu = 0;
    if (cudaGetDevice(&gpu) != cudaSuccess) return false;
    const std::scoped_lock lock(mutex);
    const std::tuple key{gpu, dtype, activation, queue.allowsTf32()};
    if (const auto at = known.find(key); at != known.end()) return at->second;
    bool gives = false;
    withStoredFloat(dtype,
                    [&](auto zero) { gives = givesOnnxNumbersIn<decltype(zero)>(queue, dtype, activation); });
    return known[key] = gives;
}

} // namespace

void multiply(Queue& queue, const Product& p) {
    if (p.m == 0 || p.n == 0 || p.batches == 0) return;
    const Factors factors(p);
    // Row-major C is column-major Cᵀ = Bᵀ × Aᵀ, and row-major factors are their transposes read by columns.
    const auto stride = [](const Matrices& matrices) { return matrices.stride > 0 ? matrices.stride : 1; };
    auto* const blas = static_cast<cublasHandle_t>(queue.blasHandle());
    const cudaDataType_t type = dataTypeOf(p.dtype);
    const cudaDataType_t result = dataTypeOf(p.result);
    const cublasComputeType_t compute = computeTypeOf(queue, p.dtype);
    if (p.batches == 1) // the library has more kernels for single products than for batches
        return check(queue,
                     cublasGemmEx_64(blas, operationOf(p.b), operationOf(p.a), p.n, p.m, p.k, factors.alpha(),
                                     p.b.data, type, stride(p.b), p.a.data, type, stride(p.a), factors.beta(),
                                     p.c, result, p.cStride, compute, CUBLAS_GEMM_DEFAULT));
    check(queue, cublasGemmStridedBatchedEx_64(blas, operationOf(p.b), operationOf(p.a), p.n, p.m, p.k,
                                               factors.alpha(), p.b.data, type, stride(p.b), p.b.batchStride,
                                               p.a.data, type, stride(p.a), p.a.batchStride, factors.beta(),
                                               p.c, result, p.cStride, p.cBatchStride, p.batches, compute,
                                               CUBLAS_GEMM_DEFAULT));
}

Ended multiplyAndEnd(Queue& queue, const Product& p, const ProductEnd& end) {
    if (p.batches != 1 || p.beta != 0 || p.k == 0) return Ended::none;
    if (end.activation == Activation::none || givesOnnxNumbers(queue, p.dtype, end.activation))
        return launchWithEnd(queue, p, end) ? Ended::all : Ended::none;
    return end.row && launchWithEnd(queue, p, {end.row, Activation::none}) ? Ended::row : Ended::none;
}

} // namespace twb::cuda
