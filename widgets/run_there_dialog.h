#pragma once

#include <QDialog>

class QComboBox;
class QDialogButtonBox;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace twb {

/// Asks for the machine of a run, or of a calibration. It offers the machines of earlier ones, and keeps the
/// chosen one.
class RunThereDialog : public QDialog {
    Q_OBJECT

public:
    static constexpr int kCalibrate = 2; ///< result() if the user wants to measure the machine

    explicit RunThereDialog(QWidget* parent);
    /// "HOST" or "HOST:PATH".
    QString machine() const;
    /// "ssh:HOST" or "ssh:HOST:PATH".
    QString place() const;
    /// The `twb` of that machine; empty: found by its PATH.
    QString program() const;
    int ranks() const;

private:
    void refresh();
    void choose(int result);

    QComboBox* m_machine;
    QLineEdit* m_program;
    QSpinBox* m_ranks;
    QDialogButtonBox* m_buttons;
    QPushButton* m_calibrate;
};

} // namespace twb
