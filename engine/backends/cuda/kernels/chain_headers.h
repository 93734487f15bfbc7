#pragma once

namespace twb::cuda {

/// The text of the headers that chains are built on, without their includes: put together by
/// kernels/sources.cmake.
const char* chainHeaders();

} // namespace twb::cuda
