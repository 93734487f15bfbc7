#include "backends/cpu/blas.h"

#include "core/error.h"

#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <condition_variable>
#include <cstddef>
#include <dlfcn.h>
#include <mutex>
#include <sys/mman.h>
#include <type_traits>

namespace twb {
namespace {

/// A work buffer of OpenBLAS on x86-64 (BUFFER_SIZE in common_x86_64.h), the largest of all its
/// architectures.
constexpr std::size_t kBuffer = std::size_t(128) << 20;
/// For the library's own code and data, and for allocations of other threads between the check and the use.
constexpr std::size_t kReserve = std::size_t(64) << 20;

/// The number of threads for which OpenBLAS allocates buffers: OpenMP's default at start-up.
#ifdef _OPENMP
const int kThreads = omp_get_max_threads();
#else
const int kThreads = 1;
#endif

/// Whether the process can map this many bytes now, under its own limit (ulimit -v) and the machine's.
bool hasRoomFor(std::size_t bytes) {
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return false;
    ::munmap(pages, bytes);
    return true;
}

[[noreturn]] void refuse(std::string_view library, std::size_t bytes) {
    throw Error(
        ErrorCode::outOfMemory,
        fmt::format("not enough memory for a matrix product: {} needs {} MB of address space. Raise the "
                    "limit (ulimit -v) or use fewer threads (OMP_NUM_THREADS=1)",
                    library, bytes >> 20));
}

BlasFunctions open() {
    const std::size_t needed = (static_cast<std::size_t>(kThreads) + 1) * kBuffer + kReserve;
    requireRoom("OpenBLAS", needed);
    // First the OpenMP build that CMake found, then the system's default.
    void* library = ::dlopen(TWB_OPENBLAS_FOLDER "/libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char* reason = ::dlerror();
        throw Error(ErrorCode::unsupported,
                    fmt::format("cannot load OpenBLAS, which matrix products need: {}. Install the package "
                                "libopenblas0-openmp",
                                reason ? reason : "no reason is given"));
    }
    BlasFunctions functions;
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (!function)
            throw Error(ErrorCode::unsupported,
                        fmt::format("the OpenBLAS library of this machine has no function {}", name));
    };
    find(functions.sgemm, "cblas_sgemm");
    find(functions.dgemm, "cblas_dgemm");
    find(functions.sgemv, "cblas_sgemv");
    find(functions.dgemv, "cblas_dgemv");
    return functions;
}

/// The calls that are running, and the number of buffers that OpenBLAS has allocated for them.
struct Calls {
    std::mutex mutex;
    std::condition_variable ended;
    int running = 0;
    int buffers = 0;
};

Calls& calls() {
    static Calls one;
    return one;
}

const BlasFunctions& enter() {
    static const BlasFunctions functions = open(); // if it throws, the next call tries again
    Calls& now = calls();
    std::unique_lock lock(now.mutex);
    for (;;) {
        if (now.running < now.buffers) break;
        if (hasRoomFor(kBuffer + kReserve)) {
            ++now.buffers;
            break;
        }
        if (now.buffers == 0) refuse("OpenBLAS", kBuffer + kReserve);
        now.ended.wait(lock);
    }
    ++now.running;
    return functions;
}

} // namespace

void requireRoom(std::string_view library, std::size_t bytes) {
    if (!hasRoomFor(bytes)) refuse(library, bytes);
}

BlasCall::BlasCall() : m_functions(enter()) {}

BlasCall::~BlasCall() {
    Calls& now = calls();
    {
        const std::lock_guard lock(now.mutex);
        --now.running;
    }
    now.ended.notify_one();
}

} // namespace twb
