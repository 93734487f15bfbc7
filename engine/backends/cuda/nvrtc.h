#pragma once

#include <string>
#include <vector>

namespace twb::cuda {

/// The files that may hold NVRTC, best first: what another one than this build's makes is asked of no driver
/// that is older. `driver` is the CUDA version it serves, as 13000 is 13.0.
std::vector<std::string> nvrtcFiles(int driver);
/// Whether NVRTC, which compiles for GPUs at run time, is here. It is looked for when first asked.
bool hasNvrtc();
/// What one build of NVRTC makes differs from another's.
std::string nvrtcVersion();
/// Machine code, or, of a GPU newer than NVRTC, PTX that its driver translates, for a compute capability
/// (major × 10 + minor). Throws Error(failed) with the compiler's words. There must be NVRTC.
std::string compileForGpu(const std::string& source, int capability);

} // namespace twb::cuda
