#pragma once

#include "formats/npy.h"

#include <string>
#include <string_view>

namespace twb {

/// The bytes before a version 1.0 file's length of header, and the longest header that is read.
inline constexpr std::size_t kNpyPreamble = 8;
inline constexpr std::size_t kLongestNpyHeader = 65536;

/// Reads the dictionary of a .npy header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Only
/// what NumPy writes is understood, nothing is evaluated. Sets all of NpyHeader but dataOffset. Throws
/// Error(badFile) with `origin`.
NpyHeader parseNpyHeader(std::string_view dictionary, const std::string& origin);

/// The whole of a version 1.0 header, padded so that the data starts on a multiple of 64. Throws
/// Error(unsupported) for bf16, which NumPy does not have.
std::string makeNpyHeader(const TensorType& type, const std::string& origin);

} // namespace twb
