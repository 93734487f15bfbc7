#include "backends/cuda/rank_calls.h"

#include "backends/cpu/host_stream.h"
#include "backends/cuda/cuda_error.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace twb::cuda {
namespace {

/// NCCL's type of a dtype that it can add.
std::optional<nccl::Type> typeOf(DType dtype) {
    switch (dtype) {
    case DType::f16:
        return nccl::kFloat16;
    case DType::bf16:
        return nccl::kBfloat16;
    case DType::f32:
        return nccl::kFloat32;
    case DType::f64:
        return nccl::kFloat64;
    case DType::i8:
        return nccl::kInt8;
    case DType::u8:
    case DType::boolean: // a byte 0 or 1, of which there is only the maximum
        return nccl::kUint8;
    case DType::i32:
        return nccl::kInt32;
    case DType::u32:
        return nccl::kUint32;
    case DType::i64:
        return nccl::kInt64;
    case DType::u64:
        return nccl::kUint64;
    default:
        return std::nullopt;
    }
}

nccl::Reduce reductionOf(const Attributes& attributes) {
    if (!attributes.has("reduction")) return nccl::kSum;
    const std::string& text = attributes.text("reduction");
    return text == "mean" ? nccl::kAverage : text == "max" ? nccl::kMax : nccl::kSum;
}

std::size_t bytesOf(const TensorView& view) {
    return static_cast<std::size_t>(view.shape.byteCount(view.dtype));
}

void clear(const TensorView& out, cudaStream_t stream) {
    if (bytesOf(out) > 0) check(cudaMemsetAsync(out.data, 0, bytesOf(out), stream), "clearing a tensor");
}

void copy(const TensorView& out, const TensorView& in, cudaStream_t stream) {
    if (bytesOf(out) > 0 && out.data != in.data)
        check(cudaMemcpyAsync(out.data, in.data, bytesOf(out), cudaMemcpyDefault, stream),
              "copying a tensor");
}

int rankIn(const Launch& launch, const char* attribute, const World& world) {
    const std::int64_t rank = launch.attributes->integer(attribute);
    if (rank < world.size()) return static_cast<int>(rank);
    throw Error(ErrorCode::failed, fmt::format("{} is rank {}, but this run has only {} rank{}: set it to a "
                                               "smaller rank",
                                               attribute, rank, world.size(), world.size() == 1 ? "" : "s"));
}

} // namespace

bool RankCalls::isCall(std::string_view op) { return collectiveKindOf(op).has_value(); }

bool RankCalls::supports(std::string_view op, std::span<const DType> dtypes) {
    const auto kind = collectiveKindOf(op);
    if (!kind) return false;
    // The parts of the ranks begin at bytes, but the elements of the joined tensor may not.
    if (*kind == CollectiveKind::allGather) return std::ranges::none_of(dtypes, isPacked);
    return !isReduction(*kind) ||
           std::ranges::all_of(dtypes, [](DType dtype) { return typeOf(dtype).has_value(); });
}

RankCalls::RankCalls(std::shared_ptr<const nccl::Library> library, std::shared_ptr<Gpu> gpu,
                     Allocator& memory, World& world)
    : m_nccl(std::move(library)), m_gpu(std::move(gpu)), m_world(world) {
    nccl::UniqueId id{};
    std::string failure;
    try {
        m_gpu->makeCurrent();
        m_number = memory.allocate(sizeof(std::int32_t), MemoryKind::device);
        const int made = world.rank() == 0 ? m_nccl->uniqueId(&id) : nccl::kSuccess;
        if (made != nccl::kSuccess)
            failure = fmt::format("NCCL reports: {} (ncclGetUniqueId)", m_nccl->errorText(made));
    } catch (const Error& error) {
        failure = error.what();
    }
    // ncclCommInitRank waits for all ranks, so none may call it unless all do.
    std::int64_t failures = failure.empty() ? 0 : 1;
    world.run(
        {CollectiveKind::allReduce, Reduction::max, DType::i64, &failures, &failures, 1, 0, "NCCL ready"});
    if (!failure.empty()) throw Error(ErrorCode::failed, failure);
    if (failures > 0) {
        m_failure = "another rank cannot use NCCL";
        return;
    }
    world.run({CollectiveKind::broadcast, Reduction::sum, DType::u8, id.bytes.data(), id.bytes.data(),
               static_cast<std::int64_t>(id.bytes.size()), 0, "NCCL"});
    const int joined = m_nccl->init(&m_communicator, world.size(), id, world.rank());
    try {
        check(joined, "ncclCommInitRank", "");
    } catch (const Error& error) {
        // All ranks see wrong use, such as two ranks on one GPU. After another failure, the others may wait
        // in NCCL for ever.
        if (joined != nccl::kInvalidUsage && world.size() > 1)
            world.abort(fmt::format("rank {} failed: {}", world.rank(), error.what()));
        throw;
    }
}

RankCalls::~RankCalls() {
    if (!m_communicator) return;
    m_gpu->use();
    // Other ranks may wait for calls that this one will not make.
    const bool hasFailed = m_world.isAborted() || std::uncaught_exceptions() > 0;
    hasFailed ? m_nccl->abort(m_communicator) : m_nccl->destroy(m_communicator);
}

void RankCalls::fail(const std::string& sentence) {
    if (m_failure.empty()) m_failure = sentence;
    // Ends the kernels that wait for other ranks, so that the stream can be left.
    if (m_communicator) m_nccl->abort(std::exchange(m_communicator, nullptr));
    throw Error(ErrorCode::failed, m_failure);
}

void RankCalls::check(int result, const char* function, const char* label) {
    if (result == nccl::kSuccess || result == nccl::kInProgress) return;
    std::string said = m_nccl->errorText(result);
    if (m_nccl->lastError)
        if (const char* more = m_nccl->lastError(m_communicator); more && *more)
            said += fmt::format(": {}", more);
    fail(fmt::format("NCCL reports: {} ({}{}); NCCL_DEBUG=INFO makes it say more", said, function,
                     *label ? fmt::format(" for \"{}\"", label) : std::string()));
}

void RankCalls::issue(const Launch& launch, cudaStream_t stream) {
    if (!m_failure.empty()) throw Error(ErrorCode::failed, m_failure);
    if (m_world.isAborted()) fail(m_world.abortSentence());
    make(launch, stream);
}

void RankCalls::make(const Launch& launch, cudaStream_t stream) {
    const TensorView& in = launch.inputs[0];
    const TensorView& out = launch.outputs[0];
    const auto count = static_cast<std::size_t>(in.elementCount());
    const char* const label = launch.label;
    switch (*collectiveKindOf(launch.op)) {
    case CollectiveKind::allReduce:
        return allReduce(launch, stream);
    case CollectiveKind::broadcast:
        return check(m_nccl->broadcast(in.data, out.data, bytesOf(in), nccl::kUint8,
                                       rankIn(launch, "root", m_world), m_communicator, stream),
                     "ncclBroadcast", label);
    case CollectiveKind::reduce: {
        const int root = rankIn(launch, "root", m_world);
        check(m_nccl->reduce(in.data, out.data, count, *typeOf(in.dtype), nccl::kSum, root, m_communicator,
                             stream),
              "ncclReduce", label);
        if (root != m_world.rank()) clear(out, stream);
        return;
    }
    case CollectiveKind::allGather:
        return check(m_nccl->allGather(in.data, out.data, bytesOf(in), nccl::kUint8, m_communicator, stream),
                     "ncclAllGather", label);
    case CollectiveKind::reduceScatter:
        return check(m_nccl->reduceScatter(in.data, out.data, static_cast<std::size_t>(out.elementCount()),
                                           *typeOf(in.dtype), nccl::kSum, m_communicator, stream),
                     "ncclReduceScatter", label);
    case CollectiveKind::send:
    case CollectiveKind::receive:
        return sendReceive(launch, stream);
    case CollectiveKind::barrier:
        check(m_nccl->allReduce(m_number->data(), m_number->data(), 1, nccl::kInt32, nccl::kMax,
                                m_communicator, stream),
              "ncclAllReduce", label);
        return copy(out, in, stream);
    }
}

/// NCCL makes the calls of a group as one, so the tensors need not be packed.
void RankCalls::allReduce(const Launch& launch, cudaStream_t stream) {
    const char* const label = launch.label;
    const bool isGroup = launch.inputs.size() > 1;
    if (isGroup) check(m_nccl->groupStart(), "ncclGroupStart", label);
    for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
        const TensorView& in = launch.inputs[i];
        const int made =
            m_nccl->allReduce(in.data, launch.outputs[i].data, static_cast<std::size_t>(in.elementCount()),
                              *typeOf(in.dtype), reductionOf(*launch.attributes), m_communicator, stream);
        if (made != nccl::kSuccess && isGroup)
            m_nccl->groupEnd(); // a group that stays open takes in later calls
        check(made, "ncclAllReduce", label);
    }
    if (isGroup) check(m_nccl->groupEnd(), "ncclGroupEnd", label);
}

void RankCalls::sendReceive(const Launch& launch, cudaStream_t stream) {
    const TensorView& in = launch.inputs[0];
    const TensorView& out = launch.outputs[0];
    const int source = rankIn(launch, "source", m_world);
    const int target = rankIn(launch, "target", m_world);
    const int own = m_world.rank();
    if (own == source && own != target)
        check(m_nccl->send(in.data, bytesOf(in), nccl::kUint8, target, m_communicator, stream), "ncclSend",
              launch.label);
    if (own != target) return clear(out, stream);
    if (own == source) return copy(out, in, stream);
    check(m_nccl->receive(out.data, bytesOf(out), nccl::kUint8, source, m_communicator, stream), "ncclRecv",
          launch.label);
}

/// Polls: a call waits for other ranks, of which each may fail.
void RankCalls::waitFor(cudaEvent_t event, const Launch& launch) {
    constexpr int often = 200;
    constexpr auto nap = std::chrono::microseconds(20);
    for (int i = 0;; ++i) {
        const cudaError_t status = cudaEventQuery(event);
        if (status == cudaSuccess) return;
        if (status != cudaErrorNotReady) m_gpu->check(status, launch.op);
        int failed = nccl::kSuccess;
        check(m_nccl->asyncError(m_communicator, &failed), "ncclCommGetAsyncError", launch.label);
        check(failed, launch.op, launch.label);
        if (m_world.isAborted()) fail(m_world.abortSentence());
        if (i < often)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(nap);
    }
}

void RankCalls::finish(const Launch& launch, cudaEvent_t start, cudaEvent_t end) {
    waitFor(start, launch);
    const std::int64_t arrival = steadyNs();
    waitFor(end, launch);
    Collective call;
    call.kind = *collectiveKindOf(launch.op);
    if (call.kind == CollectiveKind::send) {
        const std::int64_t source = launch.attributes->integer("source");
        const std::int64_t target = launch.attributes->integer("target");
        if (source == target || (m_world.rank() != source && m_world.rank() != target)) return; // no call
        if (m_world.rank() == target) call.kind = CollectiveKind::receive;
    }
    call.dtype = launch.inputs[0].dtype;
    for (const TensorView& in : launch.inputs) call.count += in.elementCount();
    if (call.kind == CollectiveKind::reduceScatter) call.count = launch.outputs[0].elementCount();
    call.label = launch.label;
    m_world.note(call, arrival, steadyNs());
}

} // namespace twb::cuda
