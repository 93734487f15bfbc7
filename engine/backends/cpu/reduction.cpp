#include "backends/cpu/reduction.h"

namespace twb {

ReductionView splitAxes(const TensorView& in, const std::array<bool, kMaxRank>& isReduced) {
    requireRank(in.shape);
    std::vector<std::int64_t> keptDims;
    std::vector<std::int64_t> reducedDims;
    ReductionView view;
    for (int axis = 0; axis < in.shape.rank(); ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        (isReduced[a] ? reducedDims : keptDims).push_back(in.shape[axis]);
        (isReduced[a] ? view.reduced : view.kept).strides.push_back(in.strides[a]);
    }
    for (TensorView* part : {&view.kept, &view.reduced}) {
        part->data = in.data;
        part->dtype = in.dtype;
    }
    view.kept.shape = Shape(std::move(keptDims));
    view.reduced.shape = Shape(std::move(reducedDims));
    return view;
}

} // namespace twb
