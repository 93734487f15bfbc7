#include "widgets/labels.h"

#include "widgets/text.h"

#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QScreen>
#include <QStyle>
#include <QTableView>

#include <algorithm>

namespace twb {

QLabel* makeLabel(const QString& text, TextRole type, const QString& role, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setFont(twb::font(type));
    if (!role.isEmpty()) label->setProperty("role", role);
    return label;
}

QLabel* makeHeading(const QString& text, QWidget* parent) {
    return makeLabel(text, TextRole::capsLabel, QStringLiteral("caps"), parent);
}

QFrame* makeLine(QWidget* parent) {
    auto* line = new QFrame(parent);
    line->setProperty("role", QStringLiteral("line"));
    line->setFixedHeight(1);
    return line;
}

QPushButton* makeSegment(const QString& text, const QString& tip) {
    auto* button = new QPushButton(text);
    button->setProperty("role", QStringLiteral("segment"));
    button->setToolTip(tip);
    button->setAccessibleName(text.front().isLetter() ? text : tip);
    button->setAccessibleDescription(tip);
    return button;
}

void setStyleProperty(QWidget* widget, const char* name, const QVariant& value) {
    if (widget->property(name) == value) return;
    widget->setProperty(name, value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

QColor selectionWash() {
    const Theme& theme = Theme::current();
    QColor wash = theme.accent;
    wash.setAlphaF(theme.isDark ? 0.18f : 0.13f);
    return wash;
}

void paintRowWash(QPainter& painter, const QStyleOptionViewItem& option) {
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    const bool hasFocus = option.state.testFlag(QStyle::State_HasFocus);
    if (!isSelected && !hasFocus && !option.state.testFlag(QStyle::State_MouseOver)) return;
    QColor wash = Theme::current().text;
    wash.setAlphaF(0.06f);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(hasFocus ? QPen(Theme::current().accent, 1.5) : QPen(Qt::NoPen));
    painter.setBrush(isSelected ? selectionWash() : wash);
    painter.drawRoundedRect(QRectF(option.rect).adjusted(1, 1.5, -1, -1.5), 4, 4);
}

void drawElided(QPainter& painter, const QRect& room, int alignment, const QString& text,
                Qt::TextElideMode mode) {
    painter.drawText(room, alignment, painter.fontMetrics().elidedText(text, mode, room.width()));
}

QRect withinWindow(const QWidget& window, QRect popup) {
    constexpr int kMargin = 4;
    const QRect room = (window.window()->frameGeometry() & window.screen()->availableGeometry())
                           .adjusted(kMargin, kMargin, -kMargin, -kMargin);
    popup.setSize(popup.size().boundedTo(room.size()));
    popup.moveTo(std::clamp(popup.left(), room.left(), room.right() + 1 - popup.width()),
                 std::clamp(popup.top(), room.top(), room.bottom() + 1 - popup.height()));
    return popup;
}

QStringList wrapped(const QString& words, const QFont& font, double width, int lines) {
    // More characters than fit into any line: a name from a file may have a million, which would be measured
    // again and again.
    constexpr qsizetype kMostPerLine = 2048;
    const QFontMetricsF metrics(font);
    QStringList out;
    QString rest = words.left(lines * kMostPerLine);
    while (int(out.size()) < lines && !rest.isEmpty()) {
        QString now = rest;
        if (metrics.horizontalAdvance(rest) > width && int(out.size()) + 1 < lines) {
            qsizetype cut = rest.size();
            while (cut > 0 && metrics.horizontalAdvance(rest.left(cut)) > width)
                cut = rest.lastIndexOf(QLatin1Char(' '), cut - 1);
            if (cut > 0) now = rest.left(cut);
        }
        rest = rest.mid(now.size()).trimmed();
        out << metrics.elidedText(now, Qt::ElideRight, width);
    }
    return out;
}

void dressTable(QTableView& table, int rowHeight) {
    table.setShowGrid(false);
    table.setFrameShape(QFrame::NoFrame);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.verticalHeader()->hide();
    table.verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    table.verticalHeader()->setDefaultSectionSize(rowHeight);
    table.horizontalHeader()->setHighlightSections(false);
}

Paragraph::Paragraph(const QString& text, TextRole type, const QString& role, QWidget* parent)
    : QLabel(text, parent) {
    setFont(twb::font(type));
    if (!role.isEmpty()) setProperty("role", role);
    setWordWrap(true);
}

int Paragraph::heightForWidth(int width) const {
    ensurePolished();
    if (m_measured != text()) {
        m_heights.clear();
        m_measured = text();
    }
    const auto [at, isNew] = m_heights.try_emplace(width);
    if (isNew) at->second = QLabel::heightForWidth(width);
    return at->second;
}

void Paragraph::changeEvent(QEvent* event) {
    m_heights.clear(); // the font or the style changed
    QLabel::changeEvent(event);
}

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void ElidedLabel::setElideMode(Qt::TextElideMode mode) { m_mode = mode; }

QSize ElidedLabel::minimumSizeHint() const { return {16, QLabel::minimumSizeHint().height()}; }

void ElidedLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const QString shown = fontMetrics().elidedText(text(), m_mode, contentsRect().width());
    setToolTip(shown == text() ? QString() : text());
    style()->drawItemText(&painter, contentsRect(), int(alignment()), palette(), isEnabled(), shown,
                          foregroundRole());
}

DevicePill::DevicePill(QWidget* parent) : QLabel(parent) {
    setFont(twb::font(TextRole::strong));
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void DevicePill::setDevice(Device device) {
    m_device = device;
    setText(toQt(device.toString()));
    setAccessibleName(tr("Device %1").arg(text()));
    updateGeometry();
}

QSize DevicePill::sizeHint() const { return {fontMetrics().horizontalAdvance(text()) + 24, 20}; }

void DevicePill::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    QColor wash = theme.device(m_device);
    wash.setAlphaF(theme.isDark ? 0.18f : 0.14f);
    painter.setPen(Qt::NoPen);
    painter.setBrush(wash);
    painter.drawRoundedRect(QRectF(rect()), height() / 2.0, height() / 2.0);
    painter.setPen(theme.deviceInk(m_device));
    painter.drawText(rect(), Qt::AlignCenter, text());
}

} // namespace twb
