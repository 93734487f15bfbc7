#pragma once

#include <cstdint>
#include <string_view>

namespace twb {

/// A 64-bit hash of a sequence of values; the order counts. FNV-1a for bytes, finished with splitmix64's
/// mixer (Steele, Lea, Flood 2014) so that similar inputs differ widely. Never 0.
class ContentHash {
public:
    ContentHash& add(std::string_view bytes) noexcept {
        for (const char c : bytes) m_state = (m_state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
        return add(static_cast<std::uint64_t>(bytes.size()));
    }
    ContentHash& add(std::uint64_t word) noexcept {
        m_state = mix(m_state ^ mix(word + 0x9e3779b97f4a7c15ULL));
        return *this;
    }
    std::uint64_t value() const noexcept { return m_state ? m_state : 1; }

private:
    static std::uint64_t mix(std::uint64_t x) noexcept {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31);
    }
    std::uint64_t m_state = 0xcbf29ce484222325ULL;
};

} // namespace twb
