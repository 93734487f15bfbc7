#pragma once

#include "ops/op.h"

namespace twb {

/// The shape of NumPy's matmul of two inputs. Fails in the words of PyTorch's.
Shape matMulShape(const InferContext& ctx, int first, int second);

/// MatMul's host kernel on inputs 0 and 1 and output 0, which have one of kMatrixTypes but f16 and bf16.
void matMulKernel(const KernelContext& ctx);

} // namespace twb
