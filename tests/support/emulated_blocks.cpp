#include "backends/cuda/kernels/emulated_blocks.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string_view>
#include <ucontext.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

thread_local constinit dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace twb::cuda {
namespace {

constexpr std::size_t kStack = std::size_t{128} << 10;
constexpr unsigned kWarp = 32;

/// A fibre's stack, with its state for the sanitizers.
class Fibre {
public:
    /// Runs f() when switched to; f must end with a switch and never return.
    void start(std::byte* stack, void (*f)()) {
        getcontext(&m_context);
        m_stack = m_context.uc_stack.ss_sp = stack;
        m_size = m_context.uc_stack.ss_size = kStack;
        makecontext(&m_context, f, 0);
#if defined(__SANITIZE_THREAD__)
        m_tsan = __tsan_create_fiber(0);
#endif
    }
    void switchTo(Fibre& next) {
#if defined(__SANITIZE_THREAD__)
        if (!m_tsan) m_tsan = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(next.m_tsan, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
        void* fake = nullptr;
        __sanitizer_start_switch_fiber(&fake, next.m_stack, next.m_size);
#endif
        next.m_last = this;
        swapcontext(&m_context, &next.m_context);
#if defined(__SANITIZE_ADDRESS__)
        arrive(fake);
#endif
    }
    /// Completes a switch on the new stack; on a fibre's first run, the fibre itself calls it.
    void arrive([[maybe_unused]] void* fake = nullptr) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_finish_switch_fiber(fake, &m_last->m_stack, &m_last->m_size);
#endif
    }

private:
    ucontext_t m_context{};
    const void* m_stack = nullptr;
    std::size_t m_size = 0;
    Fibre* m_last = nullptr; ///< the fibre that switched here
#if defined(__SANITIZE_THREAD__)
    void* m_tsan = nullptr;
#endif
};

enum class At { work, warpBarrier, blockBarrier, end };

struct Thread {
    Fibre fibre;
    dim3 index;
    At at = At::work;
    unsigned shuffles = 0;
};

/// The block that this host thread runs.
class Block {
public:
    void run(dim3 size, const std::function<void()>& kernel) {
        m_kernel = &kernel;
        m_count = size.x * size.y * size.z;
        while (m_threads.size() < m_count) {
            m_stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStack));
            m_threads.push_back(std::make_unique<Thread>());
            m_threads.back()->fibre.start(m_stacks.back().get(), [] { Block::own().runThread(); });
        }
        for (unsigned i = 0; i < m_count; ++i) {
            m_threads[i]->index = dim3(i % size.x, i / size.x % size.y, i / size.x / size.y);
            m_threads[i]->at = At::work;
        }
        std::vector<unsigned> warps((m_count + kWarp - 1) / kWarp);
        for (unsigned w = 0; w < warps.size(); ++w) warps[w] = w;
        do {
            std::shuffle(warps.begin(), warps.end(), m_order);
            for (const unsigned warp : warps) runWarp(warp * kWarp, std::min(m_count, (warp + 1) * kWarp));
        } while (release(0, m_count, At::blockBarrier));
    }

    /// Called on a fibre: lets the others run until they reach the same barrier.
    void wait(At place) {
        m_running->at = place;
        Fibre& own = m_running->fibre;
        own.switchTo(hasNext() ? m_running->fibre : m_scheduler);
    }
    unsigned exchange(unsigned value, unsigned distance) {
        const unsigned warp = m_index - m_index % kWarp;
        // Two slots in turn: a lane that is one exchange ahead does not overwrite values that others still
        // read.
        const unsigned turn = m_running->shuffles++ % 2;
        m_lanes[turn][m_index] = value;
        const unsigned other = warp + ((m_index - warp) ^ distance);
        wait(At::warpBarrier);
        return m_lanes[turn][other];
    }
    static Block& own() {
        static thread_local Block block;
        return block;
    }

private:
    /// Once per block in which it takes part.
    void runThread() {
        m_running->fibre.arrive();
        for (;;) {
            (*m_kernel)();
            wait(At::end);
        }
    }

    /// Runs as far as possible without other warps.
    void runWarp(unsigned begin, unsigned end) {
        do {
            m_isReversed = m_order() % 2 == 0;
            m_begin = begin;
            m_end = end;
            if (hasNext()) m_scheduler.switchTo(m_running->fibre);
        } while (release(begin, end, At::warpBarrier));
    }
    /// Runs the next ready fibre of those whose turn is still to come.
    bool hasNext() {
        while (m_begin < m_end) {
            m_index = m_isReversed ? --m_end : m_begin++;
            m_running = m_threads[m_index].get();
            threadIdx = m_running->index;
            if (m_running->at == At::work) return true;
        }
        return false;
    }

    /// Releases threads that are all waiting at a barrier. False if none of them is.
    bool release(unsigned begin, unsigned end, At barrier) {
        const auto isThere = [&](unsigned i) { return m_threads[i]->at == barrier; };
        unsigned there = 0;
        for (unsigned i = begin; i < end; ++i) there += isThere(i) ? 1 : 0;
        if (there == 0) return false;
        if (there < end - begin) {
            std::fprintf(stderr, "emulated block: %u of %u threads are at a barrier of all\n", there,
                         end - begin);
            std::abort();
        }
        for (unsigned i = begin; i < end; ++i) m_threads[i]->at = At::work;
        return true;
    }

    const std::function<void()>* m_kernel = nullptr;
    unsigned m_count = 0;
    std::vector<std::unique_ptr<Thread>> m_threads;
    std::vector<std::unique_ptr<std::byte[]>> m_stacks;
    Fibre m_scheduler;
    Thread* m_running = nullptr;
    unsigned m_index = 0;            ///< of the running fibre
    unsigned m_begin = 0, m_end = 0; ///< those still to run
    bool m_isReversed = false;
    std::array<std::array<unsigned, 1024>, 2> m_lanes{};
    std::minstd_rand m_order; // NOLINT(bugprone-random-generator-seed): the same in each run
};

bool isEmulating = [] {
    const char* const kernels = std::getenv("TWB_TEST_KERNELS");
    return kernels && std::string_view(kernels) == "cuda-blocks";
}();

} // namespace

void runBlocks(unsigned blocks, dim3 threads, const std::function<void()>& kernel) {
    blockDim = isEmulating ? threads : dim3(1);
    gridDim = dim3(isEmulating ? blocks : 1);
    for (blockIdx = dim3(0, 0, 0); blockIdx.x < gridDim.x; ++blockIdx.x) {
        if (blockDim.x > 1)
            Block::own().run(threads, kernel);
        else // no threads to wait for
            for (threadIdx = dim3(0, 0, 0); threadIdx.y < blockDim.y; ++threadIdx.y) kernel();
    }
}

void emulateBlocks() { isEmulating = true; }

} // namespace twb::cuda

// NOLINTBEGIN(bugprone-reserved-identifier)
void __syncthreads() { twb::cuda::Block::own().wait(twb::cuda::At::blockBarrier); }
void __syncwarp() { twb::cuda::Block::own().wait(twb::cuda::At::warpBarrier); }
unsigned __shfl_xor_sync(unsigned, unsigned value, int distance) {
    return twb::cuda::Block::own().exchange(value, static_cast<unsigned>(distance));
}
// NOLINTEND(bugprone-reserved-identifier)
