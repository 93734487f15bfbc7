#include "widgets/panels/plot_table.h"

#include "widgets/labels.h"
#include "widgets/text.h"

#include <QAccessibleWidget>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QPushButton>
#include <QShortcut>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace twb {
namespace {

constexpr char kPlotTableMark[] = "plotTable"; ///< the property of a plot that has a table
constexpr int kPlotTableRow = 24;

/// A plot for assistive technology.
class PlotAccessible : public QAccessibleWidget {
public:
    explicit PlotAccessible(QWidget* plot) : QAccessibleWidget(plot, QAccessible::Chart) {}

    QString text(QAccessible::Text kind) const override {
        if (kind != QAccessible::Description) return QAccessibleWidget::text(kind);
        const auto* table = widget()->findChild<PlotTable*>({}, Qt::FindDirectChildrenOnly);
        const int rows = table ? table->values().rows : 0;
        QString out = rows == 0 ? PlotTable::tr("No values yet.")
                                : PlotTable::tr("%1 rows of values. The context menu shows them as a table.")
                                      .arg(grouped(rows));
        const QString more = QAccessibleWidget::text(kind);
        return more.isEmpty() ? out : more + QLatin1Char(' ') + out;
    }
};

QAccessibleInterface* makePlotInterface(const QString&, QObject* object) {
    auto* widget = qobject_cast<QWidget*>(object);
    return widget && widget->property(kPlotTableMark).toBool() ? new PlotAccessible(widget) : nullptr;
}

/// The table of one plot.
class PlotTableWindow : public QDialog {
public:
    PlotTableWindow(std::function<PlotValues()> values, QWidget* parent)
        : QDialog(parent), m_read(std::move(values)), m_model(new PlotTableModel(this)),
          m_table(new QTableView) {
        setObjectName(QStringLiteral("plotTableWindow"));
        setAttribute(Qt::WA_DeleteOnClose);
        setProperty("surface", QStringLiteral("window"));
        m_table->setObjectName(QStringLiteral("plotTable"));
        m_table->setModel(m_model);
        dressTable(*m_table, kPlotTableRow);
        m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
        m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        auto* copy = new QPushButton(PlotTable::tr("&Copy as CSV"));
        copy->setObjectName(QStringLiteral("copyCsv"));
        copy->setToolTip(PlotTable::tr("Copies the selected rows, or all of them."));
        auto* again = new QPushButton(PlotTable::tr("&Refresh"));
        again->setObjectName(QStringLiteral("refreshTable"));
        again->setToolTip(PlotTable::tr("Reads the plot's values again."));
        auto* close = new QPushButton(PlotTable::tr("C&lose"));
        for (QPushButton* button : {copy, again, close}) button->setAutoDefault(false);
        auto* row = new QHBoxLayout;
        row->addWidget(copy);
        row->addWidget(again);
        row->addStretch(1);
        row->addWidget(close);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(12, 12, 12, 12);
        layout->setSpacing(12);
        layout->addWidget(m_table, 1);
        layout->addLayout(row);
        connect(copy, &QPushButton::clicked, this, [this] { copyCsv(); });
        connect(again, &QPushButton::clicked, this, [this] { refresh(); });
        connect(close, &QPushButton::clicked, this, &QWidget::close);
        connect(new QShortcut(QKeySequence::Copy, this), &QShortcut::activated, this, [this] { copyCsv(); });
        connect(new QShortcut(QKeySequence::Refresh, this), &QShortcut::activated, this,
                [this] { refresh(); });
        refresh();
        resize(720, 460);
        m_table->setFocus();
    }

    void refresh() {
        m_model->setValues(m_read());
        const QString title = m_model->values().title;
        setWindowTitle(PlotTable::tr("%1 — table").arg(title));
        m_table->setAccessibleName(title);
        m_table->resizeColumnsToContents();
        if (m_model->rowCount() > 0) m_table->setCurrentIndex(m_model->index(0, 0));
        m_table->clearSelection();
    }

private:
    void copyCsv() {
        std::vector<int> rows;
        for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
            rows.push_back(index.row());
        std::ranges::sort(rows);
        QApplication::clipboard()->setText(toQt(toCsv(m_model->values(), rows)));
    }

    std::function<PlotValues()> m_read;
    PlotTableModel* m_model;
    QTableView* m_table;
};

} // namespace

void PlotTableModel::setValues(PlotValues values) {
    beginResetModel();
    m_values = std::move(values);
    endResetModel();
}

int PlotTableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_values.rows; }

int PlotTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_values.columns.size());
}

QVariant PlotTableModel::data(const QModelIndex& index, int role) const {
    if (role == Qt::DisplayRole) {
        const QVariant value = m_values.at(index.row(), index.column());
        if (value.typeId() == QMetaType::Double) return compact(value.toDouble());
        if (value.typeId() == QMetaType::LongLong) return grouped(value.toLongLong());
        if (value.typeId() == QMetaType::Bool) return value.toBool() ? tr("yes") : QString();
        return value.toString();
    }
    if (role == Qt::TextAlignmentRole) {
        const int type = m_values.at(index.row(), index.column()).typeId();
        const bool isNumber = type == QMetaType::Double || type == QMetaType::LongLong;
        return int(Qt::AlignVCenter | (isNumber ? Qt::AlignRight : Qt::AlignLeft));
    }
    return {};
}

QVariant PlotTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return m_values.columns[std::size_t(section)].heading;
}

PlotTable::PlotTable(QWidget& plot, std::function<PlotValues()> values)
    : QObject(&plot), m_plot(plot), m_values(std::move(values)) {
    [[maybe_unused]] static const bool once = [] {
        QAccessible::installFactory(makePlotInterface);
        return true;
    }();
    plot.setProperty(kPlotTableMark, true);
    // Setting an accessible name made an interface without the mark.
    if (QAccessibleInterface* known = QAccessible::queryAccessibleInterface(&plot))
        QAccessible::deleteAccessibleInterface(QAccessible::uniqueId(known));
    if (plot.focusPolicy() == Qt::NoFocus) plot.setFocusPolicy(Qt::TabFocus);
    plot.installEventFilter(this);
}

void PlotTable::show() {
    if (m_window)
        static_cast<PlotTableWindow*>(m_window.data())->refresh();
    else
        m_window = new PlotTableWindow(m_values, m_plot.window());
    m_window->show();
    m_window->raise();
    m_window->activateWindow();
}

PlotTable* PlotTable::in(const QWidget& page) {
    PlotTable* first = nullptr;
    for (PlotTable* table : page.findChildren<PlotTable*>()) {
        if (!table->m_plot.isVisible()) continue;
        if (table->m_plot.hasFocus()) return table;
        if (!first) first = table;
    }
    return first;
}

bool PlotTable::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::ContextMenu) return QObject::eventFilter(watched, event);
    const auto& asked = *static_cast<QContextMenuEvent*>(event);
    auto* menu = new QMenu(&m_plot);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Show as &table"), this, &PlotTable::show);
    menu->popup(asked.globalPos());
    return true;
}

} // namespace twb
