#pragma once

namespace twb {

/// Until main's first Interrupts exists, Ctrl-C has nothing to clean up: SIGINT and SIGTERM end the program
/// with 130.
void exitOnInterrupt();

/// SIGINT, SIGTERM and SIGCHLD as events that one thread waits for, so that no work happens in a signal
/// handler. A second SIGINT or SIGTERM ends the program at once with 130. At most one object at a time; there
/// is no way back to exitOnInterrupt.
class Interrupts {
public:
    enum class Event : char {
        interrupted = 'i', ///< SIGINT or SIGTERM
        child = 'c',       ///< a child process ended
        posted = 'p',
        timeout = 't',
    };

    /// Throws Error(failed) when the system has no pipe left.
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;

    /// The next event; `timeoutMs` below 0 waits for ever.
    Event wait(int timeoutMs = -1);
    /// Wakes wait(), from any thread.
    void post() noexcept;
};

} // namespace twb
