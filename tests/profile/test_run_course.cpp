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

    /// fc1 waits for a copy in each of two runs of a body. Of the loop itself, only the time around them
    /// counts.
    void aLoopCountsAsTheStepsOfItsBody() {
        const auto looped = plan();
        looped->controls.resize(1);
        looped->steps[1].carriedWaits = {};
        for (const std::uint32_t inside : {1U, 2U}) looped->steps[inside].owner = 0;
        looped->steps[3].control = 0;
        const std::vector<StepRecord> records{
            done(1, 0, 2000, 4000), done(2, 0, 4000, 7000), // the first run of the body
            done(1, 0, 7100, 9100), done(2, 0, 9300, 9800), // the second one
            done(3, 0, 1500, 10'000)};
        const RunCourse course = courseOf(*looped, records);
        QCOMPARE(course.after[1], 0U);
        QCOMPARE(course.after[3], 2U);
        QCOMPARE(course.critical, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
        QCOMPARE(course.transferNs, 2000.0 + 2000.0);
        QCOMPARE(course.computeNs + course.overheadNs, 3000.0 + 500.0);
        QCOMPARE(course.waitNs, 500.0 + 100.0 + 200.0 + 200.0);
        QCOMPARE(course.lengthNs, 10'000.0 - 1500.0);
    }

    /// The branches of an If in a Loop alternate; a step after the Loop is in the stream of its body.
    void nestedBodiesAreEachFollowed() {
        const auto nested = plan();
        nested->controls.resize(2);
        Step made = nested->steps[3];
        const auto add = [&](std::uint32_t stream, std::uint32_t owner, std::uint32_t body,
                             std::uint32_t control) {
            made.index = static_cast<std::uint32_t>(nested->steps.size());
            made.stream = stream;
            made.owner = owner;
            made.body = body;
            made.control = control;
            made.inPlaceOf = kNone;
            nested->steps.push_back(made);
            return made.index;
        };
        const std::uint32_t then = add(2, 1, 0, kNone);
        const std::uint32_t otherwise = add(2, 1, 1, kNone);
        const std::uint32_t branch = add(0, 0, 0, 1);
        const std::uint32_t loop = add(0, kNone, 0, 0);
        const std::uint32_t last = add(2, kNone, 0, kNone);
        const std::vector<StepRecord> records{done(then, 0, 1000, 2000),      done(branch, 0, 500, 2100),
                                              done(otherwise, 0, 3000, 3500), done(branch, 0, 2500, 3600),
                                              done(loop, 0, 100, 4000),       done(last, 0, 5000, 6000)};
        const RunCourse course = courseOf(*nested, records);
        QCOMPARE(course.critical, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
        QCOMPARE(course.computeNs + course.overheadNs, 1000.0 + 500.0 + 1000.0);
        QCOMPARE(course.lengthNs, 6000.0 - 100.0);
    }

    void nothingComesOfNothing() {
        const RunCourse course = courseOf(*plan(), {});
        QVERIFY(course.critical.empty());
        QCOMPARE(course.lengthNs, 0.0);
    }
};

TWB_TEST_MAIN(TestRunCourse)
#include "test_run_course.moc"
