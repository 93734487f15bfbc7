#include "backends/cuda_plugin.h"

#include "cuda_interface_build.h"

#include <fmt/format.h>

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

namespace twb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "libtwb_cuda.so";

CudaDevices none(std::string problem) { return {{}, std::move(problem), nullptr}; }

/// Kernels from outside, and the plugins that take them.
struct OutsideKernels {
    std::mutex mutex;
    std::vector<std::pair<std::string, OutsideCudaKernel>> kernels;
    std::vector<void (*)(const char*, OutsideCudaKernel)> takers;
};
OutsideKernels& outsideKernels() {
    static OutsideKernels all;
    return all;
}

/// A function of the plugin; null if it has none with this name.
template <class Function> Function find(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

/// "libcublas.so.13: cannot open shared object file: No such file or directory" names the missing library.
std::string whyNotLoaded(const fs::path& plugin, std::string_view reason) {
    const auto colon = reason.find(": cannot open shared object file: No such file");
    if (colon == std::string_view::npos || reason.substr(0, colon) == plugin.string())
        return fmt::format("the CUDA plugin {} cannot be loaded: {}", plugin.string(), reason);
    return fmt::format(
        "the CUDA plugin {} needs {}, which is not on this machine: install the CUDA libraries "
        "that it was built with, or name their folder in LD_LIBRARY_PATH",
        plugin.string(), reason.substr(0, colon));
}

/// Whether a driver is installed. Opens one small library; the plugin's libraries are large.
bool hasDriver() {
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) dlclose(driver);
    return driver != nullptr;
}

CudaDevices findDevices() {
    std::error_code failed;
    if (const char* set = std::getenv("TWB_CUDA_PLUGIN"); set && *set) {
        if (std::string_view(set) == "none") return none("TWB_CUDA_PLUGIN=none disables GPUs");
        return loadCudaDevices(fs::absolute(set, failed));
    }
    const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
    const fs::path lib = folder.parent_path() / "lib";
    for (const fs::path& place : {folder, lib, lib / "tensor-workbench"}) {
        if (!fs::exists(place / kFile, failed)) continue;
        if (!hasDriver()) return none("NVIDIA driver not found (libcuda.so.1)");
        return loadCudaDevices(place / kFile);
    }
    return none(
        fmt::format("no CUDA plugin ({}) in {}, {} or {}; install the package tensor-workbench-cuda, or "
                    "build with -DTWB_CUDA=ON and a CUDA toolkit",
                    kFile, folder.string(), lib.string(), (lib / "tensor-workbench").string()));
}

} // namespace

CudaDevices loadCudaDevices(const fs::path& plugin) {
    std::error_code failed;
    if (!fs::exists(plugin, failed)) return none(fmt::format("CUDA plugin not found: {}", plugin.string()));
    // Never closed: backends may live until the program ends, and CUDA cannot be unloaded safely.
    void* library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* reason = dlerror();
        return none(whyNotLoaded(plugin, reason ? reason : "no reason is given"));
    }
    const auto build = find<CudaBuildFunction>(library, "twb_cuda_build");
    const auto open = find<CudaOpenFunction>(library, "twb_cuda_open");
    if (!open) return none(fmt::format("{} is not a CUDA plugin of Tensor Workbench", plugin.string()));
    // Plugins of version 1 have no hash.
    if (const std::string_view hash = build ? build() : "no hash"; hash != kCudaInterfaceBuild)
        return none(fmt::format("the CUDA plugin {} belongs to another build ({}, this program: {}): install "
                                "both from the same build",
                                plugin.string(), hash, kCudaInterfaceBuild));
    CudaDevices devices;
    open(&devices);
    if (devices.addKernel) {
        OutsideKernels& all = outsideKernels();
        const std::scoped_lock lock(all.mutex);
        for (const auto& [op, kernel] : all.kernels) devices.addKernel(op.c_str(), kernel);
        all.takers.push_back(devices.addKernel);
    }
    if (devices.backends.empty() && devices.problem.empty())
        devices.problem = "the CUDA driver reports no GPU";
    return devices;
}

void addCudaKernel(const std::string& op, OutsideCudaKernel kernel) {
    OutsideKernels& all = outsideKernels();
    const std::scoped_lock lock(all.mutex);
    all.kernels.emplace_back(op, kernel);
    for (const auto take : all.takers) take(op.c_str(), kernel);
}

const CudaDevices& cudaDevices() {
    // Never destroyed: CUDA may be unloaded before this at the end of the program.
    static const auto* const devices = new CudaDevices(findDevices());
    return *devices;
}

} // namespace twb
