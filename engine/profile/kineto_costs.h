#pragma once

#include "backends/device_profile.h"
#include "profile/kineto_trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace twb {

/// The work of a kernel that an op of PyTorch launched, from the op's operands in the trace.
struct KnownKernel {
    std::uint32_t device = 0;
    bool isProduct = false; ///< a matrix product or a convolution, else an elementwise op
    Cost cost;
    std::int64_t ns = 0; ///< of all kernels of the op
};

/// The kernels of matrix products, convolutions and elementwise ops whose operands the trace names
/// (record_shapes=True). Only ops that launched kernels themselves, on one device.
std::vector<KnownKernel> knownKernels(const KinetoTrace& trace);

/// The work of an op, from its name and arguments; `values` has its scalar arguments ("Concrete Inputs", may
/// be empty). Nothing if the op is not known, or if its arguments do not tell.
struct OpWork {
    Cost cost;
    bool isProduct = false;
};
std::optional<OpWork> workOf(const std::string& op, const std::string& shapes, const std::string& types,
                             const std::string& values);

} // namespace twb
