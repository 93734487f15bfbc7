#pragma once

#include "training/training.h"
#include "widgets/document.h"

#include <QDialog>

class QCheckBox;
class QComboBox;
class QDialogButtonBox;
class QDoubleSpinBox;
class QLabel;
class QListWidget;
class QSpinBox;

namespace twb {

/// Asks for the loss, the parameters and the optimizer of a training module.
class LearnDialog : public QDialog {
    Q_OBJECT

public:
    LearnDialog(const Document& document, QWidget* parent);

    NodeId loss() const;
    std::vector<NodeId> parameters() const;
    Optimizer optimizer() const;

private:
    void listParameters();
    void showSettings();
    void check();

    const Document& m_document;
    QComboBox* m_loss;
    QListWidget* m_parameters;
    QComboBox* m_optimizer;
    QDoubleSpinBox* m_rate;
    QDoubleSpinBox* m_momentum;
    QDoubleSpinBox* m_decay;
    QComboBox* m_schedule;
    QSpinBox* m_steps;
    QSpinBox* m_warmup;
    QDoubleSpinBox* m_clip;
    QLabel* m_problem;
    QDialogButtonBox* m_buttons;
};

} // namespace twb
