#pragma once

#include <cstdint>
#include <initializer_list>

namespace twb::cuda {

/// Units for moving memory without arithmetic.
struct alignas(16) Unit16 {
    std::uint64_t low, high;
};

/// Calls f with the widest unit that divides rows of `bytes` at these addresses, and the number of units per
/// row.
template <class F>
void withUnit(std::int64_t bytes, std::initializer_list<const void*> addresses, const F& f) {
    std::uint64_t all = static_cast<std::uint64_t>(bytes);
    for (const void* address : addresses) all |= reinterpret_cast<std::uintptr_t>(address);
    if (all % 16 == 0) return f(Unit16{}, bytes / 16);
    if (all % 8 == 0) return f(std::uint64_t{}, bytes / 8);
    if (all % 4 == 0) return f(std::uint32_t{}, bytes / 4);
    if (all % 2 == 0) return f(std::uint16_t{}, bytes / 2);
    f(std::uint8_t{}, bytes);
}

} // namespace twb::cuda
