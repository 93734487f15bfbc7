#include "widgets/panels/ledger_model.h"

#include "widgets/engine_words.h"
#include "widgets/price.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace twb {
namespace {

struct ColumnLook {
    const char* head;
    const char* tip;
    int width;
};

constexpr std::array<ColumnLook, LedgerModel::ColumnCount> kColumns{{
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "edge"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Tensor and destination"), 224},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "source line"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Line of the imported program. Click it to open your editor."),
     176},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "kind"),
     QT_TRANSLATE_NOOP("twb::LedgerModel",
                       "Explicit (a To), implicit (by the policy) or staging (a File to its GPU)"),
     80},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "count"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Number of copies"), 64},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "bytes per copy"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Size of one copy"), 100},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "moved"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Total size of all copies"), 72},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "last ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Time of the latest copy"), 64},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "min ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Time of the fastest copy"), 64},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "median ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Median time of a copy"), 96},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "p95 ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "95th percentile of a copy's time"), 64},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "total ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Total time of all copies"), 72},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "GB/s"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Rate of the median copy"), 72},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "of peak"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Rate as a share of the profile's link rate for pinned memory"),
     68},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "memory"),
     QT_TRANSLATE_NOOP("twb::LedgerModel",
                       "Host memory: pageable or pinned; of a copy to another rank, the link"),
     108},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "waited ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Time that a copy waits in the queue after its tensor is ready"),
     84},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "overlap"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Share of the copies' time that overlaps with compute"), 72},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "predicted ms"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Time of one copy, from the profile of the lane's hardware"), 96},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "error"),
     QT_TRANSLATE_NOOP("twb::LedgerModel", "Difference between the measured median and the prediction"), 60},
    {QT_TRANSLATE_NOOP("twb::LedgerModel", "timing"),
     QT_TRANSLATE_NOOP(
         "twb::LedgerModel",
         "measured: timed in a run; modelled: of a run on a simulated device; predicted: before a run"),
     84},
}};

QString noFigure() { return QStringLiteral("–"); }

/// The digits as in every view; the unit is in the column's header.
QString digits(const std::string& figure) { return localized(figure).section(QLatin1Char(' '), 0, 0); }

QString ms(double ns) { return ns > 0 ? digits(formatMs(ns)) : noFigure(); }

QString percent(const std::optional<double>& share) { return share ? percentage(*share) : noFigure(); }

/// With its sign, and a true minus.
QString errorText(const std::optional<double>& error) {
    if (!error) return noFigure();
    const int off = qRound(*error);
    return withSign(off, percentage(std::abs(off)));
}

bool isText(LedgerModel::Column column) {
    return column == LedgerModel::EdgeColumn || column == LedgerModel::SourceColumn ||
           column == LedgerModel::KindColumn || column == LedgerModel::MemoryColumn ||
           column == LedgerModel::TimesColumn;
}

/// The line that copies: that of the To, or of the op that needs the copy; else the line of the tensor.
std::optional<SourceLine> sourceOf(const Edge& edge, const Graph& graph) {
    for (const NodeId id : {edge.to.node, edge.from.node})
        if (const Node* node = graph.find(id); node && node->source) return node->source;
    return std::nullopt;
}

/// Copies of one tensor to one device are distinguished by their consumers.
void tellApart(std::vector<LedgerModel::Row>& rows, const Graph& graph) {
    std::unordered_map<QString, int> count;
    for (const LedgerModel::Row& row : rows) ++count[row.name];
    std::unordered_map<QString, int> taken;
    for (LedgerModel::Row& row : rows) {
        row.nameInFiles = row.name;
        if (count[row.name] < 2) continue;
        const Node* reader = graph.find(row.edge.to.node);
        if (reader && reader->op == "To" && !graph.outgoing(reader->id).empty())
            reader = graph.find(graph.outgoing(reader->id).front().to.node);
        if (reader) {
            row.name += LedgerModel::tr(" for %1").arg(toQt(reader->name));
            row.nameInFiles += QStringLiteral(" for %1").arg(toQt(reader->name));
        }
        const int copy = ++taken[row.name];
        if (copy == 1) continue;
        const QString number = QStringLiteral(" (%1)").arg(copy);
        row.name += number;
        row.nameInFiles += number;
    }
}

} // namespace

LedgerModel::LedgerModel(const Document& document, const RunController& runs, QObject* parent)
    : QAbstractTableModel(parent), m_document(document), m_runs(runs) {}

int LedgerModel::widthOf(Column column) { return kColumns[std::size_t(column)].width; }

int LedgerModel::rowOf(const Edge& edge) const {
    const auto row = std::find_if(m_rows.begin(), m_rows.end(), [&](const Row& r) {
        return std::find(r.served.begin(), r.served.end(), edge) != r.served.end();
    });
    return row == m_rows.end() ? -1 : int(row - m_rows.begin());
}

bool LedgerModel::hasSources() const noexcept {
    return std::any_of(m_rows.begin(), m_rows.end(), [](const Row& row) { return row.source.has_value(); });
}

void LedgerModel::refresh() {
    const std::shared_ptr<const Plan> plan = m_runs.figures() ? m_runs.figures()->sharedPlan() : nullptr;
    if (plan && plan == m_plan && m_runs.isRunning()) {
        readFigures(m_rows); // the names do not change
    } else {
        std::vector<Row> rows = plan ? fromRun() : fromPrediction();
        if (plan != m_plan || rows.size() != m_rows.size()) {
            beginResetModel();
            m_rows = std::move(rows);
            m_shown.clear();
            m_plan = plan;
            endResetModel();
            return;
        }
        m_rows = std::move(rows);
    }
    if (!m_rows.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void LedgerModel::setShown(std::vector<bool> shown) {
    // A click changes one or two of thousands of rows, and receivers visit every row that is reported as
    // changed.
    const std::vector<bool> before = std::exchange(m_shown, std::move(shown));
    for (std::size_t row = 0; row < m_shown.size(); ++row)
        if (m_shown[row] != (row < before.size() && before[row])) {
            const QModelIndex at = index(int(row), EdgeColumn);
            Q_EMIT dataChanged(at, at, {kShownRole});
        }
}

std::vector<LedgerModel::Row> LedgerModel::fromRun() const {
    std::vector<Row> rows;
    const Plan& plan = m_runs.figures()->plan();
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
        const Transfer& transfer = plan.transfers[i];
        Row row;
        row.name = toQt(transfer.label);
        row.transfer = std::uint32_t(i);
        row.served = m_runs.edgesOf(std::uint32_t(i));
        row.edge = row.served.front();
        row.source = sourceOf(row.edge, m_document.graph());
        rows.push_back(std::move(row));
    }
    readFigures(rows);
    std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.figures.setup; });
    if (m_runs.overlaid()) // the measured ones first
        std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return row.figures.count > 0; });
    tellApart(rows, m_document.graph());
    return rows;
}

void LedgerModel::readFigures(std::vector<Row>& rows) const {
    const RunFigures& figures = *m_runs.figures();
    const std::vector<TransferFigures> all =
        figuresOf(figures.plan(), &figures.ledger(), &figures.timeline());
    for (Row& row : rows) {
        row.figures = all[row.transfer];
        if (m_runs.overlaid()) row.figures.ofPeakPercent.reset(); // it was another link
    }
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
        row.source = sourceOf(edge, m_document.graph());
        TransferFigures& figures = row.figures;
        figures.bytesPerCopy = run.bytes;
        figures.predictedNs = run.ns;
        figures.modelled = run.modelled;
        figures.setup = edge == stagingOf(edge.from.node);
        figures.link = run.link;
        figures.kind = figures.setup                                        ? TransferKind::staging
                       : target->op && target->op->role == OpRole::transfer ? TransferKind::explicitTo
                                                                            : TransferKind::implicitTo;
        rows.push_back(std::move(row));
    }
    std::stable_partition(rows.begin(), rows.end(), [](const Row& row) { return !row.figures.setup; });
    tellApart(rows, m_document.graph());
    return rows;
}

int LedgerModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_rows.size());
}

int LedgerModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QString LedgerModel::textOf(const Row& row, Column column) const {
    switch (column) {
    case EdgeColumn:
        return row.figures.setup ? tr("%1, once").arg(row.name) : row.name;
    case SourceColumn:
        return row.source ? toQt(toShortString(*row.source)) : QString();
    case KindColumn:
        return row.figures.direction == CopyDirection::peer && row.figures.link.empty()
                   ? tr("%1, peer").arg(kindWord(row.figures.kind))
                   : kindWord(row.figures.kind);
    case CountColumn:
        return grouped(std::int64_t(row.figures.count));
    case BytesColumn:
        return localized(formatBytes(row.figures.bytesPerCopy));
    case MovedColumn:
        return row.figures.count == 0 ? noFigure() : localized(formatBytes(double(row.figures.bytes)));
    case LastColumn:
        return ms(row.figures.lastNs);
    case MinColumn:
        return ms(row.figures.minNs);
    case MedianColumn:
        return ms(row.figures.typicalNs());
    case P95Column:
        return ms(row.figures.p95Ns);
    case TotalColumn:
        return ms(row.figures.totalNs);
    case RateColumn:
        return row.figures.gbPerSecond() > 0 ? digits(formatRate(row.figures.gbPerSecond())) : noFigure();
    case PeakColumn:
        return percent(row.figures.ofPeakPercent);
    case MemoryColumn:
        if (!row.figures.link.empty()) return toQt(row.figures.link);
        return row.figures.pinned ? tr("pinned") : tr("pageable");
    case WaitColumn:
        return row.figures.queueWaitNs ? digits(formatMs(*row.figures.queueWaitNs)) : noFigure();
    case OverlapColumn:
        return percent(row.figures.overlapPercent);
    case PredictedColumn:
        return ms(row.figures.predictedNs);
    case ErrorColumn:
        return errorText(row.figures.errorPercent);
    case TimesColumn:
        return row.figures.count == 0 ? tr("predicted")
               : row.figures.modelled ? tr("modelled")
                                      : m_runs.measuredText();
    case ColumnCount:
        break;
    }
    return {};
}

/// Missing figures sort before the smallest one.
QVariant LedgerModel::sortKeyOf(const Row& row, Column column) const {
    const auto orNone = [](const std::optional<double>& figure) { return figure.value_or(-1e300); };
    switch (column) {
    case CountColumn:
        return double(row.figures.count);
    case BytesColumn:
        return row.figures.bytesPerCopy;
    case MovedColumn:
        return double(row.figures.bytes);
    case LastColumn:
        return row.figures.lastNs;
    case MinColumn:
        return row.figures.minNs;
    case MedianColumn:
        return row.figures.typicalNs();
    case P95Column:
        return row.figures.p95Ns;
    case TotalColumn:
        return row.figures.totalNs;
    case RateColumn:
        return row.figures.gbPerSecond();
    case PeakColumn:
        return orNone(row.figures.ofPeakPercent);
    case WaitColumn:
        return orNone(row.figures.queueWaitNs);
    case OverlapColumn:
        return orNone(row.figures.overlapPercent);
    case PredictedColumn:
        return row.figures.predictedNs;
    case ErrorColumn:
        return orNone(row.figures.errorPercent);
    default:
        return textOf(row, column);
    }
}

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
    const auto number = std::size_t(index.row());
    const Row& row = m_rows[number];
    const auto column = Column(index.column());
    switch (role) {
    case Qt::DisplayRole:
        return textOf(row, column);
    case kSortRole:
        return sortKeyOf(row, column);
    case Qt::DecorationRole:
        return column == EdgeColumn ? QVariant(Theme::current().series(number)) : QVariant();
    case Qt::FontRole:
        return twb::font(isText(column) ? TextRole::body : TextRole::smallFigure);
    case Qt::TextAlignmentRole:
        return int(Qt::AlignVCenter | (isText(column) ? Qt::AlignLeft : Qt::AlignRight));
    case kMarkRole:
        return index.row();
    case kShownRole:
        return number < m_shown.size() && m_shown[number];
    case kDimRole:
        return row.figures.count == 0;
    case Qt::ToolTipRole: {
        const QString kind = row.figures.count == 0 ? tr("predicted")
                             : row.figures.modelled ? tr("modelled")
                                                    : m_runs.measuredText();
        return tr("%1: %2, %3 %4%5")
            .arg(row.name, localized(formatBytes(row.figures.bytesPerCopy)),
                 localized(formatMs(row.figures.typicalNs())), kind,
                 row.figures.setup ? tr(", once before the iterations") : QString());
    }
    default:
        return {};
    }
}

QString LedgerModel::wordsOf(int row) const {
    QString all;
    for (int column = 0; column < ColumnCount; ++column)
        if (isText(Column(column)))
            all += textOf(m_rows[std::size_t(row)], Column(column)) + QLatin1Char('\n');
    return all;
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const ColumnLook& look = kColumns[std::size_t(section)];
    switch (role) {
    case Qt::TextAlignmentRole:
        return int(Qt::AlignVCenter | (isText(Column(section)) ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::InitialSortOrderRole: // the largest figures are usually of interest
        return int(isText(Column(section)) ? Qt::AscendingOrder : Qt::DescendingOrder);
    case Qt::ToolTipRole:
        return tr(look.tip);
    case Qt::DisplayRole:
        return section == MedianColumn && !m_runs.figures() ? tr("predicted ms") : tr(look.head);
    default:
        return {};
    }
}

LedgerFilter::LedgerFilter(LedgerModel& model, QObject* parent)
    : QSortFilterProxyModel(parent), m_model(model) {
    setSourceModel(&model);
    setSortRole(LedgerModel::kSortRole);
}

void LedgerFilter::setWords(const QString& text) {
    m_words = text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool LedgerFilter::filterAcceptsRow(int row, const QModelIndex&) const {
    if (m_words.isEmpty()) return true;
    const QString all = m_model.wordsOf(row);
    return std::all_of(m_words.begin(), m_words.end(),
                       [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

} // namespace twb
