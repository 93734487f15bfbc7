#include "placement/assignment.h"
#include "support/test_main.h"

#include <QObject>

#include <bit>
#include <limits>
#include <random>

using namespace twb;

namespace {

double uniform(std::mt19937_64& random, double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
}

std::uint32_t below(std::mt19937_64& random, std::size_t count) {
    return static_cast<std::uint32_t>(random() % count);
}

/// Items that read tensors of earlier items, as in a network.
AssignmentProblem randomProblem(std::mt19937_64& random, std::size_t items, std::uint32_t places) {
    AssignmentProblem problem;
    problem.places = places;
    for (std::size_t i = 0; i < items; ++i) {
        auto& item = problem.items.emplace_back();
        item.now = static_cast<int>(below(random, places));
        const bool fixed = below(random, 8) == 0;
        item.allowed = fixed ? 1U << item.now : (1U << places) - 1;
        item.bytes = below(random, 100);
        for (std::uint32_t p = 0; p < places; ++p)
            item.ns.push_back(below(random, 3) == 0 ? 0 : uniform(random, 0, 100));
    }
    for (std::size_t i = 0; i + 1 < items; ++i) {
        auto& tensor = problem.tensors.emplace_back();
        tensor.producer = static_cast<std::uint32_t>(i);
        for (std::uint32_t k = 0, readers = 1 + below(random, 3); k < readers; ++k) {
            const auto reader = static_cast<std::uint32_t>(i + 1 + below(random, items - i - 1));
            (below(random, 6) == 0 ? tensor.scalarReaders : tensor.readers).push_back(reader);
        }
        for (std::uint32_t p = 0; p < places * places; ++p)
            tensor.copyNs.push_back(p / places == p % places ? 0 : uniform(random, 1, 60));
    }
    return problem;
}

/// The minimum over all assignments.
double leastNs(const AssignmentProblem& problem) {
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> at(problem.items.size(), 0);
    for (;;) {
        bool allowed = true;
        for (std::size_t i = 0; i < at.size(); ++i)
            allowed = allowed && (problem.items[i].allowed >> at[i] & 1U);
        if (allowed && problem.fits(at)) least = std::min(least, problem.nsOf(at));
        std::size_t i = 0;
        while (i < at.size() && ++at[i] == static_cast<int>(problem.places)) at[i++] = 0;
        if (i == at.size()) return least;
    }
}

void checkIsAllowed(const AssignmentProblem& problem, const Assignment& found) {
    QCOMPARE(found.at.size(), problem.items.size());
    for (std::size_t i = 0; i < found.at.size(); ++i) QVERIFY(problem.items[i].allowed >> found.at[i] & 1U);
    QCOMPARE(found.ns, problem.nsOf(found.at));
}

constexpr double kRounding = 0.1; // ns: costs are rounded to a picosecond per item and tensor

} // namespace

class TestAssignment : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void twoPlacesAgainstAllAssignments() {
        std::mt19937_64 random(1);
        for (int round = 0; round < 300; ++round) {
            const AssignmentProblem problem = randomProblem(random, 2 + below(random, 11), 2);
            const Assignment found = solve(problem);
            checkIsAllowed(problem, found);
            QVERIFY(found.isExact);
            const double least = leastNs(problem);
            QVERIFY2(std::abs(found.ns - least) < kRounding,
                     qPrintable(QStringLiteral("%1: %2, not %3").arg(round).arg(found.ns).arg(least)));
            QCOMPARE(found.atLeastNs, found.ns);
        }
    }

    void sixteenItemsOnTwoPlaces() {
        std::mt19937_64 random(16);
        for (int round = 0; round < 5; ++round) {
            const AssignmentProblem problem = randomProblem(random, 16, 2);
            QVERIFY(std::abs(solve(problem).ns - leastNs(problem)) < kRounding);
        }
    }

    void moreThanTwoPlaces() {
        std::mt19937_64 random(2);
        for (int round = 0; round < 60; ++round) {
            const std::uint32_t places = 3 + below(random, 2);
            const AssignmentProblem problem = randomProblem(random, 2 + below(random, 7), places);
            const Assignment found = solve(problem);
            checkIsAllowed(problem, found);
            QVERIFY(found.isExact);
            QVERIFY(std::abs(found.ns - leastNs(problem)) < kRounding);
        }
    }

    void withinLimits() {
        std::mt19937_64 random(3);
        int tight = 0;
        for (int round = 0; round < 100; ++round) {
            AssignmentProblem problem = randomProblem(random, 2 + below(random, 8), 2);
            const double free = solve(problem).ns;
            problem.limits = {10'000, below(random, 300)};
            const double least = leastNs(problem);
            const Assignment found = solve(problem);
            checkIsAllowed(problem, found);
            if (std::isinf(least)) {
                QVERIFY(!found.fits);
                continue;
            }
            QVERIFY(found.fits && problem.fits(found.at));
            QVERIFY(found.isExact);
            QVERIFY(std::abs(found.ns - least) < kRounding);
            tight += found.ns > free + kRounding;
        }
        QVERIFY(tight > 10); // otherwise the test shows nothing
    }

    /// With more than kExactItems items the solver improves by swaps. The test compares them with the exact
    /// minimum, using extra items that do not affect it.
    void swapsAreNearlyOptimal() {
        std::mt19937_64 random(4);
        double worst = 1;
        for (int round = 0; round < 60; ++round) {
            AssignmentProblem problem = randomProblem(random, 9, 3);
            const double least = leastNs(problem);
            // Items that cost nothing anywhere bring the problem above the limit of the exact search.
            for (std::size_t i = 0; i <= kExactItems; ++i) {
                auto& item = problem.items.emplace_back();
                item.allowed = 7;
                item.ns = {0, 0, 0};
            }
            const Assignment found = solve(problem);
            QVERIFY(!found.isExact);
            QVERIFY(found.ns > least - kRounding);
            QVERIFY2(
                found.atLeastNs <= least + kRounding,
                qPrintable(
                    QStringLiteral("%1 is said to be the least, %2 is").arg(found.atLeastNs).arg(least)));
            if (least > 0) worst = std::max(worst, found.ns / least);
        }
        QVERIFY2(worst <= 1.05, qPrintable(QString::number(worst)));
    }

    void nothingMovesForNothing() {
        AssignmentProblem problem;
        problem.places = 2;
        for (int now : {1, 0, 1})
            problem.items.push_back({.allowed = 3, .ns = {5, 5}, .bytes = 0, .now = now});
        QCOMPARE(solve(problem).at, (std::vector<int>{1, 0, 1}));
    }
};

TWB_TEST_MAIN(TestAssignment)
#include "test_assignment.moc"
