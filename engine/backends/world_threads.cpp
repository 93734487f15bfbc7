#include "backends/world.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>

namespace twb {
namespace {

template <class T> void addTo(T* sum, const T* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) sum[i] = static_cast<T>(sum[i] + values[i]);
}
template <class T> void maxTo(T* most, const T* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        if (values[i] > most[i] || values[i] != values[i]) most[i] = values[i]; // NaN stays
}

template <class T>
void reduceInto(std::byte* target, const std::byte* values, std::int64_t count, Reduction how) {
    auto* const to = reinterpret_cast<T*>(target);
    const auto* const from = reinterpret_cast<const T*>(values);
    how == Reduction::max ? maxTo(to, from, count) : addTo(to, from, count);
}

void reduceInto(std::byte* target, const std::byte* values, std::int64_t count, Reduction how, DType dtype) {
    switch (dtype) {
    case DType::f32:
        return reduceInto<float>(target, values, count, how);
    case DType::f64:
        return reduceInto<double>(target, values, count, how);
    case DType::i8:
        return reduceInto<std::int8_t>(target, values, count, how);
    case DType::i16:
        return reduceInto<std::int16_t>(target, values, count, how);
    case DType::i32:
        return reduceInto<std::int32_t>(target, values, count, how);
    case DType::i64:
        return reduceInto<std::int64_t>(target, values, count, how);
    case DType::u8:
        return reduceInto<std::uint8_t>(target, values, count, how);
    case DType::u16:
        return reduceInto<std::uint16_t>(target, values, count, how);
    case DType::u32:
        return reduceInto<std::uint32_t>(target, values, count, how);
    case DType::u64:
        return reduceInto<std::uint64_t>(target, values, count, how);
    default:
        throw Error(
            ErrorCode::unsupported,
            fmt::format("{} cannot be reduced over ranks; cast it to a number first", twb::name(dtype)));
    }
}

/// Where the ranks of one process meet. The last rank that arrives makes the call for all of them, in the
/// order of the ranks, so that results do not depend on who was last.
class Meeting {
public:
    explicit Meeting(int size) : m_calls(static_cast<std::size_t>(size)) {}

    void join(int rank, const Collective& call) {
        if (isPaired(call.kind)) return exchange(rank, call);
        std::unique_lock lock(m_mutex);
        leaveIfAborted();
        m_calls[static_cast<std::size_t>(rank)] = &call;
        const std::uint64_t now = m_generation;
        if (++m_arrived == static_cast<int>(m_calls.size())) {
            m_arrived = 0;
            ++m_generation;
            try {
                combine();
                m_error = nullptr;
            } catch (...) {
                m_error = std::current_exception();
            }
            m_changed.notify_all();
        } else {
            m_changed.wait(lock, [&] { return m_generation != now || !m_aborted.empty(); });
            if (m_generation == now) leaveIfAborted();
        }
        if (m_error) std::rethrow_exception(m_error);
    }

    std::string whyOver() {
        const std::scoped_lock lock(m_mutex);
        return m_aborted;
    }

    void abort(const std::string& sentence) noexcept {
        {
            const std::scoped_lock lock(m_mutex);
            if (m_aborted.empty()) m_aborted = sentence.empty() ? "the run was ended" : sentence;
        }
        m_changed.notify_all();
    }

private:
    struct Route {
        int from = 0;
        int to = 0;
        auto operator<=>(const Route&) const = default;
    };

    void leaveIfAborted() const {
        if (!m_aborted.empty()) throw Error(ErrorCode::failed, m_aborted);
    }

    void exchange(int rank, const Collective& call) {
        const std::size_t bytes = static_cast<std::size_t>(call.count) * sizeOf(call.dtype);
        std::unique_lock lock(m_mutex);
        leaveIfAborted();
        if (call.kind == CollectiveKind::send) {
            const auto* const data = static_cast<const std::byte*>(call.source);
            m_letters[{rank, call.peer}].emplace_back(data, data + bytes);
            m_changed.notify_all();
            return;
        }
        auto& box = m_letters[{call.peer, rank}];
        m_changed.wait(lock, [&] { return !box.empty() || !m_aborted.empty(); });
        leaveIfAborted();
        const std::vector<std::byte> letter = std::move(box.front());
        box.pop_front();
        if (letter.size() != bytes)
            throw Error(ErrorCode::failed,
                        fmt::format("rank {} expects {} bytes of rank {} in \"{}\", but that rank sent {}",
                                    rank, bytes, call.peer, call.label, letter.size()));
        std::copy(letter.begin(), letter.end(), static_cast<std::byte*>(call.target));
    }

    void combine() const {
        const Collective& first = *m_calls[0];
        for (std::size_t r = 1; r < m_calls.size(); ++r) {
            const Collective& other = *m_calls[r];
            if (other.kind == first.kind && other.count == first.count && other.dtype == first.dtype &&
                other.peer == first.peer && other.reduction == first.reduction)
                continue;
            throw Error(ErrorCode::failed,
                        fmt::format("rank 0 calls {} of {} elements in \"{}\", but rank {} calls {} of {} in "
                                    "\"{}\"; all ranks must run the same graph",
                                    name(first.kind), first.count, first.label, r, name(other.kind),
                                    other.count, other.label));
        }
        const std::size_t bytes = static_cast<std::size_t>(first.count) * sizeOf(first.dtype);
        const auto source = [&](std::size_t r) { return static_cast<const std::byte*>(m_calls[r]->source); };
        const auto target = [&](std::size_t r) { return static_cast<std::byte*>(m_calls[r]->target); };
        const auto root = static_cast<std::size_t>(first.peer);
        /// The reduction of the elements from `at` on, in the order of the ranks.
        const auto reduced = [&](std::size_t at) {
            std::vector<std::byte> sum(source(0) + at, source(0) + at + bytes);
            for (std::size_t r = 1; r < m_calls.size(); ++r)
                reduceInto(sum.data(), source(r) + at, first.count, first.reduction, first.dtype);
            return sum;
        };
        const auto give = [&](std::size_t r, std::size_t at, const std::byte* from) {
            if (bytes > 0) std::memmove(target(r) + at, from, bytes);
        };
        switch (first.kind) {
        case CollectiveKind::allReduce: {
            const std::vector<std::byte> sum = reduced(0);
            for (std::size_t r = 0; r < m_calls.size(); ++r) give(r, 0, sum.data());
            break;
        }
        case CollectiveKind::reduce:
            give(root, 0, reduced(0).data());
            break;
        case CollectiveKind::broadcast:
            for (std::size_t r = 0; r < m_calls.size(); ++r) give(r, 0, source(root));
            break;
        case CollectiveKind::allGather:
            for (std::size_t r = 0; r < m_calls.size(); ++r)
                for (std::size_t from = 0; from < m_calls.size(); ++from) give(r, from * bytes, source(from));
            break;
        case CollectiveKind::reduceScatter:
            for (std::size_t r = 0; r < m_calls.size(); ++r) give(r, 0, reduced(r * bytes).data());
            break;
        case CollectiveKind::send:
        case CollectiveKind::receive:
        case CollectiveKind::barrier:
            break;
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::vector<const Collective*> m_calls; ///< by rank, of the ranks that have arrived
    int m_arrived = 0;
    std::uint64_t m_generation = 0;
    std::exception_ptr m_error; ///< of the last call
    std::map<Route, std::deque<std::vector<std::byte>>> m_letters;
    std::string m_aborted;
};

class ThreadWorld final : public World {
public:
    ThreadWorld(Info info, std::shared_ptr<Meeting> meeting)
        : World(std::move(info)), m_meeting(std::move(meeting)) {}
    ~ThreadWorld() override {
        // The other ranks must not wait for one that has left.
        m_meeting->abort(fmt::format("rank {} has left the run", rank()));
        stopThread();
    }

protected:
    void perform(const Collective& call) override { m_meeting->join(rank(), call); }
    void idle() override {
        tellListener();
        if (const std::string why = m_meeting->whyOver(); !why.empty()) abort(why);
    }
    void interrupt(int) noexcept override { m_meeting->abort(abortSentence()); }

private:
    std::shared_ptr<Meeting> m_meeting;
};

} // namespace

std::vector<std::shared_ptr<World>> makeThreadWorlds(int size) {
    const auto meeting = std::make_shared<Meeting>(size);
    std::vector<std::shared_ptr<World>> out;
    for (int r = 0; r < size; ++r)
        out.push_back(std::make_shared<ThreadWorld>(
            World::Info{size == 1 ? "alone" : "threads", r, size, r, size, false}, meeting));
    return out;
}

std::shared_ptr<World> aloneWorld() {
    static const std::shared_ptr<World> world = makeThreadWorlds(1).front();
    return world;
}

} // namespace twb
