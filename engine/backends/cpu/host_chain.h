#pragma once

#include "backends/op_chain.h"
#include "core/tensor.h"

#include <span>

namespace twb {

/// Runs a chain on the host with the host kernels of its members. A pointwise chain runs block by block: a
/// block of each intermediate result stays in the cache. Its inputs broadcast to `out`, which is dense and
/// may be the same memory as an input of its shape. A product's kernel finds the ops after it in its
/// ProductState; if it does not apply them, they run in place. A product of bytes (MatMulInteger,
/// DequantizeLinear, then Adds of a row or of a tensor of the result's shape, and activations) writes its
/// sums to `out`, where the other ops replace them block by block. Throws what the kernels throw.
void runHostChain(const OpChain& chain, std::span<const TensorView> inputs, const TensorView& out,
                  StepMemory* memory);

} // namespace twb
