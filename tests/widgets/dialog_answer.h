#pragma once

#include <QApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QTest>
#include <QTimer>

#include <functional>

namespace twb::test {

/// Calls a function on the next dialog with the given name, then presses one of its buttons.
class DialogAnswer : public QObject {
public:
    DialogAnswer(
        const char* name, QDialogButtonBox::StandardButton button,
        std::function<void(QDialog&)> work = [](QDialog&) {})
        : m_name(QString::fromLatin1(name)), m_button(button), m_work(std::move(work)) {
        // Queued, because the function may open another dialog, and a timer does not fire recursively.
        connect(&m_timer, &QTimer::timeout, this, &DialogAnswer::look, Qt::QueuedConnection);
        m_timer.start(5);
    }
    bool answered() const { return m_answered; }

private:
    void look() {
        auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
        if (m_answered || !dialog || dialog->objectName() != m_name) return;
        m_answered = true;
        m_timer.stop();
        m_work(*dialog);
        QTest::mouseClick(dialog->findChild<QDialogButtonBox*>()->button(m_button), Qt::LeftButton);
    }

    QString m_name;
    QDialogButtonBox::StandardButton m_button;
    std::function<void(QDialog&)> m_work;
    QTimer m_timer;
    bool m_answered = false;
};

} // namespace twb::test
