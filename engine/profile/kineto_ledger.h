#pragma once

#include "profile/kineto_trace.h"
#include "profile/ledger.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace twb {

/// The cause of a part of a GPU's idle time, by the call that launched the activity which ended it.
enum class IdleCause : std::uint8_t {
    sync,        ///< the launching thread waited in a synchronisation before the call
    copy,        ///< it was in a blocking copy
    memory,      ///< it allocated or freed memory
    dataLoading, ///< it waited for the DataLoader
    ops,         ///< it ran ops, which had not come to the launch yet
    python,      ///< it ran no op: Python, or nothing
    launch,      ///< from the call to the start on the GPU
    queued,      ///< the call came before the GPU was idle: gaps and dependencies between queued activities
    unknown,     ///< the trace has no such call
};
std::string_view name(IdleCause cause) noexcept;   ///< "data-loading"
std::string_view name(CopyKind kind) noexcept;     ///< "host-to-device", "within-device", …
std::string_view name(HostMemory memory) noexcept; ///< "pageable", …; "none" without a side on the host

/// The copies of a trace, of one kind and from one place in the program.
struct KinetoTransfer {
    std::string line; ///< the source line; may be empty
    std::string op;   ///< the outermost op; may be empty
    std::uint32_t device = 0;
    CopyKind kind = CopyKind::unknown;
    HostMemory memory = HostMemory::unknown;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;     ///< of the copies with known bytes
    std::uint64_t sized = 0;     ///< number of these copies
    std::uint64_t fromCalls = 0; ///< of these, the copies whose bytes come from the launching call
    std::int64_t sizedNs = 0;    ///< total time of these copies
    std::int64_t totalNs = 0;
    Histogram times;
    std::int64_t hiddenNs = 0;  ///< while a kernel ran on the same device
    std::int64_t cpuWaitNs = 0; ///< while the launching call or a synchronisation held the CPU
    /// The op, or else the kernel, that came next on the copy's stream, most often.
    std::string waiter;

    /// 10^9 bytes per second; absent if no bytes are known.
    std::optional<double> gbPerSecond() const {
        if (sized == 0 || sizedNs <= 0) return {};
        return static_cast<double>(bytes) / static_cast<double>(sizedNs);
    }
};

/// Calls at which the CPU waited for a GPU, by place.
struct KinetoSync {
    std::string call; ///< "cudaStreamSynchronize"
    std::string line;
    std::string op;
    std::uint64_t count = 0;
    std::int64_t totalNs = 0;
    std::int64_t busyNs = 0; ///< while a GPU worked
};

struct KinetoIdle {
    IdleCause cause = IdleCause::unknown;
    std::string line; ///< of the launch that ended it
    std::string op;   ///< the op of that launch, or else the activity
    std::uint64_t count = 0;
    std::int64_t totalNs = 0;
};

struct KinetoDevice {
    std::uint32_t device = 0;
    std::string name; ///< may be empty
    std::uint64_t kernels = 0;
    std::int64_t spanNs = 0;      ///< from the start of the first activity to the end of the last
    std::int64_t kernelNs = 0;    ///< in which a kernel ran
    std::int64_t busyNs = 0;      ///< in which a kernel, a copy or a memset ran
    std::vector<KinetoIdle> idle; ///< longest first; adds up to spanNs - busyNs
};

/// What a trace says about transfers, synchronisations and idle GPUs.
struct KinetoLedger {
    std::string file;
    std::uint64_t events = 0;
    std::int64_t spanNs = 0; ///< of the whole trace
    std::uint64_t steps = 0; ///< "ProfilerStep#"
    std::vector<KinetoDevice> devices;
    std::vector<KinetoTransfer> transfers; ///< longest first
    std::vector<KinetoSync> syncs;         ///< longest first
    bool linesAreFunctions = false;        ///< lines are those where a Python function begins
    std::uint64_t activities = 0;
    std::uint64_t launchesFound = 0;   ///< of the activities, those whose launching call is in the trace
    std::uint64_t launchesInOps = 0;   ///< of these calls, those within an op
    std::vector<std::string> problems; ///< of the first faulty events
    std::uint64_t faultyEvents = 0;
};

KinetoLedger makeKinetoLedger(const KinetoTrace& trace);

/// The tables that `twb profile` prints.
std::string toText(const KinetoLedger& ledger);
/// resources/schema/profile.schema.json describes its keys.
std::string toJson(const KinetoLedger& ledger);
/// The transfers, one row each.
std::string toCsv(const KinetoLedger& ledger);

} // namespace twb
