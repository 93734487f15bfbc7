#pragma once

#include "ops/op.h"

namespace twb {

/// The shape of NumPy's matmul of two inputs. Fails with PyTorch's message.
Shape matMulShape(const InferContext& ctx, int first, int second);

/// MatMul's host kernel for inputs 0 and 1 and output 0, whose dtype is one of kMatrixTypes except f16 and
/// bf16.
void matMulKernel(const KernelContext& ctx);

} // namespace twb
