#include "cuda/fake_gpu.h"

#include <cstdio>
#include <cstring>

namespace twb::test::fake {

World& world() {
    static World* const one = new World; // streams of a plugin run until the program ends
    return *one;
}

void start(const Machine& machine) {
    const std::scoped_lock lock(world().mutex);
    world().machine = machine;
    world().lost.clear();
    world().loss = {};
    // Allocations that a lost GPU did not free.
    for (const auto& [address, allocation] : world().allocations)
        std::free(reinterpret_cast<void*>(address)); // NOLINT(performance-no-int-to-ptr)
    world().allocations.clear();
    world().used.clear();
    world().kept.clear();
    world().pageableCopies = 0;
    world().captures = 0;
    world().graphLaunches = 0;
    contexts = 0;
}

bool hasContext(int gpu) { return (contexts >> static_cast<unsigned>(gpu) & 1U) != 0; }

const Machine& machine() { return world().machine; }

void lose(const Loss& loss) {
    const std::scoped_lock lock(world().mutex);
    world().loss = loss;
    world().calls = world().commands = 0;
}

void giveBack() {
    const std::scoped_lock lock(world().mutex);
    world().loss = {};
    world().lost.clear();
}

int counted(Loss::At at) {
    const std::scoped_lock lock(world().mutex);
    return at == Loss::At::call ? world().calls : world().commands;
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
    if (call(stream->gpu) == cudaSuccess) stream->push(std::move(work));
}

int pageableCopies() {
    const std::scoped_lock lock(world().mutex);
    return world().pageableCopies;
}

int captures() {
    const std::scoped_lock lock(world().mutex);
    return world().captures;
}

int graphLaunches() {
    const std::scoped_lock lock(world().mutex);
    return world().graphLaunches;
}

std::size_t liveAllocations() {
    const std::scoped_lock lock(world().mutex);
    return world().allocations.size();
}

} // namespace twb::test::fake

using namespace twb::test::fake;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(lastError, cudaSuccess); }
const char* cudaGetErrorName(cudaError_t status) {
    return status == cudaErrorIllegalAddress       ? "cudaErrorIllegalAddress"
           : status == cudaErrorDevicesUnavailable ? "cudaErrorDevicesUnavailable"
                                                   : "cudaErrorOfTheFake";
}
const char* cudaGetErrorString(cudaError_t status) {
    return status == cudaErrorIllegalAddress       ? "an illegal memory access was encountered"
           : status == cudaErrorDevicesUnavailable ? "CUDA-capable device(s) is/are busy or unavailable"
                                                   : "an error";
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (world().machine.driver < CUDART_VERSION) return say(cudaErrorInsufficientDriver);
    *count = world().machine.gpus;
    return *count > 0 ? cudaSuccess : say(cudaErrorNoDevice);
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = world().machine.driver;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "Fake GPU %d", index);
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->totalGlobalMem = world().machine.memoryBytes;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
    *value = which == cudaDevAttrClockRate         ? 1'000'000
             : which == cudaDevAttrMemoryClockRate ? 1'000'000
                                                   : 1024;
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
    currentGpu = index;
    makeContext(); // from CUDA 12 on
    return call();
}
cudaError_t cudaGetDevice(int* index) {
    *index = currentGpu;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    makeContext();
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    *stream = new CUstream_st;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    makeContext();
    call(stream->gpu);
    if (losesCapture(stream) || losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    std::unique_lock lock(world().mutex);
    const std::uint64_t until = stream->submitted;
    world().changed.wait(lock, [&] { return stream->completed >= until; });
    return say(stateOf(stream->gpu));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    makeContext();
    if (losesCapture(stream) || losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    const std::scoped_lock lock(world().mutex);
    if (isLost(stream->gpu)) return say(stateOf(stream->gpu));
    return stream->completed >= stream->submitted ? cudaSuccess : say(cudaErrorNotReady);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    makeContext();
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    if (losesCapture(stream)) return say(cudaErrorStreamCaptureUnsupported);
    std::uint64_t until = 0;
    {
        const std::scoped_lock lock(world().mutex);
        until = event->submitted;
        if (world().machine.forgetWaits) return cudaSuccess;
    }
    stream->push([event, until] {
        std::unique_lock lock(world().mutex);
        world().changed.wait(lock, [&] { return event->completed >= until || isLost(event->gpu); });
    });
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    makeContext();
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    makeContext();
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    if (losesCapture(stream))
        return say(cudaErrorStreamCaptureUnsupported); // such an event only orders work within the graph and
                                                       // has no time
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock(world().mutex);
        number = ++event->submitted;
    }
    stream->push([event, number] {
        const std::scoped_lock lock(world().mutex);
        event->completed = std::max(event->completed, number);
        event->time = Clock::now();
        world().changed.notify_all();
    });
    return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    if (!stream->captured || flags != cudaEventRecordExternal) return cudaEventRecord(event, stream);
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    stream->push([event] {
        const std::scoped_lock lock(world().mutex);
        event->completed = ++event->submitted;
        event->time = Clock::now();
        world().changed.notify_all();
    });
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    makeContext();
    if (losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    const std::scoped_lock lock(world().mutex);
    if (isLost(event->gpu)) return say(stateOf(event->gpu));
    return event->completed >= event->submitted ? cudaSuccess : say(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    makeContext();
    call(event->gpu);
    if (losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    std::unique_lock lock(world().mutex);
    const std::uint64_t until = event->submitted;
    world().changed.wait(lock, [&] { return event->completed >= until || isLost(event->gpu); });
    return say(stateOf(event->gpu));
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
    makeContext();
    if (const cudaError_t state = call(from->gpu); state != cudaSuccess) return state;
    const std::scoped_lock lock(world().mutex);
    if (from->completed < from->submitted || to->completed < to->submitted) return say(cudaErrorNotReady);
    const std::chrono::duration<double, std::milli> passed = to->time - from->time;
    *ms = static_cast<float>(passed.count() * world().machine.eventScale);
    return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    makeContext();
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    *pool = new CUmemPoolHandle_st{properties->location.id};
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    delete pool;
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr, void* value) {
    makeContext();
    const std::scoped_lock lock(world().mutex);
    *static_cast<std::uint64_t*>(value) = world().used[pool->gpu] + world().kept[pool->gpu];
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    const std::scoped_lock lock(world().mutex);
    world().kept[pool->gpu] = 0;
    return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    const std::scoped_lock lock(world().mutex);
    if (stream->captured) {
        *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
        stream->captured->memory.push_back(*memory);
        world().allocations[reinterpret_cast<std::uintptr_t>(*memory)] = {bytes, pool->gpu};
        return cudaSuccess;
    }
    if (world().used[pool->gpu] + world().kept[pool->gpu] + bytes > world().machine.memoryBytes)
        return say(cudaErrorMemoryAllocation);
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    world().used[pool->gpu] += bytes;
    world().allocations[reinterpret_cast<std::uintptr_t>(*memory)] = {bytes, pool->gpu};
    return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    if (stream->captured) { // the graph still owns it
        stream->push([memory] {
            const std::scoped_lock lock(world().mutex);
            std::memset(memory, 0xdd, find(memory)->bytes);
        });
        return cudaSuccess;
    }
    stream->push([memory] {
        const std::scoped_lock lock(world().mutex);
        const auto at = world().allocations.find(reinterpret_cast<std::uintptr_t>(memory));
        std::memset(memory, 0xdd, at->second.bytes);
        world().used[at->second.gpu] -= at->second.bytes;
        world().kept[at->second.gpu] += at->second.bytes;
        world().allocations.erase(at);
        std::free(memory);
    });
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    makeContext();
    const std::scoped_lock lock(world().mutex);
    *total = world().machine.memoryBytes;
    *free = *total - world().used[currentGpu] - world().kept[currentGpu];
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
    makeContext();
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    if (losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    const std::scoped_lock lock(world().mutex);
    *memory = std::malloc(bytes);
    world().allocations[reinterpret_cast<std::uintptr_t>(*memory)] = {bytes, -1};
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    if (losesCapture()) return say(cudaErrorStreamCaptureUnsupported);
    const std::scoped_lock lock(world().mutex);
    world().allocations.erase(reinterpret_cast<std::uintptr_t>(memory));
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
    makeContext();
    if (const cudaError_t state = call(); state != cudaSuccess) return state;
    const std::scoped_lock lock(world().mutex);
    const Allocation* known = find(memory);
    attributes->type = !known           ? cudaMemoryTypeUnregistered
                       : known->gpu < 0 ? cudaMemoryTypeHost
                                        : cudaMemoryTypeDevice;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    makeContext();
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    {
        const std::scoped_lock lock(world().mutex);
        if (!find(target) || !find(source)) ++world().pageableCopies;
    }
    stream->push([=] { std::memcpy(target, source, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
    makeContext();
    if (const cudaError_t state = call(stream->gpu); state != cudaSuccess) return state;
    stream->push([=] { std::memset(target, value, bytes); });
    return cudaSuccess;
}

} // extern "C"
