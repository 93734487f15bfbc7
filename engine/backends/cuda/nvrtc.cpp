#include "backends/cuda/nvrtc.h"

#include "core/error.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <memory>
#include <nvrtc.h>
#include <type_traits>
#include <vector>

namespace twb::cuda {
namespace {

/// The library's functions; the library is never closed.
struct Library {
    decltype(&::nvrtcVersion) version = nullptr;
    decltype(&nvrtcGetNumSupportedArchs) archCount = nullptr;
    decltype(&nvrtcGetSupportedArchs) archs = nullptr;
    decltype(&nvrtcCreateProgram) create = nullptr;
    decltype(&nvrtcDestroyProgram) destroy = nullptr;
    decltype(&nvrtcCompileProgram) compile = nullptr;
    decltype(&nvrtcGetProgramLogSize) logSize = nullptr;
    decltype(&nvrtcGetProgramLog) log = nullptr;
    decltype(&nvrtcGetCUBINSize) cubinSize = nullptr;
    decltype(&nvrtcGetCUBIN) cubin = nullptr;
    decltype(&nvrtcGetPTXSize) ptxSize = nullptr;
    decltype(&nvrtcGetPTX) ptx = nullptr;

    bool load() {
        int driver = 0;
        if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
        void* library = nullptr;
        for (const std::string& file : nvrtcFiles(driver))
            if (!library) library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!library) return false;
        bool all = true;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            all = all && function;
        };
        find(version, "nvrtcVersion");
        find(archCount, "nvrtcGetNumSupportedArchs");
        find(archs, "nvrtcGetSupportedArchs");
        find(create, "nvrtcCreateProgram");
        find(destroy, "nvrtcDestroyProgram");
        find(compile, "nvrtcCompileProgram");
        find(logSize, "nvrtcGetProgramLogSize");
        find(log, "nvrtcGetProgramLog");
        find(cubinSize, "nvrtcGetCUBINSize");
        find(cubin, "nvrtcGetCUBIN");
        find(ptxSize, "nvrtcGetPTXSize");
        find(ptx, "nvrtcGetPTX");
        return all;
    }
};

const Library* library() {
    static const std::unique_ptr<const Library> found = [] {
        auto made = std::make_unique<Library>();
        return made->load() ? std::unique_ptr<const Library>(std::move(made)) : nullptr;
    }();
    return found.get();
}

class Program {
public:
    explicit Program(const std::string& source) {
        if (library()->create(&m_program, source.c_str(), "chain.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS)
            throw Error(ErrorCode::failed, "NVRTC could not be started");
    }
    ~Program() { library()->destroy(&m_program); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    void compile(const std::string& architecture) {
        const std::string option = "--gpu-architecture=" + architecture;
        // Without contraction: a product is rounded before the next op adds to it, as if it had been stored.
        const std::array options{option.c_str(), "--std=c++20", "--fmad=false"};
        if (library()->compile(m_program, static_cast<int>(options.size()), options.data()) == NVRTC_SUCCESS)
            return;
        throw Error(ErrorCode::failed, "NVRTC could not compile a kernel of fused ops: " +
                                           text(library()->logSize, library()->log));
    }
    template <class Size, class Get> std::string text(Size size, Get get) const {
        std::size_t bytes = 0;
        if (size(m_program, &bytes) != NVRTC_SUCCESS) return {};
        std::string out(bytes, '\0');
        if (get(m_program, out.data()) != NVRTC_SUCCESS) return {};
        return out;
    }

private:
    nvrtcProgram m_program = nullptr;
};

/// The newest architecture, as major × 10 + minor, that NVRTC supports and that is not newer than this one.
int nearestArchitecture(int capability) {
    int count = 0;
    if (library()->archCount(&count) != NVRTC_SUCCESS) count = 0;
    std::vector<int> all(static_cast<std::size_t>(count));
    if (count > 0) library()->archs(all.data());
    int nearest = 0;
    for (const int each : all)
        if (each <= capability) nearest = std::max(nearest, each);
    if (nearest == 0)
        throw Error(ErrorCode::failed, fmt::format("NVRTC does not compile for compute capability {}.{}",
                                                   capability / 10, capability % 10));
    return nearest;
}

} // namespace

std::vector<std::string> nvrtcFiles(int driver) {
    constexpr int own = CUDART_VERSION / 1000;
    constexpr int least = 12; // C++20
    std::vector<std::string> files{fmt::format("libnvrtc.so.{}", own)};
    for (int major = driver / 1000; major >= least; --major)
        if (major != own) files.push_back(fmt::format("libnvrtc.so.{}", major));
    return files;
}

bool hasNvrtc() { return library() != nullptr; }

std::string nvrtcVersion() {
    int major = 0;
    int minor = 0;
    library()->version(&major, &minor);
    return fmt::format("{}.{}", major, minor);
}

std::string compileForGpu(const std::string& source, int capability) {
    const int nearest = nearestArchitecture(capability);
    Program program(source);
    if (nearest == capability) {
        program.compile(fmt::format("sm_{}", nearest));
        return program.text(library()->cubinSize, library()->cubin);
    }
    program.compile(fmt::format("compute_{}", nearest));
    return program.text(library()->ptxSize, library()->ptx);
}

} // namespace twb::cuda
