#pragma once

#include <QDoubleSpinBox>

namespace twb {

/// Accepts a point in every locale, besides the locale's decimal separator.
class NumberBox : public QDoubleSpinBox {
public:
    NumberBox(double least, double most, double value, int decimals) {
        setDecimals(decimals);
        setRange(least, most);
        setValue(value);
        setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    }
    QValidator::State validate(QString& text, int& position) const override {
        text.replace(QLatin1Char('.'), locale().decimalPoint());
        return QDoubleSpinBox::validate(text, position);
    }
};

} // namespace twb
