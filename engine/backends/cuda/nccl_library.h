#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace twb::cuda::nccl {

// NCCL's functions and types as in version 2.10 and later. Its header is not needed to build.

using Communicator = struct OpaqueCommunicator*;
/// An id of 128 bytes, passed by value.
struct UniqueId {
    std::array<char, 128> bytes;
};
/// ncclResult_t.
enum Result : int {
    kSuccess = 0,
    kUnhandledCudaError = 1,
    kSystemError = 2,
    kInternalError = 3,
    kInvalidArgument = 4,
    kInvalidUsage = 5,
    kRemoteError = 6,
    kInProgress = 7
};
/// ncclDataType_t.
enum Type : int {
    kInt8 = 0,
    kUint8 = 1,
    kInt32 = 2,
    kUint32 = 3,
    kInt64 = 4,
    kUint64 = 5,
    kFloat16 = 6,
    kFloat32 = 7,
    kFloat64 = 8,
    kBfloat16 = 9
};
/// ncclRedOp_t.
enum Reduce : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

struct Library {
    int (*version)(int*) = nullptr;
    int (*uniqueId)(UniqueId*) = nullptr;
    int (*init)(Communicator*, int, UniqueId, int) = nullptr;
    int (*destroy)(Communicator) = nullptr;
    int (*abort)(Communicator) = nullptr;
    const char* (*errorText)(int) = nullptr;
    const char* (*lastError)(Communicator) = nullptr;
    int (*asyncError)(Communicator, int*) = nullptr;
    int (*groupStart)() = nullptr;
    int (*groupEnd)() = nullptr;
    int (*allReduce)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
    int (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
    int (*reduce)(const void*, void*, std::size_t, int, int, int, Communicator, cudaStream_t) = nullptr;
    int (*allGather)(const void*, void*, std::size_t, int, Communicator, cudaStream_t) = nullptr;
    int (*reduceScatter)(const void*, void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
    int (*send)(const void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
    int (*receive)(void*, std::size_t, int, int, Communicator, cudaStream_t) = nullptr;
};

/// Opens $TWB_NCCL or, if it is not set, libnccl.so.2; the library is never closed. Null if it cannot be used
/// ("none" disables it); then `problem` is a clause that says why.
std::shared_ptr<const Library> open(std::string& problem);

} // namespace twb::cuda::nccl
