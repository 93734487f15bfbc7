#include "widgets/quantize_dialog.h"

#include "widgets/labels.h"
#include "widgets/number_box.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QPushButton>
#include <QVBoxLayout>

namespace twb {

QuantizeDialog::QuantizeDialog(QWidget* parent)
    : QDialog(parent), m_percentile(new NumberBox(50, 100, 100, 2)),
      m_keepsFirstAndLast(new QCheckBox(tr("Keep the &first and the last product or convolution in f32"))) {
    setObjectName(QStringLiteral("quantize"));
    setWindowTitle(tr("Quantize to int8"));
    m_percentile->setObjectName(QStringLiteral("percentile"));
    m_percentile->setSuffix(QStringLiteral(" %"));
    m_percentile->setStepType(QAbstractSpinBox::DefaultStepType);
    m_percentile->setSingleStep(0.01);
    m_percentile->setToolTip(
        tr("Share of each activation's elements that its int8 range covers. The others are "
           "clipped, half of them on each side."));
    m_keepsFirstAndLast->setObjectName(QStringLiteral("keepFirstLast"));
    m_keepsFirstAndLast->setToolTip(tr("The first and the last layer often lose the most accuracy in int8."));

    auto* intro = makeLabel(tr("Computes products and convolutions with fixed weights in int8. The ranges of "
                               "activations are measured on samples; before the graph changes, the accuracy "
                               "lost is shown."),
                            TextRole::body, QStringLiteral("secondary"));
    intro->setWordWrap(true);
    auto* form = new QFormLayout;
    form->setHorizontalSpacing(16);
    form->setVerticalSpacing(8);
    form->addRow(tr("&Percentile of activations"), m_percentile);
    form->addRow(m_keepsFirstAndLast);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
    buttons->button(QDialogButtonBox::Ok)->setText(tr("Continue"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 12);
    layout->setSpacing(12);
    layout->addWidget(intro);
    layout->addLayout(form);
    layout->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    constexpr int width = 460;
    resize(width, sizeHint().height());
}

QuantizationOptions QuantizeDialog::options() const {
    return {.percentile = m_percentile->value(), .keepsFirstAndLast = m_keepsFirstAndLast->isChecked()};
}

} // namespace twb
