#include "profile/ledger.h"
#include "profile/report.h"
#include "support/test_main.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace twb;

namespace {

/// Two transfers and one op; steps 0 and 2 are copies.
std::shared_ptr<const Plan> plan() {
    auto p = std::make_shared<Plan>();
    p->transfers.resize(2);
    p->steps.resize(3);
    p->steps[0].transfer = 1;
    p->steps[2].transfer = 0;
    return p;
}

StepRecord done(std::uint32_t step, std::int64_t start, std::int64_t end, std::uint64_t bytes = 0,
                std::int64_t wait = 0) {
    return {step, 0, StepState::done, start, end, wait, bytes};
}

double exactQuantile(std::vector<std::int64_t> values, double q) {
    std::sort(values.begin(), values.end());
    const double rank = std::max(1.0, std::ceil(q * static_cast<double>(values.size())));
    return static_cast<double>(values[static_cast<std::size_t>(rank) - 1]);
}

} // namespace

class TestLedger : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anEmptyHistogramIsZero() {
        const Histogram h;
        QCOMPARE(h.count(), 0U);
        QCOMPARE(h.quantile(0.5), 0.0);
    }

    void smallValuesAreExact() {
        Histogram h;
        for (int i = 0; i < 128; ++i) h.add(i);
        for (int i = 1; i <= 128; ++i) QCOMPARE(h.quantile(i / 128.0), static_cast<double>(i - 1));
        QCOMPARE(h.quantile(-3), 0.0);
        QCOMPARE(h.quantile(7), 127.0);
    }

    void negativeTimesCountAsZero() {
        Histogram h;
        h.add(-5);
        QCOMPARE(h.count(), 1U);
        QCOMPARE(h.quantile(1), 0.0);
    }

    void theLargestValueFits() {
        Histogram h;
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        h.add(most);
        QCOMPARE(h.quantile(0.5), static_cast<double>(most));
    }

    void equalValuesAreExact() {
        Histogram h;
        for (int i = 0; i < 100; ++i) h.add(344'617);
        QCOMPARE(h.quantile(0.5), 344'617.0);
        QCOMPARE(h.quantile(0.95), 344'617.0);
        h.add(1'000'003);
        QCOMPARE(h.quantile(1), 1'000'003.0);
    }

    void quantilesAreWithinEightTenthsOfAPercent() {
        std::mt19937_64 random(20240711);
        std::lognormal_distribution<double> spread(9, 3);
        for (const int count : {1, 2, 3, 10, 1000, 20000}) {
            Histogram h;
            std::vector<std::int64_t> values;
            for (int i = 0; i < count; ++i) {
                values.push_back(static_cast<std::int64_t>(spread(random)));
                h.add(values.back());
            }
            QCOMPARE(h.count(), static_cast<std::uint64_t>(count));
            for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0}) {
                const double exact = exactQuantile(values, q);
                QVERIFY2(
                    std::abs(h.quantile(q) - exact) <= 0.008 * exact,
                    qPrintable(
                        QString("q %1 of %2: %3, exact %4").arg(q).arg(count).arg(h.quantile(q)).arg(exact)));
            }
        }
    }

    void countsAndBytesAreExact() {
        Ledger ledger(plan());
        const StepRecord first[] = {done(0, 100, 1100, 4000, 7), done(1, 0, 50), done(2, 2000, 2500, 96)};
        const StepRecord second[] = {done(0, 5000, 7000, 4000, 3)};
        ledger.add(first);
        ledger.add(second);
        const LedgerRow& up = ledger.rows()[1];
        QCOMPARE(up.count, 2U);
        QCOMPARE(up.bytes, 8000U);
        QCOMPARE(up.lastNs, 2000);
        QCOMPARE(up.minNs, 1000);
        QCOMPARE(up.totalNs, 3000);
        QCOMPARE(up.waitNs, 10);
        QVERIFY(std::abs(up.medianNs() - 1000) <= 8);
        QVERIFY(std::abs(up.p95Ns() - 2000) <= 16);
        QVERIFY(std::abs(up.gbPerSecond() - 4.0) < 0.04); // 4000 bytes in 1000 ns
        QCOMPARE(ledger.rows()[0].count, 1U);
        QCOMPARE(ledger.rows()[0].bytes, 96U);
        QCOMPARE(ledger.totalBytes(), 8096U);
        QCOMPARE(ledger.totalNs(), 3500);
    }

    void onlyFinishedCopiesCount() {
        Ledger ledger(plan());
        for (const StepState state :
             {StepState::cached, StepState::failed, StepState::poisoned, StepState::cancelled}) {
            StepRecord record = done(0, 0, 10, 10);
            record.state = state;
            ledger.add({&record, 1});
        }
        QCOMPARE(ledger.rows()[1].count, 0U);
        QCOMPARE(ledger.rows()[1].gbPerSecond(), 0.0);
        QCOMPARE(ledger.totalBytes(), 0U);
    }

    void withoutAPlanThereIsNothingToCount() {
        Ledger ledger;
        const StepRecord record = done(0, 0, 10, 10);
        ledger.add({&record, 1});
        QVERIFY(ledger.rows().empty());
        QCOMPARE(ledger.plan(), nullptr);
    }

    void stepTimesKeepTheLastStateAndTheTimesOfFinishedSteps() {
        StepTimes times(plan());
        StepRecord records[] = {done(1, 0, 100), done(1, 200, 500), done(1, 0, 0)};
        records[2].state = StepState::failed;
        times.add(records);
        const StepTimes::Row& row = times.rows()[1];
        QCOMPARE(row.count, 2U);
        QCOMPARE(row.lastNs, 300);
        QCOMPARE(row.totalNs, 400);
        QCOMPARE(row.state, StepState::failed);
        QCOMPARE(row.times.quantile(0.5), 100.0);
        QCOMPARE(times.rows()[0].state, StepState::pending);
    }
};

TWB_TEST_MAIN(TestLedger)
#include "test_ledger.moc"
