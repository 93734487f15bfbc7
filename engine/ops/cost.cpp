#include "ops/op.h"

namespace twb {

Cost costOf(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs,
            const Attributes& attributes) {
    if (op.cost) return op.cost(inputs, outputs, attributes);
    Cost cost;
    for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.byteCount());
    for (const TensorType& type : outputs) {
        cost.bytes += static_cast<double>(type.byteCount());
        cost.flops += static_cast<double>(type.shape.elementCount());
    }
    if (!outputs.empty())
        cost.dtype = outputs.front().dtype;
    else if (!inputs.empty())
        cost.dtype = inputs.front().dtype;
    return cost;
}

} // namespace twb
