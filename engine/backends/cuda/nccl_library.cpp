#include "backends/cuda/nccl_library.h"

#include <fmt/format.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string_view>
#include <type_traits>

namespace twb::cuda::nccl {

std::shared_ptr<const Library> open(std::string& problem) {
    const char* const set = std::getenv("TWB_NCCL");
    const std::string file = set && *set ? set : "libnccl.so.2";
    if (file == "none") {
        problem = "TWB_NCCL=none disables NCCL";
        return nullptr;
    }
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        problem = fmt::format("NCCL not found ({})", file);
        return nullptr;
    }
    auto out = std::make_shared<Library>();
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (!function && problem.empty()) problem = fmt::format("{} has no function {}", file, name);
    };
    find(out->version, "ncclGetVersion");
    find(out->uniqueId, "ncclGetUniqueId");
    find(out->init, "ncclCommInitRank");
    find(out->destroy, "ncclCommDestroy");
    find(out->abort, "ncclCommAbort");
    find(out->errorText, "ncclGetErrorString");
    find(out->asyncError, "ncclCommGetAsyncError");
    find(out->groupStart, "ncclGroupStart");
    find(out->groupEnd, "ncclGroupEnd");
    find(out->allReduce, "ncclAllReduce");
    find(out->broadcast, "ncclBroadcast");
    find(out->reduce, "ncclReduce");
    find(out->allGather, "ncclAllGather");
    find(out->reduceScatter, "ncclReduceScatter");
    find(out->send, "ncclSend");
    find(out->receive, "ncclRecv");
    if (!problem.empty()) return nullptr;
    out->lastError = reinterpret_cast<decltype(out->lastError)>(::dlsym(library, "ncclGetLastError")); // 2.13
    int version = 0;
    constexpr int least = 21000; // 2.10, which can average
    if (out->version(&version) != kSuccess || version < least) {
        problem = fmt::format("NCCL {}.{} is too old: 2.10 is needed", version / 10000, version / 100 % 100);
        return nullptr;
    }
    return out;
}

} // namespace twb::cuda::nccl
