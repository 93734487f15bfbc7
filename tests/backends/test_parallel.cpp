#include "backends/cpu/parallel.h"
#include "backends/cpu/team_progress.h"
#include "support/test_main.h"

#include <QObject>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <stdexcept>

using namespace twb;

class TestParallel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyElementIsVisitedOnce() {
        constexpr std::int64_t kTotal = 100'003;
        std::vector<std::atomic<int>> visits(kTotal);
        parallelRanges(kTotal, kTotal * 100, 16, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (const auto& count : visits) QCOMPARE(count.load(), 1);
    }

    /// An exception that leaves an OpenMP region would terminate the program.
    void anExceptionComesOutOfTheRegion_data() {
        QTest::addColumn<bool>("everywhere");
        QTest::newRow("one range") << false;
        QTest::newRow("every range") << true;
    }
    void anExceptionComesOutOfTheRegion() {
        QFETCH(bool, everywhere);
        for (int round = 0; round < 100; ++round)
            QVERIFY_EXCEPTION_THROWN(parallelRanges(1000, 1'000'000'000, 1,
                                                    [&](std::int64_t begin, std::int64_t end) {
                                                        if (everywhere || (begin <= 700 && 700 < end))
                                                            throw std::bad_alloc();
                                                    }),
                                     std::bad_alloc);
        // The threads can be used again.
        std::atomic<std::int64_t> sum{0};
        parallelRanges(1000, 1'000'000'000, 1,
                       [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
        QCOMPARE(sum.load(), std::int64_t{1000});
    }

    /// Each member reads what all others wrote in the part before.
    void membersOfATeamWaitForEachOther() {
        constexpr std::int64_t kMost = 4;
        constexpr int kParts = 2000;
        std::array<std::array<std::int64_t, kMost>, 2> sums{};
        std::array<std::int64_t, kMost> wrong{};
        std::int64_t count = 0;
        TeamProgress progress(kMost);
        runTeam(kMost, [&](std::int64_t member, std::int64_t members) {
            if (member == 0) count = members;
            for (std::size_t part = 0; part < kParts; ++part) {
                const auto& before = sums[part % 2];
                const bool isEqual =
                    std::all_of(before.begin(), before.begin() + members,
                                [part](std::int64_t sum) { return sum == static_cast<std::int64_t>(part); });
                if (!isEqual) ++wrong[static_cast<std::size_t>(member)];
                sums[1 - part % 2][static_cast<std::size_t>(member)] = before[0] + 1;
                progress.finish(member, members);
            }
        });
        if (count == 1) QSKIP("OpenMP gives one thread only");
        QVERIFY(count <= kMost);
        QCOMPARE(wrong, (std::array<std::int64_t, kMost>{}));
        QCOMPARE(sums[kParts % 2][0], std::int64_t{kParts});
    }
};

TWB_TEST_MAIN(TestParallel)
#include "test_parallel.moc"
