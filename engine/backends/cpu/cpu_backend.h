#pragma once

#include "backends/backend.h"

#include <string>

namespace twb {

/// The machine's processor: the host kernels of the op table, one worker thread per stream, oneDNN and
/// OpenBLAS for GEMM. One instance per process. Its profile is an estimate (cores × clock × vector width, and
/// memory bandwidth per core) unless a calibrated one replaces it.
std::shared_ptr<Backend> cpuBackend();

/// The name of a processor without the marks (R) and (TM).
std::string withoutMarks(std::string name);

} // namespace twb
