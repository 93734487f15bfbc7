#include "support/test_main.h"
#include "widgets/run_bar.h"
#include "widgets/window_fixture.h"

#include <QLabel>
#include <QLibrary>
#include <QMenu>

using namespace twb;
using namespace twb::test;

namespace {

// Of the stand-in for the CUDA runtime (cuda/fake_runtime.h).
constexpr int kAtCall = 0;
constexpr int kAtCommand = 1;
constexpr int kDevicesUnavailable = 46; // cudaErrorDevicesUnavailable
constexpr int kIllegalAddress = 700;    // cudaErrorIllegalAddress

} // namespace

/// The window beside a GPU that is lost, with GPUs of a plugin that stands in for the real one.
class TestLostGpu : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
#ifndef TWB_FAKE_GPUS
        QSKIP("no CUDA toolkit");
#else
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        qputenv("TWB_CUDA_PLUGIN", TWB_FAKE_GPUS);
        m_plugin.setFileName(QStringLiteral(TWB_FAKE_GPUS));
        QVERIFY2(m_plugin.load(), qPrintable(m_plugin.errorString()));
        m_lose = reinterpret_cast<void (*)(int, int, int)>(m_plugin.resolve("twb_fake_lose"));
        m_giveBack = reinterpret_cast<void (*)()>(m_plugin.resolve("twb_fake_give_back"));
        QVERIFY(m_lose && m_giveBack);
#endif
    }

    void theWindowOutlivesALostGpu() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        QVERIFY(!window->document().devices().isSimulated(Device::cuda(0)));
        const auto press = [&] {
            QTest::mouseClick(find<QPushButton>(*window, "run"), Qt::LeftButton);
            return waitForRun(*window);
        };
        const auto status = [&] { return find<QLabel>(*window, "status")->text(); };
        const auto finished = [&] {
            return window->runs().result() && window->runs().result()->status == RunStatus::finished;
        };
        QVERIFY(press());
        QVERIFY2(finished(), qPrintable(status()));

        // Another program has the GPU to itself: the run is refused, and works once the GPU is free.
        m_lose(kAtCall, 1, kDevicesUnavailable);
        QVERIFY(press());
        QVERIFY(!window->runs().result());
        QVERIFY2(
            status().contains(QLatin1String("could not start: cuda:0 cannot be used now; run again later")),
            qPrintable(status()));
        m_giveBack();
        QVERIFY(press());
        QVERIFY2(finished(), qPrintable(status()));

        // The GPU fails in the middle of a run.
        m_lose(kAtCommand, 12, kIllegalAddress);
        QVERIFY(press());
        QCOMPARE(window->runs().result()->status, RunStatus::failed);
        QVERIFY2(status().contains(QLatin1String("cuda:0 can no longer be used; restart the program, or "
                                                 "simulate cuda:0")),
                 qPrintable(status()));
        const StepError& error = window->runs().result()->errors.front();
        const Node* node = window->document().graph().find(error.node);
        QVERIFY(node && status().contains(QString::fromStdString(node->name)));
        // The window shows the node with its error, and the panels that read the device.
        QVERIFY(window->selectNode(QString::fromStdString(node->name)));
        window->grab();

        // Pressed again, with the GPU still lost.
        QVERIFY(press());
        QVERIFY2(status().contains(QLatin1String("could not start: cuda:0 can no longer be used")),
                 qPrintable(status()));
        QVERIFY(find<QPushButton>(*window, "run")->isEnabled());

        // Simulated, as the sentence says.
        auto* hardware = find<QPushButton>(*window, "device.cuda:0");
        QAction* simulated = hardware->menu()->actions().front();
        QVERIFY(simulated->text().startsWith(QLatin1String("Simulated")));
        simulated->trigger();
        QVERIFY(press());
        QVERIFY2(finished(), qPrintable(status()));
    }

private:
    QLibrary m_plugin;
    void (*m_lose)(int at, int number, int error) = nullptr;
    void (*m_giveBack)() = nullptr;
};

TWB_GUI_TEST_MAIN(TestLostGpu)
#include "test_lost_gpu.moc"
