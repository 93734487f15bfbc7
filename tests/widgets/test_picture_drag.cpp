#include "support/test_main.h"
#include "widgets/panels/memory_stack.h"
#include "widgets/panels/transfer_plot.h"
#include "widgets/window_fixture.h"

#include <QDrag>
#include <QImage>
#include <QMimeData>
#include <QMouseEvent>
#include <QUrl>

#include <set>

using namespace twb;
using namespace twb::test;

namespace {

/// The data that another program would receive.
struct Taken {
    QImage image;
    QByteArray png;
    QList<QUrl> urls;
    bool isSomething = false;
};

/// Starts a drag at a widget. The offscreen platform ends it immediately, but its data exists until the next
/// event.
Taken pullFrom(QWidget& from, QPoint at, Qt::KeyboardModifiers modifiers) {
    QTest::mousePress(&from, Qt::LeftButton, modifiers, at);
    const QPoint there = at + QPoint(0, 24);
    QMouseEvent move(QEvent::MouseMove, there, from.mapToGlobal(there), Qt::NoButton, Qt::LeftButton,
                     modifiers);
    QApplication::sendEvent(&from, &move);
    Taken taken;
    if (const auto* drag = from.window()->findChild<QDrag*>()) {
        taken.isSomething = drag->supportedActions() == Qt::CopyAction && !drag->pixmap().isNull();
        taken.image = qvariant_cast<QImage>(drag->mimeData()->imageData());
        taken.png = drag->mimeData()->data(QStringLiteral("image/png"));
        taken.urls = drag->mimeData()->urls();
    }
    QTest::mouseRelease(&from, Qt::LeftButton, modifiers, there);
    return taken;
}

void checkPicture(const Taken& taken, QSize least) {
    QVERIFY(taken.isSomething);
    QVERIFY(taken.image.width() >= least.width() && taken.image.height() >= least.height());
    QCOMPARE(QImage::fromData(taken.png, "PNG").size(), taken.image.size());
    QCOMPARE(taken.urls.size(), 1);
    QVERIFY(taken.urls.front().isLocalFile());
    QCOMPARE(QImage(taken.urls.front().toLocalFile()).size(), taken.image.size());
    // The picture is not empty.
    std::set<QRgb> colors;
    for (int y = 0; y < taken.image.height(); y += 3)
        for (int x = 0; x < taken.image.width(); x += 3) colors.insert(taken.image.pixel(x, y));
    QVERIFY(colors.size() > 8);
}

} // namespace

class TestPictureDrag : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
    }

    void theHandleTakesTheTransferPlotAlong() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("transfers"));
        window->runs().run(5);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        auto& plot = *find<TransferPlot>(*window, "transferPlot");
        auto& handle = *find<QWidget>(plot, "pictureDrag");
        QVERIFY(handle.isVisible() && plot.rect().contains(handle.geometry()));
        const Taken taken = pullFrom(handle, handle.rect().center(), {});
        checkPicture(taken, {800, 400});
    }

    void aDragWithAltTakesItAlongAndOneWithoutPans() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("transfers"));
        window->runs().run(20);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        auto& plot = *find<TransferPlot>(*window, "transferPlot");
        const double left = plot.xAxis->range().lower;
        const Taken taken = pullFrom(plot, plot.axisRect()->center(), Qt::AltModifier);
        checkPicture(taken, {800, 400});
        QCOMPARE(plot.xAxis->range().lower, left);
        QVERIFY(plot.isFollowing());
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        QVERIFY(!pullFrom(plot, plot.axisRect()->center(), {}).isSomething);
        QVERIFY(!plot.isFollowing());
    }

    void theMemoryGoesAlongWithoutItsHandle() {
        const auto window = makeWindow();
        window->load(sourcePath(kDigits));
        window->bottom().showPage(QStringLiteral("memory"));
        auto& stack = *find<MemoryStack>(*window, "memoryStack");
        window->runs().run(5);
        QVERIFY(waitForRun(*window));
        QCoreApplication::processEvents();
        auto& handle = *find<QWidget>(stack, "pictureDrag");
        const Taken taken = pullFrom(handle, handle.rect().center(), {});
        checkPicture(taken, stack.size());
        const QPoint corner = handle.geometry().center() * 2;
        QCOMPARE(taken.image.pixelColor(corner), Theme::current().panel);
    }
};

TWB_GUI_TEST_MAIN(TestPictureDrag)
#include "test_picture_drag.moc"
