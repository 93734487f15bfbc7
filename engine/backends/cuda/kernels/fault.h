#pragma once

#include "core/half.h"

#include <cstdint>

namespace twb::cuda {

/// An invalid input that a kernel found. Kernels cannot throw, so the first one to find a fault stores it in
/// memory that the host checks after the launch.
struct Fault {
    enum Code : std::uint32_t {
        none,
        divisionByZero,
        moduloByZero,
        indexOutOfRange,
        lengthOutOfRange,
        badClass,
        badProbability,
        badCoordinate,     ///< of a region; `value` holds the bits of a double
        noSuchImage,       ///< a region names a missing image
        badSequenceLength, ///< of sequence `axis`
        badMaxIndex,
        noCategory, ///< `value` holds the bits of a double; `axis` is 1 if it was an f32
        singular,
        badWriteIndex ///< `size` is the last good one
    };
    std::uint32_t code = none;
    std::uint32_t axis = 0;
    std::int64_t value = 0;
    std::int64_t size = 0;
};

/// The first fault of a launch is kept.
TWB_HOST_DEVICE inline void raise(Fault* fault, Fault::Code code, std::int64_t value = 0, int axis = 0,
                                  std::int64_t size = 0) {
#if defined(__CUDA_ARCH__)
    if (atomicCAS(&fault->code, static_cast<std::uint32_t>(Fault::none), static_cast<std::uint32_t>(code)) !=
        Fault::none)
        return;
#else
    if (fault->code != Fault::none) return;
    fault->code = code;
#endif
    fault->axis = static_cast<std::uint32_t>(axis);
    fault->value = value;
    fault->size = size;
}

/// Throws Error(invalidArgument) with the message of the host's kernels if there is a fault.
void throwIfRaised(const Fault& fault);

} // namespace twb::cuda
