#include "profile/example_plan.h"
#include "profile/trace_memory.h"
#include "support/test_main.h"

using namespace twb;

namespace {

StepRecord done(std::uint32_t step, std::uint32_t iteration, std::int64_t start, std::int64_t end) {
    return {step, iteration, StepState::done, start, end, 0, 0};
}

/// The setup and one iteration: images on the cpu; its copy, fc1 and relu (in place of fc1) on cuda:0.
const std::vector<StepRecord> kRecords{done(0, 0, 0, 1500), done(1, 1, 5000, 7560), done(2, 1, 7560, 8000),
                                       done(3, 1, 8000, 8400)};

} // namespace

class TestMemoryCourse : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tensorsLiveFromTheirMakerToTheirLastReader() {
        const std::vector<LiveTensor> tensors = liveTensors(*test::examplePlan(), kRecords);
        QCOMPARE(tensors.size(), std::size_t(3)); // relu's takes the place of fc1's
        QCOMPARE(tensors[0].producer, 0U);
        QCOMPARE(tensors[0].endNs, kToTheEnd); // made before the iterations
        QCOMPARE(tensors[1].producer, 1U);
        QCOMPARE(tensors[1].bytes, 2560U);
        QCOMPARE(tensors[1].startNs, 5000);
        QCOMPARE(tensors[1].endNs, 8000);
        QCOMPARE(tensors[2].producer, 2U);
        QCOMPARE(tensors[2].endNs, kToTheEnd); // relu's is kept
    }

    void anUpdateTakesNoMemoryOfItsOwn() {
        const auto plan = test::examplePlan();
        plan->steps[3].inPlaceOf = kNone;
        plan->values[2].isUpdated = true;
        plan->values[3].updateOf = 2;
        QCOMPARE(liveTensors(*plan, kRecords).size(), std::size_t(3));
        plan->values[3].updateOf = kNone;
        QCOMPARE(liveTensors(*plan, kRecords).size(), std::size_t(4));
        plan->values[3].absent = true;
        QCOMPARE(liveTensors(*plan, kRecords).size(), std::size_t(3));
    }

    void thePeakNamesWhatIsAlive() {
        const std::vector<MemoryCourse> courses = memoryCourses(*test::examplePlan(), kRecords);
        QCOMPARE(courses.size(), std::size_t(2));
        const MemoryCourse& cpu = courses[courses[0].device.isCpu() ? 0 : 1];
        const MemoryCourse& gpu = courses[courses[0].device.isCpu() ? 1 : 0];
        QCOMPARE(cpu.peakBytes, 2560U);
        QCOMPARE(cpu.peakNs, 5000); // since before the iteration
        QCOMPARE(gpu.startNs, 5000);
        QCOMPARE(gpu.endNs, 8400);
        QCOMPARE(gpu.peakBytes, 3840U);
        QCOMPARE(gpu.peakNs, 7560);
        QCOMPARE(gpu.atPeak.size(), std::size_t(2));
        QCOMPARE(gpu.atPeak[0].producer, 1U); // the larger one first
        QCOMPARE(gpu.atPeak[1].producer, 2U);
    }
};

TWB_TEST_MAIN(TestMemoryCourse)
#include "test_memory_course.moc"
