#include "formats/mapped_copy.h"

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace twb {
namespace {

/// Where this thread's copy goes on when its pages are gone; null while it makes none. Volatile, because a
/// compiler sees nobody who reads it while a memcpy runs.
thread_local sigjmp_buf* volatile escape = nullptr;
struct sigaction before {};

void onBusError(int signal, siginfo_t* info, void* context) {
    if (escape) siglongjmp(*escape, 1);
    if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    // On return the same access fails again, and then ends the program as it always did.
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
}

bool installHandler() {
    struct sigaction ours {};
    ours.sa_sigaction = onBusError;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER; // a jump out of it must not leave the signal blocked
    sigemptyset(&ours.sa_mask);
    return ::sigaction(SIGBUS, &ours, &before) == 0;
}

/// False when pages of `from` were gone. Nothing here has a destructor: the jump would pass it by.
bool copyOrNotice(const void* from, void* to, std::size_t count) {
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        escape = nullptr;
        return false;
    }
    escape = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(to, from, count);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    escape = nullptr;
    return true;
}

} // namespace

std::ptrdiff_t copyMapped(int file, std::uint64_t offset, void* to, std::size_t count) {
    static const bool installed = installHandler();
    if (!installed) return -1;
    if (count == 0) return 0;
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t start = offset / page * page;
    const auto lead = static_cast<std::size_t>(offset - start);
    void* const pages = ::mmap(nullptr, lead + count, PROT_READ, MAP_SHARED, file, static_cast<off_t>(start));
    if (pages == MAP_FAILED) return -1;
    const bool whole = copyOrNotice(static_cast<const char*>(pages) + lead, to, count);
    ::munmap(pages, lead + count);
    // Of a last page that was cut, the rest reads as zeros: only the size tells.
    struct stat status {};
    if (::fstat(file, &status) != 0) return -1;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::uint64_t there = size > offset ? std::min<std::uint64_t>(size - offset, count) : 0;
    if (!whole && there == count) return 0; // shorter, then longer again: what was copied is not known
    return static_cast<std::ptrdiff_t>(there);
}

} // namespace twb
