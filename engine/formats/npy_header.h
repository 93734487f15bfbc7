#pragma once

#include "formats/npy.h"

#include <string>
#include <string_view>

namespace twb {

/// The bytes before the header length of a version 1.0 file, and the longest header that is accepted.
inline constexpr std::size_t kNpyPreamble = 8;
inline constexpr std::size_t kLongestNpyHeader = 65536;

/// Parses the dictionary of a .npy header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
/// Accepts only what NumPy writes; evaluates nothing. Sets all of NpyHeader except dataOffset. Throws
/// Error(badFile) with `origin`.
NpyHeader parseNpyHeader(std::string_view dictionary, const std::string& origin);

/// A complete version 1.0 header, padded so that the data starts at a multiple of 64. Throws
/// Error(unsupported) for bf16, which NumPy lacks.
std::string makeNpyHeader(const TensorType& type, const std::string& origin);

} // namespace twb
