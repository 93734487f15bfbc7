#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace twb {

/// A string that a NameTable keeps once.
enum class NameId : std::uint32_t { none = 0xffff'ffff };

/// Keeps each of many repeated strings once. After 64 MB of different strings, further ones are "(too many
/// names)".
class NameTable {
public:
    NameId add(std::string_view text) {
        if (const auto found = m_ids.find(text); found != m_ids.end()) return found->second;
        if (m_bytes > kMostBytes) return add(kOverflow);
        if (m_bytes += text.size(); m_bytes > kMostBytes) text = kOverflow;
        const auto id = static_cast<NameId>(m_texts.size());
        m_ids.emplace(m_texts.emplace_back(text), id);
        return id;
    }
    /// Empty for none.
    const std::string& at(NameId id) const {
        static const std::string empty;
        return id == NameId::none ? empty : m_texts.at(static_cast<std::size_t>(id));
    }

private:
    static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
    static constexpr std::string_view kOverflow = "(too many names)";

    std::size_t m_bytes = 0;
    std::deque<std::string> m_texts; ///< never moved, as the keys of m_ids refer to them
    std::unordered_map<std::string_view, NameId> m_ids;
};

} // namespace twb
