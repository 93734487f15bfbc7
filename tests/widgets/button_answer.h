#pragma once

#include <QApplication>
#include <QMessageBox>
#include <QTest>
#include <QTimer>

namespace twb::test {

/// Presses the button with this text in the next message box; without a text, Esc.
class ButtonAnswer : public QObject {
public:
    explicit ButtonAnswer(const QString& button) : m_button(button) {
        connect(&m_timer, &QTimer::timeout, this, [this] {
            auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
            if (!box) return;
            m_timer.stop();
            text = box->text();
            if (m_button.isEmpty()) QTest::keyClick(box, Qt::Key_Escape);
            for (QAbstractButton* one : box->buttons())
                if (one->text().remove(QLatin1Char('&')) == m_button) QTest::mouseClick(one, Qt::LeftButton);
        });
        m_timer.start(10);
    }
    QString text; ///< empty: no box was shown

private:
    QString m_button;
    QTimer m_timer;
};

} // namespace twb::test
