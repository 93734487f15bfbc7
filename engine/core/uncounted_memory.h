#pragma once

namespace twb {

/// While it exists, hostAllocator() gives its thread memory that counts for no device: that of the kernels
/// that stand in for a GPU's, and of copies for a viewer. Both are no part of what a run on the cpu needs,
/// and how many of them meet differs from run to run. The buffers may outlive it.
class UncountedMemory {
public:
    UncountedMemory() noexcept;
    ~UncountedMemory();
    UncountedMemory(const UncountedMemory&) = delete;
    UncountedMemory& operator=(const UncountedMemory&) = delete;
};

} // namespace twb
