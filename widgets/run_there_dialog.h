#pragma once

#include <QDialog>

class QComboBox;
class QDialogButtonBox;
class QLineEdit;

namespace twb {

/// Asks for the machine of a run. It offers the machines of earlier runs, and keeps the chosen one.
class RunThereDialog : public QDialog {
    Q_OBJECT

public:
    explicit RunThereDialog(QWidget* parent);
    /// "HOST" or "HOST:PATH".
    QString machine() const;
    /// "ssh:HOST" or "ssh:HOST:PATH".
    QString place() const;
    /// The `twb` of that machine; empty: found by its PATH.
    QString program() const;

private:
    void refresh();
    void choose();

    QComboBox* m_machine;
    QLineEdit* m_program;
    QDialogButtonBox* m_buttons;
};

} // namespace twb
