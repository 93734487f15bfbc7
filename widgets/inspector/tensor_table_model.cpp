#include "widgets/inspector/tensor_table_model.h"

#include "widgets/inspector/tensor_text.h"
#include "widgets/theme.h"

#include <algorithm>

namespace twb {
void TensorTableModel::setTensor(const Tensor& tensor) {
    beginResetModel();
    m_tensor = tensor;
    m_slice = 0;
    m_rows = m_columns = m_slices = m_page = 0;
    if (tensor) {
        const Shape& shape = tensor.shape();
        const int rank = shape.rank();
        m_columns = rank >= 2 ? shape[rank - 1] : 1;
        m_rows = rank >= 2 ? shape[rank - 2] : rank == 1 ? shape[0] : 1;
        m_slices = m_rows * m_columns > 0 ? tensor.elementCount() / (m_rows * m_columns) : 0;
    }
    m_pagesDown = std::max<std::int64_t>(1, (m_rows + kPageRows - 1) / kPageRows);
    m_pagesAcross = std::max<std::int64_t>(1, (m_columns + kPageColumns - 1) / kPageColumns);
    endResetModel();
}

void TensorTableModel::setPage(std::int64_t page) {
    page = std::clamp<std::int64_t>(page, 0, pageCount() - 1);
    if (page == m_page) return;
    beginResetModel();
    m_page = page;
    endResetModel();
}

void TensorTableModel::setSlice(std::int64_t slice) {
    m_slice = std::clamp<std::int64_t>(slice, 0, std::max<std::int64_t>(0, m_slices - 1));
    if (m_rows > 0 && m_columns > 0)
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::DisplayRole});
}

double TensorTableModel::valueAt(std::int64_t row, std::int64_t column) const {
    return m_tensor.at((m_slice * m_rows + row) * m_columns + column);
}

QString TensorTableModel::textAt(std::int64_t row, std::int64_t column) const {
    return valueText(m_tensor, (m_slice * m_rows + row) * m_columns + column);
}

int TensorTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || m_slices == 0 ? 0 : int(std::min(m_rows - firstRow(), kPageRows));
}

int TensorTableModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() || m_slices == 0 ? 0 : int(std::min(m_columns - firstColumn(), kPageColumns));
}

QVariant TensorTableModel::data(const QModelIndex& index, int role) const {
    switch (role) {
    case Qt::DisplayRole:
        return textAt(firstRow() + index.row(), firstColumn() + index.column());
    case Qt::TextAlignmentRole:
        return int(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole:
        return twb::font(TextRole::smallFigure);
    default:
        return {};
    }
}

QVariant TensorTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role == Qt::DisplayRole)
        return qint64(section + (orientation == Qt::Horizontal ? firstColumn() : firstRow()));
    if (role == Qt::TextAlignmentRole) return int(Qt::AlignRight | Qt::AlignVCenter);
    return {};
}

} // namespace twb
