#pragma once

#include "widgets/labels.h"

namespace twb {

/// Up to two lines, wrapped between words; a longer text is elided, and the tooltip then has the whole text.
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
