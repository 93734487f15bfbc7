#pragma once

#include "backends/cpu/convolution.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace twb {

// Products and convolutions with constant weights in bytes or bf16, by primitives of oneDNN that use the dot
// products of the CPU (VNNI, AVX512_BF16, AMX). Chosen when the program runs. Sums of bytes are exact.

/// Whether the CPU multiplies and adds bytes in one instruction. Without it, oneDNN's sums of bytes saturate.
bool hasByteProducts();
/// The same for bf16.
bool hasBFloat16Products();

/// y = saturate(round(((x − xZero) ∗ w + bias) · scale) + yZero), with halves rounded to even. x and y are u8
/// or i8, row-major or channels-last; w is i8.
struct ByteConvolution {
    Convolution sizes;
    DType x = DType::u8;
    DType y = DType::u8;
    bool xChannelsLast = false;
    bool yChannelsLast = false;
    std::int32_t xZero = 0;
    std::int32_t yZero = 0;
    std::vector<float> scales{}; ///< one, or one per channel of the result
};

/// y = (x − xZero) · w for dense x of rows × inner, w of inner × columns, y of rows × columns: u8 or i8, i8,
/// i32; or all bf16, with sums in f32, to which a bias may be added.
struct ConstantProduct {
    std::int64_t rows = 1;
    std::int64_t inner = 1;
    std::int64_t columns = 1;
    DType x = DType::u8;
    std::int32_t xZero = 0; ///< of bytes
    /// Of w, in elements; one of them is 1.
    std::int64_t rowStride = 1;
    std::int64_t columnStride = 1;
};

/// Calls of run() must not overlap.
class LowPrecisionKernel {
public:
    virtual ~LowPrecisionKernel() = default;
    virtual void run(const void* x, void* y) = 0;
};

/// The state of a step whose kernel may use such a primitive.
struct LowPrecisionState final : KernelState {
    std::unique_ptr<LowPrecisionKernel> kernel; ///< null: there is none for this step
};

/// Packs the weights, which need not live on. Null if the CPU or oneDNN has no suitable instructions. `bias`
/// has one element per channel or column of the result, or is null. The sums of bytes of a convolution are
/// exact up to 2^24.
std::unique_ptr<LowPrecisionKernel> makeKernel(const ByteConvolution& convolution, const std::int8_t* w,
                                               const std::int32_t* bias);
std::unique_ptr<LowPrecisionKernel> makeKernel(const ConstantProduct& product, const void* w,
                                               const float* bias = nullptr);

} // namespace twb
