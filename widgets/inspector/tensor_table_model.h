#pragma once

#include "core/tensor.h"

#include <QAbstractTableModel>

namespace twb {

/// One matrix of a tensor: its last two axes at one index of the others. A vector is a column, a scalar one
/// cell. The table shows one page, since views store data for each row and column.
class TensorTableModel : public QAbstractTableModel {
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    void setTensor(const Tensor& tensor);
    /// The number of matrices: the product of all axes except the last two.
    std::int64_t sliceCount() const noexcept { return m_slices; }
    void setSlice(std::int64_t slice);
    /// The maximum number of rows and columns of a page.
    static constexpr std::int64_t kPageRows = 100'000;
    static constexpr std::int64_t kPageColumns = 2'000;
    std::int64_t pageCount() const noexcept { return m_pagesDown * m_pagesAcross; }
    void setPage(std::int64_t page);
    /// The position of the page in the matrix.
    std::int64_t firstRow() const noexcept { return m_page / m_pagesAcross * kPageRows; }
    std::int64_t firstColumn() const noexcept { return m_page % m_pagesAcross * kPageColumns; }
    std::int64_t rows() const noexcept { return m_rows; }
    std::int64_t columns() const noexcept { return m_columns; }
    double valueAt(std::int64_t row, std::int64_t column) const;
    QString textAt(std::int64_t row, std::int64_t column) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    Tensor m_tensor;
    std::int64_t m_rows = 0;
    std::int64_t m_columns = 0;
    std::int64_t m_slices = 0;
    std::int64_t m_slice = 0;
    std::int64_t m_page = 0;
    std::int64_t m_pagesDown = 1;
    std::int64_t m_pagesAcross = 1;
};

} // namespace twb
