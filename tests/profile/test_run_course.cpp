#include "profile/example_plan.h"
#include "profile/run_course.h"
#include "support/test_main.h"

#include <algorithm>

using namespace twb;

namespace {

StepRecord done(std::uint32_t step, std::uint32_t iteration, std::int64_t start, std::int64_t end) {
    return {step, iteration, StepState::done, start, end, 0, step == 1 ? 2560U : 0U};
}

/// images (setup, cpu) → To (copy) → fc1 → relu (both cuda:0 compute), with launches of 1 µs. The copy waits
/// for the previous iteration's relu, whose memory it overwrites.
std::shared_ptr<Plan> plan() {
    const auto plan = test::examplePlan();
    plan->steps[2].waits = {1};
    plan->steps[1].carriedWaits = {3};
    return plan;
}

} // namespace

class TestRunCourse : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void eachStepComesAfterWhatItWaitedForLast() {
        const std::vector<StepRecord> records{
            done(0, 0, 0, 1500),    done(1, 0, 2000, 4560), done(2, 0, 4560, 7000), done(3, 0, 7000, 7500),
            done(1, 1, 7600, 9000), done(2, 1, 9100, 9900), done(3, 1, 9900, 9950)};
        const RunCourse course = courseOf(*plan(), records);
        QCOMPARE(course.after, (std::vector<std::uint32_t>{kNone, kNone, 1, 2, 3, 4, 5}));
        QCOMPARE(course.before, (std::vector<std::uint32_t>{kNone, kNone, kNone, 2, 1, 3, 5}));
        // The last iteration only: the copy, fc1, relu.
        QCOMPARE(course.critical, (std::vector<std::uint32_t>{4, 5, 6}));
        QCOMPARE(course.transferNs, 1400.0);
        QCOMPARE(course.waitNs, 100.0);
        QCOMPARE(course.lengthNs, 9950.0 - 7600.0);
        QCOMPARE(course.computeNs + course.overheadNs, 850.0);
    }

    /// A copy that ends long before its result is needed is not on the path.
    void whatEndsEarlyIsNotCritical() {
        const auto slow = plan();
        const std::vector<StepRecord> records{
            done(0, 0, 0, 100),    done(1, 0, 100, 200),   done(2, 0, 200, 900),  done(1, 1, 200, 300),
            done(3, 0, 900, 1000), done(2, 1, 1000, 1800), done(3, 1, 1800, 1900)};
        // In the order of the reports: iteration by iteration.
        std::vector<StepRecord> ordered = records;
        std::stable_sort(ordered.begin(), ordered.end(),
                         [](const auto& a, const auto& b) { return a.iteration < b.iteration; });
        const RunCourse course = courseOf(*slow, ordered);
        // Iteration 1: fc1 and relu; before them the stream was busy with iteration 0.
        QCOMPARE(course.critical.size(), std::size_t(2));
        QCOMPARE(ordered[course.critical[0]].step, 2U);
        QCOMPARE(course.transferNs, 0.0);
        QCOMPARE(course.lengthNs, 900.0);
    }

    void tensorsFlowFromMakerOverCopyToReader() {
        const std::vector<StepRecord> records = test::exampleRecords();
        const std::vector<TensorFlow> flows = flowsOf(*plan(), records);
        QCOMPARE(flows.size(), std::size_t(2));
        QCOMPARE(records[flows[1].producer].step, 0U);
        QCOMPARE(records[flows[1].transfer].step, 1U);
        QCOMPARE(records[flows[1].transfer].iteration, 1U);
        QCOMPARE(records[flows[1].consumer].step, 2U);
    }

    /// Each of two steps without a duration ends as the other starts.
    void stepsThatWaitForEachOtherMakeNoCircle() {
        const auto both = plan();
        both->steps[1].waits = {2};
        const std::vector<StepRecord> records{done(1, 0, 50, 50), done(2, 0, 50, 50), done(3, 0, 50, 60)};
        const RunCourse course = courseOf(*both, records);
        QCOMPARE(course.after, (std::vector<std::uint32_t>{kNone, 0, 1}));
        QCOMPARE(course.critical, (std::vector<std::uint32_t>{0, 1, 2}));
    }

    void nothingComesOfNothing() {
        const RunCourse course = courseOf(*plan(), {});
        QVERIFY(course.critical.empty());
        QCOMPARE(course.lengthNs, 0.0);
    }
};

TWB_TEST_MAIN(TestRunCourse)
#include "test_run_course.moc"
