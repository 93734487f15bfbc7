#pragma once

#include "widgets/window_hand.h"

#include <QApplication>
#include <QDialog>
#include <QMenu>
#include <QStringList>
#include <QTest>
#include <QTimer>

#include <functional>
#include <memory>

namespace twb::test {

/// Acts on the next dialog, by keys.
class DialogKeys : public QObject {
public:
    explicit DialogKeys(std::function<void(QDialog&)> act) : m_act(std::move(act)) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
            if (!dialog || dialog->objectName() == QLatin1String("busy")) return; // the work takes longer
            m_timer.stop();
            isSeen = true;
            QApplication::setActiveWindow(dialog); // the offscreen platform does not activate each dialog
            m_act(*dialog);
            if (dialog->isVisible()) dialog->reject(); // a failed test must not wait for an answer
        });
        m_timer.start(10);
    }
    bool isSeen = false;

private:
    std::function<void(QDialog&)> m_act;
    QTimer m_timer;
};

/// The open menu, once the platform has reported its activation. That report is queued: where a menu is
/// closed before, the report comes afterwards and takes the focus from the window.
inline QMenu* openMenu() {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    return menu && menu->windowHandle() == QGuiApplication::focusWindow() ? menu : nullptr;
}

/// Acts on the next menu that pops up, by keys.
class MenuKeys : public QObject {
public:
    explicit MenuKeys(std::function<void(QMenu&)> act) : m_act(std::move(act)) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            QMenu* menu = openMenu();
            if (!menu) return;
            m_timer.stop();
            isSeen = true;
            m_act(*menu);
            while (QWidget* popup = QApplication::activePopupWidget()) popup->close();
        });
        m_timer.start(10);
    }
    bool isSeen = false;

private:
    std::function<void(QMenu&)> m_act;
    QTimer m_timer;
};

/// Goes down a menu, and through its submenus, by its entries' texts, and presses Return. Returns the text of
/// an entry that it does not find.
inline QString chooseByKeys(QMenu& menu, const QStringList& path) {
    QMenu* in = &menu;
    for (const QString& text : path) {
        const auto current = [&] { return in->activeAction(); };
        const auto plain = [](const QAction* action) { return action->text().remove(QLatin1Char('&')); };
        for (qsizetype i = 0; i <= in->actions().size() && !(current() && plain(current()).startsWith(text));
             ++i)
            QTest::keyClick(in, Qt::Key_Down);
        if (!current() || !plain(current()).startsWith(text)) return text;
        QMenu* next = current()->menu();
        QTest::keyClick(in, next ? Qt::Key_Right : Qt::Key_Return);
        if (next) in = next;
    }
    return {};
}

/// The window without a mouse: each key goes to the widget that has the focus.
struct Keyboard {
    std::unique_ptr<MainWindow> window = makeWindow();

    Keyboard() { activate(); }

    /// The offscreen platform does not reactivate a window when its dialog closes.
    void activate() const {
        window->activateWindow();
        [[maybe_unused]] const bool isActive = QTest::qWaitForWindowActive(window.get());
    }
    void press(Qt::Key key, Qt::KeyboardModifiers modifiers = {}) const {
        QWidget* focus = QApplication::focusWidget();
        QTest::keyClick(focus ? focus : window.get(), key, modifiers);
        QCoreApplication::processEvents();
    }
    void type(const QString& text) const {
        QTest::keyClicks(QApplication::focusWidget(), text);
        QCoreApplication::processEvents();
    }
    /// Presses Tab until a widget has the focus.
    bool tabTo(const QWidget& widget, int most = 60) const {
        for (int i = 0; i < most && QApplication::focusWidget() != &widget; ++i) press(Qt::Key_Tab);
        return QApplication::focusWidget() == &widget;
    }
    /// F6 from pane to pane, and Tab inside each, until a widget has the focus.
    bool reach(const QWidget& widget) const {
        for (int pane = 0; pane < 8; ++pane) {
            press(Qt::Key_F6);
            for (int i = 0; i < 40 && !window->canvas().hasFocus(); ++i) {
                if (QApplication::focusWidget() == &widget) return true;
                press(Qt::Key_Tab);
            }
        }
        return false;
    }
    /// Ctrl+P, the name, Return.
    void goTo(const char* node) const {
        press(Qt::Key_P, Qt::ControlModifier);
        type(QLatin1String(node));
        press(Qt::Key_Return);
    }
    /// Ins, the op, Return.
    void addOp(const char* op) const {
        press(Qt::Key_Insert);
        type(QLatin1String(op));
        press(Qt::Key_Return);
    }
    /// F6 until the canvas has the focus.
    void toCanvas() const {
        for (int i = 0; i < 8 && !window->canvas().hasFocus(); ++i) press(Qt::Key_F6);
        QVERIFY(window->canvas().hasFocus());
    }
    const Graph& graph() const { return window->document().graph(); }
    const Node* node(const char* name) const { return graph().findByName(name); }
    bool isSelected(const char* name) const {
        return node(name) && window->document().selection().nodes == std::set{node(name)->id};
    }
    std::size_t errors() const { return window->document().analysis().errorCount(); }
    bool run() const {
        const int before = window->runs().runNumber();
        press(Qt::Key_F5);
        return QTest::qWaitFor(
                   [&] { return window->runs().runNumber() != before && !window->runs().isRunning(); },
                   60'000) &&
               window->runs().result() && window->runs().result()->status == RunStatus::finished;
    }
};

} // namespace twb::test
