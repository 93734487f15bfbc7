#pragma once

namespace twb {

/// Before main's first Interrupts there is nothing to clean up: SIGINT and SIGTERM end the program with 130.
void exitOnInterrupt();

/// SIGINT, SIGTERM and SIGCHLD as events for one waiting thread, so that no work happens in a signal handler.
/// A second SIGINT or SIGTERM ends the program immediately with 130. At most one object may exist at a time;
/// exitOnInterrupt cannot be restored.
class Interrupts {
public:
    enum class Event : char {
        interrupted = 'i', ///< SIGINT or SIGTERM
        child = 'c',       ///< a child process ended
        posted = 'p',
        timeout = 't',
    };

    /// Throws Error(failed) if the system has no pipes left.
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// The next event. A `timeoutMs` below 0 waits without limit.
    Event wait(int timeoutMs = -1);
    /// Wakes wait(); may be called from any thread.
    void post() noexcept;
};

} // namespace twb
