#include "backends/cuda/kernels/walk.h"

#include "core/error.h"

#include <fmt/format.h>

namespace twb::cuda {

void fillWalk(const Shape& shape, const TensorView* const* views, int count, int& rank, std::int64_t* sizes,
              std::int64_t* strides) {
    rank = 0;
    std::array<std::int64_t, 8> own{};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t size = shape[axis];
        if (size == 1) continue;
        for (int k = 0; k < count; ++k) {
            const TensorView& view = *views[k];
            const int at = axis - (shape.rank() - view.shape.rank());
            const bool repeated = at < 0 || view.shape[at] == 1;
            own[static_cast<std::size_t>(k)] = repeated ? 0 : view.strides[static_cast<std::size_t>(at)];
        }
        std::int64_t* last = rank > 0 ? strides + std::ptrdiff_t{rank - 1} * count : nullptr;
        bool merges = last != nullptr;
        for (int k = 0; merges && k < count; ++k) merges = last[k] == own[static_cast<std::size_t>(k)] * size;
        if (merges) {
            sizes[rank - 1] *= size;
        } else {
            if (rank == kMaxWalkAxes)
                throw Error(ErrorCode::unsupported,
                            fmt::format("the tensor has more than {} axes that are not contiguous with each "
                                        "other in memory; move the op to cpu, or merge axes with Reshape",
                                        kMaxWalkAxes));
            sizes[rank] = size;
            last = strides + std::ptrdiff_t{rank} * count;
            ++rank;
        }
        for (int k = 0; k < count; ++k) last[k] = own[static_cast<std::size_t>(k)];
    }
}

} // namespace twb::cuda
