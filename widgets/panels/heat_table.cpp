#include "widgets/panels/heat_table.h"

#include "widgets/canvas/heat.h"
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
constexpr int kGap = 10;    ///< least distance between two numbers of the header

class HeatDelegate : public QStyledItemDelegate {
public:
    explicit HeatDelegate(HeatTable& table) : QStyledItemDelegate(&table), m_table(table) {}

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        const QRect cell = option.rect.adjusted(0, 0, -1, -1);
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

/// Draws the numbers of columns wider than the columns, and leaves out those that would touch.
class HeatHeader : public QHeaderView {
public:
    using QHeaderView::QHeaderView;

protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        painter->setFont(twb::font(TextRole::smallFigure));
        painter->setPen(Theme::current().secondaryText);
        if (orientation() == Qt::Vertical)
            drawElided(*painter, rect.adjusted(0, 0, -8, 0), Qt::AlignRight | Qt::AlignVCenter,
                       textOf(section), Qt::ElideMiddle);
        else if (textOf(section).toInt() % every(*painter, rect.width()) == 0)
            painter->drawText(rect.adjusted(-kOver, 0, kOver, 0), Qt::AlignCenter, textOf(section));
    }
    QSize sectionSizeFromContents(int section) const override {
        if (orientation() == Qt::Horizontal) return QHeaderView::sectionSizeFromContents(section);
        return {QFontMetrics(twb::font(TextRole::smallFigure)).horizontalAdvance(textOf(section)) + 8, kRow};
    }

private:
    static constexpr int kOver = 40;

    QString textOf(int section) const {
        return model()->headerData(section, orientation(), Qt::DisplayRole).toString();
    }
    /// The distance of the numbers that have room.
    int every(const QPainter& painter, int width) const {
        const int needed = painter.fontMetrics().horizontalAdvance(textOf(count() - 1)) + kGap;
        for (int power = 1;; power *= 10)
            for (const int digit : {1, 2, 5})
                if (digit * power * width >= needed) return digit * power;
    }
};

} // namespace

HeatTable::HeatTable(QAbstractItemModel& model, bool followsEnd, QWidget* parent)
    : QTableView(parent), m_followsEnd(followsEnd) {
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
    verticalHeader()->setMaximumWidth(kNames);
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

void HeatTable::showEnd() {
    if (m_followsEnd) scrollTo(model()->index(0, model()->columnCount() - 1));
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

HeatScale::HeatScale(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void HeatScale::setEnds(const QString& least, const QString& most, const QString& kind) {
    m_least = least;
    m_most = most;
    m_kind = kind;
    setAccessibleName(tr("Colours from %1 to %2, %3").arg(least, most, kind));
    update();
}

void HeatScale::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF bar(0.5, 0.5, width() - 1, 9);
    QLinearGradient ramp(bar.topLeft(), bar.topRight());
    ramp.setColorAt(0, heatColor(theme, 0));
    ramp.setColorAt(1, heatColor(theme, 1));
    painter.setPen(QPen(theme.border, 1));
    painter.setBrush(ramp);
    painter.drawRoundedRect(bar, 3, 3);
    const QRectF figures(0, bar.bottom() + 3, width(), height() - bar.bottom() - 3);
    painter.setPen(theme.secondaryText);
    painter.setFont(twb::font(TextRole::smallFigure));
    painter.drawText(figures, Qt::AlignTop | Qt::AlignLeft, m_least);
    painter.drawText(figures, Qt::AlignTop | Qt::AlignRight, m_most);
    painter.setFont(twb::font(TextRole::small));
    painter.drawText(figures, Qt::AlignTop | Qt::AlignHCenter, m_kind);
}

} // namespace twb
