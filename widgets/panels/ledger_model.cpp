#include "widgets/panels/ledger_model.h"

#include "profile/report.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <algorithm>
#include <unordered_map>

namespace twb {
namespace {

/// The digits that the figure has in every view; its unit is in the column's head.
QString digits(const std::string& figure) { return toQt(figure).section(QLatin1Char(' '), 0, 0); }

QString ms(double ns) { return ns > 0 ? digits(formatMs(ns)) : QStringLiteral("–"); }

/// Copies of one tensor to one device are told apart by who reads them.
void tellApart(std::vector<LedgerModel::Row>& rows, const Graph& graph) {
    std::unordered_map<QString, int> count;
    for (const LedgerModel::Row& row : rows) ++count[row.name];
    std::unordered_map<QString, int> taken;
    for (LedgerModel::Row& row : rows) {
        if (count[row.name] < 2) continue;
        const Node* reader = graph.find(row.edge.to.node);
        if (reader && reader->op == "To" && !graph.outgoing(reader->id).empty())
            reader = graph.find(graph.outgoing(reader->id).front().to.node);
        if (reader) row.name += LedgerModel::tr(" for %1").arg(toQt(reader->name));
        if (const int before = taken[row.name]++; before > 0)
            row.name += QStringLiteral(" (%1)").arg(before + 1);
    }
}

} // namespace

LedgerModel::LedgerModel(const Document& document, const RunController& runs, QObject* parent)
    : QAbstractTableModel(parent), m_document(document), m_runs(runs) {}

int LedgerModel::rowOf(const Edge& edge) const {
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& r) {
        return std::find(r.served.begin(), r.served.end(), edge) != r.served.end();
    });
    return row == m_rows.end() ? -1 : int(row - m_rows.begin());
}

std::vector<int> LedgerModel::rowsOfTransfers() const {
    std::vector<int> out(m_rows.size(), -1);
    for (std::size_t i = 0; i < m_rows.size(); ++i) out[m_rows[i].transfer] = int(i);
    return out;
}

void LedgerModel::refresh() {
    std::vector<Row> rows = m_runs.figures() ? fromRun() : fromPrediction();
    if (rows.size() != m_rows.size()) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
        return;
    }
    m_rows = std::move(rows);
    if (!m_rows.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

std::vector<LedgerModel::Row> LedgerModel::fromRun() const {
    std::vector<Row> rows;
    const RunFigures& figures = *m_runs.figures();
    const std::vector<LedgerRow>& ledger = figures.ledger().rows();
    for (std::size_t i = 0; i < ledger.size(); ++i) {
        const Transfer& transfer = figures.plan().transfers[i];
        Row row;
        row.name = toQt(transfer.label);
        row.transfer = std::uint32_t(i);
        row.served = m_runs.edgesOf(std::uint32_t(i));
        row.edge = row.served.front();
        row.predicted = ledger[i].count == 0;
        row.bytes =
            row.predicted ? double(transfer.bytes) : double(ledger[i].bytes) / double(ledger[i].count);
        row.medianNs = row.predicted ? transfer.predictedNs : ledger[i].medianNs();
        row.p95Ns = row.predicted ? 0 : ledger[i].p95Ns();
        row.rate = row.medianNs > 0 ? row.bytes / row.medianNs : 0;
        row.predictedNs = transfer.predictedNs;
        row.modelled = transfer.modelled;
        row.setup = transfer.setup;
        rows.push_back(std::move(row));
    }
    std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.setup; });
    tellApart(rows, m_document.graph());
    return rows;
}

std::vector<LedgerModel::Row> LedgerModel::fromPrediction() const {
    std::vector<Row> rows;
    for (const auto& [edge, run] : m_runs.state().edges) {
        const Node* source = m_document.graph().find(edge.from.node);
        const NodeFacts* target = m_document.analysis().find(edge.to.node);
        if (!source || !target) continue;
        Row row;
        row.name = QStringLiteral("%1 → %2").arg(toQt(source->name), toQt(target->device.toString()));
        row.edge = edge;
        row.served = {edge};
        row.bytes = run.bytes;
        row.medianNs = row.predictedNs = run.ns;
        row.rate = run.gbPerSecond;
        row.modelled = run.modelled;
        row.setup = edge == stagingOf(edge.from.node);
        rows.push_back(std::move(row));
    }
    std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.setup; });
    tellApart(rows, m_document.graph());
    return rows;
}

int LedgerModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

int LedgerModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
    const Row& row = m_rows[std::size_t(index.row())];
    const auto column = Column(index.column());
    switch (role) {
    case Qt::DisplayRole:
        switch (column) {
        case EdgeColumn:
            return row.setup ? tr("%1, once").arg(row.name) : row.name;
        case BytesColumn:
            return toQt(formatBytes(row.bytes));
        case MedianColumn:
            return ms(row.medianNs);
        case P95Column:
            return ms(row.p95Ns);
        case RateColumn:
            return row.rate > 0 ? digits(formatRate(row.rate)) : QStringLiteral("–");
        case ColumnCount:
            break;
        }
        return {};
    case Qt::DecorationRole:
        return column == EdgeColumn ? QVariant(Theme::current().series(std::size_t(index.row())))
                                    : QVariant();
    case Qt::FontRole:
        return twb::font(column == EdgeColumn ? TextRole::body : TextRole::smallFigure);
    case Qt::TextAlignmentRole:
        return int(Qt::AlignVCenter | (column == EdgeColumn ? Qt::AlignLeft : Qt::AlignRight));
    case kMarkRole:
        return index.row();
    case kDimRole:
        return row.predicted;
    case Qt::ToolTipRole: {
        const QString kind = row.predicted ? tr("predicted") : row.modelled ? tr("modelled") : tr("measured");
        return tr("%1: %2, %3 %4%5")
            .arg(row.name, toQt(formatBytes(row.bytes)), toQt(formatMs(row.medianNs)), kind,
                 row.setup ? tr(", once before the iterations") : QString());
    }
    default:
        return {};
    }
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return int(Qt::AlignVCenter | (section == EdgeColumn ? Qt::AlignLeft : Qt::AlignRight));
    if (role != Qt::DisplayRole) return {};
    switch (Column(section)) {
    case EdgeColumn:
        return tr("edge");
    case BytesColumn:
        return tr("bytes");
    case MedianColumn:
        return m_runs.figures() ? tr("median ms") : tr("predicted ms");
    case P95Column:
        return tr("p95 ms");
    case RateColumn:
        return tr("GB/s");
    case ColumnCount:
        break;
    }
    return {};
}

} // namespace twb
