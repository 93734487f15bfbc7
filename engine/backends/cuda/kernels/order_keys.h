#pragma once

#include "core/half.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace twb::cuda {

template <class T> using KeyOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// An unsigned number with the same order as the element: −0 equals 0, and NaN is the largest, as in NumPy.
/// f16 and bf16 are compared as f32.
template <class T> TWB_HOST_DEVICE KeyOf<T> keyOf(T x) {
    using Key = KeyOf<T>;
    constexpr Key sign = Key{1} << (sizeof(Key) * 8 - 1);
    if constexpr (std::is_floating_point_v<T>) {
        if (x != x) return static_cast<Key>(~Key{0});
        const Key bits = std::bit_cast<Key>(x == 0 ? T{0} : x);
        return (bits & sign) != 0 ? static_cast<Key>(~bits) : static_cast<Key>(bits | sign);
    } else if constexpr (std::is_signed_v<T>) {
        using Same = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
        return static_cast<Key>(static_cast<Same>(x)) ^ sign;
    } else {
        return x;
    }
}

/// The reverse order: the largest element comes first.
template <class T> TWB_HOST_DEVICE KeyOf<T> descendingKeyOf(T x) { return static_cast<KeyOf<T>>(~keyOf(x)); }

} // namespace twb::cuda
