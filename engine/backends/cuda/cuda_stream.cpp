#include "backends/cuda/cuda_stream.h"

#include "backends/cuda/cuda_error.h"
#include "backends/cuda/kernels/kernel_table.h"
#include "backends/cuda/kernels/product_chain.h"
#include "backends/cuda/rank_calls.h"
#include "core/error.h"

#include <algorithm>
#include <chrono>
#include <nvtx3/nvToolsExt.h>

namespace twb::cuda {
namespace {

constexpr double kAhead = 50e6; ///< ns of work that may be issued ahead of the GPU
constexpr int kMostAhead = 512;
constexpr double kLongestGraph = kAhead / 2; ///< ns; a second one may be queued behind it
constexpr int kLooks = 2;                    ///< observations of a launch before it may be captured
constexpr std::size_t kStagingChunk = std::size_t{2} << 20;
constexpr std::size_t kStagingChunks = 4;

/// An NVTX range named after the op that is issued in it.
class NamedRange {
public:
    explicit NamedRange(const char* name) { nvtxRangePushA(name); }
    ~NamedRange() { nvtxRangePop(); }
    NamedRange(const NamedRange&) = delete;
    NamedRange& operator=(const NamedRange&) = delete;
};

/// Whether the GPU's copy engine can read this host memory directly. Memory requested as pinned is pageable
/// if another backend allocated it.
bool isPinned(const void* memory) {
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, memory), "querying an address");
    return attributes.type != cudaMemoryTypeUnregistered;
}

} // namespace

CudaStream::CudaStream(const GpuResources& gpu, const DeviceProfile& profile, QueueKind kind)
    : m_gpu(gpu), m_profile(profile) {
    m_gpu.gpu->throwIfLost();
    m_gpu.gpu->use();
    m_gpu.gpu->check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "creating a stream");
    try {
        m_timeline = std::make_unique<Timeline>(m_gpu.gpu, m_stream);
        if (kind == QueueKind::collective) m_calls = m_gpu.calls;
        if (kind == QueueKind::compute) m_queue = std::make_unique<LaunchQueue>(m_gpu, m_stream);
        m_copies = std::make_unique<StreamCopies>(*m_gpu.gpu, m_stream, kStagingChunks);
        m_ring = std::make_unique<StagingRing>(*m_copies, *m_gpu.pinned, kStagingChunk, kStagingChunks);
        m_thread = std::thread([this] { work(); });
    } catch (...) {
        m_gpu.gpu->findsLoss(m_stream, "preparing a stream");
        cudaStreamDestroy(m_stream);
        m_gpu.gpu->throwIfLost();
        throw;
    }
}

CudaStream::~CudaStream() {
    push({});
    m_thread.join();
    m_gpu.gpu->use();
    cudaStreamSynchronize(m_stream);
    m_pieces.clear();
    // Memory of graphs belongs to no pool and cannot be reused.
    if (m_replayed.graphs > 0) cudaDeviceGraphMemTrim(m_gpu.gpu->index());
    m_ring.reset();
    m_queue.reset();
    m_timeline.reset();
    cudaStreamDestroy(m_stream);
}

void CudaStream::prepare(const Launch& launch) {
    if (!launch.chain || launch.chain->kind != OpChain::Kind::pointwise || launch.memory->state) return;
    m_gpu.gpu->makeCurrent(); // the driver API requires a context
    launch.memory->state = m_gpu.chains->prepare(*launch.chain, launch.outputs[0].dtype);
}

void CudaStream::launch(const Launch& launch) {
    Command command;
    command.kind = Command::Kind::launch;
    command.launch = &launch;
    push(std::move(command));
}

void CudaStream::launchStretch(std::span<const Launch* const> stretch) {
    Command command;
    command.kind = Command::Kind::stretch;
    command.stretch = stretch;
    push(std::move(command));
}

void CudaStream::copy(const Copy& copy) {
    Command command;
    command.kind = Command::Kind::copy;
    command.copy = &copy;
    push(std::move(command));
}

void CudaStream::record(Event& event) {
    Command command;
    command.kind = Command::Kind::record;
    command.mark = static_cast<CudaEvent&>(event).newMark();
    push(std::move(command));
}

void CudaStream::wait(Event& event) {
    Command command;
    if (const auto* own = dynamic_cast<const CudaEvent*>(&event)) {
        command.kind = Command::Kind::wait;
        command.mark = own->lastMark();
        if (!command.mark) return; // never recorded: nothing to wait for
    } else {
        command.kind = Command::Kind::waitForeign;
        command.event = &event;
        command.record = event.recorded();
    }
    push(std::move(command));
}

void CudaStream::push(Command command) {
    {
        const std::scoped_lock lock(m_mutex);
        m_commands.push_back(std::move(command));
        ++m_submitted;
    }
    m_changed.notify_all();
}

void CudaStream::synchronize() {
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return m_performed == m_submitted; });
    }
    m_gpu.gpu->use();
    if (const cudaError_t status = cudaStreamSynchronize(m_stream); status != cudaSuccess)
        m_gpu.gpu->lose(status, "waiting for a stream");
    if (Timeline::mayHoldFaults()) Timeline::resolveAll(); // the host may read results next
}

void CudaStream::work() {
    if (const cudaError_t status = cudaSetDevice(m_gpu.gpu->index()); status != cudaSuccess)
        m_gpu.gpu->lose(status, "choosing the GPU");
    while (const std::optional<Command> command = next()) {
        perform(*command);
        {
            const std::scoped_lock lock(m_mutex);
            ++m_performed;
        }
        m_changed.notify_all();
    }
}

/// The next command; nothing if the stream ends. While waiting, collects the launches that the GPU has
/// passed.
std::optional<CudaStream::Command> CudaStream::next() {
    std::unique_lock lock(m_mutex);
    while (m_commands.empty()) {
        if (m_ahead.empty()) {
            m_changed.wait(lock, [this] { return !m_commands.empty(); });
        } else {
            lock.unlock();
            dropPassed();
            lock.lock();
            m_changed.wait_for(lock, std::chrono::milliseconds(1), [this] { return !m_commands.empty(); });
        }
    }
    Command command = std::move(m_commands.front());
    m_commands.pop_front();
    if (command.kind == Command::Kind::stop) return std::nullopt;
    return command;
}

void CudaStream::perform(const Command& command) {
    switch (command.kind) {
    case Command::Kind::launch:
        return run(*command.launch);
    case Command::Kind::stretch:
        return run(command.stretch);
    case Command::Kind::copy:
        return run(*command.copy);
    case Command::Kind::record:
        // Before the threads that wait for the mark go on and resolve the timelines.
        m_timeline->addRecord(command.mark);
        if (m_gpu.gpu->isLost())
            command.mark->giveUp();
        else
            command.mark->issue(m_stream);
        return;
    case Command::Kind::wait:
        return issueWait(command.mark);
    case Command::Kind::waitForeign:
        command.event->waitFor(command.record);
        return m_timeline->addWait(command.event->virtualTime(command.record));
    case Command::Kind::stop:
        return;
    }
}

void CudaStream::issueWait(const std::shared_ptr<Mark>& mark) {
    // A short wait, until the other stream's thread has issued the record. The GPU itself waits for the
    // event.
    const bool isThere = mark->waitUntilIssued();
    if (m_calls && Timeline::mayHoldFaults()) mark->wait(); // the other ranks must not get invalid tensors
    m_lastEnd.reset();
    if (isThere && !m_gpu.gpu->isLost())
        if (const cudaError_t status = cudaStreamWaitEvent(m_stream, mark->event(), 0); status != cudaSuccess)
            m_gpu.gpu->lose(status, "waiting for another stream");
    m_timeline->addWait(mark);
}

/// The start of the next launch. If the GPU has not reached the end of the last launch, that end is the
/// start, which saves an event. Otherwise a new event is recorded, so that no idle time counts.
std::shared_ptr<Span> CudaStream::newSpan() {
    auto end = std::make_shared<LentEvent>(m_gpu.gpu->timers());
    if (m_lastEnd && cudaEventQuery(m_lastEnd->get()) == cudaErrorNotReady)
        return std::make_shared<Span>(Span{m_lastEnd, std::move(end)});
    auto start = std::make_shared<LentEvent>(m_gpu.gpu->timers());
    check(cudaEventRecord(start->get(), m_stream), "recording an event");
    return std::make_shared<Span>(Span{std::move(start), std::move(end)});
}

/// Issues one launch or copy between two events that time it. Returns whether it was issued. Failures go to
/// its guard. `call`: of a launch that is a call over ranks, whose end is waited for.
template <class Issue>
bool CudaStream::guarded(LaunchGuard* guard, std::uint32_t step, LaunchTiming* timing, const char* op,
                         double expectedNs, Issue&& issue, const Launch* call,
                         std::optional<std::int64_t> virtualNs) {
    stayClose(expectedNs);
    const bool mayRun = !guard || !guard->alert.load(std::memory_order_relaxed) || guard->mayRun(step);
    std::shared_ptr<Span> span;
    if (mayRun) {
        const NamedRange range(op);
        try {
            m_gpu.gpu->throwIfLost();
            span = newSpan();
            issue();
            check(cudaEventRecord(span->end->get(), m_stream), "recording an event");
            m_lastEnd = span->end;
            if (call) m_calls->finish(*call, span->start->get(), span->end->get());
            if (m_queue && m_queue->mayHaveFault()) {
                // The next launch may depend on it. A graph does not wait: its kernels read no memory by a
                // faulty index, and the host checks before it uses a result.
                check(waitForEvent(span->end->get()), op);
                if (Timeline::mayHoldFaults()) Timeline::resolveAll(); // an earlier fault may be the cause
                m_queue->throwFault();
            }
        } catch (...) {
            span.reset();
            m_lastEnd.reset();
            std::exception_ptr why = std::current_exception();
            if (m_gpu.gpu->findsLoss(m_stream, op))
                why = std::make_exception_ptr(Error(ErrorCode::failed, m_gpu.gpu->lossSentence()));
            if (guard) guard->failed(step, std::move(why));
        }
    }
    if (!span) {
        m_passed.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    m_timeline->addSpan(span, timing, guard, step, op, virtualNs);
    m_ahead.push_back({std::move(span), expectedNs});
    m_aheadNs += expectedNs;
    return true;
}

void CudaStream::run(const Launch& launch, Seen* seen) {
    if (m_calls) {
        guarded(
            launch.guard, launch.step, launch.timing, launch.op, 0, [&] { m_calls->issue(launch, m_stream); },
            &launch);
        return;
    }
    const bool isIssued =
        guarded(launch.guard, launch.step, launch.timing, launch.op, m_profile.kernelNs(launch.cost), [&] {
            waitForScalars(launch);
            issueKernel(launch);
        });
    if (isIssued && seen) m_ahead.back().seen = seen;
}

void CudaStream::run(std::span<const Launch* const> stretch) {
    if (m_calls) { // each is waited for
        for (const Launch* launch : stretch) run(*launch);
        return;
    }
    std::vector<Piece>& pieces = m_pieces[stretch.data()];
    if (pieces.empty()) pieces = cut(stretch);
    if (pieces.empty()) // no times of these steps yet
        for (const Launch* launch : stretch) run(*launch, &m_seen[launch->step]);
    for (Piece& piece : pieces)
        if (!replay(piece))
            for (const Launch* launch : piece.launches) run(*launch);
}

/// Nothing until each of its launches was observed kLooks times. Waits, once per launch, until these have
/// passed.
std::vector<CudaStream::Piece> CudaStream::cut(std::span<const Launch* const> stretch) {
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        const auto known = m_seen.find(stretch[i]->step);
        if (known == m_seen.end()) return {};
        const Seen& seen = known->second;
        while (seen.passed < kLooks && !m_ahead.empty()) waitForFirst();
        if (seen.passed < kLooks) return {};
        const double expectedNs = m_profile.kernelNs(stretch[i]->cost);
        if (pieces.empty() || pieces.back().ns + seen.ns > kLongestGraph) {
            pieces.emplace_back();
            pieces.back().launches = stretch.subspan(i, 0);
        }
        Piece& piece = pieces.back();
        piece.launches = std::span(piece.launches.data(), piece.launches.size() + 1);
        piece.expectedNs += expectedNs;
        piece.ns += seen.ns;
    }
    for (Piece& piece : pieces) piece.mayCapture = piece.launches.size() > 1;
    return pieces;
}

/// Launches a piece as one CUDA graph. False if that is not allowed or fails; then nothing was submitted.
bool CudaStream::replay(Piece& piece) {
    if (!piece.mayCapture || m_gpu.gpu->isLost()) return false;
    stayClose(piece.expectedNs);
    const LaunchGuard* guard = piece.launches.front()->guard;
    if (guard && guard->alert.load(std::memory_order_relaxed)) return false;
    const NamedRange range("CUDA graph");
    std::shared_ptr<Span> span;
    try {
        if (!piece.captured) {
            piece.captured =
                std::make_unique<CapturedLaunches>(*m_gpu.gpu, m_stream, *m_queue, piece.launches,
                                                   [this](const Launch& launch) { issueKernel(launch); });
            ++m_replayed.graphs;
            m_replayed.launches += static_cast<std::int64_t>(piece.launches.size());
        }
        span = newSpan();
        piece.captured->launch(m_stream);
    } catch (const std::exception&) { // the launches are then issued one by one and report their own errors
        piece.mayCapture = false;
        ++m_replayed.refused;
        return false;
    }
    ++m_replayed.replays;
    if (const cudaError_t status = cudaEventRecord(span->end->get(), m_stream); status != cudaSuccess)
        m_gpu.gpu->lose(status, "recording an event");
    m_lastEnd = span->end;
    m_timeline->addReplay(span, piece.captured->times());
    m_ahead.push_back({std::move(span), piece.expectedNs, static_cast<std::uint32_t>(piece.launches.size())});
    m_aheadNs += piece.expectedNs;
    return true;
}

void CudaStream::run(const Copy& copy) {
    // Pinning its pages takes longer than a small copy, and does not count as its time.
    if (copy.direction != CopyDirection::peer && copy.hostMemory == MemoryKind::pageable)
        m_ring->prepare(copy.bytes);
    guarded(
        copy.guard, copy.step, copy.timing, "copy",
        m_profile.copyNs(static_cast<double>(copy.bytes), copy.direction, copy.hostMemory),
        [&] { issueCopy(copy); }, nullptr, copy.linkNs);
}

/// The host reads scalars when it issues a launch. The waits of the stream do not cover that: a copy to
/// pinned memory may still be under way.
void CudaStream::waitForScalars(const Launch& launch) {
    const auto isCopied = [&](std::uint32_t i) {
        const void* data = launch.inputs[i].data;
        return data && isPinned(data);
    };
    if (!std::ranges::any_of(launch.hostScalars, isCopied)) return;
    const LentEvent reached(m_gpu.gpu->marks());
    check(cudaEventRecord(reached.get(), m_stream), "recording an event");
    check(waitForEvent(reached.get()), launch.op);
}

void CudaStream::issueKernel(const Launch& launch) {
    if (!m_queue) throw Error(ErrorCode::unsupported, "kernels run on the compute stream");
    m_queue->begin(launch);
    if (launch.outputs.empty()) return; // a Probe: its input stays in place
    const Kernel* kernel = launch.chain ? nullptr : findKernel(launch.op);
    if (!kernel && !launch.chain)
        throw Error(ErrorCode::unsupported, std::string(launch.op) + " has no kernel for CUDA");
    std::vector<TensorView> inputs(launch.inputs.begin(), launch.inputs.end());
    std::deque<Scratch> scalars;
    for (const std::uint32_t i : launch.hostScalars) {
        TensorView& input = inputs[i];
        if (!input.data) continue;
        scalars.emplace_back(*m_queue, sizeOf(input.dtype));
        m_queue->upload(scalars.back().data(), input.data, sizeOf(input.dtype));
        input.data = scalars.back().data();
    }
    cudaGetLastError(); // cudaErrorNotReady is recorded as an error, but is none
    const KernelCall call{inputs,        launch.outputs, *launch.attributes,
                          launch.memory, *m_queue,       launch.iteration};
    if (!launch.chain)
        kernel->run(call);
    else if (launch.chain->kind == OpChain::Kind::product)
        runProductChain(*launch.chain, call);
    else
        m_gpu.chains->run(*launch.memory->state, inputs, launch.outputs[0], *m_queue);
    check(cudaGetLastError(), launch.op);
}

void CudaStream::issueCopy(const Copy& copy) {
    if (copy.bytes == 0) return;
    if (copy.direction == CopyDirection::peer) {
        // Direct between peers, else through the host: CUDA knows both addresses.
        check(cudaMemcpyAsync(copy.target, copy.source, copy.bytes, cudaMemcpyDefault, m_stream),
              "copying to another GPU");
        return;
    }
    const bool toDevice = copy.direction == CopyDirection::hostToDevice;
    m_copies->setGuard(copy.guard, copy.step);
    if (isPinned(toDevice ? copy.source : copy.target)) {
        if (toDevice)
            m_copies->toDevice(copy.target, copy.source, copy.bytes);
        else
            m_copies->toHost(copy.target, copy.source, copy.bytes);
    } else if (toDevice) {
        m_ring->toDevice(copy.target, copy.source, copy.bytes);
    } else {
        m_ring->toHost(copy.target, copy.source, copy.bytes);
    }
}

/// Waits until the work ahead of the GPU, including the next launch, takes less than kAhead. The estimate
/// combines the profile's time of each launch, corrected by the measured times, with the mean. A longer
/// launch is issued alone: the GPU then idles a little, and a cancel has only one launch to wait for.
void CudaStream::stayClose(double nextNs) {
    dropPassed();
    while (m_ahead.size() >= m_mostAhead || (!m_ahead.empty() && (m_aheadNs + nextNs) * m_slowness > kAhead))
        waitForFirst();
}

void CudaStream::waitForFirst() {
    if (const cudaError_t status = waitForEvent(m_ahead.front().span->end->get()); status != cudaSuccess)
        m_gpu.gpu->lose(status, "waiting for a launch");
    dropFirst();
}

void CudaStream::dropPassed() {
    while (!m_ahead.empty() && cudaEventQuery(m_ahead.front().span->end->get()) != cudaErrorNotReady)
        dropFirst();
}

void CudaStream::dropFirst() {
    const Ahead& first = m_ahead.front();
    float ms = 0;
    if (cudaEventElapsedTime(&ms, first.span->start->get(), first.span->end->get()) == cudaSuccess) {
        const double ns = static_cast<double>(ms) * 1e6;
        if (Seen* const seen = first.seen) seen->ns = seen->passed++ == 0 ? ns : std::min(seen->ns, ns);
        m_meanNs = m_meanNs == 0 ? ns : m_meanNs + (ns - m_meanNs) / 16;
        if (first.expectedNs > 0) m_slowness += (ns / first.expectedNs - m_slowness) / 16;
        // Grows as more launches have known durations.
        const double fit = std::clamp(kAhead / std::max(m_meanNs, 1.0), 1.0, double{kMostAhead});
        m_mostAhead = std::min(m_mostAhead + 1, static_cast<std::size_t>(fit));
    }
    m_aheadNs = m_ahead.size() == 1 ? 0 : m_aheadNs - first.expectedNs;
    m_passed.fetch_add(first.launches, std::memory_order_relaxed);
    m_ahead.pop_front();
}

} // namespace twb::cuda
