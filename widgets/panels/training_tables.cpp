#include "widgets/panels/training_tables.h"

#include "widgets/canvas/heat.h"
#include "widgets/panels/heat_table.h"
#include "widgets/text.h"
#include "widgets/theme.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace twb {
namespace {

using Quantity = ParameterTable::Quantity;

QString figure(const std::optional<double>& value) { return value ? compact(*value) : QStringLiteral("–"); }

/// The quantity in a row of the table, and the index of its parameter.
Quantity quantityIn(int row) { return Quantity(row % ParameterTable::kQuantities); }
std::size_t parameterIn(int row) { return std::size_t(row / ParameterTable::kQuantities); }

std::optional<double> valueOf(const ParameterFigures& figures, Quantity quantity) {
    return quantity == Quantity::gradientNorm ? std::optional(figures.gradientNorm) : figures.updateRatio();
}

} // namespace

void ParameterTable::setEpochs(const std::vector<EpochRecord>& epochs) {
    const std::size_t known = m_epochs.size();
    const auto isKnown = [](const auto& column, const EpochRecord& epoch) {
        return column.first == epoch.epoch && column.second == epoch.figures;
    };
    const bool isLonger = known > 0 && known <= epochs.size() && isKnown(m_epochs.back(), epochs[known - 1]);
    if (isLonger && known == epochs.size()) return;
    if (!isLonger && known == 0 && epochs.empty()) return;
    if (isLonger)
        beginInsertColumns({}, int(known), int(epochs.size()) - 1);
    else
        beginResetModel();
    if (!isLonger) m_epochs.clear();
    for (std::size_t i = m_epochs.size(); i < epochs.size(); ++i)
        m_epochs.emplace_back(epochs[i].epoch, epochs[i].figures);
    const auto before = m_decades;
    measure();
    if (!isLonger) return endResetModel();
    endInsertColumns();
    if (before != m_decades)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::BackgroundRole});
}

void ParameterTable::measure() {
    for (const Quantity quantity : {Quantity::gradientNorm, Quantity::updateRatio}) {
        double least = HUGE_VAL;
        double most = 0;
        for (const auto& [epoch, parameters] : m_epochs)
            for (const ParameterFigures& figures : parameters) {
                const std::optional<double> value = valueOf(figures, quantity);
                if (!value || !std::isfinite(*value) || *value <= 0) continue;
                least = std::min(least, *value);
                most = std::max(most, *value);
            }
        auto& decades = m_decades[std::size_t(quantity)];
        decades.reset();
        if (most <= 0) continue;
        const int from = int(std::floor(std::log10(least)));
        decades = {from, std::max(from + 1, int(std::ceil(std::log10(most))))};
    }
}

int ParameterTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || m_epochs.empty() ? 0 : kQuantities * int(m_epochs.back().second.size());
}

int ParameterTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_epochs.size());
}

QVariant ParameterTable::data(const QModelIndex& index, int role) const {
    const auto& [epoch, parameters] = m_epochs[std::size_t(index.column())];
    if (parameterIn(index.row()) >= parameters.size()) return {};
    const ParameterFigures& figures = parameters[parameterIn(index.row())];
    const Quantity quantity = quantityIn(index.row());
    const std::optional<double> value = valueOf(figures, quantity);
    switch (role) {
    case Qt::DisplayRole:
        return value ? compact(*value, 2) : QStringLiteral("–");
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return tr("%1, epoch %2\ngradient norm %3\nupdate norm %4\nweight norm %5\nupdate / weight %6")
            .arg(toQt(figures.name), grouped(epoch), figure(figures.gradientNorm), figure(figures.updateNorm),
                 figure(figures.weightNorm), figure(figures.updateRatio()));
    case Qt::BackgroundRole: {
        if (!value || *value == 0) return {};
        if (!std::isfinite(*value)) return Theme::current().error;
        const auto [from, to] = *decades(quantity);
        return heatColor(Theme::current(), (std::log10(*value) - from) / (to - from),
                         quantity == Quantity::gradientNorm ? HeatHue::orange : HeatHue::blue);
    }
    default:
        return {};
    }
}

QVariant ParameterTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (section < 0) return {};
    if (orientation == Qt::Horizontal) {
        const bool isKnown = std::size_t(section) < m_epochs.size();
        if (!isKnown || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
        return QString::number(m_epochs[std::size_t(section)].first);
    }
    if (section >= rowCount()) return {};
    const QString name = toQt(m_epochs.back().second[parameterIn(section)].name);
    const bool isGradient = quantityIn(section) == Quantity::gradientNorm;
    switch (role) {
    case Qt::DisplayRole: // once for both rows
        return isGradient ? name : QString();
    case HeatTable::kDetailRole:
        return isGradient ? tr("gradient") : tr("update");
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return isGradient ? tr("%1, gradient norm").arg(name) : tr("%1, update-to-weight ratio").arg(name);
    default:
        return {};
    }
}

void ConfusionTable::setMatrix(const ConfusionMatrix& matrix) {
    if (matrix == m_matrix) return;
    beginResetModel();
    m_matrix = matrix;
    m_sums.clear();
    for (auto row = m_matrix.counts.begin(); row != m_matrix.counts.end(); row += m_matrix.classes)
        m_sums.push_back(std::accumulate(row, row + m_matrix.classes, std::int64_t{0}));
    endResetModel();
}

int ConfusionTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_matrix.classes);
}

int ConfusionTable::columnCount(const QModelIndex& parent) const { return rowCount(parent); }

QVariant ConfusionTable::data(const QModelIndex& index, int role) const {
    const std::int64_t count = m_matrix.at(index.row(), index.column());
    const std::int64_t sum = m_sums[std::size_t(index.row())];
    const double share = sum > 0 ? double(count) / double(sum) : 0;
    switch (role) {
    case Qt::DisplayRole:
        return grouped(count);
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return tr("The model predicts %1 for %2 of %3 rows with label %4 (%5 %).")
            .arg(index.column())
            .arg(grouped(count), grouped(sum))
            .arg(index.row())
            .arg(fixed(100 * share, 1));
    case Qt::BackgroundRole:
        return count > 0 ? QVariant(heatColor(Theme::current(), share)) : QVariant();
    default:
        return {};
    }
}

QVariant ConfusionTable::headerData(int section, Qt::Orientation, int role) const {
    return role == Qt::DisplayRole ? QVariant(section) : QVariant();
}

} // namespace twb
