#include "app/interrupts.h"

#include "app/exit_code.h"
#include "core/error.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace twb {
namespace {

/// The self-pipe pattern: a signal handler may only write().
std::atomic<int> readEnd{-1};
std::atomic<int> writeEnd{-1};
std::atomic<int> interruptions{0};
static_assert(std::atomic<int>::is_always_lock_free);

void put(Interrupts::Event event) noexcept {
    const char byte = static_cast<char>(event);
    const int saved = errno;
    // A full pipe has thousands of unread events; another one makes no difference.
    [[maybe_unused]] const auto written = ::write(writeEnd, &byte, 1);
    errno = saved;
}

void onInterrupt(int) {
    if (writeEnd < 0 || ++interruptions > 1) _exit(static_cast<int>(ExitCode::cancelled));
    put(Interrupts::Event::interrupted);
}

void onChild(int) { put(Interrupts::Event::child); }

void handle(int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

} // namespace

void exitOnInterrupt() {
    handle(SIGINT, onInterrupt);
    handle(SIGTERM, onInterrupt);
}

Interrupts::Interrupts() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        throw Error(ErrorCode::failed,
                    "this program has no file descriptors left; raise the limit with ulimit -n");
    readEnd = ends[0];
    writeEnd = ends[1];
    exitOnInterrupt();
    handle(SIGCHLD, onChild);
}

Interrupts::~Interrupts() {
    handle(SIGCHLD, SIG_DFL);
    const int ends[2] = {writeEnd.exchange(-1), readEnd.exchange(-1)};
    close(ends[0]);
    close(ends[1]);
}

Interrupts::Event Interrupts::wait(int timeoutMs) {
    pollfd waiting{readEnd, POLLIN, 0};
    while (poll(&waiting, 1, timeoutMs) < 0 && errno == EINTR) {
    }
    char byte = 0;
    return ::read(readEnd, &byte, 1) == 1 ? static_cast<Event>(byte) : Event::timeout;
}

void Interrupts::post() noexcept { put(Event::posted); }

} // namespace twb
