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
#include <span>
#include <string>

namespace twb {

/// What a queue of a device is for. A GPU has one engine of each, which is why copies can run beside kernels.
enum class QueueKind : std::uint8_t { compute, hostToDevice, deviceToHost };

/// When one launch ran. `start`/`end` are on the host's steady clock in ns; `virtualStart`/`virtualEnd` on
/// the run's virtual clock, where a simulated device takes what its profile says and a real one what was
/// measured. Valid once the stream passed the launch and Backend::collect was called for it.
struct LaunchTiming {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t virtualStart = 0;
    std::int64_t virtualEnd = 0;
};

/// Decides on the stream's own thread, just before a launch, whether it still may run, and hears of failures.
/// Implemented by the executor: a step whose inputs failed must not run, all others must.
class LaunchGuard {
public:
    virtual ~LaunchGuard() = default;
    /// Set on the first failure or on a cancel; while it is clear no launch asks mayRun.
    std::atomic<bool> alert{false};
    /// Not null where the kernels and copies that the host runs must take turns: each holds it while it runs.
    std::mutex* turn = nullptr;
    virtual bool mayRun(std::uint32_t step) noexcept = 0;
    virtual void failed(std::uint32_t step, std::exception_ptr error) noexcept = 0;
};

/// One kernel launch. Everything pointed to outlives the launch's completion.
struct Launch {
    std::uint32_t step = 0; ///< for the guard
    const char* op = "";    ///< the op's name, by which a backend with kernels of its own finds them
    HostKernel kernel = nullptr;
    const OpChain* chain = nullptr; ///< what `op` stands for, where that is several; else null
    std::span<const TensorView> inputs;
    std::span<const TensorView> outputs;
    const Attributes* attributes = nullptr;
    const TensorFiles* files = nullptr;
    StepMemory* memory = nullptr; ///< the step's own in this run
    Cost cost;
    bool allowTf32 = false; ///< products of f32 may be rounded to TF32 where a device has it
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
    MemoryKind hostMemory = MemoryKind::pageable; ///< of the host side
    LaunchGuard* guard = nullptr;
    LaunchTiming* timing = nullptr;
};

/// A mark in a stream that others wait for; the semantics of cudaEvent_t: waiting means waiting for the
/// most recent record() that was submitted before the wait was.
class Event {
public:
    virtual ~Event() = default;
    /// Records submitted so far; asked by the thread that submits. A stream of another backend remembers the
    /// number when it is told to wait, because the event may be recorded anew before it comes to waiting.
    virtual std::uint64_t recorded() const = 0;
    /// Blocks the calling thread, which may be any, until record number `record` was passed.
    virtual void waitFor(std::uint64_t record) = 0;
    /// Of the last record passed, in ns.
    virtual std::int64_t virtualTime() const = 0;
    virtual bool isDone() const = 0;
    void synchronize() { waitFor(recorded()); }
};

/// What a stream made of the stretches that it was given (Stream::launchStretch).
struct ReplayCounts {
    std::int64_t graphs = 0;   ///< that lie ready: several launches, made by one call
    std::int64_t launches = 0; ///< in them
    std::int64_t replays = 0;  ///< of graphs
    std::int64_t refused = 0;  ///< graphs that could not be made or launched: one launch at a time then

    ReplayCounts& operator+=(const ReplayCounts& other) noexcept {
        graphs += other.graphs;
        launches += other.launches;
        replays += other.replays;
        refused += other.refused;
        return *this;
    }
};

/// An ordered queue of work of one device. All calls come from one thread and return before the work is
/// done; work starts at flush() at the latest. Errors of the work go to its guard.
class Stream {
public:
    virtual ~Stream() = default;
    /// Makes what `launch` runs, where that is still to be made and takes long: the kernel of a chain is
    /// compiled, or looked for among those of earlier runs. Comes back when it is done. Throws Error.
    virtual void prepare(const Launch&) {}
    virtual void launch(const Launch& launch) = 0;
    /// As launch() for each of them in turn. The same stretch, which is the same memory, may come again, as
    /// it is, once its timings were collected: the same launches, and the same in all host memory that these
    /// read. So a device may keep what it takes to launch all of it again.
    virtual void launchStretch(std::span<const Launch* const> stretch) {
        for (const Launch* one : stretch) launch(*one);
    }
    /// Of an idle stream.
    virtual ReplayCounts replayed() const { return {}; }
    virtual void copy(const Copy& copy) = 0;
    virtual void record(Event& event) = 0;
    /// Work submitted from now on waits for `event`, which may be another backend's.
    virtual void wait(Event& event) = 0;
    virtual void flush() = 0;
    /// Blocks until everything submitted is done.
    virtual void synchronize() = 0;
    /// Launches and copies passed since the stream was made, skipped ones included. From any thread.
    virtual std::uint64_t passed() const = 0;
    /// The virtual clock of an idle stream, in ns.
    virtual std::int64_t clock() const = 0;
    /// Sets the virtual clock of an idle stream, in ns.
    virtual void resetClock(std::int64_t virtualNow) = 0;
};

/// What a device is, for people and for the rules.
struct DeviceInfo {
    Device device;
    std::string name;   ///< "AMD EPYC", "NVIDIA H200", "simulated NVIDIA H200"
    std::string detail; ///< "2 threads", "PCIe 5.0 x16"
    bool simulated = false;
    std::size_t memoryBytes = 0;
};

/// Code that runs on a device. The engine above is the same for all of them. Thread-safe but for its streams.
class Backend {
public:
    virtual ~Backend() = default;
    virtual const DeviceInfo& info() const = 0;
    /// The figures that price work before it runs; for a simulated device also what it takes.
    virtual const DeviceProfile& profile() const = 0;
    /// Device memory (the cpu: pageable).
    virtual Allocator& memory() = 0;
    /// What it can still give, its cache included, asked now: of a GPU that others use, too, this costs some
    /// time, and the first time a context.
    virtual std::size_t freeBytes() = 0;
    /// Host memory that this device copies from and to at full speed.
    virtual Allocator& pinnedMemory() = 0;
    virtual std::unique_ptr<Stream> createStream(QueueKind kind) = 0;
    virtual std::unique_ptr<Event> createEvent() = 0;
    /// Whether a kernel for this op and these dtypes is there. `host` is the op's host kernel, null if it has
    /// none.
    virtual bool supports(const char* op, HostKernel host, std::span<const DType> inputs) const = 0;
    /// Whether it runs this pointwise op, on tensors of this dtype, as a member of a pointwise chain
    /// (Launch::chain).
    virtual bool fuses(const char* op, const Attributes& attributes, DType dtype) const;
    /// Whether it runs this op at the end of a product of matrices or a convolution of this dtype, in its
    /// launch (OpChain::Kind::product): an activation, or an Add.
    virtual bool endsProduct(const char* op, const Attributes& attributes, DType dtype) const;
    /// Whether copies to `other` go directly.
    virtual bool canCopyTo(const Backend& other) const = 0;
    /// What it found to make it slower than it should be, and why: "runs … one by one: …". Empty: nothing.
    virtual std::string remark() const { return {}; }
    /// Makes the timings of finished launches valid; host streams write them as they go.
    virtual void collect(std::span<LaunchTiming> timings) = 0;
};

inline bool Backend::fuses(const char*, const Attributes&, DType) const { return false; }
inline bool Backend::endsProduct(const char*, const Attributes&, DType) const { return false; }

} // namespace twb
