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
    m_captured->push_back(m_gpu.pinned->allocate(bytes, MemoryKind::pinned));
    std::memcpy(m_captured->back()->data(), source, bytes);
    m_copies.toDevice(target, m_captured->back()->data(), bytes);
}

Fault* LaunchQueue::fault() {
    if (m_captured)
        throw Error(ErrorCode::unsupported,
                    std::string(m_op) +
                        " reports errors after each launch, so it cannot be part of a CUDA graph");
    if (!m_faultMemory) m_faultMemory = m_gpu.pinned->allocate(sizeof(Fault), MemoryKind::pinned);
    if (!m_askedForFault) new (m_faultMemory->data()) Fault;
    m_askedForFault = true;
    return static_cast<Fault*>(m_faultMemory->data());
}

void LaunchQueue::begin(const Launch& launch) noexcept {
    m_op = launch.op;
    m_allowsTf32 = launch.allowTf32;
    m_askedForFault = false;
}

void LaunchQueue::throwFault() const { throwIfRaised(*static_cast<const Fault*>(m_faultMemory->data())); }

} // namespace twb::cuda
