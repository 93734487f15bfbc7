#pragma once

#include "backends/device_profile.h"
#include "backends/kernel.h"
#include "backends/op_chain.h"
#include "core/buffer.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace twb {

/// The kind of work in a stream. A GPU has one engine for kernels and one for copies in each direction, so
/// copies can run beside kernels. `load`: only the cpu has streams that load batches. `collective`: calls
/// over the ranks of a world, which makes these streams (World::createStream). `network`: copies to devices
/// of other ranks, which are simulated.
enum class QueueKind : std::uint8_t { compute, hostToDevice, deviceToHost, load, collective, network };

/// The time of one launch. `start`/`end` are on the host's steady clock in ns; `virtualStart`/`virtualEnd` on
/// the run's virtual clock, on which a simulated device takes the time of its profile and a real one its
/// measured time. Valid once the stream has passed the launch and Backend::collect was called for it.
struct LaunchTiming {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t virtualStart = 0;
    std::int64_t virtualEnd = 0;
};

/// Decides on the stream's thread, just before a launch, whether it may run, and is told about failures. The
/// executor implements it: a step with a failed input must not run, all others must.
class LaunchGuard {
public:
    virtual ~LaunchGuard() = default;
    /// Set at the first failure or cancel. While it is clear, no launch calls mayRun.
    std::atomic<bool> alert{false};
    /// Not null where the kernels and copies that the host runs must take turns: each holds it while it runs.
    std::mutex* turn = nullptr;
    virtual bool mayRun(std::uint32_t step) noexcept = 0;
    virtual void failed(std::uint32_t step, std::exception_ptr error) noexcept = 0;
    /// The same, when steps that read the result may have run: the failure became known after them.
    virtual void failedLate(std::uint32_t step, std::exception_ptr error) noexcept {
        failed(step, std::move(error));
    }
};

/// One kernel launch. Everything that it points to must outlive it.
struct Launch {
    std::uint32_t step = 0; ///< for the guard
    const char* op = "";    ///< the op's name, by which a backend finds its own kernel
    HostKernel kernel = nullptr;
    const OpChain* chain = nullptr; ///< the ops of a fused launch, else null
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes* attributes = nullptr;
    const TensorFiles* files = nullptr;
    StepMemory* memory = nullptr; ///< memory of the step for this run
    Cost cost;
    bool allowTf32 = false;     ///< f32 products may be rounded to TF32
    std::int64_t iteration = 0; ///< KernelContext::iteration
    World* world = nullptr;     ///< KernelContext::world
    const char* label = "";     ///< KernelContext::label
    /// Inputs, in ascending order, that are 0-dimensional cpu tensors among a device's operands.
    std::span<const std::uint32_t> hostScalars;
    LaunchGuard* guard = nullptr;
    LaunchTiming* timing = nullptr; ///< null: not timed
};

/// One dense copy between memory spaces.
struct Copy {
    std::uint32_t step = 0;
    void* target = nullptr;
    const void* source = nullptr;
    std::size_t bytes = 0;
    CopyDirection direction = CopyDirection::hostToDevice;
    MemoryKind hostMemory = MemoryKind::pageable; ///< of the host's side
    /// Of a copy to another rank's device: its time on the virtual clock, which is that of the link between
    /// the ranks.
    std::optional<std::int64_t> linkNs;
    LaunchGuard* guard = nullptr;
    LaunchTiming* timing = nullptr;
};

/// A mark in a stream for which others wait. The semantics are those of cudaEvent_t: a wait is for the most
/// recent record() submitted before it.
class Event {
public:
    virtual ~Event() = default;
    /// The number of records submitted so far; called by the submitting thread. A stream of another backend
    /// remembers the number when the wait is submitted, because the event may be recorded again before the
    /// wait is executed.
    virtual std::uint64_t recorded() const = 0;
    /// Blocks the calling thread, which may be any, until record number `record` has passed.
    virtual void waitFor(std::uint64_t record) = 0;
    /// The time of record number `record`, which has passed, in ns. An event remembers only its last records;
    /// for an earlier one it gives the time of a later one.
    virtual std::int64_t virtualTime(std::uint64_t record) const = 0;
    virtual bool isDone() const = 0;
    void synchronize() { waitFor(recorded()); }
};

/// Statistics of a stream's CUDA graphs (Stream::launchStretch).
struct ReplayCounts {
    std::int64_t graphs = 0;   ///< graphs that exist
    std::int64_t launches = 0; ///< launches in these graphs
    std::int64_t replays = 0;  ///< launches of graphs
    std::int64_t refused =
        0; ///< graphs that could not be made or launched; their launches were submitted one by one

    ReplayCounts& operator+=(const ReplayCounts& other) noexcept {
        graphs += other.graphs;
        launches += other.launches;
        replays += other.replays;
        refused += other.refused;
        return *this;
    }
};

/// An ordered queue of work on one device. All calls come from one thread and return before the work is done.
/// Work starts at flush() at the latest. Failures of the work go to its guard.
class Stream {
public:
    virtual ~Stream() = default;
    /// Compiles or loads the kernel of a chain, if needed. Blocks until it is ready. Throws Error.
    virtual void prepare(const Launch&) {}
    virtual void launch(const Launch& launch) = 0;
    /// Like launch() for each element in turn. A stretch may be passed again after its timings were
    /// collected. It must then be the same object, with unchanged launches that read the same memory; so a
    /// device may keep a CUDA graph of it.
    virtual void launchStretch(std::span<const Launch* const> stretch) {
        for (const Launch* one : stretch) launch(*one);
    }
    /// The stream must be idle.
    virtual ReplayCounts replayed() const { return {}; }
    virtual void copy(const Copy& copy) = 0;
    virtual void record(Event& event) = 0;
    /// Later work waits for `event`, which may belong to another backend.
    virtual void wait(Event& event) = 0;
    virtual void flush() = 0;
    /// Blocks until all submitted work is done.
    virtual void synchronize() = 0;
    /// The number of launches and copies passed since the stream was made, including skipped ones. May be
    /// called from any thread.
    virtual std::uint64_t passed() const = 0;
    /// The virtual clock in ns; the stream must be idle.
    virtual std::int64_t clock() const = 0;
    /// Sets the virtual clock in ns; the stream must be idle.
    virtual void resetClock(std::int64_t virtualNow) = 0;
};

/// The description of a device.
struct DeviceInfo {
    Device device;
    std::string name;   ///< "AMD EPYC", "NVIDIA H200", "simulated NVIDIA H200"
    std::string detail; ///< "2 threads", "PCIe 5.0 x16"
    bool simulated = false;
    std::size_t memoryBytes = 0;
};

/// Code that runs on a device. The engine above is the same for all backends. Thread-safe, except for its
/// streams.
class Backend {
public:
    virtual ~Backend() = default;
    virtual const DeviceInfo& info() const = 0;
    /// The figures for predictions; a simulated device also takes its times from them.
    virtual const DeviceProfile& profile() const = 0;
    /// The allocator of device memory (of the cpu: pageable memory).
    virtual Allocator& memory() = 0;
    /// The bytes that can still be allocated, including the cache. Queries the device, which takes time on a
    /// shared GPU, and creates a context at the first call.
    virtual std::size_t freeBytes() = 0;
    /// The allocator of host memory that this device copies at full speed.
    virtual Allocator& pinnedMemory() = 0;
    virtual std::unique_ptr<Stream> createStream(QueueKind kind) = 0;
    virtual std::unique_ptr<Event> createEvent() = 0;
    /// Whether there is a kernel for this op and these dtypes: those of the connected inputs, then those of
    /// narrow outputs. A source has those of its outputs. `host` is the op's host kernel, or null.
    virtual bool supports(const char* op, HostKernel host, std::span<const DType> dtypes) const = 0;
    /// Whether this pointwise op can be part of a fused chain on tensors of this floating dtype
    /// (Launch::chain).
    virtual bool fuses(const char* op, const Attributes& attributes, DType dtype) const;
    /// Whether this op, an activation or an Add, can be fused into a matrix product or convolution of this
    /// dtype (OpChain::Kind::product).
    virtual bool endsProduct(const char* op, const Attributes& attributes, DType dtype) const;
    /// Whether copies to `other` are direct.
    virtual bool canCopyTo(const Backend& other) const = 0;
    /// A reason why the device is slower than expected ("runs … one by one: …"), or empty.
    virtual std::string remark() const { return {}; }
    /// Makes the timings of finished launches valid. Host streams write them immediately.
    virtual void collect(std::span<LaunchTiming> timings) = 0;
};

inline bool Backend::fuses(const char*, const Attributes&, DType) const { return false; }
inline bool Backend::endsProduct(const char*, const Attributes&, DType) const { return false; }

} // namespace twb
