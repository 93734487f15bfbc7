#include "backends/cuda/chain_runner.h"
#include "backends/cuda/code_cache.h"
#include "backends/cuda/kernels/chain_launch.h"
#include "backends/cuda/kernels/chain_source.h"
#include "backends/cuda/nvrtc.h"
#include "core/error.h"

#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <dlfcn.h>
#include <type_traits>

namespace twb::cuda {
namespace {

/// The driver API, which launches code that is compiled at run time. The runtime's context is current on each
/// thread that has called makeCurrent().
struct Driver {
    CUresult (*loadModule)(CUmodule*, const void*) = nullptr;
    CUresult (*findFunction)(CUfunction*, CUmodule, const char*) = nullptr;
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       CUstream, void**, void**) = nullptr;
    CUresult (*describe)(CUresult, const char**) = nullptr;

    bool load() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library) return false;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            return function != nullptr;
        };
        return find(loadModule, "cuModuleLoadData") && find(findFunction, "cuModuleGetFunction") &&
               find(launch, "cuLaunchKernel") && find(describe, "cuGetErrorString");
    }
    void check(CUresult status, const char* doing) const {
        if (status == CUDA_SUCCESS) return;
        const char* reason = nullptr;
        if (describe(status, &reason) != CUDA_SUCCESS || !reason) reason = "an unknown error";
        throw Error(ErrorCode::failed, fmt::format("CUDA reports: {} while {}", reason, doing));
    }
};

const Driver* driver() {
    static const std::unique_ptr<const Driver> found = [] {
        auto made = std::make_unique<Driver>();
        return made->load() ? std::unique_ptr<const Driver>(std::move(made)) : nullptr;
    }();
    return found.get();
}

} // namespace

std::shared_ptr<ChainRunner> ChainRunner::find(int capability) {
    if (!driver() || !hasNvrtc()) return nullptr;
    return std::shared_ptr<ChainRunner>(new ChainRunner(capability));
}

void* ChainRunner::makeKernel(const std::string& source) {
    const std::string from = fmt::format("compute {} NVRTC {}\n{}", m_capability, nvrtcVersion(), source);
    CUmodule module = nullptr;
    auto code = cachedCode(from);
    // Code that the driver rejects is compiled again: the file may be older than the driver.
    if (!code || driver()->loadModule(&module, code->data()) != CUDA_SUCCESS) {
        code = compileForGpu(source, m_capability);
        driver()->check(driver()->loadModule(&module, code->data()), "loading a kernel of fused ops");
        cacheCode(from, *code);
    }
    CUfunction function = nullptr;
    driver()->check(driver()->findFunction(&function, module, kChainKernel), "finding a kernel of fused ops");
    return function;
}

void ChainRunner::launchKernel(const Prepared& prepared, std::span<const TensorView> inputs,
                               const TensorView& out, Queue& queue) {
    ChainLaunch launch = chainLaunchOf(inputs, out);
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(
        (threadsOf(launch, out.dtype) - 1) / kChainThreads + 1, std::int64_t{queue.multiprocessors()} * 32));
    void* arguments[] = {&launch};
    driver()->check(driver()->launch(static_cast<CUfunction>(prepared.kernel), blocks, 1, 1, kChainThreads, 1,
                                     1, 0, static_cast<CUstream>(queue.stream()), arguments, nullptr),
                    "launching a kernel of fused ops");
}

} // namespace twb::cuda
