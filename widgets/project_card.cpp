#include "widgets/project_card.h"

#include "widgets/icon.h"
#include "widgets/labels.h"
#include "widgets/theme.h"

#include <QKeyEvent>
#include <QPainter>
#include <QPainterPath>
#include <QTextLayout>

#include <vector>

namespace twb {
namespace {

constexpr int kPictureHeight = 120;
constexpr int kWordsHeight = 72; ///< three lines: a title of at most two, and a description
constexpr int kLines = 3;
constexpr int kPadding = 12;

/// Draws text on at most this many lines, with the last one elided. Moves `line` below them; returns the
/// number of lines.
int drawLines(QPainter& painter, QRect& line, const QString& text, int most) {
    QTextLayout layout(text, painter.font());
    std::vector<int> starts;
    layout.beginLayout();
    for (QTextLine next = layout.createLine(); next.isValid() && int(starts.size()) < most;
         next = layout.createLine()) {
        next.setLineWidth(line.width());
        starts.push_back(next.textStart());
    }
    layout.endLayout();
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const bool isLast = i + 1 == starts.size();
        const QString words = text.mid(starts[i], isLast ? -1 : starts[i + 1] - starts[i]);
        drawElided(painter, line, Qt::AlignLeft | Qt::AlignVCenter, words.trimmed());
        line.translate(0, line.height());
    }
    return int(starts.size());
}

} // namespace

ProjectCard::ProjectCard(const QString& path, QWidget* parent) : QAbstractButton(parent), m_path(path) {
    setFixedSize(ProjectCard::sizeHint());
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
}

QSize ProjectCard::pictureSize() { return {kWidth - 2, kPictureHeight}; }

QSize ProjectCard::sizeHint() const { return {kWidth, kPictureHeight + kWordsHeight}; }

void ProjectCard::setWords(const QString& title, const QString& detail) {
    setText(title);
    m_detail = detail;
    setAccessibleName(title);
    setAccessibleDescription(detail);
    setToolTip(detail.isEmpty() ? title : title + QLatin1Char('\n') + detail);
    update();
}

void ProjectCard::setPicture(const QImage& picture) {
    m_picture = picture;
    m_isDrawn = true;
    update();
}

void ProjectCard::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF card = QRectF(rect()).adjusted(1, 1, -1, -1);
    QPainterPath outline;
    outline.addRoundedRect(card, metrics::cardRadius, metrics::cardRadius);
    painter.fillPath(outline, theme.panel);
    painter.setClipPath(outline);
    const QRectF window(card.topLeft(), pictureSize());
    painter.fillRect(window, theme.canvas);
    if (!m_picture.isNull()) {
        painter.drawImage(window.topLeft(), m_picture);
    } else if (m_isDrawn) {
        const QSize size(32, 32);
        painter.drawPixmap(
            (window.center() - QPointF(16, 16)).toPoint(),
            twb::icon(QStringLiteral("modules"), theme.disabledText).pixmap(size, devicePixelRatioF()));
    }
    painter.setClipping(false);
    painter.setPen(theme.border);
    painter.drawLine(window.bottomLeft(), window.bottomRight());
    const bool isMarked = underMouse() || hasFocus();
    painter.setPen(QPen(isMarked ? theme.accent : theme.border, hasFocus() ? 2 : 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(outline);

    QRect line(kPadding, int(window.bottom()) + 8, width() - 2 * kPadding, 18);
    painter.setFont(twb::font(TextRole::strong));
    painter.setPen(theme.text);
    const int titled = drawLines(painter, line, text(), kLines - 1);
    painter.setFont(twb::font(TextRole::small));
    painter.setPen(theme.secondaryText);
    drawLines(painter, line, m_detail, kLines - titled);
}

void ProjectCard::enterEvent(QEnterEvent* event) {
    QAbstractButton::enterEvent(event);
    update();
}

void ProjectCard::leaveEvent(QEvent* event) {
    QAbstractButton::leaveEvent(event);
    update();
}

/// Enter activates it, too, so that it works as a link without a mouse.
void ProjectCard::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        click();
    else
        QAbstractButton::keyPressEvent(event);
}

} // namespace twb
