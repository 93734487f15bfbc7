#pragma once

#include <cstdint>

// The interface between the engine and a plugin for one MPI implementation. It is plain C: a plugin of
// another build works if its version is the same. All functions must be called by one thread, the one
// that called open(). Those that return a sentence return null on success; the sentence lives until the next
// call.

extern "C" {

inline constexpr int kTwbMpiVersion = 1;
/// The bytes of a message that a rank sends about itself.
inline constexpr int kTwbMpiBeatBytes = 512;

/// twb::Collective, with the values of its enumerations. Means and 16-bit floats do not reach a plugin.
struct TwbMpiCall {
    int kind;
    int reduction;
    int dtype;
    int peer;
    const void* source;
    void* target;
    std::int64_t count;
};

struct TwbMpiTable {
    int version;
    const char* name; ///< "Open MPI"

    /// Initialises MPI with MPI_THREAD_FUNNELED.
    const char* (*open)();
    void (*place)(int* rank, int* size, int* localRank, int* localSize);
    const char* (*libraryVersion)(); ///< "4.1.4"

    /// Starts a call without waiting for it; one at a time.
    const char* (*start)(const TwbMpiCall* call);
    /// Sets `done` when the call is done.
    const char* (*test)(int* done);

    /// Sends a message of kTwbMpiBeatBytes to a rank. Does nothing while that rank has not received the last
    /// one.
    void (*beat)(int peer, const void* message);
    /// Whether all messages have been received.
    int (*areBeatsDone)();
    /// 1 if a message of that rank has arrived, and copies it.
    int (*heard)(int peer, void* message);

    /// Ends the job.
    void (*abort)(int exitCode);
    /// Ends MPI. All ranks must call it, after their calls and messages are complete.
    void (*close)();
};

/// twb_mpi_table, the one exported function.
using TwbMpiTableFunction = const TwbMpiTable* (*)();
}
