#pragma once

#include "core/tensor.h"

#include <QString>

#include <optional>

namespace twb {

struct ProbeValue;

/// "[3, 17]": the index of element `flat`, counted row-major; "[]" for a scalar.
QString indexText(const Shape& shape, std::int64_t flat);

/// Element `flat` of a host tensor, counted row-major: an integer exactly, another number rounded, "true".
QString valueText(const Tensor& tensor, std::int64_t flat);

/// The value of a Probe with one element, likewise.
QString valueText(const ProbeValue& probe);

/// The limit of numpyText().
inline constexpr std::int64_t kMostNumpyElements = 100'000;

/// A host tensor as an exact NumPy expression: "np.array([[1.0, 2.5], …], dtype=np.float32)". Nothing if it
/// has more than kMostNumpyElements.
std::optional<QString> numpyText(const Tensor& tensor);

} // namespace twb
