#pragma once

#include "profile/name_table.h"
#include "profile/trace_events.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// A span of the host: an op of PyTorch, a Python function, or an annotation such as "ProfilerStep#3".
struct HostSpan {
    enum class Kind : std::uint8_t { op, function, annotation };

    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    NameId name = NameId::none;
    NameId line = NameId::none;   ///< the source line, as toString(SourceLine) writes it
    NameId shapes = NameId::none; ///< of an op: its "Input Dims" as JSON
    NameId types = NameId::none;  ///< of an op: its "Input type" as JSON
    NameId values = NameId::none; ///< of a convolution: its "Concrete Inputs" as JSON
    std::uint32_t thread : 28 = 0;
    Kind kind : 4 = Kind::op;
};

/// What a call does to the thread that makes it.
enum class CallKind : std::uint8_t { other, synchronize, blockingCopy, memory };

/// A call of the CUDA or HIP runtime or driver.
struct RuntimeCall {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::uint64_t correlation = 0; ///< 0: none
    std::uint64_t bytes = 0;       ///< of a copy, if the call names them: HIP's "size"
    NameId name = NameId::none;
    std::uint32_t thread = 0;
    NameId op = NameId::none;           ///< the outermost op around it
    NameId line = NameId::none;         ///< the innermost known source line around it
    std::uint32_t span = kNoIndex;      ///< the innermost op around it, in KinetoTrace::spans
    std::uint32_t outerSpan = kNoIndex; ///< the outermost op around it
    CallKind kind = CallKind::other;

    static constexpr std::uint32_t kNoIndex = 0xffff'ffff;
};

enum class CopyKind : std::uint8_t { hostToDevice, deviceToHost, withinDevice, peer, hostToHost, unknown };
enum class HostMemory : std::uint8_t { unknown, pageable, pinned, managed, none };

/// A kernel, a copy or a memset on a GPU.
struct GpuActivity {
    enum class Kind : std::uint8_t { kernel, copy, set };

    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::optional<std::uint64_t> bytes; ///< absent if the trace does not say
    std::uint64_t correlation = 0;
    NameId name = NameId::none;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;                   ///< index; unique over all devices
    std::uint32_t call = RuntimeCall::kNoIndex; ///< the call that launched it
    Kind kind = Kind::kernel;
    CopyKind copy = CopyKind::unknown;
    HostMemory memory = HostMemory::none; ///< of the host's side of a copy
    bool bytesFromCall = false;           ///< the row itself has no bytes; the launching call has

    std::int64_t durationNs() const noexcept { return endNs - startNs; }
};

/// A trace of PyTorch's Kineto profiler: the parts that concern GPUs, and the ops and lines that caused them.
/// Takes some 100 MB of memory per GB of JSON.
struct KinetoTrace {
    std::string file;
    TraceFileFacts facts;
    NameTable names;
    std::vector<std::string> threads;   ///< "pid/tid", by HostSpan::thread
    std::deque<HostSpan> spans;         ///< sorted by thread and start, outer ones first
    std::deque<RuntimeCall> calls;      ///< sorted by thread and start
    std::deque<GpuActivity> activities; ///< sorted by device and start
    bool linesAreFunctions = false;     ///< lines are those where a Python function begins
    std::int64_t startNs = 0;           ///< of the first span of any kind
    std::int64_t endNs = 0;

    /// A sentence for each of the first faulty events, and their number.
    std::vector<std::string> problems;
    std::uint64_t faultyEvents = 0;

    /// The launches of activities that were found, by their correlation.
    std::uint64_t launchesFound = 0;
    /// How many of these calls lie within an op.
    std::uint64_t launchesInOps = 0;

    const RuntimeCall* callOf(const GpuActivity& activity) const {
        return activity.call == RuntimeCall::kNoIndex ? nullptr : &calls[activity.call];
    }
    /// Null if the trace does not describe the device.
    const TraceDevice* find(std::uint32_t device) const;
    /// "NVIDIA H100 80GB HBM3", or empty.
    std::string deviceName(std::uint32_t device) const;
};

/// The line in user code that a stack of Python frames points to, as toString(SourceLine): the innermost
/// frame that is neither PyTorch's nor the interpreter's, preferably outside installed packages. Empty if
/// there is none. `stack`: frames like "train.py(12): forward", innermost first, separated by ";".
std::string userLine(std::string_view stack);

/// Reads a trace and joins its parts: an activity with its launch by correlation, a launch with its op and
/// line by time on its thread. Field names of 2021 and ROCm traces are known, too. Throws Error(io) or
/// Error(badFile); a faulty event becomes a problem and is left out.
KinetoTrace readKinetoTrace(const std::filesystem::path& path, const ReadProgress& progress = {});
/// The same from memory; `origin` is for messages.
KinetoTrace parseKinetoTrace(std::string_view json, const std::string& origin);

} // namespace twb
