#pragma once

#include "core/device.h"
#include "widgets/theme.h"

#include <QFrame>
#include <QLabel>
#include <QStyleOptionViewItem>

#include <map>

class QTableView;

namespace twb {

/// A label of the type scale. `role`: "secondary", "caps", "error"… as in the style sheet; empty for plain
/// text.
QLabel* makeLabel(const QString& text, TextRole type, const QString& role = {}, QWidget* parent = nullptr);
/// A caps heading of a section.
QLabel* makeHeading(const QString& text, QWidget* parent = nullptr);
/// A hairline.
QFrame* makeLine(QWidget* parent = nullptr);
/// Sets a dynamic property that the style sheet looks at.
void setStyleProperty(QWidget* widget, const char* name, const QVariant& value);

/// What a selected row of a list or table stands on.
QColor selectionWash();
/// The ground of a list's row: washed where it is selected or under the mouse, ringed where the keys are.
void paintRowWash(QPainter& painter, const QStyleOptionViewItem& option);
/// One line in the painter's font and pen, cut with "…" where it is wider.
void drawElided(QPainter& painter, const QRect& room, int alignment, const QString& text,
                Qt::TextElideMode mode = Qt::ElideRight);

/// A popup's geometry on the screen, moved and, where it is too large, cut so that it lies within `window`.
QRect withinWindow(const QWidget& window, QRect popup);

/// Words in at most so many lines of a width, broken at spaces; the last one ends in "…" where it must.
QStringList wrapped(const QString& words, const QFont& font, double width, int lines);

/// The looks that tables of rows have in common: no grid, no frame, whole rows of one height, nothing edited
/// in place.
void dressTable(QTableView& table, int rowHeight);

/// One line that ends in "…" where it does not fit; the whole text is its tool tip then.
class ElidedLabel : public QLabel {
    Q_OBJECT

public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    void setElideMode(Qt::TextElideMode mode);
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Qt::TextElideMode m_mode = Qt::ElideRight;
};

/// A text that wraps. Layouts ask for its height at the same few widths again and again, and each answer
/// would lay out the text: the last ones are kept.
class Paragraph : public QLabel {
    Q_OBJECT

public:
    Paragraph(const QString& text, TextRole type, const QString& role = {}, QWidget* parent = nullptr);
    int heightForWidth(int width) const override;

protected:
    void changeEvent(QEvent* event) override;

private:
    mutable QString m_measured; ///< the text that these are of
    mutable std::map<int, int> m_heights;
};

/// A device's name in its colour.
class DevicePill : public QLabel {
    Q_OBJECT

public:
    explicit DevicePill(QWidget* parent = nullptr);
    void setDevice(Device device);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Device m_device;
};

} // namespace twb
