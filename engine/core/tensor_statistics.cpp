#include "core/tensor_statistics.h"

#include "core/whole_number.h"

#include <algorithm>
#include <cmath>

namespace twb {
namespace {

/// Calls `visit` with each element as a double. The common types are dispatched once, not per element.
template <class Visit> void forEach(const Tensor& tensor, Visit visit) {
    const std::int64_t count = tensor.elementCount();
    const auto dense = [&]<class T>(const T* values) {
        for (std::int64_t i = 0; i < count; ++i) visit(static_cast<double>(values[i]));
    };
    if (tensor.view().isDense() && tensor.dtype() == DType::f32)
        dense(static_cast<const float*>(tensor.data()));
    else if (tensor.view().isDense() && tensor.dtype() == DType::f64)
        dense(static_cast<const double*>(tensor.data()));
    else
        for (std::int64_t i = 0; i < count; ++i) visit(tensor.at(i));
}

/// Corrects the places of the smallest and the largest element, of which several may be the same double.
void findEnds(const Tensor& tensor, TensorStatistics& statistics) {
    WholeNumber least = wholeNumberAt(tensor, statistics.minAt);
    WholeNumber most = wholeNumberAt(tensor, statistics.maxAt);
    for (std::int64_t i = 0; i < statistics.count; ++i) {
        const WholeNumber number = wholeNumberAt(tensor, i);
        if (number < least) {
            least = number;
            statistics.minAt = i;
        }
        if (number > most) {
            most = number;
            statistics.maxAt = i;
        }
    }
}

} // namespace

TensorStatistics statisticsOf(const Tensor& tensor) {
    TensorStatistics s;
    s.count = tensor.elementCount();
    double squares = 0; // Welford's sums, which do not cancel
    std::int64_t place = -1;
    forEach(tensor, [&](double value) {
        ++place;
        if (std::isnan(value)) {
            if (s.nan++ == 0) s.firstNan = place;
            return;
        }
        if (std::isinf(value)) {
            if (s.infinite++ == 0) s.firstInfinite = place;
            return;
        }
        if (value == 0) ++s.zero;
        if (s.finite == 0 || value < s.min) {
            s.min = value;
            s.minAt = place;
        }
        if (s.finite == 0 || value > s.max) {
            s.max = value;
            s.maxAt = place;
        }
        ++s.finite;
        const double before = value - s.mean;
        s.mean += before / double(s.finite);
        squares += before * (value - s.mean);
    });
    if (s.finite == 0) return s;
    if (tensor.dtype() == DType::i64 || tensor.dtype() == DType::u64) findEnds(tensor, s);
    s.std = std::sqrt(squares / double(s.finite));
    const double halfWidth = s.max / 2 - s.min / 2; // the width may be larger than any double
    forEach(tensor, [&](double value) {
        if (!std::isfinite(value)) return;
        const double bin = halfWidth > 0 ? (value / 2 - s.min / 2) / halfWidth * TensorStatistics::kBins : 0;
        ++s.histogram[std::size_t(std::clamp(int(bin), 0, TensorStatistics::kBins - 1))];
    });
    return s;
}

} // namespace twb
