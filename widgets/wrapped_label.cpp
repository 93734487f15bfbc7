#include "widgets/wrapped_label.h"

#include <QPainter>
#include <QStyle>

#include <algorithm>

namespace twb {

WrappedLabel::WrappedLabel(QWidget* parent) : ElidedLabel(parent) {
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred); // a fixed height would be that of one line
    setWordWrap(true);                                           // makes layouts ask for the height
}

/// Of one line.
QSize WrappedLabel::sizeHint() const { return {ElidedLabel::sizeHint().width(), minimumSizeHint().height()}; }

int WrappedLabel::heightForWidth(int width) const {
    ensurePolished();
    const auto more = std::max<qsizetype>(lines(width).size(), 1) - 1;
    return std::max(minimumHeight(), minimumSizeHint().height()) + int(more) * fontMetrics().lineSpacing();
}

QStringList WrappedLabel::lines(int width) const { return wrapped(text(), font(), width, 2); }

void WrappedLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QStringList shown = lines(contentsRect().width());
    setToolTip(shown.join(QLatin1Char(' ')) == text() ? QString() : text());
    style()->drawItemText(&painter, contentsRect(), int(alignment()), palette(), isEnabled(),
                          shown.join(QLatin1Char('\n')), foregroundRole());
}

} // namespace twb
