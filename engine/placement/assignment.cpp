#include "placement/assignment.h"

#include "placement/minimum_cut.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

namespace twb {
namespace {

/// Costs are whole picoseconds, so that sums are exact.
using Pico = std::int64_t;
constexpr Pico kReluctance = 1; ///< cost of each move: less than any price

/// Limited to some minutes, so that sums do not overflow.
Pico picoOf(double ns) { return static_cast<Pico>(std::llround(std::min(ns, 1e12) * 1e3)); }

bool isAllowed(const AssignmentProblem::Item& item, int place) { return (item.allowed >> place & 1U) != 0; }

/// Whether consumers of scalars need no copy from this place.
bool givesScalars(const AssignmentProblem& problem, int place) { return (problem.hosts >> place & 1U) != 0; }

class Solver {
public:
    Solver(const AssignmentProblem& problem, const IsCancelled& isCancelled)
        : m_problem(problem), m_isCancelled(isCancelled), m_places(static_cast<int>(problem.places)),
          m_perByte(problem.places, 0) {
        for (const auto& item : problem.items) {
            for (int p = 0; p < m_places; ++p)
                m_unary.push_back(isAllowed(item, p) ? picoOf(item.ns[static_cast<std::size_t>(p)]) +
                                                           (p == item.now ? 0 : kReluctance)
                                                     : 0);
        }
        for (const auto& tensor : problem.tensors) {
            auto& copies = m_copies.emplace_back();
            for (double ns : tensor.copyNs) copies.push_back(picoOf(ns));
        }
        m_readsOf.resize(problem.items.size());
        for (std::uint32_t t = 0; t < problem.tensors.size(); ++t) {
            m_readsOf[problem.tensors[t].producer].push_back(t);
            for (const auto* list : {&problem.tensors[t].readers, &problem.tensors[t].scalarReaders})
                for (const std::uint32_t reader : *list) m_readsOf[reader].push_back(t);
        }
        for (auto& list : m_readsOf) {
            std::sort(list.begin(), list.end());
            list.erase(std::unique(list.begin(), list.end()), list.end());
        }
    }

    Assignment run() {
        Assignment best;
        best.at = withinLimits();
        best.fits = m_problem.fits(best.at);
        best.isExact = m_places <= 2 && !m_isLimited;
        if (!best.isExact && m_problem.freeItems() <= kExactItems) {
            if (auto exact = search(best)) best.at = std::move(*exact);
            best.fits = m_problem.fits(best.at);
            best.isExact = m_searched;
        }
        best.ns = m_problem.nsOf(best.at);
        best.atLeastNs = best.isExact ? best.ns : std::min(best.ns, lowerBound());
        return best;
    }

private:
    Pico unary(std::size_t item, int place) const {
        return m_unary[item * static_cast<std::size_t>(m_places) + static_cast<std::size_t>(place)] +
               static_cast<Pico>(std::min(m_perByte[static_cast<std::size_t>(place)] *
                                              static_cast<double>(m_problem.items[item].bytes),
                                          1e13));
    }
    /// Index in the copies of a tensor, or in their prices.
    std::size_t indexOf(int from, int to) const {
        return static_cast<std::size_t>(from) * m_problem.places + static_cast<std::size_t>(to);
    }
    Pico copy(std::size_t tensor, int from, int to) const {
        return from == to ? 0 : m_copies[tensor][indexOf(from, to)];
    }

    Pico copiesOf(std::size_t t, const std::vector<int>& at) const {
        const auto& tensor = m_problem.tensors[t];
        const std::uint32_t places = m_problem.copiedTo(tensor, at);
        Pico sum = 0;
        for (int to = 0; places >> to != 0; ++to)
            if (places >> to & 1U) sum += copy(t, at[tensor.producer], to);
        return sum;
    }
    Pico total(const std::vector<int>& at) const {
        Pico sum = 0;
        for (std::size_t i = 0; i < at.size(); ++i) sum += unary(i, at[i]);
        for (std::size_t t = 0; t < m_problem.tensors.size(); ++t) sum += copiesOf(t, at);
        return sum;
    }

    // The least cost over all assignments of the items on a and b to these two places.

    struct Division {
        const std::vector<int>& at;
        const std::vector<int>& vertexOf; ///< by item; -1: it stays
        int a, b;
        bool isOpen(std::uint32_t item) const { return vertexOf[item] >= 0; }
    };

    /// The copies of a tensor to `place`, which is a or b: its consumers there share one copy.
    void cutCopies(MinimumCut& cut, const Division& d, std::size_t t, int place) const {
        const auto& tensor = m_problem.tensors[t];
        const int other = place == d.a ? d.b : d.a;
        const bool producerOpen = d.isOpen(tensor.producer);
        const int from = producerOpen ? other : d.at[tensor.producer];
        if (from == place) return;
        const Pico price = copy(t, from, place);
        if (price == 0) return;
        std::vector<int> open;
        bool always = false;
        const auto look = [&](const std::vector<std::uint32_t>& readers) {
            for (const std::uint32_t r : readers) {
                if (d.isOpen(r))
                    open.push_back(d.vertexOf[r]);
                else
                    always = always || d.at[r] == place;
            }
        };
        look(tensor.readers);
        if (!givesScalars(m_problem, from)) look(tensor.scalarReaders);
        if (!always && open.empty()) return;
        const int producer = producerOpen ? d.vertexOf[tensor.producer] : -1;
        if (always) {
            if (producerOpen) cut.addCost(producer, other == d.a, price);
            return; // otherwise the copy is made in any case
        }
        // A vertex that is on `place` as soon as one consumer is.
        const int shared = cut.addVertex();
        for (const int reader : open) cut.follow(reader, shared, place == d.a);
        if (producerOpen)
            cut.addApart(shared, producer, place == d.a, price);
        else
            cut.addCost(shared, place == d.a, price);
    }

    bool divide(std::vector<int>& at, int a, int b) const {
        throwIfCancelled(m_isCancelled);
        MinimumCut cut;
        std::vector<int> vertexOf(at.size(), -1);
        for (std::size_t i = 0; i < at.size(); ++i) {
            const auto& item = m_problem.items[i];
            if ((at[i] == a || at[i] == b) && isAllowed(item, a) && isAllowed(item, b)) {
                vertexOf[i] = cut.addVertex();
                cut.addCost(vertexOf[i], true, unary(i, a));
                cut.addCost(vertexOf[i], false, unary(i, b));
            }
        }
        if (cut.vertexCount() == 0) return false;
        const Division d{at, vertexOf, a, b};
        for (std::size_t t = 0; t < m_problem.tensors.size(); ++t) {
            const auto& tensor = m_problem.tensors[t];
            cutCopies(cut, d, t, a);
            cutCopies(cut, d, t, b);
            if (!d.isOpen(tensor.producer)) continue;
            // Copies to other places.
            std::uint32_t elsewhere = 0;
            std::uint32_t scalarsElsewhere = 0;
            const auto look = [&](const std::vector<std::uint32_t>& readers, std::uint32_t& places) {
                for (const std::uint32_t r : readers)
                    if (!d.isOpen(r) && at[r] != a && at[r] != b) places |= 1U << at[r];
            };
            look(tensor.readers, elsewhere);
            look(tensor.scalarReaders, scalarsElsewhere);
            for (const bool isA : {true, false}) {
                const int from = isA ? a : b;
                Pico price = 0;
                for (int to = 0; to < m_places; ++to)
                    if ((elsewhere | (givesScalars(m_problem, from) ? 0 : scalarsElsewhere)) >> to & 1U)
                        price += copy(t, from, to);
                cut.addCost(vertexOf[tensor.producer], isA, price);
            }
        }
        const std::vector<bool> onA = cut.solve();
        std::vector<int> divided = at;
        for (std::size_t i = 0; i < at.size(); ++i)
            if (vertexOf[i] >= 0) divided[i] = onA[static_cast<std::size_t>(vertexOf[i])] ? a : b;
        if (total(divided) >= total(at)) return false;
        at = std::move(divided);
        return true;
    }

    std::vector<int> descend(std::vector<int> at) const {
        for (bool better = true; better;) {
            better = false;
            for (int a = 0; a < m_places; ++a)
                for (int b = a + 1; b < m_places; ++b) better = divide(at, a, b) || better;
        }
        return at;
    }

    /// Starts from the current places, from all items on one place (if allowed) and, if the problem is small,
    /// from random places.
    std::vector<int> best() const {
        std::vector<int> best = descend(m_problem.now());
        if (m_places <= 2) return best; // a single cut is optimal
        for (int place = 0; place < m_places; ++place) {
            std::vector<int> start = m_problem.now();
            for (std::size_t i = 0; i < start.size(); ++i)
                if (isAllowed(m_problem.items[i], place)) start[i] = place;
            std::vector<int> other = descend(std::move(start));
            if (total(other) < total(best)) best = std::move(other);
        }
        std::minstd_rand random; // fixed seed: the same starts each time
        const std::size_t starts = std::min<std::size_t>(kMostStarts, kItemStarts / m_problem.items.size());
        for (std::size_t i = 0; i < starts; ++i) {
            std::vector<int> start = m_problem.now();
            for (std::size_t k = 0; k < start.size(); ++k) {
                const int place = static_cast<int>(random() % m_problem.places);
                if (isAllowed(m_problem.items[k], place)) start[k] = place;
            }
            std::vector<int> other = descend(std::move(start));
            if (total(other) < total(best)) best = std::move(other);
        }
        return best;
    }

    /// Bytes on a place that is too full get a price, which rises until they fit.
    std::vector<int> withinLimits() {
        std::vector<int> found = best();
        m_isLimited = !m_problem.fits(found);
        if (!m_isLimited) return found;
        std::optional<std::vector<int>> fitting;
        for (int place = 0; place < m_places; ++place) {
            double& price = m_perByte[static_cast<std::size_t>(place)];
            if (bytesOn(found, place) <= limit(place)) continue;
            double low = 0;
            double high = 0;
            for (double tried = 1e-6; tried < 1e9 && high == 0; tried *= 8) {
                price = tried;
                found = best();
                if (bytesOn(found, place) <= limit(place))
                    high = tried;
                else
                    low = tried;
            }
            for (int round = 0; round < 24 && high > 0; ++round) {
                price = (low + high) / 2;
                std::vector<int> between = best();
                (bytesOn(between, place) <= limit(place) ? high : low) = price;
            }
            price = high;
            found = best();
        }
        std::fill(m_perByte.begin(), m_perByte.end(), 0);
        return found;
    }
    std::uint64_t limit(int place) const { return m_problem.limits[static_cast<std::size_t>(place)]; }
    std::uint64_t bytesOn(const std::vector<int>& at, int place) const {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < at.size(); ++i)
            if (at[i] == place) sum += m_problem.items[i].bytes;
        return sum;
    }

    // Branch and bound: all assignments except those whose partial cost exceeds the best one.

    std::optional<std::vector<int>> search(const Assignment& known) {
        m_least = known.fits ? total(known.at) : std::numeric_limits<Pico>::max();
        m_found.reset();
        m_steps = 0;
        std::vector<int> at = m_problem.now();
        m_bytes.assign(m_problem.places, 0);
        m_order.clear();
        Pico fixed = 0;
        for (std::uint32_t i = 0; i < at.size(); ++i) {
            if (std::has_single_bit(m_problem.items[i].allowed)) {
                at[i] = std::countr_zero(m_problem.items[i].allowed);
                fixed += unary(i, at[i]);
                m_bytes[static_cast<std::size_t>(at[i])] += m_problem.items[i].bytes;
            } else {
                at[i] = -1;
                m_order.push_back(i);
            }
        }
        for (std::size_t t = 0; t < m_problem.tensors.size(); ++t) fixed += copiesOf(t, at);
        // Lower bound of the remaining cost, by the number of assigned items.
        m_rest.assign(m_order.size() + 1, 0);
        for (std::size_t k = m_order.size(); k-- > 0;) {
            Pico least = std::numeric_limits<Pico>::max();
            for (int p = 0; p < m_places; ++p)
                if (isAllowed(m_problem.items[m_order[k]], p)) least = std::min(least, unary(m_order[k], p));
            m_rest[k] = m_rest[k + 1] + least;
        }
        extend(at, 0, fixed);
        m_searched = m_steps < kMostSteps;
        return m_found;
    }

    void extend(std::vector<int>& at, std::size_t decided, Pico cost) {
        if (cost + m_rest[decided] >= m_least || ++m_steps >= kMostSteps) return;
        if (m_steps % 65536 == 0) throwIfCancelled(m_isCancelled);
        if (decided == m_order.size()) {
            m_least = cost;
            m_found = at;
            return;
        }
        const std::uint32_t i = m_order[decided];
        const auto& item = m_problem.items[i];
        Pico before = 0;
        for (const std::uint32_t t : m_readsOf[i]) before += copiesOf(t, at);
        struct Choice {
            int place;
            Pico cost;
        };
        std::vector<Choice> choices;
        for (int p = 0; p < m_places; ++p) {
            if (!isAllowed(item, p)) continue;
            auto& bytes = m_bytes[static_cast<std::size_t>(p)];
            if (!m_problem.limits.empty() && bytes + item.bytes > limit(p)) continue;
            at[i] = p;
            Pico now = cost + unary(i, p) - before;
            for (const std::uint32_t t : m_readsOf[i]) now += copiesOf(t, at);
            choices.push_back({p, now});
        }
        std::sort(choices.begin(), choices.end(),
                  [](const Choice& x, const Choice& y) { return x.cost < y.cost; });
        for (const Choice& choice : choices) {
            at[i] = choice.place;
            m_bytes[static_cast<std::size_t>(choice.place)] += item.bytes;
            extend(at, decided + 1, choice.cost);
            m_bytes[static_cast<std::size_t>(choice.place)] -= item.bytes;
        }
        at[i] = -1;
    }

    /// Lower bound: each place against all others as one, with free copies among the others and the best time
    /// on any of them. This is a problem of two places that costs no more than the original.
    double lowerBound() const {
        double best = 0;
        for (int place = 0; place < m_places; ++place) {
            AssignmentProblem merged = mergedBut(place);
            const Assignment least = solve(merged, m_isCancelled);
            best = std::max(best, least.ns);
        }
        return best;
    }
    AssignmentProblem mergedBut(int place) const {
        AssignmentProblem merged;
        merged.places = 2;
        // Place 0 stays a host, alone or merged.
        const int own = place == 0 ? 0 : 1;
        merged.hosts = givesScalars(m_problem, place) ? 1U << own : 0;
        if ((m_problem.hosts & ~(1U << place)) != 0) merged.hosts |= 1U << (1 - own);
        const auto leastOf = [&](const auto& price) {
            double least = std::numeric_limits<double>::infinity();
            for (int p = 0; p < m_places; ++p)
                if (p != place) least = std::min(least, price(p));
            return least;
        };
        for (const auto& item : m_problem.items) {
            auto& out = merged.items.emplace_back();
            out.ns.resize(2);
            if (isAllowed(item, place)) {
                out.allowed |= 1U << own;
                out.ns[static_cast<std::size_t>(own)] = item.ns[static_cast<std::size_t>(place)];
            }
            if ((item.allowed & ~(1U << place)) != 0) {
                out.allowed |= 1U << (1 - own);
                out.ns[static_cast<std::size_t>(1 - own)] = leastOf([&](int p) {
                    return isAllowed(item, p) ? item.ns[static_cast<std::size_t>(p)]
                                              : std::numeric_limits<double>::infinity();
                });
            }
            out.now = item.now == place ? own : 1 - own;
            if (!isAllowed(out, out.now)) out.now = 1 - out.now;
        }
        const auto at = [&](const AssignmentProblem::Tensor& tensor, int from, int to) {
            return tensor.copyNs[indexOf(from, to)];
        };
        for (const auto& tensor : m_problem.tensors) {
            auto& out = merged.tensors.emplace_back(tensor);
            out.copyNs.assign(4, 0);
            out.copyNs[own == 0 ? 1 : 2] = leastOf([&](int p) { return at(tensor, place, p); });
            out.copyNs[own == 0 ? 2 : 1] = leastOf([&](int p) { return at(tensor, p, place); });
        }
        return merged;
    }

    static constexpr std::size_t kMostStarts = 40;
    static constexpr std::size_t kItemStarts = 4000;
    static constexpr std::uint64_t kMostSteps = 20'000'000; // some seconds

    const AssignmentProblem& m_problem;
    const IsCancelled& m_isCancelled;
    const int m_places;
    std::vector<double> m_perByte; ///< price of a byte by place, in ps
    std::vector<Pico> m_unary;     ///< [item * places + place]
    std::vector<std::vector<Pico>> m_copies;
    std::vector<std::vector<std::uint32_t>> m_readsOf; ///< by item: tensors that it makes or reads
    // State of search():
    std::vector<std::uint32_t> m_order;
    std::vector<Pico> m_rest;
    std::vector<std::uint64_t> m_bytes;
    std::optional<std::vector<int>> m_found;
    Pico m_least = 0;
    std::uint64_t m_steps = 0;
    bool m_isLimited = false; ///< the unlimited optimum does not fit
    bool m_searched = false;
};

} // namespace

std::size_t AssignmentProblem::freeItems() const noexcept {
    return static_cast<std::size_t>(std::count_if(
        items.begin(), items.end(), [](const Item& item) { return !std::has_single_bit(item.allowed); }));
}

std::uint32_t AssignmentProblem::copiedTo(const Tensor& tensor, const std::vector<int>& at) const {
    const int from = at[tensor.producer];
    if (from < 0) return 0;
    std::uint32_t read = 0;
    const auto look = [&](const std::vector<std::uint32_t>& list) {
        for (const std::uint32_t reader : list)
            if (at[reader] >= 0) read |= 1U << at[reader];
    };
    look(tensor.readers);
    if (!givesScalars(*this, from)) look(tensor.scalarReaders);
    return read & ~(1U << from);
}

double AssignmentProblem::nsOf(const std::vector<int>& at) const {
    double sum = 0;
    for (std::size_t i = 0; i < items.size(); ++i) sum += items[i].ns[static_cast<std::size_t>(at[i])];
    for (const Tensor& tensor : tensors) {
        const std::uint32_t copied = copiedTo(tensor, at);
        for (std::uint32_t to = 0; to < places; ++to)
            if (copied >> to & 1U)
                sum += tensor.copyNs[static_cast<std::size_t>(at[tensor.producer]) * places + to];
    }
    return sum;
}

bool AssignmentProblem::fits(const std::vector<int>& at) const {
    if (limits.empty()) return true;
    std::vector<std::uint64_t> bytes(places, 0);
    for (std::size_t i = 0; i < items.size(); ++i) bytes[static_cast<std::size_t>(at[i])] += items[i].bytes;
    for (std::size_t p = 0; p < places; ++p)
        if (bytes[p] > limits[p]) return false;
    return true;
}

std::vector<int> AssignmentProblem::now() const {
    std::vector<int> at;
    for (const Item& item : items) at.push_back(item.now);
    return at;
}

Assignment solve(const AssignmentProblem& problem, const IsCancelled& isCancelled) {
    return Solver(problem, isCancelled).run();
}

} // namespace twb
