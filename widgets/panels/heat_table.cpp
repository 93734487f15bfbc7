#include "widgets/panels/heat_table.h"

#include "widgets/labels.h"
#include "widgets/theme.h"

#include <QHeaderView>
#include <QLinearGradient>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>

#include <algorithm>

namespace twb {
namespace {

constexpr int kRow = 20;
constexpr int kLeastColumn = 14;
constexpr int kMostColumn = 64;
constexpr int kLeastFigures = 20; ///< least width of a column with figures
constexpr int kPadding = 4;
constexpr int kNames = 136; ///< maximum width of the row names
constexpr int kBetween = 4; ///< distance of two groups of rows
constexpr int kGap = 10;    ///< least distance between two numbers of the header

class HeatDelegate : public QStyledItemDelegate {
public:
    explicit HeatDelegate(HeatTable& table) : QStyledItemDelegate(&table), m_table(table) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        const QRect cell(option.rect.topLeft(), QSize(option.rect.width() - 1, kRow - 1));
        const auto shade = index.data(Qt::BackgroundRole).value<QColor>();
        if (shade.isValid()) painter->fillRect(cell, shade);
        painter->setFont(font(TextRole::smallFigure));
        painter->setPen(shade.isValid() ? theme.text : theme.disabledText);
        if (m_table.showsFigures())
            painter->drawText(cell, Qt::AlignCenter, index.data(Qt::DisplayRole).toString());
        if (!(option.state & QStyle::State_HasFocus)) return;
        painter->setPen(QPen(theme.accent, 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(cell.adjusted(1, 1, -1, -1));
    }

private:
    HeatTable& m_table;
};

/// Draws the numbers of columns wider than the columns, and leaves out those that would touch. A row's detail
/// is right of its name.
class HeatHeader : public QHeaderView {
public:
    using QHeaderView::QHeaderView;

protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        painter->setFont(twb::font(TextRole::smallFigure));
        painter->setPen(Theme::current().secondaryText);
        if (orientation() == Qt::Vertical)
            paintRow(*painter, QRect(rect.topLeft(), QSize(rect.width() - 8, kRow)), section);
        else if (textOf(section).toInt() % every(*painter, rect.width()) == 0)
            painter->drawText(rect.adjusted(-kOver, 0, kOver, 0), Qt::AlignCenter, textOf(section));
    }
    QSize sectionSizeFromContents(int section) const override {
        if (orientation() == Qt::Horizontal) return QHeaderView::sectionSizeFromContents(section);
        const int name = QFontMetrics(twb::font(TextRole::smallFigure)).horizontalAdvance(textOf(section));
        return {std::min(name, kNames) + widthOfDetail(section) + 8, kRow};
    }

private:
    static constexpr int kOver = 40;

    void paintRow(QPainter& painter, const QRect& rect, int section) const {
        const QString detail = textOf(section, HeatTable::kDetailRole);
        drawElided(painter, rect.adjusted(0, 0, -widthOfDetail(section), 0),
                   Qt::AlignVCenter | (detail.isEmpty() ? Qt::AlignRight : Qt::AlignLeft), textOf(section),
                   Qt::ElideMiddle);
        painter.setFont(twb::font(TextRole::small));
        painter.drawText(rect, Qt::AlignRight | Qt::AlignVCenter, detail);
    }
    /// The width of the section's detail including the gap before it; 0 without a detail.
    int widthOfDetail(int section) const {
        const QString detail = textOf(section, HeatTable::kDetailRole);
        const QFontMetrics metrics(twb::font(TextRole::small));
        return detail.isEmpty() ? 0 : metrics.horizontalAdvance(detail) + kGap;
    }
    QString textOf(int section, int role = Qt::DisplayRole) const {
        return model()->headerData(section, orientation(), role).toString();
    }
    /// Every how many columns a number is drawn, so that neighbouring numbers do not touch.
    int every(const QPainter& painter, int width) const {
        const int needed = painter.fontMetrics().horizontalAdvance(textOf(count() - 1)) + kGap;
        for (int power = 1;; power *= 10)
            for (const int digit : {1, 2, 5})
                if (digit * power * width >= needed) return digit * power;
    }
};

} // namespace

HeatTable::HeatTable(QAbstractItemModel& model, Options options, QWidget* parent)
    : QTableView(parent), m_options(options) {
    setHorizontalHeader(new HeatHeader(Qt::Horizontal, this));
    setVerticalHeader(new HeatHeader(Qt::Vertical, this));
    setModel(&model);
    dressTable(*this, kRow);
    setItemDelegate(new HeatDelegate(*this));
    setSelectionBehavior(SelectItems);
    setSelectionMode(NoSelection);
    setHorizontalScrollMode(ScrollPerPixel);
    setVerticalScrollMode(ScrollPerPixel);
    setMouseTracking(true);
    setCornerButtonEnabled(false);
    verticalHeader()->show();
    verticalHeader()->setMinimumSectionSize(kRow);
    horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    horizontalHeader()->setMinimumSectionSize(kLeastColumn);
    horizontalHeader()->setFixedHeight(kRow);
    const auto describe = [this](const QModelIndex& index) {
        Q_EMIT described(index.data(Qt::ToolTipRole).toString());
    };
    connect(this, &QAbstractItemView::entered, this, describe);
    connect(selectionModel(), &QItemSelectionModel::currentChanged, this, describe);
    connect(&model, &QAbstractItemModel::modelReset, this, [this] {
        separateGroups();
        fit();
        showEnd();
    });
    connect(&model, &QAbstractItemModel::columnsAboutToBeInserted, this,
            [this] { m_isAtEnd = horizontalScrollBar()->value() == horizontalScrollBar()->maximum(); });
    connect(&model, &QAbstractItemModel::columnsInserted, this, [this] {
        fit();
        if (m_isAtEnd) showEnd();
    });
}

void HeatTable::separateGroups() {
    const int rows = m_options.rowsPerGroup;
    for (int last = rows - 1; rows > 1 && last < model()->rowCount(); last += rows)
        setRowHeight(last, kRow + kBetween);
}

void HeatTable::showEnd() {
    if (m_options.followsEnd) scrollTo(model()->index(0, model()->columnCount() - 1));
}

void HeatTable::showEvent(QShowEvent* event) {
    QTableView::showEvent(event);
    fit();
    showEnd();
}

void HeatTable::fit() {
    const int columns = model()->columnCount();
    const int width = std::clamp(viewport()->width() / std::max(columns, 1), kLeastColumn, kMostColumn);
    horizontalHeader()->setDefaultSectionSize(width);
    const QFontMetrics metrics(twb::font(TextRole::smallFigure));
    const auto hasRoom = [&](int row, int column) {
        const QString text = model()->index(row, column).data().toString();
        return metrics.horizontalAdvance(text) + kPadding < width;
    };
    m_showsFigures = width >= kLeastFigures;
    for (int row = 0; row < model()->rowCount() && m_showsFigures; ++row)
        for (int column = 0; column < columns && m_showsFigures; ++column)
            m_showsFigures = hasRoom(row, column);
}

void HeatTable::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fit();
}

HeatScale::HeatScale(HeatHue hue, QWidget* parent) : QWidget(parent), m_hue(hue) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void HeatScale::setEnds(const QString& title, const QString& least, const QString& most) {
    m_title = title;
    m_least = least;
    m_most = most;
    setAccessibleName(tr("%1: colours from %2 to %3").arg(title, least, most));
    update();
}

void HeatScale::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme.secondaryText);
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(QRectF(0, 0, width(), 16), Qt::AlignTop | Qt::AlignLeft, m_title);
    const QRectF bar(0.5, 17.5, width() - 1, 9);
    QLinearGradient ramp(bar.topLeft(), bar.topRight());
    ramp.setColorAt(0, heatColor(theme, 0, m_hue));
    ramp.setColorAt(1, heatColor(theme, 1, m_hue));
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(ramp);
    painter.drawRoundedRect(bar, 3, 3);
    const QRectF figures(0, bar.bottom() + 3, width(), height() - bar.bottom() - 3);
    painter.setPen(theme.secondaryText);
    painter.setFont(twb::font(TextRole::smallFigure));
    painter.drawText(figures, Qt::AlignTop | Qt::AlignLeft, m_least);
    painter.drawText(figures, Qt::AlignTop | Qt::AlignRight, m_most);
}

} // namespace twb
