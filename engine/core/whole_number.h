#pragma once

#include "core/tensor.h"

#include <compare>
#include <cstdint>
#include <string>

namespace twb {

/// An element of an integer dtype, exactly: a double has only 53 bits.
struct WholeNumber {
    std::uint64_t magnitude = 0;
    bool isNegative = false; ///< false for 0

    bool operator==(const WholeNumber&) const = default;
    std::strong_ordering operator<=>(const WholeNumber& other) const noexcept;
    std::string toString() const; ///< "-9007199254740993"
};

/// Element `i` (row-major) of a host tensor whose dtype holdsIntegers().
WholeNumber wholeNumberAt(const Tensor& tensor, std::int64_t i);

/// |a − b|, rounded.
double distance(const WholeNumber& a, const WholeNumber& b) noexcept;

} // namespace twb
