#pragma once

#include "core/tensor.h"

#include <QString>

#include <optional>

namespace twb {

/// "[3, 17]": the place of element `flat`, counted row by row; "[]" of a scalar.
QString indexText(const Shape& shape, std::int64_t flat);

/// Elements that numpyText() writes at the most.
inline constexpr std::int64_t kMostNumpyElements = 100'000;

/// A host tensor as an expression of NumPy that makes it again, to the last digit:
/// "np.array([[1.0, 2.5], …], dtype=np.float32)". Nothing where it has more than kMostNumpyElements.
std::optional<QString> numpyText(const Tensor& tensor);

} // namespace twb
