#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace twb {

/// Slots in the order in which they were added, each once.
class SlotSet {
public:
    void add(std::uint32_t slot) {
        if (slot >= m_isIn.size()) m_isIn.resize(slot + 1);
        if (m_isIn[slot]) return;
        m_isIn[slot] = true;
        m_slots.push_back(slot);
    }
    /// May grow while it is read by index.
    const std::vector<std::uint32_t>& slots() const noexcept { return m_slots; }
    /// Empties the set.
    std::vector<std::uint32_t> take() {
        for (const std::uint32_t slot : m_slots) m_isIn[slot] = false;
        return std::exchange(m_slots, {});
    }

private:
    std::vector<std::uint32_t> m_slots;
    std::vector<bool> m_isIn;
};

} // namespace twb
