#include "support/test_main.h"
#include "widgets/panels/memory_bars.h"
#include "widgets/panels/memory_stack.h"
#include "widgets/window_fixture.h"

using namespace twb;
using namespace twb::test;

class TestMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theStackShowsWhatIsAliveAtThePeak() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("memory"));
        window->runs().run(5);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        const auto& stack = *find<MemoryStack>(*window, "memoryStack");
        QVERIFY(stack.course());
        QCOMPARE(stack.course()->device, Device::cuda(0)); // the GPU first
        QVERIFY(stack.course()->peakBytes > 0);
        // The planned memory suffices for all live tensors.
        QVERIFY(stack.course()->peakBytes <= window->runs().figures()->plan().bytesOn(Device::cuda(0)));
        std::uint64_t sum = 0;
        for (const MemoryStack::Band& band : stack.bands()) sum += band.bytesAtPeak;
        QCOMPARE(sum, stack.course()->peakBytes);
        // The largest part is 360 rows of 128 activations.
        QVERIFY(stack.bands().front().name == QStringLiteral("fc1") ||
                stack.bands().front().name == QStringLiteral("relu"));
        QCOMPARE(stack.bands().front().bytesAtPeak, std::uint64_t(360 * 128 * 4));
        QVERIFY(stack.accessibleDescription().startsWith(QStringLiteral("At the peak")));
    }

    /// Once, three figures were shown side by side and their difference was not explained.
    void theListAddsUpToThePeak() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("memory"));
        window->runs().run(5);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        auto& bars = *find<MemoryBars>(*window, "memoryBars");
        const auto& stack = *find<MemoryStack>(*window, "memoryStack");
        for (int row = 0; row < int(bars.rows().size()); ++row) {
            QTest::mouseClick(&bars, Qt::LeftButton, {}, bars.rectOf(row).center());
            const std::vector<MemoryStack::Line>& lines = stack.lines();
            QVERIFY(lines.size() >= 3);
            QVERIFY(lines.front().isSum);
            QCOMPARE(lines.front().bytes, stack.course()->peakBytes);
            std::uint64_t alive = 0;
            std::uint64_t all = 0;
            for (const MemoryStack::Line& line : lines) {
                if (line.isSum) continue;
                all += line.bytes;
                if (line.band >= 0) alive += line.bytes;
            }
            QCOMPARE(alive, stack.course()->peakBytes);
            QVERIFY(lines.back().isSum);
            QCOMPARE(lines.back().bytes, all);
            QCOMPARE(lines.back().bytes, std::uint64_t(bars.rows()[std::size_t(row)].peak));
        }
    }

    /// Once, a peak shorter than a pixel was not drawn, and its mark pointed at nothing.
    void markIsOnTheSpike() {
        auto plan = std::make_shared<Plan>();
        for (const char* label : {"weights", "spike", "rest"}) {
            Step step;
            step.index = std::uint32_t(plan->steps.size());
            step.label = label;
            plan->steps.push_back(step);
        }
        MemoryCourse course;
        course.endNs = 1'000'000'000;
        course.tensors = {{0, Device::cpu(), 1000, 0, kToTheEnd},
                          {1, Device::cpu(), 9000, 500'000'123, 500'000'124},
                          {2, Device::cpu(), 500, 500'000'200, 900'000'000}};
        course.peakNs = 500'000'123;
        course.peakBytes = 10'000;
        course.atPeak = {course.tensors[1], course.tensors[0]};
        MemoryStack stack;
        stack.resize(700, 300);
        stack.setCourse(plan, course, 10'000, 0);
        for (const int width : {40, 333, 1000}) {
            std::uint64_t atMark = 0;
            for (const MemoryStack::Column& column : stack.columns(width))
                if (column.at <= stack.peakColumn(width)) atMark = column.sums.back();
            QCOMPARE(atMark, std::uint64_t(10'000));
        }
    }

    void aClickAndAKeyChooseTheDevice() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("memory"));
        window->runs().run(2);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        auto& bars = *find<MemoryBars>(*window, "memoryBars");
        const auto& stack = *find<MemoryStack>(*window, "memoryStack");
        const int cpu = bars.rows()[0].device.isCpu() ? 0 : 1;
        QTest::mouseClick(&bars, Qt::LeftButton, {}, bars.rectOf(cpu).center());
        QCOMPARE(stack.course()->device, Device::cpu());
        QTest::keyClick(&bars, cpu == 0 ? Qt::Key_Down : Qt::Key_Up);
        QCOMPARE(stack.course()->device, Device::cuda(0));
    }
};

TWB_GUI_TEST_MAIN(TestMemory)
#include "test_memory.moc"
