#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace twb {

/// Memory for one tensor between two pages that cannot be accessed. The tensor ends at most 63 bytes before
/// the second one; the bytes between are a canary, and so are those before the tensor.
class GuardedMemory {
public:
    /// `label` names the tensor in the sentence about an access outside it.
    GuardedMemory(std::size_t bytes, std::string label);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::uint8_t* data() const noexcept { return m_data; }
    std::size_t size() const noexcept { return m_bytes; }
    void protect(); ///< from writes
    bool canariesAreWhole() const noexcept;

    /// From now on, an access to a guard page or a write to a protected tensor of this process prints a line
    /// "bad …" and ends the process with exit code 3.
    static void watchAccesses();

private:
    std::uint8_t* m_begin = nullptr; ///< of the mapping, with both guard pages
    std::size_t m_length = 0;
    std::uint8_t* m_data = nullptr;
    std::size_t m_bytes = 0;
};

} // namespace twb
