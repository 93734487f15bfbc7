#include "backends/world.h"

#include "backends/cpu/host_stream.h"
#include "core/error.h"
#include "core/half.h"
#include "core/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

namespace twb {
namespace {

constexpr auto kTick = std::chrono::milliseconds(20);

/// Elements of the source and of the target, by what one rank gives.
std::int64_t sourceCount(const Collective& call, int ranks) noexcept {
    return call.kind == CollectiveKind::reduceScatter ? call.count * ranks : call.count;
}
std::int64_t targetCount(const Collective& call, int ranks) noexcept {
    return call.kind == CollectiveKind::allGather ? call.count * ranks : call.count;
}

/// The bytes of what one rank gives.
std::uint64_t partBytes(const Collective& call) {
    return static_cast<std::uint64_t>(Shape{call.count}.byteCount(call.dtype));
}

template <class T> std::vector<float> widened(const void* from, std::int64_t count) {
    std::vector<float> out(static_cast<std::size_t>(count));
    const T* const values = static_cast<const T*>(from);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(values[i]);
    return out;
}

template <class T> void divide(void* target, std::int64_t count, int by) {
    T* const values = static_cast<T*>(target);
    for (std::int64_t i = 0; i < count; ++i) values[i] /= static_cast<T>(by);
}

} // namespace

std::string_view name(CollectiveKind kind) noexcept {
    constexpr std::array<std::string_view, 8> names{"AllReduce",     "Broadcast", "Reduce",  "AllGather",
                                                    "ReduceScatter", "Send",      "Receive", "Barrier"};
    return names[static_cast<std::size_t>(kind)];
}

std::optional<CollectiveKind> collectiveKindOf(std::string_view op) noexcept {
    if (op == "SendReceive") return CollectiveKind::send;
    for (const CollectiveKind kind :
         {CollectiveKind::allReduce, CollectiveKind::broadcast, CollectiveKind::reduce,
          CollectiveKind::allGather, CollectiveKind::reduceScatter, CollectiveKind::barrier})
        if (op == name(kind)) return kind;
    return std::nullopt;
}

std::uint64_t bytesOf(const Collective& call, int ranks) noexcept {
    if (call.kind == CollectiveKind::barrier) return 0;
    const bool hasAllParts =
        call.kind == CollectiveKind::allGather || call.kind == CollectiveKind::reduceScatter;
    return partBytes(call) * static_cast<std::uint64_t>(hasAllParts ? ranks : 1);
}

std::uint64_t wireBytes(CollectiveKind kind, std::uint64_t bytes, int ranks) noexcept {
    if (ranks < 2) return 0;
    if (kind == CollectiveKind::send) return bytes;
    if (kind == CollectiveKind::receive) return 0;
    const double share = static_cast<double>(bytes) * (ranks - 1) / ranks;
    return static_cast<std::uint64_t>(std::llround(kind == CollectiveKind::allReduce ? 2 * share : share));
}

World::World(Info info) : World(std::move(info), std::make_unique<MeasuredDurations>()) {}
World::World(Info info, std::unique_ptr<const DurationModel> durations)
    : m_info(std::move(info)), m_durations(std::move(durations)) {}
World::~World() = default;

double World::predictNs(CollectiveKind, std::uint64_t) const noexcept { return 0; }

std::unique_ptr<Stream> World::createStream() const { return std::make_unique<HostStream>(*m_durations); }

void World::stopThread() noexcept {
    {
        const std::scoped_lock lock(m_mutex);
        m_stop = true;
    }
    m_wake.notify_all();
    if (m_thread.joinable()) m_thread.join();
}

std::uint64_t World::push(Request request) {
    std::uint64_t ticket = 0;
    {
        const std::scoped_lock lock(m_mutex);
        if (!m_thread.joinable()) m_thread = std::thread([this] { work(); });
        ticket = request.ticket = ++m_lastTicket;
        m_queue.push_back(std::move(request));
    }
    m_wake.notify_all();
    return ticket;
}

std::uint64_t World::start(Collective call) {
    if (isAborted()) throwAborted();
    return push({0, std::move(call), nullptr, steadyNs(), nullptr});
}

void World::wait(std::uint64_t ticket) {
    std::unique_lock lock(m_mutex);
    m_done.wait(lock, [&] { return m_lastDone >= ticket; });
    const auto error =
        std::ranges::find(m_errors, ticket, &std::pair<std::uint64_t, std::exception_ptr>::first);
    if (error == m_errors.end()) return;
    const std::exception_ptr thrown = error->second;
    m_errors.erase(error);
    lock.unlock();
    std::rethrow_exception(thrown);
}

void World::onThread(const std::function<void()>& work) { wait(push({0, {}, &work, 0, nullptr})); }

void World::work() {
    std::unique_lock lock(m_mutex);
    for (;;) {
        if (!m_wake.wait_for(lock, kTick, [this] { return !m_queue.empty() || m_stop; })) {
            lock.unlock();
            try {
                idle();
            } catch (const std::exception& error) {
                abort(error.what());
            }
            lock.lock();
            continue;
        }
        if (m_queue.empty()) return;
        Request request = std::move(m_queue.front());
        m_queue.pop_front();
        lock.unlock();
        std::exception_ptr error;
        try {
            if (request.work) {
                (*request.work)();
            } else {
                make(request.call);
                note(request.call, request.arrival, steadyNs());
            }
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        if (error) m_errors.emplace_back(request.ticket, error);
        m_lastDone = request.ticket;
        m_done.notify_all();
    }
}

/// Calls that are derived: narrow dtypes are moved as bytes, a mean is a sum that is divided, 16-bit floats
/// are added in f32.
void World::make(const Collective& call) {
    if (isAborted()) throwAborted();
    Collective plain = call;
    if (isNarrow(call.dtype) && !isReduction(call.kind)) {
        plain.dtype = DType::u8;
        plain.count = static_cast<std::int64_t>(partBytes(call));
        return perform(plain);
    }
    if (isReduction(call.kind) && !isFloating(call.dtype) && !isInteger(call.dtype))
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{} cannot be reduced over ranks; cast it to a number first", twb::name(call.dtype)));
    if (!isReduction(call.kind) || (call.reduction != Reduction::mean && !isHalfWidth(call.dtype)))
        return perform(call);
    if (call.reduction == Reduction::mean) plain.reduction = Reduction::sum;
    const std::int64_t results = targetCount(call, size());
    const bool isMine = call.kind != CollectiveKind::reduce || call.peer == rank();
    if (isHalfWidth(call.dtype)) {
        plain.dtype = DType::f32;
        const bool isF16 = call.dtype == DType::f16;
        const std::int64_t given = sourceCount(call, size());
        const std::vector<float> source =
            isF16 ? widened<Half>(call.source, given) : widened<BFloat16>(call.source, given);
        std::vector<float> target(static_cast<std::size_t>(results));
        plain.source = source.data();
        plain.target = target.data();
        perform(plain);
        if (!isMine) return;
        if (call.reduction == Reduction::mean) divide<float>(target.data(), results, size());
        for (std::size_t i = 0; i < target.size(); ++i) {
            if (isF16)
                static_cast<Half*>(call.target)[i] = Half(target[i]);
            else
                static_cast<BFloat16*>(call.target)[i] = BFloat16(target[i]);
        }
        return;
    }
    perform(plain);
    if (!isMine) return;
    if (call.dtype == DType::f64)
        divide<double>(call.target, results, size());
    else if (call.dtype == DType::f32)
        divide<float>(call.target, results, size());
    else
        throw Error(
            ErrorCode::unsupported,
            fmt::format("the mean over ranks needs a floating-point dtype, not {}", twb::name(call.dtype)));
}

void World::note(const Collective& call, std::int64_t arrival, std::int64_t end) {
    const std::scoped_lock lock(m_mutex);
    auto row = std::ranges::find_if(m_log, [&](const CollectiveLog& known) {
        return known.kind == call.kind && known.label == call.label;
    });
    if (row == m_log.end()) {
        m_log.push_back({call.kind, call.label, 0, 0, 0, {}});
        row = m_log.end() - 1;
    }
    ++row->calls;
    row->bytes += bytesOf(call, m_info.size);
    row->ns += end - arrival;
    if (row->arrivals.size() < CollectiveLog::kRemembered) row->arrivals.push_back(arrival);
}

std::vector<CollectiveLog> World::log() const {
    const std::scoped_lock lock(m_mutex);
    return m_log;
}

void World::abort(const std::string& sentence, int exitCode) noexcept {
    WorldListener* listener = nullptr;
    bool isFirst = false;
    {
        const std::scoped_lock lock(m_mutex);
        isFirst = !m_isAborted.load(std::memory_order_relaxed);
        if (isFirst) {
            try {
                m_sentence = sentence;
            } catch (const std::bad_alloc&) { // the world ends all the same
            }
            m_isAborted.store(true, std::memory_order_release);
        }
    }
    if (!isFirst) {
        // This rank may have heard from another one that the job has failed, before it fails for the same
        // reason and knows its exit code.
        if (exitCode != 1) interrupt(exitCode);
        return;
    }
    {
        const std::scoped_lock lock(m_activityMutex);
        listener = m_listener;
    }
    if (listener) listener->failed(sentence);
    interrupt(exitCode);
}

std::string World::abortSentence() const {
    const std::scoped_lock lock(m_mutex);
    return m_sentence;
}

void World::throwAborted() const { throw Error(ErrorCode::failed, abortSentence()); }

void World::setActivity(std::function<RankActivity()> activity) {
    const std::scoped_lock lock(m_activityMutex);
    m_activity = std::move(activity);
}

void World::setListener(WorldListener* listener) {
    const std::scoped_lock lock(m_activityMutex);
    m_listener = listener;
}

RankActivity World::activity() const {
    const std::scoped_lock lock(m_activityMutex);
    return m_activity ? m_activity() : RankActivity{};
}

bool World::tellStep() {
    const std::scoped_lock lock(m_activityMutex);
    if (!m_listener || !m_activity) return false;
    const RankActivity now = m_activity();
    if (now.node.empty()) return false;
    m_listener->active(now);
    return true;
}

void World::tellListener() {
    std::string why;
    {
        const std::scoped_lock lock(m_activityMutex);
        if (!m_listener) return;
        m_listener->active(m_activity ? m_activity() : RankActivity{});
        why = m_listener->whyOver();
    }
    if (!why.empty()) abort(why);
}

/// Of several exchanges with rank 0, the one with the shortest round trip counts: rank 0 reads its clock
/// between the two messages, so the middle of the round trip is wrong by at most half of it (Cristian 1989;
/// RFC 5905, section 10). A long round trip may be that of a busy machine, so more exchanges are made as long
/// as they become shorter. The error is that of this moment: clocks drift apart later.
void World::alignClocks() {
    constexpr int kFewest = 8;
    constexpr int kMost = 64;
    constexpr int kInVain = 8;                 // exchanges without a shorter round trip, as on a slow link
    constexpr std::int64_t kShortNs = 100'000; // a round trip that needs no other attempt
    const std::string label = "clocks";
    for (int other = 1; other < size(); ++other) {
        if (rank() != 0 && rank() != other) continue;
        const int peer = rank() == 0 ? other : 0;
        std::int64_t sent = 0;
        std::int64_t received = 0;
        const Collective out{
            CollectiveKind::send, Reduction::sum, DType::i64, &sent, nullptr, 1, peer, label};
        const Collective in{
            CollectiveKind::receive, Reduction::sum, DType::i64, nullptr, &received, 1, peer, label};
        if (rank() == 0) {
            do {
                run(in); // 0: this exchange is the last one
                sent = steadyNs();
                run(out);
            } while (received > 0);
            continue;
        }
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        int inVain = 0;
        for (int i = 0; i == 0 || sent > 0; ++i) {
            const bool isEnough = shortest <= kShortNs || inVain >= kInVain;
            const bool isLast = i + 1 == kMost || (i + 1 >= kFewest && isEnough);
            sent = isLast ? 0 : 1;
            const std::int64_t begin = steadyNs();
            run(out);
            run(in);
            const std::int64_t end = steadyNs();
            ++inVain;
            if (end - begin >= shortest) continue;
            inVain = 0;
            shortest = end - begin;
            m_clockOffsetNs = received - (begin + end) / 2;
            m_clockErrorNs = (shortest + 1) / 2;
        }
    }
}

std::vector<CollectiveWait> findWaits(World& world, const std::vector<CollectiveLog>& log) {
    const auto ranks = static_cast<std::size_t>(world.size());
    std::vector<CollectiveWait> out(log.size());
    std::vector<std::size_t> order(log.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(log[i].kind, std::string_view(log[i].label)); });
    for (const std::size_t at : order) {
        const CollectiveLog& row = log[at];
        CollectiveWait& wait = out[at];
        if (ranks < 2 || isPaired(row.kind) || world.info().simulated) continue;
        const std::size_t calls = row.arrivals.size();
        std::vector<std::int64_t> own = row.arrivals;
        for (std::int64_t& arrival : own) arrival += world.clockOffsetNs();
        std::vector<std::int64_t> all(calls * ranks);
        world.run({CollectiveKind::allGather, Reduction::sum, DType::i64, own.data(), all.data(),
                   static_cast<std::int64_t>(calls), 0, "arrivals"});
        std::vector<std::uint64_t> last(ranks);
        for (std::size_t i = 0; i < calls; ++i) {
            std::size_t latest = 0;
            std::int64_t first = all[i];
            for (std::size_t r = 1; r < ranks; ++r) {
                if (all[r * calls + i] > all[latest * calls + i]) latest = r;
                first = std::min(first, all[r * calls + i]);
            }
            ++last[latest];
            wait.ns += all[latest * calls + i] - first;
            wait.ownNs += all[latest * calls + i] - own[i];
        }
        wait.counted = calls;
        if (calls > 0) wait.rank = static_cast<int>(std::ranges::max_element(last) - last.begin());
    }
    return out;
}

namespace {

/// The sizes of a text on all ranks that exist.
std::vector<std::int64_t> sizesOnRanks(World& world, const std::string& own, const std::string& label) {
    const auto size = static_cast<std::int64_t>(own.size());
    if (world.info().simulated || world.size() == 1) return {size};
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()));
    world.run({CollectiveKind::allGather, Reduction::sum, DType::i64, &size, sizes.data(), 1, 0, label});
    return sizes;
}

} // namespace

std::vector<std::string> gatherTexts(World& world, std::string own, const std::string& label) {
    const std::vector<std::int64_t> sizes = sizesOnRanks(world, own, label);
    std::vector<std::string> out;
    // In parts: MPI counts in 32 bits.
    constexpr std::int64_t kPart = std::int64_t{1} << 24;
    const auto pass = [&](CollectiveKind kind, std::string& text, std::size_t peer) {
        const auto end = static_cast<std::int64_t>(text.size());
        for (std::int64_t at = 0; at < end; at += kPart) {
            char* const part = text.data() + at;
            world.run({kind, Reduction::sum, DType::u8, part, part, std::min(kPart, end - at),
                       static_cast<int>(peer), label});
        }
    };
    if (world.rank() != 0) {
        pass(CollectiveKind::send, own, 0);
        return out;
    }
    out.push_back(std::move(own));
    for (std::size_t other = 1; other < sizes.size(); ++other) {
        std::string& text = out.emplace_back(static_cast<std::size_t>(sizes[other]), '\0');
        pass(CollectiveKind::receive, text, other);
    }
    return out;
}

std::vector<std::string> shareTexts(World& world, std::string own, const std::string& label) {
    const std::vector<std::int64_t> sizes = sizesOnRanks(world, own, label);
    if (sizes.size() == 1) return {std::move(own)};
    const auto longest = static_cast<std::size_t>(std::ranges::max(sizes));
    own.resize(longest);
    std::string all(sizes.size() * longest, '\0');
    if (longest > 0)
        world.run({CollectiveKind::allGather, Reduction::sum, DType::u8, own.data(), all.data(),
                   static_cast<std::int64_t>(longest), 0, label});
    std::vector<std::string> out;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank)
        out.push_back(all.substr(rank * longest, static_cast<std::size_t>(sizes[rank])));
    return out;
}

} // namespace twb
