#include "backends/cuda/launch_queue.h"

#include "backends/cuda/kernels/fault.h"
#include "core/error.h"

#include <cstring>
#include <new>
#include <string>

namespace twb::cuda {
namespace {

/// For shapes, strides and scalars of launches that have not started yet.
constexpr std::size_t kUploadChunk = 16 << 10;
constexpr std::size_t kUploadChunks = 16;

BlasPair handlesFor(const GpuResources& gpu, cudaStream_t stream) {
    const BlasPair pair = gpu.blas->take();
    try {
        setBlasStream(pair, stream);
    } catch (...) {
        gpu.blas->giveBack(pair);
        throw;
    }
    return pair;
}

/// Lets this thread pin pages while one of its streams captures; these calls are not part of the graph.
class OutsideOfCapture {
public:
    OutsideOfCapture() { exchange(); }
    ~OutsideOfCapture() { exchange(); }
    OutsideOfCapture(const OutsideOfCapture&) = delete;
    OutsideOfCapture& operator=(const OutsideOfCapture&) = delete;

private:
    void exchange() { cudaThreadExchangeStreamCaptureMode(&m_mode); }
    cudaStreamCaptureMode m_mode = cudaStreamCaptureModeRelaxed;
};

} // namespace

LaunchQueue::LaunchQueue(const GpuResources& gpu, cudaStream_t stream)
    : m_gpu(gpu), m_stream(stream), m_blas(handlesFor(gpu, stream)),
      m_copies(*gpu.gpu, stream, kUploadChunks),
      m_uploads(m_copies, *gpu.pinned, kUploadChunk, kUploadChunks) {}

LaunchQueue::~LaunchQueue() { m_gpu.blas->giveBack(m_blas); }

void LaunchQueue::upload(void* target, const void* source, std::size_t bytes) {
    if (!m_captured) return m_uploads.toDevice(target, source, bytes);
    const OutsideOfCapture outside;
    std::vector<BufferPtr>& uploads = m_captured->uploads;
    uploads.push_back(m_gpu.pinned->allocate(bytes, MemoryKind::pinned));
    std::memcpy(uploads.back()->data(), source, bytes);
    m_copies.toDevice(target, uploads.back()->data(), bytes);
}

Fault* LaunchQueue::fault() {
    if (m_fault) return m_fault;
    if (!m_captured) {
        if (!m_faultMemory) m_faultMemory = m_gpu.pinned->allocate(sizeof(Fault), MemoryKind::pinned);
        return m_fault = new (m_faultMemory->data()) Fault;
    }
    constexpr std::size_t perBlock = KeptForReplays::kFaultsPerBlock;
    const std::size_t at = m_captured->faults.size() % perBlock;
    if (at == 0) {
        const OutsideOfCapture outside;
        m_captured->faultBlocks.push_back(
            m_gpu.pinned->allocate(perBlock * sizeof(Fault), MemoryKind::pinned));
    }
    m_fault = new (static_cast<Fault*>(m_captured->faultBlocks.back()->data()) + at) Fault;
    m_captured->faults.push_back({m_fault, m_guard, m_step});
    return m_fault;
}

void LaunchQueue::begin(const Launch& launch) noexcept {
    m_op = launch.op;
    m_guard = launch.guard;
    m_step = launch.step;
    m_allowsTf32 = launch.allowTf32;
    m_fault = nullptr;
}

void LaunchQueue::throwFault() const { throwIfRaised(*m_fault); }

} // namespace twb::cuda
