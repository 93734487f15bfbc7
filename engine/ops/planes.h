#pragma once

#include "core/shape.h"

#include <cstdint>

namespace twb {

/// Batches × channels × everything else.
struct Planes {
    std::int64_t batch = 1, channels = 1, size = 1;
    explicit Planes(const Shape& shape) {
        if (shape.rank() > 0) batch = shape[0];
        if (shape.rank() > 1) channels = shape[1];
        for (int axis = 2; axis < shape.rank(); ++axis) size *= shape[axis];
    }
};

} // namespace twb
