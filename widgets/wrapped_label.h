#pragma once

#include "widgets/labels.h"

namespace twb {

/// A label of at most two lines, wrapped between words. A longer text is elided, and the tooltip shows it
/// whole.
class WrappedLabel : public ElidedLabel {
public:
    explicit WrappedLabel(QWidget* parent = nullptr);
    QSize sizeHint() const override;
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QStringList lines(int width) const;
};

} // namespace twb
