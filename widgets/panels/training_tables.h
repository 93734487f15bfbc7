#pragma once

#include "training/training_session.h"

#include <QAbstractTableModel>

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace twb {

/// Two rows per parameter, its gradient norm and its update-to-weight ratio, over the epochs as columns. Each
/// quantity is shaded on a logarithmic scale of its own.
class ParameterTable : public QAbstractTableModel {
    Q_OBJECT

public:
    enum class Quantity { gradientNorm, updateRatio };
    static constexpr int kQuantities = 2;

    using QAbstractTableModel::QAbstractTableModel;

    /// Sets the epochs. If they continue the present ones, only the new columns are added; otherwise the
    /// model is reset.
    void setEpochs(const std::vector<EpochRecord>& epochs);
    /// The powers of ten around the finite positive values of a quantity; nothing without any.
    std::optional<std::pair<int, int>> decades(Quantity quantity) const {
        return m_decades[std::size_t(quantity)];
    }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void measure();

    std::vector<std::pair<std::int64_t, std::vector<ParameterFigures>>> m_epochs; ///< by number
    std::array<std::optional<std::pair<int, int>>, kQuantities> m_decades;        ///< by quantity
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
