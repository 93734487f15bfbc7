#include "profile/example_plan.h"
#include "profile/run_timeline.h"
#include "profile/transfer_figures.h"
#include "support/test_main.h"

#include <cmath>

using namespace twb;

namespace {

StepRecord done(std::uint32_t step, std::uint32_t iteration, std::int64_t start, std::int64_t end) {
    return {step, iteration, StepState::done, start, end, {}, step == 1 ? 2560U : 0U};
}

} // namespace

class TestRunTimeline : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void iterationsLastFromOneEndToTheNext() {
        RunTimeline timeline(test::examplePlan());
        timeline.add(test::exampleRecords());
        timeline.finish();
        // The setup ends at 1500, the iterations at 5001 and 8000.
        QCOMPARE(timeline.iterations().count(), 2U);
        QCOMPARE(timeline.iterations().quantile(0), 2999.0);
        QCOMPARE(timeline.iterations().quantile(1), 3501.0);
    }

    void theLastIterationIsKeptAsItStarted() {
        RunTimeline timeline(test::examplePlan());
        timeline.add(test::exampleRecords());
        timeline.finish();
        QCOMPARE(timeline.setup().size(), 1U);
        QCOMPARE(timeline.last().size(), 3U);
        for (const StepRecord& record : timeline.last()) QCOMPARE(record.iteration, 1U);
        QCOMPARE(timeline.last()[0].startNs, 5000);
        QCOMPARE(timeline.leftOut(), 0U);
    }

    /// A cancel interrupts two iterations; their steps do not count as a complete iteration.
    void aCancelledIterationIsNone() {
        const auto cancelled = [](std::uint32_t step, std::uint32_t iteration) {
            return StepRecord{step, iteration, StepState::cancelled, 0, 0, {}, 0};
        };
        RunTimeline timeline(test::examplePlan());
        timeline.add(test::exampleRecords());
        const StepRecord third[] = {done(1, 2, 8000, 8100), done(2, 2, 8100, 8200), cancelled(3, 2)};
        const StepRecord fourth[] = {cancelled(1, 3), cancelled(2, 3), cancelled(3, 3)};
        timeline.add(third);
        timeline.add(fourth);
        timeline.finish();
        QCOMPARE(timeline.iterations().count(), 2U);
        QCOMPARE(timeline.iterations().quantile(0), 2999.0);
        QCOMPARE(timeline.last().size(), 3U);
        for (const StepRecord& record : timeline.last()) QCOMPARE(record.iteration, 1U);
        // A run that is cancelled before its first iteration is complete.
        RunTimeline nothing(test::examplePlan());
        nothing.add(third);
        nothing.finish();
        QCOMPARE(nothing.iterations().count(), 0U);
        QVERIFY(nothing.last().empty());
    }

    /// Step 1 copies; steps 2 and 3 compute. The copies of each iteration overlap with the computation of the
    /// next or previous one.
    void overlapCountsEachMomentOnce() {
        RunTimeline timeline(test::examplePlan());
        const std::vector<StepRecord> first{done(1, 0, 0, 100), done(2, 0, 100, 250), done(3, 0, 150, 260)};
        const std::vector<StepRecord> second{done(1, 1, 100, 200), done(2, 1, 260, 400),
                                             done(3, 1, 400, 410)};
        const std::vector<StepRecord> third{done(1, 2, 350, 410), done(2, 2, 410, 500), done(3, 2, 500, 510)};
        for (const auto& records : {first, second, third}) timeline.add(records);
        timeline.finish();
        // 0–100: no overlap. 100–200: full overlap, although two steps compute from 150 on. 240–300: 240–260
        // and 260–300.
        QCOMPARE(timeline.overlapNs()[0], 160);
    }

    void figuresFollowFromThem() {
        const auto plan = test::examplePlan();
        Ledger ledger(plan);
        RunTimeline timeline(plan);
        ledger.add(test::exampleRecords());
        timeline.add(test::exampleRecords());
        timeline.finish();
        TransferFigures figures = figuresOf(*plan, &ledger, &timeline)[0];
        QVERIFY(figures.direction == CopyDirection::hostToDevice);
        QCOMPARE(figures.linkPeakGBps, 1.0);
        QVERIFY(std::abs(*figures.ofPeakPercent - 100) < 1); // 2560 bytes in 2560 ns over a link of 1 GB/s
        // "relu" of iteration 0 runs from 5000 to 5001, beside the second copy.
        QVERIFY(std::abs(*figures.overlapPercent - 100 * 1.0 / 5120) < 1e-9);
        QVERIFY(!figures.queueWaitNs);  // unknown
        QVERIFY(!figures.errorPercent); // not defined for modelled times
        plan->transfers[0].modelled = false;
        plan->transfers[0].predictedNs = 1280;
        StepRecord waited = done(1, 2, 9000, 11560);
        waited.waitNs = 40;
        ledger.add(std::span(&waited, 1));
        figures = figuresOf(*plan, &ledger, &timeline)[0];
        QVERIFY(std::abs(*figures.errorPercent - 100) < 1);
        QCOMPARE(figures.queueWaitNs, 40.0);
        plan->transfers[0].setup = true;
        QVERIFY(!figuresOf(*plan, &ledger, &timeline)[0].overlapPercent);
        plan->transfers[0].source = Device::cuda(0);
        QVERIFY(figuresOf(*plan, &ledger, &timeline)[0].direction == CopyDirection::peer);
        QVERIFY(
            !figuresOf(*plan, &ledger, &timeline)[0].linkPeakGBps); // the profile has no link between GPUs
    }
};

TWB_TEST_MAIN(TestRunTimeline)
#include "test_run_timeline.moc"
