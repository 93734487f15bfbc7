#pragma once

#include "widgets/window_fixture.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QLineEdit>

namespace twb::test {

/// Fills in the next file dialog: first the type, then the name.
class FileAnswer : public QObject {
public:
    FileAnswer(QString type, QString path) : m_type(std::move(type)), m_path(std::move(path)) {
        connect(&m_timer, &QTimer::timeout, this, &FileAnswer::look);
        m_timer.start(10);
    }
    bool answered() const { return m_answered; }

private:
    void look() {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        if (!dialog) return;
        m_timer.stop();
        auto* types = find<QComboBox>(*dialog, "fileTypeCombo");
        for (int i = 0; i < types->count(); ++i)
            if (types->itemText(i).contains(m_type)) {
                types->setCurrentIndex(i);
                m_answered = true;
            }
        auto* name = find<QLineEdit>(*dialog, "fileNameEdit");
        name->setText(m_path); // typing opens a completion list over the dialog
        auto* buttons = find<QDialogButtonBox>(*dialog, "buttonBox");
        const bool opens = dialog->acceptMode() == QFileDialog::AcceptOpen;
        QTest::mouseClick(buttons->button(opens ? QDialogButtonBox::Open : QDialogButtonBox::Save),
                          Qt::LeftButton);
    }

    QTimer m_timer;
    QString m_type;
    QString m_path;
    bool m_answered = false;
};

} // namespace twb::test
