#include "widgets/inspector/tensor_comparison.h"

#include "core/error.h"
#include "core/whole_number.h"

#include <cmath>
#include <limits>

namespace twb {

TensorComparison compare(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape())
        throw Error(ErrorCode::invalidArgument, "tensors of " + a.shape().toString() + " and " +
                                                    b.shape().toString() +
                                                    " cannot be compared; choose two of the same shape");
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    TensorComparison out;
    out.count = a.elementCount();
    out.difference = Tensor::onHost({DType::f32, a.shape()});
    out.relative = Tensor::onHost({DType::f32, a.shape()});
    auto* difference = static_cast<float*>(out.difference.data());
    auto* relative = static_cast<float*>(out.relative.data());
    const bool isWhole = holdsIntegers(a.dtype()) && holdsIntegers(b.dtype());
    double sum = 0;
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < out.count; ++i) {
        const double x = a.at(i);
        const double y = b.at(i);
        double off = 0;
        bool isAlike = x == y || (std::isnan(x) && std::isnan(y));
        if (isWhole) {
            off = distance(wholeNumberAt(a, i), wholeNumberAt(b, i));
            isAlike = off == 0;
        } else if (!isAlike) {
            off = std::abs(x - y);
        }
        if (std::isnan(off)) off = kInfinity;
        const double share = isAlike ? 0 : y == 0 ? kInfinity : off / std::abs(y);
        difference[i] = static_cast<float>(off);
        relative[i] = static_cast<float>(share);
        if (std::isfinite(off)) {
            sum += off;
            ++finite;
        }
        if (isAlike) continue;
        ++out.differing;
        if (!std::isnan(share)) out.maxRel = std::max(out.maxRel, share);
        if (out.worst >= 0 && off <= out.maxAbs) continue;
        out.maxAbs = off;
        out.worst = i;
    }
    if (finite > 0) out.meanAbs = sum / static_cast<double>(finite);
    return out;
}

} // namespace twb
