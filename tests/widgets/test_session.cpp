#include "formats/project.h"
#include "support/test_main.h"
#include "widgets/busy_dialog.h"
#include "widgets/canvas/legend.h"
#include "widgets/dialog_answer.h"
#include "widgets/project_card.h"
#include "widgets/session.h"
#include "widgets/settings.h"
#include "widgets/start_page.h"
#include "widgets/window_hand.h"

#include <QDir>
#include <QScreen>
#include <QSplitter>
#include <QThread>

#include <algorithm>
#include <atomic>

using namespace twb;
using namespace twb::test;

namespace {

Graph graphWith(const char* name) {
    Graph graph;
    DeltaBuilder builder(graph, "make");
    addNode(builder, builder.addLane({LaneId::none, Device::cpu(), "", 0, 200}), "Ones", name, 16, 16);
    graph.apply(builder.take());
    return graph;
}

StartPage& startPage(MainWindow& window) { return *window.findChild<StartPage*>(); }

ProjectCard* cardOf(MainWindow& window, const QString& file) {
    for (ProjectCard* found : startPage(window).findChildren<ProjectCard*>())
        if (QFileInfo(found->path()).fileName() == file) return found;
    return nullptr;
}

QString geometryWords(const QRect& place) {
    return QStringLiteral("%1, %2, %3 x %4")
        .arg(place.x())
        .arg(place.y())
        .arg(place.width())
        .arg(place.height());
}

void pressIn(MainWindow& window, Qt::Key key, Qt::KeyboardModifiers modifiers) {
    window.activateWindow();
    QCoreApplication::processEvents();
    QTest::keyClick(&window, key, modifiers);
}

} // namespace

class TestSession : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        for (const char* name : {"one", "two"}) saveProject(graphWith(name), path(name).toStdString());
    }
    void init() { QSettings().clear(); }

    void theStartPageOpensAnExample() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({});
        MainWindow& window = *session.windows().front();
        QTRY_VERIFY(startPage(window).isVisible());
        QVERIFY(!window.canvas().isVisible());
        ProjectCard* digits = cardOf(window, QStringLiteral("digits.twb"));
        QVERIFY(digits);
        QTRY_VERIFY(digits->isDrawn());
        QTRY_COMPARE(digits->text(), QStringLiteral("Handwritten digits"));
        QTest::mouseClick(digits, Qt::LeftButton);
        QVERIFY(window.document().graph().findByName("fc1"));
        QVERIFY(!startPage(window).isVisible());
        QVERIFY(window.canvas().isVisible());
        QVERIFY(window.document().path().isEmpty()); // saving must not change the example
    }

    /// The window was once 1440 x 900 pixels on every screen.
    void aWindowIsNoLargerThanTheScreen() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({});
        const MainWindow& window = *session.windows().front();
        const QSize room = window.screen()->availableSize();
        QVERIFY2(room.width() < 1440 && room.height() < 900, "the screen of the test is too large for it");
        QCOMPARE(window.height(), room.height());
        constexpr int kMinimum = 900; // of the window's width, which this screen may lack
        QVERIFY2(window.width() <= std::max(room.width(), kMinimum),
                 qPrintable(QString::number(window.width())));
    }

    /// It was forgotten: each start had the standard size and all panels.
    void aWindowKeepsItsPlaceAndItsPanels() {
        constexpr int kBottom = 260;
        QRect place;
        {
            Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
            session.begin({path("one")});
            MainWindow& window = *session.windows().front();
            QTRY_COMPARE(window.document().path(), path("one"));
            window.setGeometry(0, 70, 900, 640);
            place = window.geometry();
            pressIn(window, Qt::Key_F9, {});
            QVERIFY(window.findChild<OpPalette*>()->isHidden());
            QVERIFY(window.findChild<Legend*>()->isHidden());
            pressIn(window, Qt::Key_F1, Qt::ShiftModifier);
            pressIn(window, Qt::Key_M, Qt::ControlModifier);
            window.bottom().showPage(QStringLiteral("memory"));
            auto* middle = qobject_cast<QSplitter*>(window.bottom().parentWidget());
            QVERIFY(middle);
            middle->setSizes({middle->height() - kBottom, kBottom});
            QCOMPARE(window.bottom().height(), kBottom);
            pressIn(window, Qt::Key_Q, Qt::ControlModifier);
            QTRY_VERIFY(session.windows().empty());
        }
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        MainWindow& window = *session.windows().front();
        QTRY_COMPARE(window.document().path(), path("one"));
        QCOMPARE(window.geometry().top(), place.top());
        QCOMPARE(window.height(), place.height()); // this screen lacks the minimum of the width
        QVERIFY(window.findChild<OpPalette*>()->isHidden());
        QVERIFY(window.findChild<Inspector*>()->isVisible());
        QCOMPARE(window.bottom().height(), kBottom);
        QCOMPARE(window.bottom().currentKey(), QStringLiteral("memory"));
        QVERIFY(window.findChild<Legend*>()->isVisible());
        QVERIFY(window.canvas().minimap().isHidden());
        pressIn(window, Qt::Key_F9, {}); // the menu knows that the palette is hidden
        QVERIFY(window.findChild<OpPalette*>()->isVisible());
        QVERIFY(window.findChild<OpPalette*>()->width() > 100);
    }

    void resetLayoutShowsAllPanelsInTheirStandardSizes() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        MainWindow& window = *session.windows().front();
        QTRY_COMPARE(window.document().path(), path("one"));
        auto* palette = window.findChild<OpPalette*>();
        auto* inspector = window.findChild<Inspector*>();
        const auto sizes = [&] {
            return QSize(palette->width() + inspector->width(), window.bottom().height());
        };
        const QSize standard = sizes();
        auto* columns = qobject_cast<QSplitter*>(palette->parentWidget());
        QVERIFY(columns);
        columns->setSizes({palette->width() + 40, window.width() / 3, window.width() / 2});
        QVERIFY(sizes() != standard);
        pressIn(window, Qt::Key_F9, {});
        pressIn(window, Qt::Key_F9, Qt::ControlModifier);
        pressIn(window, Qt::Key_F9, Qt::ShiftModifier);
        pressIn(window, Qt::Key_F1, Qt::ShiftModifier);
        const QRect place = window.geometry();
        pressIn(window, Qt::Key_F9, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(palette->isVisible() && inspector->isVisible() && window.bottom().isVisible());
        QVERIFY(window.findChild<Legend*>()->isHidden());
        QTRY_COMPARE(sizes(), standard);
        QCOMPARE(window.geometry(), place);
    }

    void aLayoutOfALargerScreenIsMadeToFit() {
        {
            const auto large = makeWindow();
            large->setGeometry(1500, 1200, 2400, 1400);
            large->rememberLayout();
        }
        QSettings().setValue(QStringLiteral("window/bottomSize"), 1100);
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        MainWindow& window = *session.windows().front();
        QTRY_COMPARE(window.document().path(), path("one"));
        const QRect room = window.screen()->availableGeometry();
        QVERIFY2(room.contains(window.geometry().topLeft()), qPrintable(geometryWords(window.geometry())));
        QVERIFY(window.height() <= room.height());
        QVERIFY2(window.canvas().height() > 100, qPrintable(QString::number(window.canvas().height())));
    }

    void aDamagedLayoutGivesTheStandardOne() {
        QSettings().setValue(QStringLiteral("window/geometry"), QByteArray("not a geometry"));
        QSettings().setValue(QStringLiteral("window/bottomSize"), -3);
        QSettings().setValue(QStringLiteral("window/paletteSize"), QStringLiteral("wide"));
        QSettings().setValue(QStringLiteral("window/page"), QStringLiteral("attic"));
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        MainWindow& window = *session.windows().front();
        QTRY_COMPARE(window.document().path(), path("one"));
        QCOMPARE(window.height(), window.screen()->availableSize().height());
        QVERIFY(window.bottom().height() > 150);
        QCOMPARE(window.bottom().currentKey(), QStringLiteral("transfers"));
    }

    /// Otherwise the first window would move down the screen with each start.
    void ofSeveralWindowsTheFirstOneGivesTheLayout() {
        QPoint first;
        for (int start = 0; start < 2; ++start) {
            Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
            session.begin({path("one"), path("two")});
            QTRY_COMPARE(session.windows().size(), std::size_t(2));
            QTRY_COMPARE(session.windows().back()->document().path(), path("two"));
            MainWindow& window = *session.windows().front();
            if (start == 0) {
                window.setGeometry(0, 50, 900, 600);
                first = window.pos();
            }
            QCOMPARE(window.pos().y(), first.y());
            pressIn(window, Qt::Key_Q, Qt::ControlModifier);
            QTRY_VERIFY(session.windows().empty());
        }
    }

    void byKeysTheStartPageOpensWhatWasOpenAndIsLeft() {
        const auto window = makeWindow();
        QVERIFY(window->openFile(path("one")));
        pressIn(*window, Qt::Key_H, Qt::ControlModifier | Qt::AltModifier);
        QVERIFY(startPage(*window).isVisible());
        QTest::keyClick(&startPage(*window), Qt::Key_Escape);
        QVERIFY(window->canvas().isVisible());
        QVERIFY(window->document().graph() == graphWith("one"));
        QVERIFY(window->openFile(path("two")));
        pressIn(*window, Qt::Key_H, Qt::ControlModifier | Qt::AltModifier);
        ProjectCard* one = cardOf(*window, QStringLiteral("one.twb"));
        QVERIFY(one);
        one->setFocus();
        QTest::keyClick(one, Qt::Key_Return);
        QVERIFY(window->document().graph() == graphWith("one"));
        QVERIFY(window->canvas().isVisible());
    }

    void everyWindowHasADocumentOfItsOwn() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        QTRY_COMPARE(session.windows().front()->document().path(), path("one"));
        pressIn(*session.windows().front(), Qt::Key_N, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(session.windows().size(), std::size_t(2));
        MainWindow& second = *session.windows().back();
        QTRY_VERIFY(startPage(second).isVisible());
        QVERIFY(second.openFile(path("two")));
        QVERIFY(session.windows().front()->document().graph() == graphWith("one"));
        // Closing one window leaves the other open.
        pressIn(second, Qt::Key_W, Qt::ControlModifier);
        QTRY_COMPARE(session.windows().size(), std::size_t(1));
        QCOMPARE(remembered(), QStringList{path("one")});
    }

    void whatWasOpenIsOpenedAgain() {
        {
            Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
            session.begin({path("one"), path("two")});
            QTRY_COMPARE(session.windows().size(), std::size_t(2));
            QTRY_COMPARE(remembered(), (QStringList{path("one"), path("two")}));
            pressIn(*session.windows().back(), Qt::Key_Q, Qt::ControlModifier);
            QTRY_VERIFY(session.windows().empty());
        }
        QCOMPARE(remembered(), (QStringList{path("one"), path("two")}));
        {
            Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
            session.begin({});
            QTRY_COMPARE(session.windows().size(), std::size_t(2));
            QTRY_COMPARE(session.windows().back()->document().path(), path("two"));
            QCOMPARE(session.windows().front()->document().path(), path("one"));
        }
        QSettings().setValue(QStringLiteral("restoreSession"), false);
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({});
        QTRY_VERIFY(startPage(*session.windows().front()).isVisible());
        QCOMPARE(session.windows().size(), std::size_t(1));
    }

    void quittingAsksAndMayBeCalledOff() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one")});
        MainWindow& window = *session.windows().front();
        QTRY_COMPARE(window.document().path(), path("one"));
        window.canvas().setFocus();
        pressIn(window, Qt::Key_A, Qt::ControlModifier);
        pressIn(window, Qt::Key_D, Qt::ControlModifier);
        QVERIFY(window.document().isModified());
        {
            BoxAnswer answer(QMessageBox::Cancel);
            pressIn(window, Qt::Key_Q, Qt::ControlModifier);
            QVERIFY(answer.answered());
            QVERIFY(window.isVisible());
        }
        BoxAnswer answer(QMessageBox::Discard);
        pressIn(window, Qt::Key_Q, Qt::ControlModifier);
        QTRY_VERIFY(session.windows().empty());
    }

    /// Quit from another window deleted a window that waited for its work, and Settings changed its document.
    void aBusyWindowStays() {
        Session session(profiles(), m_home.filePath(QStringLiteral("recovery")));
        session.begin({path("one"), path("two")});
        QTRY_COMPARE(session.windows().size(), std::size_t(2));
        QTRY_COMPARE(session.windows().back()->document().path(), path("two"));
        MainWindow& busy = *session.windows().front();
        MainWindow& other = *session.windows().back();
        const std::uint64_t revision = busy.document().revision();
        std::atomic<bool> mayEnd = false;
        QTimer::singleShot(300, &other, [&] {
            QVERIFY(busy.findChild<QDialog*>(QStringLiteral("busy")));
            settings::setProfile(QStringLiteral("t4"));
            {
                const DialogAnswer settings("settings", QDialogButtonBox::Ok);
                pressIn(other, Qt::Key_Comma, Qt::ControlModifier);
                QVERIFY(settings.answered());
            }
            QCoreApplication::processEvents();
            QVERIFY(busy.document().revision() == revision);
            pressIn(other, Qt::Key_Q, Qt::ControlModifier);
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
            mayEnd = true;
        });
        workWaiting(QStringLiteral("Working…"), &busy, [&] {
            while (!mayEnd) QThread::msleep(5);
        });
        QVERIFY(std::ranges::count(session.windows(), &busy) == 1);
        QVERIFY(busy.isVisible());
        QTRY_VERIFY(busy.document().revision() > revision); // the settings apply after the work
    }

private:
    QString path(const char* name) const {
        return m_home.filePath(QString::fromLatin1(name) + QStringLiteral(".twb"));
    }
    static QStringList remembered() { return QSettings().value(QStringLiteral("session")).toStringList(); }

    QTemporaryDir m_home;
};

TWB_GUI_TEST_MAIN(TestSession)
#include "test_session.moc"
