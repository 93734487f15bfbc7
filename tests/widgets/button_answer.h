#pragma once

#include <QAbstractButton>
#include <QApplication>
#include <QMessageBox>
#include <QTest>
#include <QTimer>

#include <algorithm>

namespace twb::test {

/// Presses the button with this text in the next message box that has it; without a text, Esc.
class ButtonAnswer : public QObject {
public:
    explicit ButtonAnswer(const QString& button) : m_button(button) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (!box) return;
            const auto buttons = box->buttons();
            const auto wanted = std::ranges::find_if(buttons, [this](QAbstractButton* one) {
                return one->text().remove(QLatin1Char('&')) == m_button;
            });
            if (!m_button.isEmpty() && wanted == buttons.end()) return;
            m_timer.stop();
            text = box->text();
            if (m_button.isEmpty())
                QTest::keyClick(box, Qt::Key_Escape);
            else
                QTest::mouseClick(*wanted, Qt::LeftButton);
        });
        m_timer.start(10);
    }
    QString text; ///< empty: no box was shown

private:
    QString m_button;
    QTimer m_timer;
};

} // namespace twb::test
