// Counts the calls and bytes that a program passes to MPI, with MPI's profiling interface: loaded before the
// MPI library, it takes the place of its functions. Each process writes its counts to $TWB_MPI_COUNTS.RANK
// when it closes MPI, and the algorithm that Open MPI was told to use for all-reduces to
// $TWB_MPI_COUNTS.algorithm. With $TWB_MPI_LEAVE=RANK:CALLS, that rank ends with exit code 0 in its call of
// that number, as a process does that another library ends. With $TWB_MPI_FLIP=RANK:CALLS, that rank gets one
// wrong bit from its all-reduce of that number, as from broken memory.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mpi.h>
#include <string>
#include <unistd.h>

namespace {

enum Kind { allReduce, broadcast, reduce, allGather, reduceScatter, sends, receives, kinds };
constexpr std::array<const char*, kinds> kNames{"AllReduce",     "Broadcast", "Reduce", "AllGather",
                                                "ReduceScatter", "Send",      "Receive"};
std::array<long long, kinds> calls{};
std::array<long long, kinds> bytes{};

int ownRank() {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

void count(Kind kind, long long elements, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    ++calls[kind];
    bytes[kind] += elements * size;
    const char* leave = std::getenv("TWB_MPI_LEAVE");
    if (!leave) return;
    long long total = 0;
    for (const long long one : calls) total += one;
    if (std::to_string(ownRank()) + ":" + std::to_string(total) == leave) ::_exit(0);
}

unsigned char* flipped = nullptr; ///< the result that gets a wrong bit
MPI_Request* flippedBy = nullptr; ///< when this request is done

void flipIfWanted(void* result, MPI_Request* request) {
    const char* flip = std::getenv("TWB_MPI_FLIP");
    if (!flip || std::to_string(ownRank()) + ":" + std::to_string(calls[allReduce]) != flip) return;
    flipped = static_cast<unsigned char*>(result);
    flippedBy = request;
}

int ranksOf(MPI_Comm comm) {
    int size = 1;
    PMPI_Comm_size(comm, &size);
    return size;
}

} // namespace

extern "C" {

int MPI_Iallreduce(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
    count(allReduce, n, type);
    flipIfWanted(to, request);
    return PMPI_Iallreduce(from, to, n, type, op, comm, request);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    const int code = PMPI_Test(request, done, status);
    if (flippedBy == request && *done) {
        constexpr int byte = 5; // of an f64: a bit of its fraction
        flipped[byte] ^= 1U;
        flippedBy = nullptr;
    }
    return code;
}
int MPI_Ibcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    count(broadcast, n, type);
    return PMPI_Ibcast(data, n, type, root, comm, request);
}
int MPI_Ireduce(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
    count(reduce, n, type);
    return PMPI_Ireduce(from, to, n, type, op, root, comm, request);
}
int MPI_Iallgather(const void* from, int n, MPI_Datatype type, void* to, int m, MPI_Datatype theirs,
                   MPI_Comm comm, MPI_Request* request) {
    count(allGather, static_cast<long long>(n) * ranksOf(comm), type);
    return PMPI_Iallgather(from, n, type, to, m, theirs, comm, request);
}
int MPI_Ireduce_scatter_block(const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request* request) {
    count(reduceScatter, static_cast<long long>(n) * ranksOf(comm), type);
    return PMPI_Ireduce_scatter_block(from, to, n, type, op, comm, request);
}
int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    count(sends, n, type);
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    if (tag != 0) count(receives, n, type); // messages that say that a rank is alive have the tag 0
    return PMPI_Irecv(data, n, type, from, tag, comm, request);
}

int MPI_Finalize() {
    if (const char* path = std::getenv("TWB_MPI_COUNTS")) {
        std::ofstream out(std::string(path) + "." + std::to_string(ownRank()));
        for (std::size_t i = 0; i < kinds; ++i)
            out << kNames[i] << ' ' << calls[i] << ' ' << bytes[i] << '\n';
        const char* algorithm = std::getenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm"); // of Open MPI
        std::ofstream(std::string(path) + ".algorithm") << (algorithm ? algorithm : "its own");
    }
    return PMPI_Finalize();
}
}
