#pragma once

#include "core/device.h"
#include "widgets/theme.h"

#include <QFrame>
#include <QLabel>
#include <QStyleOptionViewItem>

#include <map>

class QPushButton;
class QTableView;

namespace twb {

/// A label of the type scale. `role`: "secondary", "caps", "error"… of the style sheet; empty for plain text.
QLabel* makeLabel(const QString& text, TextRole type, const QString& role = {}, QWidget* parent = nullptr);
/// A section heading in capitals.
QLabel* makeHeading(const QString& text, QWidget* parent = nullptr);
/// A hairline.
QFrame* makeLine(QWidget* parent = nullptr);
/// One of several buttons in a row. `tip`: a sentence that says what it does; also its name for assistive
/// technology if the text is a symbol.
QPushButton* makeSegment(const QString& text, const QString& tip);
/// Sets a dynamic property that the style sheet uses.
void setStyleProperty(QWidget* widget, const char* name, const QVariant& value);

/// The background of a selected row in a list or table.
QColor selectionWash();
/// The background of a list's row: shaded if it is selected or hovered, outlined if it has the keyboard
/// focus.
void paintRowWash(QPainter& painter, const QStyleOptionViewItem& option);
/// Draws one line in the painter's font and pen, elided with "…" if it is too wide.
void drawElided(QPainter& painter, const QRect& room, int alignment, const QString& text,
                Qt::TextElideMode mode = Qt::ElideRight);

/// A popup's geometry on the screen, moved and, if it is too large, reduced to fit into `window`.
QRect withinWindow(const QWidget& window, QRect popup);

/// Breaks words into at most this many lines of a width; the last line is elided with "…" if necessary.
QStringList wrapped(const QString& words, const QFont& font, double width, int lines);

/// The common style of tables: no grid, no frame, whole rows of one height, not editable.
void dressTable(QTableView& table, int rowHeight);

/// One line, elided with "…" if it does not fit; the tooltip then has the whole text.
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

/// A text that wraps. Layouts ask for its height at the same few widths repeatedly, and each answer would lay
/// out the text, so the last answers are cached.
class Paragraph : public QLabel {
    Q_OBJECT

public:
    Paragraph(const QString& text, TextRole type, const QString& role = {}, QWidget* parent = nullptr);
    int heightForWidth(int width) const override;

protected:
    void changeEvent(QEvent* event) override;

private:
    mutable QString m_measured; ///< the text of the cached heights
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
