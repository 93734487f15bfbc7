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
        // What the plan has reserved is enough for all that is alive at once.
        QVERIFY(stack.course()->peakBytes <= window->runs().figures()->plan().bytesOn(Device::cuda(0)));
        std::uint64_t sum = 0;
        for (const MemoryStack::Band& band : stack.bands()) sum += band.bytesAtPeak;
        QCOMPARE(sum, stack.course()->peakBytes);
        // 360 rows of 128 activations are the largest of it.
        QVERIFY(stack.bands().front().name == QStringLiteral("fc1") ||
                stack.bands().front().name == QStringLiteral("relu"));
        QCOMPARE(stack.bands().front().bytesAtPeak, std::uint64_t(360 * 128 * 4));
        QVERIFY(stack.accessibleDescription().startsWith(QStringLiteral("At the peak")));
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
