#include "widgets/panels/ledger_view.h"

#include "widgets/labels.h"
#include "widgets/panels/series_mark.h"
#include "widgets/source_editor.h"
#include "widgets/theme.h"

#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>
#include <QStyledItemDelegate>

#include <algorithm>

namespace twb {
namespace {

constexpr int kMarkRoom = 24;    ///< from the row's left edge: the curve's mark
constexpr int kRoomForP95 = 290; ///< px, minimum width of the table beside a plot
constexpr int kRoomForRate = 330;

/// Paints the mark of the curve (hollow if the plot does not show it), the name or the figure, and the
/// selection across the whole row.
class LedgerDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        const Theme& theme = Theme::current();
        painter->save();
        if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, selectionWash());
        QRect room = option.rect.adjusted(8, 0, -8, 0);
        const bool dim = index.data(LedgerModel::kDimRole).toBool();
        if (const QVariant color = index.data(Qt::DecorationRole); color.isValid()) {
            const bool isFilled = !dim && index.data(LedgerModel::kShownRole).toBool();
            painter->setRenderHint(QPainter::Antialiasing);
            painter->setPen(QPen(color.value<QColor>(), 1.5));
            painter->setBrush(isFilled ? QBrush(color.value<QColor>()) : QBrush(Qt::NoBrush));
            const QPointF at(room.left() + 4, room.center().y() + 0.5);
            painter->translate(at);
            painter->drawPath(seriesMark(index.data(LedgerModel::kMarkRole).toUInt()));
            painter->translate(-at);
            room.setLeft(room.left() + 16);
        }
        painter->setFont(index.data(Qt::FontRole).value<QFont>());
        const bool isLink = index.column() == LedgerModel::SourceColumn;
        painter->setPen(isLink ? theme.accent : dim ? theme.secondaryText : theme.text);
        drawElided(*painter, room, index.data(Qt::TextAlignmentRole).toInt(), index.data().toString(),
                   Qt::ElideMiddle);
        painter->restore();
    }
};

} // namespace

LedgerView::LedgerView(LedgerModel& model, LedgerFilter& rows, QWidget* parent)
    : QTableView(parent), m_model(model), m_rows(rows) {
    setObjectName(QStringLiteral("ledgerTable"));
    setAccessibleName(tr("Ledger: cost of each transfer"));
    setModel(&m_rows);
    setItemDelegate(new LedgerDelegate(this));
    dressTable(*this, kRowHeight);
    setSelectionMode(SingleSelection);
    setVerticalScrollMode(ScrollPerPixel);
    setHorizontalScrollMode(ScrollPerPixel);
    QHeaderView& head = *horizontalHeader();
    head.setMinimumSectionSize(40);
    head.setSectionResizeMode(QHeaderView::Fixed);
    head.setSortIndicatorClearable(true);
    head.setSortIndicator(-1, Qt::DescendingOrder);
    setSortingEnabled(true);
    fitHeaders();
    setColumns(Columns::some);
    connect(&m_model, &QAbstractItemModel::modelReset, this, &LedgerView::showSources);
    connect(&m_model, &QAbstractItemModel::dataChanged, this, &LedgerView::showSources);
    connect(this, &QTableView::clicked, this, [this](const QModelIndex& index) {
        const int row = sourceRow(index);
        Q_EMIT rowChosen(row);
        if (index.column() != LedgerModel::SourceColumn) return;
        if (const auto source = m_model.rows()[std::size_t(row)].source) openSource(*source, window());
    });
}

void LedgerView::setColumns(Columns columns) {
    using Model = LedgerModel;
    m_columns = columns;
    const auto isShown = [columns](int column) {
        const bool isMain = column == Model::EdgeColumn || column == Model::MedianColumn ||
                            column == Model::P95Column || column == Model::RateColumn;
        return columns == Columns::all || isMain ||
               (columns == Columns::some && column == Model::BytesColumn);
    };
    for (int column = 0; column < Model::ColumnCount; ++column) setColumnHidden(column, !isShown(column));
    showSources();
    const bool all = columns == Columns::all;
    horizontalHeader()->setSectionResizeMode(Model::EdgeColumn,
                                             all ? QHeaderView::Interactive : QHeaderView::Stretch);
    if (all) setColumnWidth(Model::EdgeColumn, Model::widthOf(Model::EdgeColumn));
    // Beside the plot there is no room for a scroll bar, so all columns must fit.
    setHorizontalScrollBarPolicy(all ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
}

/// Only imported programs have source lines.
void LedgerView::showSources() {
    setColumnHidden(LedgerModel::SourceColumn, m_columns != Columns::all || !m_model.hasSources());
}

/// Headers are wider in some fonts and languages than the standard widths.
void LedgerView::fitHeaders() {
    constexpr int padding = 16; // in the style sheet, as are the size and the weight
    QFont font = horizontalHeader()->font();
    font.setPixelSize(11);
    font.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(font);
    for (int column = 0; column < LedgerModel::ColumnCount; ++column) {
        if (column == LedgerModel::EdgeColumn) continue;
        const QString text = m_rows.headerData(column, Qt::Horizontal).toString();
        setColumnWidth(column, std::max(LedgerModel::widthOf(LedgerModel::Column(column)),
                                        metrics.horizontalAdvance(text) + padding));
    }
}

void LedgerView::changeEvent(QEvent* event) {
    QTableView::changeEvent(event);
    if (event->type() == QEvent::FontChange) fitHeaders();
}

/// Beside the plot in a narrow window, the names of the edges have priority over the figures.
void LedgerView::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    if (horizontalHeader()->sectionResizeMode(LedgerModel::EdgeColumn) != QHeaderView::Stretch) return;
    setColumnHidden(LedgerModel::RateColumn, width() < kRoomForRate);
    setColumnHidden(LedgerModel::P95Column, width() < kRoomForP95);
}

int LedgerView::sourceRow(const QModelIndex& index) const {
    return index.isValid() ? m_rows.mapToSource(index).row() : -1;
}

int LedgerView::currentRow() const { return sourceRow(currentIndex()); }

void LedgerView::select(int row) {
    const QModelIndex index = row < 0 ? QModelIndex() : m_rows.mapFromSource(m_model.index(row, 0));
    if (index.isValid())
        selectRow(index.row());
    else
        clearSelection();
}

void LedgerView::mousePressEvent(QMouseEvent* event) {
    const QModelIndex index = indexAt(event->position().toPoint());
    const bool onMark = index.isValid() && index.column() == LedgerModel::EdgeColumn &&
                        event->position().x() < visualRect(index).left() + kMarkRoom;
    if (!onMark || event->button() != Qt::LeftButton) return QTableView::mousePressEvent(event);
    Q_EMIT curveToggled(sourceRow(index));
}

void LedgerView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space) {
        if (currentRow() >= 0) Q_EMIT curveToggled(currentRow());
        return;
    }
    const int before = currentRow();
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isReturn && before >= 0)
        if (const auto& source = m_model.rows()[std::size_t(before)].source)
            return openSource(*source, window());
    QTableView::keyPressEvent(event);
    if (currentRow() >= 0 && currentRow() != before) Q_EMIT rowChosen(currentRow());
}

} // namespace twb
