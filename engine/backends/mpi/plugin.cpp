// A plugin for one MPI implementation; mpi_table.h describes its functions. It is compiled once for each
// implementation, since their binary interfaces differ.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "backends/mpi/mpi_table.h"
#include "backends/world.h"

#include <climits>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <string>
#include <vector>

namespace {

using twb::CollectiveKind;
using twb::DType;
using twb::Reduction;

using Beat = std::array<char, kTwbMpiBeatBytes>;

struct Peer {
    Beat sent{};
    Beat received{};
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Request receiving = MPI_REQUEST_NULL;
};

struct State {
    MPI_Comm calls = MPI_COMM_NULL;
    MPI_Comm beats = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    int localRank = 0;
    int localSize = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<Peer> peers;
    std::string sentence;
    std::string version;
};

State& state() {
    static State one;
    return one;
}

/// Null if the call succeeded.
const char* sentenceOf(int code, const char* function) {
    if (code == MPI_SUCCESS) return nullptr;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    state().sentence =
        std::string(function) + ": " + std::string(text.data(), static_cast<std::size_t>(length));
    return state().sentence.c_str();
}

MPI_Datatype typeOf(int dtype) {
    switch (static_cast<DType>(dtype)) {
    case DType::f32:
        return MPI_FLOAT;
    case DType::f64:
        return MPI_DOUBLE;
    case DType::f16:
    case DType::bf16:
        return MPI_UINT16_T; // is only moved
    case DType::i8:
        return MPI_INT8_T;
    case DType::i16:
        return MPI_INT16_T;
    case DType::i32:
        return MPI_INT32_T;
    case DType::i64:
        return MPI_INT64_T;
    case DType::u8:
    case DType::boolean:
        return MPI_UINT8_T;
    case DType::u16:
        return MPI_UINT16_T;
    case DType::u32:
        return MPI_UINT32_T;
    case DType::u64:
        return MPI_UINT64_T;
    default: // narrow dtypes come as bytes
        return MPI_DATATYPE_NULL;
    }
}

void listenTo(int peer) {
    Peer& other = state().peers[static_cast<std::size_t>(peer)];
    MPI_Irecv(other.received.data(), kTwbMpiBeatBytes, MPI_CHAR, peer, 0, state().beats, &other.receiving);
}

/// Among fewer than four ranks, Open MPI sums up and down a tree, which sends each byte 2⌈log₂ n⌉ times where
/// a ring sends it 2(n − 1)/n times and takes as many rounds. With more ranks, it chooses by the size itself.
void chooseAlgorithms() {
#ifdef OPEN_MPI
    const char* const size = std::getenv("OMPI_COMM_WORLD_SIZE");
    constexpr int few = 4;
    constexpr int keep = 0; // what the user has set
    if (size && std::atoi(size) < few) ::setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "ring", keep);
#endif
}

const char* open() {
    State& s = state();
    chooseAlgorithms();
    int initialized = 0;
    MPI_Initialized(&initialized);
    if (initialized) return "MPI has been initialised before";
    int provided = 0;
    if (const char* failed =
            sentenceOf(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread"))
        return failed;
    if (provided < MPI_THREAD_FUNNELED) return "this MPI library cannot be used by a thread of its own";
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, s.rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &s.localRank);
    MPI_Comm_size(node, &s.localSize);
    MPI_Comm_free(&node);
    MPI_Comm_dup(MPI_COMM_WORLD, &s.calls);
    MPI_Comm_dup(MPI_COMM_WORLD, &s.beats);
    MPI_Comm_set_errhandler(s.calls, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(s.beats, MPI_ERRORS_RETURN);
    s.peers = std::vector<Peer>(static_cast<std::size_t>(s.size));
    for (int peer = 0; peer < s.size; ++peer)
        if (peer != s.rank) listenTo(peer);
    return nullptr;
}

void place(int* rank, int* size, int* localRank, int* localSize) {
    const State& s = state();
    *rank = s.rank;
    *size = s.size;
    *localRank = s.localRank;
    *localSize = s.localSize;
}

/// "Open MPI v4.1.4, package: …" and "MPICH Version:\t4.0.2\n…" give their numbers.
const char* libraryVersion() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string all(text.data(), static_cast<std::size_t>(length));
    const auto from = all.find_first_of("0123456789");
    const auto to = all.find_first_not_of("0123456789.", from);
    state().version = from == std::string::npos ? std::string() : all.substr(from, to - from);
    return state().version.c_str();
}

const char* start(const TwbMpiCall* call) {
    State& s = state();
    if (call->count > INT_MAX) {
        s.sentence = "a call over ranks has more than 2^31 - 1 elements for each rank; use smaller tensors";
        return s.sentence.c_str();
    }
    const int count = static_cast<int>(call->count);
    MPI_Datatype type = typeOf(call->dtype);
    const MPI_Op how = static_cast<Reduction>(call->reduction) == Reduction::max ? MPI_MAX : MPI_SUM;
    const void* const from = call->source == call->target ? MPI_IN_PLACE : call->source;
    constexpr int tag = 1;
    switch (static_cast<CollectiveKind>(call->kind)) {
    case CollectiveKind::allReduce:
        return sentenceOf(MPI_Iallreduce(from, call->target, count, type, how, s.calls, &s.request),
                          "MPI_Iallreduce");
    case CollectiveKind::broadcast:
        return sentenceOf(MPI_Ibcast(call->target, count, type, call->peer, s.calls, &s.request),
                          "MPI_Ibcast");
    case CollectiveKind::reduce:
        return sentenceOf(
            MPI_Ireduce(call->source, call->target, count, type, how, call->peer, s.calls, &s.request),
            "MPI_Ireduce");
    case CollectiveKind::allGather:
        return sentenceOf(
            MPI_Iallgather(call->source, count, type, call->target, count, type, s.calls, &s.request),
            "MPI_Iallgather");
    case CollectiveKind::reduceScatter:
        return sentenceOf(
            MPI_Ireduce_scatter_block(call->source, call->target, count, type, how, s.calls, &s.request),
            "MPI_Ireduce_scatter_block");
    case CollectiveKind::send:
        return sentenceOf(MPI_Isend(call->source, count, type, call->peer, tag, s.calls, &s.request),
                          "MPI_Isend");
    case CollectiveKind::receive:
        return sentenceOf(MPI_Irecv(call->target, count, type, call->peer, tag, s.calls, &s.request),
                          "MPI_Irecv");
    case CollectiveKind::barrier:
        return sentenceOf(MPI_Ibarrier(s.calls, &s.request), "MPI_Ibarrier");
    }
    return "unknown call";
}

const char* test(int* done) {
    return sentenceOf(MPI_Test(&state().request, done, MPI_STATUS_IGNORE), "MPI_Test");
}

/// Synchronous sends: a message that was sent has been received, so none is left when the world closes.
void beat(int peer, const void* message) {
    Peer& other = state().peers[static_cast<std::size_t>(peer)];
    int done = 1;
    if (other.sending != MPI_REQUEST_NULL) MPI_Test(&other.sending, &done, MPI_STATUS_IGNORE);
    if (!done) return;
    std::memcpy(other.sent.data(), message, other.sent.size());
    MPI_Issend(other.sent.data(), kTwbMpiBeatBytes, MPI_CHAR, peer, 0, state().beats, &other.sending);
}

int areBeatsDone() {
    int all = 1;
    for (Peer& other : state().peers) {
        int done = 1;
        if (other.sending != MPI_REQUEST_NULL) MPI_Test(&other.sending, &done, MPI_STATUS_IGNORE);
        all = all && done;
    }
    return all;
}

int heard(int peer, void* message) {
    Peer& other = state().peers[static_cast<std::size_t>(peer)];
    if (other.receiving == MPI_REQUEST_NULL) return 0;
    int done = 0;
    MPI_Test(&other.receiving, &done, MPI_STATUS_IGNORE);
    if (!done) return 0;
    std::memcpy(message, other.received.data(), other.received.size());
    listenTo(peer);
    return 1;
}

void abortAll(int exitCode) { MPI_Abort(MPI_COMM_WORLD, exitCode); }

void close() {
    State& s = state();
    for (Peer& other : s.peers) {
        if (other.receiving == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&other.receiving);
        MPI_Wait(&other.receiving, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&s.calls);
    MPI_Comm_free(&s.beats);
    MPI_Finalize();
}

} // namespace

extern "C" __attribute__((visibility("default"))) const TwbMpiTable* twb_mpi_table() {
    static const TwbMpiTable table{kTwbMpiVersion, TWB_MPI_NAME, open,         place, libraryVersion, start,
                                   test,           beat,         areBeatsDone, heard, abortAll,       close};
    return &table;
}
