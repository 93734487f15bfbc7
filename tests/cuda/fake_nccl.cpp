#include "cuda/fake_nccl.h"

#include "backends/cuda/nccl_library.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

using namespace twb::cuda::nccl;
using twb::test::fake::Nccl;

namespace {

struct Call {
    std::string text; ///< equal on all ranks, except for messages
    enum class Kind : std::uint8_t {
        allReduce,
        broadcast,
        reduce,
        allGather,
        reduceScatter,
        send,
        receive
    } kind;
    const void* source = nullptr;
    void* target = nullptr;
    std::size_t count = 0;
    int type = 0;
    int how = 0;
    int peer = 0;
};

/// The ranks with one id.
struct Clique {
    explicit Clique(int size) : groups(static_cast<std::size_t>(size)) {}
    std::vector<const std::vector<Call>*> groups; ///< by rank, that run now
    int joined = 0;
    int arrived = 0;
    std::uint64_t round = 0;
};

/// One lock for everything.
struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Nccl nccl;
    std::map<std::string, std::shared_ptr<Clique>> cliques;
    std::map<int, std::vector<std::string>> calls;
    std::map<int, int> made; ///< by rank, the calls that move data
    std::vector<std::string> mistakes;
    int live = 0;
    int ids = 0;
};
State& state() {
    static State* const one = new State;
    return *one;
}

thread_local int openGroups = 0;
thread_local std::vector<Call> group;
thread_local int groupError = 0; ///< of a call in the group, which is then not made
thread_local Communicator groupOf = nullptr;
thread_local cudaStream_t groupStream = nullptr;

std::size_t sizeOf(int type) {
    constexpr std::array<std::size_t, 10> sizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return sizes.at(static_cast<std::size_t>(type));
}
const char* nameOf(int type) {
    constexpr std::array<const char*, 10> names{"i8",  "u8",  "i32", "u32", "i64",
                                                "u64", "f16", "f32", "f64", "bf16"};
    return names.at(static_cast<std::size_t>(type));
}

template <class T> void reduceInto(void* to, const void* from, std::size_t count, int how) {
    auto* const a = static_cast<T*>(to);
    const auto* const b = static_cast<const T*>(from);
    for (std::size_t i = 0; i < count; ++i)
        a[i] = how == kMax ? std::max(a[i], b[i]) : static_cast<T>(a[i] + b[i]);
}
void reduceInto(void* to, const void* from, std::size_t count, int type, int how) {
    switch (type) {
    case kFloat32:
        return reduceInto<float>(to, from, count, how);
    case kFloat64:
        return reduceInto<double>(to, from, count, how);
    case kInt32:
        return reduceInto<std::int32_t>(to, from, count, how);
    default:
        return reduceInto<std::int64_t>(to, from, count, how);
    }
}

/// The results of one call of all ranks.
void combine(std::size_t at, const Clique& clique) {
    const std::size_t ranks = clique.groups.size();
    const auto call = [&](std::size_t rank) -> const Call& { return (*clique.groups[rank])[at]; };
    const Call& first = call(0);
    const std::size_t bytes = first.count * sizeOf(first.type);
    const auto reduced = [&](std::size_t from) {
        const auto of = [&](std::size_t r) { return static_cast<const char*>(call(r).source) + from; };
        std::vector<char> sum(of(0), of(0) + bytes);
        for (std::size_t r = 1; r < ranks; ++r)
            reduceInto(sum.data(), of(r), first.count, first.type, first.how);
        if (first.how == kAverage && first.type == kFloat32)
            for (std::size_t i = 0; i < first.count; ++i)
                reinterpret_cast<float*>(sum.data())[i] /= static_cast<float>(ranks);
        return sum;
    };
    const auto give = [&](std::size_t r, std::size_t to, const char* from) {
        if (bytes > 0) std::memmove(static_cast<char*>(call(r).target) + to, from, bytes);
    };
    switch (first.kind) {
    case Call::Kind::allReduce: {
        const std::vector<char> sum = reduced(0);
        for (std::size_t r = 0; r < ranks; ++r) give(r, 0, sum.data());
        break;
    }
    case Call::Kind::reduce:
        give(static_cast<std::size_t>(first.peer), 0, reduced(0).data());
        break;
    case Call::Kind::broadcast: {
        const char* const root = static_cast<const char*>(call(static_cast<std::size_t>(first.peer)).source);
        const std::vector<char> sent(root, root + bytes);
        for (std::size_t r = 0; r < ranks; ++r) give(r, 0, sent.data());
        break;
    }
    case Call::Kind::allGather:
        for (std::size_t r = 0; r < ranks; ++r)
            for (std::size_t from = 0; from < ranks; ++from)
                give(r, from * bytes, static_cast<const char*>(call(from).source));
        break;
    case Call::Kind::reduceScatter:
        for (std::size_t r = 0; r < ranks; ++r) give(r, 0, reduced(r * bytes).data());
        break;
    case Call::Kind::send:
    case Call::Kind::receive:
        break;
    }
}

} // namespace

namespace twb::cuda::nccl {

struct OpaqueCommunicator {
    std::shared_ptr<Clique> clique;
    int rank = 0;
    int gpu = 0;
    bool isOver = false;
    int error = kSuccess;
};

} // namespace twb::cuda::nccl

namespace {

void mistake(const std::string& what) { state().mistakes.push_back(what); }

using Letters = std::map<std::pair<int, int>, std::vector<std::vector<char>>>;
std::map<const Clique*, Letters>& letters() {
    static auto* const all = new std::map<const Clique*, Letters>;
    return *all;
}

/// Runs in a stream. The lock is held, except while it waits.
void runGroup(Communicator communicator, const std::vector<Call>& calls) {
    std::unique_lock lock(state().mutex);
    Clique& clique = *communicator->clique;
    const int rank = communicator->rank;
    const bool isMessage = calls[0].kind == Call::Kind::send || calls[0].kind == Call::Kind::receive;
    if (isMessage) {
        for (const Call& call : calls) {
            if (call.kind == Call::Kind::send) {
                const auto* const from = static_cast<const char*>(call.source);
                letters()[&clique][{rank, call.peer}].emplace_back(from, from + call.count);
                state().changed.notify_all();
                continue;
            }
            auto& box = letters()[&clique][{call.peer, rank}];
            state().changed.wait(lock, [&] { return !box.empty() || communicator->isOver; });
            if (box.empty()) return;
            std::memcpy(call.target, box.front().data(), call.count);
            box.erase(box.begin());
        }
        return;
    }
    clique.groups[static_cast<std::size_t>(rank)] = &calls;
    const std::uint64_t round = clique.round;
    if (++clique.arrived == static_cast<int>(clique.groups.size())) {
        for (std::size_t r = 1; r < clique.groups.size(); ++r) {
            const bool isSame =
                std::ranges::equal(*clique.groups[0], *clique.groups[r], {}, &Call::text, &Call::text);
            if (!isSame) mistake("ranks 0 and " + std::to_string(r) + " make other calls");
        }
        for (std::size_t i = 0; i < calls.size(); ++i) combine(i, clique);
        clique.arrived = 0;
        ++clique.round;
        state().changed.notify_all();
        return;
    }
    state().changed.wait(lock, [&] { return clique.round != round || communicator->isOver; });
    if (clique.round == round) --clique.arrived;
}

int submit() {
    const std::vector<Call> calls = std::exchange(group, {});
    const Communicator communicator = std::exchange(groupOf, nullptr);
    if (const int error = std::exchange(groupError, 0); error != kSuccess) return error;
    if (calls.empty()) return kSuccess;
    const Nccl& nccl = state().nccl;
    bool failsLater = false;
    {
        const std::scoped_lock lock(state().mutex);
        const int before = state().made[communicator->rank];
        const int after = state().made[communicator->rank] += static_cast<int>(calls.size());
        failsLater = nccl.later && nccl.failingRank == communicator->rank && before < nccl.failingCall &&
                     nccl.failingCall <= after;
    }
    nccl.enqueue(groupStream, [communicator, calls, failsLater] {
        if (!failsLater) return runGroup(communicator, calls);
        // Hangs, as a kernel whose network is gone.
        std::unique_lock lock(state().mutex);
        communicator->error = kRemoteError;
        state().changed.wait(lock, [&] { return communicator->isOver; });
    });
    return kSuccess;
}

int add(Communicator communicator, cudaStream_t stream, Call call, const std::string& how = {}) {
    {
        const std::scoped_lock lock(state().mutex);
        constexpr std::array<const char*, 7> names{"AllReduce",     "Broadcast", "Reduce", "AllGather",
                                                   "ReduceScatter", "Send",      "Recv"};
        call.text = std::string(names.at(static_cast<std::size_t>(call.kind))) + " " + nameOf(call.type) +
                    " " + std::to_string(call.count) + how;
        if (!communicator || communicator->isOver) {
            mistake(call.text + " after the communicator's end");
            return kInvalidArgument;
        }
        if (state().nccl.currentGpu() != communicator->gpu) mistake(call.text + " with another GPU");
        if (groupOf && (groupOf != communicator || groupStream != stream))
            mistake("a group with two streams");
        state().calls[communicator->rank].push_back(call.text);
        const Nccl& nccl = state().nccl;
        if (!nccl.later && nccl.failingRank == communicator->rank &&
            state().made[communicator->rank] + static_cast<int>(group.size()) + 1 == nccl.failingCall) {
            if (openGroups > 0) groupError = kSystemError;
            return kSystemError;
        }
    }
    group.push_back(std::move(call));
    groupOf = communicator;
    groupStream = stream;
    return openGroups > 0 ? kSuccess : submit();
}

void end(Communicator communicator, const char* how) {
    const std::scoped_lock lock(state().mutex);
    state().calls[communicator->rank].emplace_back(how);
    if (communicator->isOver) mistake("a communicator ends twice");
    communicator->isOver = true;
    --state().live;
    state().changed.notify_all();
}

const char* reductionName(int how) { return how == kSum ? " sum" : how == kMax ? " max" : " avg"; }

} // namespace

void twb::test::fake::startNccl(const Nccl& nccl) {
    const std::scoped_lock lock(state().mutex);
    state().nccl = nccl;
    state().cliques.clear();
    letters().clear();
    state().calls.clear();
    state().made.clear();
    state().mistakes.clear();
}
std::vector<std::string> twb::test::fake::ncclCalls(int rank) {
    const std::scoped_lock lock(state().mutex);
    return state().calls[rank];
}
std::vector<std::string> twb::test::fake::ncclMistakes() {
    const std::scoped_lock lock(state().mutex);
    return state().mistakes;
}
int twb::test::fake::liveCommunicators() {
    const std::scoped_lock lock(state().mutex);
    return state().live;
}

#define TWB_NCCL extern "C" __attribute__((visibility("default")))

TWB_NCCL int ncclGetVersion(int* version) {
    *version = state().nccl.version;
    return kSuccess;
}
TWB_NCCL int ncclGetUniqueId(UniqueId* id) {
    const std::scoped_lock lock(state().mutex);
    *id = {};
    const std::string text = "id " + std::to_string(++state().ids);
    std::ranges::copy(text, id->bytes.begin());
    return kSuccess;
}
TWB_NCCL int ncclCommInitRank(Communicator* out, int size, UniqueId id, int rank) {
    std::unique_lock lock(state().mutex);
    if (state().nccl.init != 0) return state().nccl.init;
    auto& clique = state().cliques[id.bytes.data()];
    if (!clique) clique = std::make_shared<Clique>(size);
    const auto own = clique;
    ++own->joined;
    state().changed.notify_all();
    state().changed.wait(lock, [&] { return own->joined == size; });
    ++state().live;
    *out = new OpaqueCommunicator{own, rank, state().nccl.currentGpu()}; // never freed, to see late uses
    return kSuccess;
}
TWB_NCCL int ncclCommDestroy(Communicator communicator) {
    end(communicator, "Destroy");
    return kSuccess;
}
TWB_NCCL int ncclCommAbort(Communicator communicator) {
    end(communicator, "Abort");
    return kSuccess;
}
TWB_NCCL const char* ncclGetErrorString(int result) {
    return result == kSystemError    ? "unhandled system error"
           : result == kRemoteError  ? "remote process exited or there was a network error"
           : result == kInvalidUsage ? "invalid usage"
                                     : "another error";
}
TWB_NCCL const char* ncclGetLastError(Communicator) { return "the stand-in was told to fail"; }
TWB_NCCL int ncclCommGetAsyncError(Communicator communicator, int* error) {
    const std::scoped_lock lock(state().mutex);
    *error = communicator->error;
    return kSuccess;
}
TWB_NCCL int ncclGroupStart() {
    ++openGroups;
    return kSuccess;
}
TWB_NCCL int ncclGroupEnd() {
    if (--openGroups > 0) return kSuccess;
    if (openGroups < 0) {
        const std::scoped_lock lock(state().mutex);
        mistake("a group ends twice");
        openGroups = 0;
    }
    if (groupOf) {
        const std::scoped_lock lock(state().mutex);
        state().calls[groupOf->rank].emplace_back("GroupEnd of " + std::to_string(group.size()));
    }
    return submit();
}
TWB_NCCL int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int how,
                           Communicator communicator, cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::allReduce, from, to, count, type, how, 0},
               reductionName(how));
}
TWB_NCCL int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root,
                           Communicator communicator, cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::broadcast, from, to, count, type, 0, root},
               " of " + std::to_string(root));
}
TWB_NCCL int ncclReduce(const void* from, void* to, std::size_t count, int type, int how, int root,
                        Communicator communicator, cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::reduce, from, to, count, type, how, root},
               reductionName(how) + (" to " + std::to_string(root)));
}
TWB_NCCL int ncclAllGather(const void* from, void* to, std::size_t count, int type, Communicator communicator,
                           cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::allGather, from, to, count, type, 0, 0});
}
TWB_NCCL int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int how,
                               Communicator communicator, cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::reduceScatter, from, to, count, type, how, 0},
               reductionName(how));
}
TWB_NCCL int ncclSend(const void* from, std::size_t count, int type, int peer, Communicator communicator,
                      cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::send, from, nullptr, count, type, 0, peer},
               " to " + std::to_string(peer));
}
TWB_NCCL int ncclRecv(void* to, std::size_t count, int type, int peer, Communicator communicator,
                      cudaStream_t stream) {
    return add(communicator, stream, {"", Call::Kind::receive, nullptr, to, count, type, 0, peer},
               " of " + std::to_string(peer));
}
