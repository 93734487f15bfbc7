#include "ops/schema.h"

namespace twb {

Cost costOf(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs,
            const Attributes& attributes) {
    return op.cost ? op.cost(inputs, outputs, attributes) : streamingCost(inputs, outputs, 1);
}

} // namespace twb
