#pragma once

#include "core/tensor.h"

#include <QString>

#include <optional>

namespace twb {

/// "[3, 17]": the index of element `flat`, counted row-major; "[]" for a scalar.
QString indexText(const Shape& shape, std::int64_t flat);

/// The limit of numpyText().
inline constexpr std::int64_t kMostNumpyElements = 100'000;

/// A host tensor as an exact NumPy expression: "np.array([[1.0, 2.5], …], dtype=np.float32)". Nothing if it
/// has more than kMostNumpyElements.
std::optional<QString> numpyText(const Tensor& tensor);

} // namespace twb
