#include "placement/minimum_cut.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <limits>
#include <random>

using namespace twb;

namespace {

/// Random costs of a few vertices, and the cost of every partition.
struct Costs {
    struct Term {
        int one, other;
        bool onFirst;
        std::int64_t cost;
        enum { alone, apart, follows } kind;
    };
    explicit Costs(std::mt19937_64& random) : vertices(1 + static_cast<int>(random() % 6)) {
        for (int v = 0; v < vertices; ++v) cut.addVertex();
        for (std::size_t i = 0, count = random() % 12; i < count; ++i) {
            const auto vertex = [&] {
                return static_cast<int>(random() % static_cast<std::size_t>(vertices));
            };
            Term term{vertex(), vertex(), random() % 2 == 0, static_cast<std::int64_t>(random() % 50),
                      Term::alone};
            if (term.one != term.other) term.kind = random() % 2 ? Term::apart : Term::follows;
            if (term.kind == Term::alone)
                cut.addCost(term.one, term.onFirst, term.cost);
            else if (term.kind == Term::apart)
                cut.addApart(term.one, term.other, term.onFirst, term.cost);
            else
                cut.follow(term.one, term.other, term.onFirst);
            terms.push_back(term);
        }
    }
    template <class OnFirst> std::int64_t of(const OnFirst& onFirst) const {
        std::int64_t sum = 0;
        for (const Term& term : terms) {
            if (onFirst(term.one) != term.onFirst) continue;
            if (term.kind == Term::alone) sum += term.cost;
            if (term.kind == Term::alone || onFirst(term.other) == term.onFirst) continue;
            sum += term.kind == Term::apart ? term.cost : 1'000'000;
        }
        return sum;
    }
    int vertices;
    MinimumCut cut;
    std::vector<Term> terms;
};

} // namespace

class TestMinimumCut : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void againstEveryCut() {
        std::mt19937_64 random(5);
        for (int round = 0; round < 5000; ++round) {
            const Costs costs(random);
            std::int64_t least = std::numeric_limits<std::int64_t>::max();
            for (int bits = 0; bits < 1 << costs.vertices; ++bits)
                least = std::min(least, costs.of([&](int v) { return (bits >> v & 1) != 0; }));
            const std::vector<bool> found = costs.cut.solve();
            QCOMPARE(costs.of([&](int v) { return bool(found[static_cast<std::size_t>(v)]); }), least);
        }
    }
};

TWB_TEST_MAIN(TestMinimumCut)
#include "test_minimum_cut.moc"
