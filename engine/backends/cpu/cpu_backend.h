#pragma once

#include "backends/backend.h"

namespace twb {

/// The machine's own processor: kernels of the op table in host memory, one worker thread a stream, OpenBLAS
/// for GEMM. One for the whole process. Its profile is an estimate from the machine (cores × clock × vector
/// width, one memory channel's worth a core) until a calibrated one replaces it.
std::shared_ptr<Backend> cpuBackend();

} // namespace twb
