#pragma once

#include <string>
#include <vector>

namespace twb::cuda {

/// File names of NVRTC, best first. The output of a newer NVRTC than the build's is not given to an older
/// driver. `driver` is its CUDA version; 13000 is 13.0.
std::vector<std::string> nvrtcFiles(int driver);
/// Whether NVRTC, the run-time compiler for GPUs, is available. The first call looks for it.
bool hasNvrtc();
/// Identifies the build of NVRTC, since builds differ in their output.
std::string nvrtcVersion();
/// Compiles for a compute capability (major × 10 + minor). Returns machine code or, if the GPU is newer than
/// NVRTC, PTX that its driver translates. Throws Error(failed) with the compiler's messages. NVRTC must be
/// available.
std::string compileForGpu(const std::string& source, int capability);

} // namespace twb::cuda
