#pragma once

#include "training/training_session.h"

#include <QAbstractTableModel>

#include <optional>
#include <utility>
#include <vector>

namespace twb {

/// Parameters as rows, epochs as columns, shaded on a logarithmic scale.
class ParameterTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum class Quantity { gradientNorm, updateRatio };

    using QAbstractTableModel::QAbstractTableModel;

    /// New epochs are added; others replace all.
    void setEpochs(const std::vector<EpochRecord>& epochs);
    void setQuantity(Quantity quantity);
    /// The powers of ten around the finite positive values; nothing without any.
    std::optional<std::pair<int, int>> decades() const { return m_decades; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::optional<double> valueOf(const ParameterFigures& figures) const;
    void measure();

    std::vector<std::pair<std::int64_t, std::vector<ParameterFigures>>> m_epochs; ///< by number
    Quantity m_quantity = Quantity::gradientNorm;
    std::optional<std::pair<int, int>> m_decades;
};

/// Labels as rows, predictions as columns, shaded by the share of the label's rows.
class ConfusionTable : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    void setMatrix(const ConfusionMatrix& matrix);
    const ConfusionMatrix& matrix() const noexcept { return m_matrix; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    ConfusionMatrix m_matrix;
    std::vector<std::int64_t> m_sums; ///< rows by label
};

} // namespace twb
