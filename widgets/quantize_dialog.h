#pragma once

#include "training/quantization.h"

#include <QDialog>

class QCheckBox;
class QDoubleSpinBox;

namespace twb {

/// Asks how the ranges of activations and the layers for int8 are chosen.
class QuantizeDialog : public QDialog {
    Q_OBJECT

public:
    explicit QuantizeDialog(QWidget* parent);

    QuantizationOptions options() const;

private:
    QDoubleSpinBox* m_percentile;
    QCheckBox* m_keepsFirstAndLast;
};

} // namespace twb
