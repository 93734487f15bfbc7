// An MPI plugin of rank 0 of three, for a machine that is too busy: ranks 1 and 2 never say anything, and
// each look whether a barrier is done takes 60 ms.

#include "backends/mpi/mpi_table.h"
#include "backends/world.h"

#include <chrono>
#include <thread>

namespace {

constexpr int kLooks = 100; ///< until a barrier is done
int looksLeft = 0;

const char* open() { return nullptr; }

void place(int* rank, int* size, int* localRank, int* localSize) {
    *rank = *localRank = 0;
    *size = *localSize = 3;
}

const char* libraryVersion() { return "1"; }

const char* start(const TwbMpiCall* call) {
    looksLeft = call->kind == static_cast<int>(twb::CollectiveKind::barrier) ? kLooks : 0;
    return nullptr;
}

const char* test(int* done) {
    *done = looksLeft == 0;
    if (looksLeft > 0) {
        --looksLeft;
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
    return nullptr;
}

void beat(int, const void*) {}
int areBeatsDone() { return 1; }
int heard(int, void*) { return 0; }
void abort(int) {}
void close() {}

} // namespace

extern "C" __attribute__((visibility("default"))) const TwbMpiTable* twb_mpi_table() {
    static const TwbMpiTable table{kTwbMpiVersion, "MPI of a test", open,  place, libraryVersion, start, test,
                                   beat,           areBeatsDone,    heard, abort, close};
    return &table;
}
