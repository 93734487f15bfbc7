#pragma once

#include "profile/gzip_input.h"
#include "profile/kineto_trace.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace twb {

/// One op that a framework ran, as its profile tells.
struct TracedOp {
    std::string name;         ///< "aten::linear", or the name of an ONNX node
    std::string kind;         ///< the op as canonicalOp() names it
    std::string shape;        ///< of its first operand: "[1,512]"; empty if unknown
    std::string line;         ///< the source line; may be empty
    std::int64_t startNs = 0; ///< of its work, on the GPU if it has activities there, else on the CPU
    std::int64_t ns = 0;      ///< of this work
    bool onGpu = false;
    CopyKind copy = CopyKind::unknown; ///< of the op's only copy between host and GPU, or between GPUs
    std::uint64_t copyBytes = 0;
    std::int64_t copyNs = 0; ///< 0: it made no such copy, or several
};

/// Ops of a profile that do not contain each other, in the order in which they began.
struct TracedOps {
    std::string profiler; ///< "PyTorch's profiler", "ONNX Runtime"
    std::string device;   ///< the first GPU's name; may be empty
    std::int64_t spanNs = 0;
    bool linesAreFunctions = false; ///< lines are those where a Python function begins
    std::vector<TracedOp> ops;
    std::vector<std::string> problems;
};

/// Whether an op is looked for, by its name ("aten::addmm").
using IsWanted = std::function<bool(const std::string& name)>;

/// Reads a trace of PyTorch's Kineto profiler or a profile of ONNX Runtime. Of PyTorch's nested ops, the
/// outermost wanted ones count, and the outermost op where none is wanted. Throws Error(io) or
/// Error(badFile).
TracedOps readTracedOps(const std::filesystem::path& path, const IsWanted& isWanted,
                        const ReadProgress& progress = {});

/// The name under which ops of different origin that do the same are compared. Of PyTorch ("aten::linear") or
/// of our op table ("Gemm"): both are "MatMul".
std::string canonicalOp(const std::string& op);

} // namespace twb
