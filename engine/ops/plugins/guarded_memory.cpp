#include "ops/plugins/guarded_memory.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace twb {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::uint8_t kCanary = 0xC7;

std::size_t roundedUp(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }
std::size_t pageSize() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// What the signal handler reads; it must not allocate.
struct Region {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    const std::uint8_t* data = nullptr;
    std::array<char, 120> label{};
};
std::array<Region, 64> g_regions;

void print(const char* text) {
    if (::write(STDOUT_FILENO, text, std::strlen(text)) < 0) ::_exit(4);
}

void onAccess(int signal, siginfo_t* info, void*) {
    const auto* at = static_cast<const std::uint8_t*>(info->si_addr);
    for (const Region& region : g_regions) {
        if (!region.begin || at < region.begin || at >= region.end) continue;
        const bool isInside = at >= region.data && at < region.end - pageSize();
        print(isInside ? "bad it writes to its input " : "bad it accesses memory outside ");
        print(region.label.data());
        print("\n");
        ::_exit(3);
    }
    std::signal(signal, SIG_DFL); // an access to any other memory is a crash
    ::raise(signal);
}

} // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, std::string label) : m_bytes(bytes) {
    const std::size_t page = pageSize();
    const std::size_t rounded = roundedUp(std::max<std::size_t>(bytes, 1), kAlignment);
    const std::size_t inner = roundedUp(rounded, page);
    m_length = inner + 2 * page;
    void* mapped = ::mmap(nullptr, m_length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    m_begin = static_cast<std::uint8_t*>(mapped);
    std::memset(m_begin + page, kCanary, inner);
    m_data = m_begin + page + inner - rounded;
    ::mprotect(m_begin, page, PROT_NONE);
    ::mprotect(m_begin + page + inner, page, PROT_NONE);
    for (Region& region : g_regions) {
        if (region.begin) continue;
        region = {m_begin, m_begin + m_length, m_data, {}};
        label.resize(std::min(label.size(), region.label.size() - 1));
        std::copy(label.begin(), label.end(), region.label.begin());
        break;
    }
}

GuardedMemory::~GuardedMemory() {
    for (Region& region : g_regions)
        if (region.begin == m_begin) region = {};
    ::munmap(m_begin, m_length);
}

void GuardedMemory::protect() {
    const std::size_t page = pageSize();
    ::mprotect(m_begin + page, m_length - 2 * page, PROT_READ);
}

bool GuardedMemory::canariesAreWhole() const noexcept {
    const std::size_t page = pageSize();
    const auto isCanary = [](std::uint8_t byte) { return byte == kCanary; };
    return std::all_of(m_begin + page, m_data, isCanary) &&
           std::all_of(m_data + m_bytes, m_begin + m_length - page, isCanary);
}

void GuardedMemory::watchAccesses() {
    static std::array<std::uint8_t, 65536> stack; // the kernel's own stack may be what overflowed
    stack_t alternative{};
    alternative.ss_sp = stack.data();
    alternative.ss_size = stack.size();
    ::sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = onAccess;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGSEGV, &action, nullptr);
    ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace twb
