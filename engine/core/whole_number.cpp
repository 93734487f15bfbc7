#include "core/whole_number.h"

#include <fmt/format.h>

namespace twb {
namespace {

std::int64_t placeOf(const Tensor& tensor, std::int64_t i) {
    std::int64_t place = 0;
    for (int axis = tensor.shape().rank() - 1; axis >= 0; --axis) {
        place += (i % tensor.shape()[axis]) * tensor.strides()[static_cast<std::size_t>(axis)];
        i /= tensor.shape()[axis];
    }
    return place;
}

WholeNumber from(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    return value < 0 ? WholeNumber{~bits + 1, true} : WholeNumber{bits, false};
}

} // namespace

std::strong_ordering WholeNumber::operator<=>(const WholeNumber& other) const noexcept {
    if (isNegative != other.isNegative)
        return isNegative ? std::strong_ordering::less : std::strong_ordering::greater;
    return isNegative ? other.magnitude <=> magnitude : magnitude <=> other.magnitude;
}

std::string WholeNumber::toString() const { return fmt::format("{}{}", isNegative ? "-" : "", magnitude); }

WholeNumber wholeNumberAt(const Tensor& tensor, std::int64_t i) {
    if (tensor.dtype() == DType::i64)
        return from(static_cast<const std::int64_t*>(tensor.data())[placeOf(tensor, i)]);
    if (tensor.dtype() == DType::u64)
        return {static_cast<const std::uint64_t*>(tensor.data())[placeOf(tensor, i)], false};
    return from(static_cast<std::int64_t>(tensor.at(i))); // a double has all of the others
}

double distance(const WholeNumber& a, const WholeNumber& b) noexcept {
    if (a.isNegative != b.isNegative)
        return static_cast<double>(a.magnitude) + static_cast<double>(b.magnitude);
    return static_cast<double>(a.magnitude > b.magnitude ? a.magnitude - b.magnitude
                                                         : b.magnitude - a.magnitude);
}

} // namespace twb
