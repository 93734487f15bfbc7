// A plugin that simulates a user in the real program: it answers the recovery dialog, then adds op after op
// by key events, and logs its actions. test_recovery kills the program meanwhile.

#include <QApplication>
#include <QFile>
#include <QGenericPlugin>
#include <QKeyEvent>
#include <QMessageBox>
#include <QPushButton>
#include <QTimer>

namespace {

void press(QWidget& widget, Qt::Key key, const QString& text = {},
           Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QKeyEvent down(QEvent::KeyPress, key, modifiers, text);
    QApplication::sendEvent(&widget, &down);
    QKeyEvent up(QEvent::KeyRelease, key, Qt::NoModifier, text);
    QApplication::sendEvent(&widget, &up);
}

class BusyHand : public QObject {
public:
    /// `orders`: the button to press in the recovery dialog, and the file for the log.
    explicit BusyHand(const QString& orders)
        : m_button(orders.section(QLatin1Char('|'), 0, 0)), m_report(orders.section(QLatin1Char('|'), 1)) {
        connect(&m_timer, &QTimer::timeout, this, &BusyHand::work);
        m_timer.start(15);
    }

private:
    void report(const QString& line) {
        QFile file(m_report);
        if (file.open(QIODevice::Append)) file.write(line.toUtf8() + '\n');
    }

    void work() {
        if (auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
            for (QAbstractButton* button : box->buttons()) {
                if (button->text().remove(QLatin1Char('&')) != m_button) continue;
                report(QStringLiteral("offered: ") + box->text());
                button->click();
                return;
            }
            return;
        }
        if (QWidget* popup = QApplication::activePopupWidget()) {
            QWidget* field = popup->focusProxy();
            if (!field) return;
            press(*field, Qt::Key_R, QStringLiteral("relu"));
            press(*field, Qt::Key_Return);
            report(QStringLiteral("edited"));
            return;
        }
        for (QWidget* window : QApplication::topLevelWidgets()) {
            auto* canvas = window->findChild<QWidget*>(QStringLiteral("canvas"));
            if (!canvas || !window->isVisible()) continue;
            if (++m_looks < 10) return; // the dialog appears shortly after the window
            if (m_button == QLatin1String("Discard"))
                window->close();
            else
                press(*canvas, Qt::Key_A, QStringLiteral("A"), Qt::ShiftModifier);
            return;
        }
    }

    QString m_button;
    QString m_report;
    QTimer m_timer;
    int m_looks = 0;
};

} // namespace

class BusyHandPlugin : public QGenericPlugin {
    Q_OBJECT
    Q_PLUGIN_METADATA(IID QGenericPluginFactoryInterface_iid FILE "busy_hand.json")

public:
    QObject* create(const QString& name, const QString& orders) override {
        return name == QLatin1String("busyhand") ? new BusyHand(orders) : nullptr;
    }
};

#include "busy_hand.moc"
